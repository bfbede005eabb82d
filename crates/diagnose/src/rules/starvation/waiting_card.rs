//! A card with work in progress that does not fill it, and the team that brings its data.

use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Cgroup, Client, Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Percent, Seconds, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, over, power, zeros};
use crate::facts::cards::{Holder, holders, whole_cards};
use crate::facts::team::{LoaderKind, Team, main_thread_ran};
use crate::facts::waiting::{Places, Waiting};
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::shared_text;

/// A card that may wait for data.
pub(super) struct WaitingCard<'scene> {
    pub(super) card: &'scene Card,
    pub(super) holders: Vec<Holder<'scene>>,
    pub(super) busy: Option<&'scene Trend<Percent>>,
    pub(super) team: Team<'scene>,
    /// Mean share of time in which a loader waited for storage.
    pub(super) storage: f64,
    /// Mean share of time in which a loader ran or wanted to run.
    pub(super) processor: f64,
    /// Whether the holders worked on the card in the window or shortly before, where that is known.
    pub(super) is_in_progress: Option<bool>,
}

impl WaitingCard<'_> {
    /// Returns whether the loaders are the slow part: they are busy or blocked most of the time.
    ///
    /// A main thread that loads by itself cannot load while the card works, so its idle time proves nothing.
    pub(super) fn loaders_are_the_slow_part(&self, limits: &Limits) -> bool {
        let idle = 1.0 - (self.storage + self.processor).min(1.0);
        match (self.team.kind, self.busy) {
            (LoaderKind::MainThread, Some(busy)) => {
                let card_waits = 1.0 - busy.mean.0 / 100.0;
                self.storage + self.processor >= card_waits * limits.loader_idle_share_max
            }
            _ => idle <= limits.loader_idle_share_max,
        }
    }

    /// Returns the share of the window in which the card did not work.
    fn waits(&self) -> f64 {
        self.busy.map_or(0.0, |busy| (1.0 - busy.mean.0 / 100.0).max(0.0))
    }

    /// Weighs the main threads of those that compute: one that runs while the card rests does not wait for loaders.
    fn weigh_main_threads(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
        let waits = self.waits();
        if self.team.kind == LoaderKind::MainThread || waits <= 0.0 {
            return;
        }
        let ran = self.team.computing.iter().filter_map(|process| main_thread_ran(process));
        let longest = ran.fold(0.0, f64::max);
        // It may also run while the card works: to give it work, and to wait for it in a loop.
        let ran_while_card_rested = (longest - (1.0 - waits)).max(0.0) / waits;
        if ran_while_card_rested < limits.loader_blocked_share_min {
            return;
        }
        let percent = Percent(longest * 100.0);
        let words = shared_text::main_thread_ran(percent);
        let evidence = once(Signal::ThreadCpu, percent.0, Unit::Percent, Reader::ProcTask, words);
        draft.contradict(ran_while_card_rested, over(evidence, scene.window.samples, scene.window.span_s));
        if ran_while_card_rested >= limits.loader_idle_share_max {
            draft.only_possible();
        }
    }

    /// Weighs how the card looks: work in progress, not full, in a saw-tooth, with little power; and who drives it.
    pub(super) fn weigh_card(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
        if self.is_in_progress == Some(false) {
            // Nobody waits for data who does nothing with it.
            draft.only_possible();
        }
        self.weigh_main_threads(scene, limits, draft);
        match self.busy {
            Some(trend) => {
                draft.agree(
                    1.5,
                    busy(scene, trend, normal(Comparison::Greater, limits.starved_busy_percent_max)),
                );
                draft.rest_on(trend);
                let usual = normal(Comparison::Less, limits.starved_zeros_share_min * 100.0);
                if trend.zeros >= limits.starved_zeros_share_min {
                    draft.agree(0.5, zeros(scene, trend, usual));
                } else {
                    draft.silent(0.5);
                }
            }
            None => {
                if let Some(absence) = self.card.busy.absence() {
                    draft.unseen(2.0, Signal::GpuBusy, absence);
                }
            }
        }
        if let Some(ratio) = self.card.power_ratio().into_known() {
            if ratio < limits.false_busy_power_share_max {
                let usual = normal(Comparison::AtLeast, limits.false_busy_power_share_max * 100.0);
                draft.agree(0.5, power(scene, self.card, ratio, usual));
            } else {
                draft.silent(0.5);
            }
        }
    }

    /// Says what it costs and who it is.
    pub(super) fn finish(&self, scene: &Scene, draft: Draft) -> Draft {
        let mut draft = draft;
        draft.balance.rest_on(self.team.looks(), scene.window.span_s);
        draft.finding.impact =
            Impact { gpu_seconds: scene.window.span_s * self.waits(), bytes_held: 0, blocked: 0 };
        if let Some(first) = self.holders.first() {
            let (group, subject) = culprit::run_of(scene, first);
            draft = draft.group(group, subject);
        }
        let culprits = culprit::culprits(scene, &self.holders);
        draft.culprits(culprits, culprit::pids(&self.holders))
    }
}

