//! The table that a measurement ends with: figures, and how many times the first line each other one is.

use std::fmt::Write as _;

use super::once::Measured;

const BYTES_PER_MEGABYTE: f64 = 1e6;

/// Draws the table; the first line is what all others are compared with.
pub(super) fn draw(measured: &[Measured]) -> String {
    let heading = ["", "CPU ms", "ratio", "wall ms", "memory MB", "bar"];
    let mut rows = vec![heading.map(str::to_owned)];
    let base = measured.first().map_or(f64::NAN, |first| first.processor_ms);
    for one in measured {
        rows.push([
            one.name.to_owned(),
            format!("{:.1}", one.processor_ms),
            format!("{:.1}", one.processor_ms / base),
            format!("{:.0}", one.wall_ms),
            format!("{:.1}", one.memory_bytes as f64 / BYTES_PER_MEGABYTE),
            bar(one),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let name = &row[0];
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:<width$}", width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn bar(one: &Measured) -> String {
    match one.bar_ms {
        Some(bar) if one.holds() => format!("{bar:.0} ms: holds"),
        Some(bar) => format!("{bar:.0} ms: MISSED"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::bench::once::Measured;

    #[test]
    fn others_are_shown_as_multiples_of_the_first() {
        let ours = Measured {
            name: "ours",
            processor_ms: 40.0,
            wall_ms: 80.0,
            memory_bytes: 12_000_000,
            bar_ms: Some(60.0),
        };
        let theirs = Measured { name: "theirs", processor_ms: 400.0, bar_ms: None, ..ours.clone() };
        let table = draw(&[ours, theirs]);
        assert!(table.contains("ours      40.0    1.0       80       12.0  60 ms: holds"), "{table}");
        assert!(table.contains("theirs   400.0   10.0"), "{table}");
    }
}
