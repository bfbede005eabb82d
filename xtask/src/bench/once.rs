//! `cargo xtask bench once`: what one answer costs on a loaded machine, beside gpustat and nvitop in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use gpuwhy_lab::board::Fault;
use gpuwhy_lab::place::plan::Plan;

use super::measure::Cost;
use super::table;
use crate::boxes::EmulatedBox;
use crate::prerequisites;
use crate::scenarios::named;
use crate::workspace::{Profile, Workspace, output_of};

/// The machine that is looked at: 8 cards, 64 GPU processes, 512 loaders, 2,000 other processes.
pub(super) const LOADED: &str = "loaded";

/// The machine is the same every time.
pub(super) const SEED: u64 = 1;

/// Memory of ours that must not be exceeded, parent and child together.
const MEMORY_BAR_BYTES: u64 = 25_000_000;

/// NVML's `NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 3;

/// The process lists of the library; without them every descriptor has to be read.
const PROCESS_LISTS: &[&str] = &[
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
];

/// One thing that is measured.
struct Subject {
    name: &'static str,
    arguments: &'static [&'static str],
    runs: usize,
    /// Processor time that must not be exceeded; only ours has one.
    bar_ms: Option<f64>,
}

const ONCE: Subject =
    Subject { name: "gpuwhy --once", arguments: &["--once", "--json"], runs: 9, bar_ms: Some(60.0) };
const LOOK: Subject =
    Subject { name: "gpuwhy, 5 s look", arguments: &["--json"], runs: 3, bar_ms: Some(250.0) };
const SWEEP: Subject = Subject {
    name: "gpuwhy --once, all descriptors",
    arguments: &["--once", "--json"],
    runs: 9,
    bar_ms: Some(150.0),
};
const GPUSTAT: Subject =
    Subject { name: "gpustat", arguments: &["--show-pid", "--show-user"], runs: 5, bar_ms: None };
const NVITOP: Subject = Subject { name: "nvitop -1", arguments: &["--once"], runs: 5, bar_ms: None };

/// What was measured of one subject.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// What it is.
    pub(super) name: &'static str,
    /// Middle of all runs.
    pub(super) processor_ms: f64,
    /// Middle of all runs.
    pub(super) wall_ms: f64,
    /// Most of all runs.
    pub(super) memory_bytes: u64,
    /// Bar of the processor time.
    pub(super) bar_ms: Option<f64>,
}

impl Measured {
    /// Whether it stays below its bars; what has none always does.
    pub(super) fn holds(&self) -> bool {
        self.bar_ms.is_none_or(|bar| self.processor_ms <= bar && self.memory_bytes <= MEMORY_BAR_BYTES)
    }
}

/// Measures, prints one table, and returns whether every bar holds.
///
/// # Errors
/// Fails when something cannot be built, brought up or run.
pub(crate) fn run(workspace: &Workspace) -> Result<(bool, String)> {
    let tools = prerequisites::python_tools(workspace)?;
    workspace.build(Profile::Release)?;
    let gpuwhy = workspace.program(Profile::Release, "gpuwhy");
    let plan = named(LOADED)?.draw(SEED)?.plan;

    let loaded = EmulatedBox::up(workspace, Profile::Release, &plan)?;
    let processes = count_processes();
    let (gpustat, nvitop) = (tools.join("gpustat"), tools.join("nvitop"));
    let subjects = [(&*gpuwhy, &ONCE), (&*gpuwhy, &LOOK), (&*gpustat, &GPUSTAT), (&*nvitop, &NVITOP)];
    let mut measured = measure(&loaded, &subjects)?;
    loaded.down()?;

    let unlisted = EmulatedBox::up(workspace, Profile::Release, &without_process_lists(plan))?;
    measured.splice(1..1, measure(&unlisted, &[(&*gpuwhy, &SWEEP)])?);
    unlisted.down()?;

    let title = format!(
        "8 cards, 64 GPU processes, {processes} processes in all; processor time of the tool and its children"
    );
    let table = format!("{title}\n{}", table::draw(&measured));
    print!("{table}");
    Ok((measured.iter().all(Measured::holds), table))
}

/// Returns the processor time of one run of gpustat in a box, the middle of several, in milliseconds.
///
/// # Errors
/// Fails when it cannot be run.
pub(super) fn processor_ms_of_gpustat(loaded: &EmulatedBox, tools: &Path) -> Result<f64> {
    let measured = measure(loaded, &[(&tools.join("gpustat"), &GPUSTAT)])?;
    Ok(measured.first().context("gpustat was not measured")?.processor_ms)
}

