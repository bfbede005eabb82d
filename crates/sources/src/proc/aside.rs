//! Reading in a thread of its own what may never come back.
//!
//! Arguments and environment of a process lie in its memory. Reading them waits for a lock of that memory, and a process
//! that hangs in a driver may hold it for ever. So another thread reads them, and is left behind when it does not come
//! back; it ends with us, since that wait can be killed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpuwhy_model::reading::Failure;

use super::root::ProcRoot;

/// How long one process may take.
const LIMIT: Duration = Duration::from_millis(300);

/// So many threads may be left behind; after that nothing more is read.
const LEFT_BEHIND_MAX: usize = 4;

/// Enough for reading into buffers on the heap.
const STACK: usize = 128 * 1024;

/// Reads what is wished in a thread of its own.
#[derive(Debug)]
pub(crate) struct Aside<Wish, Found> {
    root: PathBuf,
    read: fn(&mut ProcRoot, Wish) -> Found,
    limit: Duration,
    worker: Option<Worker<Wish, Found>>,
    left_behind: usize,
}

#[derive(Debug)]
struct Worker<Wish, Found> {
    wishes: Sender<Vec<Wish>>,
    /// What was found of the present wishes so far.
    found: Arc<Mutex<Vec<Found>>>,
    /// Comes when all of them were met.
    done: Receiver<()>,
}

impl<Wish: Copy + Send + 'static, Found: Send + 'static> Aside<Wish, Found> {
    pub(crate) fn new(root: &Path, read: fn(&mut ProcRoot, Wish) -> Found) -> Self {
        Self { root: root.to_owned(), read, limit: LIMIT, worker: None, left_behind: 0 }
    }

    /// Reads what is wished. The answers have the order and number of the wishes.
    pub(crate) fn read(&mut self, wishes: &[Wish]) -> Vec<Result<Found, Failure>> {
        let mut answers = Vec::with_capacity(wishes.len());
        while answers.len() < wishes.len() && self.ask(&wishes[answers.len()..]) {
            let found = self.collect();
            answers.extend(found.into_iter().map(Ok));
            if self.worker.is_none() && answers.len() < wishes.len() {
                let after_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
                answers.push(Err(Failure::TimedOut { call: "read".to_owned(), after_ms }));
            }
        }
        answers.resize_with(wishes.len(), || Err(Failure::NotReached));
        answers
    }

    /// Hands the wishes over. Returns whether there is somebody who takes them.
    fn ask(&mut self, wishes: &[Wish]) -> bool {
        if self.worker.is_none() && self.left_behind < LEFT_BEHIND_MAX {
            self.worker = start(&self.root, self.read);
        }
        self.worker.as_ref().is_some_and(|worker| worker.wishes.send(wishes.to_vec()).is_ok())
    }

    /// Waits for all answers, or until one does not come; then the thread is left behind.
    fn collect(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        while let Some(worker) = &self.worker {
            let before = found.len();
            let outcome = worker.done.recv_timeout(self.limit);
            found.append(&mut worker.found.lock().unwrap_or_else(PoisonError::into_inner));
            match outcome {
                Ok(()) => break,
                // It came on meanwhile: no single process has taken that long.
                Err(RecvTimeoutError::Timeout) if found.len() > before => {}
                Err(_) => {
                    self.left_behind += 1;
                    self.worker = None;
                }
            }
        }
        found
    }
}

fn start<Wish: Send + 'static, Found: Send + 'static>(
    root: &Path,
    read: fn(&mut ProcRoot, Wish) -> Found,
) -> Option<Worker<Wish, Found>> {
    let mut proc = ProcRoot::open(root).ok()?;
    let (wishes, wanted) = channel::<Vec<Wish>>();
    let (say_done, done) = channel();
    let found = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::clone(&found);
    std::thread::Builder::new()
        .name("aside-reader".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            for wishes in wanted {
                for wish in wishes {
                    let answer = read(&mut proc, wish);
                    answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
                }
                if say_done.send(()).is_err() {
                    return;
                }
            }
        })
        .ok()?;
    Some(Worker { wishes, found, done })
}

#[cfg(test)]
mod tests {
    use super::Aside;
    use crate::proc::ProcRoot;
    use gpuwhy_model::reading::Failure;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// Number 13 does not answer before the test lets it go.
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

    fn double(_: &mut ProcRoot, wish: u32) -> u32 {
        if wish == 13 {
            let mut is_open = GATE.0.lock().unwrap();
            while !*is_open {
                is_open = GATE.1.wait(is_open).unwrap();
            }
        }
        wish * 2
    }

    #[test]
    fn who_does_not_answer_is_left_behind_and_the_others_are_not() {
        let root = tempfile::tempdir().unwrap();
        let mut aside = Aside::new(root.path(), double);
        assert_eq!(aside.read(&[1, 2, 3]), [Ok(2), Ok(4), Ok(6)]);
        aside.limit = Duration::from_millis(50);
        let answers = aside.read(&[5, 13, 7]);
        assert_eq!((&answers[0], &answers[2]), (&Ok(10), &Ok(14)));
        assert!(matches!(answers[1], Err(Failure::TimedOut { .. })));
        // In the end nobody is left to ask.
        let answers = aside.read(&[13, 13, 13, 13, 8]);
        assert_eq!(answers[4], Err(Failure::NotReached));
        *GATE.0.lock().unwrap() = true;
        GATE.1.notify_all();
    }
}
