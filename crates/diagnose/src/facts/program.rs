//! What programs themselves said, as rules use it.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::scene::{LogLine, ProgramFact, Scene, Standing, StartObstacle};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Subject};

use crate::draft::Draft;
use crate::evidence::once;
use crate::rule::Rule;
use crate::shared_text;

/// So much of a line is quoted, in characters.
const QUOTED_MAX: usize = 240;

/// Returns the lines with a fact of one kind, and that fact.
pub(crate) fn facts<'scene, T>(
    scene: &'scene Scene,
    of_kind: impl Fn(&'scene ProgramFact) -> Option<T>,
) -> Vec<(&'scene LogLine, T)> {
    scene.program.iter().filter_map(|line| Some((line, of_kind(line.fact.as_ref()?)?))).collect()
}

/// Returns those that ended a program, as far as the text shows; of none that did, those that a program survived.
pub(crate) fn decisive<T>(all: Vec<(&LogLine, T)>) -> Vec<(&LogLine, T)> {
    let (ended, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(line, _)| ends(line));
    if ended.is_empty() { others } else { ended }
}

/// Returns whether an error ended a program, as far as the text shows.
pub(crate) fn ends(line: &LogLine) -> bool {
    line.standing.is_none_or(|standing| standing == Standing::Final)
}

/// Returns whether the machine, the build or another part made a program end, and not its own code.
pub(crate) fn ended_by_machine(scene: &Scene) -> bool {
    scene.program.iter().filter(|line| line.standing == Some(Standing::Final)).any(|line| {
        matches!(
            line.fact,
            Some(
                ProgramFact::OutOfCardMemory(_)
                    | ProgramFact::ServerMemory(_)
                    | ProgramFact::ArchUnsupported(_)
                    | ProgramFact::DriverTooOld { .. }
                    | ProgramFact::NoDriver
                    | ProgramFact::SharedMemoryShort { is_sure: true }
                    | ProgramFact::LimitHit(_)
            )
        )
    })
}

/// Begins a finding about what a program said.
pub(crate) fn about_program(rule: &'static Rule, summary: Text) -> Draft {
    let subject = Subject { kind: SubjectKind::Program, id: "program".to_owned(), name: String::new() };
    let mut draft = Draft::new(rule, subject, format!("program {}", rule.cause), Vec::new(), summary);
    draft.finding.impact = Impact { blocked: 1, ..Impact::default() };
    // What was said stays so, however short the look.
    draft.balance.past_decides = true;
    draft
}

/// Quotes a line.
pub(crate) fn says(line: &LogLine) -> Evidence {
    // Lines that were joined leave more than one space.
    let text = line.text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let mut quoted: String = text.chars().take(QUOTED_MAX).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    let words = match line.rank {
        Some(rank) => shared_text::member_says(u64::from(rank), quoted.as_str()),
        None => shared_text::program_says(quoted.as_str()),
    };
    once(Signal::ProgramLog, quoted, Unit::Text, Reader::ProgramLog, words)
}

/// Counts the first of several lines that say the same, by some strength; the others are mentioned in one.
pub(crate) fn agree<T>(draft: &mut Draft, weight: f64, strength: f64, lines: &[(&LogLine, T)]) {
    let Some(((first, _), more)) = lines.split_first() else {
        return;
    };
    draft.agree_by(weight, strength, says(first));
    if !more.is_empty() {
        let count = more.len();
        let words = shared_text::program_says_too(count);
        draft.mention(once(Signal::ProgramLog, count, Unit::Count, Reader::ProgramLog, words));
    }
    if first.standing == Some(Standing::Handled) {
        // The program went on: whatever is wrong now, this is not it.
        draft.only_possible();
    }
}

/// Returns the lines of a runtime that could not start a container because the driver did not answer in time.
pub(crate) fn timed_out_starts(scene: &Scene) -> Vec<(&LogLine, ())> {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::ContainerNotStarted(not_started) => {
            (not_started.obstacle == StartObstacle::DriverTimedOut).then_some(())
        }
        _ => None,
    };
    decisive(facts(scene, of_kind))
}

/// Returns the lines that give a code of CUDA.
pub(crate) fn cuda_codes<'scene>(scene: &'scene Scene, codes: &[u32]) -> Vec<(&'scene LogLine, u32)> {
    let of_kind = |fact: &ProgramFact| match fact {
        ProgramFact::Cuda(error) if codes.contains(&error.code) => Some(error.code),
        _ => None,
    };
    decisive(facts(scene, of_kind))
}
