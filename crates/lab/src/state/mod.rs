//! The table that all processes of one box share: who holds what, what each card has done so far.
//!
//! One file, memory-mapped by every client and every library, of fixed layout. All fields are atomics, so
//! that a reader without the lock sees old values but never broken ones. Writers hold the lock of the card; a
//! lock dies with its holder.

mod buckets;
mod clock;
mod ended;
mod layout;
mod lock;
mod map;
mod process;

use std::path::PathBuf;

pub use buckets::{BUCKET_NS, BucketRing, BucketSum};
pub use clock::{Clock, Instant};
pub use ended::{EndedClient, EndedClients};
pub use layout::{
    CardRecord, ClientSlot, EngineSample, EngineSamples, EngineWork, Header, Layout, MOST_CARDS,
    MOST_CLIENTS, MOST_INSTANCES, Occupancy, PowerSample, PowerSamples, REASON_BITS, Real, UsageKind,
};
pub use lock::{Held, LockError};
pub use map::State;
pub use process::{ProcessIdentity, is_gone, pid_namespace};

/// Why the state of a box cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file could not be created, opened, sized or mapped.
    #[error("cannot {attempt} box state `{}`", path.display())]
    File {
        /// What was attempted.
        attempt: &'static str,
        /// The state file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file was made by another version of the lab, or is no state file.
    #[error("`{}` is not the state of a box of this version", path.display())]
    Foreign {
        /// The state file.
        path: PathBuf,
    },
}
