//! What the columns of a table of cards mean, by the names that the tool and its users give them.

use gpuwhy_model::sample::ClockReasons;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Calendar time, or seconds.
    Time,
    /// Seconds since some begin.
    Elapsed,
    Index,
    Count,
    Name,
    Uuid,
    Address,
    DriverVersion,
    CudaVersion,
    Hostname,
    Pid,
    ProcessName,
    /// What a process held at most, ever: it may be over.
    Accounted,
    /// One page that is not used any more.
    RetiredPage,
    /// A value of a card.
    Card(Value),
    /// Known, and nothing that is read.
    Ignored,
    Unknown,
}

/// A value of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    MemoryTotal,
    MemoryReserved,
    /// Of a process, where there is one in the row.
    MemoryUsed,
    MemoryFree,
    Busy,
    MemoryBusy,
    Encoder,
    Decoder,
    Temperature,
    MemoryTemperature,
    Margin,
    Fan,
    State,
    Power,
    PowerLimit,
    PowerRequested,
    PowerDefault,
    PowerMaximum,
    SmClock,
    GraphicsClock,
    MemoryClock,
    SmClockMaximum,
    MemoryClockMaximum,
    /// All reasons as one number.
    Reasons,
    /// One reason.
    Reason(u64),
    /// For how long a reason has held.
    ReasonTime(u64),
    EccMode,
    Ecc {
        is_corrected: bool,
        is_volatile: bool,
        part: EccPart,
    },
    SramThreshold,
    RetiredSingle,
    RetiredDouble,
    RetiredPending,
    RemappedCorrected,
    RemappedUncorrected,
    RemappedPending,
    RemappedFailure,
    Generation,
    GenerationMaximum,
    CardGenerationMaximum,
    Width,
    WidthMaximum,
    Replays,
    ToCard,
    ToHost,
    ComputeMode,
    Capability,
    Persistence,
    MigMode,
    MigPending,
    DisplayActive,
    Inforom,
    InforomValid,
    FabricState,
    FabricStatus,
}

/// Where memory errors were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EccPart {
    All,
    Dram,
    Sram,
    Other,
}

/// In which unit a column's numbers are, where its heading or name says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Unit {
    /// Not said: that of the tool.
    #[default]
    Usual,
    Bytes,
    Kibibytes,
    Mebibytes,
    Gibibytes,
    Percent,
    Milliwatts,
    Milliseconds,
    Other,
}

/// The columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) list: Vec<(Column, Unit)>,
    pub(super) separator: char,
    /// The names are those of the tool: without a number, rows are cards in their order.
    pub(super) is_of_tool: bool,
}

/// Names of the tool's own without a dot in them, and whether no other tool has such a name.
const OWN: &[(&str, bool)] = &[
    ("timestamp", false),
    ("time", false),
    ("count", false),
    ("name", false),
    ("serial", false),
    ("uuid", false),
    ("index", false),
    ("hostname", false),
    ("pid", false),
    ("driver_version", true),
    ("display_mode", true),
    ("display_active", true),
    ("display_attached", true),
    ("persistence_mode", true),
    ("addressing_mode", true),
    ("vbios_version", true),
    ("pstate", true),
    ("compute_mode", true),
    ("compute_cap", true),
    ("gpu_recovery_action", true),
    ("edpp_multiplier", true),
    ("process_name", true),
    ("used_gpu_memory", true),
    ("used_memory", true),
    ("gpu_name", true),
    ("gpu_bus_id", true),
    ("gpu_serial", true),
    ("gpu_uuid", true),
    ("gpu_utilization", true),
    ("gpu_util", true),
    ("mem_utilization", true),
    ("mem_util", true),
    ("max_memory_usage", true),
    ("vgpu_instance", true),
];

/// A longer heading is a text.
const COLUMNS_MAX: usize = 400;
/// No name has more words.
const WORDS_MAX: usize = 5;
/// A longer name is none.
const NAME_MAX: usize = 90;

