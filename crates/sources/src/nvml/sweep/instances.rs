//! Instances of a card in multi-instance mode: each is a card with a parent.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardSample};

use super::activity::Meter;
use super::{clients, describe, measure};
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::raw::{Device, Library};
use crate::nvml::remembered::{Identity, Remembered};

/// No card has more.
const INSTANCES_MAX: u32 = 32;

/// One instance.
pub(in crate::nvml) struct Instance {
    /// Its place among those of its card.
    index: u32,
    device: Device,
    /// The part of the card that it computes on.
    gpu_instance_id: Option<u32>,
    identity: Identity,
    meter: Meter,
}

/// Lists the instances of a card anew; those that are still there are kept.
pub(super) fn find(
    caller: &mut Caller,
    subject: &mut Subject,
    remembered: &mut Remembered,
    card: &CardSample,
) {
    let mut before = std::mem::take(&mut remembered.instances);
    let mut places = 0;
    if card.mig_enabled == Reading::Known(true) {
        let most = caller.card(subject, Call::InstancesMax, Library::instances_max);
        places = most.known().copied().unwrap_or(0).min(INSTANCES_MAX);
    }
    for index in 0..places {
        let found =
            caller.try_card(subject, Call::Instance, |library, device| library.instance(device, index));
        // Places may be empty.
        let Ok(device) = found else {
            continue;
        };
        let known = before.iter().position(|known| known.index == index && known.device == device);
        let instance = match known {
            Some(place) => before.swap_remove(place),
            None => Instance::new(caller, subject.index, index, device),
        };
        remembered.instances.push(instance);
    }
    for gone in before {
        gone.end(caller);
    }
}

impl Instance {
    fn new(caller: &mut Caller, card: u32, index: u32, device: Device) -> Self {
        let id = caller.card(&mut Subject::new(card, device), Call::GpuInstanceId, Library::gpu_instance_id);
        Self {
            index,
            device,
            gpu_instance_id: id.into_known(),
            identity: Identity::default(),
            meter: Meter::default(),
        }
    }

    /// Reads what the library says of the instance; what it says of the card alone stays there.
    pub(super) fn measure(&mut self, caller: &mut Caller, card: &mut Subject, is_full: bool) -> CardSample {
        let mut subject = Subject { index: card.index, device: self.device, lost: card.lost };
        let mut part = CardSample {
            index: self.index,
            kind: CardKind::MigInstance,
            parent: Some(card.index),
            busy: Reading::Unsupported,
            memory_busy: Reading::Unsupported,
            client_work: Reading::Unsupported,
            ..CardSample::default()
        };
        // At every depth: only its name tells an instance from the next one at its place.
        part.uuid = self.identity.uuid.get(|| caller.card(&mut subject, Call::Uuid, Library::uuid));
        part.name = self.identity.name.get(|| caller.card(&mut subject, Call::Name, Library::name));
        part.memory = measure::memory(caller, &mut subject);
        part.clients = clients::clients(caller, &mut subject);
        if is_full {
            part.bar1 = describe::bar1(caller, &mut subject);
        }
        if self.gpu_instance_id.is_some() {
            self.meter.read(caller, card, self.gpu_instance_id, &mut part);
        }
        part.handle = match subject.lost.or(card.lost) {
            Some(call) => super::lost(call),
            None => part.memory.as_ref().map(|_| ()),
        };
        part
    }

    /// Gives back what the library keeps for it.
    pub(super) fn end(self, caller: &mut Caller) {
        self.meter.end(caller);
    }
}
