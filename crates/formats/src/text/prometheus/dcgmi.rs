//! Output of `dcgmi dmon`: short names of fields in the heading, one row for each card and look.

use std::borrow::Cow;

use crate::paste::{Line, command_after_prompt};

/// The short names of fields that have a meaning here, and their full names.
const FIELDS: &[(&str, &str)] = &[
    ("SMCLK", "DCGM_FI_DEV_SM_CLOCK"),
    ("MMCLK", "DCGM_FI_DEV_MEM_CLOCK"),
    ("TMPTR", "DCGM_FI_DEV_GPU_TEMP"),
    ("MMTMP", "DCGM_FI_DEV_MEMORY_TEMP"),
    ("POWER", "DCGM_FI_DEV_POWER_USAGE"),
    ("TOTEC", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"),
    ("PSTAT", "DCGM_FI_DEV_PSTATE"),
    ("FANSP", "DCGM_FI_DEV_FAN_SPEED"),
    ("GPUTL", "DCGM_FI_DEV_GPU_UTIL"),
    ("MCUTL", "DCGM_FI_DEV_MEM_COPY_UTIL"),
    ("XIDER", "DCGM_FI_DEV_XID_ERRORS"),
    ("FBTTL", "DCGM_FI_DEV_FB_TOTAL"),
    ("FBFRE", "DCGM_FI_DEV_FB_FREE"),
    ("FBUSD", "DCGM_FI_DEV_FB_USED"),
    ("ESVTL", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
    ("EDVTL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
    ("ESATL", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"),
    ("EDATL", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"),
    ("GRACT", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
    ("SMACT", "DCGM_FI_PROF_SM_ACTIVE"),
    ("SMOCC", "DCGM_FI_PROF_SM_OCCUPANCY"),
    ("TENSO", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
    ("DRAMA", "DCGM_FI_PROF_DRAM_ACTIVE"),
];

/// The tool looks once a second unless it is told otherwise.
const USUAL_DELAY_MS: f64 = 1000.0;
/// No machine has a card of a higher number.
const INDEX_MAX: u32 = 4096;

/// Reads the output that begins with the first of these lines: returns its values as lines of metrics, each with the number
/// of the line that it stands in, and how many lines the output takes.
pub(super) fn as_metrics(lines: &[Line<'_>], command: Option<&str>) -> Option<(Vec<Line<'static>>, usize)> {
    let columns = heading(&lines.first()?.text)?;
    let delay = command.and_then(delay_ms);
    let mut metrics: Vec<Line<'static>> = Vec::new();
    let mut seen: Vec<u32> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if text.is_empty() || command_after_prompt(&line.text).is_some() {
            break;
        }
        let is_units =
            text.to_ascii_uppercase().starts_with("ID") && !text.contains(|one: char| one.is_ascii_digit());
        if is_units || heading(text).is_some_and(|again| again == columns) {
            taken = place + 1;
            continue;
        }
        let Some((index, cells)) = row(text) else { break };
        // Of a cut row nobody knows whether its last cell is whole.
        let is_whole = cells.len() == columns.len();
        if !is_whole {
            break;
        }
        let mut add = |text: String| metrics.push(Line { number: line.number, text: Cow::Owned(text) });
        if seen.contains(&index) {
            seen.clear();
            if let Some(delay) = delay {
                add(format!("sleep {}", delay / 1000.0));
            }
        }
        seen.push(index);
        for (name, cell) in columns.iter().zip(cells) {
            let field = FIELDS.iter().find(|(short, _)| short == name);
            if let Some((_, field)) = field.filter(|_| cell.parse::<f64>().is_ok_and(f64::is_finite)) {
                add(format!("{field}{{gpu=\"{index}\"}} {cell}"));
            }
        }
        taken = place + 1;
    }
    (!metrics.is_empty()).then_some((metrics, taken))
}

/// Returns the short names of a heading: `#Entity   GPUTL  POWER`.
fn heading(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('#')?.trim_start();
    let mut words = inside.split_whitespace();
    if !words.next()?.eq_ignore_ascii_case("entity") {
        return None;
    }
    let names: Vec<String> = words.map(str::to_ascii_uppercase).collect();
    names.iter().any(|name| FIELDS.iter().any(|(short, _)| short == name)).then_some(names)
}

/// Reads a row of a whole card.
fn row(text: &str) -> Option<(u32, Vec<&str>)> {
    let mut words = text.split_whitespace();
    let index = words.next().filter(|word| *word == "GPU").and_then(|_| words.next())?;
    let index = index.parse().ok().filter(|index| *index < INDEX_MAX)?;
    Some((index, words.collect()))
}

/// Returns how long the command waits between two looks.
fn delay_ms(command: &str) -> Option<f64> {
    let mut words = command.split_whitespace().skip_while(|word| !word.ends_with("dcgmi"));
    if words.nth(1)? != "dmon" {
        return None;
    }
    let said = words.skip_while(|word| *word != "-d" && *word != "--delay").nth(1);
    said.map_or(Some(USUAL_DELAY_MS), |word| word.parse().ok().filter(|delay| *delay > 0.0))
}

#[cfg(test)]
mod tests {
    use super::{as_metrics, delay_ms};
    use crate::paste::Paste;

    fn metrics(text: &str, command: Option<&str>) -> (Vec<String>, usize) {
        let (lines, taken) = as_metrics(&Paste::of(text).lines, command).unwrap_or_default();
        (lines.into_iter().map(|line| line.text.into_owned()).collect(), taken)
    }

    const TEXT: &str = "#Entity   GPUTL   ESVTL   NEWER\nID\nGPU 0     97      5       1\nGPU 1     N/A     0       1\nGPU 0     98      9       1\n\nend";

    #[test]
    fn rows_become_metrics() {
        let (lines, taken) = metrics(TEXT, Some("dcgmi dmon -e 203,310 -d 2000"));
        assert_eq!(taken, 5);
        assert_eq!(
            lines,
            [
                "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97",
                "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu=\"0\"} 5",
                "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu=\"1\"} 0",
                "sleep 2",
                "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 98",
                "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu=\"0\"} 9",
            ]
        );
        assert_eq!(metrics("#Entity  A  B\nGPU 0  1  2", None).1, 0);
        assert_eq!(metrics("GPU 0  1  2", None).1, 0);
    }

    #[test]
    fn the_time_between_looks_is_that_of_the_command() {
        assert_eq!(delay_ms("dcgmi dmon -e 203"), Some(1000.0));
        assert_eq!(delay_ms("sudo dcgmi dmon -d 500 -e 203"), Some(500.0));
        assert_eq!(delay_ms("dcgmi diag -r 1"), None);
        assert!(metrics(TEXT, None).0.iter().all(|line| !line.starts_with("sleep")));
    }

    #[test]
    fn cut_anywhere_nothing_breaks() {
        for end in 0..TEXT.len() {
            let _ = metrics(&TEXT[..end], None);
            let _ = metrics(&TEXT[end..], None);
        }
    }
}
