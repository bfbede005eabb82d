//! Metrics of cards, of several exporters: what of a card each one says.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardSample, ClockReasons};
use gpuwhy_model::units::{BytesPerSecond, Celsius, Joules, Megahertz, Percent, Watts};

/// A card while its metrics are gathered.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub(super) card: CardSample,
    /// Frame buffer in bytes.
    pub(super) used: Option<u64>,
    pub(super) free: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) reserved: Option<u64>,
    pub(super) bar1_used: Option<u64>,
    pub(super) bar1_total: Option<u64>,
    /// Rows that were replaced: for corrected errors, for others, whether one waits, whether one failed.
    pub(super) rows: [Option<u64>; 4],
    /// Pages that are not used any more: single-bit, double-bit, waiting.
    pub(super) pages: [Option<u64>; 3],
    /// The number of the last error.
    pub(super) xid: Option<u32>,
    /// Share of time in which the engines worked, for where nothing better is said.
    pub(super) engine: Option<f64>,
    /// The bits of reasons that were each given alone, and whether any was given.
    pub(super) reasons: Option<u64>,
}

/// How a value becomes part of a card.
type Set = fn(&mut Gathered, f64);

/// A metric, and whether it is of one instance where a card has several.
pub(super) struct CardMetric {
    pub(super) name: &'static str,
    pub(super) is_of_instance: bool,
    pub(super) set: Set,
}

const MEBIBYTE: f64 = 1_048_576.0;

/// Blank values of DCGM, which some exporters pass on: larger than anything that can be counted.
const BLANK_FROM: f64 = 1.4e14;

fn bytes(value: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a small whole number"
    )]
    (0.0..BLANK_FROM * 1e3).contains(&value).then(|| value.round() as u64)
}

fn whole(value: f64) -> Option<u64> {
    (value < BLANK_FROM).then(|| bytes(value)).flatten()
}

fn count(value: f64) -> Reading<u64> {
    whole(value).into()
}

fn small(value: f64) -> Reading<u32> {
    whole(value).and_then(|value| u32::try_from(value).ok()).into()
}

/// Returns a share in hundredths.
fn percent(value: f64) -> Reading<Percent> {
    match value {
        0.0..=100.0 => Reading::Known(Percent(value)),
        0.0..BLANK_FROM => Failure::Implausible { value: value.to_string() }.into_reading(),
        _ => Reading::default(),
    }
}

fn heat(value: f64) -> Reading<Celsius> {
    if (-50.0..300.0).contains(&value) { Reading::Known(Celsius(value)) } else { Reading::default() }
}

/// A card without a sensor in its memory shows 0.
fn memory_heat(value: f64) -> Reading<Celsius> {
    if value == 0.0 { Reading::Unsupported } else { heat(value) }
}

fn watts(value: f64) -> Reading<Watts> {
    if (0.0..100_000.0).contains(&value) { Reading::Known(Watts(value)) } else { Reading::default() }
}

fn joules(value: f64) -> Reading<Joules> {
    if (0.0..1e15).contains(&value) { Reading::Known(Joules(value)) } else { Reading::default() }
}

fn megahertz(value: f64) -> Reading<Megahertz> {
    if (0.0..100_000.0).contains(&value) { Reading::Known(Megahertz(value)) } else { Reading::default() }
}

fn rate(value: f64) -> Reading<BytesPerSecond> {
    if (0.0..BLANK_FROM).contains(&value) {
        Reading::Known(BytesPerSecond(value))
    } else {
        Reading::default()
    }
}

fn flag(value: f64) -> Reading<bool> {
    yes_or_no(value).into()
}

/// Returns what 1 and 0 stand for.
fn yes_or_no(value: f64) -> Option<bool> {
    let is_one = value.total_cmp(&1.0).is_eq();
    (is_one || value == 0.0).then_some(is_one)
}

fn reason(gathered: &mut Gathered, bit: u64, value: f64) {
    if let Some(is_so) = yes_or_no(value) {
        let bits = gathered.reasons.get_or_insert(0);
        *bits |= if is_so { bit } else { 0 };
    }
}

/// Both ways of writing a driver's answer that says which counts: 0 is the default mode.
fn compute_mode(value: f64) -> Reading<String> {
    let names = ["default", "exclusive_thread", "prohibited", "exclusive_process"];
    whole(value)
        .and_then(|place| names.get(usize::try_from(place).ok()?))
        .map(|name| (*name).to_owned())
        .into()
}

