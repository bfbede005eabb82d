//! `cargo xtask bench ticks`: what watching costs on a loaded machine: a calm tick, a full look beside a bare loop that
//! reads the same files, and whether anything piles up over thousands of ticks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::bar::{self, Bar};
use super::once::{self, LOADED, SEED};
use super::trace;
use crate::boxes::EmulatedBox;
use crate::prerequisites;
use crate::scenarios::named;
use crate::workspace::{Profile, Workspace, output_of, succeed};

/// Processor time of a calm tick that must not be exceeded.
const TICK_BAR_MS: f64 = 10.0;
/// A calm tick costs at most this part of one run of gpustat.
const TICK_OF_GPUSTAT: f64 = 0.5;
/// A full look costs at most so many times the bare loop; the driver's library is left out on both sides.
const LOOK_OF_BARE: f64 = 1.3;
/// Memory of ours that must not be exceeded, parent and child together.
const MEMORY_BAR_BYTES: u64 = 25_000_000;
/// How many ticks must leave nothing behind.
const MANY_TICKS: usize = 20_000;
/// Memory may breathe by this much; a leak of one byte a tick would stay below, one of a kilobyte would not.
const MEMORY_BREATHES_BYTES: u64 = 2_000_000;
/// How often each thing is measured; the middle counts.
const RUNS: usize = 7;
/// How often the bare loop reads in one run, and the milliseconds before each time: as many as between two full looks of
/// `gpuwhy self`, so that caches are as cold for the one as for the other.
const BARE_TIMES_AND_REST: [&str; 2] = ["3", "2500"];

/// What `gpuwhy self --json` says.
#[derive(Debug, Deserialize)]
struct OwnCost {
    calm_tick: SampleCost,
    full_look: SampleCost,
    memory: Memory,
}

