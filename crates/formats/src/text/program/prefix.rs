//! What launchers and loggers put before a line: the member of a job, the time, how grave it is.

use jiff::Timestamp;

/// A line without what stands before its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each tells of one mark, and a line may have any of them")]
pub(super) struct Prefixed<'line> {
    /// The member of a job.
    pub(super) rank: Option<u32>,
    /// What else tells whose line it is: a process, a service.
    pub(super) writer: Option<&'line str>,
    /// When, where the zone is known.
    pub(super) at: Option<Timestamp>,
    /// Whether it is surely a line of a log: it has a rank, a process, or a word for how grave it is.
    pub(super) is_log: bool,
    /// Whether anything was taken off.
    pub(super) is_marked: bool,
    /// Whether a time or a word for how grave it is was taken off: it is the first line of a message.
    pub(super) has_stamp: bool,
    /// Whether the line calls itself news and no trouble: its word for how grave it is is `INFO` or less.
    pub(super) is_calm: bool,
    /// The text; what it is indented by is kept.
    pub(super) text: &'line str,
}

/// No line has more marks before it.
const MARKS_MAX: usize = 8;

/// Words for how grave a line is.
const LEVELS: &[&str] =
    &["TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "PANIC"];

const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Takes everything off that stands before the text of a line.
pub(super) fn stripped(line: &str) -> Prefixed<'_> {
    let mut prefixed = Prefixed { text: line, ..Prefixed::default() };
    for _ in 0..MARKS_MAX {
        if !take_one(&mut prefixed) {
            break;
        }
        prefixed.is_marked = true;
    }
    prefixed
}

/// Takes one mark off; returns whether there was one.
fn take_one(prefixed: &mut Prefixed<'_>) -> bool {
    let text = prefixed.text;
    if let Some((rank, rest)) = rank_mark(text) {
        prefixed.rank = prefixed.rank.or(Some(rank));
        prefixed.is_log = true;
        prefixed.text = rest;
    } else if let Some((writer, rank, rest)) = process_mark(text).or_else(|| nccl_mark(text)) {
        prefixed.writer = Some(writer);
        prefixed.rank = prefixed.rank.or(rank);
        prefixed.is_log = true;
        prefixed.text = rest;
    } else if let Some((writer, rest)) = journal_mark(text) {
        prefixed.writer = prefixed.writer.or(Some(writer));
        prefixed.text = rest;
    } else if let Some((at, rest)) = time_mark(text) {
        prefixed.at = prefixed.at.or(at);
        prefixed.has_stamp = true;
        prefixed.text = rest;
    } else if let Some(rest) = glog_mark(text).or_else(|| level_mark(text)) {
        prefixed.is_calm |= is_calm_mark(text);
        prefixed.is_log = true;
        prefixed.has_stamp = true;
        prefixed.text = rest;
    } else if let Some(rest) = place_mark(text).filter(|_| prefixed.is_marked) {
        prefixed.text = rest;
    } else {
        return false;
    }
    true
}

/// Takes one blank off.
fn after_blank(text: &str) -> &str {
    text.strip_prefix(' ').unwrap_or(text)
}

/// Splits off the digits that a text begins with.
fn digits(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then(|| text.split_at(length))
}

/// `[rank3]:`, `[default3]:`, `[1,3]<stderr>:`, `3: Traceback`, `[3] Traceback`.
fn rank_mark(text: &str) -> Option<(u32, &str)> {
    if let Some(inside) = text.strip_prefix('[') {
        let (inside, rest) = inside.split_once(']')?;
        if let Some((job, rank)) = inside.split_once(',') {
            let is_numbered = job.bytes().all(|byte| byte.is_ascii_digit()) && !job.is_empty();
            let rest = rest.strip_prefix("<stderr>").or_else(|| rest.strip_prefix("<stdout>"))?;
            let rest = rest.strip_prefix(':')?;
            return is_numbered.then_some((rank.trim().parse().ok()?, after_blank(rest)));
        }
        let name = inside.bytes().take_while(u8::is_ascii_lowercase).count();
        let rank = inside.get(name..)?.parse().ok()?;
        if name > 0 {
            return Some((rank, after_blank(rest.strip_prefix(':')?)));
        }
        let rest = after_blank(rest);
        return is_python_shape(rest).then_some((rank, rest));
    }
    let (rank, rest) = digits(text.trim_start())?;
    let rest = after_blank(rest.strip_prefix(':')?);
    is_python_shape(rest).then_some((rank.parse().ok()?, rest))
}

