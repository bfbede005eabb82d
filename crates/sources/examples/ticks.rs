//! Takes calm samples back to back and prints, as JSON, what it holds before and after: nothing may pile up.
//!
//! `ticks NUMBER`

use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use gpuwhy_model::reading::Reading;
use gpuwhy_sources::{Depth, Observer, Options, Roots, nvml};
use serde_json::json;

/// So many samples, many full ones among them, fill what is only filled once.
const WARM_UP: usize = 400;

/// One sample in so many is a full one while it warms up.
const FULL_EVERY_WARMING: usize = 20;

/// One sample in so many is a full one, as in a long look.
const FULL_EVERY: usize = 1000;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == nvml::CHILD_COMMAND).is_some() {
        return nvml::child_main(arguments);
    }
    let number = arguments.next().and_then(|argument| argument.to_str()?.parse().ok());
    let Some(number) = number else {
        let _ = writeln!(io::stderr(), "ticks: say how many");
        return ExitCode::FAILURE;
    };
    match run(number) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ticks: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(number: usize) -> io::Result<()> {
    let mut observer = Observer::start(Roots::default(), Options::default());
    take(&mut observer, WARM_UP, FULL_EVERY_WARMING);
    let before = held(&mut observer)?;
    take(&mut observer, number, FULL_EVERY);
    let after = held(&mut observer)?;
    writeln!(io::stdout(), "{}", json!({ "before": before, "after": after }))
}

fn take(observer: &mut Observer, number: usize, full_every: usize) {
    for tick in 0..number {
        let depth = if tick % full_every == 0 { Depth::Full } else { Depth::Calm };
        observer.sample(depth);
    }
}

/// Returns memory in bytes, descriptors, threads and children of this process, and what the child holds.
fn held(observer: &mut Observer) -> io::Result<serde_json::Value> {
    let children = fs::read_dir("/proc")?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| parent_of(stat) == Some(std::process::id()))
        .filter_map(|stat| stat.split(' ').next().map(str::to_owned))
        .collect::<Vec<String>>();
    let mut descriptors = fs::read_dir("/proc/self/fd")?.count();
    let mut threads = fs::read_dir("/proc/self/task")?.count();
    for child in &children {
        descriptors += fs::read_dir(format!("/proc/{child}/fd"))?.count();
        threads += fs::read_dir(format!("/proc/{child}/task"))?.count();
    }
    let footprint = observer.footprint();
    let bytes = |reading: Reading<u64>| reading.into_known().unwrap_or(0);
    Ok(json!({
        "bytes": bytes(footprint.own),
        "child_bytes": bytes(footprint.child),
        "descriptors": descriptors,
        "threads": threads,
        "children": children.len(),
    }))
}

fn parent_of(stat: &str) -> Option<u32> {
    let (_name, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}
