//! Waiting for the child, with a limit for each call and for all of it.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

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

/// Waits for the next answer.
///
/// `until` is a moment on the clock of [`clock::awake`]; `call_limit` is how long one call may take.
pub(super) fn hear(process: &mut Process, until: Duration, call_limit: Duration) -> Heard {
    loop {
        match process.lines.next() {
            Received::Line(line) => {
                return serde_json::from_slice(&line).map_or(Heard::End, Heard::Answer);
            }
            Received::End => return Heard::End,
            Received::Nothing => {}
        }
        let now = clock::awake();
        let beat = newest_beat(&process.heartbeat);
        let call_ends = match beat {
            Some(beat) if beat.call.is_some() => {
                if now >= beat.since + call_limit {
                    return Heard::Stuck(beat);
                }
                beat.since + call_limit
            }
            _ => until,
        };
        if now >= until {
            return Heard::Late(beat);
        }
        // The limit of a call that began after this look is found at the next one.
        wait_readable(process, call_ends.min(until).saturating_sub(now).min(call_limit));
    }
}

fn wait_readable(process: &Process, wait: Duration) {
    let timeout = Timespec::try_from(wait).ok();
    // Interrupted or not: the caller looks again.
    let _ = poll(&mut [PollFd::new(process.lines.connection(), PollFlags::IN)], timeout.as_ref());
}
