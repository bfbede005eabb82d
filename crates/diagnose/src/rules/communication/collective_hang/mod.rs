//! `collective-hang`: members of a job wait for each other, and nothing moves.

mod said;
mod stood;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Bytes, Seconds, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, flag, normal, once, over, power, with_normal};
use crate::facts::cards::Holder;
use crate::facts::culprit;
use crate::facts::effort::{as_read, for_work, still_for_s};
use crate::facts::exchange::{Way, has_no_nvlink, nvlink, pcie};
use crate::facts::hot::own_threads;
use crate::facts::idle::tree_cores;
use crate::facts::kin::Kin;
use crate::facts::members::{Exchanging, Member, exchanging};
use crate::facts::waiting::{Places, Waiting};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/collective_hang.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::CollectiveHang,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::NvLinkTraffic,
            Signal::PcieTraffic,
            Signal::Peers,
            Signal::ProcessIo,
            Signal::ThreadCpu,
            Signal::ProgramLog,
            Signal::Stacks,
        ],
    },
    check,
};

/// A member whose card rests and that uses this much of a core does something on the host: the others wait for it.
const AT_WORK_CORES: f64 = 0.3;
/// A card that draws so little above rest does not even poll for data.
const SILENT_POWER_SHARE: f64 = 0.15;

/// A job at a standstill.
struct Standstill<'scene> {
    spinning: Vec<Member<'scene>>,
    /// Members whose card rests: those that the others may wait for.
    absent: Vec<Member<'scene>>,
    /// For how long nothing has changed, up to the end of the window.
    still_s: f64,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    stood::check(scene, findings);
    for exchanging in exchanging(scene, limits) {
        let Some(standstill) = standstill(&exchanging, limits) else {
            continue;
        };
        let index = standstill.spinning[0].card.index;
        if let Some(moving) = moving(&standstill, limits) {
            findings.rule_out(moving, Some(index));
            continue;
        }
        if standstill.absent.iter().any(|member| is_at_work_on_the_host(scene, member, limits)) {
            findings.rule_out(Signal::ThreadCpu, Some(index));
            continue;
        }
        report(scene, &standstill, limits, findings);
    }
}

/// Returns a job as one at a standstill: each member's card either spins without any change or rests.
fn standstill<'scene>(exchanging: &Exchanging<'scene>, limits: &Limits) -> Option<Standstill<'scene>> {
    let (absent, others): (Vec<Member<'_>>, Vec<Member<'_>>) =
        exchanging.members.iter().copied().partition(|member| member.rests(limits));
    let waits_for_somebody =
        others.len() > 1 || !absent.is_empty() || exchanging.job.spans_nodes() == Some(true);
    let all_spin = others.iter().all(|member| spins(member, limits));
    if others.is_empty() || !waits_for_somebody || !all_spin {
        return None;
    }
    let still_s = others.iter().map(still_s).fold(f64::INFINITY, f64::min);
    Some(Standstill { spinning: others, absent, still_s })
}

/// Returns whether a member's card was busy all the time, at the end of the window at least, and drew little.
fn spins(member: &Member<'_>, limits: &Limits) -> bool {
    let is_busy_now =
        member.card.busy.known().is_some_and(|busy| busy.last.0 >= limits.hang_busy_percent_min);
    let ratio = match (member.card.power.known(), member.card.power_limits.enforced.known()) {
        (Some(power), Some(limit)) if limit.0 > 0.0 => for_work(power.last, *limit),
        _ => member.effort.for_work,
    };
    is_busy_now && ratio <= limits.hang_power_share_max
}

/// Returns for how long neither utilization nor power of a member's card has changed, in seconds.
fn still_s(member: &Member<'_>) -> f64 {
    let by_busy = member.card.busy.known().map_or(0.0, still_for_s);
    let by_power = member.card.power.known().map_or(0.0, still_for_s);
    by_busy.min(by_power)
}

/// Returns the signal that shows data moving between the members.
fn moving(standstill: &Standstill<'_>, limits: &Limits) -> Option<Signal> {
    let mut ways = standstill.spinning.iter().flat_map(|member| ways(member.card));
    ways.find(|way| !way.is_quiet(limits)).map(|way| way.signal())
}

fn ways(card: &Card) -> impl Iterator<Item = Way> {
    [nvlink(card), pcie(card)].into_iter().flatten()
}

/// Returns whether a member whose card rests works on the host, or waits for its storage: then it will come.
fn is_at_work_on_the_host(scene: &Scene, member: &Member<'_>, limits: &Limits) -> bool {
    let Some(process) = member.process() else {
        return false;
    };
    let uses = tree_cores(&Kin::of(scene), process).is_ok_and(|cores| cores >= AT_WORK_CORES);
    let waits = |process: &Process| {
        Waiting::of_main_thread(process, &Places::default()).storage >= limits.loader_blocked_share_min
    };
    uses || waits(process)
}

