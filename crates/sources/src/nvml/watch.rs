//! Waiting for the child, with a limit for each call and for all of it.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::call::Call;
use super::heartbeat::{Beat, newest_beat};
use super::line::Received;
use super::protocol::Answer;
use super::spawn::Process;
use crate::clock;

/// What came of waiting.
pub(super) enum Heard {
    /// The child said something.
    Answer(Answer),
    /// The child has ended, or says what nobody understands.
    End,
    /// The call has not returned within its limit.
    Stuck(Beat),
    /// The moment until which was to be waited has come.
    Late(Option<Beat>),
}

/// How long one call may take.
const CALL_LIMIT: Duration = Duration::from_secs(2);

/// How long the call may take that wakes a card which nothing kept initialised: seconds are usual then.
const WAKE_LIMIT: Duration = Duration::from_secs(10);

/// What is there already when the moment has come is still taken, for this long: a child that never stops talking must
/// not keep anybody.
const TAKING: Duration = Duration::from_millis(200);

/// Where the child's end does not wake us, it is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits for the next answer.
///
/// `until` is a moment on the clock of [`clock::awake`]; `start_limit` is how long the library may take to start.
pub(super) fn hear(process: &mut Process, until: Duration, start_limit: Duration) -> Heard {
    loop {
        if clock::awake() >= until + TAKING {
            return Heard::Late(newest_beat(&process.heartbeat));
        }
        // Asked before the lines are read, so that the last words of a child are heard.
        let has_ended = process.has_ended();
        match process.lines.next() {
            Received::Line(line) => {
                return serde_json::from_slice(&line).map_or(Heard::End, Heard::Answer);
            }
            Received::End => return Heard::End,
            // Something that the library started may hold the other end of the connection.
            Received::Nothing if has_ended => return Heard::End,
            Received::Nothing => {}
        }
        let now = clock::awake();
        let beat = newest_beat(&process.heartbeat);
        let mut wake = until;
        if let Some(beat) = beat
            && let Some(call) = beat.call
        {
            let call_ends = beat.since + limit(call, start_limit);
            if now >= call_ends {
                return Heard::Stuck(beat);
            }
            wake = wake.min(call_ends);
        }
        if now >= until {
            return Heard::Late(beat);
        }
        // The limit of a call that began after this look is found at the next one.
        wait_for_word(process, wake.saturating_sub(now).min(CALL_LIMIT));
    }
}

/// Returns how long a call may take.
fn limit(call: Call, start_limit: Duration) -> Duration {
    if call.is_start() {
        start_limit
    } else if call.wakes_a_card() {
        WAKE_LIMIT
    } else {
        CALL_LIMIT
    }
}

/// Waits until the child says something or ends.
fn wait_for_word(process: &Process, wait: Duration) {
    let connection = PollFd::new(process.lines.connection(), PollFlags::IN);
    // Interrupted or not: the caller looks again.
    let _ = if let Some(handle) = process.handle() {
        let timeout = Timespec::try_from(wait).ok();
        poll(&mut [connection, PollFd::new(handle, PollFlags::IN)], timeout.as_ref())
    } else {
        let timeout = Timespec::try_from(wait.min(LOOK_EVERY)).ok();
        poll(&mut [connection], timeout.as_ref())
    };
}

#[cfg(test)]
mod tests {
    use super::{Heard, hear};
    use crate::clock;
    use crate::nvml::driver::ChildProgram;
    use crate::nvml::line::Received;
    use crate::nvml::protocol::Answer;
    use crate::nvml::spawn::{Process, start};
    use gpuwhy_model::reading::Absence;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Starts a shell in the child's place; its standard input is the connection.
    fn shell(script: &str) -> Process {
        let arguments_before = vec!["-c".into(), script.into()];
        start(&ChildProgram { path: "/bin/sh".into(), arguments_before }, None).unwrap()
    }

    fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let deadline = clock::awake() + PATIENCE;
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(clock::awake() < deadline, "{what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_child_that_never_stops_talking_keeps_nobody() {
        let mut process = shell("while :; do echo '{\"NotStarted\":\"unsupported\"}' >&0; done");
        let until = clock::awake() + Duration::from_millis(100);
        let heard = wait_for("the moment comes", || match hear(&mut process, until, PATIENCE) {
            Heard::Answer(Answer::NotStarted(Absence::Unsupported)) => None,
            other => Some(other),
        });
        assert!(matches!(heard, Heard::Late(None)));
        assert!(process.end(PATIENCE));
    }

    #[test]
    fn the_end_of_a_child_is_noticed_though_something_it_started_lives_and_that_is_ended_too() {
        let mut process = shell("sleep 1000 <&0 & echo $! >&0; exit 3");
        let line = wait_for("the shell says what it started", || match process.lines.next() {
            Received::Line(line) => Some(String::from_utf8(line).unwrap()),
            Received::Nothing | Received::End => None,
        });
        let heard = hear(&mut process, clock::awake() + PATIENCE, PATIENCE);
        assert!(matches!(heard, Heard::End), "the end, and not that time is over");
        assert_eq!(process.how_it_ended().as_deref(), Some("exit status: 3"));
        wait_for("what it started has ended", || {
            let stat = std::fs::read_to_string(format!("/proc/{line}/stat")).unwrap_or_default();
            (stat.is_empty() || stat.contains(") Z ")).then_some(())
        });
    }
}
