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

    /// Returns a child of an earlier run that was killed and does not die, as far as `viewer`, a user, may believe it.
    pub(crate) fn stuck(&self, proc: &mut ProcRoot, viewer: u32) -> Option<StuckCall> {
        self.candidates
            .iter()
            .find_map(|(pid, start_ticks, name)| lasting(proc, *pid, *start_ticks, name, viewer))
    }
}

/// Returns what is stuck, once the process had time to die and is still there.
fn lasting(proc: &mut ProcRoot, pid: Pid, start_ticks: u64, name: &Name, viewer: u32) -> Option<StuckCall> {
    let until = clock::awake() + DYING;
    loop {
        let state = doomed_state(proc, pid, start_ticks, viewer)?;
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
                has_returned: false,
                may_be_waking: false,
                state,
                wait_channel: wait_channel_of(proc, pid, true),
            });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Returns the state of a process that was killed, or has given up its memory already, and is `viewer`'s to believe.
fn doomed_state(
    proc: &mut ProcRoot,
    pid: Pid,
    start_ticks: u64,
    viewer: u32,
) -> Option<Reading<ProcessState>> {
    let directory = ProcessDirectory::open(proc, pid).ok()?;
    let stat = directory.stat(proc).ok()?;
    let state = stat.state;
    if stat.start_ticks != start_ticks || !state.is_some_and(may_be_in_a_call) {
        return None;
    }
    let status = directory.status(proc).ok()?;
    // Without memory it is on its way out.
    let is_doomed = status.kill_pending == Some(true) || status.resident.is_none();
    // A debugger can hold a process at its end for as long as it likes.
    let is_held = status.tracer.is_some_and(|tracer| tracer != 0);
    // Anybody could name a process so, and keep root from looking. Root's word counts for everyone, each user's own
    // only for himself.
    let is_believed = status.uid == Some(0) || status.uid == Some(viewer);
    (is_doomed && is_believed && !is_held).then(|| state.map_or_else(Reading::default, Reading::Known))
}

/// Returns whether a process in this state may sit in a call that does not return, rather than being held or gone.
fn may_be_in_a_call(state: ProcessState) -> bool {
    match state {
        ProcessState::Running | ProcessState::Sleeping | ProcessState::Blocked => true,
        ProcessState::Zombie | ProcessState::Stopped | ProcessState::Idle | ProcessState::Dead => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Survivors;
    use crate::proc::ProcRoot;
    use gpuwhy_formats::proc::stat;
    use gpuwhy_model::process::Pid;

    const ROOT: u32 = 0;
    const ALICE: u32 = 1000;
    const BOB: u32 = 1001;

    /// What is written about a process that has our child's name and was killed.
    struct Written {
        state: char,
        owner: u32,
        tracer: u32,
    }

    fn is_believed(written: &Written, viewer: u32) -> bool {
        let Written { state, owner, tracer } = written;
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("7");
        std::fs::create_dir(&directory).unwrap();
        let text = format!("7 (nv15.0@33z) {state} 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 70 0 0\n");
        std::fs::write(directory.join("stat"), &text).unwrap();
        let status = format!(
            "Name:\tnv15.0@33z\nState:\t{state} (x)\nTracerPid:\t{tracer}\nUid:\t{owner}\t{owner}\t{owner}\t\
             {owner}\nVmRSS:\t 2048 kB\nShdPnd:\t0000000000000100\n"
        );
        std::fs::write(directory.join("status"), status).unwrap();
        let mut survivors = Survivors::default();
        survivors.consider(&stat(text.as_bytes()).unwrap());
        let mut proc = ProcRoot::open(root.path()).unwrap();
        let stuck = survivors.stuck(&mut proc, viewer);
        assert!(stuck.as_ref().is_none_or(|stuck| stuck.pid == Pid(7) && stuck.card == Some(0)));
        stuck.is_some()
    }

    #[test]
    fn a_child_of_root_is_everybodys_and_one_of_a_user_only_his() {
        for (owner, viewer, expected) in [
            (ROOT, ROOT, true),
            (ROOT, ALICE, true),
            (ALICE, ALICE, true),
            (ALICE, BOB, false),
            // Else any user could keep root from looking.
            (ALICE, ROOT, false),
        ] {
            let written = Written { state: 'D', owner, tracer: 0 };
            assert_eq!(is_believed(&written, viewer), expected, "of {owner}, seen by {viewer}");
        }
    }

    #[test]
    fn a_process_that_is_held_or_gone_is_in_no_call() {
        for (state, expected) in
            [('D', true), ('R', true), ('t', false), ('T', false), ('Z', false), ('X', false)]
        {
            assert_eq!(is_believed(&Written { state, owner: ROOT, tracer: 0 }, ROOT), expected, "{state}");
        }
        assert!(!is_believed(&Written { state: 'D', owner: ROOT, tracer: 99 }, ROOT), "a debugger holds it");
    }
}
