//! A memory limit that makes a run wait, or that ended a part of it.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::{KernelFact, KernelLine};
use gpuwhy_model::scene::{Cgroup, Process, Scene, Workload};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Percent, Unit};
use gpuwhy_model::verdict::Impact;

use super::{about_run, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::groups::{called, cgroups_of, is_within};
use crate::facts::kernel_log::{is_fresh, lines};
use crate::facts::waiting::{Places, Waiting};
use crate::findings::Findings;

/// A control group that has used up its memory limit, and what its processes suffer.
struct Squeezed<'scene> {
    group: &'scene Cgroup,
    limit: Bytes,
    used: Bytes,
    /// Share of time in which some task of it waited for memory, where that is known.
    pressure: Option<f64>,
    /// Page faults a second of its processes that waited for a disk.
    faults: f64,
    /// Share of time in which one of its main threads waited until the kernel had made room.
    waits: f64,
    /// How often it came up against its limit in the window, where that is known.
    hits: Option<u64>,
    /// How many of its processes were ended for want of memory in the window.
    kills: u64,
    /// A line of the kernel log that says so, of a short time ago.
    killed: Option<&'scene KernelLine>,
}

/// Reports the tightest group of a run whose memory limit binds.
pub(super) fn check(
    scene: &Scene,
    workload: &Workload,
    groups: &[&Cgroup],
    limits: &Limits,
    findings: &mut Findings,
) {
    let tightest = groups
        .iter()
        .filter_map(|group| squeezed(scene, workload, group, limits))
        .filter(|squeezed| squeezed.binds(limits))
        .reduce(|tightest, next| if next.share() > tightest.share() { next } else { tightest });
    if let Some(squeezed) = tightest {
        findings.report(judge(scene, workload, &squeezed, limits));
    }
}

impl Squeezed<'_> {
    fn share(&self) -> f64 {
        self.used.0 as f64 / self.limit.0.max(1) as f64
    }

    /// Returns whether a process of it was ended in the window or a short time ago.
    fn was_ended(&self) -> bool {
        self.kills > 0 || self.killed.is_some()
    }

    /// Returns whether the limit makes itself felt. That the page cache fills a group up to its limit is normal.
    fn binds(&self, limits: &Limits) -> bool {
        if self.was_ended() {
            return true;
        }
        let is_full = self.share() >= limits.group_limit_share_min;
        let somebody_suffers =
            self.pressure.is_some_and(|share| share >= limits.memory_some_pressure_share_min)
                || self.faults >= limits.major_faults_per_s_min
                || self.waits >= limits.loader_blocked_share_min;
        is_full && somebody_suffers
    }
}

fn squeezed<'scene>(
    scene: &'scene Scene,
    workload: &'scene Workload,
    group: &'scene Cgroup,
    limits: &Limits,
) -> Option<Squeezed<'scene>> {
    let limit = *group.memory_limit.known()?;
    let is_of_group = |process: &&Process| cgroups_of(scene, process).any(|other| other.path == group.path);
    let members: Vec<&Process> = scene.processes_of(workload).filter(is_of_group).collect();
    let places = Places::default();
    Some(Squeezed {
        group,
        limit,
        used: group.memory_used.known().copied().unwrap_or_default(),
        pressure: group.memory_some.known().map(|share| share.0),
        faults: members.iter().filter_map(|process| process.major_faults_per_s.known()).sum(),
        waits: members
            .iter()
            .map(|process| Waiting::of_main_thread(process, &places).memory)
            .fold(0.0, f64::max),
        hits: group.memory_limit_hits.known().copied(),
        kills: group.oom_kill_growth.known().copied().unwrap_or(0),
        killed: killed(scene, group, limits),
    })
}

/// Returns the last line of the kernel log that says that a process of a group was ended a short time ago.
fn killed<'scene>(scene: &'scene Scene, group: &Cgroup, limits: &Limits) -> Option<&'scene KernelLine> {
    lines(scene).iter().rev().filter(|line| is_fresh(scene, line, limits)).find(|line| {
        matches!(&line.fact, Some(KernelFact::OutOfMemory { of_group: true, group: Some(path), .. })
            if is_within(path, &group.path))
    })
}

