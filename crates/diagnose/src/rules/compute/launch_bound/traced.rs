//! Traces: very many short kernels, with rests between them that are just as long as a launch.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Scene, Trace};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Seconds, Unit};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::traces::{about, rests, share, traces};
use crate::findings::Findings;

/// So large a share of the kernels must be short.
const SHORT_SHARE_MIN: f64 = 0.5;
/// So large a share of the rests must be as short as a launch.
const LAUNCHES_OF_IDLE_MIN: f64 = 0.5;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for trace in traces(scene).filter(|trace| rests(trace, limits)) {
        if trace.idle_by.launches.0 < trace.idle.0 * LAUNCHES_OF_IDLE_MIN
            || trace.short_kernels.0 < SHORT_SHARE_MIN
        {
            findings.rule_out(Signal::Trace, None);
            continue;
        }
        findings.report(judge(trace, limits));
    }
}

fn judge(trace: &Trace, limits: &Limits) -> Draft {
    let mut draft = about(&RULE, trace, text::summary_traced());
    let usual = normal(Comparison::Less, limits.trace_idle_share_min * 100.0);
    draft.agree(2.0, with_normal(share(trace, trace.idle, text::card_rests), usual));
    draft.agree(2.0, share(trace, trace.idle_by.launches, text::launch_rests));
    draft.agree(1.5, share(trace, trace.short_kernels, text::short_kernels));
    let mean = Seconds(trace.kernel_mean.0);
    draft.mention(once(
        Signal::Trace,
        trace.kernels,
        Unit::Count,
        Reader::Profiler,
        text::kernels(trace.kernels, mean),
    ));
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_launches());
    draft
}
