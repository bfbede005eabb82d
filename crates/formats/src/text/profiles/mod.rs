//! Where the time of a program goes: the table of `py-spy top`, and the sums of `strace -c`.

mod strace;

pub(super) use strace::read as read_calls;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{CallShare, Profile, ProfileKind, Provenance, Scene, SourceKind};
use gpuwhy_model::units::{Seconds, Share};

use super::block::{Block, Context, Remark};
use crate::Format;
use crate::paste::Line;

/// So many rows are kept.
const ROWS_MAX: usize = 512;
/// So many lines of talk may stand before the first row.
const HEAD_LINES: usize = 8;

/// Reads the table of `py-spy top` that begins with the first of these lines.
pub(super) fn read_functions(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    let is_begin = first.starts_with("Collecting samples from '")
        || first.starts_with("GIL: ") && first.contains("Threads: ")
        || is_functions_heading(first)
        || function_row(first).is_some();
    if !is_begin {
        return None;
    }
    let mut profile = Profile { kind: ProfileKind::Functions, ..Profile::default() };
    read(lines, Format::PySpyTop, profile_line, function_row, &mut profile)
}

/// Reads the sums of `strace -c` that begin with the first of these lines.
pub(super) fn read_system_calls(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    let is_talk =
        first.starts_with("strace: Process ") && (first.ends_with("attached") || first.ends_with("detached"));
    let is_heading = is_calls_heading(first);
    // Without its heading, a row could be anything.
    let follows = || lines.iter().take(HEAD_LINES).any(|line| is_calls_heading(line.text.trim()));
    let begins = is_heading || is_talk && follows();
    if !begins {
        return None;
    }
    let pid = context.command.and_then(|command| {
        let mut words = command.split_whitespace();
        words.find(|word| *word == "-p")?;
        words.next()?.parse().ok()
    });
    let mut profile = Profile { kind: ProfileKind::SystemCalls, pid: pid.map(Pid), ..Profile::default() };
    read(lines, Format::StraceSummary, calls_line, call_row, &mut profile)
}

/// Reads rows, and the lines of talk around them.
fn read(
    lines: &[Line<'_>],
    format: Format,
    talk: fn(&str, &mut Profile) -> bool,
    row: fn(&str) -> Option<CallShare>,
    profile: &mut Profile,
) -> Option<Block> {
    let mut taken = 0;
    let mut remarks = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(call) = row(text) {
            if profile.calls.len() < ROWS_MAX {
                profile.calls.push(call);
            }
        } else if !talk(text, profile) {
            let next = lines.get(place + 1).is_some_and(|line| row(line.text.trim()).is_some());
            if !next || profile.calls.is_empty() {
                break;
            }
            remarks.push(Remark::NotUnderstood { line: line.number });
        } else if !profile.calls.is_empty() && is_new_table(text) {
            break;
        }
        taken = place + 1;
    }
    if profile.calls.is_empty() && profile.active.is_none() {
        return None;
    }
    let provenance = Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] };
    let scene = Scene { profiles: vec![std::mem::take(profile)], provenance, ..Scene::default() };
    Some(Block { lines: taken, scene, remarks })
}

/// Returns whether a line of talk behind rows begins the next table.
fn is_new_table(text: &str) -> bool {
    text.starts_with("Collecting samples from") || text.starts_with("GIL: ") || is_calls_heading(text)
}

fn is_functions_heading(text: &str) -> bool {
    text.contains("%Own") && text.contains("%Total") && text.contains("Function")
}

fn is_calls_heading(text: &str) -> bool {
    text.starts_with("% time") && text.contains("seconds") && text.contains("syscall")
}

/// Reads what `py-spy top` says above its table.
fn profile_line(text: &str, profile: &mut Profile) -> bool {
    if let Some(rest) = text.strip_prefix("Collecting samples from '") {
        let command = rest.split_once('\'').map_or(rest, |(command, _)| command);
        match command.strip_prefix("pid: ").and_then(|pid| pid.trim().parse().ok()) {
            Some(pid) => profile.pid = Some(Pid(pid)),
            None => profile.command = Some(masked_text(command)),
        }
        return true;
    }
    if text.starts_with("GIL: ") {
        for part in text.split(',') {
            let Some((name, value)) = part.split_once(':') else { continue };
            let share = value.trim().strip_suffix('%').and_then(|value| value.parse::<f64>().ok());
            let share = share.map(|percent| Share(percent / 100.0));
            match name.trim() {
                "GIL" => profile.lock_held = share,
                "Active" => profile.active = share,
                "Threads" => profile.threads = value.trim().parse().ok(),
                _ => {}
            }
        }
        return true;
    }
    text.starts_with("Total Samples ") || is_functions_heading(text) || text.starts_with("Press Control-C")
}

/// ` 54.00%  54.00%    5.03s     5.03s   sched_yield (vllm/distributed/utils.py)`
fn function_row(text: &str) -> Option<CallShare> {
    let mut rest = text;
    let mut next = || {
        let trimmed = rest.trim_start();
        let end = trimmed.find(char::is_whitespace)?;
        rest = &trimmed[end..];
        Some(&trimmed[..end])
    };
    let percent =
        |word: &str| word.strip_suffix('%')?.parse::<f64>().ok().map(|percent| Share(percent / 100.0));
    let seconds = |word: &str| word.strip_suffix('s')?.parse::<f64>().ok().map(Seconds);
    let (own, total) = (percent(next()?)?, percent(next()?)?);
    let (own_time, _) = (seconds(next()?)?, seconds(next()?)?);
    let named = rest.trim();
    let (function, file) = match named.strip_suffix(')').and_then(|named| named.rsplit_once(" (")) {
        Some((function, file)) => (function, file),
        None => (named, ""),
    };
    // A line number may stand behind the file.
    let file = match file.rsplit_once(':') {
        Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => file,
        _ => file,
    };
    (!function.is_empty()).then(|| CallShare {
        function: function.chars().take(200).collect(),
        file: file.chars().take(200).collect(),
        own,
        total: Some(total),
        own_time: Some(own_time),
        calls: None,
        errors: None,
    })
}