impl OwnCost {
    /// Returns how many times the bare loop a full look costs, without the driver's library.
    fn of(&self, bare: &Bare) -> f64 {
        (self.full_look.processor_ms - self.full_look.library_ms) / bare.processor_ms
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct SampleCost {
    processor_ms: f64,
    files: u64,
    library_ms: f64,
    library_calls: u64,
}

#[derive(Debug, Deserialize)]
struct Memory {
    own_bytes: Option<u64>,
    child_bytes: Option<u64>,
}

/// The bare loop reads as many files as gpuwhy says that it reads, but for one in so many: processes come and go.
const ALIKE: u64 = 20;

/// What the bare loop says.
#[derive(Debug, Deserialize)]
struct Bare {
    files: u64,
    processor_ms: f64,
}

/// What is held before and after many ticks.
#[derive(Debug, Deserialize)]
struct Piles {
    before: Held,
    after: Held,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Held {
    bytes: u64,
    child_bytes: u64,
    descriptors: u64,
    threads: u64,
    children: u64,
}

impl Piles {
    /// Whether nothing grew.
    const fn holds(&self) -> bool {
        let Self { before, after } = self;
        after.bytes + after.child_bytes <= before.bytes + before.child_bytes + MEMORY_BREATHES_BYTES
            && after.descriptors <= before.descriptors
            && after.threads <= before.threads
            && after.children <= before.children
    }
}

/// Measures, prints one table, and returns whether every bar holds, with the table.
///
/// # Errors
/// Fails when something cannot be built, brought up or run.
pub(crate) fn run(workspace: &Workspace) -> Result<(bool, String)> {
    let tools = prerequisites::python_tools(workspace)?;
    let strace = prerequisites::strace()?;
    workspace.build(Profile::Release)?;
    let mut examples = workspace.cargo();
    examples.args([
        "build",
        "--release",
        "-p",
        "gpuwhy-sources",
        "--example",
        "ticks",
        "--example",
        "bare_reads",
    ]);
    succeed(&mut examples)?;
    let gpuwhy = workspace.program(Profile::Release, "gpuwhy");
    let example = |name: &str| workspace.target().join("release/examples").join(name);
    let loaded = EmulatedBox::up(workspace, Profile::Release, &named(LOADED)?.draw(SEED)?.plan)?;
    let gpustat_ms = once::processor_ms_of_gpustat(&loaded, &tools)?;
    let (own, bare) = costs_of_a_look(&loaded, &strace, &gpuwhy, &example("bare_reads"))?;
    let piles: Piles = parsed(loaded.command(None, example("ticks")).arg(MANY_TICKS.to_string()))?;
    loaded.down()?;
    let figures = Figures { own, gpustat_ms, bare, piles };
    let table = figures.table();
    print!("{table}");
    Ok((figures.bars().iter().all(|bar| bar.holds), table))
}

/// Everything that was measured.
struct Figures {
    own: OwnCost,
    gpustat_ms: f64,
    bare: Bare,
    piles: Piles,
}

impl Figures {
    fn bars(&self) -> Vec<Bar> {
        let (tick, look) = (self.own.calm_tick, self.own.full_look);
        let look_of_bare = self.own.of(&self.bare);
        let bytes =
            self.own.memory.own_bytes.zip(self.own.memory.child_bytes).map(|(own, child)| own + child);
        let Piles { before, after } = &self.piles;
        vec![
            Bar {
                what: format!("calm tick, at most {TICK_BAR_MS:.0} ms"),
                figure: format!(
                    "{:.1} ms, of it the library {:.1} ms ({} NVML calls, {} files)",
                    tick.processor_ms, tick.library_ms, tick.library_calls, tick.files
                ),
                holds: tick.processor_ms <= TICK_BAR_MS,
            },
            Bar {
                what: "calm tick, at most half of gpustat".to_owned(),
                figure: format!("{:.2} of {:.1} ms", tick.processor_ms / self.gpustat_ms, self.gpustat_ms),
                holds: tick.processor_ms <= self.gpustat_ms * TICK_OF_GPUSTAT,
            },
            Bar {
                what: format!("full look, at most {LOOK_OF_BARE} of a bare loop"),
                figure: format!(
                    "{look_of_bare:.2}: {:.1} ms ({} files) to {:.1} ms ({} files); the library beside it {:.1} ms ({} NVML calls)",
                    look.processor_ms - look.library_ms,
                    look.files,
                    self.bare.processor_ms,
                    self.bare.files,
                    look.library_ms,
                    look.library_calls,
                ),
                holds: look_of_bare <= LOOK_OF_BARE,
            },
            Bar {
                what: format!("memory, at most {} MB", MEMORY_BAR_BYTES / 1_000_000),
                figure: bytes
                    .map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6)),
                holds: bytes.is_some_and(|bytes| bytes <= MEMORY_BAR_BYTES),
            },
            Bar {
                what: format!("{MANY_TICKS} ticks leave nothing behind"),
                figure: format!(
                    "MB {:.1} to {:.1}, of the child {:.1} to {:.1}, descriptors {} to {}, threads {} to {}, children {} to {}",
                    before.bytes as f64 / 1e6,
                    after.bytes as f64 / 1e6,
                    before.child_bytes as f64 / 1e6,
                    after.child_bytes as f64 / 1e6,
                    before.descriptors,
                    after.descriptors,
                    before.threads,
                    after.threads,
                    before.children,
                    after.children
                ),
                holds: self.piles.holds(),
            },
        ]
    }

    fn table(&self) -> String {
        bar::lines(&self.bars())
    }
}

/// Asks gpuwhy itself and runs the bare loop, by turns, since the machine may be slow for a moment, and returns the pair
/// in the middle.
fn costs_of_a_look(
    loaded: &EmulatedBox,
    strace: &Path,
    gpuwhy: &Path,
    bare_reads: &Path,
) -> Result<(OwnCost, Bare)> {
    let own_cost = || parsed::<OwnCost>(loaded.command(None, gpuwhy).args(["self", "--json"]));
    let list = list_of_reads(loaded, strace, gpuwhy, own_cost()?.full_look.files)?;
    let mut pairs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let own = own_cost()?;
        let bare: Bare = parsed(loaded.command(None, bare_reads).arg(&list).args(BARE_TIMES_AND_REST))?;
        pairs.push((own, bare));
    }
    pairs.sort_by(|(own, bare), (other, other_bare)| own.of(bare).total_cmp(&other.of(other_bare)));
    Ok(pairs.swap_remove(RUNS / 2))
}

