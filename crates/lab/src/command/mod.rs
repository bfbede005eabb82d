//! The commands of `lab`, one file each.

mod down;
mod helper;
mod list;
mod prove;
mod shell;
mod up;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An emulated GPU box: true NVML ABI, real processes, files and kernel counters.
#[derive(Parser)]
#[command(name = "lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Brings a box up from a board file, a scenario file, or the name of a scenario.
    Up(up::Up),
    /// Takes a box down and puts back what it changed on the machine.
    Down {
        /// The box directory.
        directory: PathBuf,
    },
    /// Lists the boxes of this user.
    List,
    /// Runs a command inside a box; its exit code is ours.
    Shell(shell::Shell),
    /// Runs scenarios without a monitor and says whether their members prove the planted cause.
    Prove(prove::Prove),
    /// Watches over a box.
    #[command(hide = true)]
    Keep {
        /// The box directory.
        directory: PathBuf,
        /// Takes the box down when standard input ends.
        #[arg(long)]
        lifeline: bool,
    },
    /// Makes the namespace of a box and holds it open.
    #[command(hide = true)]
    Anchor {
        /// The box directory.
        directory: PathBuf,
        /// Device files of the driver.
        #[arg(long)]
        device: Vec<String>,
        /// Where stores will be mounted.
        #[arg(long)]
        mount_point: Vec<String>,
        /// Size of `/dev/shm` in bytes.
        #[arg(long)]
        shared_memory: Option<u64>,
    },
    /// Serves a store.
    #[command(hide = true)]
    Store {
        /// The box directory.
        directory: PathBuf,
        /// The store and its mount point.
        file: PathBuf,
        /// The process that holds the namespace open.
        anchor: u32,
    },
    /// Serves files at the other end of a network cable.
    #[command(hide = true)]
    Server {
        /// The box directory.
        directory: PathBuf,
        /// The server.
        file: PathBuf,
        /// The process that holds the namespace open.
        anchor: u32,
    },
    /// Becomes a process of a box.
    #[command(hide = true)]
    Launch {
        /// What to become.
        file: PathBuf,
    },
}

/// Runs the command that the arguments ask for.
pub(crate) fn run() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Up(up) => up.run(),
        Command::Down { directory } => down::run(&directory),
        Command::List => list::run(),
        Command::Shell(shell) => shell.run(),
        Command::Prove(prove) => prove.run(),
        Command::Keep { directory, lifeline } => helper::keep(&directory, lifeline),
        Command::Anchor { directory, device, mount_point, shared_memory } => {
            helper::anchor(&directory, &device, &mount_point, shared_memory)
        }
        Command::Store { directory: _, file, anchor } => helper::store(&file, anchor),
        Command::Server { directory, file, anchor } => helper::server(&directory, &file, anchor),
        Command::Launch { file } => helper::launch(&file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Says what went wrong, and why.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "lab: {error:#}");
    ExitCode::from(2)
}
