//! The parent's side: one child, asked for sweeps, watched, given up when it does not come back.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample, ReadTime, StuckCall};

use super::call::Call;
use super::heartbeat::{Beat, newest_beat};
use super::partial::{Stand, Sweep, timed_out};
use super::protocol::{Answer, Effort, Identity, Request, Seen};
use super::spawn::{self, Process};
use super::stuck::{call_of_ours, crawling, look_at};
use super::watch::{Heard, hear};
use crate::clock;

/// How long a killed child is waited for.
const END_WAIT: Duration = Duration::from_millis(400);

/// Which program becomes the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildProgram {
    /// Its path; by default the running program itself.
    pub path: PathBuf,
    /// Arguments that lead to [`super::child_main`], before [`super::CHILD_COMMAND`] and the child's own.
    pub arguments_before: Vec<OsString>,
}

impl Default for ChildProgram {
    fn default() -> Self {
        Self { path: PathBuf::from("/proc/self/exe"), arguments_before: Vec::new() }
    }
}

/// What a driver is made with.
#[derive(Debug, Clone, Default)]
pub(crate) struct DriverOptions {
    pub(crate) program: ChildProgram,
    /// The library; none: as the loader finds it.
    pub(crate) library: Option<PathBuf>,
}

/// What is wanted of a sweep.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// The values too that hardly change, or cost time.
    pub(crate) full: bool,
    /// The PCIe throughput too, unless it was read before: it takes 40 ms a card.
    pub(crate) throughput: bool,
}

/// What a sweep gave.
#[derive(Debug)]
pub(crate) struct Swept {
    pub(crate) read: ReadTime,
    pub(crate) value: Reading<NvmlSample>,
    pub(crate) stuck: Vec<StuckCall>,
}

/// The NVIDIA library of this machine, at arm's length.
pub(crate) struct Driver {
    options: DriverOptions,
    state: State,
    header: NvmlSample,
    /// Who the cards are, from the first full sweep.
    known: Vec<Identity>,
    seen: Vec<Seen>,
    sweep: Option<Sweep>,
    throughput_is_read: bool,
    /// When the call began that did not return.
    stuck_since: Option<Duration>,
    /// What the child had done at the end of the newest sweep.
    effort: Effort,
}

enum State {
    /// Nothing was started yet.
    Idle,
    /// The child loads and starts the library.
    Starting { process: Process, since: Duration },
    /// The child waits for requests or works on one.
    Ready { process: Process },
    /// There is nothing more to ask.
    Over(Box<Over>),
}

/// Why there is nothing more to ask.
struct Over {
    absence: Absence,
    /// The call that did not return, if it was one.
    stuck: Option<StuckCall>,
    /// Our child, should it have survived its kill.
    survivor: Option<Process>,
}

impl Driver {
    pub(crate) fn new(options: DriverOptions) -> Self {
        Self {
            options,
            state: State::Idle,
            header: NvmlSample::default(),
            known: Vec::new(),
            seen: Vec::new(),
            sweep: None,
            throughput_is_read: false,
            stuck_since: None,
            effort: Effort::default(),
        }
    }

    /// Starts the child, unless one of an earlier run is still stuck.
    pub(crate) fn start(&mut self, survivor: Option<StuckCall>) {
        if !matches!(self.state, State::Idle) {
            return;
        }
        if let Some(stuck) = survivor {
            let absence = timed_out(stuck.call.as_deref().unwrap_or(Call::Init.symbol()), stuck.for_s);
            self.state = State::Over(Box::new(Over { absence, stuck: Some(stuck), survivor: None }));
            return;
        }
        self.state = match spawn::start(&self.options.program, self.options.library.clone()) {
            Ok(process) => State::Starting { process, since: clock::awake() },
            Err(failure) => over(Absence::Failed(failure)),
        };
    }

    /// Returns the child, while there is one.
    pub(crate) fn child(&self) -> Option<Pid> {
        match &self.state {
            State::Starting { process, .. } | State::Ready { process } => Some(process.pid),
            State::Over(over) => over.survivor.as_ref().map(|process| process.pid),
            State::Idle => None,
        }
    }

    /// Returns the child while it is in no call.
    pub(crate) fn idle_child(&self) -> Option<Pid> {
        match &self.state {
            State::Ready { process } if self.sweep.is_none() => Some(process.pid),
            _ => None,
        }
    }

    /// Returns what asking the driver has cost, up to the end of the newest sweep.
    pub(crate) const fn effort(&self) -> Effort {
        self.effort
    }

