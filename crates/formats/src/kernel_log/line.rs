//! One line of a log that holds what the kernel says: when, of which machine, from whom, how bad, and the text.

use super::stamp::{self, Stamp, Wall};

/// A line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLine<'line> {
    /// When.
    pub(super) stamp: Stamp,
    /// Of which machine, where the line says so.
    pub(crate) host: Option<&'line str>,
    /// From whom.
    pub(crate) sender: Sender<'line>,
    /// Severity, 0 (emergency) to 7 (debug).
    pub(crate) level: Option<u32>,
    /// What it says.
    pub(crate) text: &'line str,
}

impl<'line> LogLine<'line> {
    /// Returns a line of which only the text is known.
    pub(super) fn bare(text: &'line str) -> Self {
        Self { stamp: Stamp::default(), host: None, sender: Sender::Bare, level: None, text }
    }

    /// Returns whether the line has a time of its own.
    pub(crate) fn has_time(&self) -> bool {
        self.stamp != Stamp::default()
    }
}

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender<'line> {
    /// The kernel, as the form of the line shows.
    Kernel,
    /// Very likely the kernel: only the text shows it.
    Bare,
    /// A program, by its name.
    Program(&'line str),
}

/// Words for severity, the worst first.
const LEVELS: &[&str] = &["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];

/// What a line without any head may begin with and still be the kernel's.
const BEGINNINGS: &[&str] = &[
    "INFO: task ",
    "Killed process ",
    "Lockdown: ",
    "Memory cgroup out of memory",
    "NMI watchdog: ",
    "NVRM: ",
    "Out of memory: ",
    "amdgpu 0000:",
    "nouveau ",
    "nvidia 0000:",
    "nvidia-modeset: ",
    "nvidia-nvlink: ",
    "nvidia-nvswitch",
    "nvidia-uvm: ",
    "nvidia: ",
    "oom-kill:constraint=",
    "pcieport 0000:",
    "secureboot: ",
    "watchdog: BUG: ",
];

/// Takes a line apart; none when it is no line of such a log.
pub(crate) fn log_line(line: &str) -> Option<LogLine<'_>> {
    if let Some(found) = with_head(line) {
        return Some(found);
    }
    // Tools that look at many machines or files write which one before every line.
    let place_end = line.find(':').filter(|end| (1..=80).contains(end))?;
    let (place, rest) = line.split_at(place_end);
    let rest = rest[1..].trim_start();
    let is_place = !place.contains(char::is_whitespace) && !place.contains(['{', '"', '[']);
    if is_place && let Some(found) = with_head(rest).filter(|found| found.sender != Sender::Bare) {
        let is_host =
            place != "kernel" && !place.contains('/') && !place.contains(".log") && !is_digits(place);
        return Some(LogLine { host: found.host.or(is_host.then_some(place)), ..found });
    }
    bare(line)
}

fn with_head(line: &str) -> Option<LogLine<'_>> {
    let (level, line) = numbered_level(line).unwrap_or((None, line));
    if let Some(found) = syslog_5424(line) {
        return Some(LogLine { level, ..found });
    }
    let (level, line) = named_level(line).map_or((level, line), |(level, rest)| (Some(level), rest));
    if line.starts_with('[') {
        return in_brackets(line, level);
    }
    if let Some(iso) = stamp::iso(line) {
        let stamp = Stamp { wall: Some(iso.wall), ..Stamp::default() };
        if iso.has_comma {
            return Some(LogLine { stamp, host: None, sender: Sender::Kernel, level, text: iso.rest });
        }
        return behind_time(iso.rest, stamp, level);
    }
    let (stamp, rest) = syslog_time(line)?;
    behind_time(rest, stamp, level)
}

/// Takes `<6>` off the line: facility and severity in one number.
fn numbered_level(line: &str) -> Option<(Option<u32>, &str)> {
    let (number, rest) = line.strip_prefix('<')?.split_once('>')?;
    let number: u32 = number.parse().ok().filter(|number| *number < 192)?;
    Some((Some(number & 7), rest))
}