impl Columns {
    /// Reads a heading.
    pub(super) fn heading(text: &str) -> Option<Self> {
        let separator =
            [',', ';', '\t'].into_iter().find(|separator| text.contains(*separator)).unwrap_or(',');
        let names: Vec<&str> = text.split(separator).map(|name| name.trim().trim_matches('"')).collect();
        // Every line of a paste is asked: most of them are sentences or other tables.
        if names.len() > COLUMNS_MAX || !names.iter().all(|name| is_name(name)) {
            return None;
        }
        if let [only] = names[..]
            && !(only.contains('.') && only.split(' ').count() <= 2)
        {
            return None;
        }
        let columns = Self::of(names.iter().copied(), separator);
        columns.is_heading(&names).then_some(columns)
    }

    /// Returns the columns that a command asks for.
    pub(super) fn asked_for(list: &str) -> Self {
        let names = list.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
        Self { is_of_tool: true, ..Self::of(names, ',') }
    }

    fn of<'name>(names: impl Iterator<Item = &'name str> + Clone, separator: char) -> Self {
        let is_of_tool = are_of_tool(&names);
        Self { list: names.map(column).collect(), separator, is_of_tool }
    }

    /// Returns whether the names are the heading of a table of cards or of processes on cards.
    fn is_heading(&self, names: &[&str]) -> bool {
        let holds = |wanted: &[Column]| self.list.iter().any(|(column, _)| wanted.contains(column));
        let values = self.list.iter().filter(|(column, _)| matches!(column, Column::Card(_))).count();
        if self.is_of_tool {
            // One name alone may be a word of a text, unless it has the tool's dots.
            return names.len() > 1 || names.iter().any(|name| name.contains('.') && values > 0);
        }
        let is_placed = holds(&[Column::Index, Column::Uuid, Column::Address]);
        // Heat and power over time are those of anything, and rows of several devices would be one card's.
        let is_over_time = holds(&[Column::Time, Column::Elapsed])
            && (self.list.iter().any(|(column, _)| is_of_cards_only(*column))
                || names.iter().any(|name| says_gpu(name)));
        let is_of_cards = (is_placed || is_over_time) && !names.iter().any(|name| is_of_other_devices(name));
        let known = self.list.iter().filter(|(column, _)| *column != Column::Unknown).count();
        is_of_cards && values >= 2 && known * 2 > names.len() && !holds(&[Column::Pid])
    }

    /// Returns the place of a column.
    pub(super) fn place(&self, wanted: Column) -> Option<usize> {
        self.list.iter().position(|(column, _)| *column == wanted)
    }

    /// Returns whether rows are about processes.
    pub(super) fn is_of_processes(&self) -> bool {
        self.place(Column::Pid).is_some()
    }
}

/// Returns whether only cards have what a column holds: sensors of anything else have heat, power, clocks and fans too.
fn is_of_cards_only(column: Column) -> bool {
    matches!(column, Column::Card(value) if !matches!(
        value,
        Value::Temperature
            | Value::Power
            | Value::PowerLimit
            | Value::PowerRequested
            | Value::PowerDefault
            | Value::PowerMaximum
            | Value::Fan
            | Value::GraphicsClock
    ))
}

/// Returns whether the name of a column says that it is about GPUs.
fn says_gpu(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["gpu", "cuda", "graphics"].iter().any(|word| name.contains(word))
}

/// Returns whether the name of a column is of cards of other makers, or of devices whose number nobody here reads.
fn is_of_other_devices(name: &str) -> bool {
    const WORDS: &[&str] = &["npu", "aicore", "davinci", "ascend", "tpu", "hpu"];
    let name = name.to_ascii_lowercase();
    let is_word = |word: &str| WORDS.contains(&word);
    matches!(name.as_str(), "dev_id" | "chip_id" | "logic_id" | "phy_id")
        || name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_word)
}

/// Returns whether a text can be the name of a column.
fn is_name(text: &str) -> bool {
    text.len() <= NAME_MAX
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _.-/()[]%#".contains(&byte))
        && text.bytes().filter(|byte| *byte == b' ').count() < WORDS_MAX
}