macro_rules! metrics {
    ($($name:literal $of:ident $set:expr;)+) => {
        &[$(CardMetric { name: $name, is_of_instance: metrics!(@ $of), set: $set },)+]
    };
    (@ card) => { false };
    (@ part) => { true };
}

/// Every metric that is understood. Durations of DCGM are in nanoseconds; older exporters write microseconds, and say so.
pub(super) static METRICS: &[CardMetric] = metrics! {
    "DCGM_FI_DEV_SM_CLOCK" card |g, v| g.card.clocks.sm = megahertz(v);
    "DCGM_FI_DEV_MEM_CLOCK" card |g, v| g.card.clocks.memory = megahertz(v);
    "DCGM_FI_DEV_MAX_SM_CLOCK" card |g, v| g.card.clocks.sm_max = megahertz(v);
    "DCGM_FI_DEV_MAX_MEM_CLOCK" card |g, v| g.card.clocks.memory_max = megahertz(v);
    "DCGM_FI_DEV_GPU_TEMP" card |g, v| g.card.temperature = heat(v);
    "DCGM_FI_DEV_MEMORY_TEMP" card |g, v| g.card.memory_temperature = memory_heat(v);
    "DCGM_FI_DEV_SLOWDOWN_TEMP" card |g, v| g.card.temperature_limits.slowdown = heat(v);
    "DCGM_FI_DEV_SHUTDOWN_TEMP" card |g, v| g.card.temperature_limits.shutdown = heat(v);
    "DCGM_FI_DEV_GPU_MAX_OP_TEMP" card |g, v| g.card.temperature_limits.operating_maximum = heat(v);
    "DCGM_FI_DEV_MEM_MAX_OP_TEMP" card |g, v| g.card.temperature_limits.memory_maximum = heat(v);
    "DCGM_FI_DEV_FAN_SPEED" card |g, v| g.card.fan = percent(v);
    "DCGM_FI_DEV_POWER_USAGE" card |g, v| g.card.power = watts(v);
    "DCGM_FI_DEV_POWER_USAGE_INSTANT" card |g, v| g.card.power = g.card.power.clone().or(watts(v));
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT" card |g, v| g.card.power_limits.enforced = watts(v);
    "DCGM_FI_DEV_POWER_MGMT_LIMIT" card |g, v| g.card.power_limits.requested = watts(v);
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF" card |g, v| g.card.power_limits.default = watts(v);
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX" card |g, v| g.card.power_limits.maximum = watts(v);
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" card |g, v| g.card.energy = joules(v / 1000.0);
    "DCGM_FI_DEV_PSTATE" card |g, v| g.card.performance_state = small(v);
    "DCGM_FI_DEV_GPU_UTIL" card |g, v| g.card.busy = percent(v);
    "DCGM_FI_DEV_MEM_COPY_UTIL" card |g, v| g.card.memory_busy = percent(v);
    "DCGM_FI_DEV_ENC_UTIL" card |g, v| g.card.encoder = percent(v);
    "DCGM_FI_DEV_DEC_UTIL" card |g, v| g.card.decoder = percent(v);
    "DCGM_FI_DEV_FB_USED" part |g, v| g.used = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_FB_FREE" part |g, v| g.free = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_FB_TOTAL" part |g, v| g.total = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_FB_RESERVED" part |g, v| g.reserved = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_BAR1_USED" card |g, v| g.bar1_used = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_BAR1_TOTAL" card |g, v| g.bar1_total = bytes(v * MEBIBYTE);
    "DCGM_FI_DEV_XID_ERRORS" card |g, v| g.xid = whole(v).and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0);
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" card |g, v| g.card.clock_reasons = count(v).map(ClockReasons);
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS" card |g, v| g.card.clock_reasons = count(v).map(ClockReasons);
    "DCGM_FI_DEV_POWER_VIOLATION" card |g, v| g.card.violations.power_ns = bytes(v).into();
    "DCGM_FI_DEV_THERMAL_VIOLATION" card |g, v| g.card.violations.thermal_ns = bytes(v).into();
    "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION" card |g, v| g.card.violations.board_limit_ns = bytes(v).into();
    "DCGM_FI_DEV_RELIABILITY_VIOLATION" card |g, v| g.card.violations.reliability_ns = bytes(v).into();
    "DCGM_FI_DEV_ECC_CURRENT" card |g, v| g.card.ecc.enabled = flag(v);
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" card |g, v| g.card.ecc.volatile.corrected = count(v);
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" card |g, v| g.card.ecc.volatile.uncorrected = count(v);
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL" card |g, v| g.card.ecc.aggregate.corrected = count(v);
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL" card |g, v| g.card.ecc.aggregate.uncorrected = count(v);
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS" card |g, v| g.rows[0] = whole(v);
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS" card |g, v| g.rows[1] = whole(v);
    "DCGM_FI_DEV_ROW_REMAP_PENDING" card |g, v| g.rows[2] = whole(v);
    "DCGM_FI_DEV_ROW_REMAP_FAILURE" card |g, v| g.rows[3] = whole(v);
    "DCGM_FI_DEV_RETIRED_SBE" card |g, v| g.pages[0] = whole(v);
    "DCGM_FI_DEV_RETIRED_DBE" card |g, v| g.pages[1] = whole(v);
    "DCGM_FI_DEV_RETIRED_PENDING" card |g, v| g.pages[2] = whole(v);
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" card |g, v| g.card.pcie.replays = count(v);
    "DCGM_FI_DEV_PCIE_LINK_GEN" card |g, v| g.card.pcie.generation = small(v);
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN" card |g, v| g.card.pcie.generation_max = small(v);
    "DCGM_FI_DEV_PCIE_LINK_WIDTH" card |g, v| g.card.pcie.width = small(v);
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH" card |g, v| g.card.pcie.width_max = small(v);
    "DCGM_FI_DEV_PERSISTENCE_MODE" card |g, v| g.card.persistence = flag(v);
    "DCGM_FI_DEV_COMPUTE_MODE" card |g, v| g.card.compute_mode = compute_mode(v);
    "DCGM_FI_DEV_MIG_MODE" card |g, v| g.card.mig_enabled = flag(v);
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE" part |g, v| g.engine = Some(v * 100.0);
    "DCGM_FI_PROF_SM_ACTIVE" part |g, v| g.card.activity.sm_active = percent(v * 100.0);
    "DCGM_FI_PROF_SM_OCCUPANCY" part |g, v| g.card.activity.sm_occupancy = percent(v * 100.0);
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" part |g, v| g.card.activity.tensor_active = percent(v * 100.0);
    "DCGM_FI_PROF_DRAM_ACTIVE" part |g, v| g.card.activity.dram_active = percent(v * 100.0);
    "DCGM_FI_PROF_PCIE_TX_BYTES" card |g, v| g.card.pcie.to_host = rate(v);
    "DCGM_FI_PROF_PCIE_RX_BYTES" card |g, v| g.card.pcie.to_card = rate(v);
    "nvidia_smi_utilization_gpu_ratio" card |g, v| g.card.busy = percent(v * 100.0);
    "nvidia_smi_utilization_memory_ratio" card |g, v| g.card.memory_busy = percent(v * 100.0);
    "nvidia_smi_utilization_encoder_ratio" card |g, v| g.card.encoder = percent(v * 100.0);
    "nvidia_smi_utilization_decoder_ratio" card |g, v| g.card.decoder = percent(v * 100.0);
    "nvidia_smi_memory_total_bytes" card |g, v| g.total = bytes(v);
    "nvidia_smi_memory_used_bytes" card |g, v| g.used = bytes(v);
    "nvidia_smi_memory_free_bytes" card |g, v| g.free = bytes(v);
    "nvidia_smi_memory_reserved_bytes" card |g, v| g.reserved = bytes(v);
    "nvidia_smi_temperature_gpu" card |g, v| g.card.temperature = heat(v);
    "nvidia_smi_temperature_memory" card |g, v| g.card.memory_temperature = memory_heat(v);
    "nvidia_smi_fan_speed_ratio" card |g, v| g.card.fan = percent(v * 100.0);
    "nvidia_smi_power_draw_watts" card |g, v| g.card.power = watts(v);
    "nvidia_smi_power_draw_average_watts" card |g, v| g.card.power = g.card.power.clone().or(watts(v));
    "nvidia_smi_power_limit_watts" card |g, v| g.card.power_limits.requested = watts(v);
    "nvidia_smi_enforced_power_limit_watts" card |g, v| g.card.power_limits.enforced = watts(v);
    "nvidia_smi_power_default_limit_watts" card |g, v| g.card.power_limits.default = watts(v);
    "nvidia_smi_power_max_limit_watts" card |g, v| g.card.power_limits.maximum = watts(v);
    "nvidia_smi_clocks_current_sm_clock_hz" card |g, v| g.card.clocks.sm = megahertz(v / 1e6);
    "nvidia_smi_clocks_sm_clock_hz" card |g, v| g.card.clocks.sm = megahertz(v / 1e6);
    "nvidia_smi_clocks_current_memory_clock_hz" card |g, v| g.card.clocks.memory = megahertz(v / 1e6);
    "nvidia_smi_clocks_max_sm_clock_hz" card |g, v| g.card.clocks.sm_max = megahertz(v / 1e6);
    "nvidia_smi_clocks_max_memory_clock_hz" card |g, v| g.card.clocks.memory_max = megahertz(v / 1e6);
    "nvidia_smi_pstate" card |g, v| g.card.performance_state = small(v);
    "nvidia_smi_persistence_mode" card |g, v| g.card.persistence = flag(v);
    "nvidia_smi_mig_mode_current" card |g, v| g.card.mig_enabled = flag(v);
    "nvidia_smi_pcie_link_gen_current" card |g, v| g.card.pcie.generation = small(v);
    "nvidia_smi_pcie_link_gen_max" card |g, v| g.card.pcie.generation_max = small(v);
    "nvidia_smi_pcie_link_width_current" card |g, v| g.card.pcie.width = small(v);
    "nvidia_smi_pcie_link_width_max" card |g, v| g.card.pcie.width_max = small(v);
    "nvidia_smi_ecc_mode_current" card |g, v| g.card.ecc.enabled = flag(v);
    "nvidia_smi_ecc_errors_corrected_volatile_total" card |g, v| g.card.ecc.volatile.corrected = count(v);
    "nvidia_smi_ecc_errors_uncorrected_volatile_total" card |g, v| g.card.ecc.volatile.uncorrected = count(v);
    "nvidia_smi_ecc_errors_corrected_aggregate_total" card |g, v| g.card.ecc.aggregate.corrected = count(v);
    "nvidia_smi_ecc_errors_uncorrected_aggregate_total" card |g, v| g.card.ecc.aggregate.uncorrected = count(v);
    "nvidia_smi_retired_pages_single_bit_ecc_count" card |g, v| g.pages[0] = whole(v);
    "nvidia_smi_retired_pages_sbe" card |g, v| g.pages[0] = whole(v);
    "nvidia_smi_retired_pages_double_bit_count" card |g, v| g.pages[1] = whole(v);
    "nvidia_smi_retired_pages_dbe" card |g, v| g.pages[1] = whole(v);
    "nvidia_smi_retired_pages_pending" card |g, v| g.pages[2] = whole(v);
    "nvidia_smi_clocks_throttle_reasons_active" card |g, v| g.card.clock_reasons = count(v).map(ClockReasons);
    "nvidia_smi_clocks_event_reasons_active" card |g, v| g.card.clock_reasons = count(v).map(ClockReasons);
    "nvidia_smi_clocks_throttle_reasons_gpu_idle" card |g, v| reason(g, ClockReasons::IDLE, v);
    "nvidia_smi_clocks_event_reasons_gpu_idle" card |g, v| reason(g, ClockReasons::IDLE, v);
    "nvidia_smi_clocks_throttle_reasons_applications_clocks_setting" card |g, v| reason(g, ClockReasons::APPLICATION_CLOCKS, v);
    "nvidia_smi_clocks_event_reasons_applications_clocks_setting" card |g, v| reason(g, ClockReasons::APPLICATION_CLOCKS, v);
    "nvidia_smi_clocks_throttle_reasons_sw_power_cap" card |g, v| reason(g, ClockReasons::SOFTWARE_POWER_CAP, v);
    "nvidia_smi_clocks_event_reasons_sw_power_cap" card |g, v| reason(g, ClockReasons::SOFTWARE_POWER_CAP, v);
    "nvidia_smi_clocks_throttle_reasons_hw_slowdown" card |g, v| reason(g, ClockReasons::HARDWARE_SLOWDOWN, v);
    "nvidia_smi_clocks_event_reasons_hw_slowdown" card |g, v| reason(g, ClockReasons::HARDWARE_SLOWDOWN, v);
    "nvidia_smi_clocks_throttle_reasons_hw_thermal_slowdown" card |g, v| reason(g, ClockReasons::HARDWARE_THERMAL, v);
    "nvidia_smi_clocks_event_reasons_hw_thermal_slowdown" card |g, v| reason(g, ClockReasons::HARDWARE_THERMAL, v);
    "nvidia_smi_clocks_throttle_reasons_hw_power_brake_slowdown" card |g, v| reason(g, ClockReasons::POWER_BRAKE, v);
    "nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown" card |g, v| reason(g, ClockReasons::POWER_BRAKE, v);
    "nvidia_smi_clocks_throttle_reasons_sw_thermal_slowdown" card |g, v| reason(g, ClockReasons::SOFTWARE_THERMAL, v);
    "nvidia_smi_clocks_event_reasons_sw_thermal_slowdown" card |g, v| reason(g, ClockReasons::SOFTWARE_THERMAL, v);
    "nvidia_smi_clocks_throttle_reasons_sync_boost" card |g, v| reason(g, ClockReasons::SYNC_BOOST, v);
    "nvidia_smi_clocks_event_reasons_sync_boost" card |g, v| reason(g, ClockReasons::SYNC_BOOST, v);
    "nvidia_gpu_duty_cycle" card |g, v| g.card.busy = percent(v);
    "nvidia_gpu_memory_total_bytes" card |g, v| g.total = bytes(v);
    "nvidia_gpu_memory_used_bytes" card |g, v| g.used = bytes(v);
    "nvidia_gpu_power_usage_milliwatts" card |g, v| g.card.power = watts(v / 1000.0);
    "nvidia_gpu_temperature_celsius" card |g, v| g.card.temperature = heat(v);
    "nvidia_gpu_fanspeed_percent" card |g, v| g.card.fan = percent(v);
    "nv_gpu_utilization" card |g, v| g.card.busy = percent(v * 100.0);
    "nv_gpu_memory_total_bytes" card |g, v| g.total = bytes(v);
    "nv_gpu_memory_used_bytes" card |g, v| g.used = bytes(v);
    "nv_gpu_power_usage" card |g, v| g.card.power = watts(v);
    "nv_gpu_power_limit" card |g, v| g.card.power_limits.enforced = watts(v);
    "nv_energy_consumption" card |g, v| g.card.energy = joules(v);
};

