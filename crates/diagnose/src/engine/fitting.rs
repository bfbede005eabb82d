//! Which of the causes that remain fit the figures of the cards that are open: a text that does not decide names few.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};

use crate::facts::cards::{Activity, activity, is_full};
use crate::findings::Findings;
use crate::registry;

/// No more are named.
const CAUSES_MAX: usize = 3;

/// A card that is busy for so much of the time waits for nothing, in percent.
const FULLY_BUSY: f64 = 95.0;

/// A card in a later P-state than this has had nothing to do for a while.
const LAST_STATE_AT_WORK: u32 = 4;

/// Returns the causes that fit best.
pub(super) fn fitting(
    scene: &Scene,
    limits: &Limits,
    findings: &Findings,
    mut causes: Vec<Cause>,
) -> Vec<Cause> {
    let open: Vec<&Card> = findings.undecided.iter().filter_map(|index| scene.card(*index)).collect();
    causes.retain(|cause| open.is_empty() || open.iter().any(|card| fits(*cause, card, limits)));
    let is_reported = |cause: Cause| findings.candidates().any(|draft| draft.cause() == cause);
    let rank = |cause: Cause| match cause {
        Cause::ThermalThrottle => 0,
        Cause::VramFull => 1,
        Cause::IdleReserved => 2,
        _ if is_reported(cause) => 3,
        _ => 4,
    };
    causes.sort_by_key(|cause| (rank(*cause), registry::place(*cause)));
    causes.dedup();
    causes.truncate(CAUSES_MAX);
    causes
}

/// Returns whether a card's figures leave a cause possible; where they are not known, all are.
fn fits(cause: Cause, card: &Card, limits: &Limits) -> bool {
    let Some(busy) = card.busy.known().map(|busy| busy.mean.0) else {
        return true;
    };
    let activity = activity(card, limits);
    match cause {
        Cause::ComputeSaturated => activity == Activity::Works && busy >= limits.busy_percent_min,
        Cause::ThermalThrottle
        | Cause::HwSlowdown
        | Cause::PowerThrottle
        | Cause::LowClocks
        | Cause::MemoryBandwidthSaturated
        | Cause::LaunchBound
        | Cause::LowSmOccupancy
        | Cause::CommBound
        | Cause::SlowGpuOutlier => activity == Activity::Works,
        Cause::StarvedByStorage
        | Cause::StarvedByCpu
        | Cause::StarvedByHostCode
        | Cause::StarvedByNetworkInput
        | Cause::TransferBound
        | Cause::CheckpointPause
        | Cause::ContainerLimit
        | Cause::HostMemoryPressure
        | Cause::BatchTooSmall => busy < FULLY_BUSY && !sleeps(card, activity, limits),
        Cause::IdleReserved | Cause::VramHeldByDeadProcess | Cause::VramHeldByHiddenProcess => {
            activity == Activity::Rests
        }
        Cause::VramFull => is_full(card, limits) != Some(false),
        _ => true,
    }
}

/// Returns whether a card has had nothing to do for a while: between two steps of a program its clocks stay up.
fn sleeps(card: &Card, activity: Activity, limits: &Limits) -> bool {
    let has_low_state = card.performance_state.known().is_some_and(|state| *state > LAST_STATE_AT_WORK);
    let takes_nothing = card.power_ratio().into_known().is_some_and(|ratio| ratio <= limits.idle_power_share);
    activity == Activity::Rests && (has_low_state || takes_nothing)
}
