//! `cargo xtask test --full`: everything that a version must show and a machine can judge, with its figures kept.

mod answer;
mod hangs;
mod ledger;
mod views;

use anyhow::{Context as _, Result, ensure};

use self::ledger::Ledger;
use crate::scenarios::{self, Selection};
use crate::tally::Tally;
use crate::workspace::{Profile, Workspace, output_of};
use crate::{bench, boxes, demo};

/// Where the figures stand.
const MEASURED: &str = "docs/measured.md";

/// So many fresh draws.
const DRAWS: usize = 120;

/// A part of the full test that can be tried alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// A driver that does not answer
    Hangs,
    /// Little can be seen, secrets are planted, a recording is all there is
    Views,
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
    let mut table = String::new();
    ledger.judge("cost bars", || {
        let (holds, drawn_table) = bench::once::run(workspace)?;
        table = drawn_table;
        ensure!(holds, "a bar is missed, see below");
        Ok("all hold, see below".to_owned())
    });
    write_down(workspace, &ledger, &table)?;
    Ok(ledger.tally())
}

fn write_down(workspace: &Workspace, ledger: &Ledger, table: &str) -> Result<()> {
    let commit = output_of(workspace.command("git").args(["rev-parse", "--short=12", "HEAD"]))?;
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let cores = std::thread::available_parallelism().context("cannot count the processors")?;
    let text = format!(
        "# Measured\n\nBy `cargo xtask test --full` on {date}, commit {}, {cores} processors.\n\n{}\n## Cost\n\n```text\n{table}```\n",
        commit.trim(),
        ledger.as_markdown(),
    );
    std::fs::write(workspace.path(MEASURED), text).with_context(|| format!("cannot write {MEASURED}"))
}
