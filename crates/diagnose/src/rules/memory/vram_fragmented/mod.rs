//! `vram-fragmented`: a program's allocator holds enough that nothing uses, but not in one piece.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{AllocatorState, LogLine, OutOfCardMemory, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::card_memory::{Shortage, shortage};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/vram_fragmented.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::VramFragmented,
    needs: Needs { span: Span::NONE, samples: 1, signals: &[Signal::ProgramLog, Signal::VramByProcess] },
    check,
};

/// An allocator of which nothing uses this share, where memory did not suffice, holds it in pieces.
const UNUSED_SHARE: f64 = 0.5;
const UNUSED_MIN: u64 = 1 << 30;

fn check<'scene>(scene: &'scene Scene, _: &Limits, findings: &mut Findings) {
    let of_memory = |fact: &'scene ProgramFact| match fact {
        ProgramFact::OutOfCardMemory(memory) => Some(memory),
        _ => None,
    };
    let messages = decisive(facts(scene, of_memory));
    let in_pieces = |memory: &OutOfCardMemory| match shortage(memory) {
        Shortage::Fragmented { unused } => Some(unused),
        _ => None,
    };
    let found: Vec<(&LogLine, (&OutOfCardMemory, Bytes))> =
        messages.iter().filter_map(|(line, memory)| Some((*line, (*memory, in_pieces(memory)?)))).collect();
    if !found.is_empty() {
        findings.report(by_message(&found));
        return;
    }
    let has_figures = |memory: &OutOfCardMemory| memory.requested.is_some() && memory.unallocated.is_some();
    if messages.iter().any(|(_, memory)| has_figures(memory)) {
        // The hint that PyTorch prints says nothing: the figures do.
        findings.rule_out(Signal::ProgramLog, None);
    }
    let of_allocator = |fact: &'scene ProgramFact| match fact {
        ProgramFact::AllocatorState(state) => Some((state, unused(state)?)),
        _ => None,
    };
    let states = facts(scene, of_allocator);
    if let Some((_, (state, unused))) = states.first() {
        findings.report(by_state(state, *unused));
    }
}

/// Returns what an allocator holds and nothing uses, where it is most of it and memory did not suffice.
fn unused(state: &AllocatorState) -> Option<Bytes> {
    let (allocated, reserved) = (state.allocated?.0, state.reserved?.0);
    let unused = reserved.saturating_sub(allocated);
    let is_most = unused as f64 >= reserved as f64 * UNUSED_SHARE && unused >= UNUSED_MIN;
    (is_most && state.failures.is_some_and(|failures| failures > 0)).then_some(Bytes(unused))
}

fn by_message(found: &[(&LogLine, (&OutOfCardMemory, Bytes))]) -> Draft {
    let (_, (memory, unused)) = &found[0];
    let requested = memory.requested.unwrap_or_default();
    let mut draft = about_program(&RULE, text::summary(requested, *unused)).severity(Severity::Warn);
    agree(&mut draft, 3.0, 0.95, found);
    let words = text::unused(memory.reserved.unwrap_or(*unused), *unused);
    let evidence = once(Signal::VramByProcess, unused.0, Unit::Bytes, Reader::ProgramLog, words);
    let usual = normal(Comparison::Less, requested.0 as f64);
    draft.agree_by(2.0, sureness(*unused, requested), with_normal(evidence, usual));
    advise(&mut draft);
    draft
}

/// Returns how sure it is: pieces that together are far larger than what was asked for surely are pieces.
fn sureness(unused: Bytes, requested: Bytes) -> f64 {
    if unused >= requested { 1.0 } else { 0.7 }
}

fn by_state(state: &AllocatorState, unused: Bytes) -> Draft {
    let mut draft = about_program(&RULE, text::summary_state(unused)).severity(Severity::Warn);
    let words = text::unused(state.reserved.unwrap_or(unused), unused);
    draft.agree_by(4.0, 0.85, once(Signal::VramByProcess, unused.0, Unit::Bytes, Reader::ProgramLog, words));
    let failures = state.failures.unwrap_or(0);
    draft.mention(once(
        Signal::ProgramLog,
        failures,
        Unit::Count,
        Reader::ProgramLog,
        text::failures(failures),
    ));
    draft.finding.detail.extend(state.card.map(|card| ("card".to_owned(), card.to_string())));
    advise(&mut draft);
    draft
}

fn advise(draft: &mut Draft) {
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_segments());
    draft.advise(Action::ReduceMemory, Vec::new(), text::fix_shapes());
}
