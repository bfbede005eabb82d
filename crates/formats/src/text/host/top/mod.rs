//! Output of `top` in batch mode, or copied from its window: `procps` of all ages, and `busybox`.

mod summary;

use std::collections::BTreeMap;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Process, Scene, StateShares};
use gpuwhy_model::units::Cores;

use super::columns::{self, Head};
use super::ps::Table;
use super::{amounts, block, scene, uptime};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};
use summary::{Summary, memory_line};

/// `top` waits so long between looks when nobody says otherwise, in seconds.
const SECONDS_BETWEEN: f64 = 3.0;
/// No summary has more lines: one for each processor may be among them.
const SUMMARY_LINES_MAX: usize = 600;

/// What one look shows.
#[derive(Debug, Default)]
struct Look {
    scene: Scene,
    summary: Summary,
    processes: Vec<Process>,
}

/// Reads the looks that begin with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let is_begin = is_title(first) || is_summary_line(first) && goes_on_to_rows(lines) || is_head(first);
    if !is_begin {
        return None;
    }
    let mut looks: Vec<Look> = Vec::new();
    let mut taken = 0;
    while let Some((look, length)) = look(lines.get(taken..).unwrap_or_default()) {
        looks.push(look);
        taken += length;
        let blanks = lines[taken..].iter().take_while(|line| line.text.trim().is_empty()).count();
        let goes_on =
            super::text(lines, taken + blanks).is_some_and(|text| is_title(text) || is_summary_line(text));
        if !goes_on {
            break;
        }
        taken += blanks;
    }
    if looks.is_empty() {
        return None;
    }
    Some(block(taken, joined(looks, context)))
}

fn is_title(text: &str) -> bool {
    text.starts_with("top - ") && text.contains("load average")
}

/// Returns whether a line is one of those above the processes.
fn is_summary_line(text: &str) -> bool {
    let begins = ["Tasks:", "Threads:", "%Cpu", "Cpu(s):", "Cpu0", "CPU:", "Load average:"];
    begins.iter().any(|begin| text.starts_with(begin)) || memory_line(text).is_some()
}

fn is_head(text: &str) -> bool {
    let upper = text.trim_start();
    upper.starts_with("PID USER")
        && text.contains("VIRT")
        && text.contains(" PR ")
        && columns::head(text).is_some()
}

fn is_small_head(text: &str) -> bool {
    text.trim_start().starts_with("PID") && text.contains("%VSZ") && columns::head(text).is_some()
}

/// Returns whether a table of processes follows: what stands above it, other tools write too.
fn goes_on_to_rows(lines: &[Line<'_>]) -> bool {
    for line in lines.iter().take(SUMMARY_LINES_MAX) {
        let text = line.text.as_ref();
        if is_head(text) || is_small_head(text) {
            return true;
        }
        if !text.trim().is_empty() && !is_summary_line(text) {
            return false;
        }
    }
    false
}

/// Reads one look, and how many lines it has.
fn look(lines: &[Line<'_>]) -> Option<(Look, usize)> {
    let mut look = Look::default();
    let mut place = 0;
    let mut taken = 0;
    while let Some(text) = super::text(lines, place).filter(|_| place < SUMMARY_LINES_MAX) {
        if is_head(text) || is_small_head(text) {
            let head: Head = columns::head(text)?;
            let mut table = Table::default();
            let (rows, _) = table.take(&head, &lines[place + 1..]);
            look.processes = table.into_processes();
            return Some((look, place + 1 + rows));
        }
        if is_title(text) {
            if place > 0 {
                break;
            }
            uptime::take(text, &mut look.scene);
        } else if is_summary_line(text) {
            look.summary.take(text);
        } else if !text.trim().is_empty() {
            break;
        }
        place += 1;
        if !text.trim().is_empty() {
            taken = place;
        }
    }
    (taken > 0).then_some((look, taken))
}

/// Makes one scene of several looks. The first shows shares since the start of each process: later ones count.
fn joined(looks: Vec<Look>, context: &Context<'_>) -> Scene {
    let mut scene = scene(Format::Top);
    let between = seconds_between(&looks, context);
    scene.window.samples = looks.len();
    scene.window.span_s = between * (looks.len() - 1) as f64;
    let mut seen: BTreeMap<Pid, Seen> = BTreeMap::new();
    let counts_from = usize::from(looks.len() > 1);
    for (place, look) in looks.into_iter().enumerate() {
        if look.scene.window.end_boot_ns.is_some() {
            scene.window.end_boot_ns = look.scene.window.end_boot_ns;
        }
        look.summary.fill(&mut scene);
        for process in look.processes {
            seen.entry(process.key.pid).or_default().take(process, place >= counts_from);
        }
    }
    scene.processes = seen.into_values().filter_map(Seen::into_process).collect();
    scene.machine.viewer.initial_pid_namespace = super::ps::is_initial_namespace(&scene.processes).into();
    scene
}

/// Returns how many seconds lie between looks: as the clock in the titles says, or the command.
fn seconds_between(looks: &[Look], context: &Context<'_>) -> f64 {
    let ends: Vec<f64> =
        looks.iter().filter_map(|look| look.scene.window.end_boot_ns).map(|end| end as f64 / 1e9).collect();
    let by_command = context.command.and_then(|command| {
        let words = super::commands::words_of(command, "top")?;
        let option = words.iter().position(|word| *word == "-d")?;
        amounts::number(words.get(option + 1)?)
    });
    let steps = ends.len().saturating_sub(1).max(1) as f64;
    // The titles count whole minutes only.
    let by_titles = match (ends.first(), ends.last()) {
        (Some(first), Some(last)) if last - first >= 600.0 => Some((last - first) / steps),
        _ => None,
    };
    by_command.or(by_titles).unwrap_or(SECONDS_BETWEEN)
}

/// One process over several looks.
#[derive(Debug, Default)]
struct Seen {
    newest: Option<Process>,
    shares: Vec<f64>,
    states: Vec<StateShares>,
}

impl Seen {
    fn take(&mut self, process: Process, counts: bool) {
        if counts {
            self.shares.extend(process.cores.known().map(|cores| cores.0));
        }
        self.states.push(process.states);
        self.newest = Some(process);
    }

    fn into_process(self) -> Option<Process> {
        let mut process = self.newest?;
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, number) = values.fold((0.0, 0_usize), |(sum, number), value| (sum + value, number + 1));
            if number == 0 { 0.0 } else { sum / number as f64 }
        };
        if !self.shares.is_empty() {
            process.cores = Reading::Known(Cores(mean(&mut self.shares.iter().copied())));
        }
        let known: Vec<&StateShares> = self.states.iter().filter(|states| states.n > 0).collect();
        process.states = StateShares {
            n: known.len(),
            running: mean(&mut known.iter().map(|states| states.running)),
            blocked: mean(&mut known.iter().map(|states| states.blocked)),
            sleeping: mean(&mut known.iter().map(|states| states.sleeping)),
        };
        Some(process)
    }
}