fn report(scene: &Scene, standstill: &Standstill<'_>, limits: &Limits, findings: &mut Findings) {
    let first = standstill.spinning[0];
    let all: Vec<Member<'_>> = standstill.absent.iter().chain(&standstill.spinning).copied().collect();
    let mut cards: Vec<u32> = all.iter().map(|member| member.card.index).collect();
    cards.sort_unstable();
    cards.dedup();
    let (group, run) = culprit::run_of(scene, &first.holder);
    let mut draft = Draft::new(&RULE, run, group, cards, summary(standstill));

    if let Some(trend) = first.card.busy.known() {
        let usual = normal(Comparison::Less, limits.hang_busy_percent_min);
        draft.agree(1.5, busy(scene, trend, usual));
        draft.rest_on(trend);
    }
    // Power is seen only while one looks.
    draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::Greater, as_read(first.card, limits.hang_power_share_max) * 100.0);
    draft.agree(1.5, power(scene, first.card, first.effort.of_limit, usual));
    weigh_stillness(scene, standstill, limits, &mut draft);
    weigh_traffic(standstill, limits, &mut draft);
    weigh_absent(standstill, &mut draft);
    weigh_progress(scene, &all, limits, &mut draft);
    weigh_host_threads(standstill, limits, &mut draft);

    let number = all.len();
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * number as f64, bytes_held: 0, blocked: number as u64 };
    draft.advise(
        Action::ImproveProgram,
        all.iter().map(|member| culprit::target(member.holder.client.pid)).collect(),
        text::fix_stacks(),
    );
    draft.advise(Action::AskOwner, Vec::new(), text::fix_restart());
    let holders: Vec<Holder<'_>> = all.iter().map(|member| member.holder).collect();
    let culprits = culprit::culprits(scene, &holders);
    findings.report(draft.culprits(culprits, culprit::pids(&holders)));
}

fn summary(standstill: &Standstill<'_>) -> Text {
    let (number, still) = (standstill.spinning.len(), Seconds(standstill.still_s));
    match standstill.absent.first() {
        Some(absent) => {
            text::summary_absent(culprit::called(&absent.holder), number, absent.holder.client.pid.0)
        }
        None => text::summary(number, still),
    }
}

/// Weighs for how long nothing has changed: a short wait for others is part of every step.
fn weigh_stillness(scene: &Scene, standstill: &Standstill<'_>, limits: &Limits, draft: &mut Draft) {
    let still = Seconds(standstill.still_s);
    let reader = crate::evidence::reader(scene, Reader::NvmlSamples);
    let evidence = once(Signal::GpuBusyShape, still.0, Unit::Seconds, reader, text::still(still));
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    draft.agree(2.0, with_normal(evidence, normal(Comparison::Less, limits.hang_s)));
    if standstill.still_s < limits.hang_s {
        draft.possible_until(limits.hang_s);
    }
}

/// Weighs that nothing goes over the links; a link that was not seen may carry everything.
fn weigh_traffic(standstill: &Standstill<'_>, limits: &Limits, draft: &mut Draft) {
    let card = standstill.spinning[0].card;
    for way in ways(card) {
        let words = text::quiet(Bytes(limits.quiet_link_bytes));
        let evidence = once(way.signal(), way.busier, Unit::BytesPerSecond, way.reader(), words);
        draft.agree(1.0, with_normal(evidence, normal(Comparison::Greater, limits.quiet_link_bytes as f64)));
    }
    let mut is_hidden = false;
    if let (Err(absence), false) = (nvlink(card), has_no_nvlink(card)) {
        draft.unseen(1.5, Signal::NvLinkTraffic, absence);
        is_hidden = true;
    }
    if let Err(absence) = pcie(card) {
        is_hidden |= has_no_nvlink(card);
        draft.unseen(1.5, Signal::PcieTraffic, absence);
    }
    let is_silent = standstill.spinning.iter().all(|member| member.effort.above_idle <= SILENT_POWER_SHARE);
    if is_hidden && !is_silent {
        draft.only_possible();
    }
}

/// Weighs members that do nothing at all while the others wait.
fn weigh_absent(standstill: &Standstill<'_>, draft: &mut Draft) {
    for member in &standstill.absent {
        let words =
            text::absent(member.card.shown(), culprit::called(&member.holder), member.holder.client.pid.0);
        let evidence = flag(Signal::Peers, Reader::Nvml, words);
        draft.agree(1.0 / standstill.absent.len() as f64, evidence);
    }
}

/// Weighs whether the members read or write anything: a job that moves logs, loads and saves.
fn weigh_progress(scene: &Scene, all: &[Member<'_>], limits: &Limits, draft: &mut Draft) {
    let known: Vec<f64> = all
        .iter()
        .filter_map(|member| member.process()?.io.known())
        .map(|io| io.read_bytes.0 + io.written_bytes.0)
        .collect();
    if known.len() < all.len() {
        draft.silent(0.5);
        return;
    }
    let sum: f64 = known.iter().sum();
    let (words, is_quiet) = if sum < limits.quiet_io_bytes as f64 * all.len() as f64 {
        (text::no_io(), true)
    } else {
        (text::some_io(), false)
    };
    let evidence = once(Signal::ProcessIo, sum, Unit::BytesPerSecond, Reader::ProcPid, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    if is_quiet { draft.agree(0.5, evidence) } else { draft.contradict(1.0, evidence) }
}

/// Weighs host threads of the spinning members that never rest: they poll for the end of a kernel, or launch kernels.
fn weigh_host_threads(standstill: &Standstill<'_>, limits: &Limits, draft: &mut Draft) {
    let is_hot = |member: &Member<'_>| {
        member.process().and_then(|process| own_threads(process, limits)).is_some_and(|own| own.hot > 0)
    };
    if standstill.spinning.iter().any(is_hot) {
        draft.silent(1.0);
    }
}