/// The same board with a library that lists no process.
fn without_process_lists(mut plan: Plan) -> Plan {
    plan.name.push_str("-unlisted");
    plan.board.faults = PROCESS_LISTS
        .iter()
        .map(|function| Fault {
            function: (*function).to_owned(),
            code: Some(NOT_SUPPORTED),
            ..Fault::default()
        })
        .collect();
    plan
}

/// Runs subjects inside the box, each several times for its processor time, and once more for its memory. They take
/// turns, so that a moment in which the machine is slow is not one subject's alone; a first run of each, in which its
/// files are read from the disk, does not count.
fn measure(loaded: &EmulatedBox, subjects: &[(&Path, &Subject)]) -> Result<Vec<Measured>> {
    let mut costs: Vec<Vec<Cost>> = Vec::new();
    for (program, subject) in subjects {
        cost_of_one_run(loaded, program, subject, &[])?;
        costs.push(Vec::new());
    }
    let rounds = subjects.iter().map(|(_, subject)| subject.runs).max().unwrap_or(0);
    for round in 0..rounds {
        for ((program, subject), costs) in subjects.iter().zip(&mut costs) {
            if is_turn(subject.runs, round, rounds) {
                costs.push(cost_of_one_run(loaded, program, subject, &[])?);
            }
        }
    }
    let mut measured = Vec::new();
    for ((program, subject), costs) in subjects.iter().zip(costs) {
        let with_memory = cost_of_one_run(loaded, program, subject, &["--memory"])?;
        measured.push(Measured {
            name: subject.name,
            processor_ms: median(costs.iter().map(|cost| cost.processor_ms).collect()),
            wall_ms: median(costs.iter().map(|cost| cost.wall_ms).collect()),
            memory_bytes: with_memory.memory_bytes.unwrap_or(0),
            bar_ms: subject.bar_ms,
        });
    }
    Ok(measured)
}

/// Returns whether one of so many runs falls into this round, when they are spread over all rounds.
const fn is_turn(runs: usize, round: usize, rounds: usize) -> bool {
    (round + 1) * runs / rounds > round * runs / rounds
}

fn cost_of_one_run(
    loaded: &EmulatedBox,
    program: &Path,
    subject: &Subject,
    options: &[&str],
) -> Result<Cost> {
    let mut command: Command = loaded.command(None, ourselves()?);
    command.arg("__measure").args(options).arg("--").arg(program).args(subject.arguments);
    let text = output_of(&mut command)?;
    let cost: Cost = serde_json::from_str(&text).context("the measurement is no JSON")?;
    // 1: something was found. Anything else means that it did not do its work.
    let did_its_work = matches!(cost.exit_code, Some(0 | 1));
    ensure!(did_its_work, "{} ended with {:?}", subject.name, cost.exit_code);
    Ok(cost)
}

/// Returns this tool. The tests that ran before may have built it anew: then its name now leads to its successor.
///
/// # Errors
/// Fails when the system does not say where it lies.
pub(super) fn ourselves() -> Result<PathBuf> {
    let path = std::env::current_exe().context("cannot find this tool")?;
    let name = path.to_string_lossy();
    Ok(name.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}

/// Returns the value in the middle; of none it is 0.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn count_processes() -> usize {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)).count()
}

#[cfg(test)]
mod tests {
    use super::{LOADED, Measured, SEED, is_turn, median, without_process_lists};
    use crate::scenarios::named;

    #[test]
    fn the_loaded_board_is_there() {
        let plan = named(LOADED).unwrap().draw(SEED).unwrap().plan;
        assert_eq!(plan.board.resolve().unwrap().cards.len(), 8);
        assert!(!without_process_lists(plan).board.faults.is_empty());
    }

    #[test]
    fn the_middle_is_not_moved_by_one_slow_run() {
        assert!((median(vec![3.0, 100.0, 2.0]) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn runs_are_spread_over_the_rounds() {
        let turns = |runs| (0..9).filter(|round| is_turn(runs, *round, 9)).collect::<Vec<_>>();
        assert_eq!(turns(9).len(), 9);
        assert_eq!(turns(5), [1, 3, 5, 7, 8]);
        assert_eq!(turns(3), [2, 5, 8]);
    }

    #[test]
    fn a_bar_is_a_bar() {
        let measured =
            Measured { name: "x", processor_ms: 61.0, wall_ms: 0.0, memory_bytes: 0, bar_ms: Some(60.0) };
        assert!(!measured.holds());
        assert!(Measured { processor_ms: 59.0, ..measured.clone() }.holds());
        assert!(!Measured { processor_ms: 59.0, memory_bytes: 26_000_000, ..measured.clone() }.holds());
        assert!(Measured { bar_ms: None, ..measured }.holds());
    }
}
