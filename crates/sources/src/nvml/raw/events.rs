//! Events that the driver delivers.

use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t};

use super::{Answer, Device, Library, Refusal, accepted, card_value, filled, found};

/// A set of events that are waited for together.
pub(in crate::nvml) struct EventSet(nvmlEventSet_t);

/// One event.
#[derive(Debug, Clone, Copy)]
pub(in crate::nvml) struct Event {
    pub(in crate::nvml) device: Device,
    /// Bits of its kind.
    pub(in crate::nvml) kind: u64,
    /// For a critical error its number.
    pub(in crate::nvml) data: u64,
}

impl Library {
    /// Makes a set, to be given back by [`Self::free_event_set`].
    pub(in crate::nvml) fn new_event_set(&self) -> Answer<EventSet> {
        let function = found(&self.functions.nvmlEventSetCreate)?;
        // SAFETY: writes one handle.
        filled(|set| unsafe { function(set) }).map(EventSet)
    }

    /// Gives a set back.
    #[expect(clippy::needless_pass_by_value, reason = "nobody may have it afterwards")]
    pub(in crate::nvml) fn free_event_set(&self, set: EventSet) -> Answer<()> {
        let function = found(&self.functions.nvmlEventSetFree)?;
        // SAFETY: the set came from this library, and nobody has it any more.
        accepted(unsafe { function(set.0) })
    }

    /// Returns the kinds of events that a card delivers.
    pub(in crate::nvml) fn supported_events(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetSupportedEventTypes, device)
    }

    /// Has events of these kinds delivered from now on.
    pub(in crate::nvml) fn register_events(&self, device: Device, kinds: u64, set: &EventSet) -> Answer<()> {
        let function = found(&self.functions.nvmlDeviceRegisterEvents)?;
        // SAFETY: the set came from this library and was not given back.
        accepted(unsafe { function(device.0, kinds, set.0) })
    }

    /// Returns the next event that is there, without waiting for one.
    pub(in crate::nvml) fn next_event(&self, set: &mut EventSet) -> Answer<Option<Event>> {
        let functions = &self.functions;
        let function =
            found(&functions.nvmlEventSetWait_v2).or_else(|_| found(&functions.nvmlEventSetWait))?;
        // SAFETY: the set came from this library and was not given back; the call writes one structure.
        match filled(|event: *mut nvmlEventData_t| unsafe { function(set.0, event, 0) }) {
            Ok(event) => {
                let device = Device(event.device);
                Ok(Some(Event { device, kind: event.eventType, data: event.eventData }))
            }
            Err(Refusal::Code(Refusal::TIMEOUT)) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}
