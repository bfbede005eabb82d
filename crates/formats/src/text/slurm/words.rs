//! Small words of Slurm: amounts of memory, lengths of time, numbers, and what it writes where there is nothing.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::{Bytes, Seconds};

/// Returns a cell that says something; none for the many ways to write nothing.
pub(super) fn said(text: &str) -> Option<&str> {
    const NOTHING: &[&str] = &[
        "",
        "(null)",
        "null",
        "n/a",
        "na",
        "none",
        "none assigned",
        "unknown",
        "-",
        "--",
        "invalid",
        "not_set",
        "notset",
        "nan",
        "no_val",
        "[]",
        "{}",
    ];
    let text = text.trim().trim_matches('"').trim();
    (!NOTHING.iter().any(|nothing| text.eq_ignore_ascii_case(nothing))).then_some(text)
}

/// For what an amount of memory is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Per {
    /// It does not say.
    Unsaid,
    /// For each node.
    Node,
    /// For each processor.
    Cpu,
}

/// Returns an amount of memory: `16G`, `10.50G`, `2207116K`, `64Gn`, `4000Mc`, `8.00 GB`; a plain number counts mebibytes.
pub(super) fn memory(text: &str) -> Option<(Bytes, Per)> {
    let text = text.trim().trim_end_matches('+');
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number: f64 = text.get(..digits)?.parse().ok()?;
    let mut unit = text.get(digits..)?.trim_start().to_ascii_lowercase();
    let per = match unit.strip_suffix(['n', 'c']).map(str::len) {
        Some(length) => {
            let is_of_a_node = unit.ends_with('n');
            unit.truncate(length);
            if is_of_a_node { Per::Node } else { Per::Cpu }
        }
        None => Per::Unsaid,
    };
    let power = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" if unit.is_empty() => 20,
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        "e" => 60,
        _ => return None,
    };
    let bytes = number * 2_f64.powi(power);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no sign is read, and the size is checked"
    )]
    (bytes < u64::MAX as f64).then(|| (Bytes(bytes.round() as u64), per))
}

/// Returns a length of time: `1-02:03:04`, `02:03:04`, `03:04`, `2-12`; a plain number counts units of so many seconds.
/// Unlimited time is unsupported.
pub(super) fn time(text: &str, plain_s: f64) -> Option<Reading<Seconds>> {
    let text = text.trim().trim_end_matches('+');
    if ["unlimited", "infinite", "infinity", "partition_limit"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
    {
        // The limit of the partition is a limit, but not said here.
        return (!text.eq_ignore_ascii_case("partition_limit")).then_some(Reading::Unsupported);
    }
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(figure(days)?), rest),
        None => (None, text),
    };
    let parts: Vec<f64> = rest.split(':').take(4).map(figure).collect::<Option<_>>()?;
    let seconds = match (days, parts.as_slice()) {
        (Some(_), [hours]) => hours * 3600.0,
        (Some(_), [hours, minutes]) => hours * 3600.0 + minutes * 60.0,
        (_, [hours, minutes, seconds]) => hours * 3600.0 + minutes * 60.0 + seconds,
        (None, [minutes, seconds]) => minutes * 60.0 + seconds,
        (None, [plain]) => plain * plain_s,
        _ => return None,
    };
    Some(Reading::Known(Seconds(days.unwrap_or(0.0) * 86400.0 + seconds)))
}

/// Returns a number of at most nine digits, perhaps with a fraction.
fn figure(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_number && !text.is_empty() && text.len() <= 9).then(|| text.parse().ok()).flatten()
}

/// Returns whether a text is a length of time with a colon or days in it.
pub(super) fn is_time(text: &str) -> bool {
    let text = text.trim();
    matches!(text.to_ascii_lowercase().as_str(), "unlimited" | "infinite" | "invalid" | "n/a" | "not_set")
        || text.contains([':', '-']) && time(text, 60.0).is_some()
}

/// Returns a whole number: `4`, `64+` (at least), `2-4` (its least), `4K`.
pub(super) fn count(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches('+');
    let first = text.split('-').next().unwrap_or(text);
    let (digits, factor) = match first.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1000.0),
        None => (first, 1.0),
    };
    let number = figure(digits)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most nine digits, no sign"
    )]
    (number.fract() == 0.0 || factor > 1.0).then(|| (number * factor).round() as u64)
}

/// Returns a share in per cent: `63.28%`, `12 %`.
pub(super) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=1e6).contains(&number).then_some(number)
}

/// Returns the parts of a text between commas that stand outside of brackets, parentheses and quotes.
pub(super) fn between_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut is_quoted, mut start) = (0_usize, false, 0);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && !is_quoted => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::units::{Bytes, Seconds};

    use super::{Per, between_commas, count, is_time, memory, percent, said, time};

    #[test]
    fn memory_is_read_in_every_spelling() {
        let gibibytes = |number: u64| Bytes(number << 30);
        assert_eq!(memory("16G"), Some((gibibytes(16), Per::Unsaid)));
        assert_eq!(memory("10.50G"), Some((Bytes(21 << 29), Per::Unsaid)));
        assert_eq!(memory("64Gn"), Some((gibibytes(64), Per::Node)));
        assert_eq!(memory("4000Mc"), Some((Bytes(4000 << 20), Per::Cpu)));
        assert_eq!(memory("8.00 GB"), Some((gibibytes(8), Per::Unsaid)));
        assert_eq!(memory("515000+"), Some((Bytes(515_000 << 20), Per::Unsaid)));
        assert_eq!(memory("2207116K"), Some((Bytes(2_207_116 << 10), Per::Unsaid)));
        assert_eq!(memory("0"), Some((Bytes(0), Per::Unsaid)));
        for text in ["", "G", "16X", "-1G", "1e999", "N/A"] {
            assert_eq!(memory(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_in_every_form() {
        let known = |seconds| Some(Reading::Known(Seconds(seconds)));
        assert_eq!(time("1-02:03:04", 60.0), known(93_784.0));
        assert_eq!(time("2-12", 60.0), known(216_000.0));
        assert_eq!(time("10:00", 60.0), known(600.0));
        assert_eq!(time("14-00:00:0", 60.0), known(1_209_600.0));
        assert_eq!(time("00:33:20.500", 60.0), known(2000.5));
        assert_eq!(time("90", 60.0), known(5400.0));
        assert_eq!(time("UNLIMITED", 60.0), Some(Reading::Unsupported));
        for text in ["", "a:b", "2024-05-01T10:00:00", "1:2:3:4", "Partition_Limit", "12345678901"] {
            assert_eq!(time(text, 60.0), None, "{text}");
        }
        assert!(is_time("0:00") && is_time("infinite") && !is_time("12") && !is_time("n-1"));
    }

    #[test]
    fn numbers_and_shares() {
        assert_eq!(["4", "64+", "2-4", "4K", "1.5K"].map(count), [4, 64, 2, 4000, 1500].map(Some));
        assert_eq!(["", "x", "n1", "1.5"].map(count), [None; 4]);
        assert_eq!((percent("63.28%"), percent("12 %"), percent("12")), (Some(63.28), Some(12.0), None));
        assert_eq!((said(" (null) "), said("N/A"), said("\"gpu\"")), (None, None, Some("gpu")));
        assert_eq!(between_commas("n[1,2],a(b,c),\"d,e\""), ["n[1,2]", "a(b,c)", "\"d,e\""]);
    }
}
