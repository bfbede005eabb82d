//! What `nvidia-smi` tells of cards.

use super::Listed;
use crate::stand_in::Said;
use crate::stand_in::library::{Code, Device, Library};

/// Bus id of a card; a card that is lost still has its own.
pub(super) fn bus_id(library: &Library, device: Device) -> Result<String, Code> {
    library.pci_bus_id(device)
}

/// The cards, one a line, each with its MIG devices.
pub(super) fn list(library: &Library, cards: &[Listed]) -> Said {
    let mut lines = Vec::new();
    for card in cards {
        let identity = card.handle.and_then(|device| {
            let name = library.text("nvmlDeviceGetName", device)?;
            Ok((device, name, library.text("nvmlDeviceGetUUID", device)?))
        });
        match identity {
            Ok((device, name, uuid)) => {
                lines.push(format!("GPU {}: {name} (UUID: {uuid})", card.index));
                lines.extend(instances(library, device));
            }
            Err(code) => lines.push(format!(
                "Unable to determine the device handle for gpu {}: {}. Reboot the system to recover this GPU",
                card.index,
                library.words(code)
            )),
        }
    }
    said(&lines)
}

/// One line each.
fn said(lines: &[String]) -> Said {
    Said::output(lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect())
}

fn instances(library: &Library, card: Device) -> Vec<String> {
    let mut lines = Vec::new();
    let most = library.number("nvmlDeviceGetMaxMigDeviceCount", card).unwrap_or(0);
    for index in 0..most {
        let Ok(device) = library.instance(card, index) else { continue };
        let name = library.text("nvmlDeviceGetName", device).unwrap_or_default();
        let uuid = library.text("nvmlDeviceGetUUID", device).unwrap_or_default();
        let profile = name.rsplit(' ').next().unwrap_or_default();
        lines.push(format!("  MIG {profile:<12} Device {index:>2}: (UUID: {uuid})"));
    }
    lines
}

/// Versions of driver and library.
pub(super) fn version(library: &Library) -> Said {
    let driver = library.system_text("nvmlSystemGetDriverVersion").unwrap_or_default();
    let own = library.system_text("nvmlSystemGetNVMLVersion").unwrap_or_default();
    let own: Vec<&str> = own.splitn(3, '.').collect();
    let own = own.get(1..).map(|parts| parts.join(".")).unwrap_or_default();
    Said::output(format!(
        "NVIDIA-SMI version  : {driver}\nNVML version        : {own}\nDRIVER version      : {driver}\n"
    ))
}

/// The fields that were asked for, one card a line.
pub(super) fn table(
    library: &Library,
    cards: &[Listed],
    fields: &[String],
    has_header: bool,
    has_units: bool,
) -> Said {
    let mut lines = Vec::new();
    let mut header = Vec::new();
    for field in fields {
        let Some(unit) = unit(field) else {
            return Said::failure(2, format!("Field \"{field}\" is not a valid field to query.\n\n"));
        };
        header.push(if unit.is_empty() || !has_units { field.clone() } else { format!("{field} [{unit}]") });
    }
    if has_header {
        lines.push(header.join(", "));
    }
    for card in cards {
        let row: Vec<String> = fields
            .iter()
            .map(|field| {
                let unit = unit(field).filter(|unit| has_units && !unit.is_empty());
                match value(library, card, field) {
                    Ok(value) => unit.map_or(value.clone(), |unit| format!("{value} {unit}")),
                    Err(code) => refused(library, code),
                }
            })
            .collect();
        lines.push(row.join(", "));
    }
    said(&lines)
}

/// The compute processes of the cards, one a line.
pub(super) fn processes(
    library: &Library,
    cards: &[Listed],
    fields: &[String],
    has_header: bool,
    has_units: bool,
) -> Said {
    let is_memory = |field: &str| matches!(field, "used_memory" | "used_gpu_memory");
    let mut lines = Vec::new();
    let mut header = Vec::new();
    for field in fields {
        if !is_memory(field) && !matches!(field.as_str(), "pid" | "gpu_uuid" | "gpu_bus_id") {
            return Said::failure(2, format!("Field \"{field}\" is not a valid field to query.\n\n"));
        }
        header.push(if is_memory(field) && has_units { format!("{field} [MiB]") } else { field.clone() });
    }
    if has_header {
        lines.push(header.join(", "));
    }
    for card in cards {
        let Ok(device) = card.handle else { continue };
        let uuid = library.text("nvmlDeviceGetUUID", device).unwrap_or_default();
        for (pid, bytes) in library.processes(device).unwrap_or_default() {
            let unit = if has_units { " MiB" } else { "" };
            let row: Vec<String> = fields
                .iter()
                .map(|field| match field.as_str() {
                    "pid" => pid.to_string(),
                    "gpu_uuid" => uuid.clone(),
                    "gpu_bus_id" => card.bus_id.clone(),
                    _ if bytes == u64::MAX => "[N/A]".to_owned(),
                    _ => format!("{}{unit}", bytes >> 20),
                })
                .collect();
            lines.push(row.join(", "));
        }
    }
    said(&lines)
}

fn refused(library: &Library, code: Code) -> String {
    const NOT_SUPPORTED: Code = 3;
    const FUNCTION_NOT_FOUND: Code = 13;
    match code {
        NOT_SUPPORTED | FUNCTION_NOT_FOUND => "[N/A]".to_owned(),
        _ => format!("[{}]", library.words(code)),
    }
}