/// Reads what `strace -c` prints around its rows.
fn calls_line(text: &str, profile: &mut Profile) -> bool {
    let attached = text.strip_prefix("strace: Process ").and_then(|rest| rest.split_whitespace().next());
    if let Some(pid) = attached.and_then(|pid| pid.parse().ok()) {
        profile.pid = profile.pid.or(Some(Pid(pid)));
        return true;
    }
    let is_rule = text.starts_with("------ ") && text.bytes().all(|byte| byte == b'-' || byte == b' ');
    let is_total = text.ends_with(" total") && text.starts_with("100.00");
    is_calls_heading(text) || is_rule || is_total || text.starts_with("^Cstrace: ")
}

/// ` 61.82    0.340000         120      2834        12 read`
fn call_row(text: &str) -> Option<CallShare> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (share, seconds, _each, calls, errors, name) = match words.as_slice() {
        [share, seconds, each, calls, name] => (share, seconds, each, calls, None, name),
        [share, seconds, each, calls, errors, name] => (share, seconds, each, calls, Some(errors), name),
        _ => return None,
    };
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let errors = match errors {
        Some(errors) => Some(errors.parse().ok()?),
        None => None,
    };
    (is_name && *name != "total").then_some(())?;
    Some(CallShare {
        function: (*name).to_owned(),
        own: Share(share.parse::<f64>().ok()? / 100.0),
        own_time: Some(Seconds(seconds.parse().ok()?)),
        calls: Some(calls.parse().ok()?),
        errors,
        ..CallShare::default()
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::scene::{Profile, ProfileKind};
    use gpuwhy_model::units::{Seconds, Share};

    use crate::text::understand;

    fn profiles(text: &str) -> Vec<Profile> {
        let understood = understand(text);
        assert!(understood.unknown_lines.is_empty(), "{:?}", understood.unknown_lines);
        understood.pieces.into_iter().flat_map(|piece| piece.scene.profiles).collect()
    }

    #[test]
    fn a_table_of_functions_is_read() {
        let read = profiles(
            "Collecting samples from 'python serve.py --api-key s3cr3tvalue' (python v3.11.4)\nTotal Samples 900\n\
             GIL: 12.00%, Active: 180.00%, Threads: 9\n\n  %Own   %Total  OwnTime  TotalTime  Function (filename:line)\n\
             \x20 70.00%  80.00%    6.30s     7.20s   acquire_read (vllm/shm_broadcast.py:88)\n\
             \x20  0.00% 100.00%   0.000s     9.00s   <module> (serve.py)\n\n",
        );
        let profile = &read[0];
        assert_eq!((profile.kind, profile.threads), (ProfileKind::Functions, Some(9)));
        assert_eq!((profile.lock_held, profile.active), (Some(Share(0.12)), Some(Share(1.8))));
        assert!(!profile.command.as_ref().unwrap().contains("s3cr3tvalue"));
        let first = &profile.calls[0];
        assert_eq!((first.function.as_str(), first.file.as_str()), ("acquire_read", "vllm/shm_broadcast.py"));
        assert_eq!(
            (first.own, first.total, first.own_time),
            (Share(0.7), Some(Share(0.8)), Some(Seconds(6.3)))
        );
        assert_eq!(profile.calls.len(), 2);
    }

    #[test]
    fn rows_without_their_heading_are_unmistakable() {
        let read = profiles(
            "  4.00%  10.00%   0.360s     1.03s   helper (contextlib.py)\n  x\n  4.00%  10.00%   0.360s     1.03s   f (a.py)",
        );
        assert_eq!(read[0].calls.len(), 2);
    }

    #[test]
    fn sums_of_calls_into_the_kernel_are_read() {
        let read = profiles(
            "$ sudo strace -c -f -p 4711\nstrace: Process 4711 attached\n^Cstrace: Process 4711 detached\n\
             % time     seconds  usecs/call     calls    errors syscall\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             \x2061.82    0.340000         120      2834           read\n\
             \x2038.18    0.210000           3     70000       512 futex\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             100.00    0.550000           7     72834       512 total\n",
        );
        let profile = &read[0];
        assert_eq!(
            (profile.kind, profile.pid, profile.calls.len()),
            (ProfileKind::SystemCalls, Some(Pid(4711)), 2)
        );
        let read = &profile.calls[0];
        assert_eq!(
            (read.function.as_str(), read.own, read.calls, read.errors),
            ("read", Share(0.6182), Some(2834), None)
        );
        assert_eq!(profile.calls[1].errors, Some(512));
    }

    #[test]
    fn other_lines_are_left_alone() {
        let understood = understand("% time is money\nGIL: yes\n10.00% 5.00% a b\n");
        assert!(understood.pieces.is_empty(), "{:?}", understood.pieces);
    }
}
