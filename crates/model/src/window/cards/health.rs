//! What a card says of its own health, over a window.

use super::{Look, counted, newest, points, polled};
use crate::reading::Reading;
use crate::sample::{CardSample, Ecc, EccCounts};
use crate::scene::{ActivityTrends, EccGrowth, ViolationShares};
use crate::units::Share;
use crate::window::series::growth;

/// Returns the share of the window in which the card was held back.
pub(super) fn violation_shares(looks: &[Look<'_>]) -> ViolationShares {
    let share = |pick: fn(&CardSample) -> &Reading<u64>| {
        growth(points(looks, move |card| pick(card).as_ref().copied()))
            .map(|held| Share((held.per_second() / 1e9).min(1.0)))
    };
    ViolationShares {
        power: share(|card| &card.violations.power_ns),
        thermal: share(|card| &card.violations.thermal_ns),
        board_limit: share(|card| &card.violations.board_limit_ns),
        reliability: share(|card| &card.violations.reliability_ns),
    }
}

/// Returns what the parts of the card did.
pub(super) fn activity(looks: &[Look<'_>]) -> ActivityTrends {
    ActivityTrends {
        sm_active: polled(looks, |card| card.activity.sm_active.as_ref().map(|share| share.0)),
        sm_occupancy: polled(looks, |card| card.activity.sm_occupancy.as_ref().map(|share| share.0)),
        tensor_active: polled(looks, |card| card.activity.tensor_active.as_ref().map(|share| share.0)),
        dram_active: polled(looks, |card| card.activity.dram_active.as_ref().map(|share| share.0)),
    }
}

/// Returns the newest error counts.
pub(super) fn ecc(looks: &[Look<'_>]) -> Ecc {
    Ecc {
        enabled: newest(looks, |card| &card.ecc.enabled),
        volatile: EccCounts {
            corrected: newest(looks, |card| &card.ecc.volatile.corrected),
            uncorrected: newest(looks, |card| &card.ecc.volatile.uncorrected),
            dram_uncorrected: newest(looks, |card| &card.ecc.volatile.dram_uncorrected),
            sram_uncorrected: newest(looks, |card| &card.ecc.volatile.sram_uncorrected),
        },
        aggregate: EccCounts {
            corrected: newest(looks, |card| &card.ecc.aggregate.corrected),
            uncorrected: newest(looks, |card| &card.ecc.aggregate.uncorrected),
            dram_uncorrected: newest(looks, |card| &card.ecc.aggregate.dram_uncorrected),
            sram_uncorrected: newest(looks, |card| &card.ecc.aggregate.sram_uncorrected),
        },
        sram_threshold_exceeded: newest(looks, |card| &card.ecc.sram_threshold_exceeded),
    }
}

/// Returns the errors of the window.
pub(super) fn ecc_growth(looks: &[Look<'_>]) -> EccGrowth {
    EccGrowth {
        corrected: counted(looks, |card| &card.ecc.volatile.corrected),
        uncorrected: counted(looks, |card| &card.ecc.volatile.uncorrected),
    }
}
