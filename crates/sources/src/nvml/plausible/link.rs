//! Whether what a card says of its links can be believed.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardPath, Fabric, FabricState};

use super::implausible;
use crate::nvml::raw::FabricAnswer;

/// The generation of an `NVLink`.
///
/// Libraries give the numbers of `nvmlNvlinkVersion_t`, as the header says, or those of the driver below them, or the
/// generation itself; an H100 is known to say 7. The card's compute capability tells which of them is meant.
pub(in crate::nvml) fn nvlink_version(reading: Reading<u32>, capability: Option<u32>) -> Reading<u32> {
    reading.and_then(|version| {
        if matches!(version, 0 | u32::MAX) {
            return Reading::Unsupported;
        }
        let place = version as usize - 1;
        let possible =
            [HEADER_GENERATIONS.get(place).copied(), DRIVER_GENERATIONS.get(place).copied(), Some(version)];
        let expected = capability.and_then(generation_of_capability);
        let is_meant = |generation: u32| possible.contains(&Some(generation));
        match (expected, possible) {
            (Some(expected), _) if is_meant(expected) => Reading::Known(expected),
            (None, [Some(one), Some(other), Some(third)]) if one == other && other == third => {
                Reading::Known(one)
            }
            _ => implausible(format!("version {version}")),
        }
    })
}

/// Generations by `nvmlNvlinkVersion_t`, from 1.
const HEADER_GENERATIONS: [u32; 8] = [1, 2, 2, 3, 3, 4, 5, 6];

/// Generations by the driver's own numbers (`NV2080_CTRL_NVLINK_STATUS_NVLINK_VERSION`), from 1.
const DRIVER_GENERATIONS: [u32; 8] = [1, 2, 2, 2, 3, 3, 4, 5];

/// Returns the generation of the `NVLinks` of cards with this compute capability (its major number).
fn generation_of_capability(major: u32) -> Option<u32> {
    match major {
        6 => Some(1),
        7 => Some(2),
        8 => Some(3),
        9 => Some(4),
        10 | 12 => Some(5),
        _ => None,
    }
}

/// What stands at the other end of an `NVLink` (`nvmlIntNvLinkDeviceType_t`).
pub(in crate::nvml) fn remote(reading: Reading<u32>) -> Reading<String> {
    reading.and_then(|kind| match kind {
        0 => Reading::Known("gpu".to_owned()),
        1 => Reading::Known("npu".to_owned()),
        2 => Reading::Known("switch".to_owned()),
        0xff | u32::MAX => Reading::Unsupported,
        unknown => implausible(unknown.to_string()),
    })
}

/// A card's place in the fabric.
pub(in crate::nvml) fn fabric(reading: Reading<FabricAnswer>) -> Reading<Fabric> {
    reading.and_then(|answer| {
        let state = match answer.state {
            0 => FabricState::NotSupported,
            1 => FabricState::NotStarted,
            2 => FabricState::InProgress,
            3 => FabricState::Completed,
            unknown => return implausible(format!("state {unknown}")),
        };
        Reading::Known(Fabric { state, status: answer.status, health: answer.health })
    })
}

/// The farthest thing on the way between two cards (`nvmlGpuTopologyLevel_t`).
pub(in crate::nvml) fn path(reading: Reading<u32>) -> Reading<CardPath> {
    reading.and_then(|level| match level {
        0 => Reading::Known(CardPath::Board),
        10 => Reading::Known(CardPath::Switch),
        20 => Reading::Known(CardPath::Switches),
        30 => Reading::Known(CardPath::HostBridge),
        40 => Reading::Known(CardPath::Node),
        50 => Reading::Known(CardPath::System),
        unknown => implausible(format!("level {unknown}")),
    })
}

/// Whether cards reach each other's memory (`nvmlGpuP2PStatus_t`); none where the library does not know either.
pub(in crate::nvml) fn peer_to_peer(reading: &Reading<u32>) -> Option<bool> {
    match reading.known() {
        Some(0) => Some(true),
        Some(1..=5) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{fabric, nvlink_version, path, peer_to_peer, remote};
    use crate::nvml::raw::FabricAnswer;
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::{CardPath, FabricState};

    fn is_refused<T>(reading: &Reading<T>) -> bool {
        matches!(reading, Reading::Failed(Failure::Implausible { .. }))
    }

    #[test]
    fn versions_become_generations_by_what_the_card_can_be() {
        let known = |version, capability| nvlink_version(Reading::Known(version), capability).into_known();
        // The header's numbers, the driver's own, and the generation itself.
        for version in [6, 7, 4] {
            assert_eq!(known(version, Some(9)), Some(4), "{version}");
        }
        for version in [4, 5, 3] {
            assert_eq!(known(version, Some(8)), Some(3), "{version}");
        }
        assert_eq!((known(7, Some(10)), known(8, Some(10))), (Some(5), Some(5)));
        assert_eq!((known(1, None), known(7, None)), (Some(1), None));
        assert_eq!(nvlink_version(Reading::Known(0), Some(9)), Reading::Unsupported);
        assert!(is_refused(&nvlink_version(Reading::Known(77), Some(9))));
        assert!(is_refused(&nvlink_version(Reading::Known(1), Some(9))));
    }

    #[test]
    fn members_of_closed_lists_are_known_and_others_are_not() {
        assert_eq!(remote(Reading::Known(2)), Reading::Known("switch".to_owned()));
        assert_eq!(remote(Reading::Known(255)), Reading::Unsupported);
        assert!(is_refused(&remote(Reading::Known(9))));
        assert_eq!(path(Reading::Known(30)), Reading::Known(CardPath::HostBridge));
        assert!(is_refused(&path(Reading::Known(31))));
        let place = fabric(Reading::Known(FabricAnswer { state: 3, status: 0, health: 0xaa }));
        assert_eq!(
            place.known().map(|place| (place.state, place.health)),
            Some((FabricState::Completed, 0xaa))
        );
        assert!(is_refused(&fabric(Reading::Known(FabricAnswer { state: 9, status: 0, health: 0 }))));
        assert_eq!(peer_to_peer(&Reading::Known(0)), Some(true));
        assert_eq!(peer_to_peer(&Reading::Known(4)), Some(false));
        assert_eq!(peer_to_peer(&Reading::Known(6)), None);
        assert_eq!(peer_to_peer(&Reading::Unsupported), None);
    }
}
