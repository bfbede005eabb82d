//! Stacks of threads: `py-spy dump`, the dumps of `faulthandler`, backtraces of a debugger, and what people make of them.

mod frame;
mod heading;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{Frame, Provenance, Scene, SourceKind, Stack};

use self::heading::{Heading, Thread, heading, thread};
use super::block::{Block, Context, Remark};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// So many calls of a stack are kept, the innermost ones.
const FRAMES_MAX: usize = 128;
/// So many stacks are kept.
const STACKS_MAX: usize = 4096;
/// A thread must follow so soon after a remark or the heading of a process.
const HEAD_LINES: usize = 6;

/// Reads the stacks that begin with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    if !begins(lines) {
        return None;
    }
    let mut gathering = Gathering::default();
    let mut remarks = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            continue;
        }
        let (origin, text) = origin(text);
        if let Some(heading) = heading(text) {
            // A remark belongs to the stacks that follow it; behind the last one it may be anything.
            if matches!(heading, Heading::Remark { .. }) && !begins(&lines[place..]) {
                break;
            }
            gathering.head(heading, origin);
        } else if let Some(frame) = frame::frame(text) {
            gathering.call(frame);
        } else if is_detail(text) && gathering.is_inside() {
            // Variables of a call, which `py-spy dump --locals` lists.
        } else if command_after_prompt(text).is_some() || !goes_on(&lines[place + 1..]) {
            break;
        } else {
            remarks.push(Remark::NotUnderstood { line: line.number });
        }
        taken = place + 1;
    }
    let stacks = gathering.finish();
    if stacks.is_empty() || taken == 0 {
        return None;
    }
    let provenance = Provenance { source: SourceKind::Text, inputs: vec![Format::Stacks.to_string()] };
    Some(Block { lines: taken, scene: Scene { stacks, provenance, ..Scene::default() }, remarks })
}

/// Returns whether stacks begin with the first of these lines.
fn begins(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first() else { return false };
    let (_, text) = origin(&first.text);
    match heading(text) {
        Some(Heading::Thread(_)) => {
            // A call or another thread follows.
            let mut rest = lines[1..].iter().filter(|line| !line.text.trim().is_empty());
            rest.next().is_some_and(|line| {
                let (_, text) = origin(&line.text);
                frame::frame(text).is_some() || thread(text).is_some()
            })
        }
        Some(Heading::Process { .. } | Heading::Remark { .. } | Heading::Talk) => {
            let mut rest = lines[1..].iter().take(HEAD_LINES).filter(|line| !line.text.trim().is_empty());
            for line in rest.by_ref() {
                match heading(origin(&line.text).1) {
                    Some(Heading::Thread(_)) => return true,
                    Some(Heading::Remark { .. } | Heading::Talk | Heading::Process { .. }) => {}
                    None => return false,
                }
            }
            false
        }
        None => false,
    }
}

