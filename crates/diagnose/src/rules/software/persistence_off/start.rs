//! A container runtime says that the driver did not answer in time: waking cards that nothing keeps ready takes long.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::evidence::flag;
use crate::facts::cards::whole_cards;
use crate::facts::kernel_log;
use crate::facts::program::{about_program, agree, timed_out_starts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let lines = timed_out_starts(scene);
    let hangs = kernel_log::lines(scene)
        .iter()
        .any(|line| kernel_log::is_fresh(scene, line, limits) && kernel_log::shows_a_hang(line));
    let is_kept = whole_cards(scene).any(|card| card.persistence == Reading::Known(true));
    if lines.is_empty() || hangs || is_kept {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_start()).severity(Severity::Warn);
    agree(&mut draft, 2.0, 1.0, &lines);
    let off: Vec<String> = whole_cards(scene)
        .filter(|card| card.persistence == Reading::Known(false))
        .map(Card::called)
        .collect();
    if off.is_empty() {
        draft.silent(2.0);
        // A driver that hangs says the same.
        draft.only_possible();
    } else {
        draft.agree(2.0, flag(Signal::Persistence, Reader::NvidiaSmi, text::is_off(off)));
        draft.silent(2.0);
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_time_it());
    draft.advise(Action::SetPersistence, Vec::new(), text::fix_service());
    findings.report(draft);
}
