//! A program says that shared memory did not suffice, or a loader met a bus error, which may mean it.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::scene::{ProcessEnd, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Severity;

use super::{RULE, least_room, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

/// The signal of a write to memory that is not there.
const BUS_ERROR: u32 = 7;
/// A machine's own shared memory of which so much is left is not short.
const ROOM_SHARE: f64 = 0.5;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::SharedMemoryShort { is_sure } => Some(*is_sure),
        ProgramFact::ProcessEnd(ProcessEnd { is_loader: true, signal: Some(BUS_ERROR), .. }) => Some(false),
        _ => None,
    };
    let lines = decisive(facts(scene, of_kind));
    if lines.is_empty() {
        return;
    }
    let is_sure = lines.iter().any(|(_, is_sure)| *is_sure);
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    agree(&mut draft, 3.0, if is_sure { 0.92 } else { 0.6 }, &lines);
    weigh_room(scene, &mut draft);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_container());
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_machine());
    findings.report(draft);
}

/// Weighs how much room there is, where that is known: a bus error has other reasons than a full shared memory.
fn weigh_room(scene: &Scene, draft: &mut Draft) {
    let Some(space) = least_room(scene).filter(|space| space.total > 0) else {
        weigh_container(scene, draft);
        return;
    };
    let words = text::room(Bytes(space.available), Bytes(space.total));
    let evidence = once(Signal::SharedMemory, space.available, Unit::Bytes, Reader::FileSystem, words);
    let usual = normal(Comparison::Greater, space.total as f64 * ROOM_SHARE);
    let evidence = with_normal(evidence, usual);
    if space.total <= DEFAULT_OF_CONTAINERS {
        draft.agree(2.0, evidence);
    } else if space.available as f64 >= space.total as f64 * ROOM_SHARE && space.available >= PLENTY {
        draft.contradict(2.0, evidence);
    } else {
        draft.mention(evidence);
    }
}

/// Weighs how much a container was given, by the word of its runtime.
fn weigh_container(scene: &Scene, draft: &mut Draft) {
    let of_pods = scene.jobs.iter().flat_map(|job| &job.containers);
    let all = scene.machine.containers.iter().chain(of_pods);
    let Some(given) = all.filter_map(|container| container.shared_memory.known()).min().copied() else {
        return;
    };
    let words = text::container_was_given(given);
    let evidence = once(Signal::SharedMemory, given.0, Unit::Bytes, Reader::ProgramLog, words);
    if given.0 <= DEFAULT_OF_CONTAINERS {
        draft.agree(2.0, evidence);
    } else if given.0 >= PLENTY {
        draft.contradict(1.0, evidence);
    } else {
        draft.mention(evidence);
    }
}

/// What containers are given by default.
const DEFAULT_OF_CONTAINERS: u64 = 64 << 20;
/// So much room suffices for any batch.
const PLENTY: u64 = 8 << 30;
