//! `cargo xtask on-gpu`: what gpuwhy says of known loads on a real card, and what the driver's calls cost there.
//!
//! Where a card can be borrowed only for minutes, `--pack` puts everything that is needed into one folder beforehand:
//! nothing is built or fetched on the machine with the card.

mod calls;
mod cuda;
pub(crate) mod load;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;
use gpuwhy_model::report::Report;

use self::load::Load;
use crate::workspace::{Profile, Workspace, output_of, succeed};

/// How long gpuwhy looks at each load.
const LOOK: Duration = Duration::from_secs(5);

/// How long a load works before gpuwhy looks.
const SETTLE: Duration = Duration::from_secs(2);

/// A load must have the card by then: its context and kernels take a while on a card without persistence.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Durations that are shortened, so that a minute is enough: an idle holder is one after 3 s.
const SETTINGS: &str = "[limits]\nidle_reserved_s = 3\n";

/// The driver's library, as any program finds it.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// What is run on the machine with the card.
const SCRIPT: &str = "#!/bin/sh\n# What gpuwhy says of known loads on this machine's first card; takes about a minute.\n\
    here=$(dirname \"$(readlink -f \"$0\")\")\nexec \"$here/xtask\" on-gpu --gpuwhy \"$here/gpuwhy\" --out \"${OUT:-$here}\"\n";

/// Puts the programs and a script into a folder; returns the folder.
///
/// # Errors
/// Fails when something cannot be built or written.
pub(crate) fn pack(workspace: &Workspace) -> Result<PathBuf> {
    succeed(workspace.cargo().args(["build", "--release", "-p", "gpuwhy", "-p", "xtask"]))?;
    let folder = workspace.target().join("on-gpu");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    for name in ["gpuwhy", "xtask"] {
        let built = workspace.program(Profile::Release, name);
        fs::copy(&built, folder.join(name)).with_context(|| format!("cannot copy `{}`", built.display()))?;
    }
    let script = folder.join("run");
    fs::write(&script, SCRIPT).with_context(|| format!("cannot write `{}`", script.display()))?;
    succeed(Command::new("chmod").arg("755").arg(&script))?;
    Ok(folder)
}

/// Runs every load, lets gpuwhy look at each, times the driver's calls, and writes all down; returns the file.
///
/// # Errors
/// Fails when there is no card or CUDA driver here, or something cannot be run or written.
pub(crate) fn run(gpuwhy: &Path, out: &Path) -> Result<PathBuf> {
    fs::create_dir_all(out).with_context(|| format!("cannot make `{}`", out.display()))?;
    let settings = out.join("settings.toml");
    fs::write(&settings, SETTINGS).with_context(|| format!("cannot write `{}`", settings.display()))?;
    let calls = calls::table(Path::new(LIBRARY))?;
    let idle = Shown::of("nobody works", &look(gpuwhy, &settings)?);
    let mut shown = vec![idle];
    for load in Load::ALL {
        shown.push(show(gpuwhy, &settings, *load, out)?);
    }
    let path = out.join("on-gpu.md");
    let text = format!("{}\n## Calls of the driver's library\n\n{calls}", words(&shown));
    fs::write(&path, &text).with_context(|| format!("cannot write `{}`", path.display()))?;
    print!("{text}");
    Ok(path)
}

/// What gpuwhy said of one load.
struct Shown {
    load: String,
    card: String,
    state: String,
    said: String,
}

impl Shown {
    fn of(load: &str, report: &Report) -> Self {
        let first = report.cards.first();
        let findings = report.findings.iter().map(|finding| {
            let pid = finding.culprit.as_ref().and_then(|culprit| culprit.pid);
            let by = pid.map_or_else(String::new, |pid| format!(" by {pid}"));
            format!("{} {:.2}{by}", finding.cause, finding.confidence)
        });
        Self {
            load: load.to_owned(),
            card: first.and_then(|card| card.name.clone()).unwrap_or_default(),
            state: first.map(|card| card.state.to_string()).unwrap_or_default(),
            said: findings.collect::<Vec<_>>().join(", "),
        }
    }
}

fn show(gpuwhy: &Path, settings: &Path, load: Load, out: &Path) -> Result<Shown> {
    let name = load.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut worker = Worker::start(&name)?;
    std::thread::sleep(SETTLE);
    let report = look(gpuwhy, settings)?;
    let kept = serde_json::to_vec_pretty(&report).context("the report is no JSON")?;
    let path = out.join(format!("{name}.json"));
    fs::write(&path, kept).with_context(|| format!("cannot write `{}`", path.display()))?;
    worker.end();
    Ok(Shown::of(&name, &report))
}

fn look(gpuwhy: &Path, settings: &Path) -> Result<Report> {
    let mut command = Command::new(gpuwhy);
    command.args(["--json", "--for", &format!("{}s", LOOK.as_secs())]).arg("--config").arg(settings);
    let output = command.output().with_context(|| format!("cannot run `{}`", gpuwhy.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).with_context(|| format!("no report: {}", said.trim()))
}

/// The process that works on the card; it ends when this is dropped.
struct Worker(Child);

impl Worker {
    fn start(load: &str) -> Result<Self> {
        let ourselves = std::env::current_exe().context("cannot find this tool")?;
        let mut command = Command::new(ourselves);
        let seconds = (READY_WITHIN + SETTLE + LOOK * 4).as_secs().to_string();
        command.args(["__on-gpu-load", load, &seconds]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a load")?;
        let output = child.stdout.take().context("the load has no output")?;
        let worker = Self(child);
        let begun = Instant::now();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("cannot hear of the load")?;
        ensure!(line.trim() == "ready", "the load `{load}` does not get the card");
        ensure!(begun.elapsed() < READY_WITHIN, "the load `{load}` took too long to begin");
        Ok(worker)
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

fn words(shown: &[Shown]) -> String {
    let card = shown.first().map_or("", |first| first.card.as_str());
    let kernel = output_of(Command::new("uname").arg("-r")).unwrap_or_default();
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let mut text = format!(
        "# Known loads on {card}\n\nBy `cargo xtask on-gpu` on {date}, kernel {}.\n\n| load | state | gpuwhy says |\n|---|---|---|\n",
        kernel.trim()
    );
    for one in shown {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {} | {} |", one.load, one.state, one.said);
    }
    text
}
