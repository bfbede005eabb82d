//! What the system says of a program that ended: shells, the C library, launchers, signals by name and number.

use gpuwhy_knowledge::{Phrase, Squeezed};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{ErrorClass, Exception, ProcessEnd, ProgramFact};

/// Signals that end programs: number, name, and what shells and the C library say for it.
const SIGNALS: &[(u32, &str, &str)] = &[
    (4, "SIGILL", "Illegal instruction"),
    (6, "SIGABRT", "Aborted"),
    (7, "SIGBUS", "Bus error"),
    (8, "SIGFPE", "Floating point exception"),
    (9, "SIGKILL", "Killed"),
    (11, "SIGSEGV", "Segmentation fault"),
    (15, "SIGTERM", "Terminated"),
];

/// What the C library says of a heap or stack that is broken.
const BROKEN_MEMORY: &[&str] = &[
    "double free or corruption",
    "double free detected",
    "free(): invalid",
    "free(): corrupted",
    "malloc(): ",
    "malloc_consolidate(): ",
    "realloc(): invalid",
    "munmap_chunk(): invalid pointer",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "*** stack smashing detected ***",
    "*** buffer overflow detected ***",
];

/// Returns what a line says of a program that ended, if it does.
pub(super) fn end(text: &str, message: &Squeezed) -> Option<ProgramFact> {
    let trimmed = text.trim();
    if let Some(what) = trimmed.strip_prefix("Fatal Python error: ") {
        return Some(fatal_python(what));
    }
    if BROKEN_MEMORY.iter().any(|words| trimmed.contains(words)) {
        return Some(exception(trimmed, ErrorClass::Segfault));
    }
    if let Some(number) = by_shell(trimmed) {
        return Some(ended(number, pid_before(trimmed), None));
    }
    if trimmed.contains("Assertion `") && trimmed.ends_with("failed.") {
        // Thousands of threads of a card say so, before the one error that counts.
        return (!trimmed.contains("thread: [")).then(|| exception("assert", ErrorClass::Assertion));
    }
    if let Some(end) = by_launcher(trimmed, message) {
        return Some(end);
    }
    by_error_text(trimmed)
}

fn exception(name: &str, class: ErrorClass) -> ProgramFact {
    let name = name.chars().take(80).collect();
    ProgramFact::Exception(Exception { name, class })
}

fn fatal_python(what: &str) -> ProgramFact {
    let signal = SIGNALS.iter().find(|(_, _, words)| what.starts_with(words));
    signal.map_or_else(
        || exception("Fatal Python error", ErrorClass::UncaughtException),
        |(number, ..)| ended(*number, None, None),
    )
}

fn ended(signal: u32, pid: Option<u32>, exit_code: Option<i64>) -> ProgramFact {
    ProgramFact::ProcessEnd(ProcessEnd {
        pid: pid.map(Pid),
        signal: Some(signal),
        exit_code,
        ..ProcessEnd::default()
    })
}

/// Returns the signal that a shell says has ended a program: `run.sh: line 2: 77 Killed  ./p`, `Killed`, `zsh: killed`.
fn by_shell(trimmed: &str) -> Option<u32> {
    let said = trimmed.strip_suffix("(core dumped)").unwrap_or(trimmed).trim_end();
    let (number, ..) = SIGNALS.iter().find(|(number, _, words)| {
        if said.eq_ignore_ascii_case(words) && *number != 15 {
            return true;
        }
        let Some(place) = trimmed.find(words) else {
            let of_zsh = trimmed.strip_prefix("zsh: ");
            return of_zsh.is_some_and(|rest| rest.starts_with(&words.to_ascii_lowercase()));
        };
        let before = &trimmed[..place];
        // A shell names its line or job, and the process.
        let words_before: Vec<&str> = before.split_whitespace().collect();
        let is_of_shell = match words_before.as_slice() {
            [.., "line", line, pid] => is_number(line.trim_end_matches(':')) && is_number(pid),
            [.., shell, pid] => shell.ends_with(':') && is_number(pid),
            [job] => job.starts_with('[') && job.ends_with(|last: char| "]+-".contains(last)),
            _ => false,
        };
        let is_of_mpi = before.contains("exited on signal")
            || before.contains("Signal: ")
            || before.contains("Caught signal");
        is_of_shell || is_of_mpi
    })?;
    Some(*number)
}

