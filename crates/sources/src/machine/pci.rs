//! Cards and `NVSwitches` on the PCI bus, as sysfs lists them.

use std::collections::BTreeMap;
use std::path::Path;

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc::hexadecimal;
use gpuwhy_formats::sys;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::PciDevice;

use crate::file::{count_one, names_in, read_and_parse, read_path};

/// Bytes of the configuration that every viewer may read, and that a lost device answers with all ones.
const HEADER: usize = 64;

/// The class of bridges that are no PCI bridge; NVIDIA's are `NVSwitches`.
const OTHER_BRIDGE: u32 = 0x0680;

/// What the bus is asked for again and again. The class of a device at an address is read once: a large machine has
/// hundreds of devices, and few are cards.
#[derive(Debug, Default)]
pub(super) struct Bus {
    classes: BTreeMap<String, u32>,
}

/// What was found on the bus.
pub(super) struct Found {
    /// Display controllers and accelerators, by address.
    pub(super) cards: Reading<Vec<PciDevice>>,
    /// How many `NVSwitches`.
    pub(super) nvswitches: Reading<u64>,
}

impl Bus {
    /// Lists the bus.
    pub(super) fn look(&mut self, sys: &Path, buffer: &mut Vec<u8>) -> Found {
        let bus = sys.join("bus/pci/devices");
        let Ok(addresses) = names_in(&bus) else {
            // A machine without the bus has its `bus` folder still; without sysfs there is nothing to go by.
            return if sys.join("bus").is_dir() {
                Found { cards: Reading::Unsupported, nvswitches: Reading::Unsupported }
            } else {
                let closed = Access::MountedSys;
                Found { cards: Reading::Denied(closed.clone()), nvswitches: Reading::Denied(closed) }
            };
        };
        self.classes.retain(|address, _| addresses.binary_search(address).is_ok());
        let mut cards = Vec::new();
        let mut nvswitches = 0;
        for address in addresses {
            let place = bus.join(&address);
            let class = match self.classes.get(&address) {
                Some(class) => *class,
                None => match number(&place, "class", buffer) {
                    Some(class) => *self.classes.entry(address.clone()).or_insert(class),
                    None => continue,
                },
            };
            let device = PciDevice { address, class, ..PciDevice::default() };
            if device.is_card() {
                cards.extend(card(&place, device, buffer));
            } else if class >> 8 == OTHER_BRIDGE
                && number(&place, "vendor", buffer) == Some(PciDevice::NVIDIA)
            {
                nvswitches += 1;
            }
        }
        Found { cards: Reading::Known(cards), nvswitches: Reading::Known(nvswitches) }
    }
}

fn number(place: &Path, file: &str, buffer: &mut Vec<u8>) -> Option<u32> {
    read_and_parse(&place.join(file), buffer, Access::MountedSys, hexadecimal).into_known()
}

/// Reads one card; none if it tells nothing.
fn card(place: &Path, mut card: PciDevice, buffer: &mut Vec<u8>) -> Option<PciDevice> {
    card.vendor = number(place, "vendor", buffer)?;
    card.device = number(place, "device", buffer)?;
    count_one();
    card.driver = match std::fs::read_link(place.join("driver")) {
        Ok(link) => link
            .file_name()
            .map_or(Reading::Unsupported, |name| Reading::Known(name.to_string_lossy().into_owned())),
        Err(_) => Reading::Unsupported,
    };
    card.answers = answers(&place.join("config"), buffer);
    if card.answers == Reading::Known(false) {
        // All ones, which the kernel would take for a speed.
        card.lane_speed = Reading::Failed(Failure::NotReached);
        card.width = Reading::Failed(Failure::NotReached);
    } else {
        card.lane_speed = optional(place, "current_link_speed", buffer, sys::lane_speed);
        card.width = optional(place, "current_link_width", buffer, sys::width);
    }
    card.lane_speed_max = optional(place, "max_link_speed", buffer, sys::lane_speed);
    card.width_max = optional(place, "max_link_width", buffer, sys::width);
    card.corrected_errors = errors(place, &["aer_dev_correctable"], buffer);
    card.uncorrected_errors = errors(place, &["aer_dev_nonfatal", "aer_dev_fatal"], buffer);
    card.numa_node = optional(place, "numa_node", buffer, sys::numa_node);
    Some(card)
}