    /// Waits for the library and its cards to be ready for as long as given, but for the start of the library no longer
    /// than `limit`. Returns whether there is nothing more to wait for.
    pub(crate) fn wait_ready(&mut self, wait: Duration, limit: Duration) -> bool {
        let State::Starting { process, since } = &mut self.state else {
            return true;
        };
        let ends = *since + limit;
        let now = clock::awake();
        let until = if now < ends { ends.min(now + wait) } else { now + wait };
        match hear(process, until, limit) {
            Heard::Answer(Answer::Started(init_ms)) => {
                self.header.init_ms = init_ms;
                let State::Starting { process, .. } = std::mem::replace(&mut self.state, State::Idle) else {
                    return true;
                };
                self.state = State::Ready { process };
                true
            }
            Heard::Answer(Answer::NotStarted(absence)) => {
                self.end(absence);
                true
            }
            Heard::Answer(_) | Heard::End => {
                self.ended_by_itself();
                true
            }
            // Once the library has started, its cards wake one by one, each within a limit of its own.
            Heard::Late(beat) if clock::awake() >= ends && !has_started(beat.as_ref()) => {
                self.give_up(beat);
                true
            }
            Heard::Late(_) => false,
            Heard::Stuck(beat) => {
                self.give_up(Some(beat));
                true
            }
        }
    }

    /// Asks for a sweep. Where the one before is not over yet, that one goes on instead.
    pub(crate) fn ask(&mut self, wanted: Wanted) {
        let State::Ready { process } = &mut self.state else {
            return;
        };
        if self.sweep.is_some() {
            return;
        }
        let throughput = wanted.throughput && !self.throughput_is_read;
        let full = wanted.full || self.known.is_empty();
        let request = Request { full, throughput, seen: self.seen.clone() };
        let sent = serde_json::to_vec(&request).ok().is_some_and(|mut line| {
            line.push(b'\n');
            send_all(process, &line)
        });
        if !sent {
            self.ended_by_itself();
            return;
        }
        self.throughput_is_read |= throughput;
        self.sweep = Some(Sweep::begin());
    }

    /// Collects the sweep that was asked for, waiting until a moment on the clock of [`clock::awake`].
    pub(crate) fn collect(&mut self, until: Duration) -> Swept {
        let until = until.max(clock::awake());
        loop {
            let (State::Ready { process }, Some(sweep)) = (&mut self.state, &mut self.sweep) else {
                return self.without_sweep();
            };
            // The library has started: no call may take its time any more.
            match hear(process, until, Duration::ZERO) {
                Heard::Answer(Answer::Header(header)) => {
                    self.header = NvmlSample { init_ms: self.header.init_ms, ..*header };
                }
                Heard::Answer(Answer::Counted(count)) => sweep.count = Some(count),
                Heard::Answer(Answer::Next(card)) => sweep.next = Some(*card),
                Heard::Answer(Answer::Card(card)) => {
                    sweep.next = None;
                    sweep.cards.push(*card);
                }
                Heard::Answer(Answer::Done(tail)) => {
                    let Some(mut sweep) = self.sweep.take() else {
                        continue;
                    };
                    self.effort = tail.effort;
                    sweep.tail = *tail;
                    self.remember(&sweep.cards);
                    return Swept {
                        read: sweep.read,
                        value: Reading::Known(sweep.sample(&self.header)),
                        stuck: Vec::new(),
                    };
                }
                Heard::Answer(Answer::Started(_) | Answer::NotStarted(_)) | Heard::End => {
                    self.ended_by_itself();
                }
                Heard::Stuck(beat) => {
                    let Some(sweep) = self.sweep.take() else {
                        continue;
                    };
                    self.give_up(Some(beat));
                    let value =
                        Reading::Known(sweep.sample_so_far(&self.header, &self.known, Stand::Stuck(beat)));
                    return Swept { read: sweep.read, value, stuck: self.stuck_calls() };
                }
                Heard::Late(beat) => {
                    let Some(sweep) = &self.sweep else {
                        continue;
                    };
                    // Each call is quick enough, all together are not: what came so far must do.
                    let value =
                        Reading::Known(sweep.sample_so_far(&self.header, &self.known, Stand::Late(beat)));
                    let stuck = beat.and_then(|beat| crawling(process.pid, &beat)).into_iter().collect();
                    return Swept { read: sweep.read, value, stuck };
                }
            }
        }
    }

    /// Returns what there is to say when no sweep is under way.
    fn without_sweep(&mut self) -> Swept {
        let value = match &self.state {
            State::Over(over) => over.absence.clone().reading(),
            State::Idle | State::Starting { .. } | State::Ready { .. } => {
                Reading::Failed(Failure::NotReached)
            }
        };
        Swept { read: clock::now(), value, stuck: self.stuck_calls() }
    }

