//! The memory of a card.

pub(crate) mod bar1_exhausted;
pub(crate) mod display_process;
pub(crate) mod idle_reserved;
pub(crate) mod memory_preallocated;
pub(crate) mod vram_fragmented;
pub(crate) mod vram_full;
pub(crate) mod vram_held_by_dead_process;
pub(crate) mod vram_held_by_hidden_process;
pub(crate) mod vram_leak;
