//! Output of `iostat`, with and without `-x`, of `sysstat` of all ages.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Disk, Scene};
use gpuwhy_model::units::{BytesPerSecond, Cores, Share};

use super::amounts::{number, whole};
use super::commands::interval_s;
use super::{block, scene};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Sectors that `iostat` counts in.
const SECTOR: f64 = 512.0;

/// One disk in one report.
#[derive(Debug, Clone, Copy, Default)]
struct Values {
    read: Option<f64>,
    written: Option<f64>,
    busy: Option<f64>,
    queue: Option<f64>,
}

/// One report.
#[derive(Debug, Default)]
struct Report {
    /// User, nice, system, wait for I/O, steal, idle; in hundredths.
    processors: Option<[f64; 6]>,
    disks: BTreeMap<String, Values>,
}

/// Reads the reports that begin with the first line, if any do.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let title = title(first);
    let begins =
        |place: usize| super::text(lines, place).is_some_and(|text| is_processors(text) || is_disks(text));
    let is_begin = match &title {
        // Other tools have the same title.
        Some(_) => (1..=3).any(begins),
        None => begins(0),
    };
    if !is_begin {
        return None;
    }
    let mut reports: Vec<Report> = Vec::new();
    let mut place = usize::from(title.is_some());
    let mut taken = place;
    while let Some(text) = super::text(lines, place) {
        if text.trim().is_empty() || is_time(text) {
            place += 1;
            continue;
        }
        let length = if is_processors(text) {
            reports.push(Report::default());
            let values = super::text(lines, place + 1).and_then(processors);
            if let (Some(report), Some(values)) = (reports.last_mut(), values) {
                report.processors = Some(values);
            }
            2
        } else if is_disks(text) {
            if reports.last().is_none_or(|report| !report.disks.is_empty()) {
                reports.push(Report::default());
            }
            let names: Vec<&str> = text.split_ascii_whitespace().collect();
            let rows = lines[place + 1..].iter().map_while(|line| disk(&names, &line.text));
            let disks: BTreeMap<String, Values> = rows.collect();
            let length = 1 + disks.len();
            if let Some(report) = reports.last_mut() {
                report.disks = disks;
            }
            length
        } else {
            break;
        };
        place += length;
        taken = place.min(lines.len());
    }
    Some(block(taken, summed_up(reports, title, context)))
}

/// What the first line of a tool of `sysstat` says.
pub(super) struct Title {
    pub(super) kernel: String,
    pub(super) host: String,
    pub(super) cpus: Option<u64>,
}

/// Reads `Linux 5.15.0-97-generic (node1)  10/12/2024  _x86_64_  (64 CPU)`.
pub(super) fn title(text: &str) -> Option<Title> {
    let rest = text.strip_prefix("Linux ")?;
    let (kernel, rest) = rest.split_once(" (")?;
    let (host, rest) = rest.split_once(')')?;
    let is_title = !kernel.contains(' ') && rest.contains('_');
    let cpus = rest.rsplit_once('(').and_then(|(_, count)| whole(count.split(' ').next()?));
    is_title.then(|| Title { kernel: kernel.to_owned(), host: host.to_owned(), cpus })
}

impl Title {
    /// Fills in what the title says.
    pub(super) fn fill(self, scene: &mut Scene) {
        scene.machine.kernel = Reading::Known(self.kernel);
        scene.machine.hostname = Reading::Known(self.host);
        scene.host.cpus = self.cpus.into();
    }
}

fn is_processors(text: &str) -> bool {
    text.starts_with("avg-cpu:")
}

fn is_disks(text: &str) -> bool {
    text.starts_with("Device") && (text.contains("/s") || text.contains("%util"))
}

/// Returns whether a line is the time that `-t` writes before a report.
fn is_time(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_date =
        |word: &str| word.contains(['/', '-', '.']) && word.starts_with(|first: char| first.is_ascii_digit());
    matches!(words[..], [date, clock] | [date, clock, "AM" | "PM"] if is_date(date) && clock.matches(':').count() == 2)
}

