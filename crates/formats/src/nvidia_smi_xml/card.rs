//! One card of the output, with its instances.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{
    CardKind, CardMemory, CardSample, ClockReasons, Clocks, PcieLink, PowerLimits, ReasonCounters,
    TemperatureLimits,
};
use gpuwhy_model::units::{BytesPerSecond, Celsius, Megahertz, Percent, Watts};

use super::clients::{clients, clients_of_instance};
use super::element::Element;
use super::fabric::fabric;
use super::health::{ecc, remapped_rows, retired_pages};
use super::value::{self, first_known, is_lost, number, small, switch, text, whole};
use crate::kernel_log::pci_address;

/// `nvidia-smi` writes KB/s and means thousands.
const BYTES_OF_A_KB: f64 = 1000.0;

/// Words of the clock reasons behind `clocks_event_reason_` or `clocks_throttle_reason_`, with their bits.
const REASONS: &[(&str, u64)] = &[
    ("gpu_idle", ClockReasons::IDLE),
    ("applications_clocks_setting", ClockReasons::APPLICATION_CLOCKS),
    ("sw_power_cap", ClockReasons::SOFTWARE_POWER_CAP),
    ("hw_slowdown", ClockReasons::HARDWARE_SLOWDOWN),
    ("sync_boost", ClockReasons::SYNC_BOOST),
    ("sw_thermal_slowdown", ClockReasons::SOFTWARE_THERMAL),
    ("hw_thermal_slowdown", ClockReasons::HARDWARE_THERMAL),
    ("hw_power_brake_slowdown", ClockReasons::POWER_BRAKE),
    ("display_clocks_setting", DISPLAY_CLOCKS),
];

/// The display limits the clocks; the model keeps the bit without a name.
const DISPLAY_CLOCKS: u64 = 0x100;

/// Returns the elements of a card's instances.
pub(super) fn instances(gpu: &Element) -> impl Iterator<Item = &Element> {
    gpu.child(&["mig_devices"]).into_iter().flat_map(|devices| devices.children("mig_device"))
}

/// Reads a card and its instances.
pub(crate) fn card_with_instances(gpu: &Element, index: u32) -> Vec<CardSample> {
    let card = card(gpu, index);
    let handle = card.handle.clone();
    let mut cards = vec![card];
    for (device, place) in instances(gpu).zip(0..) {
        cards.push(CardSample {
            index: whole(device.child(&["index"]), "")
                .known()
                .and_then(|index| u32::try_from(*index).ok())
                .unwrap_or(place),
            kind: CardKind::MigInstance,
            parent: Some(index),
            handle: handle.clone(),
            uuid: text(device.child(&["uuid"])).map(str::to_owned),
            memory: memory(device.child(&["fb_memory_usage"])),
            bar1: memory(device.child(&["bar1_memory_usage"])),
            clients: clients_of_instance(gpu, device),
            ..CardSample::default()
        });
    }
    cards
}

