//! Labels of the text and their names in the XML of the same tool.

/// What a section is called in the tree, and what its labels (in lower case, with `_` between words) are called there.
/// A name of several parts, as `a/b`, stands for an element inside another. An empty name: it is called as its label.
struct Section {
    name: &'static str,
    /// The section that it stands in.
    within: &'static str,
    labels: &'static [(&'static str, &'static str)],
}

/// The whole output.
pub(super) const ROOT: &str = "nvidia_smi_log";
/// One card.
pub(super) const CARD: &str = "gpu";
/// One process.
pub(super) const PROCESS: &str = "process_info";
/// The processes of a card.
pub(super) const PROCESSES: &str = "processes";
/// The processes of a card, as drivers before 340 call them.
pub(super) const COMPUTE_PROCESSES: &str = "compute_processes";
/// Instances of a card.
pub(super) const INSTANCES: &str = "mig_devices";
/// One instance.
pub(super) const INSTANCE: &str = "mig_device";

const MEMORY: &[(&str, &str)] = &[("total", ""), ("reserved", ""), ("used", ""), ("free", "")];
const REASONS: &[(&str, &str)] = &[
    ("idle", "clocks_event_reason_gpu_idle"),
    ("applications_clocks_setting", "clocks_event_reason_applications_clocks_setting"),
    ("user_defined_clocks", "clocks_event_reason_applications_clocks_setting"),
    ("sw_power_cap", "clocks_event_reason_sw_power_cap"),
    ("hw_slowdown", "clocks_event_reason_hw_slowdown"),
    ("hw_thermal_slowdown", "clocks_event_reason_hw_thermal_slowdown"),
    ("hw_power_brake_slowdown", "clocks_event_reason_hw_power_brake_slowdown"),
    ("sync_boost", "clocks_event_reason_sync_boost"),
    ("sw_thermal_slowdown", "clocks_event_reason_sw_thermal_slowdown"),
    ("display_clock_setting", "clocks_event_reason_display_clocks_setting"),
    ("display_clocks_setting", "clocks_event_reason_display_clocks_setting"),
    ("unknown", ""),
];
const REASON_COUNTERS: &[(&str, &str)] = &[
    ("sw_power_capping", "clocks_event_reasons_counters_sw_power_cap"),
    ("sw_power_cap", "clocks_event_reasons_counters_sw_power_cap"),
    ("sync_boost", "clocks_event_reasons_counters_sync_boost"),
    ("sw_thermal_slowdown", "clocks_event_reasons_counters_sw_therm_slowdown"),
    ("hw_thermal_slowdown", "clocks_event_reasons_counters_hw_therm_slowdown"),
    ("hw_power_braking", "clocks_event_reasons_counters_hw_power_brake"),
    ("hw_power_brake_slowdown", "clocks_event_reasons_counters_hw_power_brake"),
];
const POWER: &[(&str, &str)] = &[
    ("power_management", ""),
    ("power_draw", ""),
    ("average_power_draw", ""),
    ("instantaneous_power_draw", "instant_power_draw"),
    ("power_limit", ""),
    ("current_power_limit", ""),
    ("requested_power_limit", ""),
    ("default_power_limit", ""),
    ("enforced_power_limit", ""),
    ("min_power_limit", ""),
    ("max_power_limit", ""),
    ("gpu_ceiling_power_limit", ""),
    ("gpu_base_power", ""),
];
const CLOCKS: &[(&str, &str)] =
    &[("graphics", "graphics_clock"), ("sm", "sm_clock"), ("memory", "mem_clock"), ("video", "video_clock")];
