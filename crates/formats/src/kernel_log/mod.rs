//! The kernel log: its records, which of them matter here, and the facts in them.

mod address;
mod facts;
mod journal;
mod out_of_memory;
mod record;
mod relevance;
mod xid;

pub use address::pci_address;
pub use facts::{fact, fallen_off_the_bus};
pub use journal::journal_entry;
pub use record::{kmsg_record, kmsg_records};
pub use relevance::is_about_cards;
pub use xid::{Xid, xid};
