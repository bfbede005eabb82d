//! What one row says of a card.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{
    CardMemory, CardSample, ClockReasons, Fabric, FabricState, RemappedRows, RetiredPages,
};
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Watts};

use super::cells::{Row, amount, number};
use super::columns::{Column, EccPart, Unit, Value};
use crate::Format;
use crate::kernel_log::pci_address;
use crate::nvidia_cell::{self, compute_mode, is_lost};

/// A card's own store is damaged, in the library's numbers.
const CORRUPTED_INFOROM: u32 = 14;

/// A row's card.
#[derive(Debug, Clone, Default)]
pub(super) struct CardRow {
    pub(super) sample: CardSample,
    /// Used frame buffer; its size may be in no column.
    pub(super) used: Reading<Bytes>,
}

/// What has to be put together.
#[derive(Debug, Default)]
struct Parts {
    total: Reading<Bytes>,
    reserved: Reading<Bytes>,
    free: Reading<Bytes>,
    requested: Reading<Watts>,
    graphics: Reading<Megahertz>,
    reasons: Option<u64>,
    reasons_absent: Reading<ClockReasons>,
    retired: [Reading<u64>; 2],
    retired_pending: Reading<bool>,
    remapped: [Reading<u64>; 2],
    remapped_pending: Reading<bool>,
    remapped_failure: Reading<bool>,
    fabric: Reading<FabricState>,
    fabric_status: u32,
    dram: [[Reading<u64>; 2]; 2],
    sram: [[Reading<u64>; 2]; 2],
}

/// Reads a row; the card's number is put in later.
pub(super) fn card(row: &Row<'_, '_>, line: u64) -> CardRow {
    let mut card = CardRow::default();
    let mut parts = Parts::default();
    for (column, unit, reading) in row.readings() {
        match column {
            Column::Name => keep(&mut card.sample.name, reading.map(masked_text)),
            Column::Uuid => keep(&mut card.sample.uuid, reading.map(str::to_owned)),
            Column::Address => {
                keep(&mut card.sample.pci_address, reading.and_then(|text| pci_address(text).into()));
            }
            Column::Card(value) => take(&mut card, &mut parts, value, &Cell { reading, unit, line }),
            _ => {}
        }
    }
    put_together(&mut card, parts);
    card.sample.handle = handle(row, &card.sample);
    card
}

/// A cell with the unit of its column.
struct Cell<'line> {
    reading: Reading<&'line str>,
    unit: Unit,
    line: u64,
}