    /// Returns the call that does not return, as it is now.
    fn stuck_calls(&mut self) -> Vec<StuckCall> {
        let State::Over(over) = &mut self.state else {
            return Vec::new();
        };
        let Over { stuck: Some(stuck), survivor, .. } = &mut **over else {
            return Vec::new();
        };
        if let Some(process) = survivor {
            stuck.survived_kill = !process.is_gone();
            if stuck.survived_kill {
                look_at(stuck);
            }
        }
        if stuck.survived_kill
            && let Some(since) = self.stuck_since
        {
            stuck.for_s = clock::since(since).as_secs_f64();
        }
        vec![stuck.clone()]
    }

    /// Keeps what later sweeps and reports need of this one.
    fn remember(&mut self, cards: &[CardSample]) {
        for card in cards.iter().filter(|card| card.parent.is_none()) {
            let place = card.index as usize;
            if self.seen.len() <= place {
                self.seen.resize(place + 1, Seen::default());
            }
            let seen = &mut self.seen[place];
            let newest = |values: &Reading<Vec<gpuwhy_model::sample::TimedValue>>| {
                values.known().and_then(|values| values.last()).map_or(0, |timed| timed.time_us)
            };
            seen.busy = seen.busy.max(newest(&card.busy_samples));
            seen.memory_busy = seen.memory_busy.max(newest(&card.memory_busy_samples));
            let work = card.client_work.known().into_iter().flatten().map(|row| row.time_us).max();
            seen.work = seen.work.max(work.unwrap_or(0));
            if card.uuid.is_known() && !self.known.iter().any(|known| known.index == card.index) {
                self.known.push(Identity::of(card));
            }
        }
    }

    /// Ends the child because of a call that does not return.
    fn give_up(&mut self, beat: Option<Beat>) {
        let state = std::mem::replace(&mut self.state, State::Idle);
        let (State::Starting { mut process, .. } | State::Ready { mut process }) = state else {
            self.state = state;
            return;
        };
        let now = clock::awake();
        let since = beat.map_or(now, |beat| beat.since);
        let call = beat.and_then(|beat| beat.call).unwrap_or(Call::Init);
        let waited = now.saturating_sub(since);
        let for_s = waited.as_secs_f64();
        // Where it waits must be read before the kill, in case that it dies of it.
        let mut stuck = call_of_ours(process.pid, call, beat.and_then(|beat| beat.card), waited);
        stuck.survived_kill = !process.end(END_WAIT);
        self.stuck_since = Some(since);
        let survivor = stuck.survived_kill.then_some(process);
        let absence = timed_out(call.symbol(), for_s);
        self.state = State::Over(Box::new(Over { absence, stuck: Some(stuck), survivor }));
    }

    /// Ends the child for a reason that it gave.
    fn end(&mut self, absence: Absence) {
        let state = std::mem::replace(&mut self.state, over(absence));
        if let State::Starting { mut process, .. } | State::Ready { mut process } = state {
            process.end(END_WAIT);
        }
        self.sweep = None;
    }

    /// Says how a child ended that was not told to.
    fn ended_by_itself(&mut self) {
        let how = match &mut self.state {
            State::Starting { process, .. } | State::Ready { process } => {
                let beat = newest_beat(&process.heartbeat).and_then(|beat| beat.call);
                process.end(END_WAIT);
                let how = process.how_it_ended().unwrap_or_else(|| "without a word".to_owned());
                beat.map_or(how.clone(), |call| format!("{how} in {}", call.symbol()))
            }
            State::Idle | State::Over(_) => return,
        };
        let error = format!("the process that asks the driver ended: {how}");
        self.end(Absence::Failed(Failure::Io { path: "libnvidia-ml.so.1".to_owned(), error }));
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let State::Starting { process, .. } | State::Ready { process } = &mut self.state {
            process.end(END_WAIT);
        }
    }
}

/// Returns whether the child makes a call that comes after the start of the library.
fn has_started(beat: Option<&Beat>) -> bool {
    beat.and_then(|beat| beat.call).is_some_and(|call| !call.is_start())
}

fn over(absence: Absence) -> State {
    State::Over(Box::new(Over { absence, stuck: None, survivor: None }))
}

fn send_all(process: &Process, mut bytes: &[u8]) -> bool {
    use rustix::io::Errno;
    use rustix::net::{SendFlags, send};
    while !bytes.is_empty() {
        match send(process.lines.connection(), bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}
