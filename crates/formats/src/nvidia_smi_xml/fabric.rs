//! What the output says of a card's place in the fabric of `NVSwitches`.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{Fabric, FabricState};

use super::card::in_section;
use super::element::Element;
use super::value::text;
use crate::nvidia_cell;

/// `NVML_SUCCESS`
const SUCCESS: u32 = 0;

/// The health mask of the library has two bits for each of these, from this bit on: 1 stands for yes, 2 for no.
const HEALTH: &[(&str, u32)] = &[
    ("bandwidth", 0),
    ("route_recovery_in_progress", 2),
    ("route_unhealthy", 4),
    ("access_timeout_recovery", 6),
];

/// Reads how far a card is with joining its fabric.
pub(super) fn fabric(gpu: &Element) -> Reading<Fabric> {
    let section = gpu.child(&["fabric"]);
    text(in_section(section, &["state"])).and_then(|word| {
        let state = match word {
            "Completed" => FabricState::Completed,
            "In Progress" => FabricState::InProgress,
            "Not Started" => FabricState::NotStarted,
            "Not Supported" => FabricState::NotSupported,
            _ => return Reading::default(),
        };
        let status = text(in_section(section, &["status"])).known().map_or(SUCCESS, |word| match *word {
            "Success" => SUCCESS,
            other => nvidia_cell::error_code(other).unwrap_or(nvidia_cell::UNKNOWN),
        });
        Reading::Known(Fabric { state, status, health: health(in_section(section, &["health"])) })
    })
}

fn health(section: Option<&Element>) -> u32 {
    let bits = |(name, shift): &(&str, u32)| {
        let answer = match text(in_section(section, &[name])).known().copied() {
            Some("True" | "Yes" | "Degraded") => 1,
            Some("False" | "No" | "Full") => 2,
            _ => 0,
        };
        answer << shift
    };
    HEALTH.iter().map(bits).sum()
}
