//! Programs of one process on one card: steady work, work in bursts, a leak, a desktop.

use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{Actor, call_main_thread, end_with_keeper, start_idle_threads, wait_for_ever};
use super::specification::{Burst, Desktop, Leak, Steady};
use super::truth::{Account, Part, Span};
use crate::client::{Client, ClientError, Kernel};
use crate::state::UsageKind;

const SHORT: Duration = Duration::from_millis(25);

/// Works as somebody else's program, which computes without a pause.
pub(super) fn steady(actor: &Actor, steady: &Steady) -> Result<(), WorkError> {
    let (account, client) = begin(actor, UsageKind::Compute, steady.memory_share)?;
    start_idle_threads(steady.threads)?;
    account.ready();
    let kernel = Kernel {
        compute: steady.compute,
        memory: steady.memory,
        sm_share: steady.sm_share,
        ..Kernel::of_arithmetic(milliseconds(steady.kernel_ms))
    };
    loop {
        work(&account, &client, &kernel);
    }
}

/// Works as a person at a prompt does.
pub(super) fn burst(actor: &Actor, burst: &Burst) -> Result<(), WorkError> {
    call_main_thread(c"python3");
    let (account, client) = begin(actor, UsageKind::Compute, burst.memory_share)?;
    start_idle_threads(2)?;
    account.ready();
    let kernel = Kernel { compute: burst.compute, ..Kernel::of_arithmetic(SHORT) };
    loop {
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < burst.busy_s {
            work(&account, &client, &kernel);
        }
        account.during(Span::Idle, || std::thread::sleep(Duration::from_secs_f64(burst.rests_s)));
    }
}

/// Works and takes more and more memory.
pub(super) fn leak(actor: &Actor, leak: &Leak) -> Result<(), WorkError> {
    call_main_thread(c"pt_main_thread");
    let (account, client) = begin(actor, UsageKind::Compute, leak.memory_share)?;
    start_idle_threads(4)?;
    account.ready();
    let kernel = Kernel { compute: leak.compute, ..Kernel::of_arithmetic(milliseconds(leak.kernel_ms)) };
    let mut share = leak.memory_share;
    let mut grown = Instant::now();
    loop {
        work(&account, &client, &kernel);
        let may_grow = share + leak.grows_by <= leak.most;
        if !may_grow || grown.elapsed().as_secs_f64() < leak.grows_every_s {
            continue;
        }
        grown = Instant::now();
        match client.allocate(actor.bytes(client.card(), leak.grows_by)?) {
            Ok(()) => share += leak.grows_by,
            Err(ClientError::OutOfMemory { .. }) => account.change(|figures| figures.refusals += 1),
            Err(error) => return Err(error.into()),
        }
        account.change(|figures| figures.bytes_held = client.held());
    }
}

/// Works as a screen or a desktop.
pub(super) fn desktop(actor: &Actor, desktop: &Desktop) -> Result<(), WorkError> {
    let (account, client) = begin(actor, UsageKind::Graphics, desktop.memory_share)?;
    account.ready();
    if desktop.pictures_per_s <= 0.0 {
        account.during(Span::Idle, wait_for_ever);
    }
    let kernel = Kernel { compute: 0.3, ..Kernel::of_arithmetic(milliseconds(desktop.picture_ms)) };
    let rest = Duration::from_secs_f64(1.0 / desktop.pictures_per_s).saturating_sub(kernel.duration);
    loop {
        work(&account, &client, &kernel);
        account.during(Span::Pausing, || std::thread::sleep(rest));
    }
}

fn begin(
    actor: &Actor,
    kind: UsageKind,
    memory_share: f64,
) -> Result<(std::sync::Arc<Account>, Client), WorkError> {
    end_with_keeper()?;
    let account = actor.account(0)?;
    let (card, client) = actor.client_as(0, kind)?;
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    client.allocate(actor.bytes(card, memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    Ok((account, client))
}

fn work(account: &Account, client: &Client, kernel: &Kernel) {
    account.during(Span::OnTheCard, || client.run_kernel(kernel));
    account.change(|figures| figures.steps += 1);
}

fn milliseconds(count: f64) -> Duration {
    Duration::from_secs_f64(count.max(0.0) / 1e3)
}
