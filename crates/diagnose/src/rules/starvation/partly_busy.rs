//! A card with work in progress that does not fill it, and the threads of the program that never rest.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Client, Process, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Percent, Seconds};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{busy, normal, power, zeros};
use crate::facts::cards::{Holder, holders, whole_cards};
use crate::facts::culprit;
use crate::facts::effort::{as_read, power_for_work};
use crate::facts::names;
use crate::facts::team::main_thread_ran;
use crate::facts::traffic::Copies;
use crate::facts::waiting::{Places, Waiting};
use crate::findings::Findings;

/// Memory that grows by so much in a window, in so many steps, is being filled; what is only taken comes in one step.
const FILLED_BYTES: u64 = 256 << 20;
const FILLING_STEPS: usize = 3;
/// Less of what copies over the link can reach is the usual input of a program, however little time is left for it.
const COPIES_SHARE_MIN: f64 = 0.3;

/// A card with somebody at work, as a rule one that does not fill it.
pub(crate) struct PartlyBusyCard<'scene> {
    pub(crate) card: &'scene Card,
    /// Those that work, or may work.
    pub(crate) holders: Vec<Holder<'scene>>,
    pub(crate) busy: Option<&'scene Trend<Percent>>,
    /// Whether the holders worked on the card in the window or shortly before, where that is known.
    pub(crate) is_in_progress: Option<bool>,
    /// Share of the time that it loses, by what it draws, where its kernels only wait for other members of its job.
    pub(crate) spins: Option<f64>,
}

impl PartlyBusyCard<'_> {
    /// Returns the share of the window in which the card did not work.
    pub(crate) fn waits(&self) -> f64 {
        if let Some(lost) = self.spins {
            return lost;
        }
        self.busy.map_or(0.0, |busy| (1.0 - busy.mean.0 / 100.0).max(0.0))
    }

    /// Returns which share of the card's rest a thread ran that ran for `ran` of the time: it may also run while the
    /// card works, to give it work and to wait for it in a loop.
    pub(crate) fn share_of_rest(&self, ran: f64) -> f64 {
        let waits = self.waits();
        if waits <= 0.0 { 0.0 } else { ((ran - (1.0 - waits)).max(0.0) / waits).min(1.0) }
    }

    /// Returns for which share of the card's rest its link to the host was full, where the program waits for that: copies
    /// and kernels of one program mostly take turns, and the utilization counts no copies.
    pub(super) fn copies_in_rest(&self, copies: &Copies, limits: &Limits) -> f64 {
        let ran = self.processes().filter_map(main_thread_ran).fold(0.0, f64::max);
        // The program's own thread makes copies, or waits for their end in a loop.
        let takes_part = self.share_of_rest(ran) >= limits.loader_idle_share_max;
        let waits = self.waits();
        if waits <= 0.0 || copies.share < COPIES_SHARE_MIN || !takes_part {
            return 0.0;
        }
        (copies.share / waits).min(1.0)
    }

    /// Returns the processes of the holders, as far as they can be seen.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.holders.iter().filter_map(|holder| holder.process)
    }

    /// Weighs how the card looks: work in progress, not full, in a saw-tooth, with little power.
    pub(crate) fn weigh_shape(&self, scene: &Scene, limits: &Limits, draft: &mut Draft) {
        if self.is_in_progress == Some(false) {
            // Nobody waits for data who does nothing with it.
            draft.only_possible();
        }
        match self.busy {
            Some(trend) if self.spins.is_some() => {
                // That kernels are there says nothing: they wait. What they wait for may be something else, too.
                draft.silent(4.0);
                draft.rest_on(trend);
            }
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
            let is_little = power_for_work(self.card)
                .known()
                .is_some_and(|share| *share < limits.false_busy_power_share_max);
            if is_little {
                let least = as_read(self.card, limits.false_busy_power_share_max);
                let usual = normal(Comparison::AtLeast, least * 100.0);
                draft.agree(0.5, power(scene, self.card, ratio, usual));
            } else {
                draft.silent(0.5);
            }
        }
    }

    /// Says what it costs and who it is.
    pub(crate) fn finish(&self, scene: &Scene, mut draft: Draft) -> Draft {
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

/// Returns the cards that somebody works on and that are not full; what excludes a card, or cannot be seen, is noted.
pub(crate) fn partly_busy_cards<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<PartlyBusyCard<'scene>> {
    let mut cards = cards_at_work(scene, limits, findings);
    cards.retain(|work| {
        let is_full = work.busy.is_some_and(|busy| busy.mean.0 > limits.starved_busy_percent_max);
        if is_full {
            findings.rule_out(Signal::GpuBusy, Some(work.card.index));
        }
        !is_full
    });
    cards
}

/// Returns the cards that somebody works on, or may work on; what cannot be seen is noted.
pub(super) fn cards_at_work<'scene>(
    scene: &'scene Scene,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<PartlyBusyCard<'scene>> {
    let mut at_work_on = Vec::new();
    for card in whole_cards(scene) {
        let mut living = holders(scene, card);
        living.retain(|holder| !is_over(holder, findings));
        let holders = at_work(living, limits);
        let busy = card.busy.known();
        if holders.is_empty() {
            // Somebody works here, and nobody says who.
            if let (Some(absence), Some(_)) = (card.clients.absence(), busy) {
                findings.blind(Signal::ProcessList, absence);
            }
            continue;
        }
        let is_in_progress = is_in_progress(card, &holders, limits);
        at_work_on.push(PartlyBusyCard { card, holders, busy, is_in_progress, spins: None });
    }
    at_work_on
}

/// Returns whether the holder's run is over: nothing waits for its data any more.
fn is_over(holder: &Holder<'_>, findings: &Findings) -> bool {
    findings.answers().any(|draft| {
        draft.cause() == Cause::VramHeldByDeadProcess && draft.processes.contains(&holder.client.pid)
    })
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
pub(super) fn is_hot(holder: &Holder<'_>, limits: &Limits) -> bool {
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

/// Returns whether what a process holds has grown in the window: a model that is read into the card is work in progress,
/// and copies are no kernels.
fn is_filled(client: &Client) -> bool {
    let Some(held) = client.memory_trend.known() else {
        return false;
    };
    let points: Vec<f64> = held.outline.points().map(|(_, bytes)| bytes).collect();
    let steps = points.windows(2).filter(|pair| pair[1] > pair[0]).count();
    held.last.0.saturating_sub(held.min.0) >= FILLED_BYTES && steps >= FILLING_STEPS
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
    if holders.iter().any(|holder| worked(holder.client) || is_filled(holder.client)) {
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