/// Returns whether a text is surely a line of a Python traceback.
fn is_python_shape(text: &str) -> bool {
    text.starts_with("Traceback (most") || text.trim_start().starts_with("File \"")
}

/// `(EngineCore_0 pid=77)`, `(Worker rank=1 pid=77)`, `(RayWorker pid=77, ip=10.0.0.2)`.
fn process_mark(text: &str) -> Option<(&str, Option<u32>, &str)> {
    let inside = text.strip_prefix('(')?;
    let (inside, rest) = inside.split_once(')')?;
    if inside.len() > 80 || !inside.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let (_, pid) = inside.split_once("pid=")?;
    digits(pid)?;
    let rank = inside.split_once("rank=").and_then(|(_, rank)| digits(rank)?.0.parse().ok());
    Some((inside, rank, after_blank(rest)))
}

/// `host:123:456 [3] NCCL INFO …`: the number in brackets is a card's.
fn nccl_mark(text: &str) -> Option<(&str, Option<u32>, &str)> {
    let (writer, rest) = text.split_once(' ')?;
    let (host, numbers) = writer.split_once(':')?;
    let (pid, thread) = numbers.split_once(':')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (card, rest) = rest.strip_prefix('[')?.split_once(']')?;
    (!host.is_empty() && is_number(pid) && is_number(thread) && is_number(card)).then_some((
        writer,
        None,
        after_blank(rest),
    ))
}

/// `Oct 04 15:02:41 host name[394]: `; the kernel's own lines stay as they are.
fn journal_mark(text: &str) -> Option<(&str, &str)> {
    let mut words = text.splitn(5, ' ').filter(|word| !word.is_empty());
    let month = words.next()?;
    let (day, time) = (words.next()?, words.next()?);
    if !MONTHS.contains(&month) || day.len() > 2 || digits(day).is_none_or(|(_, rest)| !rest.is_empty()) {
        return None;
    }
    clock(time).filter(|rest| rest.is_empty())?;
    let rest = &text[text.find(time)? + time.len()..];
    let (_host, rest) = rest.trim_start().split_once(' ')?;
    let (writer, rest) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let is_name = !writer.contains(' ') && writer.len() <= 80;
    (is_name && writer != "kernel").then_some((writer, rest))
}

/// Reads `12:34:56` or `12:34:56,789` and returns what follows.
fn clock(text: &str) -> Option<&str> {
    let (hours, rest) = digits(text)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?)?;
    let (seconds, rest) = digits(rest.strip_prefix(':')?)?;
    if hours.len() > 2 || minutes.len() != 2 || seconds.len() != 2 {
        return None;
    }
    let fraction = rest.strip_prefix(['.', ',']).and_then(digits);
    Some(fraction.map_or(rest, |(_, rest)| rest))
}

/// Reads `2026-11-30` or `2026/11/30` and returns what follows.
fn date(text: &str) -> Option<&str> {
    let (year, rest) = digits(text)?;
    let mark = rest.chars().next().filter(|mark| "-/".contains(*mark))?;
    let (month, rest) = digits(rest.strip_prefix(mark)?)?;
    let (day, rest) = digits(rest.strip_prefix(mark)?)?;
    (year.len() == 4 && month.len() == 2 && day.len() == 2).then_some(rest)
}

