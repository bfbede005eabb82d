//! `slow-gpu-outlier`: one member of a job holds back the others.

mod handicap;
mod measured;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Impact;

use self::handicap::{Handicap, handicaps, is_ready, waits};
use crate::draft::Draft;
use crate::evidence::{busy, flag, normal, once, over, power, reader};
use crate::facts::cards::Holder;
use crate::facts::culprit;
use crate::facts::effort::{as_read, lost_share};
use crate::facts::exchange::{Way, nvlink, pcie};
use crate::facts::members::{Exchanging, Member, exchanging};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/slow_gpu_outlier.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::SlowGpuOutlier,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::PowerRatio,
            Signal::SmClock,
            Signal::ClockReasons,
            Signal::PcieLink,
            Signal::NvLinks,
            Signal::EccErrors,
            Signal::Peers,
            Signal::OwnPast,
        ],
    },
    check,
};

/// What another rule has found out about a member that comes late: then it is no matter of its card.
const LATE_FOR_ANOTHER_REASON: &[Cause] = &[
    Cause::StarvedByStorage,
    Cause::StarvedByCpu,
    Cause::StarvedByHostCode,
    Cause::StarvedByNetworkInput,
    Cause::TransferBound,
    Cause::CheckpointPause,
    Cause::CollectiveHang,
];

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    measured::check(scene, findings);
    for exchanging in exchanging(scene, limits) {
        let members = &exchanging.members;
        let Some(first) = members.first() else {
            continue;
        };
        let is_explained = members
            .iter()
            .any(|member| findings.answer_about(LATE_FOR_ANOTHER_REASON, member.card.index).is_some());
        if is_explained {
            findings.rule_out(Signal::ProcessState, Some(first.card.index));
            continue;
        }
        if members.len() > 1 {
            judge(scene, members, exchanging.job.exchange_threads(), limits, findings);
        }
        if exchanging.job.spans_nodes() == Some(true) {
            judge_elsewhere(scene, &exchanging, limits, findings);
        }
    }
}

/// Looks for the one member whose card is worse off, while others wait.
fn judge(
    scene: &Scene,
    members: &[Member<'_>],
    exchange_threads: Option<bool>,
    limits: &Limits,
    findings: &mut Findings,
) {
    let handicaps = handicaps(members, limits);
    let suspects: Vec<usize> = (0..members.len()).filter(|place| tells_enough(&handicaps[*place])).collect();
    let [suspect] = suspects[..] else {
        if suspects.is_empty() {
            findings.rule_out(Signal::Peers, Some(members[0].card.index));
        }
        return;
    };
    let slow = members[suspect];
    let others: Vec<Member<'_>> =
        members.iter().copied().filter(|member| member.card.index != slow.card.index).collect();
    let all_are_ready = others.iter().all(|member| is_ready(member, limits));
    let all_wait = others.iter().all(|member| waits(member, limits));
    let is_felt =
        all_wait || exchange_threads != Some(false) && handicaps[suspect].iter().any(Handicap::slows_kernels);
    if others.is_empty() || !all_are_ready || !is_felt {
        findings.rule_out(Signal::PowerRatio, Some(slow.card.index));
        return;
    }
    let mut cards: Vec<u32> = members.iter().map(|member| member.card.index).collect();
    cards.sort_unstable();
    let (group, run) = culprit::run_of(scene, &slow.holder);
    let summary = text::summary(slow.card.shown(), others.len());
    let mut draft = Draft::new(&RULE, run, group, cards, summary);
    if let Some(trend) = others[0].card.busy.known() {
        draft.agree(1.0, busy(scene, trend, None));
        draft.rest_on(trend);
    }
    // Power is seen only while one looks.
    draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    if all_wait {
        let usual =
            normal(Comparison::AtLeast, as_read(others[0].card, limits.exchange_power_share_max) * 100.0);
        draft.agree(1.5, power(scene, others[0].card, others[0].effort.of_limit, usual));
        let words = text::others_wait(others.len());
        draft.agree(1.0, once(Signal::Peers, others.len(), Unit::Count, Reader::Nvml, words));
    } else {
        // By its variables the job exchanges; its threads would make that sure.
        draft.silent(if exchange_threads == Some(true) { 1.5 } else { 2.5 });
    }
    for handicap in &handicaps[suspect] {
        draft.agree(handicap.weight(), evidence(scene, slow.card, handicap));
    }
    // Which step took how long, only the program knows; that one draws more may be how the work is divided.
    let is_by_power_alone =
        handicaps[suspect].iter().all(|handicap| matches!(handicap, Handicap::Power { .. }));
    draft.silent(if is_by_power_alone { 3.0 } else { 1.0 });
    let names: Vec<&str> = handicaps[suspect].iter().map(Handicap::id).collect();
    draft.finding.detail.insert("member".to_owned(), slow.card.called());
    draft.finding.detail.insert("differs_in".to_owned(), names.join(","));
    let slower_by = handicaps[suspect].iter().map(Handicap::slower_by).fold(0.0, f64::max);
    let lost: f64 = others.iter().map(|member| lost_share(&member.effort, limits).max(slower_by)).sum();
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s * lost, bytes_held: 0, blocked: 0 };
    advise(slow.card, &handicaps[suspect], &mut draft);
    let holders: Vec<Holder<'_>> = members.iter().map(|member| member.holder).collect();
    // The others only wait: it is this member that a person would look at.
    let culprits = culprit::culprits(scene, &[slow.holder]);
    findings.report(draft.culprits(culprits, culprit::pids(&holders)));
}

