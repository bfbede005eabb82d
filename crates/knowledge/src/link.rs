//! What links carry: PCIe by generation and lanes, links between cards by generation.

use std::sync::OnceLock;

use gpuwhy_model::units::BytesPerSecond;
use serde::Deserialize;

use crate::table::{rows, words};

/// One generation of one kind of link.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LinkFact {
    /// Kind: `pcie`, `nvlink`, `c2c`, `xgmi`.
    pub kind: String,
    /// Its generation, or the product that has it.
    pub generation: String,
    /// Transfers per lane, in 10^9 a second.
    pub gt_s_per_lane: Option<f64>,
    /// Lanes that the usable rate is for, or how many links there are of how many lanes.
    pub lanes: String,
    /// What it carries one way, in 10^9 bytes a second, all links of a card together.
    pub usable_gb_s_one_way: f64,
    /// Packets that a healthy PCIe lane may send again in a minute, at most.
    pub replays_per_lane_minute: Option<f64>,
    /// What else one must know.
    pub note: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

/// Lanes of the PCIe rows.
const LANES: f64 = 16.0;

/// Returns every row.
pub fn links() -> &'static [LinkFact] {
    static TABLE: OnceLock<Vec<LinkFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/links.csv")))
}

/// Returns what a PCIe link of a generation with so many lanes carries one way.
pub fn pcie_bandwidth(generation: u32, lanes: u32) -> Option<BytesPerSecond> {
    let generation = generation.to_string();
    let fact = links().iter().find(|fact| fact.kind == "pcie" && fact.generation == generation)?;
    Some(BytesPerSecond(fact.usable_gb_s_one_way * 1e9 * f64::from(lanes) / LANES))
}

/// Returns how many packets a healthy PCIe link of a generation with so many lanes may send again in a minute.
pub fn pcie_replays_per_minute(generation: u32, lanes: u32) -> Option<f64> {
    let generation = generation.to_string();
    let fact = links().iter().find(|fact| fact.kind == "pcie" && fact.generation == generation)?;
    fact.replays_per_lane_minute.map(|per_lane| (per_lane * f64::from(lanes)).ceil())
}

/// Returns what all links between cards of a generation together carry one way, on the card of that generation that
/// has the most.
pub fn nvlink_bandwidth(generation: u32) -> Option<BytesPerSecond> {
    let generation = generation.to_string();
    let fact = links().iter().find(|fact| fact.kind == "nvlink" && fact.generation == generation)?;
    Some(BytesPerSecond(fact.usable_gb_s_one_way * 1e9))
}

#[cfg(test)]
mod tests {
    use super::{links, nvlink_bandwidth, pcie_bandwidth, pcie_replays_per_minute};
    use crate::source;

    #[test]
    fn a_link_carries_what_its_lanes_carry() {
        let full = pcie_bandwidth(4, 16).unwrap();
        let half = pcie_bandwidth(4, 8).unwrap();
        assert!((full.0 - 31.5e9).abs() < 1.0 && (half.0 - 15.75e9).abs() < 1.0);
        assert_eq!(pcie_bandwidth(9, 16), None);
        assert_eq!(
            [1, 3, 5].map(|generation| pcie_replays_per_minute(generation, 16)),
            [3.0, 8.0, 31.0].map(Some)
        );
        assert!((nvlink_bandwidth(4).unwrap().0 - 450e9).abs() < 1.0);
    }

    #[test]
    fn every_row_is_read_and_names_known_sources() {
        assert_eq!(links().len(), 17);
        for key in links().iter().flat_map(|fact| &fact.sources) {
            assert!(source(key).is_some(), "{key}");
        }
    }
}
