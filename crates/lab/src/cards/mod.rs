//! The cards of a box as they are at this moment, computed from the board and from what the clients did.

mod advance;
mod counters;
mod gpm;
mod health;
mod load;
mod physics;
mod reap;
mod reasons;
mod samples;
mod settings;
mod view;

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub use counters::{LinkErrors, PcieCounters};
pub use gpm::EngineFigures;
pub use health::MemoryHealth;
pub(crate) use reap::release;
pub use reasons::Reasons;
pub use samples::{CardSample, ProcessSample};
pub use settings::Refusal;
pub use view::{CardView, ClientView, EndedView};

use crate::board::{Board, BoardError, BoxDirectory, Card};
use crate::state::{ClientSlot, Clock, EndedClient, Instant, State, StateError};
use advance::Surroundings;

/// How long a reader waits for a card's lock before it answers with what was last computed.
const READER_PATIENCE: Duration = Duration::from_millis(5);
/// Readers look for dead clients at most this often.
const READER_REAPS_EVERY_NS: u64 = 50_000_000;
/// Clients look for dead clients at most this often.
const CLIENT_REAPS_EVERY_NS: u64 = 1_000_000_000;

/// Why the cards of a box cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The board is not usable.
    #[error("the box has no usable board")]
    Board(#[from] BoardError),
    /// The state is not usable.
    #[error("the box is not up")]
    State(#[from] StateError),
}

/// A box that is up: its board and its shared state.
pub struct Machine {
    board: Board,
    state: State,
}

impl Machine {
    /// Opens the box in `directory`.
    ///
    /// # Errors
    /// Fails when the board is not valid or the box is not up.
    pub fn open(directory: &BoxDirectory) -> Result<Self, MachineError> {
        Ok(Self { board: Board::of(directory)?, state: State::open(directory)? })
    }

    /// The board.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The clock of the box.
    pub fn clock(&self) -> Clock {
        self.state.clock()
    }

    /// The card at `index` as it is now, if the board has one there.
    pub fn card(&self, index: usize) -> Option<Cow<'_, Card>> {
        self.board.card_at(index, self.since_start(Clock::now())).map(|card| self.as_set(card))
    }

    /// Whether the card is lost at this moment.
    pub fn is_lost(&self, card: &Card) -> bool {
        let now = self.since_start(Clock::now());
        self.board.card_at(card.index, now).is_some_and(|card| card.is_lost(now))
    }

    /// Moves a card on to the present and returns what can be seen of it.
    pub fn look(&self, card: &Card) -> CardView {
        self.refresh(card);
        CardView::read(&self.state, card)
    }

    /// Moves a card on to the present and returns its clients, in order of their attachment.
    pub fn clients(&self, card: &Card) -> Vec<ClientView> {
        self.refresh(card);
        let mut clients: Vec<ClientView> =
            advance::slots_on(&self.state, card.index).map(ClientView::read).collect();
        clients.sort_by_key(|client| (client.attached_at, client.host_pid));
        clients
    }

    /// Samples of the card's own buffer that are newer than `after`, oldest first.
    pub fn samples(&self, card: &Card, after: Instant) -> Vec<CardSample> {
        self.refresh(card);
        samples::of_card(&self.state, card, after)
    }

    /// What each process did since `after`; processes that did nothing are absent.
    pub fn process_samples(&self, card: &Card, after: Instant) -> Vec<ProcessSample> {
        self.refresh(card);
        samples::of_processes(&self.state, card, after)
    }

    /// Clients of a card that have gone, newest first.
    pub fn ended(&self, card: &Card) -> Vec<EndedView> {
        self.refresh(card);
        let of_card = |entry: &&EndedClient| entry.card.load(Relaxed) as usize == card.index;
        self.state.layout().ended.newest_first().filter(of_card).map(EndedView::read).collect()
    }

    /// Seconds from the start of the box to `now`.
    pub fn since_start(&self, now: Instant) -> f64 {
        self.clock().seconds_since_start(now)
    }

    /// Moves a card on to the present, unless its lock cannot be had.
    fn refresh(&self, card: &Card) {
        if let Ok(_held) = self.state.lock_card(card.index, READER_PATIENCE) {
            let now = Clock::now();
            self.reap_if_due(card, now, READER_REAPS_EVERY_NS);
            self.advance(card.index, now);
        }
    }

    /// Moves the card at `index` on to `now`, through all that changed on the board meanwhile.
    fn advance(&self, index: usize, now: Instant) {
        let started = self.clock().started;
        let mut from_s = self.since_start(self.state.layout().cards[index].advanced_to.load(Relaxed));
        while let Some(card) = self.board.card_at(index, from_s) {
            let change_s = self.board.next_change_s(from_s);
            let until = change_s.map_or(now, |change_s| now.min(started + nanoseconds(change_s)));
            let has_nvlink = self.board.links_up(card) > 0;
            advance::advance(&self.state, Surroundings { card: &self.as_set(card), has_nvlink }, until);
            match change_s {
                Some(change_s) if until < now => from_s = change_s,
                _ => return,
            }
        }
    }

    /// A card with what was set on it while the box was up.
    fn as_set<'card>(&self, card: &'card Card) -> Cow<'card, Card> {
        let record = &self.state.layout().cards[card.index];
        let limit_mw = record.set_power_limit_mw.load(Relaxed);
        let clock_mhz = record.set_clock_limit_mhz.load(Relaxed);
        let compute_mode = record.set_compute_mode.load(Relaxed).checked_sub(1);
        if limit_mw == 0 && clock_mhz == 0 && compute_mode.is_none() {
            return Cow::Borrowed(card);
        }
        let mut set = card.clone();
        set.setting.compute_mode = compute_mode.unwrap_or(card.setting.compute_mode);
        if limit_mw > 0 {
            set.power_limit_w = limit_mw as f64 / 1000.0;
            let outside = card.setting.enforced_power_limit_w.unwrap_or(f64::INFINITY);
            set.enforced_power_limit_w = set.power_limit_w.min(outside);
        }
        if clock_mhz > 0 && !card.setting.clock_limit_is_silent {
            set.clock_limit_mhz = clock_mhz.clamp(card.profile.clocks.idle, card.profile.clocks.maximum);
        }
        Cow::Owned(set)
    }

    /// Moves a card on for a client and lets it change its slot; both happen under the card's lock.
    pub(crate) fn work<T>(&self, card: &Card, change: impl FnOnce(&State, Instant) -> T) -> T {
        let _held = self.state.lock_card_for_client(card.index);
        let now = Clock::now();
        self.reap_if_due(card, now, CLIENT_REAPS_EVERY_NS);
        self.advance(card.index, now);
        change(&self.state, now)
    }

    /// What was last computed of a card; the caller holds its lock and has just moved it on.
    pub(crate) fn as_known(&self, card: &Card) -> CardView {
        CardView::read(&self.state, card)
    }

    /// The clients of a card; the caller holds its lock.
    pub(crate) fn clients_as_known(&self, card: &Card) -> Vec<ClientView> {
        advance::slots_on(&self.state, card.index).map(ClientView::read).collect()
    }

    /// Frees what dead clients hold, whether or not that is due; the caller holds the card's lock.
    pub(crate) fn reap_now(&self, card: &Card) {
        reap::reap(&self.state, card, Clock::now());
    }

    /// How long what is left of a client's kernel and copies takes as things stand.
    pub(crate) fn time_left(&self, card: &Card, slot: &ClientSlot) -> Duration {
        let kernel = if slot.running.load(Relaxed) == 1 {
            advance::time_left_ns(&self.state, card, slot)
        } else {
            0.0
        };
        let copies = advance::copy_left_ns(&self.state, card, slot);
        Duration::from_secs_f64(kernel.max(copies).max(0.0) / 1e9)
    }

    /// The shared state.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    fn reap_if_due(&self, card: &Card, now: Instant, every: u64) {
        let record = &self.state.layout().cards[card.index];
        if now.saturating_sub(record.reaped_at.load(Relaxed)) < every {
            return;
        }
        record.reaped_at.store(now, Relaxed);
        reap::reap(&self.state, card, now);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a moment of a box, never negative"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