fn card(gpu: &Element, index: u32) -> CardSample {
    let utilization = gpu.child(&["utilization"]);
    let power = gpu.child(&["gpu_power_readings", "power_readings"]);
    // Since driver 610 the limits stand in a part of their own.
    let ceiling = power.and_then(|power| power.child(&["gpu_ceiling_power_limit"]));
    let watts = |name| {
        let elements = [in_section(power, &[name]), ceiling.and_then(|ceiling| ceiling.child(&[name]))];
        first_known(elements.map(|element| number(element, "W").map(Watts)))
    };
    let memory = memory(gpu.child(&["fb_memory_usage", "memory_usage"]));
    let busy = number(in_section(utilization, &["gpu_util"]), "%").map(Percent);
    let temperature = celsius(gpu, &["gpu_temp"]);
    CardSample {
        index,
        handle: handle(
            gpu,
            [memory.as_ref().map(|_| ()), busy.as_ref().map(|_| ()), temperature.as_ref().map(|_| ())],
        ),
        uuid: text(gpu.child(&["uuid"])).map(str::to_owned),
        name: text(gpu.child(&["product_name"])).map(str::to_owned),
        pci_address: address(gpu),
        minor: small(gpu.child(&["minor_number"]), "", ""),
        memory,
        bar1: self::memory(gpu.child(&["bar1_memory_usage"])),
        busy,
        memory_busy: number(in_section(utilization, &["memory_util"]), "%").map(Percent),
        power: first_known(["power_draw", "average_power_draw", "instant_power_draw"].map(watts)),
        power_limits: PowerLimits {
            enforced: first_known(["enforced_power_limit", "current_power_limit", "power_limit"].map(watts)),
            default: watts("default_power_limit"),
            maximum: watts("max_power_limit"),
            requested: watts("requested_power_limit"),
        },
        temperature,
        temperature_limits: TemperatureLimits {
            slowdown: celsius(gpu, &["gpu_temp_slow_threshold"]),
            shutdown: celsius(gpu, &["gpu_temp_max_threshold"]),
            margin: celsius(gpu, &["gpu_temp_tlimit"]),
            operating_maximum: celsius(gpu, &["gpu_temp_max_gpu_threshold"]),
            memory_maximum: celsius(gpu, &["gpu_temp_max_mem_threshold"]),
        },
        // A card without a sensor there shows 0 on some drivers.
        memory_temperature: celsius(gpu, &["memory_temp"])
            .and_then(|heat| if heat.0 > 0.0 { Reading::Known(heat) } else { Reading::Unsupported }),
        fan: number(gpu.child(&["fan_speed"]), "%").map(Percent),
        clocks: clocks(gpu),
        performance_state: small(gpu.child(&["performance_state"]), "P", ""),
        clock_reasons: clock_reasons(gpu),
        reason_counters: reason_counters(gpu),
        pcie: pcie(gpu),
        ecc: ecc(gpu),
        remapped_rows: remapped_rows(gpu),
        retired_pages: retired_pages(gpu),
        compute_mode: text(gpu.child(&["compute_mode"])).map(str::to_ascii_lowercase),
        persistence: switch(gpu.child(&["persistence_mode"]), "Enabled", "Disabled"),
        mig_enabled: switch(in_section(gpu.child(&["mig_mode"]), &["current_mig"]), "Enabled", "Disabled"),
        mig_pending: switch(in_section(gpu.child(&["mig_mode"]), &["pending_mig"]), "Enabled", "Disabled"),
        display_active: switch(gpu.child(&["display_active"]), "Enabled", "Disabled"),
        encoder: number(in_section(utilization, &["encoder_util"]), "%").map(Percent),
        decoder: number(in_section(utilization, &["decoder_util"]), "%").map(Percent),
        inforom: text(in_section(gpu.child(&["inforom_version"]), &["img_version"])).map(str::to_owned),
        fabric: fabric(gpu),
        clients: clients(gpu),
        ..CardSample::default()
    }
}

/// Returns a value inside a section. Where the section itself holds words instead (`N/A`, `GPU is lost`), they stand
/// for all its values.
pub(super) fn in_section<'section>(
    section: Option<&'section Element>,
    names: &[&str],
) -> Option<&'section Element> {
    let section = section?;
    if section.children.is_empty() { Some(section) } else { section.child(names) }
}

/// Returns whether the card answers: lost as soon as one value says so, silent when nothing vital could be read.
fn handle(gpu: &Element, vital: [Reading<()>; 3]) -> Reading<()> {
    // Anyone can name a process as he likes.
    let mut own = gpu.children.iter().filter(|section| !section.name.ends_with("processes"));
    if let Some(lost) = own.find_map(|section| section.find(is_lost)) {
        return text(Some(lost)).map(|_| ());
    }
    let is_silent = vital.iter().all(|reading| matches!(reading, Reading::Failed(Failure::Nvml { .. })));
    let [first, ..] = vital;
    if is_silent { first } else { Reading::Known(()) }
}

fn address(gpu: &Element) -> Reading<String> {
    let element = in_section(gpu.child(&["pci"]), &["pci_bus_id"]);
    let of_attribute = || gpu.id.as_deref().and_then(pci_address);
    match text(element) {
        Reading::Known(text) => pci_address(text).or_else(of_attribute).into(),
        absent => of_attribute().map_or_else(|| absent.map(str::to_owned), Reading::Known),
    }
}