/// A date and time, or a time alone, in brackets or not, with what separates it from the text.
fn time_mark(text: &str) -> Option<(Option<Timestamp>, &str)> {
    let is_in_brackets = text.starts_with('[');
    let inside = text.strip_prefix('[').unwrap_or(text);
    let rest = match date(inside) {
        Some(rest) => {
            let rest = rest.strip_prefix(['T', ' ', '_']).unwrap_or(rest);
            clock(rest)?
        }
        None => match short_date(inside) {
            Some(rest) => clock(rest)?,
            None => clock(inside)?,
        },
    };
    let zone = zone_length(rest);
    let written = &inside[..inside.len() - rest.len() + zone];
    let at = if zone > 0 { written.replace([' ', '_'], "T").replace(',', ".").parse().ok() } else { None };
    let rest = &rest[zone..];
    let rest = if is_in_brackets {
        rest.split_once(']').filter(|(between, _)| between.len() <= 40)?.1
    } else {
        rest
    };
    // A time is followed by something that sets it apart.
    let rest = match rest
        .strip_prefix(": ")
        .or_else(|| rest.strip_prefix(" - "))
        .or_else(|| rest.strip_prefix(" | "))
    {
        Some(rest) => rest,
        None if rest.is_empty() || is_in_brackets => after_blank(rest),
        None => rest.strip_prefix([' ', '\t', ']'])?,
    };
    Some((at, rest))
}

/// Reads `11-30 ` before a time, as vLLM writes it.
fn short_date(text: &str) -> Option<&str> {
    let (month, rest) = digits(text)?;
    let (day, rest) = digits(rest.strip_prefix('-')?)?;
    (month.len() == 2 && day.len() == 2).then(|| rest.strip_prefix(' '))?
}

