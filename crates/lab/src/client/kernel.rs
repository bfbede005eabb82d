//! What a client gives a card to do.

use std::time::Duration;

/// One piece of work for a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// Time that it takes alone on the card at the highest clock.
    pub duration: Duration,
    /// Intensity of its arithmetic, 0 to 1.
    pub compute: f64,
    /// Intensity of its memory traffic, 0 to 1.
    pub memory: f64,
    /// Intensity of its exchange with other cards, 0 to 1.
    pub communication: f64,
    /// Share of the multiprocessors that it fills, 0 to 1.
    pub sm_share: f64,
}

impl Kernel {
    /// A kernel of nothing but arithmetic on the whole card.
    pub fn of_arithmetic(duration: Duration) -> Self {
        Self { duration, compute: 1.0, memory: 0.25, communication: 0.0, sm_share: 1.0 }
    }

    /// A kernel that waits for memory.
    pub fn of_memory_traffic(duration: Duration) -> Self {
        Self { duration, compute: 0.2, memory: 1.0, communication: 0.0, sm_share: 1.0 }
    }

    /// A kernel that exchanges data with other cards, or waits for them.
    pub fn of_communication(duration: Duration) -> Self {
        Self { duration, compute: 0.0, memory: 0.1, communication: 1.0, sm_share: 0.15 }
    }
}

/// Data that move while a kernel runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes from the host to the card.
    pub to_card_bytes: u64,
    /// Bytes from the card to the host.
    pub to_host_bytes: u64,
    /// Bytes that the card sends to other cards, and receives from them: over NVLink where that is up, else
    /// over its link to the host.
    pub exchanged_bytes: u64,
}
