//! A series of figures of cards in a table of strokes or blanks: what is known of such columns with commas counts here too.

use std::borrow::Cow;

use super::table::Table;
use crate::paste::Line;
use crate::text::nvidia_smi_csv;
use crate::text::{Block, Context};

/// One of these stands in the heading of every series of a card.
const NAMES: &[&str] = &["temp", "power", "util", "clock", "clk"];

/// Reads the series that begins with the first of these lines, which is given in small letters.
pub(super) fn read(first: &str, lines: &[Line<'_>]) -> Option<Block> {
    if first.contains([',', ';']) || NAMES.iter().filter(|name| first.contains(**name)).count() < 2 {
        return None;
    }
    let table = Table::of(lines)?;
    // A comma inside a cell is no end of it.
    let joined = |cells: &[String]| {
        let plain: Vec<String> = cells.iter().map(|cell| cell.replace(',', "")).collect();
        Line { number: 0, text: Cow::Owned(plain.join(", ")) }
    };
    let mut with_commas = vec![joined(&table.heading)];
    with_commas.extend(table.rows.iter().map(|row| joined(row)));
    let block = nvidia_smi_csv::read(&with_commas, &Context::default())?;
    // What is not understood to its end is another table.
    let is_whole = block.lines == with_commas.len();
    is_whole.then(|| Block { lines: table.lines, remarks: Vec::new(), ..block })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    #[test]
    fn series_are_read_in_every_form_of_table() {
        for text in [
            "| time (s) | temp (C) | power (W) | sm clock (MHz) |\n|---|---|---|---|\n| 0 | 60 | 300 | 1900 |\n| 5 | 64 | 310 | 1850 |\n",
            "time (s)   temp (C)   power (W)   sm clock (MHz)\n0   60   300   1900\n5   64   310   1850\n",
            "t_s  temp_c  power_w  sm_clock_mhz\n0    60      300      1900\n5    64      310      1850\n",
        ] {
            let block = block(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(block.lines, text.lines().count(), "{text}");
            let temperature = block.scene.cards[0].temperature.known().unwrap();
            assert_eq!(temperature.n, 2, "{text}");
            assert!((temperature.max.0 - 64.0).abs() < 1e-9, "{text}");
            assert!((temperature.span_s - 5.0).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn other_tables_are_left_alone() {
        for text in [
            "power  temp\nhigh  low\nlow  high\n",
            // Anything has heat and power.
            "| time (s) | temp (C) | power (W) |\n|---|---|---|\n| 0 | 60 | 300 |\n| 5 | 64 | 310 |\n",
            "| power limit | temp | clock |\n|---|---|---|\n| 300 W | 60 C | 1500 MHz |\n| 400 W | 70 C | 1600 MHz |\n",
            "the power and the temp of it\nare  high  a  b  c  d  e\n",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
