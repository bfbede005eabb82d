//! `/proc/PID/fdinfo/*` of a graphics device, and values of its hardware monitor.

use std::collections::BTreeMap;

use crate::Malformed;
use crate::proc::whole_number;

/// What the kernel says of one client of a graphics device. Several descriptors may be the same client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DrmClient {
    /// Driver (`amdgpu`, `i915`, `xe` …).
    pub driver: String,
    /// PCI address of the device, where it has one.
    pub pci_address: Option<String>,
    /// The client's number, unique on its device.
    pub id: Option<u64>,
    /// Bytes that the client holds in the device's own memory; none where the driver does not say.
    pub device_memory: Option<u64>,
    /// Bytes that the client holds in the machine's memory; none where the driver does not say.
    pub system_memory: Option<u64>,
    /// Nanoseconds that each engine has worked for the client.
    pub engine_ns: BTreeMap<String, u64>,
}

/// Reads the description of a descriptor; none when it belongs to no graphics device.
pub fn drm_client(file: &[u8]) -> Option<DrmClient> {
    let text = String::from_utf8_lossy(file);
    let fields: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    let value = |wanted: &str| fields.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    let mut client = DrmClient {
        driver: value("drm-driver")?.to_owned(),
        pci_address: value("drm-pdev").map(str::to_owned),
        id: value("drm-client-id").and_then(|id| id.parse().ok()),
        ..DrmClient::default()
    };
    // What is resident says most; older drivers only know `memory`, some only what was asked for.
    let kinds = ["drm-resident-", "drm-memory-", "drm-total-"];
    if let Some(kind) = kinds.iter().find(|kind| fields.iter().any(|(key, _)| key.starts_with(**kind))) {
        for (key, value) in &fields {
            let (Some(region), Some(bytes)) = (key.strip_prefix(kind), bytes_of(value)) else {
                continue;
            };
            let held =
                if is_of_the_device(region) { &mut client.device_memory } else { &mut client.system_memory };
            *held = Some(held.unwrap_or(0).saturating_add(bytes));
        }
    }
    for (key, value) in &fields {
        let engine = key.strip_prefix("drm-engine-").filter(|engine| !engine.starts_with("capacity-"));
        let nanoseconds = value.strip_suffix(" ns").and_then(|number| number.trim().parse().ok());
        if let (Some(engine), Some(nanoseconds)) = (engine, nanoseconds) {
            client.engine_ns.insert(engine.to_owned(), nanoseconds);
        }
    }
    Some(client)
}

/// Returns whether a region's name stands for memory on the card.
fn is_of_the_device(region: &str) -> bool {
    ["vram", "local", "visible"].iter().any(|own| region.starts_with(own))
}

/// Returns the bytes of `12 KiB`, `12 kB`, `3 MiB` or `7`.
fn bytes_of(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let number: u64 = number.parse().ok()?;
    let each = match unit.trim() {
        "" => 1,
        "KiB" | "kB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(each)
}

/// Reads a number of thousandths, as sensors give temperatures.
///
/// # Errors
/// Fails when there is no number.
pub fn in_thousandths(file: &[u8]) -> Result<f64, Malformed> {
    whole_number(file).map(|thousandths| thousandths as f64 / 1e3)
}

/// Reads a number of millionths, as sensors give power.
///
/// # Errors
/// Fails when there is no number.
pub fn in_millionths(file: &[u8]) -> Result<f64, Malformed> {
    whole_number(file).map(|millionths| millionths as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::{drm_client, in_millionths, in_thousandths};

    #[test]
    fn memory_of_the_card_is_told_from_that_of_the_machine() {
        let file = b"pos:\t0\nflags:\t02100002\ndrm-driver:\txe\ndrm-client-id:\t99\ndrm-pdev:\t0000:03:00.0\n\
                     drm-total-vram0:\t1048576 KiB\ndrm-total-gtt:\t65536 KiB\ndrm-resident-vram0:\t524288 KiB\n\
                     drm-resident-gtt:\t32 MiB\ndrm-engine-rcs:\t98 ns\ndrm-engine-capacity-rcs:\t1\n";
        let client = drm_client(file).unwrap();
        assert_eq!((client.driver.as_str(), client.id), ("xe", Some(99)));
        assert_eq!(client.pci_address.as_deref(), Some("0000:03:00.0"));
        assert_eq!(client.device_memory, Some(512 << 20));
        assert_eq!(client.system_memory, Some(32 << 20));
        assert_eq!(client.engine_ns.into_iter().collect::<Vec<_>>(), [("rcs".to_owned(), 98)]);
    }

    #[test]
    fn older_drivers_say_less() {
        let file = b"drm-driver:\tamdgpu\npasid:\t1\ndrm-memory-vram:\t2048 KiB\ndrm-memory-gtt:\t0 KiB\n";
        let client = drm_client(file).unwrap();
        assert_eq!((client.device_memory, client.system_memory), (Some(2 << 20), Some(0)));
        let silent =
            drm_client(b"drm-driver: i915\ndrm-client-id: no\ndrm-resident-local0: bogus\n").unwrap();
        assert_eq!((silent.id, silent.device_memory), (None, None));
        assert_eq!(drm_client(b"pos:\t0\nmnt_id:\t26\n"), None);
        assert_eq!(drm_client(b"\xff\xfe"), None);
    }

    #[test]
    fn sensors_count_in_small_parts() {
        assert_eq!(in_thousandths(b"45000\n"), Ok(45.0));
        assert_eq!(in_millionths(b"210500000\n"), Ok(210.5));
        assert!(in_millionths(b"\n").is_err());
    }
}
