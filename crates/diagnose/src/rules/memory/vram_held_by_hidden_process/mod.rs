//! `vram-held-by-hidden-process`: a live owner holds memory, and this view cannot see it.

mod suspects;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::{Draft, card_subject, machine_subject};
use crate::evidence::{flag, holds, once, reader};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

use suspects::{NotHere, Ownerless, listed_elsewhere, not_here, ownerless};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/vram_held_by_hidden_process.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::VramHeldByHiddenProcess,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::VramByProcess,
            Signal::VramUnexplained,
            Signal::ProcessList,
            Signal::DeviceHolders,
            Signal::GpuWorkByProcess,
            Signal::Container,
        ],
    },
    check,
};

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    if scene.machine.viewer.initial_pid_namespace == Reading::Known(false) {
        let outside = listed_elsewhere(scene, limits);
        if !outside.is_empty() {
            findings.report(outside_of_ours(scene, &outside));
        }
        // Inside a container the driver often names nobody at all: what none of ours has open, somebody outside has.
        for card in ownerless(scene, limits).iter().filter(|card| card.nobody_has_it_open) {
            findings.report(outside_and_unnamed(scene, card));
        }
        return;
    }
    // A text lists no processes beside the driver's: there, none can be missing.
    if scene.provenance.source != SourceKind::Text {
        let (working, resting): (Vec<_>, Vec<_>) =
            not_here(scene, limits).into_iter().partition(|one| one.holder.worked(limits) == Some(true));
        for missing in [working, resting].iter().filter(|missing| !missing.is_empty()) {
            findings.report(named_by_the_driver(scene, missing, limits));
        }
    }
    for card in ownerless(scene, limits) {
        if card.nobody_has_it_open {
            findings.rule_out(Signal::DeviceHolders, Some(card.card.index));
            continue;
        }
        findings.report(named_by_nobody(scene, &card));
    }
}

/// The driver names processes that are not in `/proc`, which counts as the driver does.
fn named_by_the_driver(scene: &Scene, missing: &[NotHere<'_>], limits: &Limits) -> Draft {
    let bytes = sum(missing.iter().map(|one| one.bytes));
    let mut draft = begun(scene, missing, text::summary_not_in_proc(bytes));
    draft.agree(2.0, holds(scene, &missing[0].holder));
    for one in &missing[1..] {
        draft.mention(holds(scene, &one.holder));
    }
    if scene.machine.viewer.hidden_processes == Reading::Known(true) {
        draft.agree(2.0, flag(Signal::ProcessList, Reader::ProcPid, text::proc_hides_others()));
    } else {
        let words = text::not_in_proc(
            missing.iter().map(|one| one.holder.client.pid.to_string()).collect::<Vec<_>>(),
        );
        draft.mention(flag(Signal::ProcessList, Reader::ProcPid, words));
        draft.silent(1.5);
    }
    if missing.iter().any(|one| one.holder.worked(limits) == Some(true)) {
        draft.agree(2.0, flag(Signal::GpuWorkByProcess, Reader::NvmlSamples, text::works()));
    } else {
        draft.silent(1.5);
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_on_host());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_not_by_number());
    draft
}

/// We look from inside a pid namespace of our own, and more is held than our own processes can hold.
fn outside_of_ours(scene: &Scene, outside: &[NotHere<'_>]) -> Draft {
    let bytes = sum(outside.iter().map(|one| one.bytes));
    let mut draft = begun(scene, outside, text::summary_outside(bytes));
    let words = text::at_least(bytes);
    draft.agree(2.0, once(Signal::VramByProcess, bytes.0, Unit::Bytes, reader(scene, Reader::Nvml), words));
    draft.agree(1.5, flag(Signal::Container, Reader::ProcPid, text::other_namespace()));
    match scene.device_holders.absence() {
        None => {
            draft.agree(1.5, flag(Signal::DeviceHolders, Reader::ProcPid, text::not_by_ours()));
        }
        Some(absence) => {
            draft.unseen(1.5, Signal::DeviceHolders, absence);
            draft.only_possible();
        }
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_on_host());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_not_by_number());
    draft
}

