//! `/sys/class/infiniband/*/ports/*`.

use gpuwhy_model::units::BytesPerSecond;

use crate::Malformed;

/// Reads `state`: `4: ACTIVE`.
///
/// # Errors
/// Fails when no number stands before a colon.
pub fn port_is_active(file: &[u8]) -> Result<bool, Malformed> {
    let malformed = Malformed::first_line("`<number>: <state>`");
    let digits = file.trim_ascii().split(|byte| *byte == b':').next().ok_or(malformed)?;
    let digits = std::str::from_utf8(digits).map_err(|_| malformed)?;
    let number: u32 = digits.parse().map_err(|_| malformed)?;
    Ok(number == 4)
}

/// Reads `rate`: `400 Gb/sec (4X NDR)`.
///
/// # Errors
/// Fails when there is no number of gigabits.
pub fn port_rate(file: &[u8]) -> Result<BytesPerSecond, Malformed> {
    let malformed = Malformed::first_line("`<number> Gb/sec …`");
    let text = std::str::from_utf8(file.trim_ascii()).map_err(|_| malformed)?;
    let (number, rest) = text.split_once(' ').ok_or(malformed)?;
    let gigabits: f64 = number.parse().map_err(|_| malformed)?;
    if !rest.starts_with("Gb/sec") || !gigabits.is_finite() || gigabits < 0.0 {
        return Err(malformed);
    }
    Ok(BytesPerSecond(gigabits * 1e9 / 8.0))
}

#[cfg(test)]
mod tests {
    use super::{port_is_active, port_rate};
    use gpuwhy_model::units::BytesPerSecond;

    #[test]
    fn states_have_numbers() {
        assert_eq!(port_is_active(b"4: ACTIVE\n"), Ok(true));
        assert_eq!(port_is_active(b"1: DOWN\n"), Ok(false));
        assert_eq!(port_is_active(b"2: INIT\n"), Ok(false));
        assert!(port_is_active(b"ACTIVE\n").is_err());
        assert!(port_is_active(b"").is_err());
    }

    #[test]
    fn rates_are_bytes() {
        assert_eq!(port_rate(b"400 Gb/sec (4X NDR)\n"), Ok(BytesPerSecond(5e10)));
        assert_eq!(port_rate(b"2.5 Gb/sec (1X SDR)\n"), Ok(BytesPerSecond(312_500_000.0)));
        assert!(port_rate(b"400\n").is_err());
        assert!(port_rate(b"nan Gb/sec\n").is_err());
        assert!(port_rate(b"-1 Gb/sec\n").is_err());
    }
}