const ECC_COUNTS: &[(&str, &str)] = &[
    ("sram_correctable", ""),
    ("sram_uncorrectable", ""),
    ("sram_uncorrectable_parity", ""),
    ("sram_uncorrectable_sec_ded", "sram_uncorrectable_secded"),
    ("dram_correctable", ""),
    ("dram_uncorrectable", ""),
    ("sram_threshold_exceeded", ""),
    ("single_bit", ""),
    ("double_bit", ""),
    ("total", ""),
];
const ECC_PARTS: &[(&str, &str)] = &[
    ("device_memory", ""),
    ("register_file", ""),
    ("l1_cache", ""),
    ("l2_cache", ""),
    ("texture_memory", ""),
    ("texture_shared", ""),
    ("cbu", ""),
    ("total", ""),
];
const STATS: &[(&str, &str)] = &[("active_sessions", ""), ("average_fps", ""), ("average_latency", "")];
const SAMPLES: &[(&str, &str)] =
    &[("duration", ""), ("number_of_samples", ""), ("max", ""), ("min", ""), ("avg", "")];
const TWO_MODES: &[(&str, &str)] = &[("current", ""), ("pending", "")];

const fn section(
    name: &'static str,
    within: &'static str,
    labels: &'static [(&'static str, &'static str)],
) -> Section {
    Section { name, within, labels }
}

