//! One card in `/sys/class/drm`.

use std::path::{Path, PathBuf};

use gpuwhy_formats::proc::{hexadecimal, single_line, whole_number};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardMemory, CardSample, PciDevice, Vendor};
use gpuwhy_model::units::{Bytes, Percent};

use super::sensors;
use crate::file::{count_one, names_in, read_and_parse, read_path};

/// Drivers of pictures on a server's own screen and of virtual machines: nothing is computed there.
const SCREEN_DRIVERS: &[&str] =
    &["ast", "bochs-drm", "cirrus", "hyperv_drm", "mgag200", "qxl", "vboxvideo", "virtio-pci", "vmwgfx"];

/// A card that is not NVIDIA's.
#[derive(Debug)]
pub(super) struct Device {
    place: PathBuf,
    vendor: Vendor,
    model: u32,
    driver: Option<String>,
    pub(super) address: String,
    /// Names of its files in `/dev/dri`.
    pub(super) nodes: Vec<String>,
}

/// Lists the cards of other vendors, by address.
pub(super) fn list(sys: &Path, buffer: &mut Vec<u8>) -> Vec<Device> {
    let class = sys.join("class/drm");
    let is_card =
        |name: &String| name.strip_prefix("card").is_some_and(|number| number.parse::<u32>().is_ok());
    let names = names_in(&class).unwrap_or_default();
    let mut devices: Vec<Device> = names
        .iter()
        .filter(|name| is_card(name))
        .filter_map(|name| device(&class.join(name), name, buffer))
        .collect();
    devices.sort_by(|one, other| one.address.cmp(&other.address));
    devices
}

fn device(card: &Path, name: &str, buffer: &mut Vec<u8>) -> Option<Device> {
    let place = card.join("device");
    let mut number =
        |file: &str| read_and_parse(&place.join(file), buffer, Access::MountedSys, hexadecimal).into_known();
    let vendor = match number("vendor")? {
        PciDevice::NVIDIA => return None,
        PciDevice::AMD => Vendor::Amd,
        PciDevice::INTEL => Vendor::Intel,
        _ => Vendor::Other,
    };
    let model = number("device")?;
    let target = |link: &Path| {
        count_one();
        let target = std::fs::read_link(link).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    };
    let driver = target(&place.join("driver"));
    if driver.as_deref().is_some_and(|driver| SCREEN_DRIVERS.contains(&driver)) {
        return None;
    }
    // What nobody can compute on has no render node.
    let nodes = names_in(&place.join("drm")).unwrap_or_default();
    let render: Vec<String> = nodes.into_iter().filter(|node| node.starts_with("renderD")).collect();
    if render.is_empty() {
        return None;
    }
    let address = target(&place).unwrap_or_else(|| name.to_owned());
    let nodes = render.into_iter().chain([name.to_owned()]).collect();
    Some(Device { place, vendor, model, driver, address, nodes })
}

impl Device {
    /// Reads the card.
    pub(super) fn sample(&self, index: u32, buffer: &mut Vec<u8>) -> CardSample {
        let mut card = CardSample {
            index,
            vendor: self.vendor,
            handle: Reading::Known(()),
            name: Reading::Known(self.name(buffer)),
            pci_address: Reading::Known(self.address.clone()),
            ..CardSample::default()
        };
        if self.is_asleep(buffer) {
            // Reading would wake it, and costs power.
            return card;
        }
        let mut number = |file: &str| match read_and_parse(
            &self.place.join(file),
            buffer,
            Access::MountedSys,
            whole_number,
        ) {
            // Not every driver shows it, nor for every card.
            Reading::Failed(Failure::Missing { .. } | Failure::Io { .. }) | Reading::Denied(_) => {
                Reading::Unsupported
            }
            reading => reading,
        };
        card.memory = number("mem_info_vram_total").and_then(|total| {
            number("mem_info_vram_used").map(|used| CardMemory {
                total: Bytes(total),
                reserved: Reading::Unsupported,
                used: Bytes(used),
                free: Bytes(total.saturating_sub(used)),
            })
        });
        let mut percent = |file: &str| {
            number(file).and_then(|value| match value {
                0..=100 => Reading::Known(Percent(value as f64)),
                other => Reading::Failed(Failure::Implausible { value: format!("{other} %") }),
            })
        };
        card.busy = percent("gpu_busy_percent");
        card.memory_busy = percent("mem_busy_percent");
        sensors::write(&self.place, &mut card, buffer);
        card
    }

    /// Returns the product's name where the driver knows it, else what the bus says.
    fn name(&self, buffer: &mut Vec<u8>) -> String {
        let product =
            read_path(&self.place.join("product_name"), buffer).map(single_line).unwrap_or_default();
        if !product.is_empty() {
            return product;
        }
        let maker = match self.vendor {
            Vendor::Amd => "AMD",
            Vendor::Intel => "Intel",
            Vendor::Nvidia | Vendor::Other => self.driver.as_deref().unwrap_or("GPU"),
        };
        format!("{maker} {:04x}", self.model)
    }

    fn is_asleep(&self, buffer: &mut Vec<u8>) -> bool {
        read_path(&self.place.join("power/runtime_status"), buffer)
            .is_ok_and(|status| status.starts_with(b"suspended"))
    }
}
