//! `cargo xtask bench read`: what reading costs: a kernel log of a gigabyte beside ripgrep, which looks for the same in
//! the same run, and a small paste.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use gpuwhy_formats::unpack::marks;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::Report;

use super::bar::{self, Bar};
use super::long_log;
use super::measure::Cost;
use super::once::{median, ourselves};
use crate::prerequisites;
use crate::workspace::{Profile, Workspace, output_of, succeed};

/// How long the log is.
const LOG_BYTES: u64 = 1_000_000_000;
/// So many of its lines are the driver's.
const XID_LINES: u64 = 200;
/// Memory of ours, while it reads the log, that must not be exceeded.
const MEMORY_BAR_BYTES: u64 = 64_000_000;
/// Reading the log takes at most so many times as long as ripgrep takes: half of its speed.
const TIMES_OF_RIPGREP: f64 = 2.0;
/// How often each reads the log; the pair in the middle counts.
const LOG_RUNS: usize = 5;

/// A small paste is answered within this time, the start of the process included.
const PASTE_BAR_MS: f64 = 50.0;
/// The same when the program and the paste are not in memory yet.
const PASTE_COLD_BAR_MS: f64 = 100.0;
/// How often the paste is read; the middle counts.
const PASTE_RUNS: usize = 21;
/// How often it is read from the disk.
const PASTE_COLD_RUNS: usize = 9;

/// What somebody asks about: a card that somebody holds and does not use.
const PASTE: &str = "\
$ nvidia-smi
Thu Nov  5 14:02:11 2026
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.183.06             Driver Version: 535.183.06   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              66W / 400W |  41270MiB / 81920MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM4-80GB          On  | 00000000:0F:00.0 Off |                    0 |
| N/A   58C    P0             371W / 400W |  77404MiB / 81920MiB |     99%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+

+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|        ID   ID                                                             Usage      |
|=======================================================================================|
|    0   N/A  N/A     20417      C   python                                    41260MiB |
|    1   N/A  N/A     31877      C   python                                    77394MiB |
+---------------------------------------------------------------------------------------+
";

/// Measures, prints one table, and returns whether every bar holds, with the table.
///
/// # Errors
/// Fails when something cannot be built, written or run.
pub(crate) fn run(workspace: &Workspace) -> Result<(bool, String)> {
    let ripgrep = prerequisites::ripgrep()?;
    workspace.build(Profile::Release)?;
    let scratch = Scratch::make(workspace.target().join("bench-read"))?;
    let bench = Bench { workspace, gpuwhy: workspace.program(Profile::Release, "gpuwhy"), ripgrep, scratch };
    let log = bench.costs_of_the_log()?;
    let paste = bench.costs_of_the_paste()?;
    let figures = Figures { log, paste };
    let bars = figures.bars();
    let table = bar::lines(&bars);
    print!("{table}");
    Ok((bars.iter().all(|bar| bar.holds), table))
}

/// A folder of our own, which is gone when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn make(folder: PathBuf) -> Result<Self> {
        let scratch = Self(folder);
        // One of a run that was ended is of no use.
        scratch.clear();
        fs::create_dir_all(&scratch.0).with_context(|| format!("cannot make `{}`", scratch.0.display()))?;
        Ok(scratch)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn clear(&self) {
        // What cannot be removed shows when it is made anew.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What is measured, and with what.
struct Bench<'workspace> {
    workspace: &'workspace Workspace,
    gpuwhy: PathBuf,
    ripgrep: PathBuf,
    scratch: Scratch,
}

/// What reading the log costs.
struct LogCosts {
    gpuwhy_ms: f64,
    ripgrep_ms: f64,
    /// Most of all runs.
    memory_bytes: u64,
}

/// What reading the paste costs.
struct PasteCosts {
    warm_ms: f64,
    cold_ms: f64,
}

