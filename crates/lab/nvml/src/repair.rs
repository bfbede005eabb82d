//! Repair of the frame buffer: replaced rows since Ampere, retired pages before.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::board::{Ecc, RepairSetting};
use gpuwhy_lab::state::Clock;

use crate::Code;
use crate::abi::RowRemapperHistogram;
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// Rows that were replaced after corrected and uncorrected errors, whether a repair waits, whether one
/// failed. A card that is cut into instances does not tell.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRemappedRows(
    device: Device,
    corrected: Out<c_uint>,
    uncorrected: Out<c_uint>,
    is_pending: Out<c_uint>,
    has_failed: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetRemappedRows", device, |asked| {
        require(asked, Ecc::RowRemapping)?;
        if !asked.card.instances.is_empty() {
            return Err(Code::NOT_SUPPORTED);
        }
        let repair = &asked.card.setting.repair;
        corrected.put(repair.corrected)?;
        uncorrected.put(repair.uncorrected)?;
        is_pending.put(c_uint::from(is_repair_pending(asked)))?;
        has_failed.put(c_uint::from(repair.failed))
    })
}

/// Memory banks by how many spare rows they have left.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRowRemapperHistogram(
    device: Device,
    histogram: Out<RowRemapperHistogram>,
) -> Code {
    card_call("nvmlDeviceGetRowRemapperHistogram", device, |asked| {
        require(asked, Ecc::RowRemapping)?;
        histogram.put(histogram_of(&asked.card.setting.repair, asked.card.memory_banks()))
    })
}

/// Each replaced row lies in a bank of its own, apart from those that used a bank up.
fn histogram_of(repair: &RepairSetting, banks: c_uint) -> RowRemapperHistogram {
    let none = repair.banks_without_spares.min(banks);
    let high = (repair.corrected + repair.uncorrected).min(banks - none);
    RowRemapperHistogram { max: banks - none - high, high, partial: 0, low: 0, none }
}

/// Whether a repair waits for a reset.
pub(crate) fn is_repair_pending(asked: &Asked) -> bool {
    asked.machine.memory_health(asked.card).is_repair_pending
}

/// Why a page was retired: `nvmlPageRetirementCause_t`.
fn pages_of(asked: &Asked, cause: c_uint) -> Result<Vec<u64>, Code> {
    const MULTIPLE_CORRECTED: c_uint = 0;
    const UNCORRECTED: c_uint = 1;
    const PAGE: u64 = 64 << 10;
    require(asked, Ecc::PageRetirement)?;
    let repair = &asked.card.setting.repair;
    let (first, pages) = match cause {
        MULTIPLE_CORRECTED => (1, u64::from(repair.corrected)),
        UNCORRECTED => (1 + u64::from(repair.corrected), u64::from(repair.uncorrected)),
        _ => return Err(Code::INVALID_ARGUMENT),
    };
    Ok((first..first + pages).map(|page| page * PAGE).collect())
}

/// Addresses of retired pages.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPages(
    device: Device,
    cause: c_uint,
    count: Out<c_uint>,
    addresses: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetRetiredPages", device, |asked| {
        addresses.put_list(count, &pages_of(asked, cause)?)
    })
}

/// Addresses of retired pages, and when they were retired (here: before the box came up).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPages_v2(
    device: Device,
    cause: c_uint,
    count: Out<c_uint>,
    addresses: Out<c_ulonglong>,
    stamps: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetRetiredPages_v2", device, |asked| {
        let pages = pages_of(asked, cause)?;
        addresses.put_list(count, &pages)?;
        let retired_at = asked.machine.clock().stamp_us(Clock::now()) / 1_000_000;
        stamps.put_array(&vec![retired_at.saturating_sub(24 * 3600); pages.len()])
    })
}

/// Whether a page waits to be retired.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRetiredPagesPendingStatus(
    device: Device,
    is_pending: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetRetiredPagesPendingStatus", device, |asked| {
        require(asked, Ecc::PageRetirement)?;
        is_pending.put(c_uint::from(is_repair_pending(asked)))
    })
}

fn require(asked: &Asked, repair: Ecc) -> Answer {
    if asked.card.profile.ecc == repair { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bank_is_counted_once() {
        let repair =
            RepairSetting { corrected: 1, uncorrected: 3, banks_without_spares: 2, ..Default::default() };
        let histogram = histogram_of(&repair, 640);
        assert_eq!((histogram.max, histogram.high, histogram.none), (634, 4, 2));
        let many = RepairSetting { uncorrected: 900, ..Default::default() };
        assert_eq!(histogram_of(&many, 640).max, 0);
    }
}