/// Takes `kern  :warn  : ` off the line, as `dmesg -x` writes it.
fn named_level(line: &str) -> Option<(u32, &str)> {
    let (facility, rest) = line.split_once(':')?;
    let (level, rest) = rest.split_once(':')?;
    let is_facility = (2..=8).contains(&facility.len())
        && facility.trim_end().bytes().all(|byte| byte.is_ascii_alphanumeric());
    let place = LEVELS.iter().position(|known| *known == level.trim_end())?;
    is_facility.then_some((u32::try_from(place).ok()?, rest.trim_start()))
}

/// Reads `1 2025-01-21T04:41:44.283302Z node1 kernel - - - text` (RFC 5424).
fn syslog_5424(line: &str) -> Option<LogLine<'_>> {
    let iso = stamp::iso(line.strip_prefix("1 ")?)?;
    let mut words = iso.rest.splitn(6, ' ');
    let (host, sender) = (words.next()?, words.next()?);
    let text = words.nth(3)?;
    let sender = if sender == "kernel" { Sender::Kernel } else { Sender::Program(sender) };
    let stamp = Stamp { wall: Some(iso.wall), ..Stamp::default() };
    Some(with_inner_time(LogLine { stamp, host: Some(host), sender, level: None, text }))
}

/// Reads `[12345.678901] text` and the other forms of `dmesg`, and `[12345.678901] node1 kernel: text` of the journal.
fn in_brackets(line: &str, level: Option<u32>) -> Option<LogLine<'_>> {
    let (inside, rest) = line[1..].split_once(']')?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let rest = without_caller(rest);
    let Some(stamp) = stamp::bracketed(inside) else {
        // Some cut the time short by hand.
        let looks_like_time = inside.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        return bare(rest).filter(|_| looks_like_time);
    };
    if stamp.wall.is_some() && is_of_web_server(rest) {
        return None;
    }
    if let Some((host, sender, text)) = host_and_tag(rest)
        && (sender == Sender::Kernel || rest.split(' ').nth(1).is_some_and(|tag| tag.ends_with("]:")))
    {
        return Some(LogLine { stamp, host: Some(host), sender, level, text });
    }
    if stamp == Stamp::default() {
        return bare(rest);
    }
    Some(LogLine { stamp, host: None, sender: Sender::Kernel, level, text: rest })
}

/// Returns whether a text goes on as web servers do after a time in brackets: `[error] [client …]`, `[core:notice] …`.
fn is_of_web_server(rest: &str) -> bool {
    let inside = rest.strip_prefix('[').and_then(|inside| inside.split_once(']')).map(|(inside, _)| inside);
    let begins = ["error", "warn", "notice", "info", "debug", "crit", "alert", "emerg", "client", "pid"];
    inside.is_some_and(|inside| inside.contains(':') || begins.iter().any(|begin| inside.starts_with(begin)))
}

/// Takes `[    T0] ` or `[ C3] ` off: who in the kernel wrote it.
fn without_caller(rest: &str) -> &str {
    let caller = rest.strip_prefix('[').and_then(|inside| inside.split_once(']'));
    match caller {
        Some((caller, text)) if is_caller(caller.trim()) => text.strip_prefix(' ').unwrap_or(text),
        _ => rest,
    }
}

fn is_caller(word: &str) -> bool {
    word.strip_prefix(['T', 'C']).is_some_and(is_digits)
}

/// Reads what stands behind the time in system logs: `node1 kernel: text`, `node1 kernel: [12345.678901] text`.
fn behind_time(rest: &str, stamp: Stamp, level: Option<u32>) -> Option<LogLine<'_>> {
    let (host, sender, text) = host_and_tag(rest)?;
    Some(with_inner_time(LogLine { stamp, host: Some(host), sender, level, text }))
}

