//! The numbers of the driver's error lines.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::{rows, words, yes_or_no};

/// What an Xid means and what to do first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct XidFact {
    /// The number.
    #[serde(rename = "xid")]
    pub number: u32,
    /// The driver's own name.
    pub mnemonic: String,
    /// Whether cards from Ampere on use it.
    #[serde(deserialize_with = "yes_or_no")]
    pub used_on_ampere_plus: bool,
    /// What it says, in few words.
    pub meaning: String,
    /// Where the fault can lie: `app`, `driver`, `hw` and others.
    #[serde(rename = "domain", deserialize_with = "words")]
    pub domains: Vec<String>,
    /// Possible origins in the vendor's old table.
    #[serde(rename = "possible_causes_old_table", deserialize_with = "words")]
    pub old_origins: Vec<String>,
    /// What it hits: `process`, `gpu`, `link`, `node`, `vm`, `none`.
    pub scope: String,
    /// How much it weighs.
    pub severity: Severity,
    /// What to do first.
    pub first_action: FirstAction,
    /// What to do when it comes back.
    pub if_persists: String,
    /// Numbers that usually come before it.
    #[serde(deserialize_with = "words")]
    pub usually_follows: Vec<String>,
    /// What else one must know.
    pub notes: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

/// How much an Xid weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Unused number: never a finding alone.
    None,
    /// Good to know: never a finding alone.
    Info,
    /// Says what another one requires: never a finding alone.
    Meta,
    /// The program's fault: a finding without action on the card.
    App,
    /// A finding without action on the card.
    Warn,
    /// By its sub-code.
    Nvlink5,
    /// Unused on Ampere and later, real suspicion of the hardware on older cards.
    HwSuspect,
    /// The card is out of scheduling until it is reset.
    Reset,
    /// The card is out of scheduling until the machine is restarted.
    Reboot,
}

/// What an Xid asks for first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstAction {
    /// Count only.
    None,
    /// The program ends or has ended by itself; start it again, touch nothing else.
    RestartApp,
    /// Save the driver's report, tell the vendor if it comes back.
    Support,
    /// Stop scheduling, end all users of the card through their managers, then reset it.
    ResetGpu,
    /// Drain, then cut the power of the machine.
    Reboot,
    /// Only the guest's owner restarts the guest.
    RestartVm,
    /// Act on the recovery action that the driver names.
    #[serde(rename = "follow_154")]
    Follow154,
    /// Act on the one that caused it.
    FollowOther,
    /// Wait for the memory error's companions, then decide.
    EccFlow,
    /// Decode the link's words.
    NvlinkFlow,
    /// Decode the sub-code of the newer links.
    Nvlink5Flow,
    /// Look at power supply and cables.
    CheckPower,
    /// Look at the unified-memory driver.
    CheckUvm,
    /// Look at the program and its CUDA.
    CheckAppCuda,
    /// Newer software mends it.
    UpdateSw,
}

/// Returns every row, by number.
pub fn xids() -> &'static [XidFact] {
    static TABLE: OnceLock<Vec<XidFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/xid.csv")))
}

/// Returns what is known of an Xid.
pub fn xid(number: u32) -> Option<&'static XidFact> {
    let rows = xids();
    rows.binary_search_by_key(&number, |fact| fact.number).ok().map(|place| &rows[place])
}

#[cfg(test)]
mod tests {
    use super::{FirstAction, Severity, xid, xids};

    #[test]
    fn every_row_is_read_and_in_order() {
        assert_eq!(xids().len(), 176);
        assert!(xids().is_sorted_by(|one, next| one.number < next.number));
        for fact in xids() {
            assert!(!fact.mnemonic.is_empty() && !fact.meaning.is_empty(), "{}", fact.number);
            assert_eq!(xid(fact.number), Some(fact));
        }
    }

    #[test]
    fn well_known_numbers_say_what_they_mean() {
        let lost = xid(79).unwrap();
        assert_eq!((lost.severity, lost.first_action), (Severity::Reboot, FirstAction::Reboot));
        assert_eq!(xid(13).unwrap().first_action, FirstAction::RestartApp);
        assert_eq!(xid(154).unwrap().severity, Severity::Meta);
        assert_eq!(xid(48).unwrap().first_action, FirstAction::EccFlow);
        assert!(xid(45).unwrap().usually_follows.contains(&"79".to_owned()));
        assert_eq!(xid(0), None);
        assert_eq!(xid(999), None);
    }
}
