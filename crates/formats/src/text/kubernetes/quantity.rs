//! How Kubernetes writes amounts and lengths of time.

use gpuwhy_model::units::{Bytes, Cores, Quantity};

/// Endings of amounts and what they stand for; longer ones first.
const SUFFIXES: &[(&str, f64)] = &[
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// Reads an amount: `500m`, `64Gi`, `8G`, `1e3`, `128974848`.
pub(crate) fn quantity(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches('"');
    let plain = |text: &str| {
        let starts = text.starts_with(|first: char| first.is_ascii_digit() || ".+-".contains(first));
        text.parse::<f64>().ok().filter(|number| starts && number.is_finite() && *number >= 0.0)
    };
    if let Some(number) = plain(text) {
        return Some(number);
    }
    let (suffix, factor) = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix))?;
    plain(&text[..text.len() - suffix.len()]).map(|number| number * factor)
}

/// Reads a whole number of things.
pub(crate) fn count(text: &str) -> Option<u64> {
    let number = quantity(text)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a small whole number"
    )]
    (number.fract() == 0.0 && number < 1e9).then_some(number as u64)
}

/// Reads processors.
pub(crate) fn cores(text: &str) -> Option<Cores> {
    quantity(text).filter(|cores| *cores < 1e9).map(Cores)
}

/// Reads an amount of memory.
pub(crate) fn bytes(text: &str) -> Option<Bytes> {
    quantity(text).filter(|bytes| *bytes < 9e18).map(Bytes::from_number)
}

/// Reads a length of time: `4m47s`, `5h43m`, `3d2h`, `96 min`, `2y10d`.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let mut rest = text;
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        total += number
            * match &rest[..letters] {
                "ms" => 0.001,
                "s" | "sec" | "second" | "seconds" => 1.0,
                "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
                "h" | "hour" | "hours" => 3600.0,
                "d" | "day" | "days" => 86_400.0,
                "y" | "year" | "years" => 31_536_000.0,
                _ => return None,
            };
        rest = rest[letters..].trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::units::{Bytes, Cores};

    use super::{bytes, cores, count, quantity, seconds};

    #[test]
    fn amounts_are_read() {
        assert_eq!(cores("500m"), Some(Cores(0.5)));
        assert_eq!(bytes("64Gi"), Some(Bytes(64 << 30)));
        assert_eq!(bytes("8G"), Some(Bytes(8_000_000_000)));
        assert_eq!(bytes("263412492Ki"), Some(Bytes(263_412_492 << 10)));
        assert_eq!((count("4k"), count("1e3"), count("\"16\"")), (Some(4000), Some(1000), Some(16)));
        for text in ["", "x", "-3", "nan", "inf", "1.5.5", "Gi", "1 2", "<none>"] {
            assert_eq!(quantity(text), None, "{text}");
        }
        assert_eq!(count("0.5"), None);
    }

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("4m47s"), Some(287.0));
        assert_eq!(seconds("5h43m"), Some(20_580.0));
        assert_eq!(seconds("3d"), Some(259_200.0));
        assert_eq!(seconds("96 min"), Some(5760.0));
        for text in ["", "<unknown>", "5", "m", "3x"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
