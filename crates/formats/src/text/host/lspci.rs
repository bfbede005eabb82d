//! Output of `lspci`: short, with numbers, with details, of all ages.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::PciDevice;

use super::{block, scene};
use crate::Format;
use crate::kernel_log::pci_address;
use crate::paste::{Line, command_after_prompt};
use crate::sys::{lane_speed, width};
use crate::text::{Block, Context};

/// Vendors of cards, by name.
const VENDORS: &[(&str, u32)] = &[
    ("NVIDIA", PciDevice::NVIDIA),
    ("nVidia", PciDevice::NVIDIA),
    ("Advanced Micro Devices", PciDevice::AMD),
    ("AMD/ATI", PciDevice::AMD),
    ("Intel", PciDevice::INTEL),
];

/// Classes of devices, by name.
const CLASSES: &[(&str, u32)] = &[
    ("VGA compatible controller", 0x03_00_00),
    ("XGA compatible controller", 0x03_01_00),
    ("3D controller", 0x03_02_00),
    ("Display controller", 0x03_80_00),
    ("Processing accelerators", 0x12_00_00),
    ("Host bridge", 0x06_00_00),
    ("ISA bridge", 0x06_01_00),
    ("PCI bridge", 0x06_04_00),
    ("Bridge", 0x06_80_00),
];

/// Names of classes that do not matter here; other texts have numbers with a colon and a point too.
const OTHER_CLASSES: &[&str] = &[
    "Audio device",
    "Co-processor",
    "Communication controller",
    "DMA controller",
    "Encryption controller",
    "Ethernet controller",
    "FireWire (IEEE 1394)",
    "Fabric controller",
    "Generic system peripheral",
    "IDE interface",
    "IOMMU",
    "Infiniband controller",
    "Mass storage controller",
    "Memory controller",
    "Multimedia audio controller",
    "Multimedia controller",
    "Multimedia video controller",
    "Network controller",
    "Non-Essential Instrumentation",
    "Non-Volatile memory controller",
    "PIC",
    "Parallel controller",
    "Performance counters",
    "RAID bus controller",
    "RAM memory",
    "SATA controller",
    "SCSI storage controller",
    "SD Host controller",
    "SMBus",
    "Serial Attached SCSI controller",
    "Serial bus controller",
    "Serial controller",
    "Signal processing controller",
    "System peripheral",
    "USB controller",
    "Unassigned class",
];

/// The class of bridges that are no PCI bridge; NVIDIA's are `NVSwitches`.
const OTHER_BRIDGE: u32 = 0x06_80;
/// Every machine has such a bridge: a list without any is a part of one.
const HOST_BRIDGE: u32 = 0x06_00;

/// Reads the list that begins with the first line, if one does; lines about links alone too.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if device(first).is_none() {
        return links_alone(lines, context);
    }
    let mut devices: Vec<PciDevice> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if let Some(found) = device(text) {
            devices.push(found);
        } else if is_detail(text) {
            if let Some(last) = devices.last_mut() {
                detail(text.trim(), last);
            }
        } else if is_dump(text) {
            // `-x` shows what a device answers: one that is gone, nothing but ones.
            if let Some(last) = devices.last_mut().filter(|_| text.starts_with("00: ff ff ff ff")) {
                last.answers = Reading::Known(false);
            }
        } else if text.trim().is_empty() {
            continue;
        } else {
            break;
        }
        taken = place + 1;
    }
    let mut scene = scene(Format::Lspci);
    let is_of = |device: &PciDevice, class: u32| device.class >> 8 == class;
    let is_whole = devices.iter().any(|device| is_of(device, HOST_BRIDGE));
    let switches = devices
        .iter()
        .filter(|device| is_of(device, OTHER_BRIDGE) && device.vendor == PciDevice::NVIDIA)
        .count() as u64;
    let cards: Vec<PciDevice> = devices.into_iter().filter(PciDevice::is_card).collect();
    // That a part of a list has none says nothing.
    if is_whole || switches > 0 {
        scene.machine.nvswitches = Reading::Known(switches);
    }
    if is_whole || !cards.is_empty() {
        scene.machine.pci_cards = Reading::Known(cards);
    }
    Some(block(taken, scene))
}