/// All sections that are known; drivers had different ones at different times.
static SECTIONS: &[Section] = &[
    section(
        ROOT,
        "",
        &[
            ("timestamp", ""),
            ("driver_version", ""),
            ("kmd_version", "driver_version"),
            ("cuda_version", ""),
            ("cuda_umd_version", "cuda_version"),
            ("attached_gpus", ""),
            ("attached_units", ""),
        ],
    ),
    section(
        CARD,
        ROOT,
        &[
            ("product_name", ""),
            ("product_brand", ""),
            ("product_architecture", ""),
            ("display_mode", ""),
            ("display_attached", ""),
            ("display_active", ""),
            ("persistence_mode", ""),
            ("addressing_mode", ""),
            ("mig_mode", ""),
            ("mig_device", INSTANCE),
            ("mig_devices", ""),
            ("accounting_mode", ""),
            ("accounting_mode_buffer_size", ""),
            ("driver_model", ""),
            ("serial_number", "serial"),
            ("gpu_uuid", "uuid"),
            ("gpu_pdi", ""),
            ("minor_number", ""),
            ("vbios_version", ""),
            ("multigpu_board", ""),
            ("board_id", ""),
            ("board_part_number", ""),
            ("gpu_part_number", ""),
            ("fru_part_number", ""),
            ("module_id", ""),
            ("platform_info", ""),
            ("inforom_version", ""),
            ("inforom_bbx_object_flush", ""),
            ("inforom_time_data", ""),
            ("gpu_operation_mode", ""),
            ("gpu_c2c_mode", ""),
            ("gpu_virtualization_mode", ""),
            ("gpu_reset_status", ""),
            ("gpu_recovery_action", ""),
            ("gsp_firmware_version", ""),
            ("ibmnpu", ""),
            ("pci", ""),
            ("fan_speed", ""),
            ("performance_state", ""),
            ("clocks_event_reasons", ""),
            ("clocks_throttle_reasons", "clocks_event_reasons"),
            ("clocks_event_reasons_counters", ""),
            ("clocks_throttle_reasons_counters", "clocks_event_reasons_counters"),
            ("sparse_operation_mode", ""),
            ("fb_memory_usage", ""),
            ("memory_usage", "fb_memory_usage"),
            ("bar1_memory_usage", ""),
            ("conf_compute_protected_memory_usage", ""),
            ("compute_mode", ""),
            ("utilization", ""),
            ("gpu_utilization_samples", ""),
            ("memory_utilization_samples", ""),
            ("enc_utilization_samples", ""),
            ("dec_utilization_samples", ""),
            ("encoder_stats", ""),
            ("fbc_stats", ""),
            ("dram_encryption_mode", ""),
            ("ecc_mode", ""),
            ("ecc_errors", ""),
            ("retired_pages", ""),
            ("remapped_rows", ""),
            ("temperature", ""),
            ("power_readings", ""),
            ("gpu_power_readings", ""),
            ("gpu_memory_power_readings", ""),
            ("module_power_readings", ""),
            ("power_samples", ""),
            ("power_smoothing", ""),
            ("workload_power_profiles", ""),
            ("edpp_multiplier", ""),
            ("clocks", ""),
            ("applications_clocks", ""),
            ("default_applications_clocks", ""),
            ("deferred_clocks", ""),
            ("max_clocks", ""),
            ("max_customer_boost_clocks", ""),
            ("sm_clock_samples", ""),
            ("memory_clock_samples", ""),
            ("clock_policy", ""),
            ("voltage", ""),
            ("fabric", ""),
            ("supported_clocks", ""),
            ("processes", ""),
            ("compute_processes", ""),
            ("accounted_processes", ""),
            ("capabilities", ""),
        ],
    ),
    section("mig_mode", CARD, &[("current", "current_mig"), ("pending", "pending_mig")]),
    section(
        INSTANCE,
        CARD,
        &[
            ("index", ""),
            ("gpu_instance_id", ""),
            ("compute_instance_id", ""),
            ("device_attributes", ""),
            ("ecc_errors", "ecc_error_count"),
            ("fb_memory_usage", ""),
            ("shared_fb_memory_usage", "fb_memory_usage"),
            ("bar1_memory_usage", ""),
            ("shared_bar1_memory", "bar1_memory_usage"),
            ("shared_bar1_memory_usage", "bar1_memory_usage"),
        ],
    ),
    section("driver_model", CARD, TWO_MODES),
    section("gpu_operation_mode", CARD, TWO_MODES),
    section("dram_encryption_mode", CARD, TWO_MODES),
    section("ecc_mode", CARD, &[("current", "current_ecc"), ("pending", "pending_ecc")]),
    section(
        "platform_info",
        CARD,
        &[
            ("chassis_serial_number", ""),
            ("slot_number", ""),
            ("tray_index", ""),
            ("host_id", ""),
            ("peer_type", ""),
            ("module_id", ""),
            ("gpu_fabric_guid", ""),
        ],
    ),
    section(
        "inforom_version",
        CARD,
        &[
            ("image_version", "img_version"),
            ("oem_object", ""),
            ("ecc_object", ""),
            ("power_management_object", "pwr_object"),
        ],
    ),
    section("inforom_bbx_object_flush", CARD, &[("latest_timestamp", ""), ("latest_duration", "")]),
    section(
        "gpu_virtualization_mode",
        CARD,
        &[("virtualization_mode", ""), ("host_vgpu_mode", ""), ("vgpu_heterogeneous_mode", "")],
    ),
    section("gpu_reset_status", CARD, &[("reset_required", ""), ("drain_and_reset_recommended", "")]),
    section("ibmnpu", CARD, &[("relaxed_ordering_mode", "")]),
    section(
        "pci",
        CARD,
        &[
            ("bus", ""),
            ("device", ""),
            ("domain", ""),
            ("base_classcode", ""),
            ("sub_classcode", ""),
            ("device_id", ""),
            ("bus_id", "pci_bus_id"),
            ("sub_system_id", ""),
            ("gpu_link_info", "pci_gpu_link_info"),
            ("bridge_chip", ""),
            ("replays_since_reset", "replay_counter"),
            ("replay_counter", ""),
            ("replay_number_rollovers", ""),
            ("tx_throughput", "tx_util"),
            ("rx_throughput", "rx_util"),
            ("atomic_caps_inbound", ""),
            ("atomic_caps_outbound", ""),
        ],
    ),
    section("pci_gpu_link_info", "pci", &[("pcie_generation", "pcie_gen"), ("link_width", "link_widths")]),
    section(
        "pcie_gen",
        "pci_gpu_link_info",
        &[
            ("max", "max_link_gen"),
            ("current", "current_link_gen"),
            ("device_current", ""),
            ("device_max", "max_device_link_gen"),
            ("host_max", ""),
        ],
    ),
    section(
        "link_widths",
        "pci_gpu_link_info",
        &[("max", "max_link_width"), ("current", "current_link_width")],
    ),
    section("bridge_chip", "pci", &[("type", ""), ("firmware", "")]),
    section("clocks_event_reasons", CARD, REASONS),
    section("clocks_event_reasons_counters", CARD, REASON_COUNTERS),
    section("fb_memory_usage", CARD, MEMORY),
    section("bar1_memory_usage", CARD, MEMORY),
    section("conf_compute_protected_memory_usage", CARD, MEMORY),
    section(
        "utilization",
        CARD,
        &[
            ("gpu", "gpu_util"),
            ("memory", "memory_util"),
            ("encoder", "encoder_util"),
            ("decoder", "decoder_util"),
            ("jpeg", ""),
            ("ofa", ""),
        ],
    ),
    section("gpu_utilization_samples", CARD, SAMPLES),
    section("memory_utilization_samples", CARD, SAMPLES),
    section("enc_utilization_samples", CARD, SAMPLES),
    section("dec_utilization_samples", CARD, SAMPLES),
    section("power_samples", CARD, SAMPLES),
    section("sm_clock_samples", CARD, SAMPLES),
    section("memory_clock_samples", CARD, SAMPLES),
    section("encoder_stats", CARD, STATS),
    section("fbc_stats", CARD, STATS),
    section(
        "ecc_errors",
        CARD,
        &[
            ("volatile", ""),
            ("aggregate", ""),
            ("aggregate_uncorrectable_sram_sources", ""),
            ("channel_repair_pending", ""),
            ("tpc_repair_pending", ""),
            ("unrepairable_memory", ""),
        ],
    ),
    section("ecc_error_count", INSTANCE, &[("volatile", "volatile_count")]),
    section("volatile", "ecc_errors", ECC_COUNTS),
    section("aggregate", "ecc_errors", ECC_COUNTS),
    section("volatile_count", "ecc_error_count", ECC_COUNTS),
    section(
        "aggregate_uncorrectable_sram_sources",
        "ecc_errors",
        &[
            ("sram_l2", ""),
            ("sram_sm", ""),
            ("sram_microcontroller", ""),
            ("sram_pcie", ""),
            ("sram_other", ""),
        ],
    ),
    section("single_bit", "volatile", ECC_PARTS),
    section("double_bit", "volatile", ECC_PARTS),
    section(
        "retired_pages",
        CARD,
        &[
            ("single_bit_ecc", "multiple_single_bit_retirement/retired_count"),
            ("double_bit_ecc", "double_bit_retirement/retired_count"),
            ("pending_page_blacklist", "pending_blacklist"),
            ("pending", "pending_retirement"),
        ],
    ),
    section(
        "remapped_rows",
        CARD,
        &[
            ("correctable_error", "remapped_row_corr"),
            ("uncorrectable_error", "remapped_row_unc"),
            ("pending", "remapped_row_pending"),
            ("remapping_failure_occurred", "remapped_row_failure"),
            ("bank_remap_availability_histogram", "row_remapper_histogram"),
        ],
    ),
    section(
        "row_remapper_histogram",
        "remapped_rows",
        &[
            ("max", "row_remapper_histogram_max"),
            ("high", "row_remapper_histogram_high"),
            ("partial", "row_remapper_histogram_partial"),
            ("low", "row_remapper_histogram_low"),
            ("none", "row_remapper_histogram_none"),
        ],
    ),
    section(
        "temperature",
        CARD,
        &[
            ("gpu", "gpu_temp"),
            ("gpu_current_temp", "gpu_temp"),
            ("gpu_t_limit_temp", "gpu_temp_tlimit"),
            ("gpu_current_t_limit_temp", "gpu_temp_tlimit"),
            ("gpu_shutdown_temp", "gpu_temp_max_threshold"),
            ("gpu_shutdown_t_limit_temp", ""),
            ("gpu_slowdown_temp", "gpu_temp_slow_threshold"),
            ("gpu_slowdown_t_limit_temp", ""),
            ("gpu_max_operating_temp", "gpu_temp_max_gpu_threshold"),
            ("gpu_max_operating_t_limit_temp", ""),
            ("gpu_target_temperature", ""),
            ("gpu_target_temperature_specification", ""),
            ("memory_current_temp", "memory_temp"),
            ("memory_max_operating_temp", "gpu_temp_max_mem_threshold"),
            ("memory_max_operating_t_limit_temp", ""),
        ],
    ),
    section("power_readings", CARD, POWER),
    section("gpu_power_readings", CARD, POWER),
    section("gpu_ceiling_power_limit", "gpu_power_readings", POWER),
    section(
        "gpu_base_power",
        "gpu_power_readings",
        &[("current_base_power", ""), ("requested_base_power", ""), ("default_base_power", "")],
    ),
    section("gpu_memory_power_readings", CARD, POWER),
    section("module_power_readings", CARD, POWER),
    section("workload_power_profiles", CARD, &[("requested_profiles", ""), ("enforced_profiles", "")]),
    section("clocks", CARD, CLOCKS),
    section("applications_clocks", CARD, CLOCKS),
    section("default_applications_clocks", CARD, CLOCKS),
    section("deferred_clocks", CARD, CLOCKS),
    section("max_clocks", CARD, CLOCKS),
    section("max_customer_boost_clocks", CARD, CLOCKS),
    section("supported_clocks", CARD, CLOCKS),
    section("clock_policy", CARD, &[("auto_boost", ""), ("auto_boost_default", "")]),
    section("voltage", CARD, CLOCKS),
    section(
        "fabric",
        CARD,
        &[("state", ""), ("status", ""), ("cliqueid", ""), ("clusteruuid", ""), ("health", "")],
    ),
    section(
        "health",
        "fabric",
        &[
            ("summary", ""),
            ("bandwidth", ""),
            ("route_recovery_in_progress", ""),
            ("route_unhealthy", ""),
            ("access_timeout_recovery", ""),
            ("incorrect_configuration", ""),
            ("partition_assigned", ""),
        ],
    ),
    section(
        PROCESSES,
        CARD,
        &[("process_id", PROCESS), ("gpu_instance_id", ""), ("compute_instance_id", "")],
    ),
    section(COMPUTE_PROCESSES, CARD, &[("process_id", PROCESS)]),
    section(
        PROCESS,
        PROCESSES,
        &[("type", ""), ("name", "process_name"), ("used_gpu_memory", "used_memory"), ("client_name", "")],
    ),
    section(
        "accounted_processes",
        CARD,
        &[
            ("process_id", ""),
            ("gpu_utilization", ""),
            ("memory_utilization", ""),
            ("max_memory_usage", ""),
            ("time", ""),
            ("is_running", ""),
        ],
    ),
    section("capabilities", CARD, &[("egm", "")]),
];

