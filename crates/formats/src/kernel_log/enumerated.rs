//! Devices that the kernel lists when it starts: `pci 0000:65:00.0: [10de:20b0] type 00 class 0x030200`.

use gpuwhy_model::sample::PciDevice;

use super::address::pci_address;

/// Returns the card that a line lists.
pub(super) fn card(text: &str) -> Option<PciDevice> {
    let rest = text.strip_prefix("pci ")?;
    let (address, rest) = rest.split_once(": [")?;
    let (ids, rest) = rest.split_once(']')?;
    let (vendor, device) = ids.split_once(':')?;
    let (_, class) = rest.split_once(" class 0x")?;
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let device = PciDevice {
        address: pci_address(address)?,
        vendor: hexadecimal(vendor)?,
        device: hexadecimal(device)?,
        class: hexadecimal(class.split(' ').next()?)?,
        ..PciDevice::default()
    };
    device.is_card().then_some(device)
}

#[cfg(test)]
mod tests {
    use super::card;

    #[test]
    fn cards_are_told_from_other_devices() {
        let found = card("pci 0000:65:00.0: [10de:20b0] type 00 class 0x030200 PCIe Endpoint").unwrap();
        assert_eq!((found.address.as_str(), found.vendor, found.device), ("0000:65:00.0", 0x10de, 0x20b0));
        for text in [
            "pci 0000:00:1f.0: [8086:a1c1] type 00 class 0x060100",
            "pci 0000:65:00.0: reg 0x10: [mem 0xde000000-0xdeffffff]",
            "pci 0000:65:00.0: [10de:20b0] type 00 cl",
        ] {
            assert!(card(text).is_none(), "{text}");
        }
    }
}