/// We look from inside a pid namespace of our own, the driver names nobody, and none of ours has the card open.
fn outside_and_unnamed(scene: &Scene, card: &Ownerless<'_>) -> Draft {
    let mut draft = Draft::about_card(&RULE, card.card, text::summary_outside(card.bytes));
    draft.agree(2.0, unlisted(scene, card));
    draft.agree(1.5, flag(Signal::Container, Reader::ProcPid, text::other_namespace()));
    draft.agree(1.5, flag(Signal::DeviceHolders, Reader::ProcPid, text::not_by_ours()));
    draft.silent(0.5);
    draft.finding.impact = Impact { bytes_held: card.bytes.0, ..Impact::default() };
    draft.advise(Action::LookAgain, Vec::new(), text::fix_on_host());
    draft
}

/// Memory of a card that belongs to no process that the driver names.
fn unlisted(scene: &Scene, card: &Ownerless<'_>) -> Evidence {
    let words = text::unlisted(card.bytes);
    once(Signal::VramUnexplained, card.bytes.0, Unit::Bytes, reader(scene, Reader::Nvml), words)
}

fn begun(scene: &Scene, hidden: &[NotHere<'_>], summary: Text) -> Draft {
    let mut cards: Vec<u32> = hidden.iter().map(|one| one.card.index).collect();
    cards.sort_unstable();
    cards.dedup();
    let subject = if let [only] = cards[..]
        && let Some(card) = scene.card(only)
    {
        card_subject(card)
    } else {
        machine_subject(scene)
    };
    let bytes = sum(hidden.iter().map(|one| one.bytes));
    let group = hidden.first().map_or_else(String::new, |one| format!("hidden {}", one.holder.client.pid));
    let mut draft = Draft::new(&RULE, subject, group, cards, summary);
    draft.finding.impact = Impact { bytes_held: bytes.0, ..Impact::default() };
    let holders: Vec<_> = hidden.iter().map(|one| one.holder).collect();
    draft.culprits(culprit::culprits(scene, &holders), culprit::pids(&holders))
}

/// The driver names nobody for much of a card's memory.
fn named_by_nobody(scene: &Scene, card: &Ownerless<'_>) -> Draft {
    let named: Vec<String> = card.strangers.iter().map(|process| culprit::with_pid(process)).collect();
    let summary = if named.is_empty() {
        text::summary_unlisted(card.bytes)
    } else {
        text::summary_stranger(card.bytes, named.clone())
    };
    let mut draft = Draft::about_card(&RULE, card.card, summary);
    draft.agree(2.0, unlisted(scene, card));
    match scene.device_holders.absence() {
        None => {
            let words = text::has_it_open(named);
            let number = card.strangers.len();
            draft.agree(2.5, once(Signal::DeviceHolders, number, Unit::Count, Reader::ProcPid, words));
        }
        Some(absence) => {
            draft.unseen(2.5, Signal::DeviceHolders, absence);
            if scene.provenance.source != SourceKind::Text {
                // Whether anybody has the card open decides, and was not seen.
                draft.only_possible();
            }
        }
    }
    draft.finding.impact = Impact { bytes_held: card.bytes.0, ..Impact::default() };
    let may_see_all = scene.machine.viewer.uid == Reading::Known(0);
    let is_closed = matches!(scene.device_holders, Reading::Denied(Access::Root | Access::RootOrOwner));
    if is_closed || !may_see_all {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_as_root());
    }
    draft.advise(Action::AskOwner, Vec::new(), text::fix_ask());
    let culprits = card.strangers.iter().map(|process| culprit::of_process(process)).collect();
    draft.culprits(culprits, card.strangers.iter().map(|process| process.key.pid).collect())
}

fn sum(bytes: impl Iterator<Item = Bytes>) -> Bytes {
    Bytes(bytes.map(|bytes| bytes.0).sum())
}
