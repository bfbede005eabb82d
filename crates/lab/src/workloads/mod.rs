//! What the members of a box do: real processes that hold memory, run kernels, read, decode, wait and die.
//!
//! Every process of a member runs our own binary under a name and a command line that a person would see. Which part it plays
//! stands in its environment.

mod actor;
mod alone;
mod card_thread;
mod collective;
mod crowd;
mod effort;
mod frozen;
mod hold;
mod loader;
mod meeting;
mod orphan;
mod serve;
mod shared_memory;
mod source;
mod specification;
mod train;
pub mod truth;
mod zombie;

use std::io;

use actor::{Actor, Role};
pub use specification::{
    Burst, Collective, Crowd, Data, Desktop, Frozen, Hang, Hold, Leak, Orphan, Serve, Specification, Steady,
    Train, Work, Zombie,
};

use crate::board::BoardError;
use crate::client::ClientError;

/// Why a member cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The specification or the role cannot be read.
    #[error("cannot read the specification")]
    Specification(#[source] io::Error),
    /// A process or thread cannot be started.
    #[error("cannot start a process or thread")]
    Start(#[source] io::Error),
    /// A process of the member is gone.
    #[error("cannot talk to another process of the member")]
    Pipe(#[source] io::Error),
    /// Data cannot be read.
    #[error("cannot read data")]
    Read(#[source] io::Error),
    /// A checkpoint cannot be saved.
    #[error("cannot save a checkpoint")]
    Save(#[source] io::Error),
    /// A batch cannot be handed over in shared memory.
    #[error("cannot hand over a batch in /dev/shm")]
    SharedMemory(#[source] io::Error),
    /// The ranks do not find each other.
    #[error("cannot meet the other ranks")]
    Meet(#[source] io::Error),
    /// A process without a command line.
    #[error("a process has no command line")]
    NoCommand,
    /// The member has fewer cards than ranks.
    #[error("no card for rank {rank}")]
    NoCard {
        /// The rank without a card.
        rank: usize,
    },
    /// The part is not one of this work's.
    #[error("this work has no such role")]
    NoSuchRole,
    /// The board of the box is not usable.
    #[error("cannot read the board")]
    Board(#[source] BoardError),
    /// The card refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Plays the part that the environment gives to this process; `false` when it gives none.
///
/// # Errors
/// Fails when the work cannot be done.
pub fn play_part() -> Result<bool, WorkError> {
    let Some(actor) = Actor::from_environment()? else { return Ok(false) };
    match (&actor.specification.work, actor.role) {
        (Work::Train(train), Role::First) => train::start(&actor, train)?,
        (Work::Train(train), Role::Rank(rank)) => train::rank(&actor, train, rank)?,
        (Work::Train(train), Role::Loader { rank, number }) => {
            loader::work(&actor, train, rank, number)?;
        }
        (Work::Train(train), Role::Helper) => train::helpers::fill_memory(train.helper_bytes)?,
        (Work::Serve(serve), Role::First) => serve::work(&actor, serve)?,
        (Work::Hold(hold), Role::First) => hold::start(&actor, hold)?,
        (Work::Hold(hold), Role::Rank(_)) => hold::holder(&actor, hold)?,
        (Work::Orphan(orphan), Role::First) => orphan::start(&actor, orphan)?,
        (Work::Orphan(orphan), Role::Rank(_)) => orphan::rank(&actor, orphan)?,
        (Work::Orphan(orphan), Role::Survivor) => orphan::survivor(&actor, orphan)?,
        (Work::Crowd(crowd), Role::First) => crowd::start(&actor, crowd)?,
        (Work::Crowd(crowd), Role::Extra(extra)) => crowd::extra(&actor, crowd, extra)?,
        (Work::Leak(leak), Role::First) => alone::leak(&actor, leak)?,
        (Work::Burst(burst), Role::First) => alone::burst(&actor, burst)?,
        (Work::Miner(steady), Role::First) => alone::steady(&actor, steady)?,
        (Work::Desktop(desktop), Role::First) => alone::desktop(&actor, desktop)?,
        (Work::Spin(collective), Role::First) => train::launch_ranks(&actor, &collective.rank_command)?,
        (Work::Spin(collective), Role::Rank(rank)) => collective::rank(&actor, collective, rank)?,
        (Work::Frozen(frozen), Role::First) => frozen::start(&actor, frozen)?,
        (Work::Frozen(frozen), Role::Survivor) => frozen::survivor(&actor, frozen)?,
        (Work::Zombie(zombie), Role::First) => zombie::start(&actor, zombie)?,
        _ => return Err(WorkError::NoSuchRole),
    }
    Ok(true)
}
