//! The kernel log of a text says that tasks stand still: in the driver, or behind what it reported just before.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::{KernelFact, KernelLine};
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::kernel_log;
use crate::findings::Findings;

/// A task that stands still so long after an error of the driver stands still for something else.
const AFTER_ERROR_MAX_US: u64 = 600_000_000;
/// The trace of a task comes right behind it.
const TRACE_MAX_US: u64 = 1_000_000;

/// How tools and tasks begin that do nothing but call the driver, or are its own.
const OF_THE_DRIVER: &[&str] =
    &["nvidia", "nv-hostengine", "nv_queue", "nv_open_q", "dcgm", "irq/nvidia", "UVM "];
/// How tasks begin that write to disks and servers.
const OF_STORAGE: &[&str] = &[
    "jbd2", "xfs", "nfs", "txg_", "z_", "md", "dm", "kcopyd", "btrfs", "ceph", "ll_", "ptlrpc", "flush",
    "kworker",
];

/// Reports tasks that stand still, if that is the driver's doing; returns whether it is.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) -> bool {
    if scene.provenance.source != SourceKind::Text {
        return false;
    }
    let fresh: Vec<&KernelLine> =
        kernel_log::lines(scene).iter().filter(|line| kernel_log::is_fresh(scene, line, limits)).collect();
    // An error of a card that hangs its callers is what to act on.
    if fresh.iter().any(|line| kernel_log::is_fault(line)) {
        return false;
    }
    let stuck: Vec<Stuck<'_>> = (0..fresh.len()).filter_map(|place| Stuck::at(&fresh, place)).collect();
    let Some(first) = stuck.first() else {
        return check_calls(scene, &fresh, findings);
    };
    let summary = text::summary_tasks(stuck.len());
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Fault);
    draft.agree(2.0, in_log(first.line));
    if stuck.iter().any(|one| one.is_in_driver) {
        draft.balance.agree(2.0, 1.0);
    } else {
        // Where exactly they wait is not shown.
        draft.silent(2.0);
    }
    match stuck.iter().find_map(|one| one.error) {
        Some(error) => draft.agree(1.0, in_log(error)),
        None => draft.silent(1.0),
    }
    draft.finding.impact.blocked = stuck.len() as u64;
    let target = Target { kind: SubjectKind::Node, id: draft.finding.subject.id.clone() };
    draft.advise(Action::LookAgain, Vec::new(), text::fix_stop_polling());
    draft.advise(Action::Reboot, vec![target], text::fix_reboot());
    findings.report(draft);
    true
}

/// Reports calls to a card's own processor that it did not answer, where the text does not show the error itself.
fn check_calls(scene: &Scene, fresh: &[&KernelLine], findings: &mut Findings) -> bool {
    let Some(line) = fresh.iter().rev().find(|line| line.fact == Some(KernelFact::RpcTimeout)) else {
        return false;
    };
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_firmware()).severity(Severity::Fault);
    draft.agree(2.0, in_log(line));
    // No error with a number, and no task that stands still.
    draft.silent(2.0);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_stop_polling());
    let target = Target { kind: SubjectKind::Node, id: draft.finding.subject.id.clone() };
    draft.advise(Action::Reboot, vec![target], text::fix_reboot());
    findings.report(draft);
    true
}

/// A task that stands still for the driver.
struct Stuck<'scene> {
    line: &'scene KernelLine,
    /// Whether its name or its trace shows that it is inside the driver.
    is_in_driver: bool,
    /// What the driver reported before.
    error: Option<&'scene KernelLine>,
}

impl<'scene> Stuck<'scene> {
    /// Returns the task of a line, if it is one that the driver keeps.
    fn at(lines: &[&'scene KernelLine], place: usize) -> Option<Self> {
        let line = *lines.get(place)?;
        let Some(KernelFact::HungTask { name, waits_for_io: false, .. }) = &line.fact else {
            return None;
        };
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let is_in_driver = begins(OF_THE_DRIVER) || has_trace_in_driver(&lines[place + 1..], line);
        if !is_in_driver && begins(OF_STORAGE) {
            return None;
        }
        let is_error = |error: &&&KernelLine| matches!(error.fact, Some(KernelFact::Xid { .. }));
        let error = lines[..place]
            .iter()
            .rev()
            .find(is_error)
            .copied()
            .filter(|error| line.boot_us.saturating_sub(error.boot_us) <= AFTER_ERROR_MAX_US);
        (is_in_driver || error.is_some()).then_some(Self { line, is_in_driver, error })
    }
}

/// Returns whether the trace behind a task goes through the driver's module.
fn has_trace_in_driver(behind: &[&KernelLine], task: &KernelLine) -> bool {
    behind
        .iter()
        .take_while(|line| !matches!(line.fact, Some(KernelFact::HungTask { .. })))
        .take_while(|line| line.boot_us.saturating_sub(task.boot_us) <= TRACE_MAX_US)
        .any(|line| line.fact.is_none() && line.text.contains("+0x") && line.text.contains("[nvidia"))
}

fn in_log(line: &KernelLine) -> gpuwhy_model::evidence::Evidence {
    let words = text::in_log(line.text.as_str());
    once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words)
}
