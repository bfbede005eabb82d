//! Members of a job say that an exchange did not end in time: somebody never came.

use std::collections::BTreeMap;

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::scene::{CollectiveTimeout, LogLine, ProgramFact, Scene, Standing};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::program::{about_program, agree, facts};
use crate::findings::Findings;

/// What one member says of its exchanges.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The exchange that it waits in.
    waits_in: Option<u64>,
    /// The last one that it handed over.
    handed_over: Option<u64>,
}

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_kind = |fact| timeout(fact);
    let lines = facts(scene, of_kind);
    if !lines.iter().any(|(_, timeout)| timeout.waited.is_some() || timeout.last_enqueued.is_some()) {
        return;
    }
    let members = members(&lines);
    let behind = behind(&members);
    let mut draft = about_program(&RULE, summary(&members, behind)).severity(Severity::Warn);
    agree(&mut draft, 4.0, 0.92, &lines);
    weigh_behind(&members, behind, &mut draft);
    if somebody_failed(scene) {
        // A member that ended by an error of its own is why the others wait: that error is the cause.
        draft.silent(5.0);
    }
    draft.finding.impact = Impact { blocked: members.len().max(1) as u64, ..Impact::default() };
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_said());
    draft.advise(Action::AskOwner, Vec::new(), text::fix_restart());
    findings.report(draft);
}

fn timeout(fact: &ProgramFact) -> Option<&CollectiveTimeout> {
    match fact {
        ProgramFact::CollectiveTimeout(timeout) => Some(timeout),
        _ => None,
    }
}

fn members(lines: &[(&LogLine, &CollectiveTimeout)]) -> BTreeMap<u32, Progress> {
    let mut members: BTreeMap<u32, Progress> = BTreeMap::new();
    for (line, timeout) in lines {
        let Some(rank) = timeout.rank.or(line.rank) else {
            continue;
        };
        let member = members.entry(rank).or_default();
        member.waits_in = member.waits_in.or(timeout.sequence);
        member.handed_over = member.handed_over.or(timeout.last_enqueued);
    }
    members
}

/// Returns the member that came less far than the rest, where one did.
fn behind(members: &BTreeMap<u32, Progress>) -> Option<(u32, u64)> {
    let mut reached: Vec<(u64, u32)> = members
        .iter()
        .filter_map(|(rank, member)| Some((member.handed_over.or(member.waits_in)?, *rank)))
        .collect();
    reached.sort_unstable();
    match reached.as_slice() {
        [(first, rank), (second, _), ..] if first < second => Some((*rank, *first)),
        _ => None,
    }
}

/// Returns whether a member ended by an error that stands for itself.
fn somebody_failed(scene: &Scene) -> bool {
    scene.program.iter().any(|line| {
        line.standing == Some(Standing::Final)
            && !matches!(
                line.fact,
                None | Some(
                    ProgramFact::CollectiveTimeout(_) | ProgramFact::Nccl { .. } | ProgramFact::ProcessEnd(_)
                )
            )
    })
}

fn summary(members: &BTreeMap<u32, Progress>, behind: Option<(u32, u64)>) -> Text {
    match behind {
        Some((rank, _)) => text::summary_said_behind(rank),
        None if members.len() > 1 => text::summary_said_members(members.len()),
        None => text::summary_said(),
    }
}

fn weigh_behind(members: &BTreeMap<u32, Progress>, behind: Option<(u32, u64)>, draft: &mut Draft) {
    let Some((rank, sequence)) = behind else {
        return;
    };
    let most =
        members.values().filter_map(|member| member.handed_over.or(member.waits_in)).max().unwrap_or(0);
    draft.finding.detail.insert("rank".to_owned(), rank.to_string());
    draft.agree(1.0, place(rank, sequence, most));
}

fn place(rank: u32, sequence: u64, most: u64) -> Evidence {
    let words = text::stands_at(most, rank, sequence);
    once(Signal::ProgramLog, sequence, Unit::Count, Reader::ProgramLog, words)
}
