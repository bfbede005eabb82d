//! Calls of our child that did not return in time, and what the child does meanwhile.

use std::time::Duration;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{ProcessState, StuckCall};

use super::call::Call;
use super::heartbeat::Beat;
use crate::clock;
use crate::proc::{ProcRoot, ProcessDirectory};

/// A call that takes longer, while the sweep is not over in time, is as good as one that does not return.
const SLOW_CALL: Duration = Duration::from_secs(1);

/// The same for a call that wakes a card, which is worth naming, but usual.
const SLOW_TO_WAKE: Duration = Duration::from_secs(2);

/// Returns the call that keeps a sweep from ending, where one took so long that the driver hardly answers any more.
pub(super) fn crawling(pid: Pid, beat: &Beat) -> Option<StuckCall> {
    let waited = clock::since(beat.since);
    if let Some(call) = beat.call.filter(|call| !call.is_start()) {
        let may_be_waking = call.wakes_a_card();
        let slow = if may_be_waking { SLOW_TO_WAKE } else { SLOW_CALL };
        if waited >= slow {
            let now = call_of_ours(pid, call, beat.card, waited);
            return Some(StuckCall { may_be_waking, ..now });
        }
    }
    let slowest = beat.slowest.filter(|slowest| slowest.took >= SLOW_CALL)?;
    let returned = call_of_ours(pid, slowest.call, slowest.card, slowest.took);
    Some(StuckCall { has_returned: true, ..returned })
}

/// Returns a call of our child that has taken this long, with what the child does at this moment.
pub(super) fn call_of_ours(pid: Pid, call: Call, card: Option<u32>, waited: Duration) -> StuckCall {
    let mut stuck = StuckCall {
        pid,
        start_ticks: 0,
        call: Some(call.symbol().to_owned()),
        card,
        for_s: waited.as_secs_f64(),
        from_earlier_run: false,
        survived_kill: false,
        has_returned: false,
        may_be_waking: false,
        state: Reading::Failed(Failure::Vanished),
        wait_channel: Reading::Failed(Failure::Vanished),
    };
    look_at(&mut stuck);
    stuck
}

/// Reads the state of our own child, where it waits, and when it started.
pub(super) fn look_at(stuck: &mut StuckCall) {
    let Ok(mut proc) = ProcRoot::open(std::path::Path::new("/proc")) else {
        return;
    };
    let Ok(directory) = ProcessDirectory::open(&proc, stuck.pid) else {
        return;
    };
    if let Ok(stat) = directory.stat(&mut proc) {
        let is_there = stat.state != Some(ProcessState::Zombie);
        stuck.start_ticks = stat.start_ticks;
        stuck.state = stat.state.map_or_else(Reading::default, Reading::Known);
        if is_there {
            stuck.wait_channel = directory.wait_channel(&mut proc, true);
        }
    }
}
