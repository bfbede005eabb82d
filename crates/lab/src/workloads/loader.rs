//! A loader process: takes orders, reads files for real, burns CPU as decoding does, hands batches over.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::WorkError;
use super::actor::{Actor, Role, call_main_thread, die_with_parent};
use super::specification::{Data, Train};
use super::truth::LoaderTime;
use crate::board::BoxDirectory;
use crate::place::data_set;
use crate::place::store::data_file_name;

const ORDER: u8 = 1;
const READ_AT_ONCE: usize = 256 * 1024;

/// A rank's end of one loader.
pub(super) struct Loader {
    process: Child,
    orders: ChildStdin,
    batches: ChildStdout,
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
        let mut loader = Self { process, orders, batches };
        for _ in 0..prefetch.max(1) {
            loader.order()?;
        }
        Ok(loader)
    }

    /// The loader's process.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next batch, orders another one, and returns what the loader spent on this one.
    pub(super) fn next_batch(&mut self) -> Result<LoaderTime, WorkError> {
        let mut bytes = [0; 32];
        self.batches.read_exact(&mut bytes).map_err(WorkError::Pipe)?;
        self.order()?;
        let mut seconds = bytes.chunks_exact(8).map(|chunk| {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            f64::from_ne_bytes(number)
        });
        let mut next = || seconds.next().unwrap_or_default();
        Ok(LoaderTime { reading_s: next(), decoding_s: next(), decoding_cpu_s: next(), waiting_s: next() })
    }

    fn order(&mut self) -> Result<(), WorkError> {
        self.orders.write_all(&[ORDER]).map_err(WorkError::Pipe)
    }
}

/// Works as a loader until the rank closes the order pipe.
pub(super) fn work(train: &Train, rank: usize, number: u32) -> Result<(), WorkError> {
    die_with_parent()?;
    call_main_thread(c"pt_data_worker");
    let mut source = Source::new(train, rank, number);
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
        spent.decoding_cpu_s = decode(bytes, Duration::from_secs_f64(train.decode_ms.max(0.0) / 1e3));
        spent.decoding_s = began.elapsed().as_secs_f64();
        let figures = [spent.reading_s, spent.decoding_s, spent.decoding_cpu_s, spent.waiting_s];
        let message: Vec<u8> = figures.into_iter().flat_map(f64::to_ne_bytes).collect();
        batches.write_all(&message).and_then(|()| batches.flush()).map_err(WorkError::Pipe)?;
    }
}

/// Burns `amount` of CPU time on `bytes` and returns what was burnt, in seconds.
fn decode(bytes: &[u8], amount: Duration) -> f64 {
    let start = thread_cpu_seconds();
    let mut digest: u64 = 0;
    loop {
        for block in bytes.chunks(64).take(2048) {
            for &byte in block {
                digest = digest.rotate_left(5) ^ u64::from(byte).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
        }
        std::hint::black_box(digest);
        let spent = thread_cpu_seconds() - start;
        if spent >= amount.as_secs_f64() {
            return spent;
        }
    }
}

fn thread_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Where a loader's bytes come from: every `step`-th file, one after the other, for ever.
struct Source {
    folder: Option<PathBuf>,
    files: u32,
    number: u32,
    step: u32,
    open: Option<File>,
    block: Vec<u8>,
}

impl Source {
    fn new(train: &Train, rank: usize, number: u32) -> Self {
        let folder = match &train.data {
            Data::Disk => Some(BoxDirectory::mount_point("data")),
            Data::Store(name) => Some(BoxDirectory::mount_point(name)),
            Data::Memory => None,
        };
        let files = folder.as_ref().map_or(0, |folder| count_files(folder));
        // Ranks read different parts of the data, else one would find in memory what another has read.
        let part = u32::try_from(rank).unwrap_or(0).wrapping_mul(files / 2 + 1);
        let number = number.wrapping_add(part);
        Self { folder, files, number, step: train.loaders.max(1), open: None, block: vec![0; READ_AT_ONCE] }
    }

    /// Reads `length` bytes and returns the last block of them.
    fn read(&mut self, length: u64) -> io::Result<&[u8]> {
        let mut left = length;
        while left > 0 && self.folder.is_some() {
            let wanted = usize::try_from(left).unwrap_or(READ_AT_ONCE).min(READ_AT_ONCE);
            let mut file = match self.open.take() {
                Some(file) => file,
                None => self.open_next()?,
            };
            let got = file.read(&mut self.block[..wanted])?;
            if got == 0 {
                // The next reader of this file asks the disk again.
                data_set::forget(&file)?;
                continue;
            }
            left -= got as u64;
            self.open = Some(file);
        }
        Ok(&self.block)
    }

    fn open_next(&mut self) -> io::Result<File> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        if self.files == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open(folder.join(data_file_name(self.number % self.files)))?;
        self.number = self.number.wrapping_add(self.step);
        data_set::forget(&file)?;
        Ok(file)
    }
}

fn count_files(folder: &std::path::Path) -> u32 {
    let mut count = 0;
    while folder.join(data_file_name(count)).exists() {
        count += 1;
    }
    count
}
