//! Traces: for much of each step nothing runs on the card but exchange with others.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Scene, Trace};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::traces::{about, share, traces};
use crate::findings::Findings;

/// Members that exchange alone for so different shares of their time do not all wait for their links.
const ALIKE_SHARE_MIN: f64 = 0.6;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let traced: Vec<&Trace> = traces(scene).collect();
    let shares = || traced.iter().map(|trace| trace.exchange_alone.0);
    let (most, least) = (shares().fold(0.0, f64::max), shares().fold(f64::INFINITY, f64::min));
    let Some(worst) =
        traced.iter().max_by(|one, other| one.exchange_alone.0.total_cmp(&other.exchange_alone.0))
    else {
        return;
    };
    if most < limits.trace_exchange_share_min {
        if traced.iter().any(|trace| trace.exchange.0 > 0.0) {
            findings.rule_out(Signal::Trace, None);
        }
        return;
    }
    findings.report(judge(worst, traced.len(), least >= most * ALIKE_SHARE_MIN, limits));
}

fn judge(trace: &Trace, number: usize, are_alike: bool, limits: &Limits) -> Draft {
    let mut draft = about(&RULE, trace, text::summary_traced());
    let usual = normal(Comparison::Less, limits.trace_exchange_share_min * 100.0);
    draft.agree(3.0, with_normal(share(trace, trace.exchange_alone, text::exchange_alone), usual));
    draft.mention(share(trace, trace.exchange, text::exchange));
    match (number, are_alike) {
        (1, _) => {
            // Time in an exchange is also time of waiting for a slower member.
            draft.silent(2.0);
        }
        (_, true) => draft.agree(
            1.5,
            once(Signal::Trace, number, Unit::Count, Reader::Profiler, text::traces_alike(number)),
        ),
        (_, false) => {
            draft.contradict(
                1.5,
                once(Signal::Trace, number, Unit::Count, Reader::Profiler, text::traces_differ(number)),
            );
            draft.only_possible();
        }
    }
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_way());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    if number == 1 {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_trace_others());
    }
    draft
}
