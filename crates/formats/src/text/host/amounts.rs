//! Numbers as people and tools write them: with units, with a comma for the point, as lengths of time.

/// Returns a number that is finite and not negative; a comma may stand for the point.
pub(super) fn number(word: &str) -> Option<f64> {
    let plain = word.trim_end_matches('%');
    let parsed = if plain.contains('.') { plain.parse() } else { plain.replacen(',', ".", 1).parse() };
    let is_number = plain.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    parsed.ok().filter(|number: &f64| is_number && number.is_finite())
}

/// Returns an amount in bytes; a number without unit counts so many bytes.
///
/// Units are powers of 1024, as `free -h`, `df -h`, `top` and `ps` mean them.
pub(super) fn bytes(word: &str, unit: u64) -> Option<u64> {
    let letters_at = word.find(|sign: char| sign.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, letters) = word.split_at(letters_at);
    let factor = match letters.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" if letters.is_empty() => unit,
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        "p" => 1 << 50,
        _ => return None,
    };
    let bytes = number(digits)? * factor as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie within")]
    (bytes < 1e18).then(|| bytes.round() as u64)
}

/// Returns a length of time in seconds: `mm:ss`, `hh:mm:ss`, `1-02:03:04`, `512:33.21`, `1h02:03`.
pub(super) fn seconds(word: &str) -> Option<f64> {
    let (days, clock) = word.split_once('-').unwrap_or(("0", word));
    let parts: Vec<&str> = clock.split([':', 'h']).collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    let mut seconds = number(days)? * 86_400.0;
    for (part, factor) in parts.iter().rev().zip([1.0, 60.0, 3600.0]) {
        seconds += number(part)? * factor;
    }
    Some(seconds)
}

/// Returns a whole number; none when anything else stands there.
pub(super) fn whole<T: std::str::FromStr>(word: &str) -> Option<T> {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{bytes, number, seconds, whole};

    #[test]
    fn amounts_have_units() {
        for (word, unit, expected) in [
            ("1.5g", 1024, Some(3 << 29)),
            ("512", 1024, Some(512 << 10)),
            ("142M", 1, Some(142 << 20)),
            ("2,0Gi", 1, Some(2 << 30)),
            ("0B", 1024, Some(0)),
            ("0", 1024, Some(0)),
            ("1.0T", 1, Some(1 << 40)),
            ("x", 1, None),
            ("-5", 1, None),
            ("5q", 1, None),
            ("1e999", 1, None),
            ("", 1, None),
        ] {
            assert_eq!(bytes(word, unit), expected, "{word}");
        }
    }

    #[test]
    fn lengths_of_time_have_parts() {
        for (word, expected) in [
            ("0:07", Some(7.0)),
            ("512:33", Some(30_753.0)),
            ("01:02:03", Some(3723.0)),
            ("2-01:00:00", Some(176_400.0)),
            ("1:02.50", Some(62.5)),
            ("1h02:03", Some(3723.0)),
            ("12", None),
            ("a:b", None),
        ] {
            assert_eq!(seconds(word), expected, "{word}");
        }
        assert_eq!((number("12,5"), number("nan"), number("12.5%")), (Some(12.5), None, Some(12.5)));
        assert_eq!((whole::<u32>("12"), whole::<u32>("+12"), whole::<u8>("300")), (Some(12), None, None));
    }
}
