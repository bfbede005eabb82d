//! What a card is: names, numbers and places that do not change.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_char, c_int, c_uint, c_ulong};

use gpuwhy_lab::board::{Architecture, Brand, Card};

use crate::Code;
use crate::abi::PciInfo;
use crate::device::Device;
use crate::pointer::{Out, Text};
use crate::session::{call, card_call, identity_call};

/// PCI vendor NVIDIA.
const VENDOR: c_uint = 0x10DE;

/// Marketing name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetName(device: Device, name: Text, length: c_uint) -> Code {
    identity_call("nvmlDeviceGetName", device, |asked| name.put(&asked.card.profile.name, length))
}

/// `GPU-…` name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetUUID(device: Device, uuid: Text, length: c_uint) -> Code {
    identity_call("nvmlDeviceGetUUID", device, |asked| uuid.put(&asked.card.uuid, length))
}

/// Serial number; consumer cards have none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSerial(device: Device, serial: Text, length: c_uint) -> Code {
    identity_call("nvmlDeviceGetSerial", device, |asked| {
        if asked.card.profile.brand == Brand::Geforce {
            return Err(Code::NOT_SUPPORTED);
        }
        serial.put(&asked.card.serial, length)
    })
}

/// Position among the cards that the driver enumerates.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetIndex(device: Device, index: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetIndex", device, |asked| {
        let before = asked.machine.board().cards.iter().take(asked.card.index);
        index.put(count(before.filter(|card| !card.setting.missing).count()))
    })
}

/// N of `/dev/nvidiaN`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMinorNumber(device: Device, minor: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetMinorNumber", device, |asked| minor.put(count(asked.card.index)))
}

/// Product family.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetBrand(device: Device, brand: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetBrand", device, |asked| {
        brand.put(match asked.card.profile.brand {
            Brand::Tesla => 2,
            Brand::Geforce => 5,
            Brand::NvidiaRtx => 13,
            Brand::Nvidia => 14,
        })
    })
}

/// Chip generation.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetArchitecture(device: Device, architecture: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetArchitecture", device, |asked| {
        architecture.put(match asked.card.profile.architecture {
            Architecture::Volta => 5,
            Architecture::Turing => 6,
            Architecture::Ampere => 7,
            Architecture::Ada => 8,
            Architecture::Hopper => 9,
            Architecture::Blackwell => 10,
        })
    })
}

/// CUDA compute capability.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: Device,
    major: Out<c_int>,
    minor: Out<c_int>,
) -> Code {
    identity_call("nvmlDeviceGetCudaComputeCapability", device, |asked| {
        let [is_major, is_minor] = asked.card.profile.compute_capability;
        major.put(is_major)?;
        minor.put(is_minor)
    })
}

/// CUDA cores.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNumGpuCores(device: Device, cores: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetNumGpuCores", device, |asked| cores.put(asked.card.profile.cores))
}

/// Width of the memory bus in bits.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryBusWidth(device: Device, bits: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetMemoryBusWidth", device, |asked| bits.put(asked.card.profile.memory_bus_bits))
}

/// Version of the video BIOS: one per product.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetVbiosVersion(device: Device, version: Text, length: c_uint) -> Code {
    identity_call("nvmlDeviceGetVbiosVersion", device, |asked| {
        let profile = asked.card.profile;
        let low = profile.pci_device & 0xFF;
        version.put(&format!("90.00.{low:02X}.00.{:02X}", profile.pci_subsystem & 0xFF), length)
    })
}

/// PCI address and ids.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPciInfo_v2(device: Device, pci: Out<PciInfo>) -> Code {
    identity_call("nvmlDeviceGetPciInfo_v2", device, |asked| pci.put(pci_info(asked.card)))
}

/// PCI address and ids.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPciInfo_v3(device: Device, pci: Out<PciInfo>) -> Code {
    identity_call("nvmlDeviceGetPciInfo_v3", device, |asked| pci.put(pci_info(asked.card)))
}

fn pci_info(card: &Card) -> PciInfo {
    PciInfo {
        bus_id_legacy: letters(&card.pci_address().to_uppercase()),
        domain: 0,
        bus: c_uint::from(card.pci_bus),
        device: 0,
        pci_device_id: (c_uint::from(card.profile.pci_device) << 16) | VENDOR,
        pci_sub_system_id: (c_uint::from(card.profile.pci_subsystem) << 16) | VENDOR,
        bus_id: letters(&card.pci_bus_id()),
    }
}

/// A text in a fixed buffer, cut so that its NUL fits.
fn letters<const LENGTH: usize>(text: &str) -> [c_char; LENGTH] {
    let mut buffer = [0; LENGTH];
    for (place, byte) in buffer.iter_mut().take(LENGTH - 1).zip(text.bytes()) {
        *place = byte.cast_signed();
    }
    buffer
}

/// How far two cards are apart: two halves of the board hang on two sockets.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    device: Device,
    other: Device,
    level: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetTopologyCommonAncestor", device, |asked| {
        const SAME_CARD: c_uint = 0;
        const SAME_SOCKET: c_uint = 40;
        const OTHER_SOCKET: c_uint = 50;
        let cards = asked.machine.board().cards.len();
        let other = other.index().filter(|index| *index < cards).ok_or(Code::INVALID_ARGUMENT)?;
        let socket = |index: usize| index * 2 / cards;
        level.put(if other == asked.card.index {
            SAME_CARD
        } else if socket(other) == socket(asked.card.index) {
            SAME_SOCKET
        } else {
            OTHER_SOCKET
        })
    })
}

/// Processors near the card: all that the machine has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCpuAffinity(device: Device, words: c_uint, set: Out<c_ulong>) -> Code {
    card_call("nvmlDeviceGetCpuAffinity", device, |_| {
        let processors = processor_count().ok_or(Code::UNKNOWN)?;
        let bits = c_ulong::BITS;
        if words == 0 || processors > words * bits {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for word in 0..words {
            let in_word = processors.saturating_sub(word * bits).min(bits);
            let mask = if in_word == bits { c_ulong::MAX } else { (1 << in_word) - 1 };
            set.at(word as usize).put(mask)?;
        }
        Ok(())
    })
}

/// One more than the highest processor number that the kernel lists as present.
fn processor_count() -> Option<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
    let highest: u32 = list.trim().rsplit([',', '-']).next()?.parse().ok()?;
    Some(highest + 1)
}

/// Whether two handles mean cards on one printed board.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceOnSameBoard(device: Device, other: Device, same: Out<c_int>) -> Code {
    call("nvmlDeviceOnSameBoard", |session| {
        let (Some(one), Some(two)) = (device.index(), other.index()) else {
            return Err(Code::INVALID_ARGUMENT);
        };
        let cards = session.board().cards.len();
        if one >= cards || two >= cards {
            return Err(Code::INVALID_ARGUMENT);
        }
        same.put(c_int::from(one == two))
    })
}

fn count(value: usize) -> c_uint {
    c_uint::try_from(value).unwrap_or(c_uint::MAX)
}