/// Returns whether a shell says in this line that a program ended by a signal.
pub(super) fn is_of_shell(text: &str) -> bool {
    by_shell(text.trim()).is_some()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the process that a shell names before the signal.
fn pid_before(trimmed: &str) -> Option<u32> {
    let mut words = trimmed.split_whitespace();
    words.find(|word| *word == "line")?;
    words.nth(1)?.parse().ok()
}

/// Returns how a process ended, as launchers say it.
fn by_launcher(text: &str, message: &Squeezed) -> Option<ProgramFact> {
    let first = |phrases: &[&str]| {
        phrases.iter().find_map(|phrase| {
            let phrase = Phrase::parse(phrase)?;
            phrase.values(message)?.first()?.parse::<i64>().ok()
        })
    };
    // Torch elastic prints the cause of all failures last.
    let root = message.after("rootcause(firstobservedfailure)");
    let place = root.as_ref().unwrap_or(message);
    let in_place = |phrase: &str| {
        let values = Phrase::parse(phrase)?.values(place)?.into_iter().map(str::to_owned).collect::<Vec<_>>();
        values.first()?.parse::<i64>().ok()
    };
    let pid = in_place("(pid: {count})").or_else(|| in_place("received by PID {count}"));
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    let signal = in_place("exitcode: -{count}")
        .or_else(|| {
            first(&[
                "return code = -{count}",
                "exitcode=-{count}",
                "exit code -{count}",
                "exit_code=-{count}",
                "signal {count} (SIG",
                "killed with signal {count}",
            ])
        })
        .or_else(|| named_signal(text).map(i64::from));
    if let Some(signal) =
        signal.and_then(|signal| u32::try_from(signal).ok()).filter(|signal| (1..65).contains(signal))
    {
        return Some(ended(signal, pid, None));
    }
    let code = in_place("exitcode: {count} (pid").or_else(|| {
        first(&[
            "exited with code {count}",
            "exit code: {count}",
            "returned non-zero exit status {count}",
            "exit code {count}",
            "exit status {count}",
        ])
    })?;
    match code {
        // A shell adds 128 to the signal.
        129..=159 => Some(ended(u32::try_from(code - 128).ok()?, pid, Some(code))),
        _ if pid.is_some() => Some(ProgramFact::ProcessEnd(ProcessEnd {
            pid: pid.map(Pid),
            exit_code: Some(code),
            ..ProcessEnd::default()
        })),
        _ => None,
    }
}

/// Returns a signal that is named where a process is said to have ended by it.
fn named_signal(text: &str) -> Option<u32> {
    let is_about_an_end = [
        "received by PID",
        "died with",
        "terminated with signal",
        "terminated by signal",
        "exit codes of the workers",
        "killed by signal",
    ]
    .iter()
    .any(|words| text.contains(words));
    let named = |(_, name, _): &&(u32, &str, &str)| text.contains(*name);
    SIGNALS.iter().find(named).filter(|_| is_about_an_end).map(|(number, ..)| *number)
}

/// Returns the kind of error that a program or shell prints without an exception: `cat: x: No such file or directory`.
fn by_error_text(trimmed: &str) -> Option<ProgramFact> {
    let endings: &[(&str, ErrorClass)] = &[
        ("cannot open shared object file: No such file or directory", ErrorClass::MissingModule),
        ("No such file or directory", ErrorClass::MissingFile),
        ("command not found", ErrorClass::MissingFile),
        ("Permission denied", ErrorClass::Permission),
        ("Cannot allocate memory", ErrorClass::HostMemoryError),
    ];
    let (program, rest) = trimmed.split_once(": ")?;
    let is_program = !program.is_empty()
        && program.len() <= 80
        && !program.contains(' ')
        && !program.ends_with(['.', ']'])
        && program.bytes().any(|byte| byte.is_ascii_alphabetic());
    // Tools of the driver that are missing speak of the machine.
    if !is_program || rest.contains("nvidia") {
        return None;
    }
    if rest.starts_with("symbol lookup error:") {
        return Some(exception("symbol lookup error", ErrorClass::MissingModule));
    }
    if rest.starts_with("can't open file") {
        return Some(exception("can't open file", ErrorClass::MissingFile));
    }
    if rest.starts_with("No module named ") && program.contains("python") {
        return Some(exception("No module named", ErrorClass::MissingModule));
    }
    if rest.starts_with("memory allocation of ") {
        return Some(exception("memory allocation failed", ErrorClass::HostMemoryError));
    }
    let (words, class) = endings.iter().find(|(words, _)| rest.ends_with(words))?;
    Some(exception(words, *class))
}

#[cfg(test)]
mod tests {
    use gpuwhy_knowledge::Squeezed;
    use gpuwhy_model::scene::{ErrorClass, ProgramFact};

    use super::end;

    /// Returns the signal, or the class, of a line.
    fn says(text: &str) -> Option<Result<u32, ErrorClass>> {
        match end(text, &Squeezed::of(text))? {
            ProgramFact::ProcessEnd(end) => end.signal.map(Ok),
            ProgramFact::Exception(exception) => Some(Err(exception.class)),
            other => panic!("{other:?}"),
        }
    }

    /// Lines that shells, the C library and real programs printed when they were made to fail so.
    #[test]
    fn ends_of_real_programs_are_read() {
        for (text, expected) in [
            ("run.sh: line 2: 26962 Segmentation fault      ./p", Ok(11)),
            ("bash: line 1: 26978 Segmentation fault      (core dumped) ./p", Ok(11)),
            ("bash: line 1: 26979 Floating point exception(core dumped) ./p", Ok(8)),
            ("run.sh: line 2: 26973 Killed                  python3 train.py", Ok(9)),
            ("Segmentation fault (core dumped)", Ok(11)),
            ("Segmentation fault", Ok(11)),
            ("Killed", Ok(9)),
            ("bash: 27210 Killed                  timeout -s KILL 1 sleep 5", Ok(9)),
            ("zsh: killed     python train.py", Ok(9)),
            ("Fatal Python error: Segmentation fault", Ok(11)),
            ("Bus error", Ok(7)),
            ("train: train.c:2: main: Assertion `n > 3' failed.", Err(ErrorClass::Assertion)),
            ("free(): double free detected in tcache 2", Err(ErrorClass::Segfault)),
            ("*** stack smashing detected ***: terminated", Err(ErrorClass::Segfault)),
            ("fopen: No such file or directory", Err(ErrorClass::MissingFile)),
            ("malloc: Cannot allocate memory", Err(ErrorClass::HostMemoryError)),
            ("bash: ./run.shx: No such file or directory", Err(ErrorClass::MissingFile)),
            ("bash: /etc/passwd: Permission denied", Err(ErrorClass::Permission)),
            ("bash: nosuchcmd: command not found", Err(ErrorClass::MissingFile)),
            (
                "/usr/bin/python3: can't open file '/x/nofile.py': [Errno 2] No such file or directory",
                Err(ErrorClass::MissingFile),
            ),
            ("/usr/bin/python3: No module named nomod", Err(ErrorClass::MissingModule)),
            (
                "./needlib: error while loading shared libraries: libfoo.so: cannot open shared object file: No such \
                 file or directory",
                Err(ErrorClass::MissingModule),
            ),
            ("traceback : Signal 9 (SIGKILL) received by PID 14750", Ok(9)),
            ("failed (exitcode: -11) local_rank: 3 (pid: 812917) of binary: /usr/bin/python3", Ok(11)),
            ("mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).", Ok(9)),
            ("Command '['python']' died with <Signals.SIGKILL: 9>.", Ok(9)),
            ("container exited with code 137", Ok(9)),
        ] {
            assert_eq!(says(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "no error",
            "Killed 3 of 5 enemies in this episode",
            "skip: a Segmentation fault would be bad",
            "see https://x.y: the file is there",
            "bash: nvidia-smi: command not found",
        ] {
            assert_eq!(says(text), None, "{text}");
        }
    }
}
