//! The loop of a training run: wait for a batch, copy it, compute, save now and then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::helpers::{run_process, start_and_end_threads};
use super::save::save;
use crate::client::{Client, Kernel};
use crate::workloads::WorkError;
use crate::workloads::actor::Actor;
use crate::workloads::card_thread::{CardThread, Order};
use crate::workloads::effort::{burn, burn_until, thread_cpu_seconds};
use crate::workloads::loader::{Loader, next_ready};
use crate::workloads::specification::Train;
use crate::workloads::truth::{Account, Span};

/// What the main thread chews on.
static CHAFF: [u8; 4096] = [0xA5; 4096];

/// A helper process comes so often.
const HELP_EVERY: Duration = Duration::from_millis(700);

struct Run<'a> {
    train: &'a Train,
    account: &'a Account,
    client: &'a Client,
    card_thread: CardThread,
}

/// Trains for ever as rank `rank`.
pub(super) fn repeat(
    actor: &Actor,
    train: &Train,
    rank: usize,
    account: &Account,
    client: &Arc<Client>,
    mut loaders: Vec<Loader>,
) -> Result<(), WorkError> {
    let run = Run { train, account, client, card_thread: CardThread::start(Arc::clone(client))? };
    // Filled, so that the kernel really gives it.
    let host_memory = vec![1_u8; usize::try_from(train.host_bytes).unwrap_or(0)];
    let count = loaders.len();
    let (mut saved, mut helped) = (Instant::now(), Instant::now());
    for step in 0_usize.. {
        // The first batches fill the queues; counting starts behind them.
        if step == count {
            account.ready();
            saved = Instant::now();
        }
        run.step(&mut loaders, step % count)?;
        std::hint::black_box(&host_memory);
        if train.helper_bytes > 0 && helped.elapsed() >= HELP_EVERY {
            let was_ended = account.during(Span::Pausing, || run_process(actor))?;
            account.change(|figures| figures.refusals += u64::from(was_ended));
            helped = Instant::now();
        }
        if train.checkpoint_bytes > 0 && saved.elapsed().as_secs_f64() >= train.checkpoint_every_s {
            let written = |bytes| account.change(|figures| figures.written_bytes += bytes);
            account
                .during(Span::Saving, || save(actor, rank, train.checkpoint_bytes, written))
                .map_err(WorkError::Save)?;
            saved = Instant::now();
        }
    }
    Ok(())
}

impl Run<'_> {
    fn step(&self, loaders: &mut [Loader], turn: usize) -> Result<(), WorkError> {
        let (train, account) = (self.train, self.account);
        let (turn, batch) = account.during(Span::WaitingForData, || -> Result<_, WorkError> {
            let turn = if train.shared_bytes > 0 { next_ready(loaders, turn)? } else { turn };
            Ok((turn, loaders[turn].next_batch()?))
        })?;
        account.during(Span::Copying, || self.copy());
        loaders[turn].release_batch();
        if train.host_ms > 0.0 {
            account.during(Span::HostCode, || burn(&CHAFF, milliseconds(train.host_ms)));
        }
        if train.pause_ms > 0.0 {
            account.during(Span::Pausing, || std::thread::sleep(milliseconds(train.pause_ms)));
        }
        account.during(Span::OnTheCard, || self.compute());
        let refused = start_and_end_threads(train.helper_threads);
        account.change(|figures| {
            figures.steps += 1;
            figures.loaders.add(&batch.time);
            figures.refusals += batch.refusals + refused;
            figures.main_cpu_s = thread_cpu_seconds();
        });
        Ok(())
    }

    fn copy(&self) {
        let bytes = self.train.copy_bytes.unwrap_or(self.train.batch_bytes);
        if !self.train.pageable {
            self.client.copy(bytes, true);
            return;
        }
        self.card_thread.begin(Order::Copy { bytes, to_device: true });
        burn_until(&CHAFF, || self.card_thread.is_done());
    }

    fn compute(&self) {
        let train = self.train;
        let kernel = Kernel {
            compute: train.compute,
            memory: train.memory,
            sm_share: train.sm_share,
            ..Kernel::of_arithmetic(milliseconds(train.kernel_ms))
        };
        if !train.launches_one_by_one {
            self.client.run_kernel(&kernel);
            return;
        }
        self.card_thread.begin(Order::Kernel(kernel));
        burn_until(&CHAFF, || self.card_thread.is_done());
    }
}

fn milliseconds(count: f64) -> Duration {
    Duration::from_secs_f64(count.max(0.0) / 1e3)
}
