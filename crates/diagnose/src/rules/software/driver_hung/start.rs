//! A container runtime says that the driver did not answer in time: it hangs, or it is only slow to wake its cards.

use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text, weigh_log};
use crate::evidence::flag;
use crate::facts::cards::whole_cards;
use crate::facts::kernel_log;
use crate::facts::program::{about_program, agree, timed_out_starts};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let lines = timed_out_starts(scene);
    if lines.is_empty() {
        return;
    }
    let mut draft = about_program(&RULE, text::summary_start()).severity(Severity::Fault);
    agree(&mut draft, 2.0, 1.0, &lines);
    weigh_log(scene, limits, &mut draft);
    let hangs = kernel_log::lines(scene)
        .iter()
        .any(|line| kernel_log::is_fresh(scene, line, limits) && kernel_log::shows_a_hang(line));
    let is_kept = whole_cards(scene).any(|card| card.persistence == Reading::Known(true));
    if is_kept {
        let words = text::is_kept_awake();
        draft.agree(1.0, flag(Signal::Persistence, Reader::NvidiaSmi, words));
    }
    if !hangs && !is_kept {
        // Cards that nothing keeps awake take as long.
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_time_it());
    findings.report(draft);
}
