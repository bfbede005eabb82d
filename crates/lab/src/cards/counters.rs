//! Errors that a card's links have counted.

use super::Machine;
use super::health::whole;
use crate::board::{Card, CardSetting};
use crate::state::Clock;

/// Counters of the PCI Express link since the driver was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PcieCounters {
    /// Packets that were sent again.
    pub replays: u64,
    /// Corrected errors.
    pub correctable: u64,
    /// Packets with a wrong checksum.
    pub bad_packets: u64,
    /// Link-layer packets with a wrong checksum.
    pub bad_link_packets: u64,
    /// Errors that the link survived without correcting them.
    pub non_fatal: u64,
    /// Errors that the link did not survive.
    pub fatal: u64,
    /// Requests that nobody answers.
    pub unsupported_requests: u64,
    /// Times that the link had to find itself again.
    pub recoveries: u64,
}

/// Errors of one NVLink since the driver was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkErrors {
    /// Checksum errors.
    pub checksum: u64,
    /// Packets that were sent again.
    pub replays: u64,
    /// Times that the link had to find itself again.
    pub recoveries: u64,
}

impl Machine {
    /// Counters of a card's PCI Express link.
    pub fn pcie_counters(&self, card: &Card) -> PcieCounters {
        let errors = &card.setting.pcie_errors;
        let grown = |per_s: fn(&CardSetting) -> f64| self.grown(card, per_s);
        let correctable = errors.correctable + grown(|setting| setting.pcie_errors.correctable_per_s);
        PcieCounters {
            replays: grown(|setting| setting.pcie_replays_per_s.unwrap_or(0.0)),
            correctable,
            bad_packets: correctable.div_ceil(2),
            bad_link_packets: correctable / 2,
            non_fatal: errors.non_fatal,
            fatal: errors.fatal,
            unsupported_requests: errors.unsupported_requests,
            recoveries: errors.recoveries + grown(|setting| setting.pcie_errors.recoveries_per_s),
        }
    }

    /// Errors of one NVLink of a card.
    pub fn link_errors(&self, card: &Card, link: u32) -> LinkErrors {
        let nvlink = &card.setting.nvlink;
        if link != nvlink.faulty_link {
            return LinkErrors::default();
        }
        let grown = |per_s: fn(&CardSetting) -> f64| self.grown(card, per_s);
        LinkErrors {
            checksum: nvlink.checksum_errors + grown(|setting| setting.nvlink.checksum_errors_per_s),
            replays: nvlink.replays + grown(|setting| setting.nvlink.replays_per_s),
            recoveries: nvlink.recoveries + grown(|setting| setting.nvlink.recoveries_per_s),
        }
    }

    fn grown(&self, card: &Card, per_s: fn(&CardSetting) -> f64) -> u64 {
        whole(self.board().grown(card.index, self.since_start(Clock::now()), per_s))
    }
}
