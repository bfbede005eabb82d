//! A loader process: takes orders, reads files for real, burns CPU as decoding does, hands batches over.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::WorkError;
use super::actor::{Actor, Role, call_main_thread, die_with_parent};
use super::effort::burn;
use super::shared_memory::{self, Handed};
use super::source::Source;
use super::specification::Train;
use super::truth::LoaderTime;

const ORDER: u8 = 1;

/// A rank's end of one loader.
pub(super) struct Loader {
    process: Child,
    orders: ChildStdin,
    batches: ChildStdout,
    /// What it hands over in shared memory.
    handed: Handed,
}

/// A batch as its loader announces it.
pub(super) struct Batch {
    /// What the loader spent on it.
    pub(super) time: LoaderTime,
    /// How often the kernel refused the memory for it.
    pub(super) refusals: u64,
}

impl Loader {
    /// Starts loader `number` of `rank`, and gives it its first orders.
    pub(super) fn start(actor: &Actor, rank: usize, number: u32, prefetch: u32) -> Result<Self, WorkError> {
        let mut process = actor
            .another(Role::Loader { rank, number }, &Actor::own_command())?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(WorkError::Start)?;
        let (Some(orders), Some(batches)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(WorkError::Start(io::ErrorKind::BrokenPipe.into()));
        };
        let handed = Handed::by(process.id());
        let mut loader = Self { process, orders, batches, handed };
        for _ in 0..prefetch.max(1) {
            loader.order()?;
        }
        Ok(loader)
    }

    /// The loader's process.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next batch, orders another one, and returns what the loader says about this one.
    pub(super) fn next_batch(&mut self) -> Result<Batch, WorkError> {
        let mut bytes = [0; FIGURES * 8];
        self.batches.read_exact(&mut bytes).map_err(WorkError::Pipe)?;
        self.order()?;
        let mut figures = bytes.chunks_exact(8).map(|chunk| {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            f64::from_ne_bytes(number)
        });
        let mut next = || figures.next().unwrap_or_default();
        let time =
            LoaderTime { reading_s: next(), decoding_s: next(), decoding_cpu_s: next(), waiting_s: next() };
        Ok(Batch { time, refusals: whole(next()) })
    }

    /// Gives back the shared memory of the last batch.
    pub(super) fn release_batch(&mut self) {
        self.handed.release_next();
    }

    fn order(&mut self) -> Result<(), WorkError> {
        self.orders.write_all(&[ORDER]).map_err(WorkError::Pipe)
    }
}

/// Waits until some loader has a batch, and returns which; the one at `turn` where several have.
pub(super) fn next_ready(loaders: &[Loader], turn: usize) -> Result<usize, WorkError> {
    loop {
        let mut waiting: Vec<PollFd<'_>> =
            loaders.iter().map(|loader| PollFd::new(&loader.batches, PollFlags::IN)).collect();
        match rustix::event::poll(&mut waiting, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(WorkError::Pipe(error.into())),
        }
        let count = loaders.len();
        let ready = (0..count)
            .map(|offset| (turn + offset) % count)
            .find(|&position| !waiting[position].revents().is_empty());
        if let Some(ready) = ready {
            return Ok(ready);
        }
    }
}

/// How many figures a loader says about each batch.
const FIGURES: usize = 5;

/// Works as a loader until the rank closes the order pipe.
pub(super) fn work(actor: &Actor, train: &Train, rank: usize, number: u32) -> Result<(), WorkError> {
    die_with_parent()?;
    call_main_thread(c"pt_data_worker");
    let mut source = Source::new(actor, train, rank, number).map_err(WorkError::Read)?;
    let mut sequence = 0;
    let (mut orders, mut batches) = (io::stdin().lock(), io::stdout().lock());
    loop {
        let mut spent = LoaderTime::default();
        let mut byte = [0];
        let asked = Instant::now();
        if orders.read(&mut byte).map_err(WorkError::Pipe)? == 0 {
            return Ok(());
        }
        spent.waiting_s = asked.elapsed().as_secs_f64();
        let began = Instant::now();
        let bytes = source.read(train.batch_bytes).map_err(WorkError::Read)?;
        spent.reading_s = began.elapsed().as_secs_f64();
        let began = Instant::now();
        spent.decoding_cpu_s = burn(bytes, Duration::from_secs_f64(train.decode_ms.max(0.0) / 1e3));
        spent.decoding_s = began.elapsed().as_secs_f64();
        let refusals = match train.shared_bytes {
            0 => 0,
            length => shared_memory::hand_over(sequence, length, number).map_err(WorkError::SharedMemory)?,
        };
        sequence += 1;
        let figures =
            [spent.reading_s, spent.decoding_s, spent.decoding_cpu_s, spent.waiting_s, refusals as f64];
        let message: Vec<u8> = figures.into_iter().flat_map(f64::to_ne_bytes).collect();
        batches.write_all(&message).and_then(|()| batches.flush()).map_err(WorkError::Pipe)?;
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count, never negative")]
fn whole(value: f64) -> u64 {
    value as u64
}
