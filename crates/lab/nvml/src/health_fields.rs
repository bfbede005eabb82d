//! Field values about memory errors, their repair, and the errors of the PCI Express link.

use std::ffi::c_uint;

use gpuwhy_lab::board::{Architecture, Ecc};
use gpuwhy_lab::cards::PcieCounters;

use crate::Code;
use crate::fields::Figure;
use crate::health::{CounterType, ErrorType, errors};
use crate::repair::is_repair_pending;
use crate::session::Asked;

/// The figure of a field, if it is one of these.
pub(crate) fn figure(asked: &Asked, field: c_uint) -> Option<Result<Figure, Code>> {
    Some(match field {
        // ECC mode, now and after the next reboot.
        1 | 2 => mode(asked),
        3..=28 => error_count(asked, field),
        29..=31 | 92 | 93 => pages(asked, field),
        142..=145 | 301 | 302 => rows(asked, field),
        94 => Ok(Figure::UnsignedInt(whole(asked.machine.pcie_counters(asked.card).replays))),
        // Replays that did not help, after which a link finds itself again: a box has none.
        95 => Ok(Figure::UnsignedInt(0)),
        169 | 173..=183 => newer_link_count(asked, field),
        226 => action(asked).map(|action| Figure::UnsignedInt(c_uint::from(action == 1))),
        227 => action(asked).map(|action| Figure::UnsignedInt(c_uint::from(action == 4))),
        230 => action(asked).map(Figure::UnsignedInt),
        _ => return None,
    })
}

fn mode(asked: &Asked) -> Result<Figure, Code> {
    if asked.card.profile.ecc == Ecc::None {
        return Err(Code::NOT_SUPPORTED);
    }
    Ok(Figure::UnsignedInt(c_uint::from(asked.card.has_ecc())))
}

/// Fields 3 to 6 count all places; 7 to 17 the places since the driver was loaded, 18 to 28 the same places ever:
/// corrected and uncorrected errors of first cache, second cache, memory, registers, textures, then uncorrected ones
/// of the last place.
fn error_count(asked: &Asked, field: c_uint) -> Result<Figure, Code> {
    const SECOND_CACHE: c_uint = 1;
    const MEMORY: c_uint = 2;
    const LAST_PLACE: c_uint = 10;
    let (offset, counter) = match field {
        3 | 4 => (field - 3, CounterType::SinceLoad),
        5 | 6 => (field - 5, CounterType::Ever),
        7..=17 => (field - 7, CounterType::SinceLoad),
        _ => (field - 18, CounterType::Ever),
    };
    let is_corrected = offset % 2 == 0 && offset != LAST_PLACE;
    let kind = if is_corrected { ErrorType::Corrected } else { ErrorType::Uncorrected };
    let counts = errors(asked, kind, counter)?;
    if field <= 6 {
        return Ok(Figure::UnsignedLongLong(counts.total()));
    }
    let has_one_sram = asked.card.profile.ecc == Ecc::RowRemapping;
    match offset / 2 {
        MEMORY => Ok(Figure::UnsignedLongLong(counts.dram)),
        _ if has_one_sram => Err(Code::NOT_SUPPORTED),
        SECOND_CACHE => Ok(Figure::UnsignedLongLong(counts.sram)),
        _ => Ok(Figure::UnsignedLongLong(0)),
    }
}

/// Retired pages: after corrected errors, after uncorrected ones, waiting.
fn pages(asked: &Asked, field: c_uint) -> Result<Figure, Code> {
    if asked.card.profile.ecc != Ecc::PageRetirement {
        return Err(Code::NOT_SUPPORTED);
    }
    let repair = &asked.card.setting.repair;
    Ok(match field {
        29 => Figure::UnsignedLongLong(u64::from(repair.corrected)),
        30 => Figure::UnsignedLongLong(u64::from(repair.uncorrected)),
        92 => Figure::UnsignedInt(0),
        _ => Figure::UnsignedInt(c_uint::from(is_repair_pending(asked))),
    })
}

/// Replaced rows: after corrected errors, after uncorrected ones, waiting, failed, and those not in use.
fn rows(asked: &Asked, field: c_uint) -> Result<Figure, Code> {
    if asked.card.profile.ecc != Ecc::RowRemapping {
        return Err(Code::NOT_SUPPORTED);
    }
    let repair = &asked.card.setting.repair;
    Ok(Figure::UnsignedInt(match field {
        142 => repair.corrected,
        143 => repair.uncorrected,
        144 => c_uint::from(is_repair_pending(asked)),
        145 => c_uint::from(repair.failed),
        _ => 0,
    }))
}

fn newer_link_count(asked: &Asked, field: c_uint) -> Result<Figure, Code> {
    if asked.card.profile.architecture < Architecture::Ampere {
        return Err(Code::NOT_SUPPORTED);
    }
    let PcieCounters {
        correctable,
        bad_packets,
        bad_link_packets,
        non_fatal,
        fatal,
        unsupported_requests,
        recoveries,
        ..
    } = asked.machine.pcie_counters(asked.card);
    Ok(Figure::UnsignedInt(whole(match field {
        169 => recoveries,
        173 => correctable,
        176 => bad_packets,
        178 => bad_link_packets,
        179 => non_fatal,
        180 => fatal,
        181 => unsupported_requests,
        // Refusals in both directions, receiver, checksum and lane errors: a box has none.
        _ => 0,
    })))
}

/// What the driver asks for; drivers before 565 do not say.
fn action(asked: &Asked) -> Result<c_uint, Code> {
    const FIRST_BRANCH: u32 = 565;
    let version = &asked.machine.board().driver.version;
    let branch: u32 = version.split('.').next().and_then(|branch| branch.parse().ok()).unwrap_or(0);
    if branch < FIRST_BRANCH { Err(Code::NOT_SUPPORTED) } else { Ok(asked.card.setting.recovery_action) }
}

fn whole(count: u64) -> c_uint {
    c_uint::try_from(count).unwrap_or(c_uint::MAX)
}
