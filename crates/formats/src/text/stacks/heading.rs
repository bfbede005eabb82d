//! Lines that begin a process or a thread in a listing of stacks.

/// What a line begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heading {
    /// `Process 77: python train.py`
    Process { pid: u32, command: String },
    /// A thread, in the form of any of the tools.
    Thread(Thread),
    /// A remark of a person, which may name a machine, or how many stand there: `# node A, 8 ranks`, `## 6 processes`.
    Remark { node: Option<String>, processes: Option<u32> },
    /// What a tool says beside the stacks: `Python v3.10.12 (/usr/bin/python3.10)`.
    Talk,
}

/// A thread as its heading gives it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Thread {
    pub(super) id: Option<u64>,
    pub(super) name: String,
    pub(super) is_active: Option<bool>,
    pub(super) holds_lock: Option<bool>,
}

/// Reads a heading; none when the line is none.
pub(super) fn heading(text: &str) -> Option<Heading> {
    let text = text.trim();
    if text.starts_with('#') && !is_native_frame(text) {
        let remark = text.trim_start_matches(['#', ' ']);
        return Some(Heading::Remark { node: node(remark), processes: processes(remark) });
    }
    if text.starts_with("Python v") && text.ends_with(')')
        || text.starts_with("Timeout (") && text.ends_with(")!")
    {
        return Some(Heading::Talk);
    }
    process(text).or_else(|| thread(text).map(Heading::Thread))
}

/// `#0  0x00007f… in poll () from …` of a debugger is no remark.
fn is_native_frame(text: &str) -> bool {
    text[1..].starts_with(|second: char| second.is_ascii_digit())
}

/// Returns the machine that a remark names.
fn node(remark: &str) -> Option<String> {
    let mut words = remark.split(|part: char| part.is_whitespace() || ",:;()".contains(part));
    let begins = words.next()?.to_ascii_lowercase();
    if begins != "node" && begins != "host" {
        return None;
    }
    let name = words.find(|word| !word.is_empty())?;
    (name.len() <= 64).then(|| name.to_owned())
}

/// Returns how many processes stand at the place that follows: `6 processes`.
fn processes(remark: &str) -> Option<u32> {
    let (number, rest) = remark.split_once(' ')?;
    rest.starts_with("process").then_some(())?;
    number.parse().ok().filter(|number| *number <= 1_000_000)
}

fn process(text: &str) -> Option<Heading> {
    let (pid, command) = text.strip_prefix("Process ")?.split_once(':')?;
    let pid = pid.trim().parse().ok()?;
    Some(Heading::Process { pid, command: command.trim().to_owned() })
}

/// `Thread 77 (active+gil): "MainThread"`, `Thread 0x7f… (most recent call first):`, `Thread 2 (Thread 0x7f… (LWP 77)):`.
pub(super) fn thread(text: &str) -> Option<Thread> {
    let rest = text.trim().strip_prefix("Current thread ").or_else(|| text.trim().strip_prefix("Thread "))?;
    let (id, rest) = rest.split_once(' ')?;
    if let Some((before, after)) = rest.split_once("(LWP ") {
        return (before.contains("0x")).then(|| of_debugger(after))?;
    }
    let id = number(id)?;
    if rest.ends_with("(most recent call first):") {
        let name =
            rest.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(name, _)| name);
        let is_current = text.trim().starts_with("Current");
        return Some(Thread {
            // The number is an address, not the system's.
            id: None,
            name: name.to_owned(),
            is_active: is_current.then_some(true),
            holds_lock: is_current.then_some(true),
        });
    }
    let (state, rest) = rest.strip_prefix('(')?.split_once(')')?;
    let mut parts = state.split('+');
    let is_active = match parts.next()? {
        "active" => true,
        "idle" => false,
        _ => return None,
    };
    let name = rest.trim_start_matches(':').trim().trim_matches('"');
    Some(Thread {
        id: Some(id),
        name: name.to_owned(),
        is_active: Some(is_active),
        holds_lock: Some(parts.any(|part| part == "gil")),
    })
}

/// `77) "python3"):`, behind the debugger's own numbers.
fn of_debugger(rest: &str) -> Option<Thread> {
    let (id, rest) = rest.split_once(')')?;
    let name = rest.split('"').nth(1).unwrap_or_default();
    Some(Thread { id: Some(id.trim().parse().ok()?), name: name.to_owned(), ..Thread::default() })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Heading, Thread, heading};

    #[test]
    fn threads_of_all_tools_are_known() {
        let thread = |text: &str| match heading(text) {
            Some(Heading::Thread(thread)) => thread,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            thread("Thread 4711 (active+gil): \"MainThread\""),
            Thread {
                id: Some(4711),
                name: "MainThread".to_owned(),
                is_active: Some(true),
                holds_lock: Some(true)
            }
        );
        let idle = thread("Thread 0x7F3C11FF (idle): \"Thread-3 (_run)\"");
        assert_eq!(
            (idle.id, idle.name.as_str(), idle.is_active),
            (Some(0x7f3c_11ff), "Thread-3 (_run)", Some(false))
        );
        assert_eq!(thread("Thread 12 (idle)").name, "");
        assert_eq!(thread("Current thread 0x00007f3c (most recent call first):").is_active, Some(true));
        let native = thread("Thread 2 (Thread 0x7f11 (LWP 4712) \"pt_nccl\"):");
        assert_eq!((native.id, native.name.as_str()), (Some(4712), "pt_nccl"));
        for text in
            ["Thread pool is full", "Thread 7 finished", "Process finished", "Threads: 5", "Thread 7 (done)"]
        {
            assert_eq!(heading(text), None, "{text}");
        }
    }

    #[test]
    fn remarks_may_name_a_machine() {
        assert_eq!(
            heading("# node A, 8 ranks"),
            Some(Heading::Remark { node: Some("A".to_owned()), processes: None })
        );
        assert_eq!(heading("## 4 processes"), Some(Heading::Remark { node: None, processes: Some(4) }));
        assert_eq!(heading("#0  0x00007f in poll () from /lib/libc.so.6"), None);
        assert_eq!(
            heading("Process 77: python train.py"),
            Some(Heading::Process { pid: 77, command: "python train.py".to_owned() })
        );
    }
}