/// Returns whether handicaps are enough to suspect a member: errors of its memory alone do not make it slow.
fn tells_enough(handicaps: &[Handicap]) -> bool {
    handicaps.iter().any(|handicap| handicap.weight() >= 1.0)
}

/// Says that the slow member may be on another machine: all members here wait, and no link holds them back.
fn judge_elsewhere(scene: &Scene, exchanging: &Exchanging<'_>, limits: &Limits, findings: &mut Findings) {
    let members = &exchanging.members;
    let ways: Vec<Way> =
        members.iter().flat_map(|member| [nvlink(member.card), pcie(member.card)]).flatten().collect();
    let moves = ways.iter().any(|way| !way.is_quiet(limits));
    let is_held_back = |way: &Way| way.share.is_none_or(|share| share >= limits.exchange_link_share_notice);
    let all_wait = members.iter().all(|member| waits(member, limits));
    let is_suspect = |handicaps: &Vec<Handicap>| tells_enough(handicaps);
    if !all_wait || !moves || ways.iter().any(is_held_back) {
        return;
    }
    if handicaps(members, limits).iter().any(is_suspect) {
        return;
    }
    let cards: Vec<u32> = members.iter().map(|member| member.card.index).collect();
    let (group, run) = culprit::run_of(scene, &members[0].holder);
    let mut draft = Draft::new(&RULE, run, group, cards, text::summary_elsewhere(members.len()));
    draft.agree(1.5, power(scene, members[0].card, members[0].effort.of_limit, None));
    draft.agree(1.0, flag(Signal::Peers, Reader::Nvml, text::alike_here()));
    draft.only_possible();
    draft.finding.detail.insert("member".to_owned(), "another-node".to_owned());
    let lost: f64 = members.iter().map(|member| lost_share(&member.effort, limits)).sum();
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s * lost, bytes_held: 0, blocked: 0 };
    draft.advise(Action::LookAgain, Vec::new(), text::fix_elsewhere());
    let holders: Vec<Holder<'_>> = members.iter().map(|member| member.holder).collect();
    let culprits = culprit::culprits(scene, &holders);
    findings.report(draft.culprits(culprits, culprit::pids(&holders)));
}

fn evidence(scene: &Scene, card: &Card, handicap: &Handicap) -> Evidence {
    let index = card.shown();
    let nvml =
        |signal, value: f64, unit, words| once(signal, value, unit, reader(scene, Reader::Nvml), words);
    let counted = |share: gpuwhy_model::units::Share, words| {
        let evidence =
            once(Signal::ClockReasons, share.0 * 100.0, Unit::Percent, Reader::NvmlCounters, words);
        over(evidence, scene.window.samples, scene.window.span_s)
    };
    match *handicap {
        Handicap::Heat(share) => counted(share, text::heat(index, share)),
        Handicap::Brake(share) => counted(share, text::brake(index, share)),
        Handicap::Clock { own, others, fell_in_window } => {
            let (signal, words) = if fell_in_window {
                (Signal::OwnPast, text::clock_fell(index, others, own))
            } else {
                (Signal::SmClock, text::clock(index, others, own))
            };
            nvml(signal, own.0, Unit::Megahertz, words)
        }
        Handicap::Width { own, others } => {
            nvml(Signal::PcieLink, own, Unit::Count, text::width(index, whole(others), whole(own)))
        }
        Handicap::Generation { own, others } => {
            nvml(Signal::PcieLink, own, Unit::Count, text::generation(index, whole(others), whole(own)))
        }
        Handicap::Links { own, others } => {
            nvml(Signal::NvLinks, own, Unit::Count, text::links(index, whole(others), whole(own)))
        }
        Handicap::Memory(errors) => {
            once(Signal::EccErrors, errors, Unit::Count, Reader::NvmlCounters, text::memory(index, errors))
        }
        Handicap::Power { own, others } => {
            nvml(Signal::PowerRatio, own.0, Unit::Percent, text::more_work(index, others, own))
        }
    }
}

/// Returns a small whole number of lanes or links.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of lanes and links")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn advise(card: &Card, handicaps: &[Handicap], draft: &mut Draft) {
    let is_of_the_card = handicaps.iter().any(|handicap| !matches!(handicap, Handicap::Power { .. }));
    if is_of_the_card {
        draft.advise(Action::MoveWork, Vec::new(), text::fix_without(card.shown()));
        draft.advise(Action::ServiceHardware, Vec::new(), text::fix_card(card.shown()));
    } else {
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_balance());
        draft.advise(Action::LookAgain, Vec::new(), text::fix_compare(card.shown()));
    }
}
