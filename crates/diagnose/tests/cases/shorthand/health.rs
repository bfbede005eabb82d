//! Clocks, temperatures, limits, errors and links of a card, in few words; what is not mentioned stays as it is.

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{ClockReasons, Fabric, FabricState, Fan, RemappedRows, RetiredPages};
use gpuwhy_model::scene::{Card, NvLinkState, ReasonShares};
use gpuwhy_model::units::{BytesPerSecond, Celsius, Megahertz, Percent, Share, Watts};
use serde::Deserialize;

use super::LOOKS;
use super::values::trend;

/// How a card runs: clocks in MHz, temperatures in degrees Celsius, limits in watts, shares 0 to 1.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StateFile {
    product: Option<String>,
    clock: Option<f64>,
    clock_max: Option<f64>,
    p_state: Option<u32>,
    /// Reason bits that were set at most looks; those of `reasons` without it.
    lasting: Option<u64>,
    reasons_are_unsupported: bool,
    counters_are_unsupported: bool,
    software_thermal: Option<f64>,
    brake: Option<f64>,
    temperature: Option<f64>,
    operating_maximum: Option<f64>,
    slowdown: Option<f64>,
    margin: Option<f64>,
    memory_temperature: Option<f64>,
    memory_maximum: Option<f64>,
    memory_is_unmeasured: bool,
    default_limit: Option<f64>,
    requested_limit: Option<f64>,
}

/// What a card says of its own health.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HealthFile {
    ecc_corrected: Option<u64>,
    ecc_corrected_growth: Option<u64>,
    ecc_uncorrected: Option<u64>,
    ecc_uncorrected_growth: Option<u64>,
    ecc_sram_uncorrected: Option<u64>,
    ecc_aggregate_uncorrected: Option<u64>,
    ecc_is_denied: bool,
    ecc_is_unsupported: bool,
    sram_threshold_exceeded: Option<bool>,
    remap: Option<RemappedRows>,
    retired: Option<RetiredPages>,
    inforom_error: Option<u32>,
    inforom_is_unsupported: bool,
    fans: Option<Vec<FanFile>>,
}

#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
struct FanFile {
    speed: Option<f64>,
    target: Option<f64>,
    rpm: Option<u32>,
    /// The code with which reading its speed fails.
    error: Option<u32>,
}

/// The links of a card; rates in GB a second.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinkFile {
    generation: Option<u32>,
    generation_max: Option<u32>,
    card_generation: Option<u32>,
    width: Option<u32>,
    width_max: Option<u32>,
    to_card: Option<f64>,
    replays: Option<u64>,
    non_fatal: Option<u64>,
    nvlinks_up: u32,
    nvlinks_down: u32,
    /// What the counters of the first link did in the window.
    crc: u64,
    nvlink_replays: u64,
    recoveries: u64,
    fabric_health: Option<u32>,
}

fn failure(call: &str, code: u32) -> Failure {
    Failure::Nvml { call: call.to_owned(), code }
}

/// Replaces a reading where the case mentions it.
fn set<T, U>(reading: &mut Reading<T>, value: Option<U>, make: impl Fn(U) -> T) {
    if let Some(value) = value {
        *reading = Reading::Known(make(value));
    }
}

impl StateFile {
    pub(super) fn fill(&self, card: &mut Card, window: f64) {
        set(&mut card.name, self.product.clone(), |name| name);
        set(&mut card.clocks.sm_max, self.clock_max, Megahertz);
        set(&mut card.sm_clock, self.clock, |clock| trend(clock, 0.0, LOOKS, window, Megahertz));
        set(&mut card.performance_state, self.p_state, |state| state);
        card.lasting_clock_reasons = card.clock_reasons.as_ref().copied();
        set(&mut card.lasting_clock_reasons, self.lasting, ClockReasons);
        if self.reasons_are_unsupported {
            card.clock_reasons = Reading::Unsupported;
            card.lasting_clock_reasons = Reading::Unsupported;
        }
        set(&mut card.reason_shares.software_thermal, self.software_thermal, Share);
        set(&mut card.reason_shares.power_brake, self.brake, Share);
        if self.counters_are_unsupported {
            card.reason_shares = ReasonShares::default();
        }
        set(&mut card.temperature, self.temperature, |heat| trend(heat, 0.0, LOOKS, window, Celsius));
        let limits = &mut card.temperature_limits;
        set(&mut limits.operating_maximum, self.operating_maximum, Celsius);
        set(&mut limits.slowdown, self.slowdown, Celsius);
        set(&mut limits.margin, self.margin, Celsius);
        set(&mut limits.memory_maximum, self.memory_maximum, Celsius);
        set(&mut card.memory_temperature, self.memory_temperature, |heat| {
            trend(heat, 0.0, LOOKS, window, Celsius)
        });
        if self.memory_is_unmeasured {
            card.memory_temperature = Reading::Unsupported;
        }
        set(&mut card.power_limits.default, self.default_limit, Watts);
        set(&mut card.power_limits.requested, self.requested_limit, Watts);
    }
}

