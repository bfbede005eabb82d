//! One sweep over all cards, in the child: from calls to card samples.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{
    CardClient, CardMemory, CardSample, ClientKind, ClockReasons, NvmlSample, ProcessUtilization, TimedValue,
};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz, Percent};

use super::answers::{client, compute_mode, is_before, nothing_if_not_found, reading_of};
use super::call::Call;
use super::heartbeat::Heart;
use super::plausible;
use super::protocol::{Answer, Request, Seen};
use super::raw::{self, Device, Library, ListForm, ListKind, Refusal};

const SM_CLOCK: u32 = 1;
const MEMORY_CLOCK: u32 = 2;
const BUSY_SAMPLES: u32 = 1;
const MEMORY_BUSY_SAMPLES: u32 = 2;
const SHUTDOWN_THRESHOLD: u32 = 0;
const SLOWDOWN_THRESHOLD: u32 = 1;
const FROM_CARD: u32 = 0;
const TO_CARD: u32 = 1;

/// Fields that count nanoseconds for which a reason lowered the clocks.
const POWER_CAP_FIELD: u32 = 74;
const SYNC_BOOST_FIELD: u32 = 76;
/// Software thermal, hardware thermal and power brake; they were renumbered (nvml.h of 580.82 and of earlier drivers).
const THERMAL_FIELDS: [u32; 3] = [269, 270, 271];
const THERMAL_FIELDS_BEFORE: [u32; 3] = [251, 252, 253];
const RENUMBERED_IN: (u32, u32) = (580, 82);

/// Asks the library, one heartbeat before each call.
pub(super) struct Sweeper {
    library: Library,
    heart: Heart,
    header_is_said: bool,
    thermal_fields: [u32; 3],
}

/// The card that is being asked.
struct Subject {
    index: u32,
    device: Device,
    /// The call that said that the card is lost.
    lost: Option<Call>,
}

impl Sweeper {
    pub(super) fn new(library: Library, heart: Heart) -> Self {
        Self { library, heart, header_is_said: false, thermal_fields: THERMAL_FIELDS }
    }

    /// Says that no call is being made.
    pub(super) fn rest(&mut self) {
        self.heart.rests();
    }

