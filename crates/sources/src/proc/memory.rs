//! Arguments and environment, which lie in the memory of the process that is asked about.
//!
//! Reading them waits for a lock of that memory, and a process that hangs in a driver may hold it for ever. So a thread
//! of its own reads them, and is left behind when it does not come back; it ends with us, since that wait can be killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use gpuwhy_formats::proc;
use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::reading::{Failure, Reading};

use super::files::ProcessDirectory;
use super::root::ProcRoot;

/// How long one process may take.
const LIMIT: Duration = Duration::from_millis(300);

/// So many threads may be left behind; after that nothing more is read.
const LEFT_BEHIND_MAX: usize = 4;

/// Enough for reading into buffers on the heap.
const STACK: usize = 128 * 1024;

/// What is wanted of a process.
pub(crate) struct Words {
    pub(crate) directory: ProcessDirectory,
    pub(crate) command: bool,
    pub(crate) environment: bool,
}

/// What a process was started with.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) command: Reading<CommandLine>,
    pub(crate) environment: Reading<BTreeMap<String, String>>,
}

/// Reads arguments and environments in a thread of its own.
#[derive(Debug)]
pub(crate) struct MemoryReader {
    root: PathBuf,
    limit: Duration,
    worker: Option<Worker>,
    left_behind: usize,
}

#[derive(Debug)]
struct Worker {
    requests: Sender<Vec<Words>>,
    answers: Receiver<Found>,
}

impl MemoryReader {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), limit: LIMIT, worker: None, left_behind: 0 }
    }

    /// Reads what is wanted, in the order of the wishes. The answers have the same order and number.
    pub(crate) fn read(&mut self, wishes: Vec<Words>) -> Vec<Found> {
        let number = wishes.len();
        let mut found = Vec::with_capacity(number);
        if !wishes.is_empty()
            && let Some(worker) = self.worker()
            && worker.requests.send(wishes).is_ok()
        {
            self.collect(number, &mut found);
        }
        // What comes behind a process that does not answer is not reached this time.
        while found.len() < number {
            found.push(absent(Failure::NotReached));
        }
        found
    }

    fn collect(&mut self, number: usize, found: &mut Vec<Found>) {
        while let Some(worker) = &self.worker {
            if found.len() == number {
                return;
            }
            match worker.answers.recv_timeout(self.limit) {
                Ok(answer) => found.push(answer),
                Err(RecvTimeoutError::Timeout) => {
                    let after_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
                    found.push(absent(Failure::TimedOut { call: "read".to_owned(), after_ms }));
                    self.left_behind += 1;
                    self.worker = None;
                }
                Err(RecvTimeoutError::Disconnected) => self.worker = None,
            }
        }
    }

    fn worker(&mut self) -> Option<&Worker> {
        if self.worker.is_none() && self.left_behind < LEFT_BEHIND_MAX {
            self.worker = start(&self.root);
        }
        self.worker.as_ref()
    }
}

fn absent(failure: Failure) -> Found {
    Found { command: Reading::Failed(failure.clone()), environment: Reading::Failed(failure) }
}

fn start(root: &Path) -> Option<Worker> {
    let mut proc = ProcRoot::open(root).ok()?;
    let (requests, wanted) = channel::<Vec<Words>>();
    let (answer, answers) = channel();
    std::thread::Builder::new()
        .name("memory-reader".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            for wishes in wanted {
                for words in wishes {
                    if answer.send(read(&words, &mut proc)).is_err() {
                        return;
                    }
                }
            }
        })
        .ok()?;
    Some(Worker { requests, answers })
}

fn read(words: &Words, proc: &mut ProcRoot) -> Found {
    let command = if words.command {
        // The dead and threads of the kernel have no arguments.
        words.directory.from_memory(proc, "cmdline", proc::command_line).and_then(|command| {
            if command.arguments().is_empty() { Reading::Unsupported } else { Reading::Known(command) }
        })
    } else {
        Reading::default()
    };
    let environment = if words.environment {
        words.directory.from_memory(proc, "environ", proc::environment)
    } else {
        Reading::default()
    };
    Found { command, environment }
}

#[cfg(test)]
mod tests {
    use super::{MemoryReader, Words};
    use crate::proc::{ProcRoot, ProcessDirectory};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Failure, Reading};
    use std::path::Path;

    fn wish(root: &Path, pid: u32) -> Words {
        let proc = ProcRoot::open(root).unwrap();
        let directory = ProcessDirectory::open(&proc, Pid(pid)).unwrap();
        Words { directory, command: true, environment: true }
    }

    #[test]
    fn answers_come_in_the_order_of_the_wishes() {
        let root = tempfile::tempdir().unwrap();
        for (pid, words) in [("7", &b"python\0train.py\0--token\0hunter2\0"[..]), ("8", b"")] {
            std::fs::create_dir(root.path().join(pid)).unwrap();
            std::fs::write(root.path().join(pid).join("cmdline"), words).unwrap();
            std::fs::write(root.path().join(pid).join("environ"), "RANK=3\0SECRET=hunter2\0").unwrap();
        }
        let mut reader = MemoryReader::new(root.path());
        for _ in 0..2 {
            let found = reader.read(vec![wish(root.path(), 7), wish(root.path(), 8)]);
            assert_eq!(found.len(), 2);
            assert_eq!(found[0].command.known().unwrap().line(), "python train.py --token ***");
            assert_eq!(found[0].environment.known().unwrap().len(), 1);
            assert_eq!(found[1].command, Reading::Unsupported);
        }
    }

    #[test]
    fn who_does_not_answer_is_left_behind() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("7")).unwrap();
        std::fs::write(root.path().join("7/cmdline"), "x").unwrap();
        let mut reader = MemoryReader::new(root.path());
        // The worker is there, but nobody feeds it: as if the read never returned.
        let (requests, _wanted) = std::sync::mpsc::channel();
        let (_answer, answers) = std::sync::mpsc::channel();
        reader.worker = Some(super::Worker { requests, answers });
        reader.limit = std::time::Duration::from_millis(1);
        let found = reader.read(vec![wish(root.path(), 7), wish(root.path(), 7)]);
        assert!(matches!(found[0].command, Reading::Failed(Failure::TimedOut { .. })));
        assert_eq!(found[1].command, Reading::Failed(Failure::NotReached));
        // The next time another thread reads.
        reader.limit = std::time::Duration::from_secs(30);
        assert!(reader.read(vec![wish(root.path(), 7)])[0].command.is_known());
    }
}
