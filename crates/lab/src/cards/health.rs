//! Memory errors of a card and their repair, at one moment.

use std::sync::atomic::Ordering::Relaxed;

use super::Machine;
use crate::board::{Card, ErrorCounts};
use crate::state::Clock;

/// Memory errors and repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryHealth {
    /// Corrected errors since the driver was loaded or the card was reset.
    pub corrected: ErrorCounts,
    /// Uncorrected errors since then.
    pub uncorrected: ErrorCounts,
    /// Corrected errors ever.
    pub corrected_ever: ErrorCounts,
    /// Uncorrected errors ever.
    pub uncorrected_ever: ErrorCounts,
    /// Whether a repair waits for a reset.
    pub is_repair_pending: bool,
}

impl Machine {
    /// Memory errors and repairs of a card at this moment.
    pub fn memory_health(&self, card: &Card) -> MemoryHealth {
        let now_s = self.since_start(Clock::now());
        let corrected = self.corrected_at(card, now_s);
        let uncorrected = card.setting.ecc.uncorrected;
        let reset_s = self.reset_s(card);
        let (corrected_before, uncorrected_before) = reset_s.map_or_else(Default::default, |reset_s| {
            let then = self.board().card_at(card.index, reset_s);
            let uncorrected = then.map(|card| card.setting.ecc.uncorrected).unwrap_or_default();
            (then.map(|card| self.corrected_at(card, reset_s)).unwrap_or_default(), uncorrected)
        });
        let pending_since = self.board().holds_since(card.index, now_s, |setting| setting.repair.pending);
        MemoryHealth {
            corrected: minus(corrected, corrected_before),
            uncorrected: minus(uncorrected, uncorrected_before),
            corrected_ever: corrected.plus(card.setting.ecc.earlier_corrected),
            uncorrected_ever: uncorrected.plus(card.setting.ecc.earlier_uncorrected),
            is_repair_pending: pending_since
                .is_some_and(|since| reset_s.is_none_or(|reset_s| reset_s < since)),
        }
    }

    /// Corrected errors until `at_s`, of a card as it is then.
    fn corrected_at(&self, card: &Card, at_s: f64) -> ErrorCounts {
        let grown = self.board().grown(card.index, at_s, |setting| setting.ecc.corrected_per_s);
        card.setting.ecc.corrected.plus(ErrorCounts { dram: whole(grown), sram: 0 })
    }

    /// When the card was reset, in seconds after the box came up.
    fn reset_s(&self, card: &Card) -> Option<f64> {
        let reset_at = self.state().layout().cards[card.index].reset_at.load(Relaxed);
        (reset_at > 0).then(|| self.since_start(reset_at))
    }
}

fn minus(now: ErrorCounts, before: ErrorCounts) -> ErrorCounts {
    ErrorCounts { dram: now.dram.saturating_sub(before.dram), sram: now.sram.saturating_sub(before.sram) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, never negative")]
pub(super) fn whole(value: f64) -> u64 {
    value.floor() as u64
}
