//! What changes on a board while its box is up.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{BoardError, CardSetting};

/// A change at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardEvent {
    /// Seconds after the box came up.
    pub at_s: f64,
    /// The card that changes; all cards when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<usize>,
    /// Keys of the card that change, with their new values.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub set: Table,
    /// The driver reports an Xid of the card: in the kernel log, and to who waits for events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xid: Option<u32>,
    /// What follows the number in the Xid's line; what such an Xid usually says when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// A line that the kernel log gets, as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_line: Option<String>,
}

/// Keys that make a card another card.
const FIXED_KEYS: [&str; 5] = ["profile", "count", "uuid", "serial", "pci_bus"];

impl BoardEvent {
    /// Whether the event is about the card at `index`.
    pub fn concerns(&self, index: usize) -> bool {
        self.card.is_none_or(|card| card == index)
    }

    /// Whether the event sets `key` in the table `table` of a card.
    pub fn sets(&self, table: &str, key: &str) -> bool {
        self.set.get(table).and_then(Value::as_table).is_some_and(|table| table.contains_key(key))
    }

    /// What a card's setting becomes by the event.
    ///
    /// # Errors
    /// Fails for unknown keys, for keys that cannot change, and for counters that would fall.
    pub(super) fn change(&self, before: &CardSetting) -> Result<CardSetting, BoardError> {
        let impossible =
            |what: String| BoardError::Impossible { what: format!("event at {} s: {what}", self.at_s) };
        if let Some(key) = FIXED_KEYS.iter().find(|key| self.set.contains_key(**key)) {
            return Err(impossible(format!("`{key}` of a card cannot change")));
        }
        let mut table = Table::try_from(before).map_err(|error| impossible(error.to_string()))?;
        merge(&mut table, &self.set);
        let after: CardSetting = table.try_into().map_err(|error| impossible(error.to_string()))?;
        match falling_counter(before, &after) {
            Some(counter) => Err(impossible(format!("the counter `{counter}` would fall"))),
            None => Ok(after),
        }
    }

    /// What the driver writes into the kernel log about the Xid, for a card at `pci_address`
    /// (`0000:0f:00.0`); what it says for a process is `process`.
    pub fn xid_line(&self, pci_address: &str) -> Option<String> {
        let xid = self.xid?;
        let place = pci_address.split('.').next().unwrap_or(pci_address);
        let says = self.says.as_deref().unwrap_or_else(|| usual_words(xid));
        Some(format!("NVRM: Xid (PCI:{place}): {xid}, {says}"))
    }
}

/// Puts the values of `change` into `table`; tables are merged, everything else is replaced.
fn merge(table: &mut Table, change: &Table) {
    for (key, value) in change {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(inner_change)) => merge(inner, inner_change),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The first counter that is lower in `after`: a card only ever counts up.
fn falling_counter(before: &CardSetting, after: &CardSetting) -> Option<&'static str> {
    let counters = |setting: &CardSetting| {
        [
            ("ecc.corrected.dram", setting.ecc.corrected.dram),
            ("ecc.corrected.sram", setting.ecc.corrected.sram),
            ("ecc.uncorrected.dram", setting.ecc.uncorrected.dram),
            ("ecc.uncorrected.sram", setting.ecc.uncorrected.sram),
            ("repair.corrected", u64::from(setting.repair.corrected)),
            ("repair.uncorrected", u64::from(setting.repair.uncorrected)),
            ("pcie_errors.correctable", setting.pcie_errors.correctable),
            ("pcie_errors.non_fatal", setting.pcie_errors.non_fatal),
            ("pcie_errors.fatal", setting.pcie_errors.fatal),
            ("nvlink.checksum_errors", setting.nvlink.checksum_errors),
            ("nvlink.replays", setting.nvlink.replays),
            ("nvlink.recoveries", setting.nvlink.recoveries),
        ]
    };
    let (old, new) = (counters(before), counters(after));
    old.iter().zip(&new).find(|((_, old), (_, new))| new < old).map(|((name, _), _)| *name)
}

/// What an Xid usually says.
fn usual_words(xid: u32) -> &'static str {
    match xid {
        13 => {
            "pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address"
        }
        31 => {
            "pid='<unknown>', name=<unknown>, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted"
        }
        43 | 45 => "pid='<unknown>', name=<unknown>, Ch 00000008",
        48 => {
            "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU"
        }
        61 | 62 => "pid='<unknown>', name=<unknown>, 0a1c 00000000 00000000",
        63 => {
            "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate."
        }
        64 => "pid='<unknown>', name=<unknown>, Row Remapper: Failed to remap a row.",
        74 => {
            "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 0(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
        }
        79 => "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        92 => "pid='<unknown>', name=<unknown>, High single-bit ECC error rate",
        94 => "pid='<unknown>', name=<unknown>, Contained: CE User Channel (0x9). RST: No, D-RST: No",
        95 => "pid='<unknown>', name=<unknown>, Uncontained: FBHUB. RST: Yes, D-RST: No",
        119 => {
            "pid='<unknown>', name=<unknown>, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL)."
        }
        _ => "pid='<unknown>', name=<unknown>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> BoardEvent {
        toml::from_str(text).unwrap()
    }

    fn healthy() -> CardSetting {
        CardSetting { profile: "a100-sxm4-80gb".into(), ..CardSetting::default() }
    }

    #[test]
    fn only_the_named_keys_change() {
        let first = event("at_s = 1.0\nset = { ecc = { corrected_per_s = 3.0 }, ambient_c = 45.0 }");
        let second = event("at_s = 2.0\nset = { ecc = { uncorrected = { dram = 1 } }, lost = true }");
        let after = second.change(&first.change(&healthy()).unwrap()).unwrap();
        assert!((after.ecc.corrected_per_s - 3.0).abs() < 1e-9);
        assert_eq!((after.ecc.uncorrected.dram, after.ambient_c, after.lost), (1, Some(45.0), true));
        let back = event("at_s = 3.0\nset = { lost = false }").change(&after).unwrap();
        assert!(!back.lost);
    }

    #[test]
    fn a_card_stays_itself_and_its_counters_never_fall() {
        assert!(event("at_s = 1.0\nset = { profile = \"t4\" }").change(&healthy()).is_err());
        assert!(event("at_s = 1.0\nset = { no_such_key = 1 }").change(&healthy()).is_err());
        let mut counted = healthy();
        counted.ecc.corrected.dram = 5;
        let message = event("at_s = 1.0\nset = { ecc = { corrected = { dram = 4 } } }")
            .change(&counted)
            .unwrap_err()
            .to_string();
        assert!(message.contains("ecc.corrected.dram"), "{message}");
    }

    #[test]
    fn an_xid_line_names_the_card() {
        let line = event("at_s = 1.0\nxid = 79").xid_line("0000:0f:00.0").unwrap();
        assert_eq!(
            line,
            "NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        );
        assert_eq!(event("at_s = 1.0").xid_line("0000:0f:00.0"), None);
    }
}
