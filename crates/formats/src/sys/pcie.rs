//! Link and errors of a device on the PCI bus.

use gpuwhy_model::units::BytesPerSecond;

use crate::Malformed;

/// Gigatransfers a second from which on a lane sends 128 bits in 130; slower ones send 8 in 10.
const LONG_BLOCKS_FROM: f64 = 8.0;

/// Gigatransfers a second from which on a lane sends units of 256 bytes, of which 242 are data.
const UNITS_FROM: f64 = 64.0;

/// Reads `current_link_speed` or `max_link_speed` (`16.0 GT/s PCIe`, `8 GT/s`), as what one lane carries one way; none
/// where the device has no link that could be told (`Unknown`).
///
/// # Errors
/// Fails when there is something else.
pub fn lane_speed(file: &[u8]) -> Result<Option<BytesPerSecond>, Malformed> {
    let malformed = Malformed::first_line("`<number> GT/s`");
    let text = std::str::from_utf8(file.trim_ascii()).map_err(|_| malformed)?;
    if text.starts_with("Unknown") {
        return Ok(None);
    }
    let (number, unit) = text.split_once(' ').ok_or(malformed)?;
    let transfers: f64 = number.parse().map_err(|_| malformed)?;
    if !unit.starts_with("GT/s") || !transfers.is_finite() || transfers <= 0.0 {
        return Err(malformed);
    }
    let data_share = if transfers >= UNITS_FROM {
        242.0 / 256.0
    } else if transfers >= LONG_BLOCKS_FROM {
        128.0 / 130.0
    } else {
        0.8
    };
    Ok(Some(BytesPerSecond(transfers * 1e9 / 8.0 * data_share)))
}

/// Reads `current_link_width` or `max_link_width`; none where the device has no link (0 and 255).
///
/// # Errors
/// Fails when there is no number.
pub fn width(file: &[u8]) -> Result<Option<u32>, Malformed> {
    let text = std::str::from_utf8(file.trim_ascii()).unwrap_or_default();
    let lanes: u32 = text.parse().map_err(|_| Malformed::first_line("a number of lanes"))?;
    Ok((1..=32).contains(&lanes).then_some(lanes))
}

/// Reads the sum in `aer_dev_correctable`, `aer_dev_nonfatal` or `aer_dev_fatal`.
///
/// # Errors
/// Fails when no line holds a sum.
pub fn error_total(file: &[u8]) -> Result<u64, Malformed> {
    let text = String::from_utf8_lossy(file);
    let total = text.lines().find_map(|line| line.strip_prefix("TOTAL_ERR_")?.split_once(' '));
    let total = total.and_then(|(_, number)| number.trim().parse().ok());
    total.ok_or(Malformed::first_line("`TOTAL_ERR_… <number>`"))
}

/// Reads `numa_node`; none where the machine has only one or the firmware does not say (`-1`).
///
/// # Errors
/// Fails when there is no number.
pub fn numa_node(file: &[u8]) -> Result<Option<u32>, Malformed> {
    let text = std::str::from_utf8(file.trim_ascii()).unwrap_or_default();
    let node: i64 = text.parse().map_err(|_| Malformed::first_line("a node, or -1"))?;
    Ok(u32::try_from(node).ok())
}

#[cfg(test)]
mod tests {
    use super::{error_total, lane_speed, numa_node, width};

    #[test]
    fn lanes_carry_less_than_they_transfer() {
        let megabytes = |text: &str| {
            let speed = lane_speed(text.as_bytes()).unwrap().unwrap().0;
            format!("{:.0}", speed / 1e6)
        };
        assert_eq!(megabytes("2.5 GT/s PCIe\n"), "250");
        assert_eq!(megabytes("5 GT/s\n"), "500");
        assert_eq!(megabytes("8.0 GT/s PCIe\n"), "985");
        assert_eq!(megabytes("16.0 GT/s PCIe\n"), "1969");
        assert_eq!(megabytes("32.0 GT/s PCIe\n"), "3938");
        assert_eq!(megabytes("64.0 GT/s PCIe\n"), "7562");
        assert_eq!(lane_speed(b"Unknown\n"), Ok(None));
        assert!(lane_speed(b"fast\n").is_err());
        assert!(lane_speed(b"0 GT/s\n").is_err());
    }

    #[test]
    fn widths_that_mean_no_link_are_none() {
        assert_eq!(width(b"16\n"), Ok(Some(16)));
        assert_eq!(width(b"0\n"), Ok(None));
        assert_eq!(width(b"255\n"), Ok(None));
        assert!(width(b"x16\n").is_err());
    }

    #[test]
    fn errors_are_taken_from_the_sum() {
        let file = b"RxErr 1\nBadTLP 2\nRollover 0\nTOTAL_ERR_COR 3\n";
        assert_eq!(error_total(file), Ok(3));
        assert_eq!(error_total(b"Undefined 0\nTOTAL_ERR_FATAL 0\n"), Ok(0));
        assert!(error_total(b"RxErr 1\n").is_err());
    }

    #[test]
    fn a_node_may_be_unknown() {
        assert_eq!(numa_node(b"1\n"), Ok(Some(1)));
        assert_eq!(numa_node(b"-1\n"), Ok(None));
        assert!(numa_node(b"").is_err());
    }
}
