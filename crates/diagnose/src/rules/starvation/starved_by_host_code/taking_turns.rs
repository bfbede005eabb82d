//! Threads of an interpreter that fill one core together and no more: its lock lets one of them run at a time.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::ProcessRole;
use gpuwhy_model::scene::Process;

use crate::facts::names;
use crate::facts::team::main_thread_ran;

/// A thread that takes turns has at least this share.
const TURN_SHARE_MIN: f64 = 0.1;
/// Threads that take turns never have more than one core together; counters are a little off.
const ONE_CORE_MAX: f64 = 1.1;

/// Threads that take turns.
#[derive(Debug, PartialEq)]
pub(super) struct TakingTurns {
    /// How many.
    pub(super) threads: usize,
    /// Share of time in which one of them ran, at most 1.
    pub(super) together: f64,
}

/// Returns the threads of an interpreter that fill one core together, the main one among them.
pub(super) fn taking_turns(process: &Process, limits: &Limits) -> Option<TakingTurns> {
    let is_interpreted = matches!(
        process.role,
        Some(ProcessRole::Interpreter | ProcessRole::Main | ProcessRole::SpawnedWorker)
    );
    let together = process.cores.known()?.0;
    let fills_one_core = together >= limits.hot_thread_cores_min && together <= ONE_CORE_MAX;
    if !is_interpreted || !fills_one_core || main_thread_ran(process)? < TURN_SHARE_MIN {
        return None;
    }
    let others = process.threads.known()?.iter().filter(|thread| {
        thread.tid != process.key.pid
            && !names::is_driving_thread(&thread.name)
            && thread.cores.known().is_some_and(|cores| cores.0 >= TURN_SHARE_MIN)
    });
    let threads = 1 + others.count();
    (threads >= 2).then_some(TakingTurns { threads, together: together.min(1.0) })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::ProcessRole;
    use gpuwhy_model::scene::{Process, Thread};
    use gpuwhy_model::units::Cores;

    use super::taking_turns;

    fn threads_in_turn(role: Option<ProcessRole>, shares: &[f64]) -> Option<usize> {
        let mut process = Process { role, ..Process::default() };
        process.key.pid = Pid(100);
        process.thread_count = shares.len() as u64;
        process.cores = Reading::Known(Cores(shares.iter().sum()));
        let threads = shares.iter().zip(100..).map(|(cores, tid)| Thread {
            tid: Pid(tid),
            name: "python3".to_owned(),
            cores: Reading::Known(Cores(*cores)),
            ..Thread::default()
        });
        process.threads = Reading::Known(threads.collect());
        taking_turns(&process, &Limits::default()).map(|turns| turns.threads)
    }

    #[test]
    fn one_core_is_shared_by_turns() {
        let python = Some(ProcessRole::Interpreter);
        assert_eq!(threads_in_turn(python, &[0.35, 0.33, 0.3]), Some(3));
        assert_eq!(threads_in_turn(python, &[0.6, 0.6, 0.6]), None);
        assert_eq!(threads_in_turn(python, &[0.3, 0.3]), None);
        assert_eq!(threads_in_turn(python, &[0.0, 0.5, 0.5]), None);
        assert_eq!(threads_in_turn(None, &[0.35, 0.33, 0.3]), None);
    }
}
