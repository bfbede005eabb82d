//! Which finding explains which: the explained one is no second trouble.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::{Finding, Severity};

use super::merge::Merged;

/// The number that says only that a program was stopped after some error.
const STOPPED: &str = "43";

/// Positions of a finding that explains and of one that it explains.
pub(super) type Pair = (usize, usize);

/// Returns which findings others explain; each is explained by one at most, and none that explains is explained: what
/// explains the explanation explains all that follows from it.
pub(super) fn explained(scene: &Scene, findings: &[Merged]) -> Vec<Pair> {
    let direct: Vec<Option<usize>> = findings
        .iter()
        .map(|finding| {
            findings.iter().position(|other| {
                other.finding.cause != finding.finding.cause && explains(scene, other, finding)
            })
        })
        .collect();
    let pairs = direct.iter().enumerate().filter_map(|(place, by)| Some((first_of(&direct, (*by)?)?, place)));
    pairs.filter(|(by, place)| by != place).collect()
}

/// Returns the finding at the beginning of a chain of explanations; none when the chain goes round.
fn first_of(direct: &[Option<usize>], from: usize) -> Option<usize> {
    let mut place = from;
    for _ in 0..direct.len() {
        match direct[place] {
            Some(by) => place = by,
            None => return Some(place),
        }
    }
    None
}

fn explains(scene: &Scene, one: &Merged, other: &Merged) -> bool {
    let pair = (one.finding.cause, other.finding.cause);
    let same_process = one.processes.iter().any(|process| other.processes.contains(process));
    let (one, other) = (&one.finding, &other.finding);
    let is_within = is_within(other, one);
    if explains_for_its_processes(pair) {
        return same_process;
    }
    if explains_on_its_cards(pair) {
        return is_within;
    }
    if explains_on_a_card(pair) {
        return share_a_card(one, other);
    }
    match pair {
        // Calls hang on a card that is gone, wherever the driver stands with them.
        (Cause::GpuLost, Cause::DriverHung) if one.cards.is_empty() => true,
        // What the driver cannot serve, the plugin cannot offer.
        (
            Cause::GpuLost | Cause::DriverNotLoaded | Cause::DriverLibraryMismatch | Cause::DriverHung,
            Cause::GpuNotAdvertised,
        ) => true,
        // Whatever else shows on a card that is gone comes of its being gone.
        (Cause::GpuLost, _) => {
            (!other.cards.is_empty() || other.subject.kind == SubjectKind::Card) && is_within
                || is_bare(other)
                || is_of_card_or_exchange(other)
        }
        // A limit of the container is why its loaders may not run, or read again what they had in memory.
        (Cause::ContainerLimit, Cause::StarvedByCpu) => same_process && is_limit(one, "processor"),
        (Cause::ContainerLimit, Cause::StarvedByStorage) => same_process && is_limit(one, "memory"),
        // A program that finds its card broken may say that memory did not suffice.
        (Cause::EccUncorrectable | Cause::XidHwFault, Cause::VramFull) => is_bare(other),
        // What a program says of its card is no second trouble where the card's own is known.
        (
            Cause::EccUncorrectable | Cause::XidHwFault | Cause::NvlinkFault | Cause::DriverHung,
            Cause::AppError,
        ) => is_of_card_or_exchange(other),
        (Cause::ContainerLimit, Cause::CommBound) => is_limit(one, "devices"),
        // What makes one member slow is part of why all of its job is.
        (
            Cause::SlowGpuOutlier,
            Cause::ThermalThrottle
            | Cause::HwSlowdown
            | Cause::PowerThrottle
            | Cause::LowClocks
            | Cause::PcieDegraded,
        ) => is_about_slow_member(one, other),
        // An error for which the plugin took a card away is why it is not offered.
        (
            Cause::XidAppFault
            | Cause::XidHwFault
            | Cause::EccUncorrectable
            | Cause::RowRemapPending
            | Cause::NvlinkFault,
            Cause::GpuNotAdvertised,
        ) => other.detail.contains_key("xid") && one.detail.get("xid") == other.detail.get("xid"),
        // Who waits for cards where no node offers any waits for this.
        (Cause::GpuNotAdvertised, Cause::SchedulerPending | Cause::QueueCongested) => {
            one.detail.get("scope").is_some_and(|scope| scope == "all")
        }
        // What a program leaves behind on a card whose memory or links failed is no fault of its own.
        (Cause::RowRemapPending, Cause::XidAppFault) => is_within && is_xid(other, STOPPED),
        (Cause::NvlinkFault, Cause::XidAppFault) => is_within && one.detail.contains_key("xid"),
        // Calls that block and the error behind them are one trouble.
        (Cause::DriverHung, Cause::XidHwFault) => one.cards.is_empty() || share_a_card(one, other),
        // A card at its limit works as fast as it can; the limit is what is wrong.
        (
            Cause::PowerThrottle | Cause::ThermalThrottle | Cause::HwSlowdown | Cause::LowClocks,
            Cause::ComputeSaturated | Cause::MemoryBandwidthSaturated,
        ) => is_within && is_felt(one),
        (
            Cause::VramHeldByDeadProcess
            | Cause::VramHeldByHiddenProcess
            | Cause::IdleReserved
            | Cause::DisplayProcess,
            Cause::VramFull,
        ) => share_a_card(one, other) && holds_half_of(scene, one, other),
        _ => false,
    }
}