/// Returns the cards that may wait for data; what excludes a card, or cannot be seen, is noted.
pub(super) fn waiting_cards<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<WaitingCard<'scene>> {
    let mut waiting = Vec::new();
    for card in whole_cards(scene) {
        let holders = at_work(holders(scene, card), limits);
        let busy = card.busy.known();
        if holders.is_empty() {
            // Somebody works here, and nobody says who.
            if let (Some(absence), Some(_)) = (card.clients.absence(), busy) {
                findings.blind(Signal::ProcessList, absence);
            }
            continue;
        }
        if busy.is_some_and(|busy| busy.mean.0 > limits.starved_busy_percent_max) {
            findings.rule_out(Signal::GpuBusy, Some(card.index));
            continue;
        }
        let is_in_progress = is_in_progress(card, &holders, limits);
        let waiting_holders: Vec<Holder<'_>> =
            holders.iter().copied().filter(|holder| !is_hot(holder, limits)).collect();
        if waiting_holders.is_empty() {
            // A program whose own thread runs all the time waits for nobody.
            findings.rule_out(Signal::ThreadCpu, Some(card.index));
            continue;
        }
        let holders = waiting_holders;
        let Some(team) = Team::of(scene, &holders) else {
            let is_at_work = busy.is_some_and(|busy| busy.mean.0 > limits.idle_percent_max);
            if is_at_work {
                findings.blind(Signal::ProcessState, crate::facts::cards::why_not_in_proc(scene));
            }
            continue;
        };
        let storage = team.mean(|loader| loader.waiting.storage);
        let processor = team.mean(|loader| loader.waiting.processor);
        waiting.push(WaitingCard { card, holders, busy, team, storage, processor, is_in_progress });
    }
    waiting
}

/// Leaves out holders that surely rest, as long as another one surely works.
fn at_work<'scene>(holders: Vec<Holder<'scene>>, limits: &Limits) -> Vec<Holder<'scene>> {
    if holders.iter().any(|holder| holder.worked(limits) == Some(true)) {
        return holders.into_iter().filter(|holder| holder.worked(limits) != Some(false)).collect();
    }
    holders
}

/// Returns whether a thread of a holder that does its own work, the main one before all, runs or wants to run all the
/// time: then it waits for nobody's data.
fn is_hot(holder: &Holder<'_>, limits: &Limits) -> bool {
    let Some(process) = holder.process else {
        return false;
    };
    let is_full = |share: f64| share >= limits.loader_cores_full;
    let mut threads = process.threads.known().into_iter().flatten();
    let main = Waiting::of_main_thread(process, &Places::default());
    main.looks > 0 && is_full(main.processor)
        || main_thread_ran(process).is_some_and(is_full)
        || threads.any(|thread| {
            names::is_thread_that_gives_work(&thread.name)
                && thread.cores.known().is_some_and(|cores| is_full(cores.0))
        })
}

/// Returns whether the holders worked on a card in the window or shortly before; none when nothing tells.
fn is_in_progress(card: &Card, holders: &[Holder<'_>], limits: &Limits) -> Option<bool> {
    let shows_work = |work: &Trend<Percent>| work.max.0 > limits.idle_percent_max;
    let is_recent = |idle_for: &Reading<Seconds>| {
        idle_for.known().is_some_and(|seconds| seconds.0 < limits.idle_reserved_s)
    };
    let worked = |client: &Client| {
        client.sm.known().is_some_and(shows_work) || client.seen_working && is_recent(&client.idle_for)
    };
    if holders.iter().any(|holder| worked(holder.client)) {
        return Some(true);
    }
    let all_are_known = holders.iter().all(|holder| holder.client.sm.is_known());
    // The work on the card is that of somebody else, as a display's.
    if all_are_known && card.known_clients().iter().any(worked) {
        return Some(false);
    }
    let card_worked = card.seen_working && is_recent(&card.idle_for);
    match card.busy.known() {
        Some(busy) => Some(shows_work(busy) || card_worked),
        None if card_worked => Some(true),
        None => all_are_known.then_some(false),
    }
}

/// Returns the control groups that limit a process: its own and those above it, without the root that is the machine.
pub(super) fn cgroups_of<'scene>(
    scene: &'scene Scene,
    process: &'scene Process,
) -> impl Iterator<Item = &'scene Cgroup> {
    let paths: Vec<&String> = process.cgroups.known().into_iter().flat_map(|paths| paths.values()).collect();
    scene.cgroups.iter().filter(|cgroup| cgroup.path != "/").filter(move |cgroup| {
        let below = format!("{}/", cgroup.path.trim_end_matches('/'));
        paths.iter().any(|path| **path == cgroup.path || path.starts_with(&below))
    })
}
