//! One sweep over all cards, in the child: from calls to card samples.

mod activity;
mod clients;
mod describe;
mod events;
mod health;
mod instances;
mod links;
mod measure;
mod nvlinks;
mod pairs;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardPair, CardSample, NvmlSample};

use super::answers::{is_before, reading_of};
use super::call::Call;
use super::caller::{Caller, Subject};
use super::heartbeat::Heart;
use super::plausible;
use super::protocol::{Answer, Identity, Request, Tail};
use super::raw::{Device, Library, Refusal};
use super::remembered::Remembered;

pub(super) use activity::Meter;
pub(super) use instances::Instance;
pub(super) use nvlinks::Links;

use events::Events;

/// Fields that count nanoseconds for which heat or the brake lowered the clocks: software thermal, hardware thermal and
/// power brake; they were renumbered (nvml.h of 580.82 and of earlier drivers).
const THERMAL_FIELDS: [u32; 3] = [269, 270, 271];
const THERMAL_FIELDS_BEFORE: [u32; 3] = [251, 252, 253];
const RENUMBERED_IN: (u32, u32) = (580, 82);

/// Asks the library, and remembers what need not be asked again.
pub(super) struct Sweeper {
    caller: Caller,
    header_is_said: bool,
    pairs_are_said: bool,
    thermal_fields: [u32; 3],
    /// What is remembered of each card, by index.
    cards: Vec<Remembered>,
    events: Events,
}

/// Returns the answer of a card that is lost, as a call has found.
fn lost<T>(call: Call) -> Reading<T> {
    reading_of(call, Err(Refusal::Code(Refusal::GPU_IS_LOST)))
}

impl Sweeper {
    pub(super) fn new(library: Library, heart: Heart) -> Self {
        Self {
            caller: Caller::new(library, heart),
            header_is_said: false,
            pairs_are_said: false,
            thermal_fields: THERMAL_FIELDS,
            cards: Vec::new(),
            events: Events::default(),
        }
    }

    /// Says that no call is being made.
    pub(super) fn rest(&mut self) {
        self.caller.rests();
    }

    /// Asks for the handle of every card: the library starts cards that nothing keeps initialised only then, which may
    /// take each of them seconds.
    pub(super) fn wake(&mut self) {
        let count = plausible::card_count(self.caller.ask(Call::Count, Library::count));
        self.expect_cards(&count);
        for index in 0..count.known().copied().unwrap_or(0) {
            // One that refuses is asked again at each sweep, which says why.
            let _ = self.device(index);
        }
    }

    /// Gives back what the library keeps for this process.
    pub(super) fn end(&mut self) {
        self.forget_cards();
        self.events.end(&mut self.caller);
        self.caller.rests();
    }

    /// Returns what does not change while the library is loaded.
    fn header(&mut self) -> NvmlSample {
        let caller = &mut self.caller;
        let driver_version = caller.ask(Call::DriverVersion, Library::driver_version);
        if driver_version.known().is_some_and(|version| is_before(version, RENUMBERED_IN)) {
            self.thermal_fields = THERMAL_FIELDS_BEFORE;
        }
        NvmlSample {
            driver_version,
            library_version: caller.ask(Call::LibraryVersion, Library::library_version),
            cuda_version: plausible::cuda_version(caller.ask(Call::CudaVersion, Library::cuda_version)),
            ..NvmlSample::default()
        }
    }

    /// Asks every card, and hands over each as soon as it has answered.
    ///
    /// # Errors
    /// Fails when an answer cannot be handed over.
    pub(super) fn sweep<E>(
        &mut self,
        request: &Request,
        say: &mut impl FnMut(&Answer) -> Result<(), E>,
    ) -> Result<Tail, E> {
        if !self.header_is_said {
            let header = self.header();
            say(&Answer::Header(Box::new(header)))?;
            self.header_is_said = true;
        }
        let count = plausible::card_count(self.caller.ask(Call::Count, Library::count));
        self.expect_cards(&count);
        let cards = count.known().copied().unwrap_or(0);
        say(&Answer::Counted(count))?;
        for index in 0..cards {
            self.card(index, request, say)?;
        }
        Ok(Tail {
            pairs: self.pairs(request),
            xid_events: self.events.collect(&mut self.caller, &self.cards),
            effort: self.caller.effort(),
        })
    }

    /// Asks one card and its instances.
    fn card<E>(
        &mut self,
        index: u32,
        request: &Request,
        say: &mut impl FnMut(&Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut card = CardSample { index, ..CardSample::default() };
        let device = match self.device(index) {
            Ok(device) => device,
            Err(refusal) => {
                card.handle = reading_of(Call::Handle, Err(refusal));
                return say(&Answer::Card(Box::new(card)));
            }
        };
        let Self { caller, cards, thermal_fields, .. } = self;
        let remembered = &mut cards[index as usize];
        card.handle = Reading::Known(());
        let mut subject = Subject::new(index, device);
        if request.full {
            describe::identify(caller, &mut subject, &mut remembered.identity, &mut card);
        }
        say(&Answer::Next(Box::new(Identity::of(&card))))?;
        let seen = request.seen.get(index as usize).copied().unwrap_or_default();
        measure::measure(caller, &mut subject, remembered, *thermal_fields, seen, &mut card);
        if request.full {
            describe::describe(caller, &mut subject, remembered, &mut card);
            instances::find(caller, &mut subject, remembered, &card);
        }
        remembered.meter.read(caller, &mut subject, None, &mut card);
        if request.throughput && !remembered.meter.is_ready() {
            links::sample_traffic(caller, &mut subject, &mut card);
        }
        if let Some(call) = subject.lost {
            card.handle = lost(call);
            // It may come back, and then under another handle.
            remembered.device = None;
        }
        say(&Answer::Card(Box::new(card)))?;
        for instance in &mut remembered.instances {
            let part = instance.measure(caller, &mut subject, request.full);
            say(&Answer::Card(Box::new(part)))?;
        }
        Ok(())
    }

    /// Returns the handle of a card, which is asked for once, and which may have to wake the card.
    fn device(&mut self, index: u32) -> Result<Device, Refusal> {
        let remembered = &mut self.cards[index as usize];
        if let Some(device) = remembered.device {
            return Ok(device);
        }
        let device = self.caller.try_ask(Call::Handle, Some(index), |library| library.device(index))?;
        remembered.device = Some(device);
        self.events.register(&mut self.caller, &mut Subject::new(index, device));
        Ok(device)
    }

    /// Returns the ways between cards at the first full sweep: they do not change.
    fn pairs(&mut self, request: &Request) -> Reading<Vec<CardPair>> {
        if !request.full || self.pairs_are_said {
            return Reading::default();
        }
        self.pairs_are_said = true;
        pairs::between(&mut self.caller, &self.cards)
    }

    /// Makes room for this number of cards. Where cards came or went, which is which is not known any more.
    fn expect_cards(&mut self, count: &Reading<u32>) {
        let count = count.known().copied().unwrap_or(0) as usize;
        if self.cards.len() != count {
            self.forget_cards();
            self.cards.resize_with(count, Remembered::default);
        }
    }

    fn forget_cards(&mut self) {
        for remembered in self.cards.drain(..) {
            remembered.meter.end(&mut self.caller);
            for instance in remembered.instances {
                instance.end(&mut self.caller);
            }
        }
    }
}