/// Takes the kernel's own time off the text of a line that a system log wrote.
fn with_inner_time(line: LogLine<'_>) -> LogLine<'_> {
    let inner = line.text.strip_prefix('[').and_then(|text| text.split_once(']'));
    let Some((boot_us, text)) = inner.and_then(|(inside, text)| Some((stamp::seconds(inside.trim())?, text)))
    else {
        return line;
    };
    if line.sender != Sender::Kernel {
        return line;
    }
    let text = without_caller(text.strip_prefix(' ').unwrap_or(text));
    LogLine { stamp: Stamp { boot_us: Some(boot_us), ..line.stamp }, text, ..line }
}

/// Reads `node1 kernel: text`, `node1 systemd[1]: text`.
fn host_and_tag(rest: &str) -> Option<(&str, Sender<'_>, &str)> {
    let (host, rest) = rest.trim_start().split_once(' ')?;
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    let (tag, text) = rest.trim_start().split_once(':')?;
    let name = tag.split_once('[').map_or(tag, |(name, _)| name);
    let name = name.trim_matches(['(', ')']);
    let is_name = (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./@".contains(&byte));
    let is_tag = tag.len() == tag.trim().len() && (!tag.contains('[') || tag.ends_with(']'));
    let sender = if tag == "kernel" { Sender::Kernel } else { Sender::Program(name) };
    let is_all = is_host && is_name && is_tag && !host.ends_with(':');
    is_all.then_some((host, sender, text.strip_prefix(' ').unwrap_or(text)))
}

/// Reads `Nov  5 13:55:26`, `Sat 2024-10-12 18:35:32 UTC` and `1728758132.123456` at the beginning of a line.
fn syslog_time(line: &str) -> Option<(Stamp, &str)> {
    let wall = |wall: Wall| Stamp { wall: Some(wall), ..Stamp::default() };
    let (first, rest) = line.split_once(' ')?;
    if first.len() == 17
        && let Some(us) = stamp::seconds(first)
    {
        let at = jiff::Timestamp::from_microsecond(i64::try_from(us).ok()?).ok()?;
        return Some((wall(Wall::Full(at)), rest));
    }
    if (2..=4).contains(&first.chars().count())
        && let Some(iso) = stamp::iso(rest)
    {
        // A name of a zone follows.
        let (zone, rest) = iso.rest.split_once(' ')?;
        let is_zone = (1..=6).contains(&zone.len()) && !zone.contains(':');
        return is_zone.then_some((wall(iso.wall), rest));
    }
    stamp::month(first)?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (clock, rest) = rest.split_once(' ')?;
    Some((wall(stamp::in_some_year(first, day, clock)?), rest))
}

/// Reads a line of which only the text is left, `kernel: ` before it or nothing at all.
fn bare(line: &str) -> Option<LogLine<'_>> {
    let line = line.trim_start();
    let tagged = line.strip_prefix("kernel:").map(str::trim_start);
    let text = tagged.unwrap_or(line);
    let is_of_kernel =
        BEGINNINGS.iter().any(|begin| text.starts_with(begin)) || tagged.is_some() && !text.is_empty();
    if !is_of_kernel {
        return None;
    }
    let found = with_inner_time(LogLine { sender: Sender::Kernel, ..LogLine::bare(text) });
    let sender = if found.has_time() { Sender::Kernel } else { Sender::Bare };
    Some(LogLine { sender, ..found })
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Sender, log_line};

    /// What is left of a line: seconds since boot, calendar time, host, sender, severity, text.
    fn parts(line: &str) -> Option<String> {
        let found = log_line(line)?;
        let boot = found.stamp.boot_us.map_or("-".to_owned(), |us| us.to_string());
        let wall = found.stamp.wall.map_or("-".to_owned(), |wall| wall.microseconds().to_string());
        let sender = match found.sender {
            Sender::Kernel => "kernel",
            Sender::Bare => "bare",
            Sender::Program(name) => name,
        };
        let level = found.level.map_or("-".to_owned(), |level| level.to_string());
        Some([&boot, &wall, found.host.unwrap_or("-"), sender, &level, found.text].join("|"))
    }

    #[test]
    fn lines_of_all_tools_are_taken_apart() {
        for (line, expected) in [
            ("[    5.000001] NVRM: x", "5000001|-|-|kernel|-|NVRM: x"),
            ("[    5.000001]   indented", "5000001|-|-|kernel|-|  indented"),
            ("<4>[    5.000001] NVRM: x", "5000001|-|-|kernel|4|NVRM: x"),
            ("[    5.000001][   T12] NVRM: x", "5000001|-|-|kernel|-|NVRM: x"),
            ("kern  :err   : [    5.000001] NVRM: x", "5000001|-|-|kernel|3|NVRM: x"),
            ("[Sat Oct 12 18:35:32 2024] NVRM: x", "-|1728758132000000|-|kernel|-|NVRM: x"),
            (
                "kern  :warn  : 2024-10-12T18:35:32,000001+00:00 NVRM: x",
                "-|1728758132000001|-|kernel|4|NVRM: x",
            ),
            ("2024-10-12T18:35:32+0000 node1 kernel: NVRM: x", "-|1728758132000000|node1|kernel|-|NVRM: x"),
            (
                "2024-10-12T18:35:32.000001+00:00 node1 kernel: [    5.000001] NVRM: x",
                "5000001|1728758132000001|node1|kernel|-|NVRM: x",
            ),
            ("[    5.000001] node1 kernel: NVRM: x", "5000001|-|node1|kernel|-|NVRM: x"),
            ("[    5.000001] node1 systemd[1]: Started x.", "5000001|-|node1|systemd|-|Started x."),
            ("[    5.000001] usb 1-1: new device", "5000001|-|-|kernel|-|usb 1-1: new device"),
            (
                "Sat 2024-10-12 18:35:32 UTC node1 kernel: NVRM: x",
                "-|1728758132000000|node1|kernel|-|NVRM: x",
            ),
            ("1728758132.000001 node1 kernel: NVRM: x", "-|1728758132000001|node1|kernel|-|NVRM: x"),
            (
                "<4>1 2024-10-12T18:35:32Z node1 kernel - - - NVRM: x",
                "-|1728758132000000|node1|kernel|4|NVRM: x",
            ),
            ("node7: [    5.000001] NVRM: x", "5000001|-|node7|kernel|-|NVRM: x"),
            ("/var/log/kern.log:[    5.000001] NVRM: x", "5000001|-|-|kernel|-|NVRM: x"),
            ("123:[    5.000001] NVRM: x", "5000001|-|-|kernel|-|NVRM: x"),
            ("kernel: NVRM: x", "-|-|-|bare|-|NVRM: x"),
            ("kernel:[    5.000001] NVRM: x", "5000001|-|-|kernel|-|NVRM: x"),
            ("NVRM: x", "-|-|-|bare|-|NVRM: x"),
            ("[...] NVRM: x", "-|-|-|bare|-|NVRM: x"),
            ("[111111111.111] NVRM: x", "-|-|-|bare|-|NVRM: x"),
        ] {
            assert_eq!(parts(line).as_deref(), Some(expected), "{line}");
        }
        let classic = parts("Nov  5 13:55:26 node1 kernel: [12345.678901] NVRM: x").unwrap();
        assert!(classic.starts_with("12345678901|") && classic.ends_with("|node1|kernel|-|NVRM: x"));
        let program = parts("Nov 05 13:55:26 node1 nv-fabricmanager[104]: fabric manager").unwrap();
        assert!(program.ends_with("|node1|nv-fabricmanager|-|fabric manager"), "{program}");
    }

    #[test]
    fn lines_of_other_logs_are_not_taken() {
        for line in [
            "",
            "[",
            "[]",
            "[2024-10-12 18:35:32] INFO train: step 5",
            "[Feb 25 2025 13:59:45] [INFO] [tid 1803] Received a message",
            "[Sat Oct 12 18:35:32 2024] [error] [client 10.0.0.1] x",
            "[    12.345] (II) NVIDIA(0): x",
            "[1/5] step",
            "[INFO] x",
            "2024-10-12 18:35:32 step 5: loss",
            "2024-10-12T18:35:32Z step",
            "2024-10-12 18:35:32 5 7: x",
            "step 5: loss 0.1",
            "Mon 5 units: x",
            "kernel:",
            "the kernel: is fine",
            "nvidia/535.113.01, 5.15.0-86-generic, x86_64: installed",
            "INFO 10-28 11:16:34 metrics.py:349] x: 1",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
