//! Training: a launcher or not, one rank per card, loaders for each rank, steps, checkpoints.

pub(super) mod helpers;
mod save;
mod step;

use std::process::{Child, Command};
use std::sync::Arc;

use super::WorkError;
use super::actor::{Actor, Role, call_main_thread, die_with_parent, end_with_keeper, start_backward_threads};
use super::loader::Loader;
use super::specification::Train;
use super::truth::Part;

/// Works as the process that the keeper started.
pub(super) fn start(actor: &Actor, train: &Train) -> Result<(), WorkError> {
    if train.detached {
        // The shell from which it was started with `nohup` ends at once.
        let mut rank = actor.another(Role::Rank(0), &Actor::own_command())?;
        rank.spawn().map_err(WorkError::Start)?;
        return Ok(());
    }
    if train.rank_command.is_empty() {
        return rank(actor, train, 0);
    }
    launch_ranks(actor, &train.rank_command)
}

/// Works as `torchrun`: starts one rank per card and waits for them.
pub(super) fn launch_ranks(actor: &Actor, rank_command: &[String]) -> Result<(), WorkError> {
    call_main_thread(c"torchrun");
    end_with_keeper()?;
    let world = actor.specification.cards.len();
    let ranks: Result<Vec<Child>, WorkError> = (0..world)
        .map(|rank| {
            let mut process = actor.another(Role::Rank(rank), rank_command)?;
            describe_rank(&mut process, rank, world);
            process.spawn().map_err(WorkError::Start)
        })
        .collect();
    for mut rank in ranks? {
        rank.wait().map_err(WorkError::Start)?;
    }
    Ok(())
}

/// Gives a rank the environment that `torchrun` gives.
pub(super) fn describe_rank(process: &mut Command, rank: usize, world: usize) {
    process
        .env("RANK", rank.to_string())
        .env("LOCAL_RANK", rank.to_string())
        .env("WORLD_SIZE", world.to_string())
        .env("LOCAL_WORLD_SIZE", world.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", "29500");
}

/// Works as one rank.
pub(super) fn rank(actor: &Actor, train: &Train, rank: usize) -> Result<(), WorkError> {
    if actor.role != Role::First && !train.detached {
        die_with_parent()?;
    }
    call_main_thread(c"pt_main_thread");
    end_with_keeper()?;
    let account = actor.account(rank)?;
    let loaders = (0..train.loaders.max(1))
        .map(|number| Loader::start(actor, rank, number, train.prefetch))
        .collect::<Result<Vec<_>, _>>()?;
    let (card, client) = actor.client(rank)?;
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    for loader in &loaders {
        account.add_process(loader.pid(), Part::Loader, None);
    }
    if !train.rank_command.is_empty()
        && let Some(parent) = rustix::process::getppid()
    {
        account.add_process(parent.as_raw_nonzero().get().cast_unsigned(), Part::Starter, None);
    }
    client.allocate(actor.bytes(card, train.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    start_backward_threads(train.threads)?;
    step::repeat(actor, train, rank, &account, &Arc::new(client), loaders)
}
