//! Error events that the driver delivers to whoever has asked for them.

use gpuwhy_model::reading::{Absence, Reading};
use gpuwhy_model::sample::XidEvent;

use crate::nvml::answers::reading_of;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{EventSet, Library};
use crate::nvml::remembered::Remembered;

/// The kind of a critical error (`nvmlEventTypeXidCriticalError`).
const XID: u64 = 8;

/// More events at once are a storm, whose first ones say enough.
const EVENTS_MAX: usize = 64;

/// The events that were asked for.
#[derive(Default)]
pub(super) enum Events {
    /// Nobody has asked yet.
    #[default]
    Untried,
    /// There are none to be had.
    Absent(Absence),
    /// Some card delivers them.
    Awaited(EventSet),
}

impl Events {
    /// Asks for the events of a card.
    pub(super) fn register(&mut self, caller: &mut Caller, card: &mut Subject) {
        let kinds = caller.card(card, Call::SupportedEvents, Library::supported_events);
        if kinds.known().is_none_or(|kinds| kinds & XID == 0) {
            if matches!(self, Self::Untried) {
                *self = Self::Absent(kinds.absence().unwrap_or(Absence::Unsupported));
            }
            return;
        }
        if !matches!(self, Self::Awaited(_)) {
            *self = match caller.try_ask(Call::NewEventSet, None, Library::new_event_set) {
                Ok(set) => Self::Awaited(set),
                Err(refusal) => {
                    let refused: Reading<()> = reading_of(Call::NewEventSet, Err(refusal));
                    Self::Absent(refused.absence().unwrap_or(Absence::Unsupported))
                }
            };
        }
        if let Self::Awaited(set) = self {
            // A card that does not deliver is no reason to do without the others.
            let _ = caller.try_card(card, Call::RegisterEvents, |library, device| {
                library.register_events(device, XID, set)
            });
        }
    }

    /// Takes the events that are there, without waiting for any.
    pub(super) fn collect(&mut self, caller: &mut Caller, cards: &[Remembered]) -> Reading<Vec<XidEvent>> {
        let set = match self {
            Self::Untried => return Reading::default(),
            Self::Absent(absence) => return absence.clone().reading(),
            Self::Awaited(set) => set,
        };
        let mut events = Vec::new();
        for _ in 0..EVENTS_MAX {
            let event = match caller.try_ask(Call::NextEvent, None, |library| library.next_event(set)) {
                Ok(Some(event)) => event,
                Err(refusal) if events.is_empty() => return reading_of(Call::NextEvent, Err(refusal)),
                Ok(None) | Err(_) => break,
            };
            let card = (0..).zip(cards).find(|(_, card)| card.device == Some(event.device));
            if let Some((card, _)) = card
                && event.kind & XID != 0
                && let Some(number) = plausible::xid(event.data)
            {
                events.push(XidEvent { card, number });
            }
        }
        Reading::Known(events)
    }

    /// Gives back what the library keeps.
    pub(super) fn end(&mut self, caller: &mut Caller) {
        if let Self::Awaited(set) = std::mem::take(self) {
            // What cannot be given back goes with this process.
            let _ = caller.try_ask(Call::FreeEventSet, None, |library| library.free_event_set(set));
        }
    }
}
