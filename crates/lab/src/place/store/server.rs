//! The process behind a store: mounts it in its own mount namespace and answers the kernel until it dies.
//!
//! When this process ends, the kernel aborts the connection and every reader gets an error: nothing stays blocked.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::wire::{ASYNC_READ, Answer, Attributes, DIRECT_IO, MAJOR, MAX_PAGES, MINOR, Operation, Request};
use super::{Behaviour, Mounted, SILENT_FILE, data_file_name};

/// Why a store could not be served.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The FUSE device cannot be opened.
    #[error("cannot open /dev/fuse")]
    Device(#[source] io::Error),
    /// The kernel refused the mount.
    #[error("cannot mount the store `{name}`")]
    Mount {
        /// Name of the store.
        name: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The connection to the kernel broke.
    #[error("cannot talk to the kernel about the store `{name}`")]
    Connection {
        /// Name of the store.
        name: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

const ROOT: u64 = 1;
const FIRST_FILE: u64 = 2;
const FOLDER_MODE: u32 = 0o040_555;
const FILE_MODE: u32 = 0o100_444;
/// Entries never change, so the kernel may keep them for long (seconds).
const KEEP_FOR: u64 = 3600;
/// The largest answer to one read that the kernel may ask for (bytes).
const LARGEST_READ: u32 = 128 * 1024;
const PAGE: u32 = 4096;

/// Mounts the store and serves it until the connection ends; `ready` is called once the mount stands.
///
/// A silent store is ready only when its readers are unkillable, see `Server::rehearse`.
///
/// # Errors
/// Fails when `/dev/fuse` cannot be opened, the mount is refused, or the connection breaks.
pub fn serve(mounted: &Mounted, ready: impl FnOnce()) -> Result<(), StoreError> {
    let device = File::options().read(true).write(true).open("/dev/fuse").map_err(StoreError::Device)?;
    let name = mounted.store.name.clone();
    mount(mounted, &device)
        .map_err(|source| StoreError::Mount { name: name.clone(), source: source.into() })?;
    let mut server = Server::new(&mounted.store.behaviour, device);
    server.run(mounted, ready).map_err(|source| StoreError::Connection { name, source })
}

fn mount(mounted: &Mounted, device: &File) -> Result<(), Errno> {
    let options = format!(
        "fd={},rootmode={FOLDER_MODE:o},user_id={},group_id={},allow_other,default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let options = std::ffi::CString::new(options).map_err(|_| Errno::INVAL)?;
    rustix::mount::mount(
        mounted.store.source.as_str(),
        &mounted.point,
        mounted.store.kind.as_str(),
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY,
        options.as_c_str(),
    )
}

struct Server<'store> {
    behaviour: &'store Behaviour,
    device: File,
    /// The slow line that reads go over, so that opening a file does not wait for them.
    line: Option<Line>,
    /// While a silent store prepares: the reader to interrupt, and the request that it sent.
    rehearsal: Rehearsal,
}

/// How far a silent store is with making its readers unkillable.
enum Rehearsal {
    NotNeeded,
    Waiting(Child),
    Interrupted { reader: Child, unanswered: u64 },
    Done,
}

impl<'store> Server<'store> {
    fn new(behaviour: &'store Behaviour, device: File) -> Self {
        Self { behaviour, device, line: None, rehearsal: Rehearsal::NotNeeded }
    }

    fn run(&mut self, mounted: &Mounted, ready: impl FnOnce()) -> io::Result<()> {
        let mut ready = Some(ready);
        match *self.behaviour {
            Behaviour::Silent => self.rehearsal = Rehearsal::Waiting(rehearsing_reader(mounted)?),
            Behaviour::Slow { bytes_per_second, .. } => {
                self.line = Some(Line::open(self.device.try_clone()?, bytes_per_second)?);
            }
        }
        let mut message = vec![0; LARGEST_READ as usize + 4096];
        loop {
            if matches!(self.rehearsal, Rehearsal::NotNeeded | Rehearsal::Done)
                && let Some(ready) = ready.take()
            {
                ready();
            }
            let length = match self.device.read(&mut message) {
                Ok(length) => length,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR | Errno::NOENT | Errno::AGAIN) => continue,
                    // The mount is gone: nothing left to serve.
                    Some(Errno::NODEV) => return Ok(()),
                    _ => return Err(error),
                },
            };
            let Some(request) = Request::parse(&message[..length]) else { continue };
            let Some(answer) = self.answer(&request)? else { continue };
            self.send(&answer)?;
            if request.operation == Operation::Interrupt {
                self.finish_rehearsal()?;
            }
        }
    }

    fn send(&mut self, answer: &[u8]) -> io::Result<()> {
        match self.device.write(answer) {
            Ok(_) => Ok(()),
            // The asking process was interrupted meanwhile.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The message to send back, or none where the kernel expects none or shall wait.
    fn answer(&mut self, request: &Request<'_>) -> io::Result<Option<Vec<u8>>> {
        let unique = request.unique;
        let answer = match request.operation {
            Operation::Forget => return Ok(None),
            Operation::Init => self.init(request),
            Operation::Lookup => match request.name().and_then(|name| self.node_named(name)) {
                Some(node) => entry(&self.attributes(node)),
                None => return Ok(Some(Answer::refuse(unique, Errno::NOENT))),
            },
            Operation::GetAttributes => {
                Answer::new().long(KEEP_FOR).zeros(8).attributes(&self.attributes(request.node))
            }
            Operation::Open => Answer::new().long(0).number(self.open_flags()).zeros(4),
            Operation::OpenFolder => Answer::new().long(0).zeros(8),
            Operation::ReadFolder => self.listing(request),
            Operation::Read => {
                match &self.line {
                    Some(line) => line.send(self.bytes_asked(request)),
                    None => self.rehearse(request)?,
                }
                return Ok(None);
            }
            Operation::FileSystemStatistics => {
                Answer::new().zeros(5 * 8).number(PAGE).number(255).number(PAGE).zeros(4 + 6 * 4)
            }
            Operation::Release | Operation::Destroy => Answer::new(),
            Operation::Interrupt | Operation::Other => {
                return Ok(Some(Answer::refuse(unique, Errno::NOSYS)));
            }
        };
        Ok(Some(answer.finish(unique)))
    }

    fn init(&self, request: &Request<'_>) -> Answer {
        let pages = u16::try_from(LARGEST_READ / PAGE).unwrap_or(32);
        let readahead = match self.behaviour {
            Behaviour::Slow { .. } => request.readahead_limit().unwrap_or(LARGEST_READ),
            Behaviour::Silent => 0,
        };
        Answer::new()
            .number(MAJOR)
            .number(MINOR)
            .number(readahead)
            .number(ASYNC_READ | MAX_PAGES)
            .short(12)
            .short(9)
            .number(PAGE)
            .number(1)
            .short(pages)
            .short(0)
            .zeros(8 * 4)
    }

    fn files(&self) -> u64 {
        match self.behaviour {
            Behaviour::Slow { files, .. } => u64::from(*files),
            Behaviour::Silent => 1,
        }
    }

    fn file_name(&self, index: u64) -> String {
        match self.behaviour {
            Behaviour::Slow { .. } => data_file_name(u32::try_from(index).unwrap_or(u32::MAX)),
            Behaviour::Silent => SILENT_FILE.to_owned(),
        }
    }

    fn file_bytes(&self) -> u64 {
        match self.behaviour {
            Behaviour::Slow { file_bytes, .. } => *file_bytes,
            Behaviour::Silent => u64::from(PAGE),
        }
    }

    fn open_flags(&self) -> u32 {
        match self.behaviour {
            Behaviour::Slow { .. } => 0,
            Behaviour::Silent => DIRECT_IO,
        }
    }

    fn node_named(&self, name: &str) -> Option<u64> {
        (0..self.files()).find(|&index| self.file_name(index) == name).map(|index| index + FIRST_FILE)
    }

    fn attributes(&self, node: u64) -> Attributes {
        if node == ROOT {
            return Attributes { node, size: 0, mode: FOLDER_MODE };
        }
        Attributes { node, size: self.file_bytes(), mode: FILE_MODE }
    }

    fn listing(&self, request: &Request<'_>) -> Answer {
        const REGULAR_FILE: u32 = 8;
        let (offset, size) = request.range().unwrap_or((0, 0));
        let mut answer = Answer::new();
        for index in offset..self.files() {
            let name = self.file_name(index);
            let needed = 24 + name.len().next_multiple_of(8);
            if answer.content_length() + needed > size as usize {
                break;
            }
            answer = answer.entry(index + FIRST_FILE, index + 1, &name, REGULAR_FILE);
        }
        answer
    }

    fn bytes_asked(&self, request: &Request<'_>) -> Delivery {
        let (offset, size) = request.range().unwrap_or((0, 0));
        let left = self.file_bytes().saturating_sub(offset);
        Delivery { unique: request.unique, length: u64::from(size.min(LARGEST_READ)).min(left) }
    }

    /// Takes the first read of a silent store, which is our own, and kills its reader.
    ///
    /// The kernel then asks us to interrupt the request. Once a server has said that it cannot, the kernel lets
    /// readers wait in D state from the start, and a request that was taken cannot be left even by SIGKILL.
    fn rehearse(&mut self, request: &Request<'_>) -> io::Result<()> {
        let Rehearsal::Waiting(reader) = &self.rehearsal else { return Ok(()) };
        if reader.id() != request.pid {
            return Ok(());
        }
        let Rehearsal::Waiting(mut reader) = std::mem::replace(&mut self.rehearsal, Rehearsal::Done) else {
            return Ok(());
        };
        reader.kill()?;
        self.rehearsal = Rehearsal::Interrupted { reader, unanswered: request.unique };
        Ok(())
    }

    /// Lets the rehearsing reader go after the kernel was told that nothing here can be interrupted.
    fn finish_rehearsal(&mut self) -> io::Result<()> {
        let Rehearsal::Interrupted { mut reader, unanswered } =
            std::mem::replace(&mut self.rehearsal, Rehearsal::Done)
        else {
            return Ok(());
        };
        self.send(&Answer::refuse(unanswered, Errno::INTR))?;
        // It may still have to close the file, which only we can answer: it is reaped at our own end.
        std::thread::spawn(move || reader.wait());
        Ok(())
    }
}

/// Bytes to be handed out for one read.
struct Delivery {
    unique: u64,
    length: u64,
}

/// A line of limited speed, over which one delivery goes after the other.
struct Line {
    deliveries: Sender<Delivery>,
}

impl Line {
    fn open(mut device: File, bytes_per_second: u64) -> io::Result<Self> {
        let (deliveries, waiting) = mpsc::channel::<Delivery>();
        // One file's worth of bytes would be large; every read is answered from this block.
        let block: Vec<u8> = (0..LARGEST_READ).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
        std::thread::Builder::new().name("line".to_owned()).spawn(move || {
            let mut free_at = Instant::now();
            for Delivery { unique, length } in waiting {
                let takes = Duration::from_secs_f64(length as f64 / bytes_per_second.max(1) as f64);
                free_at = free_at.max(Instant::now()) + takes;
                std::thread::sleep(free_at.saturating_duration_since(Instant::now()));
                let length = usize::try_from(length).unwrap_or(0);
                // A reader that died meanwhile wants no answer; a lost connection ends the main loop.
                let _ = device.write(&Answer::new().raw(&block[..length]).finish(unique));
            }
        })?;
        Ok(Self { deliveries })
    }

    fn send(&self, delivery: Delivery) {
        // The line ends with the process only.
        let _ = self.deliveries.send(delivery);
    }
}

fn entry(attributes: &Attributes) -> Answer {
    Answer::new().long(attributes.node).long(0).long(KEEP_FOR).long(KEEP_FOR).zeros(8).attributes(attributes)
}

fn rehearsing_reader(mounted: &Mounted) -> io::Result<Child> {
    Command::new("cat")
        .arg(mounted.point.join(SILENT_FILE))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
