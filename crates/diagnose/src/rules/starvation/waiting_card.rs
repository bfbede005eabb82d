//! A card that waits for data, and the team that brings them.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};

use super::partly_busy::{PartlyBusyCard, is_hot, partly_busy_cards};
use super::spinning::spinning_cards;
use crate::draft::Draft;
use crate::evidence::{once, over};
use crate::facts::cards::{Holder, why_not_in_proc};
use crate::facts::kin::Kin;
use crate::facts::team::{LoaderKind, Team, main_thread_ran};
use crate::findings::Findings;
use crate::shared_text;

/// Loaders that do something for so much of the time never wait for their queues: their members of a job wait for them.
const FULLY_OCCUPIED: f64 = 0.8;

/// A card that may wait for data.
pub(super) struct WaitingCard<'scene> {
    pub(super) work: PartlyBusyCard<'scene>,
    pub(super) team: Team<'scene>,
    /// Mean share of time in which a loader waited for storage.
    pub(super) storage: f64,
    /// Mean share of time in which a loader ran or wanted to run.
    pub(super) processor: f64,
    /// Mean share of time in which a loader waited for the network.
    pub(super) network: f64,
}

impl WaitingCard<'_> {
    /// Returns whether loaders that are occupied for this share of time are the slow part: most of the time.
    ///
    /// A main thread that loads by itself cannot load while the card works, so its idle time proves nothing.
    pub(super) fn is_the_slow_part(&self, occupied: f64, limits: &Limits) -> bool {
        if self.work.spins.is_some() {
            return occupied >= FULLY_OCCUPIED;
        }
        match (self.team.kind, self.work.busy) {
            (LoaderKind::MainThread, Some(_)) => occupied >= self.work.waits() * limits.loader_idle_share_max,
            _ => 1.0 - occupied.min(1.0) <= limits.loader_idle_share_max,
        }
    }

    /// Weighs the main threads of those that compute: one that runs while the card rests does not wait for loaders.
    fn weigh_main_threads(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
        if self.team.kind == LoaderKind::MainThread {
            return;
        }
        let ran = self.team.computing.iter().filter_map(|process| main_thread_ran(process));
        let longest = ran.fold(0.0, f64::max);
        let ran_while_card_rested = self.work.share_of_rest(longest);
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

    /// Weighs how the card looks, who drives it, and whether its loaders are known as such.
    pub(super) fn weigh_card(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
        self.weigh_main_threads(scene, limits, draft);
        self.work.weigh_shape(scene, limits, draft);
        if self.team.kind == LoaderKind::Processes && !self.team.is_known_to_load {
            // Children of the same program that do alike: very likely loaders, and nothing says so.
            draft.silent(1.0);
        }
    }

    /// Says what it costs and who it is.
    pub(super) fn finish(&self, scene: &Scene, mut draft: Draft) -> Draft {
        draft.balance.rest_on(self.team.looks(), scene.window.span_s);
        self.work.finish(scene, draft)
    }
}

/// Returns the cards whose loaders are slow for one reason, by the share of time that it takes of them and by all the
/// time that they are occupied; what excludes a card is noted, the share by the signal that shows it.
pub(super) fn cards_with_slow_loaders<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
    signal: Signal,
    shares: impl Fn(&WaitingCard<'_>) -> (f64, f64),
) -> Vec<WaitingCard<'scene>> {
    let mut slow = Vec::new();
    for waiting in waiting_cards(scene, limits, findings) {
        if waiting.team.looks() == 0 {
            findings.blind(Signal::ProcessState, Absence::Failed(Failure::TooFewSamples));
            continue;
        }
        let (share, occupied) = shares(&waiting);
        if share < limits.loader_blocked_share_min {
            findings.rule_out(signal, Some(waiting.work.card.index));
            continue;
        }
        if !waiting.is_the_slow_part(occupied, limits) {
            findings.rule_out(Signal::ProcessState, Some(waiting.work.card.index));
            continue;
        }
        slow.push(waiting);
    }
    slow
}

/// Returns the cards that may wait for data; what excludes a card, or cannot be seen, is noted.
fn waiting_cards<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<WaitingCard<'scene>> {
    let kin = Kin::of(scene);
    let mut waiting = Vec::new();
    let mut works = partly_busy_cards(scene, limits, findings);
    works.extend(spinning_cards(scene, limits, findings));
    for mut work in works {
        let waiting_holders: Vec<Holder<'_>> =
            work.holders.iter().copied().filter(|holder| !is_hot(holder, limits)).collect();
        if waiting_holders.is_empty() {
            // A program whose own thread runs all the time waits for nobody.
            findings.rule_out(Signal::ThreadCpu, Some(work.card.index));
            continue;
        }
        work.holders = waiting_holders;
        let Some(team) = Team::of(&kin, &work.holders) else {
            let is_at_work = work.busy.is_some_and(|busy| busy.mean.0 > limits.idle_percent_max);
            if is_at_work {
                findings.blind(Signal::ProcessState, why_not_in_proc(scene));
            }
            continue;
        };
        // A card that only looks busy needs better proof: loaders that are known as such.
        let are_loaders = team.kind == LoaderKind::Processes && team.is_known_to_load;
        if work.spins.is_some() && !are_loaders {
            continue;
        }
        let storage = team.mean(|loader| loader.waiting.storage);
        let processor = team.mean(|loader| loader.waiting.processor);
        let network = team.mean(|loader| loader.waiting.network);
        waiting.push(WaitingCard { work, team, storage, processor, network });
    }
    waiting
}
