//! `cargo xtask test --full`: everything that a version must show and a machine can judge, with its figures kept.

mod answer;
mod hangs;
mod ledger;
mod peers;
mod views;

use anyhow::{Context as _, Result, ensure};

use self::ledger::Ledger;
use crate::scenarios::{self, Selection};
use crate::tally::Tally;
use crate::workspace::{Profile, Workspace, output_of, succeed};
use crate::{bench, boxes, demo, versus};

/// Where the figures stand.
const MEASURED: &str = "docs/measured.md";

/// So many fresh draws.
const DRAWS: usize = 300;

/// The test that is left out of the gate because it builds a large program first.
const ALL_SMI: [&str; 8] = ["test", "-p", "gpuwhy-lab-nvml", "--test", "peers", "--", "--ignored", "all_smi"];

/// One measurement: whether its bars hold, and its table.
type Measure = fn(&Workspace) -> Result<(bool, String)>;

/// A part of the full test that can be tried alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// A driver that does not answer
    Hangs,
    /// Little can be seen, secrets are planted, a recording is all there is
    Views,
    /// Other monitors on the same box show the same numbers
    Peers,
}

/// Builds and tries one part.
///
/// # Errors
/// Fails when nothing can be built or a box of an earlier run cannot be cleared.
pub(crate) fn run_part(workspace: &Workspace, part: Part) -> Result<Tally> {
    workspace.build(Profile::Development)?;
    boxes::clear_left_over()?;
    let mut ledger = Ledger::default();
    match part {
        Part::Hangs => hangs::run(workspace, &mut ledger),
        Part::Views => views::run(workspace, &mut ledger),
        Part::Peers => peers::run(workspace, &mut ledger),
    }
    Ok(ledger.tally())
}

/// Shows everything and writes the figures down; `so_far` is what the gate counted before.
///
/// # Errors
/// Fails when a box of an earlier run cannot be cleared or the figures cannot be written.
pub(crate) fn run(workspace: &Workspace, so_far: Tally) -> Result<Tally> {
    boxes::clear_left_over()?;
    let mut ledger = Ledger::default();
    ledger.enter("checks, tests and fixed scenarios", so_far.failed == 0, so_far.to_string());
    hangs::run(workspace, &mut ledger);
    views::run(workspace, &mut ledger);
    ledger.judge("demo", || {
        ensure!(demo::run(workspace, None)?, "a card is named wrong");
        Ok("every card named right".to_owned())
    });
    ledger.judge("scenarios from a fresh seed", || {
        let score = scenarios::run(workspace, &Selection { seed: None, count: DRAWS, only: None })?;
        ensure!(score.holds(), "{score}");
        Ok(score.to_string())
    });
    ledger.judge("nvsonar on the same boxes", || {
        let standing =
            versus::run(workspace, &Selection { seed: None, count: versus::once_each()?, only: None })?;
        ensure!(standing.holds(), "{standing}");
        Ok(standing.to_string())
    });
    ledger.judge("all-smi lists every card", || {
        succeed(workspace.cargo().args(ALL_SMI))?;
        Ok("unchanged".to_owned())
    });
    peers::run(workspace, &mut ledger);
    let mut tables = String::new();
    for (what, measure) in [
        ("cost of an answer", bench::once::run as Measure),
        ("cost of watching", bench::ticks::run),
        ("cost of reading", bench::read::run),
    ] {
        ledger.judge(what, || {
            let (holds, table) = measure(workspace)?;
            tables.push_str(&table);
            tables.push('\n');
            ensure!(holds, "a bar is missed, see below");
            Ok("all bars hold, see below".to_owned())
        });
    }
    write_down(workspace, &ledger, tables.trim_end())?;
    Ok(ledger.tally())
}

fn write_down(workspace: &Workspace, ledger: &Ledger, tables: &str) -> Result<()> {
    let commit = output_of(workspace.command("git").args(["rev-parse", "--short=12", "HEAD"]))?;
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let cores = std::thread::available_parallelism().context("cannot count the processors")?;
    let text = format!(
        "# Measured\n\nBy `cargo xtask test --full` on {date}, commit {}, {cores} processors.\n\n{}\n## Cost\n\n```text\n{tables}\n```\n",
        commit.trim(),
        ledger.as_markdown(),
    );
    std::fs::write(workspace.path(MEASURED), text).with_context(|| format!("cannot write {MEASURED}"))
}
