//! Traces and profiles: the card rests while the program runs its own code.

use gpuwhy_knowledge::FrameKind;
use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Profile, Scene, Trace};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Seconds, Share, Unit};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::program::about_program;
use crate::facts::stacks::shares;
use crate::facts::traces::{about, rests, share, traces};
use crate::findings::Findings;

/// A server that spends this share of its own time on its requests, and not on the card, is slow by itself.
const SERVES_SHARE_MIN: f64 = 0.4;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for trace in traces(scene).filter(|trace| rests(trace, limits)) {
        let by = trace.idle_by;
        let own = by.host_code.0 + by.unknown.0;
        if own < by.data.0 + by.launches.0 + by.waiting_for_card.0 {
            findings.rule_out(Signal::Trace, None);
            continue;
        }
        findings.report(judge(trace, limits));
    }
    for profile in &scene.profiles {
        if let Some(draft) = by_profile(profile) {
            findings.report(draft);
        }
    }
}

fn judge(trace: &Trace, limits: &Limits) -> Draft {
    let mut draft = about(&RULE, trace, text::summary_traced());
    let usual = normal(Comparison::Less, limits.trace_idle_share_min * 100.0);
    draft.agree(3.0, with_normal(share(trace, trace.idle, text::card_rests), usual));
    let by = trace.idle_by;
    // What the trace does not mark is the interpreter between two operations, most often.
    let certainty = (by.host_code.0 + 0.6 * by.unknown.0) / trace.idle.0;
    let own = Share(by.host_code.0 + by.unknown.0);
    draft.agree_by(2.0, certainty, share(trace, own, text::own_code_meanwhile));
    if !trace.has_data_marks {
        // A loader of the program's own making leaves no marks.
        draft.silent(1.0);
    }
    let gap = Seconds(trace.gap_mean.0);
    draft.mention(once(Signal::Trace, gap.0, Unit::Seconds, Reader::Profiler, text::gap(gap)));
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_trace());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_move_work());
    draft
}

/// Judges a server by where its own time goes.
fn by_profile(profile: &Profile) -> Option<Draft> {
    let shares = shares(profile);
    let of =
        |wanted: FrameKind| shares.iter().find(|(kind, _)| *kind == wanted).map_or(0.0, |(_, share)| *share);
    let (serves, computes) = (of(FrameKind::Serve), of(FrameKind::Compute) + of(FrameKind::Card));
    if serves < SERVES_SHARE_MIN || serves < computes || serves < of(FrameKind::Poll) {
        return None;
    }
    let mut draft = about_program(&RULE, text::summary_serves());
    let percent = Percent(serves * 100.0);
    draft.agree(3.0, once(Signal::Profile, percent.0, Unit::Percent, Reader::Sampler, text::serves(percent)));
    // Whether the card rests meanwhile is not in a profile.
    draft.silent(3.0);
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_server());
    Some(draft)
}