impl Bench<'_> {
    /// Lets gpuwhy and ripgrep read the log by turns, since the machine may be slow for a moment, and returns the pair in
    /// the middle. A first run of each, in which the file comes from the disk, does not count.
    fn costs_of_the_log(&self) -> Result<LogCosts> {
        let (log, patterns) = (self.scratch.file("kern.log"), self.scratch.file("patterns"));
        println!("writing a log of {} MB", LOG_BYTES / 1_000_000);
        long_log::write_to(&log, LOG_BYTES, XID_LINES)?;
        fs::write(&patterns, marks().collect::<Vec<&str>>().join("\n") + "\n")
            .with_context(|| format!("cannot write `{}`", patterns.display()))?;
        let ripgrep_arguments = [
            OsStr::new("--no-config"),
            OsStr::new("--count"),
            OsStr::new("--fixed-strings"),
            OsStr::new("--file"),
            patterns.as_os_str(),
            log.as_os_str(),
        ];
        let counted = output_of(self.workspace.command(&self.ripgrep).args(ripgrep_arguments))?;
        ensure!(
            counted.trim() == XID_LINES.to_string(),
            "ripgrep found {} lines of {XID_LINES}: this is no fair comparison",
            counted.trim()
        );
        let report = self.report(&log)?;
        ensure!(
            report.findings.first().is_some_and(|first| first.cause == Cause::XidAppFault),
            "gpuwhy does not see what the log says"
        );
        let gpuwhy_arguments = [OsStr::new("read"), OsStr::new("--json"), log.as_os_str()];
        let mut pairs = Vec::with_capacity(LOG_RUNS);
        for _ in 0..LOG_RUNS {
            let gpuwhy = self.cost(&self.gpuwhy, &gpuwhy_arguments)?;
            let ripgrep = self.cost(&self.ripgrep, &ripgrep_arguments)?;
            pairs.push((gpuwhy, ripgrep));
        }
        fs::remove_file(&log).with_context(|| format!("cannot remove `{}`", log.display()))?;
        Ok(middle(pairs))
    }

    fn costs_of_the_paste(&self) -> Result<PasteCosts> {
        let paste = self.scratch.file("paste.txt");
        fs::write(&paste, PASTE).with_context(|| format!("cannot write `{}`", paste.display()))?;
        let report = self.report(&paste)?;
        ensure!(report.cards.len() == 2, "gpuwhy sees {} cards in the paste", report.cards.len());
        let arguments = [OsStr::new("read"), paste.as_os_str()];
        let mut warm_ms = Vec::with_capacity(PASTE_RUNS);
        for _ in 0..PASTE_RUNS {
            warm_ms.push(self.cost(&self.gpuwhy, &arguments)?.wall_ms);
        }
        let mut cold_ms = Vec::with_capacity(PASTE_COLD_RUNS);
        for _ in 0..PASTE_COLD_RUNS {
            self.forget(&self.gpuwhy)?;
            self.forget(&paste)?;
            cold_ms.push(self.cost(&self.gpuwhy, &arguments)?.wall_ms);
        }
        Ok(PasteCosts { warm_ms: median(warm_ms), cold_ms: median(cold_ms) })
    }

    /// Asks gpuwhy what a text says.
    fn report(&self, text: &Path) -> Result<Report> {
        let mut command = self.workspace.command(&self.gpuwhy);
        self.away_from_settings(&mut command).args(["read", "--json"]).arg(text);
        let output = command.stderr(Stdio::inherit()).output().context("cannot start gpuwhy")?;
        // 1: something was found.
        ensure!(matches!(output.status.code(), Some(0 | 1)), "gpuwhy ended with {}", output.status);
        serde_json::from_slice(&output.stdout).context("the answer is no report")
    }

    /// Runs a program once and returns what that cost. What it says is not shown: it was asked before.
    fn cost(&self, program: &Path, arguments: &[&OsStr]) -> Result<Cost> {
        let mut command = self.workspace.command(ourselves()?);
        self.away_from_settings(&mut command).args(["__measure", "--"]).arg(program).args(arguments);
        let output = command.stderr(Stdio::null()).output().context("cannot start this tool")?;
        ensure!(output.status.success(), "`{}` cannot be measured", program.display());
        let cost: Cost = serde_json::from_slice(&output.stdout).context("the measurement is no JSON")?;
        let did_its_work = matches!(cost.exit_code, Some(0 | 1));
        ensure!(did_its_work, "`{}` ended with {:?}", program.display(), cost.exit_code);
        Ok(cost)
    }

    /// Neither the language nor the settings of whoever runs this count.
    fn away_from_settings<'command>(&self, command: &'command mut Command) -> &'command mut Command {
        command.env("LC_ALL", "C").env("XDG_CONFIG_HOME", &self.scratch.0)
    }

    /// Lets the system forget what it keeps of a file in memory, so that the next reader waits for the disk.
    fn forget(&self, path: &Path) -> Result<()> {
        // Only what lies on the disk can be forgotten.
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.with_context(|| format!("cannot write `{}` out", path.display()))?;
        let mut input = OsString::from("if=");
        input.push(path);
        let arguments = ["iflag=nocache", "count=0", "status=none"];
        succeed(self.workspace.command("dd").arg(input).args(arguments))
    }
}

/// Returns the pair in the middle by how many times as long as ripgrep gpuwhy took.
fn middle(mut pairs: Vec<(Cost, Cost)>) -> LogCosts {
    let memory_bytes = pairs.iter().map(|(gpuwhy, _)| gpuwhy.most_resident_bytes).max().unwrap_or(u64::MAX);
    let times = |(gpuwhy, ripgrep): &(Cost, Cost)| gpuwhy.wall_ms / ripgrep.wall_ms;
    pairs.sort_by(|one, other| times(one).total_cmp(&times(other)));
    let (gpuwhy_ms, ripgrep_ms) = pairs
        .get(pairs.len() / 2)
        .map_or((f64::INFINITY, 1.0), |(gpuwhy, ripgrep)| (gpuwhy.wall_ms, ripgrep.wall_ms));
    LogCosts { gpuwhy_ms, ripgrep_ms, memory_bytes }
}

