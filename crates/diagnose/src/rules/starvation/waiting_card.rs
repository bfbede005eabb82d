//! A card with work in progress that does not fill it, and the team that brings its data.

use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Cgroup, Process, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::Percent;
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, normal, power, zeros};
use crate::facts::cards::{Holder, holders, whole_cards};
use crate::facts::culprit;
use crate::facts::team::{LoaderKind, Team};
use crate::findings::Findings;

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

    /// Weighs how the card looks: not full, in a saw-tooth, with little power.
    pub(super) fn weigh_card(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
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
        let Some(team) = Team::of(scene, &holders) else {
            let is_at_work = busy.is_some_and(|busy| busy.mean.0 > limits.idle_percent_max);
            if is_at_work {
                findings.blind(Signal::ProcessState, crate::facts::cards::why_not_in_proc(scene));
            }
            continue;
        };
        let storage = team.mean(|loader| loader.waiting.storage);
        let processor = team.mean(|loader| loader.waiting.processor);
        waiting.push(WaitingCard { card, holders, busy, team, storage, processor });
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
