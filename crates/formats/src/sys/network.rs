//! `/sys/class/net/*`.

use gpuwhy_model::units::BytesPerSecond;

use crate::Malformed;

/// Reads `speed`, in megabits a second; none where the link has no speed of its own (`-1`).
///
/// # Errors
/// Fails when there is no number.
pub fn interface_speed(file: &[u8]) -> Result<Option<BytesPerSecond>, Malformed> {
    let text = std::str::from_utf8(file.trim_ascii()).unwrap_or_default();
    let megabits: i64 = text.parse().map_err(|_| Malformed::first_line("megabits a second, or -1"))?;
    // Some drivers write the unknown speed as an unsigned number.
    let is_known = megabits > 0 && megabits < i64::from(u32::MAX);
    Ok(is_known.then(|| BytesPerSecond(megabits as f64 * 1e6 / 8.0)))
}

/// Reads `operstate`; none where the driver does not know (`unknown`: loopback, tunnels).
pub fn interface_is_up(file: &[u8]) -> Option<bool> {
    match file.trim_ascii() {
        b"up" => Some(true),
        b"down" | b"lowerlayerdown" | b"notpresent" | b"dormant" | b"testing" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{interface_is_up, interface_speed};
    use gpuwhy_model::units::BytesPerSecond;

    #[test]
    fn speeds_are_bytes_and_an_unknown_one_is_none() {
        assert_eq!(interface_speed(b"25000\n"), Ok(Some(BytesPerSecond(3.125e9))));
        assert_eq!(interface_speed(b"-1\n"), Ok(None));
        assert_eq!(interface_speed(b"4294967295\n"), Ok(None));
        assert!(interface_speed(b"\n").is_err());
        assert!(interface_speed(b"\xff").is_err());
    }

    #[test]
    fn an_unknown_state_is_no_state() {
        assert_eq!(interface_is_up(b"up\n"), Some(true));
        assert_eq!(interface_is_up(b"lowerlayerdown\n"), Some(false));
        assert_eq!(interface_is_up(b"unknown\n"), None);
        assert_eq!(interface_is_up(b""), None);
    }
}
