//! The same measurement of several cards or nodes: one of them is slower than the others.

use gpuwhy_model::action::Action;
use gpuwhy_model::scene::{Benchmark, Figures, ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::evidence::once;
use crate::facts::program::{about_program, facts};
use crate::findings::Findings;
use crate::statistics::{OddOne, odd_ones_out};

/// Of fewer members nobody knows which is the odd one.
const MEMBERS_MIN: usize = 4;
/// A job over all members feels that one is slower by this share.
const SLOWER_SHARE_MIN: f64 = 0.02;
/// So much slower, it is beyond what differs from one run to the next.
const SURELY_SHARE: f64 = 0.05;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::Figures(Figures::Benchmark(benchmark)) => Some(benchmark.clone()),
        _ => None,
    };
    let columns = facts(scene, of_kind);
    for (_, benchmark) in &columns {
        // Another column may say the same in another unit.
        if let Some(odd) = slow(benchmark) {
            report(benchmark, &odd, findings);
            return;
        }
    }
    if columns.iter().any(|(_, benchmark)| benchmark.members.len() >= MEMBERS_MIN) {
        findings.rule_out(Signal::Peers, None);
    }
}

/// Returns the one member that is slower than the others, where no other differs from them so.
fn slow(benchmark: &Benchmark) -> Option<OddOne> {
    let values: Vec<f64> = benchmark.members.iter().map(|member| member.value).collect();
    if values.len() < MEMBERS_MIN {
        return None;
    }
    let odd = odd_ones_out(&values, SLOWER_SHARE_MIN);
    let mut slow = odd.into_iter().filter(|odd| odd.is_low() != benchmark.is_time);
    let first = slow.next()?;
    slow.next().is_none().then_some(first)
}

fn report(benchmark: &Benchmark, odd: &OddOne, findings: &mut Findings) {
    let Some(member) = benchmark.members.get(odd.place) else {
        return;
    };
    let name = member.name.as_str();
    let mut draft = about_program(&RULE, text::summary_measured(name)).severity(Severity::Warn);
    // It is slow, not stopped.
    draft.finding.impact = Impact::default();
    let words =
        text::measured(benchmark.column.as_str(), name, odd.others.to_string(), odd.value.to_string());
    let slower = (odd.value / odd.others - 1.0).abs();
    let strength = if slower >= SURELY_SHARE { 0.8 } else { 0.6 };
    let percent = Percent(slower * 100.0);
    draft.agree_by(4.0, strength, once(Signal::Peers, percent.0, Unit::Percent, Reader::ProgramLog, words));
    draft.finding.detail.insert("member".to_owned(), name.to_owned());
    draft.advise(Action::MoveWork, Vec::new(), text::fix_measured(name));
    findings.report(draft);
}