/// Labels that other tools have too: alone they do not show that an output of this tool begins.
const COMMON: &[&str] = &[
    "product_name",
    "product_brand",
    "product_architecture",
    "serial_number",
    "board_id",
    "board_part_number",
    "module_id",
    "host_id",
    "slot_number",
    "fan_speed",
    "bus_id",
    "device_id",
    "domain",
    "bus",
    "device",
    "firmware",
    "type",
    "name",
    "state",
    "status",
    "summary",
    "bandwidth",
    "time",
    "index",
    "temperature",
    "processes",
    "utilization",
    "clocks",
    "capabilities",
    "voltage",
    "health",
    "fabric",
    "process_id",
    "cliqueid",
    "unknown",
    "idle",
    "memory_usage",
    "duration",
    "number_of_samples",
    "volatile",
    "is_running",
    "driver_model",
    "peer_type",
    "addressing_mode",
    "pci",
    "client_name",
    "link_width",
    "high",
    "low",
    "partial",
    "none",
    "encoder",
    "decoder",
    "image_version",
    "virtualization_mode",
];

/// Returns a label in lower case, with `_` between its words.
pub(super) fn plain(label: &str) -> String {
    let mut plain = String::with_capacity(label.len());
    for character in label.trim().chars() {
        if character.is_ascii_alphanumeric() {
            plain.push(character.to_ascii_lowercase());
        } else if !plain.ends_with('_') && !plain.is_empty() {
            plain.push('_');
        }
    }
    plain.truncate(plain.trim_end_matches('_').len());
    plain
}

