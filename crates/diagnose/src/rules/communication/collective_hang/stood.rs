//! Dumps of stacks: some members of a job are in an exchange, and others are not.

use std::collections::BTreeSet;

use gpuwhy_knowledge::FrameKind;
use gpuwhy_model::action::Action;
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{ProgramFact, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::culprit;
use crate::facts::program::about_program;
use crate::facts::stacks::{Member, members, number};
use crate::findings::Findings;

/// More members than this are not all named.
const NAMED_MAX: usize = 4;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let members = members(scene);
    let (inside, outside): (Vec<Member<'_>>, Vec<Member<'_>>) =
        members.into_iter().partition(Member::exchanges);
    if inside.is_empty() || number(&inside) + number(&outside) < 2 {
        return;
    }
    let mut draft = about_program(&RULE, summary(&inside, &outside)).severity(Severity::Warn);
    weigh_places(&inside, &outside, &mut draft);
    weigh_absent(&outside, &mut draft);
    let waited_long =
        scene.program.iter().any(|line| matches!(line.fact, Some(ProgramFact::CollectiveTimeout(_))));
    if !waited_long {
        // One moment does not show that nothing moves.
        draft.silent(1.0);
    }
    draft.finding.impact = Impact { blocked: number(&inside) as u64, ..Impact::default() };
    let absent: Vec<Pid> = outside.iter().filter_map(|member| member.stack.pid).collect();
    if number(&outside) < number(&inside) {
        let culprits = absent.iter().map(|pid| culprit::of_number(*pid, None)).collect();
        draft = draft.culprits(culprits, absent);
    }
    if outside.iter().any(|member| member.place.kind == Some(FrameKind::Data)) {
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_loader());
    } else {
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_same_way());
    }
    draft.advise(Action::AskOwner, Vec::new(), text::fix_restart());
    findings.report(draft);
}

fn summary(inside: &[Member<'_>], outside: &[Member<'_>]) -> Text {
    match outside {
        [] => text::summary_all_inside(number(inside)),
        [absent] if number(outside) < number(inside) => {
            text::summary_stands_apart(absent.place.frame.function.as_str(), absent.name(), number(inside))
        }
        _ => text::summary_out_of_step(number(inside), number(outside)),
    }
}

/// Weighs where the members stand: whoever is in another place than the rest does not come.
fn weigh_places(inside: &[Member<'_>], outside: &[Member<'_>], draft: &mut Draft) {
    let functions: BTreeSet<&str> =
        inside.iter().map(|member| member.place.frame.function.as_str()).collect();
    let functions: Vec<String> = functions.into_iter().map(str::to_owned).collect();
    let words = text::inside(functions.clone(), number(inside));
    let evidence = once(Signal::Stacks, number(inside), Unit::Count, Reader::Sampler, words);
    if !outside.is_empty() {
        draft.agree(3.0, evidence);
        return;
    }
    // All may be in one exchange that is only slow, or in several that follow each other.
    draft.agree_by(3.0, if functions.len() > 1 { 0.5 } else { 0.3 }, evidence);
    draft.only_possible();
}

/// Weighs what the others do: who waits does not come by itself, who working will.
fn weigh_absent(outside: &[Member<'_>], draft: &mut Draft) {
    if outside.is_empty() {
        return;
    }
    let mut working = 0;
    for member in outside.iter().take(NAMED_MAX) {
        let frame = member.place.frame;
        let (name, function) = (member.name(), frame.function.as_str());
        let words = match member.place.kind {
            Some(FrameKind::Data) => text::waits_for_data(function, name),
            Some(FrameKind::Lock) => text::waits_for_lock(function, name),
            _ => text::stands(frame.file.as_str(), function, name),
        };
        let evidence =
            once(Signal::Stacks, member.place.frame.function.as_str(), Unit::Text, Reader::Sampler, words);
        let weight = 1.5 / outside.len().min(NAMED_MAX) as f64;
        match member.place.kind {
            Some(FrameKind::Data | FrameKind::Lock) => draft.agree(weight, evidence),
            None => {
                draft.silent(weight);
                draft.mention(evidence);
            }
            Some(_) => {
                working += 1;
                draft.contradict(weight, evidence);
            }
        }
    }
    if working == outside.len().min(NAMED_MAX) {
        // A member that saves, loads or computes will come when it is done.
        draft.only_possible();
    }
}
