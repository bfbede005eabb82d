//! What the scene means, before any cause is judged: who holds a card, who loads data, whose run is over.

pub(crate) mod card_memory;
pub(crate) mod cards;
pub(crate) mod claims;
pub(crate) mod cluster;
pub(crate) mod culprit;
pub(crate) mod effort;
pub(crate) mod exchange;
pub(crate) mod groups;
pub(crate) mod hot;
pub(crate) mod idle;
pub(crate) mod kernel_log;
pub(crate) mod kin;
pub(crate) mod members;
pub(crate) mod names;
pub(crate) mod peers;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod serving;
pub(crate) mod stacks;
pub(crate) mod team;
pub(crate) mod traces;
pub(crate) mod traffic;
pub(crate) mod unexplained;
pub(crate) mod versions;
pub(crate) mod waiting;
pub(crate) mod xids;
