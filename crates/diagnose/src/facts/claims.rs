//! Causes that say already why a card is busy: what remains for the others.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::signal::Signal;

use crate::findings::Findings;

/// Causes by which a busy card waits for others, or is shared: its own kernels say nothing then.
const OF_OTHERS: &[Cause] =
    &[Cause::CollectiveHang, Cause::SlowGpuOutlier, Cause::CommBound, Cause::GpuContention];
/// Causes by which kernels themselves use a busy card badly, or use something else than its arithmetic.
const OF_KERNELS: &[Cause] = &[Cause::LaunchBound, Cause::LowSmOccupancy, Cause::MemoryBandwidthSaturated];

/// Returns the signal by which another cause than a card's own kernels is found already.
pub(crate) fn by_others(findings: &Findings, card: u32) -> Option<Signal> {
    findings.answer_about(OF_OTHERS, card).map(|cause| match cause {
        Cause::GpuContention => Signal::GpuWorkByProcess,
        _ => Signal::Peers,
    })
}

/// Returns the signal by which another cause than saturated arithmetic is found already.
pub(crate) fn by_others_or_kernels(findings: &Findings, card: u32) -> Option<Signal> {
    by_others(findings, card).or_else(|| {
        findings.answer_about(OF_KERNELS, card).map(|cause| match cause {
            Cause::MemoryBandwidthSaturated => Signal::GpuMemoryBusy,
            _ => Signal::PowerRatio,
        })
    })
}
