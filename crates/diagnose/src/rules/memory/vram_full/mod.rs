//! `vram-full`: live, visible work needs more memory than the card has, and somebody cannot go on.

mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{holds, memory_used, normal, once, with_normal};
use crate::facts::cards::{Holder, holders, is_full, is_worth_naming, whole_cards};
use crate::facts::culprit;
use crate::facts::idle::{IdleSource, idle};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/vram_full.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::VramFull,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::VramUsed,
            Signal::VramByProcess,
            Signal::GpuWorkByProcess,
            Signal::ProcessAge,
            Signal::ProgramLog,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    for card in whole_cards(scene) {
        match is_full(card, limits) {
            Some(true) => judge(scene, card, limits, findings),
            Some(false) if !card.known_clients().is_empty() => {
                findings.rule_out(Signal::VramUsed, Some(card.index));
            }
            _ => {}
        }
    }
}

fn judge(scene: &Scene, card: &Card, limits: &Limits, findings: &mut Findings) {
    let Some(memory) = card.memory.known() else {
        return;
    };
    let all = holders(scene, card);
    let (large, small): (Vec<Holder<'_>>, Vec<Holder<'_>>) =
        all.iter().copied().partition(|holder| is_worth_naming(holder.bytes(), card, limits));
    let visible = Bytes(all.iter().map(|holder| holder.bytes().0).sum());
    // What no listed process holds is another trouble than work that needs much.
    let is_explained = visible.0 as f64 >= memory.used.0 as f64 * limits.full_memory_share_min;
    if large.is_empty() {
        if let Some(absence) =
            all.first().map_or_else(|| card.clients.absence(), |holder| holder.client.memory.absence())
        {
            findings.blind(Signal::VramByProcess, absence);
        }
        return;
    }
    let waiting: Vec<Holder<'_>> =
        small.into_iter().filter(|holder| waits_for_memory(scene, holder, &large[0], limits)).collect();

    let mut draft = Draft::about_card(&RULE, card, summary(&large, memory.total));
    let share = normal(Comparison::Less, memory.total.0 as f64 * limits.full_memory_share_min);
    draft.agree(2.0, with_normal(memory_used(scene, memory.used, memory.total), share));
    if is_explained {
        draft.agree(2.0, holds(scene, &large[0]));
    } else {
        draft.silent(2.0);
        draft.mention(holds(scene, &large[0]));
    }
    for holder in &large[1..] {
        draft.mention(holds(scene, holder));
    }
    if waiting.is_empty() {
        // A full card hurts nobody by itself: its owner may work well, and nobody else is seen to wait.
        draft.silent(3.0);
        draft.only_possible();
        findings
            .note(text::note_full(card.shown(), large.iter().map(culprit::called).collect::<Vec<String>>()));
    } else {
        let names: Vec<String> = waiting.iter().map(culprit::called).collect();
        let words = text::waits(names);
        let evidence = once(Signal::GpuWorkByProcess, waiting.len(), Unit::Count, Reader::Nvml, words);
        draft.agree_by(3.0, 0.6, evidence);
    }
    draft.finding.impact = Impact { gpu_seconds: 0.0, bytes_held: 0, blocked: waiting.len() as u64 };
    let severity = if waiting.is_empty() { Severity::Note } else { Severity::Warn };
    draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
    draft.advise(Action::ReduceMemory, Vec::new(), text::fix_reduce());
    let culprits = culprit::culprits(scene, &large);
    findings.report(draft.severity(severity).culprits(culprits, culprit::pids(&large)));
}

/// Returns whether a process with little more than a context seems to wait for memory: it lives, has never worked
/// here as far as can be seen, has its memory nowhere else, and came when the largest holder was there already.
fn waits_for_memory(scene: &Scene, holder: &Holder<'_>, largest: &Holder<'_>, limits: &Limits) -> bool {
    if !holder.lives() || holder.client.sm.known().is_none() || holder.worked(limits) != Some(false) {
        return false;
    }
    let has_worked =
        idle(holder).is_ok_and(|idle| idle.known_by == IdleSource::LastWork) && holder.client.seen_working;
    // A rank that opened a stray context here has its memory on its own card.
    let works_elsewhere = scene
        .cards
        .iter()
        .filter(|card| card.index != holder.card.index)
        .any(|card| card.known_clients().iter().any(|client| client.pid == holder.client.pid));
    let age_s = |holder: &Holder<'_>| holder.process.and_then(|process| process.age.known()).map(|age| age.0);
    let came_later = match (age_s(holder), age_s(largest)) {
        (Some(age), Some(age_of_largest)) => age < age_of_largest,
        _ => true,
    };
    !has_worked && !works_elsewhere && came_later
}

fn summary(large: &[Holder<'_>], total: Bytes) -> gpuwhy_model::text::Text {
    let mut names: Vec<String> = Vec::new();
    for holder in large {
        let name = culprit::called(holder);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    text::summary(names, total)
}
