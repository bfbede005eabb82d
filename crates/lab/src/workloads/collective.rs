//! Ranks that compute and then spin on their cards until all are there: moving, held back by one, or hung.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{
    Actor, call_main_thread, die_with_parent, end_with_keeper, start_backward_threads, start_threads_named,
    wait_for_ever,
};
use super::card_thread::CardThread;
use super::effort::{burn_until, thread_cpu_seconds};
use super::meeting::Meeting;
use super::specification::Collective;
use super::truth::{Account, Part, Span};
use crate::board::Board;
use crate::client::{Client, Kernel, Transfers};

/// What a main thread looks at while it spins.
static FLAGS: [u8; 256] = [0; 256];

/// A rank of a collective at work.
struct Rank<'a> {
    collective: &'a Collective,
    number: usize,
    account: Arc<Account>,
    client: Arc<Client>,
    card_thread: CardThread,
    meeting: Meeting,
    /// What one exchange moves.
    transfers: Transfers,
}

/// Works as one rank.
pub(super) fn rank(actor: &Actor, collective: &Collective, number: usize) -> Result<(), WorkError> {
    die_with_parent()?;
    call_main_thread(c"pt_main_thread");
    end_with_keeper()?;
    let account = actor.account(number)?;
    let (card, client) = actor.client(number)?;
    let client = Arc::new(client);
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    if let Some(parent) = rustix::process::getppid() {
        account.add_process(parent.as_raw_nonzero().get().cast_unsigned(), Part::Starter, None);
    }
    client.allocate(actor.bytes(card, collective.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    start_backward_threads(collective.threads)?;
    start_threads_named(&["pt_nccl_watchdg", "pt_nccl_heartbt"])?;
    let card_thread = CardThread::start(Arc::clone(&client))?;
    let meeting = Meeting::join(actor, number, actor.specification.cards.len())?;
    let transfers = transfers(actor, collective, card)?;
    let mut rank = Rank { collective, number, account, client, card_thread, meeting, transfers };
    rank.account.ready();
    let began = Instant::now();
    loop {
        if let Some(hang) = collective.hang
            && began.elapsed().as_secs_f64() >= hang.after_s
        {
            rank.stand_still(hang.absent_rank == Some(number));
        }
        rank.step()?;
    }
}

impl Rank<'_> {
    fn step(&mut self) -> Result<(), WorkError> {
        let collective = self.collective;
        let extra = if collective.late_rank == Some(self.number) { collective.late_ms } else { 0.0 };
        let kernel = Kernel {
            compute: collective.compute,
            memory: collective.memory,
            ..Kernel::of_arithmetic(milliseconds(collective.kernel_ms + extra))
        };
        self.account.during(Span::OnTheCard, || self.client.run_kernel(&kernel));
        let (meeting, card_thread) = (&mut self.meeting, &self.card_thread);
        self.account.during(Span::WaitingForOthers, || card_thread.spin_while(|| meeting.meet()))?;
        self.account.during(Span::Exchanging, || self.exchange());
        self.account.change(|figures| {
            figures.steps += 1;
            figures.main_cpu_s = thread_cpu_seconds();
        });
        Ok(())
    }

    fn exchange(&self) {
        if self.collective.exchange_ms > 0.0 {
            let kernel = Kernel::of_communication(milliseconds(self.collective.exchange_ms));
            self.client.run(&kernel, &self.transfers);
        }
    }

    /// Never comes on: the card spins, or is idle when this rank is the absent one.
    fn stand_still(&self, is_absent: bool) -> ! {
        if is_absent {
            self.account.during(Span::Idle, wait_for_ever);
        }
        self.account.during(Span::WaitingForOthers, || {
            self.card_thread.spin_while(|| {
                if self.collective.host_spins {
                    burn_until(&FLAGS, || {
                        self.account.change(|figures| figures.main_cpu_s = thread_cpu_seconds());
                        false
                    });
                }
                wait_for_ever()
            })
        })
    }
}

/// What the links of `card` carry in one exchange.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes of a short time, never negative"
)]
fn transfers(actor: &Actor, collective: &Collective, card: usize) -> Result<Transfers, WorkError> {
    let board = Board::of(&actor.directory).map_err(WorkError::Board)?;
    let rate = board.cards.get(card).map_or(0.0, |card| board.exchange_bytes_per_s(card));
    let bytes = rate * collective.exchange_ms.max(0.0) / 1e3 * collective.exchange_load.clamp(0.0, 1.0);
    Ok(Transfers { exchanged_bytes: bytes as u64, ..Transfers::default() })
}

fn milliseconds(count: f64) -> Duration {
    Duration::from_secs_f64(count.max(0.0) / 1e3)
}
