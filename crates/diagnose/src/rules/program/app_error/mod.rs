//! `app-error`: a program ended by an error of its own making; the machine is not to blame.

mod class;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{ErrorClass, LogLine, ProgramFact, Scene, Standing};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::Severity;

use self::class::{Judged, judged};
use crate::draft::Draft;
use crate::facts::kernel_log;
use crate::facts::program::{about_program, ended_by_machine, ends, says};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/app_error.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::AppError,
    needs: Needs { span: Span::NONE, samples: 1, signals: &[Signal::ProgramLog] },
    check,
};

/// A loss that is no number so often stays so.
const NOT_A_NUMBER_OFTEN: usize = 3;

/// An error that a program of its own making may have died of.
#[derive(Clone, Copy)]
struct Suspect<'scene> {
    line: &'scene LogLine,
    judged: Judged,
}

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let suspects: Vec<Suspect<'_>> = scene
        .program
        .iter()
        .filter_map(|line| Some(Suspect { line, judged: judged(line.fact.as_ref()?)? }))
        .collect();
    let Some(decisive) = decisive(&suspects) else {
        return;
    };
    // What only speaks of others is nothing beside what is known of them.
    let others_are_known = ended_by_machine(scene) || findings.answers().next().is_some();
    if is_its_own_end(&decisive) || !others_are_known {
        findings.report(judge(scene, decisive, &suspects));
    }
}

/// Returns the error that ended the program: of each member the last that stands for itself, of these the first.
fn decisive<'scene>(suspects: &[Suspect<'scene>]) -> Option<Suspect<'scene>> {
    let ended = || suspects.iter().filter(|suspect| is_its_own_end(suspect));
    // What a program says of its error is more than how the system says it ended.
    let says_why = |suspect: &&Suspect<'_>| !matches!(suspect.line.fact, Some(ProgramFact::ProcessEnd(_)));
    let mut of_members: Vec<(Option<u32>, Suspect<'_>)> = Vec::new();
    for suspect in ended().filter(says_why) {
        match of_members.iter_mut().find(|(rank, _)| *rank == suspect.line.rank) {
            Some((_, last)) => *last = *suspect,
            None => of_members.push((suspect.line.rank, *suspect)),
        }
    }
    let first_of_members = of_members.first().map(|(_, suspect)| *suspect);
    first_of_members.or_else(|| ended().next().copied()).or_else(|| {
        // Nothing that ended it: what it survived, or what only speaks of others, is a possibility.
        suspects.iter().rev().find(|suspect| suspect.line.standing != Some(Standing::Earlier)).copied()
    })
}

/// Returns whether an error ended its program; a loss that is no number lets it run on for nothing.
fn is_its_own_end(suspect: &Suspect<'_>) -> bool {
    ends(suspect.line) || suspect.judged.class == ErrorClass::NanLoss && is_loss(suspect.line)
}

/// Returns whether the kernel reports that a card failed, or the driver cannot be asked: then a program's error on its card
/// comes of it.
fn a_card_failed(scene: &Scene) -> bool {
    kernel_log::lines(scene).iter().any(kernel_log::is_fault)
        || matches!(scene.machine.driver.library, Reading::Failed(Failure::Nvml { .. }))
        || scene.machine.driver.card_count == Reading::Known(0)
}

fn is_loss(line: &LogLine) -> bool {
    line.fact == Some(ProgramFact::LossNotANumber)
}

fn judge(scene: &Scene, decisive: Suspect<'_>, all: &[Suspect<'_>]) -> Draft {
    let Judged { class, strength } = decisive.judged;
    let mut draft = about_program(&RULE, summary(class)).severity(Severity::Warn);
    let number_of_losses = all.iter().filter(|suspect| is_loss(suspect.line)).count();
    let strength =
        if number_of_losses >= NOT_A_NUMBER_OFTEN && is_loss(decisive.line) { 0.9 } else { strength };
    draft.agree_by(4.0, strength, says(decisive.line));
    if ended_by_machine(scene) {
        draft.silent(4.0);
    }
    let is_of_card = matches!(class, ErrorClass::CudaError | ErrorClass::NcclError);
    if !is_its_own_end(&decisive) || is_of_card && a_card_failed(scene) {
        draft.only_possible();
    }
    mention_others(decisive, all, &mut draft);
    draft.finding.detail.insert("class".to_owned(), class.id().to_owned());
    match &decisive.line.fact {
        Some(ProgramFact::Exception(exception)) => {
            draft.finding.detail.insert("error".to_owned(), exception.name.clone());
        }
        Some(ProgramFact::Cuda(error)) => {
            draft.finding.detail.insert("code".to_owned(), error.code.to_string());
        }
        _ => {}
    }
    if let Some(rank) = decisive.line.rank {
        draft.finding.detail.insert("rank".to_owned(), rank.to_string());
    }
    draft.advise(action(class), Vec::new(), fix(class));
    draft
}

/// Mentions what led to the error, and what others said of it.
fn mention_others(decisive: Suspect<'_>, all: &[Suspect<'_>], draft: &mut Draft) {
    const MENTIONED_MAX: usize = 2;
    let led_to_it = all.iter().filter(|suspect| {
        suspect.line.standing == Some(Standing::Earlier) && suspect.line.rank == decisive.line.rank
    });
    for suspect in led_to_it.take(MENTIONED_MAX) {
        draft.mention(says(suspect.line));
    }
}

fn summary(class: ErrorClass) -> Text {
    match class {
        ErrorClass::MissingFile => text::summary_missing_file(),
        ErrorClass::Permission => text::summary_permission(),
        ErrorClass::MissingModule => text::summary_missing_module(),
        ErrorClass::Assertion => text::summary_assertion(),
        ErrorClass::DivisionByZero => text::summary_division_by_zero(),
        ErrorClass::DeviceMismatch => text::summary_device_mismatch(),
        ErrorClass::NanLoss => text::summary_nan_loss(),
        ErrorClass::Segfault => text::summary_segfault(),
        ErrorClass::HostMemoryError => text::summary_host_memory_error(),
        ErrorClass::OomKiller => text::summary_oom_killer(),
        ErrorClass::CudaError => text::summary_cuda_error(),
        ErrorClass::NcclError => text::summary_nccl_error(),
        ErrorClass::RuntimeError => text::summary_runtime_error(),
        ErrorClass::UncaughtException => text::summary_uncaught_exception(),
    }
}

fn action(class: ErrorClass) -> Action {
    match class {
        ErrorClass::OomKiller | ErrorClass::HostMemoryError => Action::FreeHostMemory,
        ErrorClass::NcclError => Action::LookAgain,
        _ => Action::ImproveProgram,
    }
}

fn fix(class: ErrorClass) -> Text {
    match class {
        ErrorClass::MissingFile => text::fix_missing_file(),
        ErrorClass::Permission => text::fix_permission(),
        ErrorClass::MissingModule => text::fix_missing_module(),
        ErrorClass::DeviceMismatch => text::fix_device_mismatch(),
        ErrorClass::NanLoss => text::fix_nan_loss(),
        ErrorClass::Segfault => text::fix_segfault(),
        ErrorClass::HostMemoryError | ErrorClass::OomKiller => text::fix_host_memory(),
        ErrorClass::CudaError => text::fix_cuda_error(),
        ErrorClass::NcclError => text::fix_nccl_error(),
        ErrorClass::Assertion
        | ErrorClass::DivisionByZero
        | ErrorClass::RuntimeError
        | ErrorClass::UncaughtException => text::fix_program(),
    }
}
