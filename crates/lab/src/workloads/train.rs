//! Training: a launcher or not, one rank per card, loaders for each rank, steps, checkpoints.

use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{Actor, Role, call_main_thread, die_with_parent, end_with_keeper, start_idle_threads};
use super::loader::Loader;
use super::specification::Train;
use super::truth::{Account, Part, Span};
use crate::client::{Client, Kernel};

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
    call_main_thread(c"torchrun");
    end_with_keeper()?;
    let world = actor.specification.cards.len();
    let ranks: Result<Vec<Child>, WorkError> = (0..world)
        .map(|rank| {
            let mut process = actor.another(Role::Rank(rank), &train.rank_command)?;
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
    let mut loaders = (0..train.loaders.max(1))
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
    start_idle_threads(train.threads)?;
    run(actor, train, rank, &account, &client, &mut loaders)
}

fn run(
    actor: &Actor,
    train: &Train,
    rank: usize,
    account: &Account,
    client: &Client,
    loaders: &mut [Loader],
) -> Result<(), WorkError> {
    let kernel = Kernel {
        duration: Duration::from_secs_f64(train.kernel_ms.max(0.0) / 1e3),
        compute: train.compute,
        memory: train.memory,
        communication: 0.0,
        sm_share: 1.0,
    };
    let count = loaders.len();
    let mut saved = Instant::now();
    for step in 0_usize.. {
        // The first batches fill the queues; counting starts behind them.
        if step == count {
            account.ready();
        }
        let loader = &mut loaders[step % count];
        let spent = account.during(Span::WaitingForData, || loader.next_batch())?;
        account.during(Span::Copying, || client.copy(train.batch_bytes, true));
        account.during(Span::OnTheCard, || client.run_kernel(&kernel));
        account.change(|figures| {
            figures.steps += 1;
            figures.loaders.reading_s += spent.reading_s;
            figures.loaders.decoding_s += spent.decoding_s;
            figures.loaders.decoding_cpu_s += spent.decoding_cpu_s;
            figures.loaders.waiting_s += spent.waiting_s;
        });
        if train.checkpoint_bytes > 0 && saved.elapsed().as_secs_f64() >= train.checkpoint_every_s {
            account
                .during(Span::Saving, || save(actor, rank, train.checkpoint_bytes))
                .map_err(WorkError::Save)?;
            saved = Instant::now();
        }
    }
    Ok(())
}

fn save(actor: &Actor, rank: usize, bytes: u64) -> io::Result<()> {
    const BLOCK: usize = 1 << 20;
    let folder = actor.directory.checkpoints().join(&actor.specification.member);
    let draft = folder.join(format!("rank{rank}.pt.draft"));
    let mut file = File::create(&draft)?;
    let block = vec![0x5A; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    file.sync_all()?;
    std::fs::rename(&draft, folder.join(format!("rank{rank}.pt")))
}
