//! What the parts of a card did since the sweep before: the counters of Hopper and later (GPM).

use std::time::Duration;

use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::{Activity, CardSample};

use crate::clock;
use crate::nvml::answers::reading_of;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{Answer, Device, GpmSample, Library};

/// Share of multiprocessors with a warp, share of warps, matrix units, memory interface; then mebibytes per second from
/// the card and to it.
const METRICS: [u32; 6] = [2, 3, 5, 10, 20, 21];

/// The library's samples must lie so far apart to say anything (nvml.h).
const APART: Duration = Duration::from_millis(100);

/// Follows the counters of one card or instance.
#[derive(Default)]
pub(in crate::nvml) enum Meter {
    /// Nobody has tried yet.
    #[default]
    Untried,
    /// There are no such counters.
    Absent(Absence),
    /// There are.
    Ready(Samples),
}

/// The counters at two moments.
pub(in crate::nvml) struct Samples {
    earlier: GpmSample,
    later: GpmSample,
    /// When the later ones were taken.
    taken: Option<Duration>,
}

impl Meter {
    /// Returns whether there are counters.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// Reads what the card did, or one of its instances, since the time before.
    pub(super) fn read(
        &mut self,
        caller: &mut Caller,
        card: &mut Subject,
        instance: Option<u32>,
        sample: &mut CardSample,
    ) {
        if matches!(self, Self::Untried) && card.lost.is_none() {
            *self = start(caller, card);
        }
        let samples = match self {
            Self::Untried => return,
            Self::Absent(absence) => return fill(sample, &absence.clone().reading()),
            Self::Ready(samples) => samples,
        };
        if samples.taken.is_some_and(|taken| clock::since(taken) < APART) {
            return fill(sample, &Failure::TooFewSamples.into_reading());
        }
        let reading = samples.next(caller, card, instance);
        if matches!(reading, Reading::Unsupported | Reading::Denied(_))
            && let Some(absence) = reading.absence()
        {
            std::mem::replace(self, Self::Absent(absence)).end(caller);
        }
        fill(sample, &reading);
    }

    /// Gives back what the library keeps.
    pub(super) fn end(self, caller: &mut Caller) {
        let Self::Ready(Samples { earlier, later, .. }) = self else {
            return;
        };
        for sample in [earlier, later] {
            // What cannot be given back goes with this process.
            let _ = caller.try_ask(Call::GpmFree, None, |library| library.free_sample(sample));
        }
    }
}

impl Samples {
    /// Takes the counters, and returns the metrics since the time before.
    fn next(
        &mut self,
        caller: &mut Caller,
        card: &mut Subject,
        instance: Option<u32>,
    ) -> Reading<Vec<Answer<f64>>> {
        std::mem::swap(&mut self.earlier, &mut self.later);
        let before = self.taken.take();
        let later = &mut self.later;
        let taken = match instance {
            None => caller.card(card, Call::GpmSample, |library, device| library.take_sample(device, later)),
            Some(part) => caller.card(card, Call::GpmInstanceSample, |library, device: Device| {
                library.take_instance_sample(device, part, later)
            }),
        };
        if let Some(absence) = taken.absence() {
            return absence.reading();
        }
        self.taken = Some(clock::awake());
        if before.is_none() {
            return Failure::TooFewSamples.into_reading();
        }
        let Self { earlier, later, .. } = self;
        caller.card(card, Call::GpmMetrics, |library, _| library.metrics(earlier, later, &METRICS))
    }
}

/// Looks whether there are counters, and makes room for two moments of them.
fn start(caller: &mut Caller, card: &mut Subject) -> Meter {
    let is_there = caller.card(card, Call::GpmSupport, Library::counts_activity);
    let is_there =
        is_there.and_then(|is_there| if is_there { Reading::Known(()) } else { Reading::Unsupported });
    let mut room = || caller.ask(Call::GpmAllocate, Library::new_sample);
    let earlier = is_there.and_then(|()| room());
    let earlier = match earlier {
        Reading::Known(earlier) => earlier,
        absent => return without(&absent),
    };
    match room() {
        Reading::Known(later) => Meter::Ready(Samples { earlier, later, taken: None }),
        absent => {
            let _ = caller.try_ask(Call::GpmFree, None, |library| library.free_sample(earlier));
            without(&absent)
        }
    }
}

/// Returns the meter of a card without counters; what only failed is tried again.
fn without(reading: &Reading<GpmSample>) -> Meter {
    match reading.absence() {
        Some(absence @ (Absence::Unsupported | Absence::Denied(_))) => Meter::Absent(absence),
        Some(Absence::Failed(_)) | None => Meter::Untried,
    }
}

/// Puts the metrics where they belong.
fn fill(card: &mut CardSample, metrics: &Reading<Vec<Answer<f64>>>) {
    let metric =
        |place: usize| metrics.as_ref().and_then(|metrics| reading_of(Call::GpmMetrics, metrics[place]));
    let share = |place: usize| plausible::measured_share(metric(place));
    card.activity = Activity {
        sm_active: share(0),
        sm_occupancy: share(1),
        tensor_active: share(2),
        dram_active: share(3),
    };
    let (to_host, to_card) = (plausible::measured_rate(metric(4)), plausible::measured_rate(metric(5)));
    if to_host.is_known() && to_card.is_known() {
        card.pcie.to_host = to_host;
        card.pcie.to_card = to_card;
    }
}
