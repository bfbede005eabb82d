//! Answers that close the list: nothing is wrong, or nothing can be decided.

pub(crate) mod nothing_wrong;
pub(crate) mod undetermined;
