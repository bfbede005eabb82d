//! An amount of what a scheduler gives: what a job asks for, what a node has, what a limit allows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::units::{Bytes, Cores, Seconds};

/// An amount of what a scheduler gives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resources {
    /// Nodes.
    pub nodes: Reading<u64>,
    /// Cards of any kind.
    pub cards: Reading<u64>,
    /// Cards by kind, in the scheduler's own names in lower case: `a100`, `mig-1g.5gb`. Their sum may be less than
    /// `cards`: the kind of some is not said.
    pub card_kinds: BTreeMap<String, u64>,
    /// Processors as the scheduler counts them: cores or threads.
    pub cpus: Reading<Cores>,
    /// Memory of the host.
    pub memory: Reading<Bytes>,
    /// Time at most; unsupported: as long as it likes.
    pub time: Reading<Seconds>,
    /// Jobs at a time.
    pub jobs: Reading<u64>,
}

impl Resources {
    /// Returns whether nothing is said of any amount.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