/// Returns what a metric says of a card.
pub(super) fn card_metric(name: &str) -> Option<&'static CardMetric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::ClockReasons;

    use super::{Gathered, METRICS, card_metric};

    #[test]
    fn names_are_unique_and_no_value_breaks_one() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            for value in [0.0, -1.0, 1e300, 9_223_372_036_854_775_794.0, 140_737_488_355_328.0, 0.5] {
                (metric.set)(&mut Gathered::default(), value);
            }
        }
    }

    #[test]
    fn blanks_are_not_values() {
        let mut gathered = Gathered::default();
        for name in ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"] {
            (card_metric(name).unwrap().set)(&mut gathered, 9_223_372_036_854_775_794.0);
        }
        assert!(gathered.card.busy.is_not_in_source() && gathered.card.temperature.is_not_in_source());
        assert!(!gathered.card.ecc.volatile.corrected.is_known());
        (card_metric("DCGM_FI_DEV_MEMORY_TEMP").unwrap().set)(&mut gathered, 0.0);
        assert_eq!(gathered.card.memory_temperature, Reading::Unsupported);
        for name in ["hw_slowdown", "sw_power_cap", "gpu_idle"] {
            let metric = card_metric(&format!("nvidia_smi_clocks_event_reasons_{name}")).unwrap();
            (metric.set)(&mut gathered, f64::from(u8::from(name != "gpu_idle")));
        }
        let bits = ClockReasons::HARDWARE_SLOWDOWN | ClockReasons::SOFTWARE_POWER_CAP;
        assert_eq!(gathered.reasons, Some(bits));
    }
}
