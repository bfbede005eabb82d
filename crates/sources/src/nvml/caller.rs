//! Making calls: a heartbeat before each, a reason for each that gives no value, and no call about a card that is lost.

use gpuwhy_model::reading::Reading;

use super::answers::reading_of;
use super::call::Call;
use super::heartbeat::Heart;
use super::protocol::Effort;
use super::raw::{self, Device, Field, FieldNumber, Library, Refusal};
use super::remembered::RefusedFields;

/// Asks the library.
pub(super) struct Caller {
    library: Library,
    heart: Heart,
}

/// The card that is being asked, or the instance of a card.
pub(super) struct Subject {
    /// The card's index, for an instance that of its card.
    pub(super) index: u32,
    pub(super) device: Device,
    /// The call that said that the card is lost.
    pub(super) lost: Option<Call>,
}

impl Subject {
    pub(super) fn new(index: u32, device: Device) -> Self {
        Self { index, device, lost: None }
    }
}

impl Caller {
    pub(super) fn new(library: Library, heart: Heart) -> Self {
        Self { library, heart }
    }

    /// Says that no call is being made.
    pub(super) fn rests(&mut self) {
        self.heart.rests();
    }

    /// Returns what all calls so far took.
    pub(super) fn effort(&self) -> Effort {
        self.heart.effort()
    }

    /// Makes one call about no card.
    pub(super) fn ask<T>(
        &mut self,
        call: Call,
        function: impl FnOnce(&Library) -> raw::Answer<T>,
    ) -> Reading<T> {
        reading_of(call, self.try_ask(call, None, function))
    }

    /// Makes one call that is given no card's handle, though it may be about one.
    pub(super) fn try_ask<T>(
        &mut self,
        call: Call,
        card: Option<u32>,
        function: impl FnOnce(&Library) -> raw::Answer<T>,
    ) -> raw::Answer<T> {
        let library = &self.library;
        self.heart.during(call, card, || function(library))
    }

    /// Makes one call about a card.
    pub(super) fn card<T>(
        &mut self,
        subject: &mut Subject,
        call: Call,
        function: impl FnOnce(&Library, Device) -> raw::Answer<T>,
    ) -> Reading<T> {
        reading_of(call, self.try_card(subject, call, function))
    }

    /// Makes one call about a card, unless the card is lost: then no call can give anything else.
    pub(super) fn try_card<T>(
        &mut self,
        subject: &mut Subject,
        call: Call,
        function: impl FnOnce(&Library, Device) -> raw::Answer<T>,
    ) -> raw::Answer<T> {
        if subject.lost.is_some() {
            return Err(Refusal::Code(Refusal::GPU_IS_LOST));
        }
        let device = subject.device;
        let answer = self.try_ask(call, Some(subject.index), |library| function(library, device));
        if matches!(answer, Err(Refusal::Code(Refusal::GPU_IS_LOST))) {
            subject.lost = Some(call);
        }
        answer
    }

    /// Asks for fields in one call, except those that the card was found not to have.
    pub(super) fn fields(
        &mut self,
        subject: &mut Subject,
        refused: &mut RefusedFields,
        fields: &[Field],
    ) -> Vec<Reading<FieldNumber>> {
        let wanted: Vec<Field> = fields.iter().copied().filter(|field| !refused.has(*field)).collect();
        if wanted.is_empty() {
            return vec![Reading::Unsupported; fields.len()];
        }
        let call = Call::FieldValues;
        let answers = match self.try_card(subject, call, |library, device| library.fields(device, &wanted)) {
            Ok(answers) => answers,
            Err(refusal) => return vec![reading_of(call, Err(refusal)); fields.len()],
        };
        let mut answers = answers.into_iter();
        let mut readings = Vec::with_capacity(fields.len());
        for field in fields {
            if refused.has(*field) {
                readings.push(Reading::Unsupported);
                continue;
            }
            match answers.next().unwrap_or(Err(Refusal::Nonsense)) {
                // An older library calls a field that it does not know an invalid argument.
                Err(refusal) if refusal.is_lasting() || refusal.code() == Refusal::INVALID_ARGUMENT => {
                    refused.add(*field);
                    readings.push(Reading::Unsupported);
                }
                answer => {
                    if matches!(answer, Err(Refusal::Code(Refusal::GPU_IS_LOST))) {
                        subject.lost = Some(call);
                    }
                    readings.push(reading_of(call, answer));
                }
            }
        }
        readings
    }
}
