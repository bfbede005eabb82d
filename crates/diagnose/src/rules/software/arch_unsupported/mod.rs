//! `arch-unsupported`: a build has no code for the card that it should run on.

use gpuwhy_knowledge::{ArchitectureFact, architecture};
use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{ArchUnsupported, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cards::whole_cards;
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/arch_unsupported.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::ArchUnsupported,
    needs: Needs { span: Span::NONE, samples: 1, signals: &[Signal::ProgramLog, Signal::DriverVersion] },
    check,
};

/// What is known of card and build, from all lines together.
#[derive(Default)]
struct Match<'scene> {
    card: Option<&'scene str>,
    capability: Option<String>,
    built_for: &'scene [String],
    /// Whether a program failed of it, and was not only warned.
    failed: bool,
}

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let of_kind = |fact| arch(fact);
    let lines = decisive(facts(scene, of_kind));
    if lines.is_empty() {
        return;
    }
    let mut known = Match::default();
    // A warning names the card, the failure behind it only that it failed.
    for (_, arch) in facts(scene, of_kind) {
        known.card = known.card.or(arch.card.as_deref());
        known.capability = known.capability.or_else(|| arch.capability.clone());
        known.failed |= !arch.is_warning;
        if known.built_for.is_empty() {
            known.built_for = &arch.built_for;
        }
    }
    known.capability = known.capability.or_else(|| capability_of_cards(scene));
    let mut draft = about_program(&RULE, summary(&known)).severity(Severity::Warn);
    agree(&mut draft, 4.0, if known.failed { 0.97 } else { 0.85 }, &lines);
    weigh_build(&known, &mut draft);
    if let Some(capability) = &known.capability {
        draft.finding.detail.insert("capability".to_owned(), capability.clone());
    }
    advise(&known, &mut draft);
    findings.report(draft);
}

fn arch(fact: &ProgramFact) -> Option<&ArchUnsupported> {
    match fact {
        ProgramFact::ArchUnsupported(arch) => Some(arch),
        _ => None,
    }
}

/// Returns the compute capability of the machine's cards, where all have the same.
fn capability_of_cards(scene: &Scene) -> Option<String> {
    let mut all = whole_cards(scene).map(|card| {
        card.name
            .known()
            .and_then(|name| gpuwhy_knowledge::card(name))
            .map(|fact| fact.compute_capability.clone())
    });
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Counts that the list of the build has nothing for the card, where both are known.
fn weigh_build(known: &Match<'_>, draft: &mut Draft) {
    let Some(capability) = known.capability.as_ref().filter(|_| !known.built_for.is_empty()) else {
        return;
    };
    let words = text::built_for(known.built_for.to_vec(), capability.as_str());
    let evidence =
        once(Signal::DriverVersion, known.built_for.join(" "), Unit::Text, Reader::ProgramLog, words);
    if runs_on(known.built_for, capability) {
        // Another library of the program may be the one without code.
        draft.mention(evidence);
    } else {
        draft.agree(2.0, evidence);
    }
}

/// Returns whether code that was built for one of these runs on a card: of the same family, for no newer one.
fn runs_on(built_for: &[String], capability: &str) -> bool {
    let parsed = |written: &str| -> Option<(u32, u32)> {
        let (major, minor) = written.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let Some((major, minor)) = parsed(capability) else {
        return false;
    };
    built_for.iter().filter_map(|built| parsed(built)).any(|(of, least)| of == major && least <= minor)
}

fn summary(known: &Match<'_>) -> Text {
    match (known.card, known.capability.as_deref()) {
        (Some(card), Some(capability)) => text::summary_card(capability, card),
        (None, Some(capability)) => text::summary_capability(capability),
        _ => text::summary(),
    }
}

fn advise(known: &Match<'_>, draft: &mut Draft) {
    let fact: Option<&ArchitectureFact> = known.capability.as_deref().and_then(architecture);
    match fact {
        Some(fact) if fact.last_cuda.is_empty() => {
            let words = text::fix_newer(fact.name.as_str(), fact.first_cuda.as_str());
            draft.advise(Action::ImproveProgram, Vec::new(), words);
        }
        Some(fact) => {
            let words = text::fix_older(fact.name.as_str(), fact.last_cuda.as_str());
            draft.advise(Action::ImproveProgram, Vec::new(), words);
        }
        None => draft.advise(Action::ImproveProgram, Vec::new(), text::fix_build()),
    }
    draft.advise(Action::MoveWork, Vec::new(), text::fix_other_card());
}