/// Returns whether a section is known.
pub(super) fn is_section(name: &str) -> bool {
    SECTIONS.iter().any(|section| section.name == name)
}

/// Returns the name that a label has inside a section, if it belongs there.
pub(super) fn name_within(section: &str, plain_label: &str) -> Option<&'static str> {
    let section = SECTIONS.iter().find(|known| known.name == section)?;
    let (label, name) = section.labels.iter().find(|(label, _)| *label == plain_label)?;
    Some(if name.is_empty() { label } else { name })
}

/// Returns whether a label belongs to some section of the output.
pub(super) fn is_known(plain_label: &str) -> bool {
    SECTIONS.iter().any(|section| section.labels.iter().any(|(label, _)| *label == plain_label))
}

/// Returns the only section of a card that a value with such a label can stand in.
pub(super) fn only_section(plain_label: &str, value: &str) -> Option<&'static str> {
    // Reasons and their counters have the same labels; only the counters are times.
    let other = if value.ends_with("us") { "clocks_event_reasons" } else { "clocks_event_reasons_counters" };
    let mut homes = SECTIONS
        .iter()
        .filter(|section| section.labels.iter().any(|(label, _)| *label == plain_label))
        // An instance stands in its own list, and is nobody's home by itself.
        .filter(|section| {
            ![ROOT, INSTANCE, "ecc_error_count", "volatile_count", other].contains(&section.name)
        });
    let home = homes.next()?;
    homes.next().is_none().then_some(home.name)
}