/// Everything that was measured.
struct Figures {
    log: LogCosts,
    paste: PasteCosts,
}

impl Figures {
    fn bars(&self) -> Vec<Bar> {
        let Self { log, paste } = self;
        let megabytes = LOG_BYTES / 1_000_000;
        let speed = |milliseconds: f64| LOG_BYTES as f64 / 1e6 / milliseconds;
        vec![
            Bar {
                what: format!(
                    "log of {megabytes} MB, in at most {} MB of memory",
                    MEMORY_BAR_BYTES / 1_000_000
                ),
                figure: format!("{:.1} MB", log.memory_bytes as f64 / 1e6),
                holds: log.memory_bytes <= MEMORY_BAR_BYTES,
            },
            Bar {
                what: format!("log of {megabytes} MB, at least half of ripgrep's speed"),
                figure: format!(
                    "{:.2} of it: {:.2} GB/s ({:.0} ms) to {:.2} GB/s ({:.0} ms), {} patterns",
                    log.ripgrep_ms / log.gpuwhy_ms,
                    speed(log.gpuwhy_ms),
                    log.gpuwhy_ms,
                    speed(log.ripgrep_ms),
                    log.ripgrep_ms,
                    marks().count(),
                ),
                holds: log.gpuwhy_ms <= log.ripgrep_ms * TIMES_OF_RIPGREP,
            },
            Bar {
                what: format!("small paste, at most {PASTE_BAR_MS:.0} ms"),
                figure: format!("{:.1} ms", paste.warm_ms),
                holds: paste.warm_ms <= PASTE_BAR_MS,
            },
            Bar {
                what: format!("small paste, its files cold, at most {PASTE_COLD_BAR_MS:.0} ms"),
                figure: format!("{:.1} ms", paste.cold_ms),
                holds: paste.cold_ms <= PASTE_COLD_BAR_MS,
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Figures, LogCosts, PasteCosts, Scratch, bar, middle};

    fn cost(wall_ms: f64, most_resident_bytes: u64) -> Cost {
        Cost { processor_ms: 1.0, wall_ms, memory_bytes: None, most_resident_bytes, exit_code: Some(1) }
    }

    fn figures() -> Figures {
        Figures {
            log: LogCosts { gpuwhy_ms: 800.0, ripgrep_ms: 500.0, memory_bytes: 40_000_000 },
            paste: PasteCosts { warm_ms: 20.0, cold_ms: 60.0 },
        }
    }

    fn holding(figures: &Figures) -> Vec<bool> {
        figures.bars().iter().map(|bar| bar.holds).collect()
    }

    #[test]
    fn every_bar_can_be_missed() {
        assert_eq!(holding(&figures()), [true; 4], "{}", bar::lines(&figures().bars()));
        let worse = Figures {
            log: LogCosts { gpuwhy_ms: 1001.0, ripgrep_ms: 500.0, memory_bytes: 64_000_001 },
            paste: PasteCosts { warm_ms: 50.1, cold_ms: 100.1 },
        };
        assert_eq!(holding(&worse), [false; 4]);
        assert_eq!(bar::lines(&worse.bars()).matches("MISSED").count(), 4);
    }

    #[test]
    fn each_bar_is_missed_alone() {
        let mut hungry = figures();
        hungry.log.memory_bytes = 70_000_000;
        assert_eq!(holding(&hungry), [false, true, true, true]);
        let mut slow = figures();
        slow.log.gpuwhy_ms = 1001.0;
        assert_eq!(holding(&slow), [true, false, true, true]);
        let mut late = figures();
        late.paste.warm_ms = 51.0;
        assert_eq!(holding(&late), [true, true, false, true]);
        let mut cold = figures();
        cold.paste.cold_ms = 101.0;
        assert_eq!(holding(&cold), [true, true, true, false]);
    }

    #[test]
    fn the_pair_in_the_middle_counts_and_the_most_memory() {
        let pairs = vec![
            (cost(900.0, 7), cost(100.0, 1)),
            (cost(300.0, 9), cost(300.0, 1)),
            (cost(400.0, 8), cost(200.0, 1)),
        ];
        let costs = middle(pairs);
        assert_eq!(
            (costs.memory_bytes, costs.gpuwhy_ms.round(), costs.ripgrep_ms.round()),
            (9, 400.0, 200.0)
        );
        let nothing = Figures { log: middle(Vec::new()), ..figures() };
        assert_eq!(holding(&nothing), [false, false, true, true], "what was not measured does not hold");
    }

    #[test]
    fn what_was_written_for_a_measurement_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(folder.path().join("bench")).unwrap();
        let file = scratch.file("kern.log");
        std::fs::write(&file, "x").unwrap();
        let anew = Scratch::make(folder.path().join("bench")).unwrap();
        assert!(!file.exists() && anew.0.is_dir());
        drop(anew);
        assert!(!folder.path().join("bench").exists());
    }
}
