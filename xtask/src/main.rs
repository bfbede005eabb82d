//! Everything the project does to itself: check, test, demo, scenarios, bench.
#![expect(clippy::print_stdout, reason = "a developer's tool answers on the terminal")]

mod check;
mod generate;
mod metadata;
mod tally;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

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
}

fn main() -> Result<ExitCode> {
    let workspace = Workspace::of_this_tool()?;
    let is_good = match Arguments::parse().task {
        Task::Check { names } => {
            let tally = check::run(&workspace, &names)?;
            println!("{tally}");
            tally.is_good()
        }
        Task::Generate => {
            generate::write(&workspace)?;
            true
        }
    };
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