impl<'line> Cell<'line> {
    fn parsed<T>(&self, expected: &str, parse: impl Fn(&'line str) -> Option<T>) -> Reading<T> {
        self.reading.clone().and_then(|text| match parse(text) {
            Some(value) => Reading::Known(value),
            None => Reading::Failed(Failure::Syntax {
                path: Format::NvidiaSmiCsv.to_string(),
                line: self.line,
                expected: expected.to_owned(),
            }),
        })
    }

    fn number(&self, unit: &str) -> Reading<f64> {
        self.parsed("a number", |text| number(text, unit))
    }

    fn watts(&self) -> Reading<Watts> {
        let factor = if self.unit == Unit::Milliwatts { 1e-3 } else { 1.0 };
        self.number("W").map(|watts| Watts(watts * factor))
    }

    fn megahertz(&self) -> Reading<Megahertz> {
        self.number("MHz").map(Megahertz)
    }

    fn percent(&self) -> Reading<Percent> {
        self.number("%").map(Percent)
    }

    fn whole<T: std::str::FromStr>(&self) -> Reading<T> {
        self.parsed("a whole number", |text| text.trim_start_matches('P').trim_end_matches('x').parse().ok())
    }

    fn bytes(&self) -> Reading<Bytes> {
        self.parsed("an amount of memory", |text| amount(text, self.unit))
    }

    fn switch(&self) -> Reading<bool> {
        self.parsed("a switch", |text| match text {
            "Enabled" | "Yes" | "Active" | "On" | "1" => Some(true),
            "Disabled" | "No" | "Not Active" | "Off" | "0" => Some(false),
            _ => None,
        })
    }
}

/// Keeps the first value that is known, or else why the first that is there has none.
fn keep<T>(slot: &mut Reading<T>, new: Reading<T>) {
    if slot.is_not_in_source() || (!slot.is_known() && new.is_known()) {
        *slot = new;
    }
}

fn take(row: &mut CardRow, parts: &mut Parts, value: Value, cell: &Cell<'_>) {
    let card = &mut row.sample;
    match value {
        // A share of all memory is no amount.
        Value::MemoryUsed if cell.unit == Unit::Percent => {}
        Value::MemoryTotal => keep(&mut parts.total, cell.bytes()),
        Value::MemoryReserved => keep(&mut parts.reserved, cell.bytes()),
        Value::MemoryUsed => keep(&mut row.used, cell.bytes()),
        Value::MemoryFree => keep(&mut parts.free, cell.bytes()),
        Value::Busy => keep(&mut card.busy, cell.percent()),
        Value::MemoryBusy => keep(&mut card.memory_busy, cell.percent()),
        Value::Encoder => keep(&mut card.encoder, cell.percent()),
        Value::Decoder => keep(&mut card.decoder, cell.percent()),
        Value::Temperature => keep(&mut card.temperature, cell.number("C").map(Celsius)),
        // A card without a sensor there shows 0 on some drivers.
        Value::MemoryTemperature => keep(
            &mut card.memory_temperature,
            cell.number("C").and_then(|heat| {
                if heat > 0.0 { Reading::Known(Celsius(heat)) } else { Reading::Unsupported }
            }),
        ),
        Value::Margin => keep(&mut card.temperature_limits.margin, cell.number("C").map(Celsius)),
        Value::Fan => keep(&mut card.fan, cell.percent()),
        Value::State => keep(&mut card.performance_state, cell.whole()),
        Value::Power => keep(&mut card.power, cell.watts()),
        Value::PowerLimit => keep(&mut card.power_limits.enforced, cell.watts()),
        Value::PowerRequested => keep(&mut parts.requested, cell.watts()),
        Value::PowerDefault => keep(&mut card.power_limits.default, cell.watts()),
        Value::PowerMaximum => keep(&mut card.power_limits.maximum, cell.watts()),
        Value::SmClock => keep(&mut card.clocks.sm, cell.megahertz()),
        Value::GraphicsClock => keep(&mut parts.graphics, cell.megahertz()),
        Value::MemoryClock => keep(&mut card.clocks.memory, cell.megahertz()),
        Value::SmClockMaximum => keep(&mut card.clocks.sm_max, cell.megahertz()),
        Value::MemoryClockMaximum => keep(&mut card.clocks.memory_max, cell.megahertz()),
        Value::Reasons | Value::Reason(_) => take_reason(parts, value, cell),
        Value::ReasonTime(reason) => take_reason_time(card, reason, cell),
        Value::EccMode => keep(&mut card.ecc.enabled, cell.switch()),
        Value::Ecc { .. } => take_errors(card, parts, value, cell),
        Value::SramThreshold => keep(&mut card.ecc.sram_threshold_exceeded, cell.switch()),
        Value::RetiredSingle => keep(&mut parts.retired[0], cell.whole()),
        Value::RetiredDouble => keep(&mut parts.retired[1], cell.whole()),
        Value::RetiredPending => keep(&mut parts.retired_pending, cell.switch()),
        Value::RemappedCorrected => keep(&mut parts.remapped[0], cell.whole()),
        Value::RemappedUncorrected => keep(&mut parts.remapped[1], cell.whole()),
        Value::RemappedPending => keep(&mut parts.remapped_pending, cell.switch()),
        Value::RemappedFailure => keep(&mut parts.remapped_failure, cell.switch()),
        Value::Generation => keep(&mut card.pcie.generation, cell.whole()),
        Value::GenerationMaximum => keep(&mut card.pcie.generation_max, cell.whole()),
        Value::CardGenerationMaximum => keep(&mut card.pcie.card_generation_max, cell.whole()),
        Value::Width => keep(&mut card.pcie.width, cell.whole()),
        Value::WidthMaximum => keep(&mut card.pcie.width_max, cell.whole()),
        Value::Replays => keep(&mut card.pcie.replays, cell.whole()),
        Value::ToCard => keep(&mut card.pcie.to_card, rate(cell)),
        Value::ToHost => keep(&mut card.pcie.to_host, rate(cell)),
        Value::ComputeMode => keep(&mut card.compute_mode, cell.reading.clone().map(compute_mode)),
        Value::Capability => keep(&mut card.compute_capability, cell.reading.clone().map(str::to_owned)),
        Value::Persistence => keep(&mut card.persistence, cell.switch()),
        Value::MigMode => keep(&mut card.mig_enabled, cell.switch()),
        Value::MigPending => keep(&mut card.mig_pending, cell.switch()),
        Value::DisplayActive => keep(&mut card.display_active, cell.switch()),
        Value::Inforom => keep(&mut card.inforom, cell.reading.clone().map(str::to_owned)),
        Value::InforomValid => {
            if matches!(cell.reading, Reading::Known(word) if word.starts_with("invalid") || word.starts_with("corrupt"))
            {
                card.inforom = Reading::Failed(nvidia_cell::failure(CORRUPTED_INFOROM));
            }
        }
        Value::FabricState => parts.fabric = cell.parsed("a state of the fabric", fabric_state),
        Value::FabricStatus => {
            parts.fabric_status = cell.reading.known().map_or(0, |word| {
                if *word == "Success" {
                    0
                } else {
                    nvidia_cell::error_code(word).unwrap_or(nvidia_cell::UNKNOWN)
                }
            });
        }
    }
}

fn rate(cell: &Cell<'_>) -> Reading<BytesPerSecond> {
    let factor = match cell.unit {
        Unit::Kibibytes => 1e3,
        Unit::Mebibytes => 1e6,
        Unit::Gibibytes => 1e9,
        _ => return Reading::default(),
    };
    cell.number("").map(|rate| BytesPerSecond(rate * factor))
}

fn fabric_state(word: &str) -> Option<FabricState> {
    Some(match word {
        "Completed" => FabricState::Completed,
        "In Progress" => FabricState::InProgress,
        "Not Started" => FabricState::NotStarted,
        _ => return None,
    })
}

fn take_reason(parts: &mut Parts, value: Value, cell: &Cell<'_>) {
    let bits = match value {
        Value::Reason(bit) => cell.switch().map(|is_on| if is_on { bit } else { 0 }),
        _ => {
            cell.parsed("a hexadecimal number", |text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok())
        }
    };
    match bits {
        Reading::Known(bits) => *parts.reasons.get_or_insert(0) |= bits,
        absent => keep(&mut parts.reasons_absent, absent.map(ClockReasons)),
    }
}

fn take_reason_time(card: &mut CardSample, reason: u64, cell: &Cell<'_>) {
    let counters = &mut card.reason_counters;
    let slot = match reason {
        ClockReasons::SOFTWARE_POWER_CAP => &mut counters.software_power_cap_ns,
        ClockReasons::SYNC_BOOST => &mut counters.sync_boost_ns,
        ClockReasons::SOFTWARE_THERMAL => &mut counters.software_thermal_ns,
        ClockReasons::HARDWARE_THERMAL => &mut counters.hardware_thermal_ns,
        _ => &mut counters.power_brake_ns,
    };
    let microseconds = cell.parsed("a whole number of microseconds", |text| {
        text.trim_end_matches("us").trim_end().parse::<u64>().ok()
    });
    keep(slot, microseconds.map(|time| time.saturating_mul(1000)));
}

fn take_errors(card: &mut CardSample, parts: &mut Parts, value: Value, cell: &Cell<'_>) {
    let Value::Ecc { is_corrected, is_volatile, part } = value else {
        return;
    };
    let place = (usize::from(is_volatile), usize::from(is_corrected));
    let counts = if is_volatile { &mut card.ecc.volatile } else { &mut card.ecc.aggregate };
    match part {
        EccPart::All if is_corrected => keep(&mut counts.corrected, cell.whole()),
        EccPart::All => keep(&mut counts.uncorrected, cell.whole()),
        EccPart::Dram => keep(&mut parts.dram[place.0][place.1], cell.whole()),
        EccPart::Sram => keep(&mut parts.sram[place.0][place.1], cell.whole()),
        EccPart::Other => {}
    }
}

/// Puts together what stands in several columns.
fn put_together(row: &mut CardRow, mut parts: Parts) {
    let card = &mut row.sample;
    card.memory = memory(&parts, &row.used);
    if let Reading::Known(memory) = &card.memory {
        row.used = Reading::Known(memory.used);
    }
    keep(&mut card.power_limits.requested, parts.requested.clone());
    keep(&mut card.power_limits.enforced, parts.requested);
    keep(&mut card.clocks.sm, parts.graphics);
    card.clock_reasons =
        parts.reasons.map_or(parts.reasons_absent, |bits| Reading::Known(ClockReasons(bits)));
    for (is_volatile, counts) in [(0, &mut card.ecc.aggregate), (1, &mut card.ecc.volatile)] {
        let part = |of: &mut [[Reading<u64>; 2]; 2], is_corrected: usize| {
            std::mem::take(&mut of[is_volatile][is_corrected])
        };
        let corrected = [part(&mut parts.dram, 1), part(&mut parts.sram, 1)];
        keep(&mut counts.corrected, sum(&corrected));
        let [dram, sram] = [part(&mut parts.dram, 0), part(&mut parts.sram, 0)];
        keep(&mut counts.uncorrected, sum(&[dram.clone(), sram.clone()]));
        counts.dram_uncorrected = dram;
        counts.sram_uncorrected = sram;
    }
    let [single_bit, double_bit] = parts.retired;
    card.retired_pages = single_bit.and_then(|single_bit| {
        double_bit.and_then(|double_bit| {
            parts.retired_pending.map(|pending| RetiredPages { single_bit, double_bit, pending })
        })
    });
    let [corrected, uncorrected] = parts.remapped;
    card.remapped_rows = corrected.and_then(|corrected| {
        uncorrected.and_then(|uncorrected| {
            parts.remapped_pending.and_then(|pending| {
                parts.remapped_failure.map(|failed| RemappedRows {
                    corrected,
                    uncorrected,
                    pending,
                    failed,
                    spare_rows: None,
                })
            })
        })
    });
    card.fabric = parts.fabric.map(|state| Fabric { state, status: parts.fabric_status, health: 0 });
}

/// Returns the sum of counts of which all that are there must be known.
fn sum(counts: &[Reading<u64>; 2]) -> Reading<u64> {
    let mut there = counts.iter().filter(|count| !count.is_not_in_source());
    let Some(first) = there.next() else {
        return Reading::default();
    };
    // One part alone is not all.
    let Some(second) = there.next() else {
        return Reading::default();
    };
    first.clone().and_then(|first| second.clone().map(|second| first.saturating_add(second)))
}

fn memory(parts: &Parts, used: &Reading<Bytes>) -> Reading<CardMemory> {
    let reserved = parts.reserved.clone();
    let taken = reserved.known().map_or(0, |reserved| reserved.0);
    parts.total.clone().and_then(|total| {
        let rest = |one: u64| total.0.checked_sub(one).and_then(|left| left.checked_sub(taken)).map(Bytes);
        let used = match (used, &parts.free) {
            (Reading::Known(used), _) => Reading::Known(*used),
            (_, Reading::Known(free)) => rest(free.0).into(),
            (absent, _) => absent.clone(),
        };
        used.and_then(|used| {
            let free = parts.free.known().copied().or_else(|| rest(used.0));
            free.map(|free| CardMemory { total, reserved, used, free }).into()
        })
    })
}

/// Returns whether the card answers: lost as soon as one cell says so, silent when nothing vital could be read.
fn handle(row: &Row<'_, '_>, card: &CardSample) -> Reading<()> {
    if let Some((.., lost)) = row.readings().find(|(.., reading)| is_lost(reading)) {
        return lost.map(|_| ());
    }
    let vital = [
        card.memory.as_ref().map(|_| ()),
        card.busy.as_ref().map(|_| ()),
        card.temperature.as_ref().map(|_| ()),
    ];
    let failed = |reading: &&Reading<()>| matches!(reading, Reading::Failed(Failure::Nvml { .. }));
    let there = vital.iter().filter(|reading| !reading.is_not_in_source()).count();
    match vital.iter().find(failed) {
        Some(failure) if vital.iter().filter(failed).count() == there => failure.clone(),
        _ => Reading::Known(()),
    }
}
