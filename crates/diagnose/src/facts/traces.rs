//! Traces that show enough of a card to be judged.

use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Scene, Trace};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Percent, Share, Unit};

use crate::draft::Draft;
use crate::evidence::{once, over};
use crate::facts::program::about_program;
use crate::rule::Rule;

/// Without marked steps, at least so long a trace is judged, in seconds.
const SPAN_MIN_S: f64 = 0.1;
/// A trace of fewer kernels shows a beginning, or an end.
const KERNELS_MIN: u64 = 50;
/// Where fewer kernels than this share of their launches are in a trace, its buffer was too small.
const KERNELS_OF_LAUNCHES_MIN: f64 = 0.5;

/// Returns the traces that can be judged.
pub(crate) fn traces(scene: &Scene) -> impl Iterator<Item = &Trace> {
    scene.traces.iter().filter(|trace| {
        let is_long = trace.steps >= 2 || trace.steps == 0 && trace.span.0 >= SPAN_MIN_S;
        let is_whole = trace.kernels as f64 >= trace.launches as f64 * KERNELS_OF_LAUNCHES_MIN;
        trace.card.is_some() && trace.kernels >= KERNELS_MIN && is_long && is_whole
    })
}

/// Returns whether a traced card rests for much of its steps.
pub(crate) fn rests(trace: &Trace, limits: &Limits) -> bool {
    trace.has_host && trace.idle.0 >= limits.trace_idle_share_min
}

/// Begins a finding about a traced program.
pub(crate) fn about(rule: &'static Rule, trace: &Trace, summary: Text) -> Draft {
    let mut draft = about_program(rule, summary);
    // A trace is no sample: it holds every kernel. Few steps may still be unlike the others.
    if trace.steps > 0 {
        draft.balance.rest_on(usize::try_from(trace.steps).unwrap_or(usize::MAX), trace.span.0);
    } else {
        draft.silent(0.5);
    }
    if let Some(rank) = trace.rank {
        draft.finding.detail.insert("rank".to_owned(), rank.to_string());
    }
    draft
}

/// Makes evidence of a share of a trace.
pub(crate) fn share(trace: &Trace, share: Share, words: fn(Percent) -> Text) -> Evidence {
    let percent = Percent(share.0 * 100.0);
    let evidence = once(Signal::Trace, percent.0, Unit::Percent, Reader::Profiler, words(percent));
    over(evidence, usize::try_from(trace.steps.max(1)).unwrap_or(usize::MAX), trace.span.0)
}