/// Returns whether more of a stack follows at once.
fn goes_on(lines: &[Line<'_>]) -> bool {
    let mut written = lines.iter().filter(|line| !line.text.trim().is_empty());
    written.next().is_some_and(|line| {
        let (_, text) = origin(&line.text);
        frame::frame(text).is_some() || thread(text).is_some()
    })
}

fn is_detail(text: &str) -> bool {
    text.starts_with("        ") || text.starts_with("\t\t")
}

/// Splits off what a launcher puts before each line: `node-1: Thread …`, `3: Thread …`.
fn origin(text: &str) -> (Option<&str>, &str) {
    let Some((origin, rest)) = text.split_once(": ") else {
        return (None, text);
    };
    let is_name = !origin.is_empty()
        && origin.len() <= 64
        && origin.trim_start().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_stack = rest.starts_with("Thread ") || rest.starts_with("Process ") || rest.starts_with("    ");
    if is_name && is_stack { (Some(origin.trim()), rest) } else { (None, text) }
}

#[derive(Default)]
struct Gathering {
    done: Vec<Stack>,
    /// Threads that the next calls are of: people write several above one stack that they have in common.
    open: Vec<Stack>,
    frames: Vec<Frame>,
    pid: Option<Pid>,
    command: Option<String>,
    node: Option<String>,
    rank: Option<u32>,
    /// How many processes are said to stand at the next place.
    processes: Option<u32>,
}

impl Gathering {
    fn is_inside(&self) -> bool {
        !self.frames.is_empty()
    }

    fn head(&mut self, heading: Heading, origin: Option<&str>) {
        match heading {
            Heading::Process { pid, command } => {
                self.close();
                self.pid = Some(Pid(pid));
                self.command = Some(masked_text(&command)).filter(|command| !command.is_empty());
                self.told_by(origin);
            }
            Heading::Remark { node, processes } => {
                self.close();
                self.processes = processes;
                (self.pid, self.command) = (None, None);
                self.node = node.or(self.node.take());
            }
            Heading::Thread(thread) => {
                // One program has but one first thread: two of them in a row stand at the same place.
                let is_same_place = self.frames.is_empty()
                    && thread.name == Stack::MAIN
                    && self.open.iter().all(|open| open.thread == Stack::MAIN);
                if !is_same_place {
                    self.close();
                }
                self.told_by(origin);
                self.open.push(self.stack(thread));
            }
            Heading::Talk => {}
        }
    }

    /// Takes over whose lines these are.
    fn told_by(&mut self, origin: Option<&str>) {
        match origin.map(str::parse::<u32>) {
            Some(Ok(rank)) => self.rank = Some(rank),
            Some(Err(_)) => self.node = origin.map(str::to_owned),
            None => {}
        }
    }

    fn stack(&self, thread: Thread) -> Stack {
        let own = thread.id.and_then(|id| u32::try_from(id).ok()).filter(|_| thread.name == Stack::MAIN);
        Stack {
            pid: self.pid.or(own.map(Pid)),
            rank: self.rank,
            node: self.node.clone(),
            command: self.command.clone(),
            thread: thread.name,
            thread_id: thread.id,
            is_active: thread.is_active,
            holds_lock: thread.holds_lock,
            stands_for: 0,
            frames: Vec::new(),
        }
    }

    fn call(&mut self, frame: Frame) {
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(frame);
        }
    }

    fn close(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        let processes = self.processes.filter(|_| !self.open.is_empty());
        if let ([only], Some(processes)) = (self.open.as_mut_slice(), processes) {
            only.stands_for = if processes > 1 { processes } else { 0 };
            self.processes = None;
        }
        for mut stack in std::mem::take(&mut self.open) {
            if self.done.len() >= STACKS_MAX {
                return;
            }
            stack.frames.clone_from(&frames);
            self.done.push(stack);
        }
    }

    fn finish(mut self) -> Vec<Stack> {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::scene::Stack;

    use crate::Format;
    use crate::text::understand;

    fn stacks(text: &str) -> Vec<Stack> {
        let understood = understand(text);
        assert!(understood.unknown_lines.is_empty(), "{:?}", understood.unknown_lines);
        let pieces = understood.pieces.into_iter().filter(|piece| piece.format == Format::Stacks);
        pieces.flat_map(|piece| piece.scene.stacks).collect()
    }

    #[test]
    fn a_dump_of_one_process_is_read() {
        let read = stacks(
            "$ py-spy dump --pid 4711 --native --locals\n\
             Process 4711: python train.py --token=hunter2 --lr 3\n\
             Python v3.10.12 (/usr/bin/python3.10)\n\
             \n\
             Thread 4711 (active): \"MainThread\"\n\
             \x20   ncclAllReduce (libnccl.so.2)\n\
             \x20   all_reduce (torch/distributed/distributed_c10d.py:2501)\n\
             \x20       Arguments:\n\
             \x20           tensor: <Tensor at 0x7f>\n\
             \x20   main (train.py:88)\n\
             Thread 4790 (idle): \"Thread-1 (_pin_memory_loop)\"\n\
             \x20   get (queue.py:171)\n\
             Thread 4791 (active+gil): \"loader\"\n\
             \x20   read (data.py:7)\n",
        );
        assert_eq!(read.len(), 3);
        assert_eq!((read[0].pid, read[0].is_main(), read[0].is_active), (Some(Pid(4711)), true, Some(true)));
        let functions: Vec<&str> = read[0].frames.iter().map(|frame| frame.function.as_str()).collect();
        assert_eq!(functions, ["ncclAllReduce", "all_reduce", "main"]);
        assert_eq!((read[2].pid, read[2].holds_lock), (Some(Pid(4711)), Some(true)));
        assert!(!read[0].command.as_ref().unwrap().contains("hunter2"));
    }

    #[test]
    fn stacks_that_processes_have_in_common_are_each_ones_own() {
        let read = stacks(
            "# node east, 4 ranks\n## 3 processes\nThread 11 (active): \"MainThread\"\nThread 12 (active): \"MainThread\"\n\
             Thread 13 (active): \"MainThread\"\n    barrier (torch/distributed/distributed_c10d.py:9)\n## 1 process\n\
             Thread 14 (idle): \"MainThread\"\n    wait (threading.py:306)\n    get (queue.py:179)\n\n# node west\n\
             Thread 21 (active): \"MainThread\"\n    barrier (torch/distributed/distributed_c10d.py:9)\n",
        );
        let seen: Vec<(u32, &str, usize)> = read
            .iter()
            .map(|stack| (stack.pid.unwrap().0, stack.node.as_deref().unwrap(), stack.frames.len()))
            .collect();
        assert_eq!(
            seen,
            [(11, "east", 1), (12, "east", 1), (13, "east", 1), (14, "east", 2), (21, "west", 1)]
        );
    }

    #[test]
    fn launchers_say_whose_lines_they_are() {
        let read = stacks(
            "0: Thread 11 (idle): \"MainThread\"\n0:     wait (threading.py:306)\n1: Thread 12 (active): \"MainThread\"\n\
             1:     main (a.py:3)\n",
        );
        let seen: Vec<(Option<u32>, u32)> =
            read.iter().map(|stack| (stack.rank, stack.pid.unwrap().0)).collect();
        assert_eq!(seen, [(Some(0), 11), (Some(1), 12)]);
    }

    #[test]
    fn dumps_of_python_and_of_a_debugger_are_read() {
        let read = stacks(
            "Timeout (0:05:00)!\nThread 0x00007f11 (most recent call first):\n  File \"/x/queue.py\", line 171 in get\n\
             \x20 File \"/x/loader.py\", line 9 in run\n\nThread 0x00007f12 (most recent call first):\n\
             \x20 File \"/x/c10d.py\", line 5 in all_reduce\n",
        );
        assert_eq!(read.len(), 2);
        let read = stacks(
            "Thread 1 (Thread 0x7f11 (LWP 4711) \"python3\"):\n#0  0x00007f11 in poll () from /lib/libc.so.6\n\
             #1  0x00007f22 in ncclGroupEnd () from /x/libnccl.so.2\n",
        );
        assert_eq!((read[0].thread_id, read[0].frames[1].function.as_str()), (Some(4711), "ncclGroupEnd"));
    }

    #[test]
    fn what_follows_is_left_alone() {
        let understood =
            understand("Thread 11 (idle): \"MainThread\"\n    wait (threading.py:306)\nbye\nhello\n");
        assert_eq!((understood.pieces[0].last_line, understood.unknown_lines), (2, vec![3, 4]));
    }
}
