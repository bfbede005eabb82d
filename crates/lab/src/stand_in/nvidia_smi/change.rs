//! What `nvidia-smi` changes on cards.

use super::{Listed, Request};
use crate::board::BoxDirectory;
use crate::cards::{Machine, Refusal};
use crate::stand_in::Said;
use crate::stand_in::library::{Code, Device, Library};

const NO_PERMISSION: Code = 4;
const ALL_DONE: &str = "All done.\n";
const EARLY: &str = "Terminating early due to previous errors.\n";

/// Makes a change on each card, and stops at the first one that refuses.
pub(super) fn answer(
    directory: &BoxDirectory,
    library: &Library,
    cards: &[Listed],
    request: &Request,
) -> Said {
    if *request == Request::Reset {
        return reset(directory, library, cards);
    }
    let mut lines = String::new();
    for card in cards {
        let changed = card
            .handle
            .map_err(|code| (code, String::new()))
            .and_then(|device| change(library, device, &card.bus_id, request));
        match changed {
            Ok(line) => lines.push_str(&line),
            Err((code, line)) => {
                let line = if line.is_empty() { unable(library, request, &card.bus_id, code) } else { line };
                lines.push_str(&line);
                lines.push_str(EARLY);
                return Said::failure(u8::try_from(code).unwrap_or(255), lines);
            }
        }
    }
    Said::output(lines + ALL_DONE)
}

fn unable(library: &Library, request: &Request, bus_id: &str, code: Code) -> String {
    let what = match request {
        Request::Persistence(_) => "set persistence mode",
        Request::PowerLimit(_) => "set power limit",
        Request::ComputeMode(_) => "set compute mode",
        Request::UnlockClocks => "reset the gpu clocks",
        _ => "lock the gpu clocks",
    };
    format!("Unable to {what} for GPU {bus_id}: {}\n", library.words(code))
}

fn change(
    library: &Library,
    device: Device,
    bus_id: &str,
    request: &Request,
) -> Result<String, (Code, String)> {
    let plain = |code: Code| (code, String::new());
    match request {
        Request::Persistence(mode) => {
            library.set("nvmlDeviceSetPersistenceMode", device, *mode).map_err(plain)?;
            let word = if *mode == 1 { "Enabled" } else { "Disabled" };
            Ok(format!("{word} persistence mode for GPU {bus_id}.\n"))
        }
        Request::ComputeMode(mode) => {
            library.set("nvmlDeviceSetComputeMode", device, *mode).map_err(plain)?;
            Ok(format!("Set compute mode for GPU {bus_id}.\n"))
        }
        Request::LockClocks(clocks) => {
            library.set_two("nvmlDeviceSetGpuLockedClocks", device, *clocks).map_err(plain)?;
            let [lowest, highest] = clocks;
            Ok(format!("GPU clocks set to \"(gpuClkMin {lowest}, gpuClkMax {highest})\" for GPU {bus_id}\n"))
        }
        Request::PowerLimit(watts) => limit_power(library, device, bus_id, watts),
        _ => {
            library.put_back("nvmlDeviceResetGpuLockedClocks", device).map_err(plain)?;
            Ok(format!("Reset GPU clocks to default for GPU {bus_id}\n"))
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range first")]
fn limit_power(
    library: &Library,
    device: Device,
    bus_id: &str,
    watts: &str,
) -> Result<String, (Code, String)> {
    const INVALID: Code = 2;
    let plain = |code: Code| (code, String::new());
    let limits =
        library.two_numbers("nvmlDeviceGetPowerManagementLimitConstraints", device).map_err(plain)?;
    let before = library.number("nvmlDeviceGetPowerManagementLimit", device).map_err(plain)?;
    let wanted = watts.parse::<f64>().unwrap_or(f64::NAN) * 1000.0;
    let milliwatts = wanted.round().clamp(0.0, f64::from(u32::MAX)) as u32;
    let in_watts = |milliwatts: u32| f64::from(milliwatts) / 1000.0;
    if wanted.is_nan() || milliwatts < limits[0] || milliwatts > limits[1] {
        let line = format!(
            "Provided power limit {watts} W is not a valid power limit which should be between {:.2} W and \
             {:.2} W for GPU {bus_id}\n",
            in_watts(limits[0]),
            in_watts(limits[1])
        );
        return Err((INVALID, line));
    }
    library.set("nvmlDeviceSetPowerManagementLimit", device, milliwatts).map_err(plain)?;
    Ok(format!(
        "Power limit for GPU {bus_id} was set to {:.2} W from {:.2} W.\n",
        in_watts(milliwatts),
        in_watts(before)
    ))
}

/// A reset needs root, cards that nobody uses, and all cards that can only be reset together.
fn reset(directory: &BoxDirectory, library: &Library, cards: &[Listed]) -> Said {
    const FAILED: u8 = 255;
    if !rustix::process::geteuid().is_root() {
        let bus_id = cards.first().map_or("", |card| card.bus_id.as_str());
        let words = library.words(NO_PERMISSION);
        return Said::failure(4, format!("Unable to reset GPU {bus_id}: {words}\n{EARLY}"));
    }
    let Ok(machine) = Machine::open(directory) else { return Said::failure(FAILED, EARLY) };
    let indexes: Vec<usize> = cards
        .iter()
        .filter_map(|card| {
            let minor = library.number("nvmlDeviceGetMinorNumber", card.handle.ok()?).ok()?;
            usize::try_from(minor).ok()
        })
        .collect();
    if indexes.len() < cards.len() {
        return Said::failure(15, format!("GPU is lost. Reboot the system to recover this GPU\n{EARLY}"));
    }
    let name = |index: usize| {
        machine.board().cards.get(index).map(crate::board::Card::pci_bus_id).unwrap_or_default()
    };
    match machine.reset(&indexes) {
        Ok(()) => {
            let mut lines = String::new();
            for index in indexes {
                lines.push_str("GPU ");
                lines.push_str(&name(index));
                lines.push_str(" was successfully reset.\n");
            }
            Said::output(lines + ALL_DONE)
        }
        Err(Refusal::InUse { card }) => Said::failure(
            FAILED,
            format!(
                "GPU {} is currently in use by another process.\n\n1 device is currently being used by one or \
                 more other processes. Please first kill all processes using this device and all compute \
                 applications running in the system.\n",
                name(card)
            ),
        ),
        Err(Refusal::Together { card }) => Said::failure(
            FAILED,
            format!(
                "GPU {} must be reset together with the GPUs that it is linked to; {} is missing.\n{EARLY}",
                name(indexes.first().copied().unwrap_or_default()),
                name(card)
            ),
        ),
        Err(Refusal::Lost | Refusal::OutOfRange) => {
            Said::failure(15, format!("GPU is lost. Reboot the system to recover this GPU\n{EARLY}"))
        }
    }
}