fn processors(text: &str) -> Option<[f64; 6]> {
    let values: Vec<f64> = text.split_ascii_whitespace().map_while(number).collect();
    values.try_into().ok()
}

/// Reads a row by the names of the columns.
fn disk(names: &[&str], text: &str) -> Option<(String, Values)> {
    if text.trim().is_empty() || command_after_prompt(text).is_some() {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (name, numbers) = words.split_first()?;
    let numbers: Vec<f64> = numbers.iter().map_while(|word| number(word)).collect();
    // Newer versions can write the name last.
    if numbers.len() + 1 < words.len() || numbers.len() + 1 != names.len() {
        return None;
    }
    let value = |wanted: &[(&str, f64)]| {
        wanted.iter().find_map(|(name, factor)| {
            let place = names.iter().position(|known| known == name)?;
            Some(numbers[place.checked_sub(1)?] * factor)
        })
    };
    let values = Values {
        read: value(&[
            ("rkB/s", 1024.0),
            ("rMB/s", 1_048_576.0),
            ("rsec/s", SECTOR),
            ("kB_read/s", 1024.0),
            ("MB_read/s", 1_048_576.0),
            ("Blk_read/s", SECTOR),
        ]),
        written: value(&[
            ("wkB/s", 1024.0),
            ("wMB/s", 1_048_576.0),
            ("wsec/s", SECTOR),
            ("kB_wrtn/s", 1024.0),
            ("MB_wrtn/s", 1_048_576.0),
            ("Blk_wrtn/s", SECTOR),
        ]),
        busy: value(&[("%util", 0.01)]),
        queue: value(&[("aqu-sz", 1.0), ("avgqu-sz", 1.0)]),
    };
    Some(((*name).to_owned(), values))
}

/// Makes one scene of the reports. The first one is about all the time since boot, unless others come before it that
/// were cut off.
fn summed_up(mut reports: Vec<Report>, title: Option<Title>, context: &Context<'_>) -> Scene {
    let mut scene = scene(Format::Iostat);
    let is_from_the_begin = title.is_some() || context.command.is_some();
    if let Some(title) = title {
        title.fill(&mut scene);
    }
    if is_from_the_begin && !reports.is_empty() {
        let first = reports.remove(0);
        if reports.is_empty() {
            // What disks did since the machine started says nothing about now: only that they are there.
            let known = first.disks.into_keys().map(|name| Disk { name, ..Disk::default() });
            scene.host.disks = Reading::Known(known.collect());
            return scene;
        }
    }
    scene.window.samples = reports.len().max(1);
    scene.window.span_s = interval_s(context.command, "iostat").unwrap_or(1.0) * reports.len() as f64;
    let mut disks: BTreeMap<&str, Vec<&Values>> = BTreeMap::new();
    for report in &reports {
        for (name, values) in &report.disks {
            disks.entry(name).or_default().push(values);
        }
    }
    let known = disks.iter().map(|(name, values)| {
        let mean = |pick: fn(&Values) -> Option<f64>| {
            let all: Option<Vec<f64>> = values.iter().map(|values| pick(values)).collect();
            Reading::from(all.map(|all| all.iter().sum::<f64>() / all.len() as f64))
        };
        Disk {
            name: (*name).to_owned(),
            device: String::new(),
            read: mean(|values| values.read).map(BytesPerSecond),
            written: mean(|values| values.written).map(BytesPerSecond),
            busy: mean(|values| values.busy).map(|busy| Share(busy.min(1.0))),
            queue: mean(|values| values.queue),
        }
    });
    scene.host.disks = Reading::Known(known.collect());
    let shares: Vec<[f64; 6]> = reports.iter().filter_map(|report| report.processors).collect();
    if !shares.is_empty() {
        let mean =
            |place: usize| shares.iter().map(|values| values[place]).sum::<f64>() / shares.len() as f64;
        let idle = mean(3) + mean(5);
        let cpus = scene.host.cpus.known().copied();
        scene.host.cores_used = cpus.map(|cpus| Cores((1.0 - idle / 100.0).max(0.0) * cpus as f64)).into();
        scene.host.steal = Reading::Known(Share(mean(4) / 100.0));
    }
    scene
}
