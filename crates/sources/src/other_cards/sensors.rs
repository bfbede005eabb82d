//! Temperature, power and fan of a card by its hardware monitor.

use std::path::Path;

use gpuwhy_formats::proc::{single_line, whole_number};
use gpuwhy_formats::sys::{in_millionths, in_thousandths};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardSample, Fan};
use gpuwhy_model::units::{Celsius, Joules, Percent, Watts};

use crate::file::{names_in, read_and_parse, read_path};

/// So many sensors of one kind are looked at.
const SENSORS_MAX: u32 = 4;

/// Writes what the first monitor of a device says.
pub(super) fn write(device: &Path, card: &mut CardSample, buffer: &mut Vec<u8>) {
    let monitors = device.join("hwmon");
    let Some(name) = names_in(&monitors).unwrap_or_default().into_iter().next() else {
        return;
    };
    let monitor = monitors.join(name);
    for sensor in 1..=SENSORS_MAX {
        let label = read_path(&monitor.join(format!("temp{sensor}_label")), buffer).map(single_line);
        let celsius = value(&monitor, &format!("temp{sensor}_input"), buffer, in_thousandths).map(Celsius);
        match label.as_deref() {
            Ok("mem" | "vram") => card.memory_temperature = celsius,
            // The hottest spot is what the card protects itself by; others stand beside it.
            Ok("junction") => card.temperature = celsius,
            Ok("edge" | "pkg") | Err(_) if !card.temperature.is_known() => card.temperature = celsius,
            _ => {}
        }
    }
    let watts = |file: &str, buffer: &mut Vec<u8>| value(&monitor, file, buffer, in_millionths).map(Watts);
    card.power = watts("power1_average", buffer).or(watts("power1_input", buffer));
    card.power_limits.enforced = watts("power1_cap", buffer).or(watts("power1_max", buffer));
    card.power_limits.default = watts("power1_cap_default", buffer);
    card.power_limits.maximum = watts("power1_cap_max", buffer);
    card.energy = value(&monitor, "energy1_input", buffer, in_millionths).map(Joules);
    card.temperature_limits.shutdown =
        value(&monitor, "temp1_emergency", buffer, in_thousandths).map(Celsius);
    let turns = value(&monitor, "fan1_input", buffer, whole_number);
    if let Reading::Known(turns) = turns {
        let most = value(&monitor, "fan1_max", buffer, whole_number);
        let speed = most.and_then(|most| match most {
            0 => Reading::Unsupported,
            most => Reading::Known(Percent((turns as f64 / most as f64 * 100.0).min(100.0))),
        });
        card.fan = speed.clone();
        let rpm = Reading::from(u32::try_from(turns).ok());
        card.fans = Reading::Known(vec![Fan { speed, target: Reading::Unsupported, rpm }]);
    }
}

fn value<T>(
    monitor: &Path,
    file: &str,
    buffer: &mut Vec<u8>,
    parse: impl FnOnce(&[u8]) -> Result<T, gpuwhy_formats::Malformed>,
) -> Reading<T> {
    match read_and_parse(&monitor.join(file), buffer, Access::MountedSys, parse) {
        // Not every card has every sensor, and a sleeping one answers with an error.
        Reading::Failed(Failure::Missing { .. } | Failure::Io { .. }) => Reading::Unsupported,
        reading => reading,
    }
}
