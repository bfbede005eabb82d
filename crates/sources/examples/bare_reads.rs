//! Reads a list of files in a bare loop and prints, as JSON, what that costs: the least that anybody could pay.
//!
//! `bare_reads LIST TIMES REST`; it rests so many milliseconds before each time, as a look that comes now and then does:
//! caches are as cold for the one as for the other. Each line of the list is `read`, `again` (a file that stays open), `list`,
//! `link`, `stat` or `room`, a space, and a path.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat, readlinkat, stat, statvfs};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Room for the longest file that is read at once.
const ROOM: usize = 64 * 1024;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let list = arguments.next();
    let mut number = || arguments.next().and_then(|number| number.parse().ok());
    let (Some(list), Some(times), Some(rest)) = (list, number(), number()) else {
        let _ =
            writeln!(io::stderr(), "bare_reads: say which list, how often, and how long it rests between");
        return ExitCode::FAILURE;
    };
    match run(&list, times, Duration::from_millis(rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bare_reads: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(list: &str, times: u64, rest: Duration) -> io::Result<()> {
    let text = std::fs::read_to_string(list)?;
    let files: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut room = vec![0_u8; ROOM];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let open = |path: &str| openat(CWD, path, flags, Mode::empty()).ok();
    let kept: Vec<Option<OwnedFd>> =
        files.iter().map(|(how, path)| if *how == "again" { open(path) } else { None }).collect();
    let mut costs = Vec::new();
    for _ in 0..times {
        std::thread::sleep(rest);
        let before = processor_time();
        for ((how, path), kept) in files.iter().zip(&kept) {
            match kept {
                Some(file) => drop(rustix::io::pread(file, &mut room, 0)),
                None => read(how, path, &mut room),
            }
        }
        costs.push(processor_time().saturating_sub(before).as_secs_f64() * 1e3);
    }
    costs.sort_by(f64::total_cmp);
    let middle = costs.get(costs.len() / 2).copied().unwrap_or(0.0);
    writeln!(io::stdout(), "{}", json!({ "files": files.len(), "processor_ms": middle }))
}

/// Reads one of the list. A process may be gone by now: asking for it costs as much.
fn read(how: &str, path: &str, room: &mut [u8]) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    match how {
        "list" => {
            if let Ok(directory) = openat(CWD, path, flags | OFlags::DIRECTORY, Mode::empty()) {
                let mut names = Vec::with_capacity(32 * 1024);
                let mut names = RawDir::new(directory, names.spare_capacity_mut());
                while let Some(Ok(_)) = names.next() {}
            }
        }
        "link" => drop(readlinkat(CWD, path, Vec::new())),
        "stat" => drop(stat(path)),
        "room" => drop(statvfs(path)),
        _ => {
            if let Ok(file) = openat(CWD, path, flags, Mode::empty()) {
                while rustix::io::read(&file, &mut *room).is_ok_and(|length| length == ROOM) {}
            }
        }
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
