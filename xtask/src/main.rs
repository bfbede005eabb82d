//! Everything the project does to itself: check, test, demo, scenarios, bench, fuzz.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool answers on the terminal")]

mod bench;
mod boxes;
mod check;
mod demo;
mod full;
mod fuzz;
mod generate;
mod metadata;
mod on_gpu;
mod prerequisites;
mod rightness;
mod scenarios;
mod score;
mod tally;
mod test;
mod versus;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::scenarios::Selection;
use crate::workspace::{Profile, Workspace};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Everything the project does to itself",
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Judge everything that can be judged without running the product
    Check {
        /// Only these checks, by name
        names: Vec<String>,
    },
    /// Write the files that are made from the code: schemas, pages of causes
    Generate,
    /// Check, then run every test and the fixed scenarios
    Test {
        /// Also show everything else that a machine can judge, and write the figures to docs/measured.md
        #[arg(long)]
        full: bool,
    },
    /// Try one part of `test --full` alone
    Show {
        /// Which part
        part: full::Part,
    },
    /// Show what gpuwhy says about an emulated box with four cards, and whether it is right
    Demo {
        /// Language of the words, `en` or `zh-CN`; else the locale's
        #[arg(long)]
        lang: Option<String>,
    },
    /// Run emulated boxes with a planted cause, and count how often gpuwhy is right
    Scenarios {
        /// The first seed; without it a fresh one is drawn and printed
        #[arg(long)]
        seed: Option<u64>,
        /// How many runs
        #[arg(long, default_value_t = 23)]
        count: usize,
        /// Only this scenario, or this cause with its near misses
        #[arg(long)]
        only: Option<String>,
    },
    /// Let gpuwhy read labelled incidents, and count how often it is right
    Score {
        /// Folder with a folder for each incident
        folder: PathBuf,
        /// Show what was said of each
        #[arg(long)]
        list: bool,
        /// Also those whose texts alone do not prove the cause, and those that are prose
        #[arg(long)]
        all: bool,
    },
    /// Compare gpuwhy with nvsonar on the same boxes
    Versus {
        /// The first seed; without it a fresh one is drawn and printed
        #[arg(long)]
        seed: Option<u64>,
        /// How many runs; without it, every scenario once
        #[arg(long)]
        count: Option<usize>,
        /// Only this scenario, or this cause with its near misses
        #[arg(long)]
        only: Option<String>,
    },
    /// See what gpuwhy says of known loads on a real card
    OnGpu {
        /// Only put everything that is needed into a folder, to be run where the card is
        #[arg(long)]
        pack: bool,
        /// The gpuwhy to try; without it the one of this workspace is built
        #[arg(long)]
        gpuwhy: Option<PathBuf>,
        /// Where results go
        #[arg(long, default_value = "target/on-gpu-results")]
        out: PathBuf,
    },
    /// Keep the first card busy in a known way
    #[command(name = "__on-gpu-load", hide = true)]
    OnGpuLoad {
        /// How
        load: on_gpu::load::Load,
        /// For how many seconds
        seconds: u64,
    },
    /// Look for inputs that break a reader, led by which code they reach
    Fuzz {
        /// Only this target
        target: Option<String>,
        /// For how many seconds, each
        #[arg(long, default_value_t = 300)]
        seconds: u64,
    },
    /// Measure what gpuwhy costs, beside other tools
    Bench {
        /// What to measure
        #[command(subcommand)]
        what: Bench,
    },
    /// Run one command and print what it cost
    #[command(name = "__measure", hide = true)]
    Measure {
        /// Look at its memory too, which disturbs its processor time
        #[arg(long)]
        memory: bool,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// One answer on a loaded machine
    Once,
    /// Watching a loaded machine: a calm tick, a full look, thousands of ticks
    Ticks,
    /// Reading texts: a kernel log of a gigabyte beside ripgrep, a small paste
    Read,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does one task and returns whether all is well.
fn run(task: Task) -> Result<bool> {
    let workspace = Workspace::of_this_tool()?;
    let is_good = match task {
        Task::Check { names } => {
            let tally = check::run(&workspace, &names)?;
            println!("{tally}");
            tally.is_good()
        }
        Task::Generate => {
            generate::write(&workspace)?;
            true
        }
        Task::Test { full } => test::run(&workspace, full)?,
        Task::Show { part } => {
            let tally = full::run_part(&workspace, part)?;
            println!("{tally}");
            tally.is_good()
        }
        Task::Demo { lang } => demo::run(&workspace, lang.as_deref())?,
        Task::Scenarios { seed, count, only } => {
            scenarios::run(&workspace, &Selection { seed, count, only })?.holds()
        }
        Task::Score { folder, list, all } => score::run(&workspace, &folder, list, all)?.holds(),
        Task::Versus { seed, count, only } => {
            let count = count.map_or_else(versus::once_each, Ok)?;
            versus::run(&workspace, &Selection { seed, count, only })?.holds()
        }
        Task::OnGpu { pack, gpuwhy, out } => {
            let written =
                if pack { on_gpu::pack(&workspace)? } else { on_gpu_results(&workspace, gpuwhy, &out)? };
            println!("{}", written.display());
            true
        }
        Task::OnGpuLoad { load, seconds } => {
            on_gpu::load::run(load, Duration::from_secs(seconds))?;
            true
        }
        Task::Fuzz { target, seconds } => {
            let tally = fuzz::run(&workspace, seconds, target.as_deref())?;
            println!("{tally}");
            tally.is_good()
        }
        Task::Bench { what: Bench::Once } => bench::once::run(&workspace)?.0,
        Task::Bench { what: Bench::Ticks } => bench::ticks::run(&workspace)?.0,
        Task::Bench { what: Bench::Read } => bench::read::run(&workspace)?.0,
        Task::Measure { memory, command } => {
            bench::measure::print(&command, memory)?;
            true
        }
    };
    Ok(is_good)
}

/// Tries known loads on this machine's card with the given gpuwhy, or with the one of the workspace.
fn on_gpu_results(workspace: &Workspace, gpuwhy: Option<PathBuf>, out: &Path) -> Result<PathBuf> {
    if let Some(gpuwhy) = gpuwhy {
        return on_gpu::run(&gpuwhy, out);
    }
    workspace.build(Profile::Release)?;
    on_gpu::run(&workspace.program(Profile::Release, "gpuwhy"), out)
}
