//! Transfers between cards, measured alone and several at once: together they move less than one of them alone.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Figures, Flow, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::evidence::once;
use crate::facts::program::{about_program, facts};
use crate::findings::Findings;

/// Transfers that share one link move as much together as one of them alone; less than this share of it is a collapse.
const COLLAPSE_SHARE: f64 = 0.5;

/// The worst of one column.
struct Collapse<'flow> {
    flow: &'flow Flow,
    alone: f64,
}

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::Figures(Figures::Flows(flows)) => Some(flows.clone()),
        _ => None,
    };
    let columns: Vec<Vec<Flow>> = facts(scene, of_kind).into_iter().map(|(_, flows)| flows).collect();
    let worst = columns
        .iter()
        .filter_map(|flows| collapse(flows))
        .min_by(|one, other| share(one).total_cmp(&share(other)));
    match worst {
        Some(worst) => report(&worst, findings),
        None if columns.iter().flatten().any(|flow| flow.at_once.len() > 1) => {
            findings.rule_out(Signal::Topology, None);
        }
        None => {}
    }
}

fn share(collapse: &Collapse<'_>) -> f64 {
    collapse.flow.rate / collapse.alone
}

/// Returns the transfers that lose most when they run at once.
fn collapse(flows: &[Flow]) -> Option<Collapse<'_>> {
    let alone = |name: &String| {
        let lone = |flow: &&Flow| flow.at_once.len() == 1 && flow.at_once[0] == *name && flow.rate > 0.0;
        flows.iter().find(lone).map(|flow| flow.rate)
    };
    let candidates = flows.iter().filter(|flow| flow.at_once.len() > 1).filter_map(|flow| {
        let alone = flow.at_once.iter().filter_map(alone).reduce(f64::min)?;
        // Where the table may mean each of them, all of them move so many times as much.
        let times = if flow.is_total { 1.0 } else { flow.at_once.len() as f64 };
        (flow.rate * times < alone * COLLAPSE_SHARE).then_some(Collapse { flow, alone })
    });
    candidates.min_by(|one, other| share(one).total_cmp(&share(other)))
}

fn report(worst: &Collapse<'_>, findings: &mut Findings) {
    let mut draft = about_program(&RULE, text::summary_collapse()).severity(Severity::Warn);
    // It is slow, not stopped.
    draft.finding.impact = Impact::default();
    let flows = worst.flow.at_once.join(" + ");
    let words = text::collapse(worst.alone.to_string(), flows, worst.flow.rate.to_string());
    let percent = Percent(share(worst) * 100.0);
    draft.agree_by(4.0, 0.8, once(Signal::Topology, percent.0, Unit::Percent, Reader::ProgramLog, words));
    draft.advise(Action::ImproveNetwork, Vec::new(), text::fix_pattern());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    findings.report(draft);
}
