//! What a member measures itself, so that a scenario knows the truth without asking any monitor.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::board::BoxDirectory;
use crate::place::plan::Member;
use crate::place::process::ProcessIdentity;

/// How often a member writes its figures.
const WRITE_EVERY: Duration = Duration::from_millis(250);

/// What a process of a member is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It uses a card.
    CardUser,
    /// It prepares batches for one that does.
    Loader,
    /// It started the others.
    Starter,
}

/// One process of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountedProcess {
    /// Which process.
    #[serde(flatten)]
    pub identity: ProcessIdentity,
    /// What it is to the member.
    pub part: Part,
    /// Its card, by position on the board.
    pub card: Option<usize>,
}

/// What the main thread of a process can be doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// Waiting for the next batch.
    WaitingForData,
    /// A kernel runs.
    OnTheCard,
    /// A batch is copied to the card.
    Copying,
    /// A checkpoint is written.
    Saving,
    /// The main thread itself works, and the card has nothing to do.
    HostCode,
    /// Nobody works.
    Pausing,
    /// Bytes move between the ranks.
    Exchanging,
    /// The card spins until the other ranks are there.
    WaitingForOthers,
    /// Waiting for memory of the card.
    WaitingForMemory,
    /// Waiting for a request.
    WaitingForRequests,
    /// Nothing to do.
    Idle,
}

/// Time that loaders spent, in seconds over all loaders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LoaderTime {
    /// Inside reads.
    pub reading_s: f64,
    /// Decoding, by the clock on the wall.
    pub decoding_s: f64,
    /// Decoding, by the CPU's account.
    pub decoding_cpu_s: f64,
    /// Waiting for the order to make a batch: the rank is not hungry.
    pub waiting_s: f64,
}

/// The figures of one process that uses a card, all counted since it became ready.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Whether it does what it was made for.
    pub ready: bool,
    /// Seconds since boot when these figures were taken.
    pub at_s: f64,
    /// Seconds since boot when it became ready.
    pub ready_at_s: f64,
    /// The processes of the member that this one knows.
    pub processes: Vec<AccountedProcess>,
    /// Steps or requests done.
    pub steps: u64,
    /// Requests that wait.
    pub queue: u64,
    /// How long the main thread was at what, in seconds.
    pub spans_s: BTreeMap<Span, f64>,
    /// What its loaders did.
    pub loaders: LoaderTime,
    /// Bytes of card memory held.
    pub bytes_held: u64,
    /// How often a request for memory, for a card or for a thread was refused.
    pub refusals: u64,
    /// Bytes of checkpoints written.
    #[serde(default)]
    pub written_bytes: u64,
    /// CPU time of the main thread, in seconds.
    #[serde(default)]
    pub main_cpu_s: f64,
    /// Seconds since boot when a kernel last ended.
    pub worked_at_s: Option<f64>,
}

/// Keeps the figures of one process and writes them to its truth file.
pub struct Account {
    path: PathBuf,
    state: Mutex<AccountState>,
}

struct AccountState {
    figures: Figures,
    current: Option<(Span, Instant)>,
}

impl LoaderTime {
    /// Adds what another batch took.
    pub fn add(&mut self, other: &Self) {
        self.reading_s += other.reading_s;
        self.decoding_s += other.decoding_s;
        self.decoding_cpu_s += other.decoding_cpu_s;
        self.waiting_s += other.waiting_s;
    }
}

impl Account {
    /// Opens the account of rank `rank` of `member` and writes it from a thread of its own from now on.
    ///
    /// # Errors
    /// Fails when no thread can be started.
    pub fn open(directory: &BoxDirectory, member: &str, rank: usize) -> io::Result<Arc<Self>> {
        let state = AccountState { figures: Figures::default(), current: None };
        let account = Arc::new(Self { path: file_of(directory, member, rank), state: Mutex::new(state) });
        let writer = Arc::clone(&account);
        std::thread::Builder::new().name("pt_tcpstore_uv".to_owned()).spawn(move || {
            loop {
                // A full disk must not end the workload; the reader sees that the figures are old.
                let _ = writer.write();
                std::thread::sleep(WRITE_EVERY);
            }
        })?;
        Ok(account)
    }

    /// Adds a process of the member.
    pub fn add_process(&self, pid: u32, part: Part, card: Option<usize>) {
        if let Some(identity) = ProcessIdentity::of(pid) {
            self.lock().figures.processes.push(AccountedProcess { identity, part, card });
        }
    }

    /// Begins to count: whatever was before was preparation.
    pub fn ready(&self) {
        let mut state = self.lock();
        state.figures.ready = true;
        state.figures.ready_at_s = seconds_since_boot();
        state.figures.steps = 0;
        state.figures.spans_s.clear();
        state.figures.loaders = LoaderTime::default();
    }

    /// Does `work` and books its time as `span`.
    pub fn during<T>(&self, span: Span, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        self.lock().current = Some((span, started));
        let result = work();
        let mut state = self.lock();
        state.current = None;
        *state.figures.spans_s.entry(span).or_default() += started.elapsed().as_secs_f64();
        if span == Span::OnTheCard {
            state.figures.worked_at_s = Some(seconds_since_boot());
        }
        result
    }

    /// Changes figures.
    pub fn change(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.lock().figures);
    }

    /// Writes the figures, the running span included.
    ///
    /// # Errors
    /// Fails when the truth file cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let mut figures = {
            let state = self.lock();
            let mut figures = state.figures.clone();
            if let Some((span, since)) = state.current {
                *figures.spans_s.entry(span).or_default() += since.elapsed().as_secs_f64();
            }
            figures
        };
        figures.at_s = seconds_since_boot();
        let draft = self.path.with_extension("draft");
        fs::write(&draft, serde_json::to_vec(&figures)?)?;
        fs::rename(&draft, &self.path)
    }

    fn lock(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seconds since boot, the clock of all figures.
pub fn seconds_since_boot() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn file_of(directory: &BoxDirectory, member: &str, rank: usize) -> PathBuf {
    directory.truth().join(format!("{member}.{rank}.json"))
}

/// Reads one truth file; `None` when it is not there yet.
fn read(path: &Path) -> Option<Figures> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The figures of every rank of `member` that has written some.
pub fn figures_of(directory: &BoxDirectory, member: &Member) -> Vec<Figures> {
    (0..accounts_of(member)).filter_map(|rank| read(&file_of(directory, &member.name, rank))).collect()
}

/// Whether every rank of `member` does what it was made for.
pub fn is_ready(directory: &BoxDirectory, member: &Member) -> bool {
    let figures = figures_of(directory, member);
    figures.len() == accounts_of(member) && figures.iter().all(|figures| figures.ready)
}

/// Whether the first process of `member` is meant to end while the member lives on.
pub fn may_end_early(member: &Member) -> bool {
    member.work.may_end_early()
}

fn accounts_of(member: &Member) -> usize {
    member.work.accounts(member.cards.len())
}
