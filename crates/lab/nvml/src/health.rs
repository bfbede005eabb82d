//! Memory errors and their repair.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::board::{Card, Ecc};

use crate::Code;
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::card_call;

/// `nvmlMemoryErrorType_t`: corrected.
const CORRECTED: c_uint = 0;
/// `nvmlMemoryErrorType_t`: not corrected.
const UNCORRECTED: c_uint = 1;
/// `nvmlMemoryLocation_t`: the frame buffer, where all errors of a box are.
const DEVICE_MEMORY: c_uint = 2;

/// Whether ECC is on now and after the next reboot.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetEccMode(
    device: Device,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetEccMode", device, |asked| {
        require_ecc(asked.card)?;
        current.put(1)?;
        pending.put(1)
    })
}

/// All errors of a type since the driver was loaded, or ever.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: Device,
    error_type: c_uint,
    counter_type: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetTotalEccErrors", device, |asked| {
        count.put(errors(asked.card, error_type, counter_type)?)
    })
}

/// Errors of a type at one place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: Device,
    error_type: c_uint,
    counter_type: c_uint,
    location: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetMemoryErrorCounter", device, |asked| {
        const LOCATIONS: c_uint = 8;
        let all = errors(asked.card, error_type, counter_type)?;
        if location >= LOCATIONS {
            return Err(Code::INVALID_ARGUMENT);
        }
        count.put(if location == DEVICE_MEMORY { all } else { 0 })
    })
}

/// The board's errors are from this boot, so both counters have them.
fn errors(card: &Card, error_type: c_uint, counter_type: c_uint) -> Result<u64, Code> {
    const COUNTER_TYPES: c_uint = 2;
    require_ecc(card)?;
    if counter_type >= COUNTER_TYPES {
        return Err(Code::INVALID_ARGUMENT);
    }
    match error_type {
        CORRECTED => Ok(card.setting.ecc_correctable),
        UNCORRECTED => Ok(card.setting.ecc_uncorrectable),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Rows that were replaced after corrected and uncorrected errors, whether a repair waits, whether one
/// failed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRemappedRows(
    device: Device,
    corrected: Out<c_uint>,
    uncorrected: Out<c_uint>,
    is_pending: Out<c_uint>,
    has_failed: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetRemappedRows", device, |asked| {
        require(asked.card, Ecc::RowRemapping)?;
        let setting = &asked.card.setting;
        corrected.put(0)?;
        uncorrected.put(c_uint::try_from(setting.remapped_rows).unwrap_or(c_uint::MAX))?;
        is_pending.put(c_uint::from(setting.remap_pending))?;
        has_failed.put(c_uint::from(setting.remap_failed))
    })
}

/// Addresses of retired pages; a box retires pages for uncorrected errors only.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPages(
    device: Device,
    cause: c_uint,
    count: Out<c_uint>,
    addresses: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetRetiredPages", device, |asked| {
        const MULTIPLE_CORRECTED: c_uint = 0;
        const UNCORRECTED: c_uint = 1;
        const PAGE: u64 = 64 << 10;
        require(asked.card, Ecc::PageRetirement)?;
        let pages = match cause {
            MULTIPLE_CORRECTED => 0,
            UNCORRECTED => asked.card.setting.remapped_rows,
            _ => return Err(Code::INVALID_ARGUMENT),
        };
        let found: Vec<u64> = (1..=pages).map(|page| page * PAGE).collect();
        addresses.put_list(count, &found)
    })
}

/// Whether a page waits to be retired.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPagesPendingStatus(
    device: Device,
    is_pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetRetiredPagesPendingStatus", device, |asked| {
        require(asked.card, Ecc::PageRetirement)?;
        is_pending.put(c_uint::from(asked.card.setting.remap_pending))
    })
}

fn require_ecc(card: &Card) -> Answer {
    if card.profile.ecc == Ecc::None { Err(Code::NOT_SUPPORTED) } else { Ok(()) }
}

fn require(card: &Card, repair: Ecc) -> Answer {
    if card.profile.ecc == repair { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}