fn judge(scene: &Scene, workload: &Workload, squeezed: &Squeezed<'_>, limits: &Limits) -> Draft {
    let summary = if squeezed.was_ended() { text::summary_killed() } else { text::summary_memory() };
    let mut draft = about_run(scene, workload, "memory", summary);
    let words = text::memory_used(squeezed.limit, called(scene, squeezed.group), squeezed.used);
    let evidence = once(Signal::CgroupMemory, squeezed.used.0, Unit::Bytes, Reader::Cgroup, words);
    let usual = normal(Comparison::Less, squeezed.limit.0 as f64 * limits.group_limit_share_min);
    if squeezed.share() >= limits.group_limit_share_min {
        draft.agree(2.0, with_normal(evidence, usual));
    } else {
        draft.mention(with_normal(evidence, usual));
    }
    weigh_kill(squeezed, &mut draft);
    weigh_waiting(scene, squeezed, limits, &mut draft);
    draft.finding.impact = Impact { gpu_seconds: resting_s(scene, workload), bytes_held: 0, blocked: 0 };
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_memory());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less_memory());
    draft
}

fn weigh_kill(squeezed: &Squeezed<'_>, draft: &mut Draft) {
    if !squeezed.was_ended() {
        return;
    }
    draft.balance.past_decides = true;
    let evidence = if let Some(line) = squeezed.killed {
        let words = text::killed(line.text.as_str());
        once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words)
    } else {
        let words = text::kills(squeezed.kills);
        once(Signal::CgroupMemory, squeezed.kills, Unit::Count, Reader::Cgroup, words)
    };
    draft.agree(4.0, evidence);
}

/// Weighs how its processes wait for memory.
fn weigh_waiting(scene: &Scene, squeezed: &Squeezed<'_>, limits: &Limits, draft: &mut Draft) {
    let over_window = |evidence| over(evidence, scene.window.samples, scene.window.span_s);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of small numbers")]
    let faults = squeezed.faults.max(0.0).round() as u64;
    match squeezed.pressure {
        Some(share) if share >= limits.memory_some_pressure_share_min => {
            let percent = Percent((share * 100.0).min(100.0));
            let words = text::memory_pressure(percent);
            draft.agree(
                2.0,
                over_window(once(Signal::CgroupPressure, percent.0, Unit::Percent, Reader::Cgroup, words)),
            );
        }
        Some(_) => draft.silent(1.0),
        // Control groups of version 1 have none.
        None => draft.silent(0.5),
    }
    match squeezed.hits {
        Some(hits) if hits > 0 => {
            let words = text::hits(hits);
            draft.agree(
                1.0,
                over_window(once(Signal::CgroupMemory, hits, Unit::Count, Reader::Cgroup, words)),
            );
        }
        _ => draft.silent(0.5),
    }
    if squeezed.faults >= limits.major_faults_per_s_min {
        let words = text::faults(faults);
        draft.agree(
            1.0,
            over_window(once(Signal::PageFaults, squeezed.faults, Unit::Count, Reader::ProcPid, words)),
        );
    }
    if squeezed.waits >= limits.loader_blocked_share_min {
        let percent = Percent(squeezed.waits * 100.0);
        let words = text::waits_for_room(percent);
        draft.agree(
            1.0,
            over_window(once(Signal::CgroupPressure, percent.0, Unit::Percent, Reader::ProcTask, words)),
        );
    }
}

/// Returns the card time in which the cards of a run did not work.
fn resting_s(scene: &Scene, workload: &Workload) -> f64 {
    let cards = workload.cards.iter().filter_map(|index| scene.card(*index));
    let resting = cards.filter_map(|card| card.busy.known()).map(|busy| (1.0 - busy.mean.0 / 100.0).max(0.0));
    scene.window.span_s * resting.sum::<f64>()
}
