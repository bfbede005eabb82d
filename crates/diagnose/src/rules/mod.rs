//! The rules: one folder per cause, with its code, its pages, its words and its cases.

pub(crate) mod answers;
pub(crate) mod communication;
pub(crate) mod compute;
pub(crate) mod container;
pub(crate) mod hardware;
pub(crate) mod heat;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod software;
pub(crate) mod starvation;
pub(crate) mod waiting;
