//! A program says that the card is busy or not available (CUDA error 46).

use gpuwhy_knowledge::CudaErrorFact;
use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::evidence::{once, reader};
use crate::facts::cards::whole_cards;
use crate::facts::program::{about_program, agree, cuda_codes};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let lines = cuda_codes(scene, &[CudaErrorFact::DEVICES_UNAVAILABLE]);
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_said()).severity(Severity::Warn);
    agree(&mut draft, 3.0, 0.5, &lines);
    let cards: Vec<&Card> = whole_cards(scene).collect();
    let restricted =
        cards.iter().find(|card| card.compute_mode.known().is_some_and(|mode| mode != "default"));
    let all_are_open = !cards.is_empty()
        && cards.iter().all(|card| card.compute_mode.known().is_some_and(|mode| mode == "default"));
    if let Some(card) = restricted {
        let mode = card.compute_mode.known().cloned().unwrap_or_default();
        let words = text::mode(card.shown(), mode.as_str());
        draft.agree(4.0, once(Signal::ComputeMode, mode, Unit::Text, reader(scene, Reader::Nvml), words));
        draft.finding.cards = vec![card.index];
        draft.finding.summary = match card.compute_mode.known().map(String::as_str) {
            Some("exclusive_process") => text::summary_said_process(card.shown()),
            Some(mode) => text::summary_said_mode(card.shown(), mode),
            None => text::summary_said(),
        };
    } else if all_are_open {
        // Every card lets all in: then a hung owner or a card in a bad state refuses.
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_see_mode());
    if let Some(card) = restricted {
        super::advise(card, &mut draft);
    }
    findings.report(draft);
}
