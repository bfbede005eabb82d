//! Why a card's clocks are not higher.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::{rows, words};

/// One bit of the clock reasons.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ClockReasonFact {
    /// The bit's place.
    pub bit: u32,
    /// Name in the library.
    pub nvml_name: String,
    /// Name in the output of `nvidia-smi`; empty: it shows none.
    pub smi_name: String,
    /// What it says.
    pub meaning: String,
    /// Whether it is normal: `yes`, `no`, `rare`, `by_choice`, `yes_under_load`, `unknown`.
    pub normal: String,
    /// What it belongs to: `idle`, `config`, `power`, `power_ext`, `thermal`, `hw`.
    pub class: String,
    /// Field of the library that counts its nanoseconds.
    pub nvml_ns_counter_field: Option<u32>,
    /// What to tell a person.
    pub what_to_say: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

impl ClockReasonFact {
    /// Returns the bit's mask.
    pub const fn mask(&self) -> u64 {
        1 << self.bit
    }
}

/// Returns every row, by bit.
pub fn clock_reasons() -> &'static [ClockReasonFact] {
    static TABLE: OnceLock<Vec<ClockReasonFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/clocks_reasons.csv")))
}

/// Returns what is known of a bit.
pub fn clock_reason(bit: u32) -> Option<&'static ClockReasonFact> {
    clock_reasons().iter().find(|fact| fact.bit == bit)
}

#[cfg(test)]
mod tests {
    use super::{clock_reason, clock_reasons};
    use gpuwhy_model::sample::ClockReasons;

    #[test]
    fn every_row_is_read_and_in_order() {
        assert_eq!(clock_reasons().len(), 11);
        assert!(clock_reasons().iter().zip(0..).all(|(fact, bit)| fact.bit == bit));
        assert!(clock_reasons().iter().all(|fact| !fact.meaning.is_empty() && !fact.what_to_say.is_empty()));
    }

    #[test]
    fn masks_are_those_of_the_model() {
        for (bit, mask) in [
            (0, ClockReasons::IDLE),
            (1, ClockReasons::APPLICATION_CLOCKS),
            (2, ClockReasons::SOFTWARE_POWER_CAP),
            (3, ClockReasons::HARDWARE_SLOWDOWN),
            (4, ClockReasons::SYNC_BOOST),
            (5, ClockReasons::SOFTWARE_THERMAL),
            (6, ClockReasons::HARDWARE_THERMAL),
            (7, ClockReasons::POWER_BRAKE),
        ] {
            assert_eq!(clock_reason(bit).unwrap().mask(), mask);
        }
        assert_eq!(clock_reason(5).unwrap().nvml_ns_counter_field, Some(269));
        assert_eq!(clock_reason(0).unwrap().nvml_ns_counter_field, None);
    }
}