impl HealthFile {
    pub(super) fn fill(&self, card: &mut Card) {
        let counts = &mut card.ecc.volatile;
        set(&mut counts.corrected, self.ecc_corrected, |count| count);
        set(&mut counts.uncorrected, self.ecc_uncorrected, |count| count);
        set(&mut counts.sram_uncorrected, self.ecc_sram_uncorrected, |count| count);
        set(&mut card.ecc.aggregate.uncorrected, self.ecc_aggregate_uncorrected, |count| count);
        set(&mut card.ecc.sram_threshold_exceeded, self.sram_threshold_exceeded, |is_so| is_so);
        set(&mut card.ecc_growth.corrected, self.ecc_corrected_growth, |count| count);
        set(&mut card.ecc_growth.uncorrected, self.ecc_uncorrected_growth, |count| count);
        if self.ecc_is_denied {
            card.ecc.volatile.uncorrected = Reading::Denied(Access::Root);
        }
        if self.ecc_is_unsupported {
            card.ecc.volatile.corrected = Reading::Unsupported;
            card.ecc.volatile.uncorrected = Reading::Unsupported;
        }
        set(&mut card.remapped_rows, self.remap, |rows| rows);
        set(&mut card.retired_pages, self.retired, |pages| pages);
        if let Some(code) = self.inforom_error {
            card.inforom = Reading::Failed(failure("nvmlDeviceGetInforomImageVersion", code));
        }
        if self.inforom_is_unsupported {
            card.inforom = Reading::Unsupported;
        }
        set(&mut card.fans, self.fans.clone(), |fans| fans.iter().map(FanFile::fan).collect());
    }
}

impl FanFile {
    fn fan(&self) -> Fan {
        let mut fan = Fan::default();
        set(&mut fan.speed, self.speed, Percent);
        set(&mut fan.target, self.target, Percent);
        set(&mut fan.rpm, self.rpm, |rpm| rpm);
        if let Some(code) = self.error {
            fan.speed = Reading::Failed(failure("nvmlDeviceGetFanSpeed_v2", code));
        }
        fan
    }
}

impl LinkFile {
    pub(super) fn fill(&self, card: &mut Card) {
        set(&mut card.pcie.generation, self.generation, |generation| generation);
        set(&mut card.pcie.generation_max, self.generation_max, |generation| generation);
        set(&mut card.pcie.card_generation_max, self.card_generation, |generation| generation);
        set(&mut card.pcie.width, self.width, |width| width);
        set(&mut card.pcie.width_max, self.width_max, |width| width);
        set(&mut card.pcie_traffic.to_card, self.to_card, |rate| BytesPerSecond(rate * 1e9));
        set(&mut card.pcie_replays, self.replays, |count| count);
        set(&mut card.pcie_errors.non_fatal, self.non_fatal, |count| count);
        if self.nvlinks_up + self.nvlinks_down > 0 {
            card.nvlinks = Reading::Known(self.nvlinks());
        }
        set(&mut card.fabric, self.fabric_health, |health| Fabric {
            state: FabricState::Completed,
            status: 0,
            health,
        });
    }

    fn nvlinks(&self) -> Vec<NvLinkState> {
        (0..self.nvlinks_up + self.nvlinks_down)
            .map(|link| {
                let of_first = |count: u64| Reading::Known(if link == 0 { count } else { 0 });
                NvLinkState {
                    link,
                    active: Reading::Known(link < self.nvlinks_up),
                    crc_growth: of_first(self.crc),
                    replay_growth: of_first(self.nvlink_replays),
                    recovery_growth: of_first(self.recoveries),
                    ..NvLinkState::default()
                }
            })
            .collect()
    }
}