    /// Returns what does not change while the library is loaded.
    fn header(&mut self) -> NvmlSample {
        let driver_version = self.ask(Call::DriverVersion, Library::driver_version);
        if driver_version.known().is_some_and(|version| is_before(version, RENUMBERED_IN)) {
            self.thermal_fields = THERMAL_FIELDS_BEFORE;
        }
        NvmlSample {
            driver_version,
            library_version: self.ask(Call::LibraryVersion, Library::library_version),
            cuda_version: plausible::cuda_version(self.ask(Call::CudaVersion, Library::cuda_version)),
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
    ) -> Result<(), E> {
        if !self.header_is_said {
            let header = self.header();
            say(&Answer::Header(Box::new(header)))?;
            self.header_is_said = true;
        }
        let count = plausible::card_count(self.ask(Call::Count, Library::count));
        let cards = count.known().copied().unwrap_or(0);
        say(&Answer::Counted(count))?;
        for index in 0..cards {
            let seen = usize::try_from(index).ok().and_then(|place| request.seen.get(place)).copied();
            let mut card = CardSample { index, ..CardSample::default() };
            self.heart.calls(Call::Handle, Some(index));
            let device = match self.library.device(index) {
                Ok(device) => device,
                Err(refusal) => {
                    card.handle = reading_of(Call::Handle, Err(refusal));
                    say(&Answer::Card(Box::new(card)))?;
                    continue;
                }
            };
            card.handle = Reading::Known(());
            let mut subject = Subject { index, device, lost: None };
            if request.full {
                self.identify(&mut subject, &mut card);
            }
            say(&Answer::Next(Box::new(card.clone())))?;
            self.measure(&mut subject, &mut card, seen.unwrap_or_default());
            if request.full {
                self.describe(&mut subject, &mut card);
            }
            if request.throughput {
                self.measure_link(&mut subject, &mut card);
            }
            if let Some(call) = subject.lost {
                card.handle = reading_of(call, Err(Refusal::Code(Refusal::GPU_IS_LOST)));
            }
            say(&Answer::Card(Box::new(card)))?;
        }
        Ok(())
    }

    /// Reads who the card is.
    fn identify(&mut self, subject: &mut Subject, card: &mut CardSample) {
        card.uuid = self.card(subject, Call::Uuid, Library::uuid);
        card.name = self.card(subject, Call::Name, Library::name);
        let pci = self.card(subject, Call::PciInfo, Library::pci_info);
        card.pci_address = plausible::pci_address(pci.map(|pci| (pci.domain, pci.bus, pci.device)));
        card.minor = plausible::minor(self.card(subject, Call::MinorNumber, Library::minor_number));
    }

    /// Reads what changes from tick to tick.
    fn measure(&mut self, subject: &mut Subject, card: &mut CardSample, seen: Seen) {
        card.memory = self.memory(subject);
        let utilization = self.card(subject, Call::Utilization, Library::utilization);
        card.busy = plausible::percent(utilization.as_ref().map(|rates| rates.gpu));
        card.memory_busy = plausible::percent(utilization.map(|rates| rates.memory));
        card.busy_samples = self.samples(subject, BUSY_SAMPLES, seen.busy);
        card.memory_busy_samples = self.samples(subject, MEMORY_BUSY_SAMPLES, seen.memory_busy);
        card.power = plausible::power(self.card(subject, Call::Power, Library::power));
        card.power_limits.enforced =
            plausible::power_limit(self.card(subject, Call::EnforcedLimit, Library::enforced_limit));
        card.energy = plausible::energy(self.card(subject, Call::Energy, Library::energy));
        card.temperature = self.temperature(subject);
        card.clocks.sm = self.clock(subject, SM_CLOCK);
        card.clocks.memory = self.clock(subject, MEMORY_CLOCK);
        card.performance_state = plausible::performance_state(self.card(
            subject,
            Call::PerformanceState,
            Library::performance_state,
        ));
        card.clock_reasons = self.reasons(subject);
        self.reason_counters(subject, card);
        card.clients = self.clients(subject);
        card.client_work = self.client_work(subject, seen.work);
    }

    /// Reads what hardly changes.
    fn describe(&mut self, subject: &mut Subject, card: &mut CardSample) {
        let bar1 = self.card(subject, Call::Bar1, Library::bar1).map(|bar1| CardMemory {
            total: Bytes(bar1.bar1Total),
            reserved: Reading::Unsupported,
            used: Bytes(bar1.bar1Used),
            free: Bytes(bar1.bar1Free),
        });
        card.bar1 = plausible::memory(bar1);
        card.power_limits.default =
            plausible::power_limit(self.card(subject, Call::DefaultLimit, Library::default_limit));
        card.power_limits.maximum =
            plausible::power_limit(self.card(subject, Call::LimitRange, Library::maximum_limit));
        card.temperature_limits.slowdown = self.threshold(subject, SLOWDOWN_THRESHOLD);
        card.temperature_limits.shutdown = self.threshold(subject, SHUTDOWN_THRESHOLD);
        card.temperature_limits.margin =
            plausible::heat_or_margin(self.card(subject, Call::Margin, Library::margin));
        card.fan = plausible::fan(self.card(subject, Call::Fan, Library::fan));
        card.clocks.sm_max = self.maximum_clock(subject, SM_CLOCK);
        card.clocks.memory_max = self.maximum_clock(subject, MEMORY_CLOCK);
        let link = &mut card.pcie;
        link.generation =
            plausible::link_generation(self.card(subject, Call::LinkGeneration, Library::link_generation));
        link.generation_max = plausible::link_generation(self.card(
            subject,
            Call::MaximumLinkGeneration,
            Library::maximum_link_generation,
        ));
        link.width = plausible::link_width(self.card(subject, Call::LinkWidth, Library::link_width));
        link.width_max =
            plausible::link_width(self.card(subject, Call::MaximumLinkWidth, Library::maximum_link_width));
        link.replays =
            plausible::available(self.card(subject, Call::Replays, Library::replays)).map(u64::from);
        card.compute_mode =
            plausible::available(self.card(subject, Call::ComputeMode, Library::compute_mode))
                .map(compute_mode);
        card.persistence = plausible::switch(self.card(subject, Call::Persistence, Library::persistence));
        card.mig_enabled = plausible::switch(self.card(subject, Call::MigMode, Library::mig_mode));
    }

    /// Reads what goes over the PCIe link, which takes 20 ms a direction.
    fn measure_link(&mut self, subject: &mut Subject, card: &mut CardSample) {
        let throughput = |counter: u32| move |library: &Library, device| library.throughput(device, counter);
        card.pcie.to_card = plausible::throughput(self.card(subject, Call::Throughput, throughput(TO_CARD)));
        card.pcie.to_host =
            plausible::throughput(self.card(subject, Call::Throughput, throughput(FROM_CARD)));
    }

    fn memory(&mut self, subject: &mut Subject) -> Reading<CardMemory> {
        let with_reserved = self.try_card(subject, Call::MemoryV2, Library::memory_v2);
        if !with_reserved.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
            return plausible::memory(reading_of(Call::MemoryV2, with_reserved).map(|memory| CardMemory {
                total: Bytes(memory.total),
                reserved: Reading::Known(Bytes(memory.reserved)),
                used: Bytes(memory.used),
                free: Bytes(memory.free),
            }));
        }
        plausible::memory(self.card(subject, Call::MemoryV1, Library::memory_v1).map(|memory| CardMemory {
            total: Bytes(memory.total),
            reserved: Reading::Unsupported,
            used: Bytes(memory.used),
            free: Bytes(memory.free),
        }))
    }

