//! Holding: memory is taken, and then little or nothing happens, as in a forgotten notebook.

use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{
    Actor, Role, call_main_thread, die_with_parent, end_with_keeper, start_idle_threads, wait_for_ever,
};
use super::specification::Hold;
use super::truth::{Account, Part, Span};
use crate::client::{Client, ClientError, Kernel, open_devices};

const SHORT_KERNEL: Duration = Duration::from_millis(40);
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Works as the process that the keeper started: the holder itself, or its parent.
pub(super) fn start(actor: &Actor, hold: &Hold) -> Result<(), WorkError> {
    if hold.kernel_command.is_empty() {
        return holder(actor, hold);
    }
    end_with_keeper()?;
    let mut kernel = actor.another(Role::Rank(0), &hold.kernel_command)?.spawn().map_err(WorkError::Start)?;
    kernel.wait().map(|_| ()).map_err(WorkError::Start)
}

/// Works as the holder of every card of the member.
pub(super) fn holder(actor: &Actor, hold: &Hold) -> Result<(), WorkError> {
    if actor.role != Role::First {
        die_with_parent()?;
        call_main_thread(c"ipykernel_launc");
    }
    end_with_keeper()?;
    start_idle_threads(hold.threads)?;
    let mut taken = Vec::new();
    for rank in 0..actor.specification.cards.len() {
        let account = actor.account(rank)?;
        if hold.waits_for_memory {
            // A job that waits is ready as soon as it waits.
            account.ready();
        }
        let (card, client) = attach(actor, rank, &account, hold.waits_for_memory)?;
        account.add_process(std::process::id(), Part::CardUser, Some(card));
        let bytes = actor.bytes(card, hold.memory_share)?;
        take(&account, &client, bytes, hold.waits_for_memory)?;
        account.change(|figures| figures.bytes_held = client.held());
        taken.push((account, client));
    }
    let kernel = Kernel::of_arithmetic(SHORT_KERNEL);
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < hold.worked_s {
        for (account, client) in &taken {
            account.during(Span::OnTheCard, || client.run_kernel(&kernel));
        }
    }
    for (account, _) in &taken {
        account.ready();
    }
    if hold.works_every_s <= 0.0 {
        let Some((account, _)) = taken.first() else { wait_for_ever() };
        account.during(Span::Idle, wait_for_ever);
    }
    loop {
        for (account, client) in &taken {
            account.during(Span::OnTheCard, || client.run_kernel(&kernel));
            account.change(|figures| figures.steps += 1);
        }
        std::thread::sleep(Duration::from_secs_f64(hold.works_every_s));
    }
}

/// Becomes a client of the card; one that waits asks again while the card is closed or has no room for a context.
fn attach(actor: &Actor, rank: usize, account: &Account, waits: bool) -> Result<(usize, Client), WorkError> {
    let _open = actor.specification.cards.get(rank).map(|card| open_devices(*card));
    loop {
        match actor.client(rank) {
            Err(WorkError::Client(ClientError::Unavailable { .. } | ClientError::OutOfMemory { .. }))
                if waits =>
            {
                account.change(|figures| figures.refusals += 1);
                account.during(Span::WaitingForMemory, || std::thread::sleep(ASK_EVERY));
            }
            other => return other,
        }
    }
}

fn take(account: &Account, client: &Client, bytes: u64, waits: bool) -> Result<(), WorkError> {
    loop {
        match client.allocate(bytes) {
            Ok(()) => return Ok(()),
            Err(ClientError::OutOfMemory { .. }) if waits => {
                account.change(|figures| {
                    figures.refusals += 1;
                    figures.bytes_held = client.held();
                });
                account.during(Span::WaitingForMemory, || std::thread::sleep(ASK_EVERY));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
