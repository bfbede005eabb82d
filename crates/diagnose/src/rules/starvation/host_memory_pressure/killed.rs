//! A process that the kernel ended for want of memory of the machine.

use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{KernelFact, KernelLine, ProcessRole};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Seconds, Unit};

use super::text;
use crate::evidence::once;
use crate::facts::kernel_log::{age_s, is_fresh, lines};

/// A process that was ended.
pub(super) struct Killed<'scene> {
    pub(super) name: &'scene str,
    pid: Pid,
    line: &'scene KernelLine,
}

/// Returns the last process that the kernel ended a short time ago because the machine, and no control group alone, had
/// no memory left.
pub(super) fn latest<'scene>(scene: &'scene Scene, limits: &Limits) -> Option<Killed<'scene>> {
    lines(scene).iter().rev().filter(|line| is_fresh(scene, line, limits)).find_map(|line| match &line.fact {
        Some(KernelFact::OutOfMemory { name, pid, of_group: false, .. }) => {
            Some(Killed { name, pid: *pid, line })
        }
        _ => None,
    })
}

impl Killed<'_> {
    /// Returns whether its name is one of a GPU program's parts.
    pub(super) fn is_part_of_a_run(&self) -> bool {
        matches!(
            gpuwhy_knowledge::role(self.name),
            Some(
                ProcessRole::Loader
                    | ProcessRole::Main
                    | ProcessRole::Interpreter
                    | ProcessRole::SpawnedWorker
                    | ProcessRole::Server
                    | ProcessRole::ServerWorker
                    | ProcessRole::NotebookKernel
            )
        )
    }

    /// Says that it was ended, and when.
    pub(super) fn evidence(&self, scene: &Scene) -> Evidence {
        let (name, pid) = (self.name, u64::from(self.pid.0));
        let words = match age_s(scene, self.line) {
            Some(seconds) => text::killed_ago(Seconds(seconds), name, pid),
            None => text::killed(name, pid),
        };
        once(Signal::KernelLog, self.line.text.as_str(), Unit::Text, Reader::KernelLog, words)
    }
}
