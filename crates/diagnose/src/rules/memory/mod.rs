//! The memory of a card.

pub(crate) mod idle_reserved;
pub(crate) mod vram_full;
pub(crate) mod vram_held_by_dead_process;
