//! One process of a member: who it is, what it shares with the others, and how it starts further ones.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::truth::Account;
use super::{Specification, WorkError};
use crate::board::{Board, BoxDirectory};
use crate::client::{Client, ClientError};
use crate::place::programs::SPECIFICATION_VARIABLE;
use crate::state::UsageKind;

/// The variable that tells a process which part it plays.
const ROLE_VARIABLE: &str = "LAB_ROLE";

/// Which part a process plays in its member's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// The process that the keeper starts.
    First,
    /// A process that uses the card at this place of the member's list.
    Rank(usize),
    /// A loader of a rank.
    Loader {
        /// Whose loader.
        rank: usize,
        /// Its number among the loaders of that rank.
        number: u32,
    },
    /// What a dead run leaves behind.
    Survivor,
    /// A process that fills host memory and ends.
    Helper,
    /// One of many nearly idle processes.
    Extra(Extra),
}

/// The kinds of nearly idle processes in a crowd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Extra {
    /// Uses a card and has loaders.
    CardUser(usize),
    /// Loads for one that does.
    Loader,
    /// Has nothing to do with cards.
    Other,
}

/// The calling process as a part of a member.
#[derive(Clone)]
pub(super) struct Actor {
    pub(super) specification: Specification,
    pub(super) role: Role,
    pub(super) directory: BoxDirectory,
}

impl Actor {
    /// Reads from the environment who this process is; `None` when it is no part of a member.
    pub(super) fn from_environment() -> Result<Option<Self>, WorkError> {
        let Some(path) = std::env::var_os(SPECIFICATION_VARIABLE) else { return Ok(None) };
        let text = std::fs::read(&path).map_err(WorkError::Specification)?;
        let specification: Specification =
            serde_json::from_slice(&text).map_err(io::Error::from).map_err(WorkError::Specification)?;
        let role = match std::env::var(ROLE_VARIABLE) {
            Ok(role) => {
                serde_json::from_str(&role).map_err(io::Error::from).map_err(WorkError::Specification)?
            }
            Err(_) => Role::First,
        };
        let directory = BoxDirectory::new(&specification.directory);
        Ok(Some(Self { specification, role, directory }))
    }

    /// A command that starts another process of this member, which a person sees as `command`.
    pub(super) fn another(&self, role: Role, command: &[String]) -> Result<Command, WorkError> {
        let (name, arguments) = command.split_first().ok_or(WorkError::NoCommand)?;
        let mut process = Command::new(&self.specification.program);
        process.arg0(name).args(arguments);
        process.env(
            ROLE_VARIABLE,
            serde_json::to_string(&role).map_err(io::Error::from).map_err(WorkError::Start)?,
        );
        Ok(process)
    }

    /// The command line of the calling process.
    pub(super) fn own_command() -> Vec<String> {
        std::env::args().collect()
    }

    /// Opens the account of `rank`.
    pub(super) fn account(&self, rank: usize) -> Result<Arc<Account>, WorkError> {
        Account::open(&self.directory, &self.specification.member, rank).map_err(WorkError::Start)
    }

    /// The card of `rank` and a client on it.
    pub(super) fn client(&self, rank: usize) -> Result<(usize, Client), WorkError> {
        self.client_as(rank, UsageKind::Compute)
    }

    /// The card of `rank` and a client of this kind on it.
    pub(super) fn client_as(&self, rank: usize, kind: UsageKind) -> Result<(usize, Client), WorkError> {
        let card = *self.specification.cards.get(rank).ok_or(WorkError::NoCard { rank })?;
        Ok((card, Client::attach_as(&self.directory, card, kind)?))
    }

    /// Bytes that are `share` of the memory of `card`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a card's memory")]
    pub(super) fn bytes(&self, card: usize, share: f64) -> Result<u64, WorkError> {
        let board = Board::of(&self.directory).map_err(WorkError::Board)?;
        let card = board.cards.get(card).ok_or(WorkError::Client(ClientError::NoCard { card }))?;
        Ok((card.memory_bytes as f64 * share.clamp(0.0, 1.0)) as u64)
    }
}

/// Names the main thread as real programs do (`/proc/PID/comm`, at most 15 bytes).
pub(super) fn call_main_thread(name: &std::ffi::CStr) {
    // A longer name is cut by the kernel; there is nothing to do about a refusal.
    let _ = rustix::thread::set_name(name);
}

/// Dies when the process that started this one dies.
pub(super) fn die_with_parent() -> Result<(), WorkError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(io::Error::from)
        .map_err(WorkError::Start)
}

/// Ends this process when the keeper of the box is gone: standard input is then at its end.
#[expect(clippy::exit, reason = "nothing is left to clean up when the box is gone")]
pub(super) fn end_with_keeper() -> Result<(), WorkError> {
    std::thread::Builder::new()
        .name("cuda-EvtHandlr".to_owned())
        .spawn(|| {
            let mut byte = [0];
            while matches!(io::stdin().read(&mut byte), Ok(1..)) {}
            std::process::exit(0);
        })
        .map(|_| ())
        .map_err(WorkError::Start)
}

/// Starts threads that do nothing, as libraries do; they are called what the process is called.
pub(super) fn start_idle_threads(count: u32) -> Result<(), WorkError> {
    for _ in 0..count {
        start_idle_thread(std::thread::Builder::new())?;
    }
    Ok(())
}

/// Starts threads that do nothing, as PyTorch does at the first backward pass: who only serves has none of these.
pub(super) fn start_backward_threads(count: u32) -> Result<(), WorkError> {
    let names: Vec<String> = (0..count).map(|number| format!("pt_autograd_{number}")).collect();
    start_threads_named(&names)
}

/// Starts a thread that does nothing under each of `names`.
pub(super) fn start_threads_named(names: &[impl AsRef<str>]) -> Result<(), WorkError> {
    for name in names {
        start_idle_thread(std::thread::Builder::new().name(name.as_ref().to_owned()))?;
    }
    Ok(())
}

fn start_idle_thread(builder: std::thread::Builder) -> Result<(), WorkError> {
    const SMALL_STACK: usize = 16 * 1024;
    builder.stack_size(SMALL_STACK).spawn(wait_for_ever).map(|_| ()).map_err(WorkError::Start)
}

/// Ends this process as a killed one ends.
pub(super) fn be_killed() -> Result<(), WorkError> {
    rustix::process::kill_process(rustix::process::getpid(), Signal::KILL)
        .map_err(io::Error::from)
        .map_err(WorkError::Start)
}

/// Waits for ever.
pub(super) fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}
