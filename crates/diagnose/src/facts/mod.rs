//! What the scene means, before any cause is judged: who holds a card, who loads data, whose run is over.

pub(crate) mod cards;
pub(crate) mod culprit;
pub(crate) mod idle;
pub(crate) mod kernel_log;
pub(crate) mod names;
pub(crate) mod peers;
pub(crate) mod run;
pub(crate) mod team;
pub(crate) mod waiting;
