//! `shm-too-small`: the shared memory in which loaders hand over their batches is full.

mod listed;
mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessRole, Space};
use gpuwhy_model::scene::{Card, Process, Scene, Workload};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, with_normal};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/shm_too_small.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ShmTooSmall,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::SharedMemory, Signal::GpuBusy, Signal::ProcessList, Signal::ProgramLog],
    },
    check,
};

/// A process with so much shared memory in use lives on it.
const LIVES_ON_IT_BYTES: u64 = 1 << 20;

/// A run that hands its batches over in the shared memory that we see.
struct User<'scene> {
    workload: &'scene Workload,
    /// Shared memory that its processes have in use, as far as known.
    shared: u64,
    /// The most that one of them has in use.
    largest: u64,
    has_loaders: bool,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    listed::check(scene, limits, findings);
    let Some(space) = least_room(scene).filter(|space| space.total > 0) else {
        return;
    };
    let is_ours = scene.machine.container.is_known() || space.total <= limits.shared_memory_default_bytes;
    let users: Vec<User<'_>> =
        scene.workloads.iter().filter_map(|workload| user(scene, workload, is_ours)).collect();
    note_default(space, &users, limits, findings);
    let mut is_full_for_somebody = false;
    for user in users {
        if !is_full(space, &user, limits) {
            continue;
        }
        is_full_for_somebody = true;
        findings.report(judge(scene, space, &user, limits));
    }
    if !is_full_for_somebody {
        findings.rule_out(Signal::SharedMemory, None);
    }
}

/// Returns shared memory with the least room that was left in it.
fn least_room(scene: &Scene) -> Option<Space> {
    let space = scene.host.shared_memory.known()?;
    let least = scene.host.shared_memory_least.known().map_or(space.available, |bytes| bytes.0);
    Some(Space { total: space.total, available: least.min(space.available) })
}

/// Returns a run that lives on the shared memory that we see. One in a container has its own, unless we are inside too: a
/// machine's own is half of its memory, so that we see one as small as a container's only from inside.
fn user<'scene>(scene: &'scene Scene, workload: &'scene Workload, is_ours: bool) -> Option<User<'scene>> {
    let members: Vec<&Process> = scene
        .processes_of(workload)
        .filter(|process| is_ours || process.owner.container.is_none() && process.owner.pod.is_none())
        .collect();
    let amounts =
        || members.iter().filter_map(|process| process.shared_resident.known()).map(|bytes| bytes.0);
    let user = User {
        workload,
        shared: amounts().sum(),
        largest: amounts().max().unwrap_or(0),
        has_loaders: members.iter().any(|process| process.role == Some(ProcessRole::Loader)),
    };
    (user.shared >= LIVES_ON_IT_BYTES || user.has_loaders).then_some(user)
}

/// Returns whether the next batch will hardly fit.
fn is_full(space: Space, user: &User<'_>, limits: &Limits) -> bool {
    let share = space.available as f64 / space.total as f64;
    let is_nearly_full = share <= limits.shared_memory_free_share_max
        && space.available <= limits.shared_memory_free_bytes_max;
    // What one loader has in use is a few batches at most.
    let is_too_small_for_one = user.largest >= LIVES_ON_IT_BYTES
        && space.available < user.largest
        && space.available <= space.total / 2;
    is_nearly_full || is_too_small_for_one
}

/// Says that a container has the small default, where loaders would need more.
fn note_default(space: Space, users: &[User<'_>], limits: &Limits, findings: &mut Findings) {
    if space.total <= limits.shared_memory_default_bytes && users.iter().any(|user| user.has_loaders) {
        findings.note(text::note_default(Bytes(space.total)));
    }
}

fn judge(scene: &Scene, space: Space, user: &User<'_>, limits: &Limits) -> Draft {
    let run = culprit::of_workload(scene, user.workload);
    let group = format!("run {}", user.workload.root);
    let mut draft = Draft::new(&RULE, run.subject, group, user.workload.cards.clone(), text::summary());
    let words = text::room(Bytes(space.available), Bytes(space.total));
    let evidence = once(Signal::SharedMemory, space.available, Unit::Bytes, Reader::FileSystem, words);
    let usual = normal(Comparison::Greater, space.total as f64 * limits.shared_memory_free_share_max);
    draft.agree(3.0, with_normal(evidence, usual));
    weigh_use(user, &mut draft);
    let waits = weigh_cards(scene, user, limits, &mut draft);
    if waits.is_none() {
        // Whoever works undisturbed is warned of what comes next.
        draft.finding.severity = Severity::Note;
    }
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * waits.unwrap_or(0.0), bytes_held: 0, blocked: 0 };
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_container());
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_machine());
    draft.advise(Action::FreeHostMemory, Vec::new(), text::fix_remains());
    draft.culprits(run.culprits, run.processes)
}

/// Weighs whether the run lives on shared memory.
fn weigh_use(user: &User<'_>, draft: &mut Draft) {
    if user.shared < LIVES_ON_IT_BYTES {
        draft.silent(2.0);
        return;
    }
    let words = text::uses(Bytes(user.shared));
    draft.agree(2.0, once(Signal::SharedMemory, user.shared, Unit::Bytes, Reader::ProcPid, words));
}

/// Weighs whether a card of the run rests; returns the time that its cards do, as a share of one card's.
fn weigh_cards(scene: &Scene, user: &User<'_>, limits: &Limits, draft: &mut Draft) -> Option<f64> {
    let rests = |card: &&Card| {
        card.seen_working
            && card.busy.known().is_some_and(|busy| busy.mean.0 <= limits.starved_busy_percent_max)
    };
    let resting: Vec<&Card> =
        user.workload.cards.iter().filter_map(|index| scene.card(*index)).filter(rests).collect();
    let Some(Reading::Known(trend)) = resting.first().map(|card| &card.busy) else {
        draft.silent(1.0);
        return None;
    };
    draft.agree(1.0, busy(scene, trend, normal(Comparison::Greater, limits.starved_busy_percent_max)));
    let waits = resting.iter().filter_map(|card| card.busy.known()).map(|busy| 1.0 - busy.mean.0 / 100.0);
    Some(waits.sum())
}