/// Returns whether names are those of the tool: one has its dots, or all are its own.
fn are_of_tool<'name>(names: &(impl Iterator<Item = &'name str> + Clone)) -> bool {
    let bare = || names.clone().map(|name| without_unit(name).0);
    let has_dots =
        |name: &str| name.contains('.') && !name.contains(' ') && column(name).0 != Column::Unknown;
    let own = |name: &str| OWN.iter().find(|(own, _)| *own == name);
    bare().any(has_dots)
        || bare().all(|name| own(name).is_some())
            && bare().any(|name| own(name).is_some_and(|(_, is_only_own)| *is_only_own))
}

/// Takes `[MiB]` or `(W)` off the end of a name.
fn without_unit(name: &str) -> (&str, Option<&str>) {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((bare, unit)) = name.strip_suffix(close).and_then(|inside| inside.rsplit_once(open)) {
            return (bare.trim(), Some(unit.trim()));
        }
    }
    (name, None)
}

/// Returns what a column holds by its name, and in which unit.
fn column(name: &str) -> (Column, Unit) {
    let (bare, said) = without_unit(name);
    let mut plain: String = bare
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
        .collect();
    let mut unit = said.map_or(Unit::Usual, unit_of);
    if let Some(column) = exactly(&plain) {
        return (column, unit);
    }
    // `power_draw_w`, `temp_c`, `used_mib`
    if let Some((stem, end)) = plain.rsplit_once('_')
        && let Some(of_end) = unit_at_end(end)
    {
        unit = if said.is_some() { unit } else { of_end };
        plain = stem.to_owned();
    }
    let column = exactly(&plain).or_else(|| begins_as_known(&plain).then_some(Column::Ignored));
    (column.unwrap_or(Column::Unknown), unit)
}

fn unit_of(said: &str) -> Unit {
    match said.to_ascii_lowercase().as_str() {
        "mib" | "mb" => Unit::Mebibytes,
        "gib" | "gb" => Unit::Gibibytes,
        "kib" | "kb" => Unit::Kibibytes,
        "b" | "bytes" => Unit::Bytes,
        "%" | "percent" => Unit::Percent,
        "mw" => Unit::Milliwatts,
        "ms" => Unit::Milliseconds,
        _ => Unit::Other,
    }
}

fn unit_at_end(end: &str) -> Option<Unit> {
    Some(match end {
        "pct" | "percent" | "percentage" | "perc" => Unit::Percent,
        "w" | "watt" | "watts" | "c" | "celsius" | "degc" | "mhz" | "s" | "sec" | "seconds" => Unit::Other,
        "mw" | "milliwatts" => Unit::Milliwatts,
        "ms" => Unit::Milliseconds,
        "mib" | "mb" | "gib" | "gb" | "kib" | "kb" | "bytes" => unit_of(end),
        _ => return None,
    })
}

/// Returns what a plain name means.
fn exactly(plain: &str) -> Option<Column> {
    if let Some(known) = NAMES.iter().find(|(name, _)| *name == plain) {
        return Some(known.1);
    }
    let reason = plain
        .strip_prefix("clocks_event_reasons_")
        .or_else(|| plain.strip_prefix("clocks_throttle_reasons_"));
    if let Some(word) = reason {
        return Some(
            REASONS
                .iter()
                .find(|(name, _)| *name == word)
                .map_or(Column::Ignored, |(_, value)| Column::Card(*value)),
        );
    }
    if let Some(word) = plain.strip_prefix("clocks_event_reasons_counters_") {
        return Some(
            REASONS
                .iter()
                .find(|(name, _)| *name == word)
                .map_or(Column::Ignored, |(_, value)| Column::Card(*value)),
        );
    }
    if let Some(errors) = plain.strip_prefix("ecc_errors_") {
        return Some(ecc(errors).map_or(Column::Ignored, Column::Card));
    }
    None
}

