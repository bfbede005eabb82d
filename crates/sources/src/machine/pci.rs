//! Cards on the PCI bus, as sysfs lists them.

use std::path::Path;

use gpuwhy_formats::proc::hexadecimal;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::PciDevice;

use crate::file::{read_and_parse, read_path};

/// Bytes of the configuration that every viewer may read, and that a lost device answers with all ones.
const HEADER: usize = 64;

/// Lists display controllers and accelerators, by address.
pub(super) fn cards(sys: &Path, buffer: &mut Vec<u8>) -> Reading<Vec<PciDevice>> {
    let bus = sys.join("bus/pci/devices");
    let entries = match std::fs::read_dir(&bus) {
        Ok(entries) => entries,
        // A machine without the bus has its `bus` folder still; without sysfs there is nothing to go by.
        Err(_) if sys.join("bus").is_dir() => return Reading::Unsupported,
        Err(_) => return Reading::Denied(Access::MountedSys),
    };
    let mut cards = Vec::new();
    for entry in entries.flatten() {
        let Ok(address) = entry.file_name().into_string() else {
            continue;
        };
        if let Some(card) = card(&entry.path(), address, buffer) {
            cards.push(card);
        }
    }
    cards.sort_by(|one, other| one.address.cmp(&other.address));
    Reading::Known(cards)
}

/// Reads one device; none if it is no card, or tells nothing.
fn card(device: &Path, address: String, buffer: &mut Vec<u8>) -> Option<PciDevice> {
    let mut number =
        |file: &str| read_and_parse(&device.join(file), buffer, Access::MountedSys, hexadecimal).into_known();
    let class = number("class")?;
    let mut card = PciDevice { address, class, ..PciDevice::default() };
    if !card.is_card() {
        return None;
    }
    card.vendor = number("vendor")?;
    card.device = number("device")?;
    card.driver = match std::fs::read_link(device.join("driver")) {
        Ok(link) => link
            .file_name()
            .map_or(Reading::Unsupported, |name| Reading::Known(name.to_string_lossy().into_owned())),
        Err(_) => Reading::Unsupported,
    };
    card.answers = answers(&device.join("config"), buffer);
    Some(card)
}

/// Returns whether the device answers: the vendor in its configuration is not all ones. (The `vendor` file holds what
/// was read at boot.)
fn answers(config: &Path, buffer: &mut Vec<u8>) -> Reading<bool> {
    match read_path(config, buffer) {
        Ok(bytes) if bytes.len() >= 2 => {
            Reading::Known(bytes[..bytes.len().min(HEADER)].iter().any(|byte| *byte != 0xff))
        }
        Ok(_) => {
            Reading::Failed(Failure::Io { path: config.display().to_string(), error: "empty".to_owned() })
        }
        Err(error) => error.reading_with(Access::MountedSys),
    }
}
