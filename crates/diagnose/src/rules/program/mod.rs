//! Causes that lie in the program itself.

pub(crate) mod app_error;
