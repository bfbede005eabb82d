//! Rows of `nvidia-smi`'s table whose borders were lost or misread on the way, as when a picture was turned into text.

use std::borrow::Cow;

use super::Line;
use crate::kernel_log::pci_address;

/// What a bar is taken for.
const BARS: &[&str] = &["I", "l", "!", "||", "¦", "│"];

/// How compute modes are printed.
const MODES: &[&str] = &["Default", "E. Process", "Prohibited", "E. Thread"];

/// So many bars stand in a whole row.
const BARS_IN_A_ROW: usize = 4;

/// Draws the bars anew in the two rows of every card whose fields are all there, each in its place and with its unit.
pub(super) fn mend(lines: &mut [Line<'_>]) {
    for place in 1..lines.len() {
        let [named, values] = &mut lines[place - 1..=place] else {
            continue;
        };
        if !values.text.contains("MiB") || has_bars(&values.text) && has_bars(&named.text) {
            continue;
        }
        if let (Some(named_row), Some(values_row)) = (named_row(&named.text), values_row(&values.text)) {
            named.text = Cow::Owned(named_row);
            values.text = Cow::Owned(values_row);
        }
    }
}

/// Returns whether a row is drawn as it should be; where only its last bar is missing, it is cut there.
fn has_bars(text: &str) -> bool {
    let bars = text.matches('|').count();
    bars == BARS_IN_A_ROW || bars + 1 == BARS_IN_A_ROW && text.trim_start().starts_with('|')
}

/// Returns the words of a row without its bars.
fn words(text: &str) -> Vec<&str> {
    text.split(|letter: char| letter.is_whitespace() || letter == '|')
        .filter(|word| !word.is_empty() && !BARS.contains(word))
        .collect()
}

/// `0 NVIDIA A100-SXM4-80GB On 00000000:07:00.0 Off 0`
fn named_row(text: &str) -> Option<String> {
    let words = words(text);
    let [index, named @ .., kept, address, display, errors] = words.as_slice() else {
        return None;
    };
    let is_switch = |word: &str| word == "On" || word == "Off";
    let is_index = index.len() <= 2 && is_number(index);
    let is_errors = is_number(errors) || ["Off", "N/A"].contains(errors);
    let is_row = is_index
        && !named.is_empty()
        && is_switch(kept)
        && is_switch(display)
        && address.matches(':').count() == 2
        && pci_address(address).is_some();
    (is_row && is_errors)
        .then(|| format!("| {index} {} {kept} | {address} {display} | {errors} |", named.join(" ")))
}

/// `N/A 88C P0 122W / 400W 71230MiB / 81920MiB 97% Default`
fn values_row(text: &str) -> Option<String> {
    const ABSENT: &str = "N/A";
    // The stroke between two values may stand close to them.
    let text = text.replace(ABSENT, "\0").replace('/', " ");
    let words = words(&text);
    let [fan, heat, state, power, limit, used, total, busy, mode @ ..] = words.as_slice() else {
        return None;
    };
    let is = |word: &str, unit: &str| word == "\0" || word.strip_suffix(unit).is_some_and(is_number);
    let is_state = state.strip_prefix('P').is_some_and(is_number);
    let is_row = is(fan, "%")
        && heat.strip_suffix('C').is_some_and(is_number)
        && is_state
        && is(power, "W")
        && is(limit, "W")
        && used.strip_suffix("MiB").is_some_and(is_number)
        && total.strip_suffix("MiB").is_some_and(is_number)
        && is(busy, "%")
        && (mode.is_empty() || MODES.contains(&mode.join(" ").as_str()));
    let row = || {
        format!("| {fan} {heat} {state} {power} / {limit} | {used} / {total} | {busy} {} |", mode.join(" "))
    };
    is_row.then(|| row().replace('\0', ABSENT))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::paste::Paste;

    fn texts(text: &str) -> Vec<String> {
        Paste::of(text).lines.iter().map(|line| line.text.clone().into_owned()).collect()
    }

    #[test]
    fn bars_are_drawn_anew() {
        let mended = [
            "| 0 NVIDIA A100-SXM4-80GB On | 00000000:07:00.0 Off | 0 |",
            "| N/A 88C P0 122W / 400W | 71230MiB / 81920MiB | 97% Default |",
        ];
        for lost in [
            "0 NVIDIA A100-SXM4-80GB On 00000000:07:00.0 Off 0\nN/A 88C P0 122W / 400W 71230MiB / 81920MiB 97% Default",
            "I 0 NVIDIA A100-SXM4-80GB On l 00000000:07:00.0 Off ! 0 I\n\
             I N/A 88C P0 122W/400W l 71230MiB /81920MiB I 97% Default |",
            "|| 0 NVIDIA A100-SXM4-80GB On || 00000000:07:00.0 Off || 0 ||\n\
             || N/A 88C P0 122W / 400W || 71230MiB / 81920MiB || 97% Default ||",
        ] {
            assert_eq!(texts(lost), mended, "{lost}");
        }
    }

    #[test]
    fn other_rows_stay() {
        for text in [
            "| 0  NVIDIA A100  On  | 00000000:07:00.0 Off |   0 |\n| N/A 88C P0 122W / 400W |  1MiB / 8MiB | 97% Default |",
            "0 NVIDIA A100 On 00000000:07:00.0 Off 0\nN/A 88C P0 122W / 400W 71230MiB / 81920MiB",
            "| 0  NVIDIA A100  On  | 00000000:07:00.0 Off |   0 |\n| N/A 88C P0 122W / 400W |  1MiB / 8MiB | 97% Def",
            "0 NVIDIA A100 On\nN/A 88C P0 122W / 400W 71230MiB / 81920MiB 97% Default",
            "0 NVIDIA A100 On 00000000:07:00.0 Off 0\nN/A 8BC P0 122W / 400W 71230MiB / 81920MiB 97% Default",
        ] {
            assert_eq!(texts(text).join("\n"), text);
        }
    }
}
