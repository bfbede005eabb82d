//! The NVIDIA library, asked through one disposable child process.
//!
//! A call into a broken driver may never return, and the process that made it may be unkillable. So this process never
//! makes one: a child of our own program does ([`child_main`]), and the [`Driver`] here asks it for sweeps, watches in
//! which call it sits, and names it when it does not come back. There is at most one child in the life of a [`Driver`],
//! and none at all while an older child of ours is still stuck.

mod answers;
mod call;
mod caller;
mod child;
mod descriptors;
mod driver;
mod heartbeat;
mod line;
mod partial;
mod plausible;
mod process_list;
mod protocol;
mod raw;
mod remembered;
mod spawn;
mod stuck;
mod survivor;
mod sweep;
mod watch;
mod wrapping;

pub use child::child_main;
pub use driver::ChildProgram;
pub(crate) use driver::{Driver, DriverOptions, Wanted};
pub(crate) use heartbeat::is_name_of_a_child;
pub use protocol::{CHILD_COMMAND, Effort};
pub(crate) use survivor::Survivors;
