//! `comm-bound`: exchange between cards is slow, but moves.

mod collapse;
mod said;
mod traced;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Access};
use gpuwhy_model::sample::CardPath;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{BytesPerSecond, Percent, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, flag, normal, once, over, power, with_normal};
use crate::facts::cards::Holder;
use crate::facts::culprit;
use crate::facts::effort::{as_read, is_kept_slow, lost_share};
use crate::facts::exchange::{Way, WayKind, counts_remote_memory, has_no_nvlink, network, nvlink, pcie};
use crate::facts::hot::own_threads;
use crate::facts::members::{Exchanging, Member, exchanging};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use crate::statistics::{median, odd_ones_out};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/comm_bound.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::CommBound,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::PowerRatio,
            Signal::NvLinkTraffic,
            Signal::PcieTraffic,
            Signal::Network,
            Signal::Peers,
            Signal::Topology,
            Signal::ThreadCpu,
            Signal::GpuMemoryBusy,
            Signal::ProgramLog,
            Signal::Trace,
        ],
    },
    check,
};

/// A network link that carries less of what it could is quiet. The exchange may go past the kernel then, as remote memory
/// access does, which the kernel's own interfaces do not count.
const HIDDEN_SHARE_MAX: f64 = 0.01;
/// How much moments of 20 ms tell, beside a counter of the whole window.
const MOMENTS_STRENGTH: f64 = 0.7;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    collapse::check(scene, findings);
    said::check(scene, findings);
    traced::check(scene, limits, findings);
    for exchanging in exchanging(scene, limits) {
        let is_one_of_several = exchanging.members.len() > 1 || exchanging.job.spans_nodes() == Some(true);
        let all_may_wait = exchanging
            .members
            .iter()
            .all(|member| member.may_spin(limits) && !is_kept_slow(member.card, limits));
        if !is_one_of_several || !all_may_wait {
            continue;
        }
        let first = exchanging.members[0].card.index;
        if findings.answer_about(&[Cause::SlowGpuOutlier, Cause::CollectiveHang], first).is_some() {
            findings.rule_out(Signal::Peers, Some(first));
            continue;
        }
        judge(scene, &exchanging, limits, findings);
    }
}

fn judge(scene: &Scene, exchanging: &Exchanging<'_>, limits: &Limits, findings: &mut Findings) {
    let Some(first) = exchanging.members.first() else {
        return;
    };
    let cards: Vec<u32> = exchanging.members.iter().map(|member| member.card.index).collect();
    let draws: Vec<f64> = exchanging.members.iter().map(|member| member.effort.of_limit).collect();
    if !odd_ones_out(&draws, limits.member_difference_share_min).is_empty() {
        // One of them differs: the others may wait for it, and not for their links.
        findings.rule_out(Signal::Peers, Some(first.card.index));
        return;
    }
    let (ways, unseen) = ways(scene, exchanging);
    let busiest =
        ways.iter().max_by(|one, other| one.share.unwrap_or(0.0).total_cmp(&other.share.unwrap_or(0.0)));
    let share = busiest.and_then(|way| way.share);
    let (group, run) = culprit::run_of(scene, &first.holder);
    let mut draft = Draft::new(&RULE, run, group, cards, text::summary());
    match (busiest, share) {
        (Some(way), Some(share)) if share >= limits.exchange_link_share_notice => {
            weigh_way(scene, way, share, limits, &mut draft);
            if share < limits.exchange_link_share_min {
                weigh_hot_threads(scene, exchanging, limits, &mut draft);
            }
        }
        // Everything that could carry it was seen, and nothing of it is in use.
        (Some(way), Some(_)) if unseen.is_empty() => {
            findings.rule_out(way.signal(), Some(first.card.index));
            return;
        }
        _ => {
            for (signal, absence) in unseen {
                draft.unseen(2.0, signal, absence);
            }
            draft.only_possible();
        }
    }
    if let Some(trend) = first.card.busy.known() {
        draft.agree(1.0, busy(scene, trend, None));
        draft.rest_on(trend);
    }
    // Power is seen only while one looks.
    draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::AtLeast, as_read(first.card, limits.exchange_power_share_max) * 100.0);
    draft.agree(1.5, power(scene, first.card, first.effort.of_limit, usual));
    if exchanging.members.len() > 1 {
        let words = text::all_alike(exchanging.members.len());
        draft.agree(1.0, once(Signal::Peers, exchanging.members.len(), Unit::Count, Reader::Nvml, words));
    }
    weigh_memory(scene, exchanging, limits, &mut draft);
    mention_topology(scene, exchanging, &mut draft);
    let lost: f64 = exchanging.members.iter().map(|member| lost_share(&member.effort, limits)).sum();
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s * lost, bytes_held: 0, blocked: 0 };
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_way());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    let holders: Vec<Holder<'_>> = exchanging.members.iter().map(|member| member.holder).collect();
    let culprits = culprit::culprits(scene, &holders);
    findings.report(draft.culprits(culprits, culprit::pids(&holders)));
}