/// Unit of a field, empty for none; nothing for a field that this stand-in does not know.
fn unit(field: &str) -> Option<&'static str> {
    Some(match field {
        "memory.total" | "memory.used" | "memory.free" | "memory.reserved" => "MiB",
        "utilization.gpu" | "utilization.memory" | "fan.speed" => "%",
        "power.draw" | "power.limit" | "enforced.power.limit" | "power.default_limit" => "W",
        "clocks.sm"
        | "clocks.current.sm"
        | "clocks.mem"
        | "clocks.current.memory"
        | "clocks.max.sm"
        | "clocks.max.memory" => "MHz",
        "index"
        | "name"
        | "gpu_name"
        | "uuid"
        | "gpu_uuid"
        | "pci.bus_id"
        | "gpu_bus_id"
        | "serial"
        | "driver_version"
        | "count"
        | "temperature.gpu"
        | "pstate"
        | "persistence_mode"
        | "compute_mode"
        | "mig.mode.current"
        | "mig.mode.pending"
        | "pcie.link.gen.current"
        | "pcie.link.gen.max"
        | "pcie.link.width.current"
        | "pcie.link.width.max"
        | "ecc.errors.corrected.volatile.total"
        | "ecc.errors.uncorrected.volatile.total"
        | "ecc.errors.corrected.aggregate.total"
        | "ecc.errors.uncorrected.aggregate.total" => "",
        _ => return None,
    })
}

fn value(library: &Library, card: &Listed, field: &str) -> Result<String, Code> {
    match field {
        "index" => return Ok(card.index.to_string()),
        "driver_version" => return library.system_text("nvmlSystemGetDriverVersion"),
        "count" => return library.count().map(|count| count.to_string()),
        _ => {}
    }
    let device = card.handle?;
    let number = |name: &str| library.number(name, device).map(|number| number.to_string());
    let number_of =
        |name: &str, which| library.number_of(name, device, which).map(|number| number.to_string());
    let watts = |name: &str| {
        library.number(name, device).map(|milliwatts| format!("{:.2}", f64::from(milliwatts) / 1000.0))
    };
    let memory = |place: usize| library.memory(device).map(|words| (words[place] >> 20).to_string());
    let of_two = |name: &str, place: usize| library.two_numbers(name, device).map(|numbers| numbers[place]);
    let errors = |kind, counter| library.errors(device, kind, counter).map(|count| count.to_string());
    let switched = |value: u32| if value == 1 { "Enabled" } else { "Disabled" }.to_owned();
    match field {
        "name" | "gpu_name" => library.text("nvmlDeviceGetName", device),
        "uuid" | "gpu_uuid" => library.text("nvmlDeviceGetUUID", device),
        "serial" => library.text("nvmlDeviceGetSerial", device),
        "pci.bus_id" | "gpu_bus_id" => bus_id(library, device),
        "memory.total" => memory(0),
        "memory.reserved" => memory(1),
        "memory.free" => memory(2),
        "memory.used" => memory(3),
        "utilization.gpu" => of_two_in_one(library, device).map(|[gpu, _]| gpu.to_string()),
        "utilization.memory" => of_two_in_one(library, device).map(|[_, memory]| memory.to_string()),
        "temperature.gpu" => number_of("nvmlDeviceGetTemperature", 0),
        "fan.speed" => number("nvmlDeviceGetFanSpeed"),
        "power.draw" => watts("nvmlDeviceGetPowerUsage"),
        "power.limit" => watts("nvmlDeviceGetPowerManagementLimit"),
        "enforced.power.limit" => watts("nvmlDeviceGetEnforcedPowerLimit"),
        "power.default_limit" => watts("nvmlDeviceGetPowerManagementDefaultLimit"),
        "clocks.sm" | "clocks.current.sm" => number_of("nvmlDeviceGetClockInfo", 1),
        "clocks.mem" | "clocks.current.memory" => number_of("nvmlDeviceGetClockInfo", 2),
        "clocks.max.sm" => number_of("nvmlDeviceGetMaxClockInfo", 1),
        "clocks.max.memory" => number_of("nvmlDeviceGetMaxClockInfo", 2),
        "pstate" => number("nvmlDeviceGetPerformanceState").map(|state| format!("P{state}")),
        "persistence_mode" => library.number("nvmlDeviceGetPersistenceMode", device).map(switched),
        "compute_mode" => library.number("nvmlDeviceGetComputeMode", device).map(|mode| {
            match mode {
                0 => "Default",
                2 => "Prohibited",
                _ => "Exclusive_Process",
            }
            .to_owned()
        }),
        "mig.mode.current" => of_two("nvmlDeviceGetMigMode", 0).map(switched),
        "mig.mode.pending" => of_two("nvmlDeviceGetMigMode", 1).map(switched),
        "pcie.link.gen.current" => number("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie.link.gen.max" => number("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie.link.width.current" => number("nvmlDeviceGetCurrPcieLinkWidth"),
        "pcie.link.width.max" => number("nvmlDeviceGetMaxPcieLinkWidth"),
        "ecc.errors.corrected.volatile.total" => errors(0, 0),
        "ecc.errors.uncorrected.volatile.total" => errors(1, 0),
        "ecc.errors.corrected.aggregate.total" => errors(0, 1),
        _ => errors(1, 1),
    }
}

/// Utilization of the engines and of the memory, which NVML hands over in one structure.
fn of_two_in_one(library: &Library, device: Device) -> Result<[u32; 2], Code> {
    library.utilization(device)
}
