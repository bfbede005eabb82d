//! Children of earlier runs that were killed and are still there.
//!
//! Such a process sits in the driver and cannot die. Another one would only get stuck beside it, so while there is one,
//! no child is started. Nothing is read here that could wait for the memory of another process (`cmdline`, `environ`).

use std::time::Duration;

use gpuwhy_formats::proc::Stat;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessState, StuckCall};

use super::heartbeat::Name;
use crate::clock;
use crate::proc::{ProcRoot, ProcessDirectory, wait_channel_of};

/// A killed process has this long to be gone: one that is, is just dying.
const DYING: Duration = Duration::from_millis(300);

/// How often a dying process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Children of earlier runs, gathered while `/proc` is listed.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    candidates: Vec<(Pid, u64, Name)>,
}

impl Survivors {
    /// Takes a look at one process of the list.
    pub(crate) fn consider(&mut self, stat: &Stat<'_>) {
        // Nearly every name is told apart by its first two letters.
        if let Some(name) = Name::read(stat.raw_name())
            && stat.state != Some(ProcessState::Zombie)
        {
            self.candidates.push((stat.pid, stat.start_ticks, name));
        }
    }

    /// Returns a child of an earlier run that was killed and does not die.
    pub(crate) fn stuck(&self, proc: &mut ProcRoot, own: Option<Pid>) -> Option<StuckCall> {
        let others = self.candidates.iter().filter(|(pid, ..)| Some(*pid) != own);
        others.into_iter().find_map(|(pid, start_ticks, name)| lasting(proc, *pid, *start_ticks, name))
    }
}

/// Returns what is stuck, once the process had time to die and is still there.
fn lasting(proc: &mut ProcRoot, pid: Pid, start_ticks: u64, name: &Name) -> Option<StuckCall> {
    let until = clock::awake() + DYING;
    loop {
        let state = doomed_state(proc, pid, start_ticks)?;
        let now = clock::awake();
        if now >= until {
            return Some(StuckCall {
                pid,
                start_ticks,
                call: Some(name.call.symbol().to_owned()),
                card: name.card,
                for_s: now.as_secs_f64() - name.since_s as f64,
                from_earlier_run: true,
                survived_kill: true,
                state,
                wait_channel: wait_channel_of(proc, pid, true),
            });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Returns the state of a process that was killed, or has given up its memory already, and is of ours to name.
fn doomed_state(proc: &mut ProcRoot, pid: Pid, start_ticks: u64) -> Option<Reading<ProcessState>> {
    let directory = ProcessDirectory::open(proc, pid).ok()?;
    let stat = directory.stat(proc).ok()?;
    let state = stat.state;
    if stat.start_ticks != start_ticks || state == Some(ProcessState::Zombie) {
        return None;
    }
    let status = directory.status(proc).ok()?;
    // Without memory it is on its way out.
    let is_doomed = status.kill_pending == Some(true) || status.resident.is_none();
    // Anybody could name a process so. Root's word counts for everyone, each user's own for himself.
    let viewer = rustix::process::geteuid().as_raw();
    let is_believed = viewer == 0 || status.uid == Some(0) || status.uid == Some(viewer);
    (is_doomed && is_believed).then(|| state.map_or_else(Reading::default, Reading::Known))
}