/// Returns whether a name is one of the tool's groups of names.
fn begins_as_known(plain: &str) -> bool {
    const GROUPS: &[&str] = &[
        "vgpu_",
        "pci_",
        "pcie_",
        "accounting_",
        "driver_model_",
        "inforom_",
        "gom_",
        "gsp_",
        "c2c_",
        "protected_memory_",
        "fabric_",
        "platform_",
        "power_",
        "module_",
        "clocks_",
        "encoder_stats_",
        "utilization_",
        "remapped_rows_",
        "retired_pages_",
        "dramencryption_",
        "memory_",
        "temperature_",
        "display_",
        "gpu_operation_mode_",
    ];
    GROUPS.iter().any(|begin| plain.starts_with(begin))
}

fn ecc(errors: &str) -> Option<Value> {
    let (is_corrected, rest) = match errors.strip_prefix("corrected_") {
        Some(rest) => (true, rest),
        None => (false, errors.strip_prefix("uncorrected_")?),
    };
    let (is_volatile, part) = match rest.strip_prefix("volatile_") {
        Some(part) => (true, part),
        None => (false, rest.strip_prefix("aggregate_")?),
    };
    let part = match part {
        "total" => EccPart::All,
        "dram" | "device_memory" => EccPart::Dram,
        "sram" => EccPart::Sram,
        "sram_thresholdexceeded" => return Some(Value::SramThreshold),
        _ => EccPart::Other,
    };
    Some(Value::Ecc { is_corrected, is_volatile, part })
}

const REASONS: &[(&str, Value)] = &[
    ("active", Value::Reasons),
    ("gpu_idle", Value::Reason(ClockReasons::IDLE)),
    ("applications_clocks_setting", Value::Reason(ClockReasons::APPLICATION_CLOCKS)),
    ("sw_power_cap", Value::Reason(ClockReasons::SOFTWARE_POWER_CAP)),
    ("hw_slowdown", Value::Reason(ClockReasons::HARDWARE_SLOWDOWN)),
    ("hw_thermal_slowdown", Value::Reason(ClockReasons::HARDWARE_THERMAL)),
    ("hw_power_brake_slowdown", Value::Reason(ClockReasons::POWER_BRAKE)),
    ("sw_thermal_slowdown", Value::Reason(ClockReasons::SOFTWARE_THERMAL)),
    ("sync_boost", Value::Reason(ClockReasons::SYNC_BOOST)),
    ("counters_sw_power_cap", Value::ReasonTime(ClockReasons::SOFTWARE_POWER_CAP)),
    ("counters_sync_boost", Value::ReasonTime(ClockReasons::SYNC_BOOST)),
    ("counters_sw_thermal_slowdown", Value::ReasonTime(ClockReasons::SOFTWARE_THERMAL)),
    ("counters_hw_thermal_slowdown", Value::ReasonTime(ClockReasons::HARDWARE_THERMAL)),
    ("counters_hw_power_brake_slowdown", Value::ReasonTime(ClockReasons::POWER_BRAKE)),
];

