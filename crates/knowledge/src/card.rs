//! What data sheets say about cards.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::pattern::is_found;
use crate::table::{numbers, rows, words};

/// One product. Figures for tensor cores are without sparsity; an empty figure is none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CardFact {
    /// Name.
    pub name: String,
    /// What its name in the driver holds; the first row that fits counts.
    #[serde(rename = "smi_name_regex")]
    pattern: String,
    /// PCI device ids in hexadecimal digits.
    #[serde(deserialize_with = "words")]
    pub pci_device_ids: Vec<String>,
    /// Vendor.
    pub vendor: String,
    /// Architecture.
    #[serde(rename = "arch")]
    pub architecture: String,
    /// Compute capability, or the other vendor's name of the instruction set.
    pub compute_capability: String,
    /// Memory in GB; several variants.
    #[serde(deserialize_with = "numbers")]
    pub memory_gb: Vec<f64>,
    /// Kind of memory.
    pub memory_type: String,
    /// Memory bandwidth in GB/s.
    pub bandwidth_gb_s: Option<f64>,
    /// TFLOPS in 32 bits.
    pub fp32_tflops: Option<f64>,
    /// TFLOPS of tensor cores, TF32.
    pub tf32_dense_tflops: Option<f64>,
    /// TFLOPS of tensor cores, BF16.
    pub bf16_dense_tflops: Option<f64>,
    /// TFLOPS of tensor cores, FP16.
    pub fp16_tensor_dense_tflops: Option<f64>,
    /// TFLOPS of tensor cores, FP8.
    pub fp8_dense_tflops: Option<f64>,
    /// Power in watts; several variants.
    #[serde(deserialize_with = "numbers")]
    pub tdp_w: Vec<f64>,
    /// PCIe generation.
    pub pcie_gen: Option<u32>,
    /// PCIe lanes.
    pub pcie_width: Option<u32>,
    /// All links between cards together, both ways, in GB/s.
    pub nvlink_total_gb_s: Option<f64>,
    /// Number of links between cards.
    pub nvlink_links: Option<u32>,
    /// Most instances in multi-instance mode.
    pub mig_max_instances: u32,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "sources")]
    pub sources: Vec<String>,
    /// What else one must know.
    pub notes: String,
}

impl CardFact {
    /// Returns whether the links between cards are wired on the board, so that all of them should be up; other products
    /// need a bridge, and are well without one.
    pub fn has_wired_links(&self) -> bool {
        let is_on_a_baseboard =
            ["SXM", "H20 ", "H20-", "GB200", "GB300"].iter().any(|word| self.name.contains(word));
        self.nvlink_links.is_some_and(|links| links > 0) && is_on_a_baseboard
    }

    /// Returns whether card and processor are joined by a chip-to-chip link, so that PCIe tells nothing of the card.
    pub fn is_joined_to_its_processor(&self) -> bool {
        ["GH200", "GB200", "GB300", "GB10"].iter().any(|product| self.name.starts_with(product))
    }

    /// Returns whether the card is of the Ampere generation or later.
    pub fn is_ampere_or_later(&self) -> bool {
        self.compute_capability.parse().is_ok_and(|capability: f64| capability >= 8.0)
    }
}

/// Reads source keys; one of them has a blank inside.
fn sources<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.split('+').map(str::to_owned).collect())
}

/// Returns every row, in the order in which names are matched.
pub fn cards() -> &'static [CardFact] {
    static TABLE: OnceLock<Vec<CardFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/gpus.csv")))
}

/// Returns the product with this name in the driver (`NVIDIA A100-SXM4-80GB`).
///
/// Tables of `nvidia-smi` cut long names; the name must be whole.
pub fn card(name: &str) -> Option<&'static CardFact> {
    cards().iter().find(|fact| is_found(&fact.pattern, name))
}

#[cfg(test)]
mod tests {
    use super::{card, cards};

    #[test]
    fn every_row_is_read() {
        assert_eq!(cards().len(), 90);
        for fact in cards() {
            assert!(
                !fact.name.is_empty() && !fact.memory_gb.is_empty() && !fact.tdp_w.is_empty(),
                "{}",
                fact.name
            );
            let plain = fact.pattern.trim_end_matches('$').replace(['(', ')', '|'], "");
            assert!(
                plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -".contains(&byte)),
                "{plain}"
            );
        }
    }

    #[test]
    fn names_of_the_driver_find_their_product() {
        for (name, product) in [
            ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
            ("NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB"),
            ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"),
            ("NVIDIA GeForce RTX 3060", "GeForce RTX 3060 12GB"),
            ("NVIDIA GeForce RTX 4070 Ti SUPER", "GeForce RTX 4070 Ti SUPER"),
            ("Tesla T4", "Tesla T4"),
            ("Tesla V100-PCIE-32GB", "Tesla V100 PCIe"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA GB200", "GB200"),
            ("NVIDIA H200", "H200 SXM 141GB"),
        ] {
            assert_eq!(card(name).map(|fact| fact.name.as_str()), Some(product));
        }
        assert_eq!(card("Graphics Device"), None);
        assert_eq!(card("NVIDIA RTX 4000 SFF Ada Generation"), None);
    }

    #[test]
    fn products_differ_in_their_links() {
        let fact = |name: &str| card(name).unwrap();
        for name in
            ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H20", "NVIDIA GB200"]
        {
            assert!(fact(name).has_wired_links(), "{name}");
        }
        for name in ["NVIDIA A100 80GB PCIe", "NVIDIA H200 NVL", "NVIDIA GeForce RTX 3090", "NVIDIA L40S"] {
            assert!(!fact(name).has_wired_links(), "{name}");
        }
        assert!(fact("NVIDIA GH200 480GB").is_joined_to_its_processor());
        assert!(!fact("NVIDIA B200").is_joined_to_its_processor());
        assert!(fact("NVIDIA L4").is_ampere_or_later() && !fact("Tesla T4").is_ampere_or_later());
    }

    #[test]
    fn figures_are_numbers() {
        let card = card("NVIDIA A100-SXM4-80GB").unwrap();
        assert_eq!(card.bandwidth_gb_s, Some(2039.0));
        assert_eq!(card.tdp_w, [400.0]);
        assert_eq!((card.pcie_gen, card.pcie_width, card.mig_max_instances), (Some(4), Some(16), 7));
        assert_eq!(super::card("Tesla P40").unwrap().fp16_tensor_dense_tflops, None);
    }
}