/// Returns whether the first cause explains the second where both are about the same process.
const fn explains_for_its_processes(pair: (Cause, Cause)) -> bool {
    match pair {
        (
            // The member that the others wait for does nothing: that is how it hangs.
            Cause::VramHeldByDeadProcess | Cause::VramHeldByHiddenProcess | Cause::CollectiveHang,
            Cause::IdleReserved,
        )
        // Who holds a card for nothing keeps others out, whatever the mode.
        | (Cause::VramHeldByDeadProcess | Cause::IdleReserved, Cause::ComputeModeExclusive)
        // What was taken by design, or kept by mistake, is not needed.
        | (Cause::MemoryPreallocated | Cause::VramLeak, Cause::VramFull)
        | (Cause::CheckpointPause, Cause::StarvedByStorage) => true,
        _ => false,
    }
}

/// Returns whether the first cause explains the second on all cards that it is about.
const fn explains_on_its_cards(pair: (Cause, Cause)) -> bool {
    match pair {
        (Cause::HostMemoryPressure, Cause::StarvedByStorage | Cause::StarvedByCpu)
        // Programs fail on a card that fails.
        | (Cause::XidHwFault | Cause::EccUncorrectable, Cause::XidAppFault)
        | (Cause::FanFailed, Cause::ThermalThrottle | Cause::LowClocks) => true,
        _ => false,
    }
}

/// Returns whether the first cause explains the second where both show on one card.
const fn explains_on_a_card(pair: (Cause, Cause)) -> bool {
    match pair {
        // What a dead run has mapped goes with its last process.
        (Cause::VramHeldByDeadProcess, Cause::Bar1Exhausted)
        | (Cause::PcieDegraded, Cause::TransferBound)
        // The repair is what to act on; memory that cannot be repaired any more waits for nothing.
        | (Cause::RowRemapPending, Cause::EccUncorrectable) => true,
        _ => false,
    }
}

/// Returns whether a finding is about one number of the driver's errors.
fn is_xid(finding: &Finding, number: &str) -> bool {
    finding.detail.get("xid").is_some_and(|own| own == number)
}

fn is_limit(finding: &Finding, limit: &str) -> bool {
    finding.detail.get("limit").is_some_and(|kind| kind == limit)
}

/// Returns whether all that is known of full memory is that a program said so.
fn is_bare(full: &Finding) -> bool {
    full.detail.get("kind").is_some_and(|kind| kind == "not-said")
}

/// Returns whether an error of a program is one of its card or of the exchange between cards.
fn is_of_card_or_exchange(error: &Finding) -> bool {
    error.detail.get("class").is_some_and(|class| class == "cuda-error" || class == "nccl-error")
}

/// Returns whether a finding is about the one card that holds back the job of another.
fn is_about_slow_member(outlier: &Finding, other: &Finding) -> bool {
    let member = outlier.detail.get("member").and_then(|index| index.parse().ok());
    member.is_some_and(|member: u32| other.cards == [member])
}

/// Returns whether a finding costs something: a note explains nothing.
fn is_felt(finding: &Finding) -> bool {
    finding.severity != Severity::Note
}

/// Returns whether one finding is about no card that the other is not about.
fn is_within(one: &Finding, other: &Finding) -> bool {
    if is_about_an_unnumbered_card(one) {
        return is_same_unnumbered_card(one, other);
    }
    one.cards.iter().all(|card| other.cards.contains(card))
}

fn share_a_card(one: &Finding, other: &Finding) -> bool {
    one.cards.iter().any(|card| other.cards.contains(card)) || is_same_unnumbered_card(one, other)
}

/// Returns whether a finding is about a card of which only the address or the unique name is known.
fn is_about_an_unnumbered_card(finding: &Finding) -> bool {
    finding.cards.is_empty() && finding.subject.kind == SubjectKind::Card
}

fn is_same_unnumbered_card(one: &Finding, other: &Finding) -> bool {
    is_about_an_unnumbered_card(one)
        && is_about_an_unnumbered_card(other)
        && one.subject.id == other.subject.id
}

/// Returns whether what one finding holds for nothing is at least half of the full cards' memory.
fn holds_half_of(scene: &Scene, holding: &Finding, full: &Finding) -> bool {
    let cards = full.cards.iter().filter_map(|index| scene.card(*index));
    let total: u64 = cards.filter_map(|card| card.memory.known()).map(|memory| memory.total.0).sum();
    holding.impact.bytes_held.saturating_mul(2) >= total
}