/// Returns the ways that the members may exchange over, each as its middle member uses it, and which could not be seen.
fn ways(scene: &Scene, exchanging: &Exchanging<'_>) -> (Vec<Way>, Vec<(Signal, Absence)>) {
    let mut ways: Vec<Way> = Vec::new();
    let mut unseen: Vec<(Signal, Absence)> = Vec::new();
    let cards: Vec<_> = exchanging.members.iter().map(|member| member.card).collect();
    let links: Vec<Way> = cards.iter().filter_map(|card| nvlink(card).ok()).collect();
    match middle(&links) {
        Some(way) => ways.push(way),
        None if cards.iter().all(|card| has_no_nvlink(card)) => {}
        None => {
            let absence = cards.iter().find_map(|card| nvlink(card).err()).unwrap_or(Absence::Unsupported);
            unseen.push((Signal::NvLinkTraffic, absence));
        }
    }
    let hosts: Vec<Way> = cards.iter().filter_map(|card| pcie(card).ok()).collect();
    match middle(&hosts) {
        Some(way) => ways.push(way),
        None => {
            if let Some(absence) = cards.iter().find_map(|card| pcie(card).err()) {
                unseen.push((Signal::PcieTraffic, absence));
            }
        }
    }
    if exchanging.job.spans_nodes() != Some(false) {
        match (network(scene), scene.network.absence()) {
            (Some(way), _) => {
                if way.share.is_none_or(|share| share < HIDDEN_SHARE_MAX) && !counts_remote_memory(scene) {
                    unseen.push((Signal::Network, Absence::Unsupported));
                }
                ways.push(way);
            }
            (None, Some(absence)) => unseen.push((Signal::Network, absence)),
            // Inside a container only the inner end of its own link shows: what the machine sends does not.
            (None, None) => unseen.push((Signal::Network, Absence::Denied(Access::MountedSys))),
        }
    }
    (ways, unseen)
}

/// Returns one kind of way as the middle of some cards uses it.
fn middle(ways: &[Way]) -> Option<Way> {
    let first = ways.first()?;
    let shares: Vec<f64> = ways.iter().filter_map(|way| way.share).collect();
    let rates: Vec<f64> = ways.iter().map(|way| way.rate).collect();
    let busier: Vec<f64> = ways.iter().map(|way| way.busier).collect();
    let (rate, busier) = (median(&rates)?, median(&busier)?);
    Some(Way { kind: first.kind.clone(), rate, busier, share: median(&shares) })
}

/// Weighs how full the fullest way is.
fn weigh_way(scene: &Scene, way: &Way, share: f64, limits: &Limits, draft: &mut Draft) {
    let percent = Percent(share * 100.0);
    let rate = BytesPerSecond(way.rate);
    let words = match &way.kind {
        WayKind::NvLink => text::nvlink(percent, rate),
        WayKind::Pcie { .. } => text::pcie(percent, rate),
        WayKind::Network(name) => text::network(name.as_str(), percent, rate),
    };
    let evidence = once(way.signal(), percent.0, Unit::Percent, way.reader(), words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::Less, limits.exchange_link_share_min * 100.0);
    let is_of_moments = way.kind == WayKind::Pcie { is_by_counters: false };
    let strength = if is_of_moments { MOMENTS_STRENGTH } else { 1.0 };
    let fullness = share / limits.exchange_link_share_min;
    draft.agree_by(4.0, strength * fullness.min(1.0), with_normal(evidence, usual));
}

/// Weighs host threads that never rest: where no way is full, members may wait for their own launches.
fn weigh_hot_threads(scene: &Scene, exchanging: &Exchanging<'_>, limits: &Limits, draft: &mut Draft) {
    let processes: Vec<_> = exchanging.members.iter().filter_map(Member::process).collect();
    let is_hot = |process: &&gpuwhy_model::scene::Process| {
        own_threads(process, limits).is_some_and(|own| own.is_one_hot())
    };
    if processes.is_empty() || !processes.iter().all(is_hot) {
        return;
    }
    let words = text::hot_threads(processes.len());
    let evidence = once(Signal::ThreadCpu, processes.len(), Unit::Count, Reader::ProcTask, words);
    draft.contradict(1.0, over(evidence, scene.window.samples, scene.window.span_s));
}

/// Weighs memory traffic: a kernel that waits for an exchange leaves the card's own memory alone.
fn weigh_memory(scene: &Scene, exchanging: &Exchanging<'_>, limits: &Limits, draft: &mut Draft) {
    let in_use: Vec<f64> = exchanging
        .members
        .iter()
        .filter_map(|member| member.card.memory_busy.known())
        .map(|in_use| in_use.mean.0)
        .collect();
    let Some(middle) = median(&in_use).filter(|middle| *middle >= limits.memory_bound_busy_percent_min)
    else {
        return;
    };
    let percent = Percent(middle);
    let evidence =
        once(Signal::GpuMemoryBusy, middle, Unit::Percent, Reader::NvmlSamples, text::memory_in_use(percent));
    draft.contradict(2.0, over(evidence, scene.window.samples, scene.window.span_s));
}

/// Mentions pairs of the cards that do not reach each other's memory, or only over the farthest way.
fn mention_topology(scene: &Scene, exchanging: &Exchanging<'_>, draft: &mut Draft) {
    let is_member = |index: u32| exchanging.members.iter().any(|member| member.card.index == index);
    let pairs = scene.machine.card_pairs.known().into_iter().flatten();
    let between: Vec<_> = pairs.filter(|pair| is_member(pair.one) && is_member(pair.other)).collect();
    if between.iter().any(|pair| pair.peer_to_peer == Some(false)) {
        draft.mention(flag(Signal::Topology, Reader::Nvml, text::no_peer_access()));
    } else if between.iter().any(|pair| pair.path == CardPath::System)
        && exchanging.members.iter().all(|member| has_no_nvlink(member.card))
    {
        draft.mention(flag(Signal::Topology, Reader::Nvml, text::across_sockets()));
    }
}
