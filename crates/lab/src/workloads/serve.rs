//! Serving: requests arrive by themselves, queue, and run in batches.

use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{Actor, call_main_thread, end_with_keeper, start_idle_threads, wait_for_ever};
use super::specification::Serve;
use super::truth::{Part, Span};
use crate::client::Kernel;
use crate::random::Random;

/// A batch that is not full still costs this share of a full one: launches, weights, scheduling.
const FIXED_SHARE: f64 = 0.3;

/// Works as a server on the first card of the member.
pub(super) fn work(actor: &Actor, serve: &Serve) -> Result<(), WorkError> {
    call_main_thread(c"VLLM::EngineCor");
    end_with_keeper()?;
    let account = actor.account(0)?;
    let (card, client) = actor.client(0)?;
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    client.allocate(actor.bytes(card, serve.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    start_idle_threads(serve.threads)?;
    account.ready();
    if serve.requests_per_s <= 0.0 {
        account.during(Span::WaitingForRequests, wait_for_ever);
    }
    let mut random = Random::of(actor.specification.seed, &actor.specification.member);
    let mut queue: u64 = 0;
    let mut next_arrival = Instant::now();
    let full = f64::from(serve.batch.max(1));
    loop {
        while next_arrival <= Instant::now() {
            queue += 1;
            next_arrival += Duration::from_secs_f64(random.exponential(serve.requests_per_s));
        }
        account.change(|figures| figures.queue = queue);
        if queue == 0 {
            account.during(Span::WaitingForRequests, || {
                std::thread::sleep(next_arrival.saturating_duration_since(Instant::now()));
            });
            continue;
        }
        let together = queue.min(u64::from(serve.batch.max(1)));
        let share = FIXED_SHARE + (1.0 - FIXED_SHARE) * together as f64 / full;
        let kernel = Kernel {
            duration: Duration::from_secs_f64(serve.kernel_ms.max(0.0) / 1e3 * full * share),
            compute: serve.compute,
            memory: serve.memory,
            communication: 0.0,
            sm_share: serve.sm_share,
        };
        account.during(Span::OnTheCard, || client.run_kernel(&kernel));
        queue -= together;
        account.change(|figures| figures.steps += together);
    }
}
