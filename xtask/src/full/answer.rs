//! One run of gpuwhy inside a box, watched from outside: what it said, how long it took, which children it had.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use gpuwhy_lab::place::process::{ProcessIdentity, mount_namespace, processes_in};

use crate::boxes::EmulatedBox;
use crate::workspace::{Profile, Workspace};

/// The hidden subcommand that the driver's library runs under.
const CHILD: &[u8] = b"__nvml";

/// Time between two looks for children.
const WATCH_INTERVAL: Duration = Duration::from_millis(10);

/// What came of one run.
pub(super) struct Answer {
    /// What it printed, and how it ended.
    pub(super) output: Output,
    /// From start to end.
    pub(super) took: Duration,
    /// Every child for the driver's library that was seen while it ran, by pid; also those of earlier runs.
    pub(super) children: BTreeMap<u32, ProcessIdentity>,
}

impl Answer {
    /// Runs gpuwhy in a box and waits for its end, at most `limit`.
    ///
    /// # Errors
    /// Fails when it cannot be started.
    pub(super) fn of(
        workspace: &Workspace,
        inside: &EmulatedBox,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<Self> {
        let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
        let mut command = inside.command(None, "timeout");
        command.arg("--kill-after=2").arg(limit.as_secs().to_string()).arg(gpuwhy).args(arguments);
        let namespace = mount_namespace(inside.anchor()).context("the box has no namespace")?;
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut children = BTreeMap::new();
                while !has_ended.load(Ordering::Relaxed) {
                    for pid in processes_in(&namespace) {
                        if is_child(pid)
                            && let Some(identity) = ProcessIdentity::of(pid)
                        {
                            children.insert(pid, identity);
                        }
                    }
                    std::thread::sleep(WATCH_INTERVAL);
                }
                children
            });
            let start = Instant::now();
            let output = command.output().context("cannot run gpuwhy");
            let took = start.elapsed();
            has_ended.store(true, Ordering::Relaxed);
            let children = watcher.join().ok().context("the watcher broke")?;
            Ok(Self { output: output?, took, children })
        })
    }

    /// Returns the children that are still there.
    pub(super) fn survivors(&self) -> usize {
        self.children.values().filter(|child| child.is_alive()).count()
    }
}

fn is_child(pid: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = arguments.split(|byte| *byte == 0);
    words.nth(1) == Some(CHILD)
}