/// Returns the list of what a full look reads, for the bare loop. Its number is about what gpuwhy itself counted.
fn list_of_reads(loaded: &EmulatedBox, strace: &Path, gpuwhy: &Path, counted: u64) -> Result<PathBuf> {
    let traces = loaded.path().join("traces");
    fs::create_dir_all(&traces).with_context(|| format!("cannot make `{}`", traces.display()))?;
    let mut command = loaded.command(None, strace);
    command.args(["-ff", "-y", "-ttt", "-s", "4096", "-e", &format!("trace={}", trace::CALLS), "-o"]);
    command.arg(traces.join("thread"));
    command.arg(gpuwhy).args(["self", "--json"]).stdout(Stdio::null());
    succeed(&mut command).context("cannot see what a full look reads")?;
    let mut threads = Vec::new();
    for entry in fs::read_dir(&traces).with_context(|| format!("cannot list `{}`", traces.display()))? {
        let text = fs::read(entry?.path()).context("cannot read a trace")?;
        threads.push(String::from_utf8_lossy(&text).into_owned());
    }
    let reads = trace::last_look(&threads);
    let number = reads.len();
    ensure!(
        counted.abs_diff(number as u64) <= counted / ALIKE,
        "the trace shows {number} reads of a full look, and gpuwhy counted {counted}: this is no fair comparison"
    );
    let list = loaded.path().join("reads");
    fs::write(&list, reads.join("\n") + "\n")
        .with_context(|| format!("cannot write `{}`", list.display()))?;
    Ok(list)
}

fn parsed<T: serde::de::DeserializeOwned>(command: &mut Command) -> Result<T> {
    serde_json::from_str(&output_of(command)?).context("what it printed is not what was expected")
}

#[cfg(test)]
mod tests {
    use super::{Bare, Figures, Held, Memory, OwnCost, Piles, SampleCost};

    fn figures() -> Figures {
        let tick = SampleCost { processor_ms: 6.0, files: 90, library_ms: 1.0, library_calls: 200 };
        let look = SampleCost { processor_ms: 61.0, files: 4000, library_ms: 1.0, library_calls: 600 };
        let held =
            Held { bytes: 9_000_000, child_bytes: 5_000_000, descriptors: 12, threads: 3, children: 1 };
        Figures {
            own: OwnCost {
                calm_tick: tick,
                full_look: look,
                memory: Memory { own_bytes: Some(9_000_000), child_bytes: Some(5_000_000) },
            },
            gpustat_ms: 170.0,
            bare: Bare { files: 4000, processor_ms: 50.0 },
            piles: Piles { before: held, after: held },
        }
    }

    #[test]
    fn every_bar_can_be_missed() {
        let holding = |figures: &Figures| figures.bars().iter().map(|bar| bar.holds).collect::<Vec<bool>>();
        assert_eq!(holding(&figures()), [true; 5], "{}", figures().table());
        let mut worse = figures();
        worse.own.calm_tick.processor_ms = 90.0;
        worse.own.full_look.processor_ms = 70.0;
        worse.own.memory.child_bytes = None;
        worse.piles.after.descriptors += 1;
        assert_eq!(holding(&worse), [false; 5]);
    }

    #[test]
    fn a_library_that_is_slow_is_not_ours() {
        let mut figures = figures();
        figures.own.full_look.processor_ms += 40.0;
        figures.own.full_look.library_ms += 40.0;
        assert!(figures.bars()[2].holds);
    }
}
