//! What a card is: names, numbers and places that do not change.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_char, c_int, c_uint};

use gpuwhy_lab::board::{Architecture, Brand, Card, Ecc};

use crate::Code;
use crate::abi::PciInfo;
use crate::device::Device;
use crate::pointer::{Out, Text};
use crate::session::{any_identity_call, card_call, identity_call};

/// PCI vendor NVIDIA.
pub(crate) const VENDOR: c_uint = 0x10DE;

/// Marketing name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetName(device: Device, name: Text, length: c_uint) -> Code {
    any_identity_call("nvmlDeviceGetName", device, |asked| match asked.cut() {
        Some(cut) => name.put(&format!("{} MIG {}", asked.card.profile.name, cut.profile), length),
        None => name.put(&asked.card.profile.name, length),
    })
}

/// `GPU-…` or `MIG-…` name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetUUID(device: Device, uuid: Text, length: c_uint) -> Code {
    any_identity_call("nvmlDeviceGetUUID", device, |asked| {
        uuid.put(asked.cut().map_or(&asked.card.uuid, |cut| &cut.uuid), length)
    })
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
        let before = (0..asked.card.index).filter_map(|index| asked.machine.card(index));
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

pub(crate) fn pci_info(card: &Card) -> PciInfo {
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
pub(crate) fn letters<const LENGTH: usize>(text: &str) -> [c_char; LENGTH] {
    let mut buffer = [0; LENGTH];
    for (place, byte) in buffer.iter_mut().take(LENGTH - 1).zip(text.bytes()) {
        *place = byte.cast_signed();
    }
    buffer
}

/// Whether several cards share one printed board.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMultiGpuBoard(device: Device, multiple: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetMultiGpuBoard", device, |_| multiple.put(0))
}

/// Number of the printed board.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetBoardId(device: Device, id: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetBoardId", device, |asked| id.put(c_uint::from(asked.card.pci_bus) << 8))
}

/// Whether the system firmware of the card runs, and whether it does so by default; cards before Turing have
/// none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGspFirmwareMode(
    device: Device,
    is_on: Out<c_uint>,
    is_default: Out<c_uint>,
) -> Code {
    identity_call("nvmlDeviceGetGspFirmwareMode", device, |asked| {
        require_firmware(asked.card)?;
        is_on.put(1)?;
        is_default.put(1)
    })
}

/// Version of the system firmware: that of the driver. The buffer has room for 64 bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGspFirmwareVersion(device: Device, version: Text) -> Code {
    const ROOM: c_uint = 64;
    identity_call("nvmlDeviceGetGspFirmwareVersion", device, |asked| {
        require_firmware(asked.card)?;
        version.put(&asked.machine.board().driver.version, ROOM)
    })
}

fn require_firmware(card: &Card) -> Result<(), Code> {
    if card.profile.architecture < Architecture::Turing { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}

/// Version of the image in the `InfoROM`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetInforomImageVersion(
    device: Device,
    version: Text,
    length: c_uint,
) -> Code {
    card_call("nvmlDeviceGetInforomImageVersion", device, |asked| {
        require_inforom(asked.card)?;
        let profile = asked.card.profile;
        version.put(&format!("G{}.0200.00.05", 100 + (profile.pci_subsystem & 0x3FF)), length)
    })
}

/// Version of one object in the `InfoROM`: 0 board, 1 memory errors, 2 power.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetInforomVersion(
    device: Device,
    object: c_uint,
    version: Text,
    length: c_uint,
) -> Code {
    card_call("nvmlDeviceGetInforomVersion", device, |asked| {
        require_inforom(asked.card)?;
        match object {
            0 => version.put("2.0", length),
            1 if asked.card.profile.ecc != Ecc::None => version.put("6.16", length),
            1 | 2 => Err(Code::NOT_SUPPORTED),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    })
}

/// Checks the `InfoROM`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceValidateInforom(device: Device) -> Code {
    card_call("nvmlDeviceValidateInforom", device, |asked| require_inforom(asked.card))
}

/// Consumer cards have none; one with a wrong checksum does not answer.
fn require_inforom(card: &Card) -> Result<(), Code> {
    if card.setting.inforom_corrupt {
        return Err(Code::CORRUPTED_INFOROM);
    }
    if card.profile.brand == Brand::Geforce { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}

fn count(value: usize) -> c_uint {
    c_uint::try_from(value).unwrap_or(c_uint::MAX)
}