/// Reads an amount of memory and its parts; old drivers count the reserved part as used and do not name it.
fn memory(section: Option<&Element>) -> Reading<CardMemory> {
    let amount = |name| value::memory(in_section(section, &[name]));
    amount("total").and_then(|total| {
        amount("used").and_then(|used| {
            amount("free").map(|free| CardMemory { total, reserved: amount("reserved"), used, free })
        })
    })
}

fn celsius(gpu: &Element, names: &[&str]) -> Reading<Celsius> {
    number(in_section(gpu.child(&["temperature"]), names), "C").map(Celsius)
}

fn clocks(gpu: &Element) -> Clocks {
    let megahertz =
        |section: &str, name| number(in_section(gpu.child(&[section]), &[name]), "MHz").map(Megahertz);
    Clocks {
        sm: megahertz("clocks", "sm_clock"),
        sm_max: megahertz("max_clocks", "sm_clock"),
        memory: megahertz("clocks", "mem_clock"),
        memory_max: megahertz("max_clocks", "mem_clock"),
    }
}

/// Reads the bits that are written as words; known when at least one is.
fn clock_reasons(gpu: &Element) -> Reading<ClockReasons> {
    let Some(section) = gpu.child(&["clocks_event_reasons", "clocks_throttle_reasons"]) else {
        return Reading::default();
    };
    let mut bits = None;
    let mut reason = text(Some(section)).map(|_| ClockReasons(0));
    for (word, bit) in REASONS {
        let names = [format!("clocks_event_reason_{word}"), format!("clocks_throttle_reason_{word}")];
        let is_active = switch(section.child(&[&names[0], &names[1]]), "Active", "Not Active");
        match is_active {
            Reading::Known(is_active) => *bits.get_or_insert(0) |= if is_active { *bit } else { 0 },
            absent if reason.is_not_in_source() => reason = absent.map(|_| ClockReasons(0)),
            _ => {}
        }
    }
    bits.map_or(reason, |bits| Reading::Known(ClockReasons(bits)))
}

fn reason_counters(gpu: &Element) -> ReasonCounters {
    let section = gpu.child(&["clocks_event_reasons_counters", "clocks_throttle_reasons_counters"]);
    let nanoseconds = |word: &str| {
        let names = [
            format!("clocks_event_reasons_counters_{word}"),
            format!("clocks_throttle_reasons_counters_{word}"),
        ];
        whole(in_section(section, &[&names[0], &names[1]]), "us").map(|time| time.saturating_mul(1000))
    };
    ReasonCounters {
        software_power_cap_ns: nanoseconds("sw_power_cap"),
        sync_boost_ns: nanoseconds("sync_boost"),
        software_thermal_ns: nanoseconds("sw_therm_slowdown"),
        hardware_thermal_ns: nanoseconds("hw_therm_slowdown"),
        power_brake_ns: nanoseconds("hw_power_brake"),
    }
}

fn pcie(gpu: &Element) -> PcieLink {
    let pci = gpu.child(&["pci"]);
    let link = in_section(pci, &["pci_gpu_link_info"]);
    let generations = in_section(link, &["pcie_gen"]);
    let widths = in_section(link, &["link_widths"]);
    let rate =
        |name| number(in_section(pci, &[name]), "KB/s").map(|rate| BytesPerSecond(rate * BYTES_OF_A_KB));
    PcieLink {
        generation: small(in_section(generations, &["current_link_gen"]), "", ""),
        generation_max: small(in_section(generations, &["max_link_gen"]), "", ""),
        card_generation_max: small(in_section(generations, &["max_device_link_gen"]), "", ""),
        width: small(in_section(widths, &["current_link_width"]), "", "x"),
        width_max: small(in_section(widths, &["max_link_width"]), "", "x"),
        replays: whole(in_section(pci, &["replay_counter"]), ""),
        // It counts from the card: what it receives comes from the host.
        to_card: rate("rx_util"),
        to_host: rate("tx_util"),
        ..PcieLink::default()
    }
}