/// Names as the tool and its users write them; a dot, a blank or a stroke is a `_` here.
const NAMES: &[(&str, Column)] = &[
    ("timestamp", Column::Time),
    ("time", Column::Time),
    ("datetime", Column::Time),
    ("date_time", Column::Time),
    ("ts", Column::Time),
    ("unix_time", Column::Time),
    ("epoch", Column::Time),
    ("wall_time", Column::Time),
    ("elapsed", Column::Elapsed),
    ("seconds", Column::Elapsed),
    ("t", Column::Elapsed),
    ("index", Column::Index),
    ("gpu", Column::Index),
    ("gpu_index", Column::Index),
    ("gpu_id", Column::Index),
    ("gpu_idx", Column::Index),
    ("gpu_num", Column::Index),
    ("idx", Column::Index),
    ("id", Column::Index),
    ("card", Column::Index),
    ("device", Column::Index),
    ("device_id", Column::Index),
    ("device_index", Column::Index),
    ("count", Column::Count),
    ("name", Column::Name),
    ("gpu_name", Column::Name),
    ("product_name", Column::Name),
    ("gpu_model", Column::Name),
    ("device_name", Column::Name),
    ("uuid", Column::Uuid),
    ("gpu_uuid", Column::Uuid),
    ("pci_bus_id", Column::Address),
    ("gpu_bus_id", Column::Address),
    ("bus_id", Column::Address),
    ("driver_version", Column::DriverVersion),
    ("cuda_version", Column::CudaVersion),
    ("hostname", Column::Hostname),
    ("host", Column::Hostname),
    ("node", Column::Hostname),
    ("serial", Column::Ignored),
    ("gpu_serial", Column::Ignored),
    ("vbios_version", Column::Ignored),
    ("addressing_mode", Column::Ignored),
    ("gpu_recovery_action", Column::Ignored),
    ("edpp_multiplier", Column::Ignored),
    ("pid", Column::Pid),
    ("process_name", Column::ProcessName),
    ("vgpu_instance", Column::Ignored),
    ("max_memory_usage", Column::Accounted),
    ("retired_pages_address", Column::RetiredPage),
    ("retired_pages_cause", Column::Ignored),
    ("retired_pages_timestamp", Column::Ignored),
    ("memory_total", Column::Card(Value::MemoryTotal)),
    ("mem_total", Column::Card(Value::MemoryTotal)),
    ("total_memory", Column::Card(Value::MemoryTotal)),
    ("gpu_memory_total", Column::Card(Value::MemoryTotal)),
    ("vram_total", Column::Card(Value::MemoryTotal)),
    ("memory_reserved", Column::Card(Value::MemoryReserved)),
    ("memory_used", Column::Card(Value::MemoryUsed)),
    ("mem_used", Column::Card(Value::MemoryUsed)),
    ("used_memory", Column::Card(Value::MemoryUsed)),
    ("used_gpu_memory", Column::Card(Value::MemoryUsed)),
    ("gpu_memory_used", Column::Card(Value::MemoryUsed)),
    ("gpu_mem_used", Column::Card(Value::MemoryUsed)),
    ("vram_used", Column::Card(Value::MemoryUsed)),
    ("vram", Column::Card(Value::MemoryUsed)),
    ("fb_used", Column::Card(Value::MemoryUsed)),
    ("mem", Column::Card(Value::MemoryUsed)),
    ("memory", Column::Card(Value::MemoryUsed)),
    ("memory_free", Column::Card(Value::MemoryFree)),
    ("mem_free", Column::Card(Value::MemoryFree)),
    ("vram_free", Column::Card(Value::MemoryFree)),
    ("utilization_gpu", Column::Card(Value::Busy)),
    ("gpu_utilization", Column::Card(Value::Busy)),
    ("gpu_util", Column::Card(Value::Busy)),
    ("util_gpu", Column::Card(Value::Busy)),
    ("util", Column::Card(Value::Busy)),
    ("utilization", Column::Card(Value::Busy)),
    ("gpu_usage", Column::Card(Value::Busy)),
    ("gpu_load", Column::Card(Value::Busy)),
    ("sm_util", Column::Card(Value::Busy)),
    ("utilization_memory", Column::Card(Value::MemoryBusy)),
    ("memory_utilization", Column::Card(Value::MemoryBusy)),
    ("mem_utilization", Column::Card(Value::MemoryBusy)),
    ("mem_util", Column::Card(Value::MemoryBusy)),
    ("memory_util", Column::Card(Value::MemoryBusy)),
    ("util_mem", Column::Card(Value::MemoryBusy)),
    ("utilization_encoder", Column::Card(Value::Encoder)),
    ("utilization_decoder", Column::Card(Value::Decoder)),
    ("temperature_gpu", Column::Card(Value::Temperature)),
    ("gpu_temperature", Column::Card(Value::Temperature)),
    ("gpu_temp", Column::Card(Value::Temperature)),
    ("temp_gpu", Column::Card(Value::Temperature)),
    ("temperature", Column::Card(Value::Temperature)),
    ("temp", Column::Card(Value::Temperature)),
    ("core_temp", Column::Card(Value::Temperature)),
    ("temperature_memory", Column::Card(Value::MemoryTemperature)),
    ("memory_temperature", Column::Card(Value::MemoryTemperature)),
    ("memory_temp", Column::Card(Value::MemoryTemperature)),
    ("mem_temp", Column::Card(Value::MemoryTemperature)),
    ("temp_mem", Column::Card(Value::MemoryTemperature)),
    ("temperature_gpu_tlimit", Column::Card(Value::Margin)),
    ("fan_speed", Column::Card(Value::Fan)),
    ("fan", Column::Card(Value::Fan)),
    ("pstate", Column::Card(Value::State)),
    ("performance_state", Column::Card(Value::State)),
    ("power_draw", Column::Card(Value::Power)),
    ("power_draw_average", Column::Card(Value::Power)),
    ("power_draw_instant", Column::Card(Value::Power)),
    ("power_usage", Column::Card(Value::Power)),
    ("gpu_power", Column::Card(Value::Power)),
    ("power", Column::Card(Value::Power)),
    ("enforced_power_limit", Column::Card(Value::PowerLimit)),
    ("power_limit", Column::Card(Value::PowerRequested)),
    ("power_cap", Column::Card(Value::PowerRequested)),
    ("power_default_limit", Column::Card(Value::PowerDefault)),
    ("power_max_limit", Column::Card(Value::PowerMaximum)),
    ("clocks_current_sm", Column::Card(Value::SmClock)),
    ("clocks_sm", Column::Card(Value::SmClock)),
    ("sm_clock", Column::Card(Value::SmClock)),
    ("clock_sm", Column::Card(Value::SmClock)),
    ("clk_sm", Column::Card(Value::SmClock)),
    ("sm_clk", Column::Card(Value::SmClock)),
    ("clocks_current_graphics", Column::Card(Value::GraphicsClock)),
    ("clocks_gr", Column::Card(Value::GraphicsClock)),
    ("graphics_clock", Column::Card(Value::GraphicsClock)),
    ("clock_graphics", Column::Card(Value::GraphicsClock)),
    ("clk_graphics", Column::Card(Value::GraphicsClock)),
    ("gpu_clock", Column::Card(Value::GraphicsClock)),
    ("core_clock", Column::Card(Value::GraphicsClock)),
    ("clock", Column::Card(Value::GraphicsClock)),
    ("clocks_current_memory", Column::Card(Value::MemoryClock)),
    ("clocks_mem", Column::Card(Value::MemoryClock)),
    ("memory_clock", Column::Card(Value::MemoryClock)),
    ("mem_clock", Column::Card(Value::MemoryClock)),
    ("clock_mem", Column::Card(Value::MemoryClock)),
    ("clk_mem", Column::Card(Value::MemoryClock)),
    ("clocks_max_sm", Column::Card(Value::SmClockMaximum)),
    ("clocks_max_memory", Column::Card(Value::MemoryClockMaximum)),
    ("clocks_max_mem", Column::Card(Value::MemoryClockMaximum)),
    ("ecc_mode_current", Column::Card(Value::EccMode)),
    ("ecc_mode_pending", Column::Ignored),
    ("retired_pages_single_bit_ecc_count", Column::Card(Value::RetiredSingle)),
    ("retired_pages_sbe", Column::Card(Value::RetiredSingle)),
    ("retired_pages_double_bit_count", Column::Card(Value::RetiredDouble)),
    ("retired_pages_dbe", Column::Card(Value::RetiredDouble)),
    ("retired_pages_pending", Column::Card(Value::RetiredPending)),
    ("remapped_rows_correctable", Column::Card(Value::RemappedCorrected)),
    ("remapped_rows_uncorrectable", Column::Card(Value::RemappedUncorrected)),
    ("remapped_rows_pending", Column::Card(Value::RemappedPending)),
    ("remapped_rows_failure", Column::Card(Value::RemappedFailure)),
    ("pcie_link_gen_current", Column::Card(Value::Generation)),
    ("pcie_link_gen_gpucurrent", Column::Card(Value::Generation)),
    ("pcie_link_gen_max", Column::Card(Value::GenerationMaximum)),
    ("pcie_link_gen_gpumax", Column::Card(Value::CardGenerationMaximum)),
    ("pcie_link_width_current", Column::Card(Value::Width)),
    ("pcie_link_width_max", Column::Card(Value::WidthMaximum)),
    ("pcie_gen", Column::Card(Value::Generation)),
    ("pcie_width", Column::Card(Value::Width)),
    ("pcie_replay_counter", Column::Card(Value::Replays)),
    ("pcie_rx", Column::Card(Value::ToCard)),
    ("pcie_tx", Column::Card(Value::ToHost)),
    ("compute_mode", Column::Card(Value::ComputeMode)),
    ("compute_cap", Column::Card(Value::Capability)),
    ("persistence_mode", Column::Card(Value::Persistence)),
    ("mig_mode_current", Column::Card(Value::MigMode)),
    ("mig_mode_pending", Column::Card(Value::MigPending)),
    ("display_active", Column::Card(Value::DisplayActive)),
    ("inforom_img", Column::Card(Value::Inforom)),
    ("inforom_image", Column::Card(Value::Inforom)),
    ("inforom_checksum_validation", Column::Card(Value::InforomValid)),
    ("fabric_state", Column::Card(Value::FabricState)),
    ("fabric_status", Column::Card(Value::FabricStatus)),
];