    fn samples(&mut self, subject: &mut Subject, buffer: u32, seen_us: u64) -> Reading<Vec<TimedValue>> {
        let samples =
            self.try_card(subject, Call::Samples, |library, device| library.samples(device, buffer, seen_us));
        reading_of(Call::Samples, nothing_if_not_found(samples)).and_then(|samples| {
            // Some drivers give the whole buffer whatever was seen, and pad it with values without a time.
            let mut values: Vec<TimedValue> = samples
                .into_iter()
                .filter(|sample| sample.time_us > seen_us)
                .map(|sample| TimedValue { time_us: sample.time_us, value: sample.value })
                .collect();
            values.sort_by_key(|timed| timed.time_us);
            plausible::percentages(values)
        })
    }

    fn temperature(&mut self, subject: &mut Subject) -> Reading<Celsius> {
        let temperature = self.try_card(subject, Call::Temperature, Library::temperature);
        if temperature.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
            return plausible::heat_or_margin(self.card(subject, Call::TemperatureV, Library::temperature_v));
        }
        plausible::heat(reading_of(Call::Temperature, temperature))
    }

    fn threshold(&mut self, subject: &mut Subject, threshold: u32) -> Reading<Celsius> {
        plausible::heat(
            self.card(subject, Call::Threshold, |library, device| library.threshold(device, threshold)),
        )
    }

    fn clock(&mut self, subject: &mut Subject, clock: u32) -> Reading<Megahertz> {
        plausible::clock(self.card(subject, Call::Clock, |library, device| library.clock(device, clock)))
    }

    fn maximum_clock(&mut self, subject: &mut Subject, clock: u32) -> Reading<Megahertz> {
        plausible::clock(
            self.card(subject, Call::MaximumClock, |library, device| library.maximum_clock(device, clock)),
        )
    }

    fn reasons(&mut self, subject: &mut Subject) -> Reading<ClockReasons> {
        let reasons = self.try_card(subject, Call::EventReasons, Library::event_reasons);
        if reasons.as_ref().is_err_and(|refusal| refusal.is_unknown_function()) {
            let reasons = self.card(subject, Call::ThrottleReasons, Library::throttle_reasons);
            return plausible::available(reasons).map(ClockReasons);
        }
        plausible::available(reading_of(Call::EventReasons, reasons)).map(ClockReasons)
    }

    fn reason_counters(&mut self, subject: &mut Subject, card: &mut CardSample) {
        let [software, hardware, brake] = self.thermal_fields;
        let ids = [POWER_CAP_FIELD, SYNC_BOOST_FIELD, software, hardware, brake];
        let fields =
            self.try_card(subject, Call::FieldValues, |library, device| library.fields(device, &ids));
        let field = |place: usize| {
            let answer = fields.as_ref().map_err(|refusal| *refusal).and_then(|values| values[place]);
            plausible::nanoseconds(reading_of(Call::FieldValues, answer))
        };
        let counters = &mut card.reason_counters;
        counters.software_power_cap_ns = field(0);
        counters.sync_boost_ns = field(1);
        counters.software_thermal_ns = field(2);
        counters.hardware_thermal_ns = field(3);
        counters.power_brake_ns = field(4);
    }

    /// Reads who has a context on the card: compute, then graphics, then clients of the multi-process service.
    fn clients(&mut self, subject: &mut Subject) -> Reading<Vec<CardClient>> {
        let compute = self.client_list(subject, ListKind::Compute, Call::ComputeProcesses);
        compute.map(|mut clients| {
            // A card without graphics, or a library without the service, has no such list.
            let graphics = self.client_list(subject, ListKind::Graphics, Call::GraphicsProcesses);
            let service = self.client_list(subject, ListKind::Mps, Call::MpsProcesses);
            for client in graphics.into_known().into_iter().chain(service.into_known()).flatten() {
                let is_listed = clients.iter().any(|listed: &CardClient| listed.pid == client.pid);
                // The service's clients also stand in the compute list of newer drivers.
                if client.kind != ClientKind::Mps || !is_listed {
                    clients.push(client);
                }
            }
            clients
        })
    }

    fn client_list(&mut self, subject: &mut Subject, kind: ListKind, call: Call) -> Reading<Vec<CardClient>> {
        let mut contradiction = None;
        for form in [ListForm::V3, ListForm::V2, ListForm::V1] {
            let answer =
                self.try_card(subject, call, |library, device| library.process_rows(device, kind, form));
            let rows = match answer {
                Ok(rows) => rows,
                Err(refusal) if refusal.is_unknown_function() => continue,
                Err(refusal) => return reading_of(call, Err(refusal)),
            };
            match rows.read() {
                Ok(rows) => return Reading::Known(rows.iter().map(|row| client(row, kind)).collect()),
                Err(error) => contradiction = contradiction.or(Some(error)),
            }
        }
        contradiction.map_or(Reading::Unsupported, |value| Reading::Failed(Failure::Implausible { value }))
    }

    fn client_work(&mut self, subject: &mut Subject, seen_us: u64) -> Reading<Vec<ProcessUtilization>> {
        let rows = self.try_card(subject, Call::ProcessUtilization, |library, device| {
            library.process_utilization(device, seen_us)
        });
        // "Not found" is the library's word for "nobody worked".
        reading_of(Call::ProcessUtilization, nothing_if_not_found(rows)).and_then(|rows| {
            let newer = rows.iter().filter(|row| row.timeStamp > seen_us && row.pid != 0);
            let work = newer.map(|row| ProcessUtilization {
                pid: gpuwhy_model::process::Pid(row.pid),
                time_us: row.timeStamp,
                sm: Percent(f64::from(row.smUtil)),
                memory: Percent(f64::from(row.memUtil)),
            });
            plausible::work(work.collect())
        })
    }

    /// Makes one call about no card.
    fn ask<T>(&mut self, call: Call, function: impl FnOnce(&Library) -> raw::Answer<T>) -> Reading<T> {
        self.heart.calls(call, None);
        reading_of(call, function(&self.library))
    }

    /// Makes one call about a card.
    fn card<T>(
        &mut self,
        subject: &mut Subject,
        call: Call,
        function: impl FnOnce(&Library, Device) -> raw::Answer<T>,
    ) -> Reading<T> {
        reading_of(call, self.try_card(subject, call, function))
    }

    /// Makes one call about a card, unless the card is lost: then no call can give anything else.
    fn try_card<T>(
        &mut self,
        subject: &mut Subject,
        call: Call,
        function: impl FnOnce(&Library, Device) -> raw::Answer<T>,
    ) -> raw::Answer<T> {
        if subject.lost.is_some() {
            return Err(Refusal::Code(Refusal::GPU_IS_LOST));
        }
        self.heart.calls(call, Some(subject.index));
        let answer = function(&self.library, subject.device);
        if matches!(answer, Err(Refusal::Code(Refusal::GPU_IS_LOST))) {
            subject.lost = Some(call);
        }
        answer
    }
}
