//! What the parts and links of a card did, in few words.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{Clocks, InterfaceKind, PcieLink};
use gpuwhy_model::scene::{ActivityTrends, Card, Interface, NvLinkState, PcieTraffic};
use gpuwhy_model::units::{BytesPerSecond, Megahertz, Percent};
use serde::Deserialize;

use super::LOOKS;
use super::values::trend;

/// The highest clock of every card.
const CLOCK_MAX: f64 = 1410.0;

/// What the card counts of its parts, in percent; nothing: it does not count.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PartsFile {
    sm: Option<f64>,
    dram: Option<f64>,
    tensor: Option<f64>,
}

/// What goes over the links of a card, in GB a second.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinksFile {
    /// How many links to other cards are up; none: it has no such links.
    nvlinks: Option<u32>,
    nvlink: Option<f64>,
    /// Both ways.
    pcie: Option<f64>,
    to_card: Option<f64>,
    to_host: Option<f64>,
    /// Only moments were measured: the card has no counters of its bytes.
    are_moments: bool,
    width: Option<u32>,
    generation: Option<u32>,
}

/// A network link with hardware behind it, in GB a second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkFile {
    carries: f64,
    rate: f64,
}

impl PartsFile {
    pub(super) fn activity(&self, window: f64) -> ActivityTrends {
        let part = |value: Option<f64>| {
            value.map_or(Reading::Unsupported, |value| {
                Reading::Known(trend(value, 0.0, LOOKS, window, Percent))
            })
        };
        ActivityTrends {
            sm_active: part(self.sm),
            sm_occupancy: Reading::Unsupported,
            tensor_active: part(self.tensor),
            dram_active: part(self.dram),
        }
    }
}

impl LinksFile {
    /// Fills in the links of a card.
    pub(super) fn fill(&self, card: &mut Card) {
        let rate = |gigabytes: Option<f64>| {
            gigabytes.map_or_else(
                || Failure::NotInSource.into_reading(),
                |gigabytes| Reading::Known(BytesPerSecond(gigabytes * 1e9)),
            )
        };
        card.nvlinks = self.nvlinks.map_or(Reading::Unsupported, |number| {
            let link = |link| NvLinkState {
                link,
                active: Reading::Known(true),
                version: Reading::Known(3),
                ..NvLinkState::default()
            };
            Reading::Known((0..number).map(link).collect())
        });
        card.nvlink_received = rate(self.nvlink);
        card.nvlink_sent = rate(self.nvlink);
        card.pcie_traffic = PcieTraffic {
            to_card: rate(self.to_card.or(self.pcie)),
            to_host: rate(self.to_host.or(self.pcie)),
            is_by_counters: !self.are_moments,
        };
        card.pcie = PcieLink {
            generation: Reading::Known(self.generation.unwrap_or(4)),
            width: Reading::Known(self.width.unwrap_or(16)),
            ..PcieLink::default()
        };
    }
}

/// Returns the clocks of a card.
pub(super) fn clocks(megahertz: f64) -> Clocks {
    Clocks {
        sm: Reading::Known(Megahertz(megahertz)),
        sm_max: Reading::Known(Megahertz(CLOCK_MAX)),
        ..Clocks::default()
    }
}

pub(super) fn interface(name: &str, file: &NetworkFile) -> Interface {
    Interface {
        name: name.to_owned(),
        // Ports of adapters have a number: `mlx5_0/1`.
        kind: if name.contains('/') { InterfaceKind::Infiniband } else { InterfaceKind::Network },
        received: Reading::Known(BytesPerSecond(file.rate * 1e9)),
        sent: Reading::Known(BytesPerSecond(file.rate * 1e9)),
        link: Reading::Known(BytesPerSecond(file.carries * 1e9)),
        up: Reading::Known(true),
        ..Interface::default()
    }
}
