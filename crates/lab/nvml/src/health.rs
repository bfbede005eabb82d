//! Memory errors.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::board::{Card, Ecc, ErrorCounts};
use gpuwhy_lab::cards::MemoryHealth;

use crate::Code;
use crate::abi::{EccErrorCounts, EccSramErrorStatus, version_word};
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// `nvmlMemoryErrorType_t`.
#[derive(Clone, Copy)]
pub(crate) enum ErrorType {
    Corrected,
    Uncorrected,
}

/// `nvmlEccCounterType_t`.
#[derive(Clone, Copy)]
pub(crate) enum CounterType {
    SinceLoad,
    Ever,
}

impl ErrorType {
    fn of(value: c_uint) -> Result<Self, Code> {
        match value {
            0 => Ok(Self::Corrected),
            1 => Ok(Self::Uncorrected),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    }
}

impl CounterType {
    fn of(value: c_uint) -> Result<Self, Code> {
        match value {
            0 => Ok(Self::SinceLoad),
            1 => Ok(Self::Ever),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    }
}

/// Whether ECC is on now and after the next reboot.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetEccMode(
    device: Device,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetEccMode", device, |asked| {
        if asked.card.profile.ecc == Ecc::None {
            return Err(Code::NOT_SUPPORTED);
        }
        let mode = c_uint::from(asked.card.has_ecc());
        current.put(mode)?;
        pending.put(mode)
    })
}

/// Whether a card comes with ECC on.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDefaultEccMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetDefaultEccMode", device, |asked| match asked.card.profile.ecc {
        Ecc::None => Err(Code::NOT_SUPPORTED),
        Ecc::PageRetirement | Ecc::RowRemapping => mode.put(1),
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
        let counts = errors(asked, ErrorType::of(error_type)?, CounterType::of(counter_type)?)?;
        count.put(counts.total())
    })
}

/// Errors of a type by place, in the places of the oldest cards.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDetailedEccErrors(
    device: Device,
    error_type: c_uint,
    counter_type: c_uint,
    counts: Out<EccErrorCounts>,
) -> Code {
    card_call("nvmlDeviceGetDetailedEccErrors", device, |asked| {
        let found = errors(asked, ErrorType::of(error_type)?, CounterType::of(counter_type)?)?;
        counts.put(EccErrorCounts {
            l2_cache: found.sram,
            device_memory: found.dram,
            ..EccErrorCounts::default()
        })
    })
}

/// Errors of a type at one place: since Ampere memory and caches, before that each cache.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: Device,
    error_type: c_uint,
    counter_type: c_uint,
    location: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetMemoryErrorCounter", device, |asked| {
        const L2_CACHE: c_uint = 1;
        const DEVICE_MEMORY: c_uint = 2;
        const SRAM: c_uint = 7;
        const LOCATIONS: c_uint = 8;
        let found = errors(asked, ErrorType::of(error_type)?, CounterType::of(counter_type)?)?;
        let has_one_sram = asked.card.profile.ecc == Ecc::RowRemapping;
        count.put(match location {
            DEVICE_MEMORY => found.dram,
            SRAM if has_one_sram => found.sram,
            L2_CACHE if !has_one_sram => found.sram,
            SRAM => return Err(Code::NOT_SUPPORTED),
            other if other < LOCATIONS && !has_one_sram => 0,
            other if other < LOCATIONS => return Err(Code::NOT_SUPPORTED),
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    })
}

/// Errors of the caches, and whether they are more than a card may have; since Ampere.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSramEccErrorStatus(
    device: Device,
    status: Out<EccSramErrorStatus>,
) -> Code {
    card_call("nvmlDeviceGetSramEccErrorStatus", device, |asked| {
        let version = version_word::<EccSramErrorStatus>(1);
        if status.get()?.version != version {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        require_ecc(asked.card)?;
        if asked.card.profile.ecc != Ecc::RowRemapping {
            return Err(Code::NOT_SUPPORTED);
        }
        let health = asked.machine.memory_health(asked.card);
        status.put(EccSramErrorStatus {
            version,
            aggregate_unc_sec_ded: health.uncorrected_ever.sram,
            aggregate_cor: health.corrected_ever.sram,
            volatile_unc_sec_ded: health.uncorrected.sram,
            volatile_cor: health.corrected.sram,
            aggregate_unc_bucket_l2: health.uncorrected_ever.sram,
            threshold_exceeded: c_uint::from(asked.card.setting.ecc.sram_threshold_exceeded),
            ..EccSramErrorStatus::default()
        })
    })
}

/// Errors of a card by place.
pub(crate) fn errors(
    asked: &Asked,
    error_type: ErrorType,
    counter_type: CounterType,
) -> Result<ErrorCounts, Code> {
    require_ecc(asked.card)?;
    let MemoryHealth { corrected, uncorrected, corrected_ever, uncorrected_ever, .. } =
        asked.machine.memory_health(asked.card);
    Ok(match (error_type, counter_type) {
        (ErrorType::Corrected, CounterType::SinceLoad) => corrected,
        (ErrorType::Corrected, CounterType::Ever) => corrected_ever,
        (ErrorType::Uncorrected, CounterType::SinceLoad) => uncorrected,
        (ErrorType::Uncorrected, CounterType::Ever) => uncorrected_ever,
    })
}

fn require_ecc(card: &Card) -> Answer {
    if card.has_ecc() { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}
