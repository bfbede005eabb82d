//! `lspci`: the devices in the box's PCI folder, one a line.

use std::fs;
use std::path::Path;

use super::Said;
use crate::board::{Board, BoxDirectory};

/// Lists the devices; `-n`, `-nn`, `-D` and `-d VENDOR:` change how, other options change nothing.
pub(super) fn answer(directory: &BoxDirectory, arguments: &[String]) -> Said {
    let style = Style::of(arguments);
    let board = Board::of(directory).ok();
    let mut lines = String::new();
    for device in devices(&directory.pci_devices()) {
        if style.vendor.is_some_and(|vendor| vendor != device.vendor) {
            continue;
        }
        lines.push_str(&style.line(&device, board.as_ref()));
        lines.push('\n');
    }
    Said::output(lines)
}

/// One device as sysfs has it.
struct Device {
    address: String,
    class: u32,
    vendor: u32,
    product: u32,
    revision: u32,
}

fn devices(folder: &Path) -> Vec<Device> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut devices: Vec<Device> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let number = |file: &str| {
                let text = fs::read_to_string(entry.path().join(file)).ok()?;
                u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
            };
            Some(Device {
                address: entry.file_name().into_string().ok()?,
                class: number("class")?,
                vendor: number("vendor")?,
                product: number("device")?,
                revision: number("revision").unwrap_or(0),
            })
        })
        .collect();
    devices.sort_by(|one, other| one.address.cmp(&other.address));
    devices
}

#[derive(Default)]
struct Style {
    has_domain: bool,
    has_numbers: bool,
    only_numbers: bool,
    vendor: Option<u32>,
}

impl Style {
    fn of(arguments: &[String]) -> Self {
        let mut style = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-D" => style.has_domain = true,
                "-n" => style.only_numbers = true,
                "-nn" => style.has_numbers = true,
                "-d" => {
                    let vendor = arguments.next().and_then(|ids| ids.split(':').next());
                    style.vendor = vendor.and_then(|vendor| u32::from_str_radix(vendor, 16).ok());
                }
                _ => {}
            }
        }
        style
    }

    fn line(&self, device: &Device, board: Option<&Board>) -> String {
        let address =
            if self.has_domain { &device.address } else { device.address.trim_start_matches("0000:") };
        let class = device.class >> 8;
        let revision =
            if device.revision == 0 { String::new() } else { format!(" (rev {:02x})", device.revision) };
        if self.only_numbers {
            return format!("{address} {class:04x}: {:04x}:{:04x}{revision}", device.vendor, device.product);
        }
        let (kind, name) = (class_name(class), device_name(device, board));
        if self.has_numbers {
            let (vendor, product) = (device.vendor, device.product);
            return format!("{address} {kind} [{class:04x}]: {name} [{vendor:04x}:{product:04x}]{revision}");
        }
        format!("{address} {kind}: {name}{revision}")
    }
}

fn class_name(class: u32) -> &'static str {
    match class {
        0x0300 => "VGA compatible controller",
        0x0302 => "3D controller",
        0x0600 => "Host bridge",
        0x0680 => "Bridge",
        _ => "System peripheral",
    }
}

fn device_name(device: &Device, board: Option<&Board>) -> String {
    const NVIDIA: u32 = 0x10DE;
    const SWITCH_CLASS: u32 = 0x0680;
    if device.vendor != NVIDIA {
        return format!("Intel Corporation Device {:04x}", device.product);
    }
    if device.class >> 8 == SWITCH_CLASS {
        return "NVIDIA Corporation NVSwitch".to_owned();
    }
    let card = board.and_then(|board| board.cards.iter().find(|card| card.pci_address() == device.address));
    match card {
        Some(card) => {
            let name = card.profile.name.trim_start_matches("NVIDIA ");
            format!("NVIDIA Corporation Device {:04x} [{name}]", device.product)
        }
        None => format!("NVIDIA Corporation Device {:04x}", device.product),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        Device {
            address: "0000:0f:00.0".to_owned(),
            class: 0x03_0200,
            vendor: 0x10DE,
            product: 0x20B2,
            revision: 0xA1,
        }
    }

    #[test]
    fn a_card_is_an_nvidia_controller() {
        let plain = Style::default().line(&device(), None);
        assert_eq!(plain, "0f:00.0 3D controller: NVIDIA Corporation Device 20b2 (rev a1)");
        let arguments = ["-nn".to_owned(), "-D".to_owned(), "-d".to_owned(), "10de:".to_owned()];
        let style = Style::of(&arguments);
        assert_eq!(style.vendor, Some(0x10DE));
        let numbered = style.line(&device(), None);
        assert_eq!(
            numbered,
            "0000:0f:00.0 3D controller [0302]: NVIDIA Corporation Device 20b2 [10de:20b2] (rev a1)"
        );
    }
}