/// Reads the first line of a device: `65:00.0 3D controller [0302]: NVIDIA Corporation … [10de:20b5] (rev a1)`,
/// `65:00.0 0302: 10de:20b5 (rev a1)`, `65:00.0 "3D controller" "NVIDIA Corporation" …`.
fn device(text: &str) -> Option<PciDevice> {
    let (address, rest) = text.split_once(' ')?;
    // Every form has a function.
    let address = address.contains('.').then(|| pci_address(address))??;
    let rest = rest.trim_start();
    let (class, name) = if let Some(quoted) = rest.strip_prefix('"') {
        quoted.split_once('"')?
    } else {
        rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|class| (class, "")))?
    };
    let class = class_of(class)?;
    let ids = last_ids(name);
    let vendor = ids.map(|(vendor, _)| vendor).or_else(|| {
        let of_name = |(words, _): &&(&str, u32)| name.contains(words);
        VENDORS.iter().find(of_name).map(|(_, vendor)| *vendor)
    });
    Some(PciDevice {
        address,
        vendor: vendor.unwrap_or_default(),
        device: ids.map(|(_, device)| device).unwrap_or_default(),
        class,
        answers: answers(name),
        ..PciDevice::default()
    })
}

/// Returns the class by its number in brackets or alone, else by its name; 0 for other classes.
fn class_of(words: &str) -> Option<u32> {
    let is_number = |digits: &str| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bracketed = words.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    let number = bracketed.or(Some(words)).filter(|digits| is_number(digits));
    if let Some(number) = number {
        return u32::from_str_radix(number, 16).ok().map(|number| number << 8);
    }
    if let Some((_, class)) = CLASSES.iter().find(|(name, _)| *name == words.trim()) {
        return Some(*class);
    }
    OTHER_CLASSES.contains(&words.trim()).then_some(0)
}

/// Returns the last `10de:20b5` of a text, in brackets or alone.
fn last_ids(name: &str) -> Option<(u32, u32)> {
    let words = name.split([' ', '[', ']']).rev();
    let hexadecimal = |digits: &str| (digits.len() == 4).then(|| u32::from_str_radix(digits, 16).ok())?;
    words
        .filter_map(|word| word.split_once(':'))
        .find_map(|(vendor, device)| Some((hexadecimal(vendor)?, hexadecimal(device)?)))
}

/// Returns whether a device answers: one that does not reads as all ones.
fn answers(name: &str) -> Reading<bool> {
    if name.contains("(rev ff)") || name.contains(" -rff") {
        return Reading::Known(false);
    }
    let has_revision = name.contains("(rev ") || name.contains(" -r");
    has_revision.then_some(true).into()
}

fn is_detail(text: &str) -> bool {
    text.starts_with(['\t', ' ']) && !text.trim().is_empty() && command_after_prompt(text).is_none()
}

/// Returns whether a line shows bytes of a device: `00: de 10 b0 20 …`.
fn is_dump(text: &str) -> bool {
    let is_hexadecimal = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split_once(": ").is_some_and(|(place, bytes)| {
        (2..=3).contains(&place.len())
            && is_hexadecimal(place)
            && bytes.split(' ').all(|byte| byte.len() == 2 && is_hexadecimal(byte))
    })
}

/// Reads a line of details.
fn detail(text: &str, device: &mut PciDevice) {
    if text.starts_with("!!! Unknown header type") {
        device.answers = Reading::Known(false);
    } else if let Some(driver) = text.strip_prefix("Kernel driver in use: ") {
        device.driver = Reading::Known(driver.to_owned());
    } else if text.starts_with("Kernel modules: ") && !device.driver.is_known() {
        // The line about the driver in use comes before, if there is one.
        device.driver = Reading::Unsupported;
    } else if let Some(node) = text.strip_prefix("NUMA node: ") {
        device.numa_node = node.trim().parse().ok().into();
    } else if let Some(most) = text.strip_prefix("LnkCap:") {
        (device.lane_speed_max, device.width_max) = link(most);
    } else if let Some(now) = text.strip_prefix("LnkSta:") {
        (device.lane_speed, device.width) = link(now);
    }
}

/// Reads `Speed 16GT/s (ok), Width x16 (ok)`; what a dead device answers there is no link.
fn link(text: &str) -> (Reading<gpuwhy_model::units::BytesPerSecond>, Reading<u32>) {
    let word = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split([' ', ',']).next()
    };
    let speed = word("Speed ").and_then(|speed| {
        let (number, unit) = speed.split_at(speed.find('G')?);
        lane_speed(format!("{number} {unit}").as_bytes()).ok()?
    });
    let lanes =
        word("Width x").and_then(|digits| width(digits.as_bytes()).ok()?).filter(|lanes| *lanes <= 32);
    (speed.into(), lanes.into())
}

/// Takes lines about links that stand without their device, most often after a `grep`: they name nobody.
fn links_alone(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let is_link = |text: &str| {
        let text = text.trim_start();
        ["LnkCap:", "LnkSta:", "LnkCtl:", "LnkCap2:", "LnkSta2:", "LnkCtl2:", "DevSta:"]
            .iter()
            .any(|name| text.starts_with(name))
    };
    let taken = lines.iter().take_while(|line| is_link(&line.text)).count();
    (taken > 0).then(|| block(taken, scene(Format::Lspci)))
}