#[cfg(test)]
mod tests {
    use super::{Column, Columns, Unit, Value, column};

    #[test]
    fn names_of_the_tool_are_known() {
        assert_eq!(column("memory.used [MiB]"), (Column::Card(Value::MemoryUsed), Unit::Mebibytes));
        assert_eq!(column("clocks_throttle_reasons.hw_slowdown").0, Column::Card(Value::Reason(8)));
        assert_eq!(
            column("clocks_event_reasons_counters.sw_power_cap [us]").0,
            Column::Card(Value::ReasonTime(4))
        );
        assert_eq!(column("pcie.link.gen.hostmax").0, Column::Ignored);
        assert_eq!(column("resident").0, Column::Unknown);
    }

    #[test]
    fn names_of_users_are_known() {
        assert_eq!(column("power_draw_w").0, Column::Card(Value::Power));
        assert_eq!(column("GPU Util (%)"), (Column::Card(Value::Busy), Unit::Percent));
        assert_eq!(column("mem_used_gb"), (Column::Card(Value::MemoryUsed), Unit::Gibibytes));
        assert_eq!(column("temp_c").0, Column::Card(Value::Temperature));
    }

    #[test]
    fn headings_of_tables_of_cards_are_known() {
        for heading in [
            "index, name, utilization.gpu [%], memory.used [MiB]",
            "utilization.gpu [%]",
            "pid, process_name, used_gpu_memory [MiB]",
            "index,util_pct,power_w",
            "power_limit_w,timestamp,gpu_index,pstate,clk_sm_mhz,power_draw_w,temp_c",
            "time\tgpu\ttemp\tpower",
        ] {
            assert!(Columns::heading(heading).is_some(), "{heading}");
        }
        for heading in [
            "name, memory, and so on",
            "utilization",
            "job_id,state,reason",
            "pod,gpu_model,count,memory_used_mib,util_pct,gpu_processes",
            "power_limit_w,clk_sm_mhz,power_draw_w,temp_c",
            "power_limit_w,pstate,power_draw_w,temp_c",
            "0, 5 %, 7 MiB",
            "index,mem,cpu_percent,disk,net,users,load",
            "time,dev_id,power,freq,temp",
            "freq,temp,dev_id,power,time",
            "timestamp,npu_id,aicore_util,power,temp,memory_used",
            "time,temp,power,fan",
            "pid,cpu,mem,time",
        ] {
            assert!(Columns::heading(heading).is_none(), "{heading}");
        }
    }
}