/// Returns whether a label shows by itself that it is one of this tool.
pub(super) fn is_telling(plain_label: &str) -> bool {
    is_known(plain_label) && !COMMON.contains(&plain_label)
}

/// Returns the sections from a card down to this one, the card not among them.
pub(super) fn path_to(section: &'static str) -> Vec<&'static str> {
    let mut path = Vec::new();
    let mut next = section;
    while next != CARD && next != ROOT && path.len() < 8 {
        path.push(next);
        let Some(known) = SECTIONS.iter().find(|known| known.name == next) else {
            break;
        };
        next = known.within;
    }
    path.reverse();
    path
}

/// Returns a name for a label that no section knows: it must not be taken for something that is read.
pub(super) fn name_elsewhere(plain_label: &str) -> String {
    format!("?{plain_label}")
}

#[cfg(test)]
mod tests {
    use super::{CARD, SECTIONS, is_known, is_telling, name_within, only_section, path_to, plain};

    #[test]
    fn labels_have_one_form() {
        assert_eq!(plain("  GPU T.Limit Temp "), "gpu_t_limit_temp");
        assert_eq!(plain("SRAM Uncorrectable SEC-DED"), "sram_uncorrectable_sec_ded");
        assert_eq!(plain("Ecc Mode"), plain("ECC Mode"));
        assert_eq!(plain(" :: "), "");
    }

    #[test]
    fn every_section_stands_in_one_that_is_known() {
        for section in SECTIONS {
            assert!(section.within.is_empty() || SECTIONS.iter().any(|known| known.name == section.within));
            assert!(section.labels.iter().all(|(label, _)| plain(label) == *label), "{}", section.name);
        }
    }

    #[test]
    fn names_depend_on_the_section() {
        assert_eq!(name_within("mig_mode", "current"), Some("current_mig"));
        assert_eq!(name_within("pcie_gen", "current"), Some("current_link_gen"));
        assert_eq!(name_within(CARD, "product_name"), Some("product_name"));
        assert_eq!(name_within("temperature", "used"), None);
        assert!(is_known("used") && !is_known("resident"));
    }

    #[test]
    fn some_labels_have_one_home() {
        assert_eq!(only_section("gpu_current_temp", "35 C"), Some("temperature"));
        assert_eq!(only_section("product_name", "x"), Some(CARD));
        assert_eq!(only_section("used", "1 MiB"), None);
        assert_eq!(only_section("sw_power_cap", "Not Active"), Some("clocks_event_reasons"));
        assert_eq!(only_section("sw_power_cap", "5 us"), Some("clocks_event_reasons_counters"));
        assert!(is_telling("gpu_current_temp") && !is_telling("product_name") && !is_telling("resident"));
        assert_eq!(path_to("pcie_gen"), ["pci", "pci_gpu_link_info", "pcie_gen"]);
        assert_eq!(path_to("temperature"), ["temperature"]);
    }
}