/// Returns the length of a time zone: `Z`, `+00:00`, `-0800`.
fn zone_length(text: &str) -> usize {
    if text.starts_with('Z') {
        return 1;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else {
        return 0;
    };
    let Some((hours, after)) = digits(rest) else {
        return 0;
    };
    match (hours.len(), after.strip_prefix(':').and_then(digits)) {
        (4, _) => 5,
        (2, Some((minutes, _))) if minutes.len() == 2 => 6,
        _ => 0,
    }
}

/// `E1130 20:00:00.123456 77 file.cc:8] `, `[E1130 … file.cpp:8] `, `[W file.cpp:8] `.
fn glog_mark(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[').unwrap_or(text);
    let after_level = inside.strip_prefix(['I', 'W', 'E', 'F'])?;
    let (before, rest) = after_level.split_once(']')?;
    let is_numbered = before.starts_with(|first: char| first.is_ascii_digit());
    let is_short = text.starts_with('[') && before.starts_with(' ');
    let names_a_place = before
        .rsplit_once(':')
        .is_some_and(|(_, line)| digits(line).is_some_and(|(_, rest)| rest.is_empty()));
    (before.len() <= 120 && names_a_place && (is_numbered || is_short)).then(|| after_blank(rest))
}

/// Returns whether a mark for how grave a line is says that it is not.
fn is_calm_mark(text: &str) -> bool {
    let inside = text.strip_prefix('[').unwrap_or(text).trim_start();
    ["TRACE", "DEBUG", "INFO", "NOTICE"].iter().any(|level| inside.starts_with(level))
        || inside.strip_prefix('I').is_some_and(|rest| digits(rest).is_some())
}

/// `ERROR `, `[ERROR] `, `ERROR:name:`, `WARNING - `, ` E ` behind a time.
fn level_mark(text: &str) -> Option<&str> {
    let (inside, closes) = match text.strip_prefix('[') {
        Some(inside) => (inside.trim_start(), true),
        None => (text, false),
    };
    let level = LEVELS.iter().find(|level| inside.starts_with(**level))?;
    let rest = &inside[level.len()..];
    if closes {
        let (between, rest) = rest.split_once(']')?;
        return (between.len() <= 60).then(|| after_blank(rest));
    }
    let rest = rest
        .strip_prefix(" - ")
        .or_else(|| rest.strip_prefix(" | "))
        .or_else(|| rest.strip_prefix([':', ' ', '\t']))?;
    // Levels are often filled up to one width; what a traceback is indented by stays.
    Some(if rest.trim_start().starts_with("File \"") { rest } else { rest.trim_start() })
}

/// `[core.py:390] `, `worker_base.py:145] `, `tensorflow/core/x.cc:921] `, `[checkpointing.py:226:name] `.
fn place_mark(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[').unwrap_or(text);
    // TensorFlow has one letter before the place.
    let inside =
        ["I ", "W ", "E ", "F "].iter().find_map(|letter| inside.strip_prefix(letter)).unwrap_or(inside);
    let (place, rest) = inside.split_once(']')?;
    let is_place = place.len() <= 120
        && !place.contains(' ')
        && [".py:", ".cc:", ".cpp:", ".cu:", ".c:", ".go:", ".rs:"].iter().any(|mark| place.contains(mark));
    is_place.then(|| after_blank(rest))
}

#[cfg(test)]
mod tests {
    use super::stripped;

    #[test]
    fn what_launchers_put_before_a_line_is_taken_off() {
        for (line, rank, text) in [
            ("[rank3]: Traceback (most recent call last):", Some(3), "Traceback (most recent call last):"),
            ("[rank0]:   File \"a.py\", line 3, in f", Some(0), "  File \"a.py\", line 3, in f"),
            ("[default7]: iteration 5", Some(7), "iteration 5"),
            ("[1,12]<stderr>:ValueError: x", Some(12), "ValueError: x"),
            ("4: Traceback (most recent call last):", Some(4), "Traceback (most recent call last):"),
            ("(EngineCore_0 pid=77) ERROR 11-30 10:00:00 [core.py:390] ValueError: x", None, "ValueError: x"),
            ("(Worker rank=2 pid=77) INFO hello", Some(2), "hello"),
            (
                "gpu1:12:34 [1] NCCL INFO NET/IB : No device found.",
                None,
                "NCCL INFO NET/IB : No device found.",
            ),
            ("Oct  4 15:02:41 llm webui[394]: RuntimeError: x", None, "RuntimeError: x"),
            ("2026-11-30 20:07:55,932 ERROR trainer: no", None, "trainer: no"),
            ("[2026-11-30 20:07:55,932] [INFO] [launch.py:316:main] Killing", None, "Killing"),
            (
                "[rank0]:[E1130 10:00:00.123 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog",
                Some(0),
                "[Rank 0] Watchdog",
            ),
            ("[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog", None, "[Rank 0] Watchdog"),
            ("E0000 00:00:1700000000.123456    1234 cuda_dnn.cc:8310] Could not", None, "Could not"),
            ("WARNING:torch.distributed.run:x", None, "torch.distributed.run:x"),
            (
                "ERROR 06-28 06:11:45 worker_base.py:145]   File \"/a.py\", line 137, in run",
                None,
                "  File \"/a.py\", line 137, in run",
            ),
            ("2026-11-30T10:00:00.123456Z ERROR shard: x", None, "shard: x"),
            ("Traceback (most recent call last):", None, "Traceback (most recent call last):"),
            ("RuntimeError: [1] is bad", None, "RuntimeError: [1] is bad"),
            ("[12345.678] NVRM: Xid", None, "[12345.678] NVRM: Xid"),
        ] {
            let prefixed = stripped(line);
            assert_eq!((prefixed.rank, prefixed.text), (rank, text), "{line}");
        }
    }

    #[test]
    fn times_with_a_zone_are_kept() {
        let at = |line| stripped(line).at.map(|at| at.to_string());
        assert_eq!(at("2026-11-30T10:00:00.5Z ERROR x").as_deref(), Some("2026-11-30T10:00:00.5Z"));
        assert_eq!(at("2026-11-30 10:00:00 ERROR x"), None);
    }

    #[test]
    fn lines_of_the_kernel_stay() {
        let line = "Oct 04 15:02:41 host kernel: NVRM: Xid (PCI:0000:01:00): 79";
        assert_eq!(stripped(line).text, line);
    }
}
