//! What a process held, noted again and again in a table: it never gives anything back.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Figures, MemoryStep, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{POINTS_MIN, RISING_SHARE_MIN, RULE, text};
use crate::evidence::once;
use crate::facts::program::{about_program, facts};
use crate::findings::Findings;
use crate::statistics::robust_slope;

/// Of each state that comes again, so many rows are needed.
const OF_A_STATE_MIN: usize = 3;
/// With states that come again, fewer rows are enough: each of them is compared with its like.
const WITH_STATES_MIN: usize = 6;
/// Growth by less than this share of what was held at first is not worth naming.
const GROWTH_SHARE_MIN: f64 = 0.03;
/// Each third of the rows rises by at least this part of what a straight line would: a warm-up ends, a leak goes on.
const THIRD_SHARE_MIN: f64 = 0.4;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::Figures(Figures::MemorySteps(steps)) => Some(steps.clone()),
        _ => None,
    };
    for (_, steps) in facts(scene, of_kind) {
        if grows(&steps) {
            report(&steps, findings);
        } else if steps.len() >= POINTS_MIN {
            findings.rule_out(Signal::VramGrowth, None);
        }
    }
}

/// Returns whether what was held grows over all of the rows, and in each state.
fn grows(steps: &[MemoryStep]) -> bool {
    let has_states = steps.iter().any(|step| !step.state.is_empty());
    let points_min = if has_states { WITH_STATES_MIN } else { POINTS_MIN };
    let held_in = |state: Option<&str>| -> Vec<f64> {
        let of_state = steps.iter().filter(|step| state.is_none_or(|wanted| step.state == wanted));
        of_state.map(|step| step.held.0 as f64).collect()
    };
    let all = held_in(None);
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return false;
    };
    if all.len() < points_min || last - first < first * GROWTH_SHARE_MIN {
        return false;
    }
    if !has_states {
        return rises(&all) && rises_in_thirds(&all);
    }
    steps.iter().all(|step| {
        let own = held_in(Some(&step.state));
        own.len() >= OF_A_STATE_MIN && own.windows(2).all(|pair| pair[0] < pair[1])
    })
}

fn rises(values: &[f64]) -> bool {
    let points: Vec<(f64, f64)> = (0_u32..).map(f64::from).zip(values.iter().copied()).collect();
    robust_slope(&points).is_some_and(|slope| slope.slope > 0.0 && slope.rising >= RISING_SHARE_MIN)
}

fn rises_in_thirds(values: &[f64]) -> bool {
    let last = values.len() - 1;
    let per_row = (values[last] - values[0]) / last as f64;
    [0, last / 3, last * 2 / 3, last].windows(2).all(|ends| {
        values[ends[1]] - values[ends[0]] >= (ends[1] - ends[0]) as f64 * per_row * THIRD_SHARE_MIN
    })
}

fn report(steps: &[MemoryStep], findings: &mut Findings) {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return;
    };
    let mut draft = about_program(&RULE, text::summary_noted()).severity(Severity::Warn);
    let grown = Bytes(last.held.0.saturating_sub(first.held.0));
    // It is slowly running out of memory, not stopped.
    draft.finding.impact = Impact { bytes_held: grown.0, ..Impact::default() };
    let count = steps.len();
    let words = if first.state.is_empty() {
        text::noted(last.held, first.held, count)
    } else {
        text::noted_states(last.held, first.held, count)
    };
    draft.agree_by(4.0, 0.85, once(Signal::VramGrowth, grown.0, Unit::Bytes, Reader::ProgramLog, words));
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_find());
    draft.advise(Action::AskOwner, Vec::new(), text::fix_restart());
    findings.report(draft);
}