/// Reads a file that not every device has, or that may say that there is no value.
fn optional<T>(
    place: &Path,
    file: &str,
    buffer: &mut Vec<u8>,
    parse: impl FnOnce(&[u8]) -> Result<Option<T>, Malformed>,
) -> Reading<T> {
    match read_and_parse(&place.join(file), buffer, Access::MountedSys, parse) {
        Reading::Failed(Failure::Missing { .. }) => Reading::Unsupported,
        reading => reading.and_then(|value| value.map_or(Reading::Unsupported, Reading::Known)),
    }
}

/// Reads the sum of errors in some files; without advanced error reporting there are none of them.
fn errors(place: &Path, files: &[&str], buffer: &mut Vec<u8>) -> Reading<u64> {
    let mut sum = Reading::Known(0_u64);
    for file in files {
        let total = |bytes: &[u8]| sys::error_total(bytes).map(Some);
        let more = optional(place, file, buffer, total);
        sum = sum.and_then(|sum| more.map(|more| sum.saturating_add(more)));
    }
    sum
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

#[cfg(test)]
mod tests {
    use super::Bus;
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::PciDevice;
    use std::path::Path;

    fn write(root: &Path, address: &str, files: &[(&str, &str)]) {
        let place = root.join("bus/pci/devices").join(address);
        std::fs::create_dir_all(&place).unwrap();
        for (file, text) in files {
            std::fs::write(place.join(file), text).unwrap();
        }
    }

    fn look(bus: &mut Bus, root: &Path) -> (Vec<PciDevice>, u64) {
        let found = bus.look(root, &mut Vec::new());
        (found.cards.into_known().unwrap(), found.nvswitches.into_known().unwrap())
    }

    #[test]
    fn link_errors_and_node_of_a_card_are_read() {
        let root = tempfile::tempdir().unwrap();
        let ids =
            [("vendor", "0x10de\n"), ("device", "0x2330\n"), ("class", "0x030200\n"), ("config", "\x00de")];
        write(root.path(), "0000:19:00.0", &ids);
        write(
            root.path(),
            "0000:19:00.0",
            &[
                ("current_link_speed", "16.0 GT/s PCIe\n"),
                ("max_link_speed", "32.0 GT/s PCIe\n"),
                ("current_link_width", "8\n"),
                ("max_link_width", "16\n"),
                ("aer_dev_correctable", "RxErr 4\nTOTAL_ERR_COR 5\n"),
                ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 1\n"),
                ("aer_dev_fatal", "TOTAL_ERR_FATAL 1\n"),
                ("numa_node", "1\n"),
            ],
        );
        write(root.path(), "0000:1a:00.0", &ids);
        write(root.path(), "0000:05:00.0", &[("vendor", "0x10de\n"), ("class", "0x068000\n")]);
        write(root.path(), "0000:06:00.0", &[("vendor", "0x8086\n"), ("class", "0x068000\n")]);
        let mut bus = Bus::default();
        let (cards, nvswitches) = look(&mut bus, root.path());
        assert_eq!(nvswitches, 1);
        let (full, bare) = (&cards[0], &cards[1]);
        assert_eq!((&full.width, &full.width_max), (&Reading::Known(8), &Reading::Known(16)));
        assert!(full.lane_speed.known().unwrap().0 < full.lane_speed_max.known().unwrap().0);
        assert_eq!(full.corrected_errors, Reading::Known(5));
        assert_eq!(full.uncorrected_errors, Reading::Known(2));
        assert_eq!(full.numa_node, Reading::Known(1));
        assert_eq!((&bare.width, &bare.corrected_errors), (&Reading::Unsupported, &Reading::Unsupported));

        std::fs::remove_dir_all(root.path().join("bus/pci/devices/0000:1a:00.0")).unwrap();
        assert_eq!(look(&mut bus, root.path()).0.len(), 1, "a card that is gone is not listed");
    }

    #[test]
    fn a_lost_card_has_no_link() {
        let root = tempfile::tempdir().unwrap();
        let ids = [("vendor", "0x10de\n"), ("device", "0x2330\n"), ("class", "0x030200\n")];
        write(root.path(), "0000:19:00.0", &ids);
        write(
            root.path(),
            "0000:19:00.0",
            &[("current_link_speed", "Unknown\n"), ("current_link_width", "63\n")],
        );
        std::fs::write(root.path().join("bus/pci/devices/0000:19:00.0/config"), [0xff; 64]).unwrap();
        let (cards, _) = look(&mut Bus::default(), root.path());
        assert_eq!(cards[0].answers, Reading::Known(false));
        assert_eq!(cards[0].width, Reading::Failed(Failure::NotReached));
    }
}
