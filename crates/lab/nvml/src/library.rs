//! Initialisation, versions, and the way to the cards.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_char, c_int, c_uint};

use crate::Code;
use crate::device::Device;
use crate::pointer::{Given, Out, Text};
use crate::session::{Session, call, initialise, shut_down};

/// Initialises the library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlInit() -> Code {
    initialise("nvmlInit")
}

/// Initialises the library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlInit_v2() -> Code {
    initialise("nvmlInit_v2")
}

/// Initialises the library; the flags make no difference to a box.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    initialise("nvmlInitWithFlags")
}

/// Takes back one initialisation.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlShutdown() -> Code {
    shut_down("nvmlShutdown")
}

/// Returns the text of a code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlErrorString(code: Code) -> *const c_char {
    code.text().as_ptr()
}

/// Version of the driver.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetDriverVersion(version: Text, length: c_uint) -> Code {
    call("nvmlSystemGetDriverVersion", |session| version.put(&session.board().driver.version, length))
}

/// Version of the library: that of the driver behind the major CUDA version.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetNVMLVersion(version: Text, length: c_uint) -> Code {
    call("nvmlSystemGetNVMLVersion", |session| {
        let driver = &session.board().driver;
        let major = driver.cuda.split('.').next().unwrap_or("0");
        version.put(&format!("{major}.{}", driver.version), length)
    })
}

/// Highest CUDA version, as 1000 × major + 10 × minor.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetCudaDriverVersion(version: Out<c_int>) -> Code {
    call("nvmlSystemGetCudaDriverVersion", |session| version.put(cuda_version(session)?))
}

/// Highest CUDA version, as 1000 × major + 10 × minor.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) -> Code {
    call("nvmlSystemGetCudaDriverVersion_v2", |session| version.put(cuda_version(session)?))
}

fn cuda_version(session: &Session) -> Result<c_int, Code> {
    let text = &session.board().driver.cuda;
    let (major, minor) = text.split_once('.').ok_or(Code::UNKNOWN)?;
    let major: c_int = major.parse().map_err(|_| Code::UNKNOWN)?;
    let minor: c_int = minor.parse().map_err(|_| Code::UNKNOWN)?;
    Ok(major * 1000 + minor * 10)
}

/// Number of cards that the driver enumerates.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCount(count: Out<c_uint>) -> Code {
    call("nvmlDeviceGetCount", |session| count.put(card_count(session)))
}

/// Number of cards that the driver enumerates.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCount_v2(count: Out<c_uint>) -> Code {
    call("nvmlDeviceGetCount_v2", |session| count.put(card_count(session)))
}

fn card_count(session: &Session) -> c_uint {
    c_uint::try_from(session.enumerated().len()).unwrap_or(c_uint::MAX)
}

/// Handle of the card at an index.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, device: Out<Device>) -> Code {
    handle_by_index("nvmlDeviceGetHandleByIndex", index, device)
}

/// Handle of the card at an index.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: Out<Device>) -> Code {
    handle_by_index("nvmlDeviceGetHandleByIndex_v2", index, device)
}

fn handle_by_index(function: &'static str, index: c_uint, device: Out<Device>) -> Code {
    call(function, |session| {
        let cards = session.enumerated();
        let card = cards.get(index as usize).ok_or(Code::INVALID_ARGUMENT)?;
        device.put(session.handle(function, Some(card.index))?)
    })
}

/// Handle of the card or MIG instance with a UUID.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByUUID(uuid: Given, device: Out<Device>) -> Code {
    call("nvmlDeviceGetHandleByUUID", |session| {
        let uuid = uuid.get()?;
        let cards = session.enumerated();
        for card in &cards {
            let cut = card.instances.iter().position(|instance| instance.uuid == uuid);
            if let Some(handle) = cut.and_then(|position| Device::of_instance(card.index, position)) {
                return device.put(handle);
            }
        }
        let card = cards.iter().find(|card| card.uuid == uuid).map(|card| card.index);
        device.put(session.handle("nvmlDeviceGetHandleByUUID", card)?)
    })
}

/// Handle of the card with a serial number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleBySerial(serial: Given, device: Out<Device>) -> Code {
    call("nvmlDeviceGetHandleBySerial", |session| {
        let serial = serial.get()?;
        let cards = session.enumerated();
        let card = cards.iter().find(|card| card.serial == serial).map(|card| card.index);
        device.put(session.handle("nvmlDeviceGetHandleBySerial", card)?)
    })
}

/// Handle of the card at a PCI address.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByPciBusId(bus_id: Given, device: Out<Device>) -> Code {
    handle_by_bus_id("nvmlDeviceGetHandleByPciBusId", bus_id, device)
}

/// Handle of the card at a PCI address.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: Given, device: Out<Device>) -> Code {
    handle_by_bus_id("nvmlDeviceGetHandleByPciBusId_v2", bus_id, device)
}

fn handle_by_bus_id(function: &'static str, bus_id: Given, device: Out<Device>) -> Code {
    call(function, |session| {
        let bus = parse_bus(&bus_id.get()?).ok_or(Code::INVALID_ARGUMENT)?;
        let cards = session.enumerated();
        let card = cards.iter().find(|card| card.pci_bus == bus).map(|card| card.index);
        device.put(session.handle(function, card)?)
    })
}

/// Bus number of `[domain:]bus:device[.function]`; all cards of a box are in domain 0, device 0.
fn parse_bus(text: &str) -> Option<u8> {
    let parts: Vec<&str> = text.split(':').collect();
    let (domain, bus, slot) = match parts[..] {
        [bus, slot] => ("0", bus, slot),
        [domain, bus, slot] => (domain, bus, slot),
        _ => return None,
    };
    let is_ours = u32::from_str_radix(domain, 16).ok()? == 0 && matches!(slot, "00" | "00.0" | "0" | "0.0");
    is_ours.then(|| u8::from_str_radix(bus, 16).ok()).flatten()
}

/// Name of a process, as its command line has it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: Text, length: c_uint) -> Code {
    call("nvmlSystemGetProcessName", |_| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| Code::NOT_FOUND)?;
        let first = command.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(first);
        let room = (length as usize).saturating_sub(1);
        let cut =
            text.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= room);
        name.put(&text[..cut.last().unwrap_or(0)], length)
    })
}

#[cfg(test)]
mod tests {
    use super::parse_bus;

    #[test]
    fn addresses_are_understood_in_all_their_spellings() {
        for text in ["0000:0f:00.0", "00000000:0F:00.0", "0F:00.0", "0:0f:0"] {
            assert_eq!(parse_bus(text), Some(0x0F), "{text}");
        }
        for text in ["", "0f", "0001:0f:00.0", "0000:0f:01.0", "0000:zz:00.0"] {
            assert_eq!(parse_bus(text), None, "{text}");
        }
    }
}
