//! What runs on a card, and how fast it gets on.

/// One kernel as it runs: how hard it works which part of the card (0 to 1 each).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Intensity {
    /// Arithmetic.
    pub compute: f64,
    /// Memory traffic.
    pub memory: f64,
    /// Exchange with other cards.
    pub communication: f64,
    /// Share of the multiprocessors that are filled.
    pub sm_share: f64,
}

impl Intensity {
    /// How much longer the kernel takes at `clock_ratio` of the highest clock: only its arithmetic feels the
    /// clock.
    pub(super) fn slowdown(&self, clock_ratio: f64) -> f64 {
        let whole = self.compute + self.memory + self.communication;
        if whole <= 0.0 {
            return 1.0;
        }
        let bound_by_clock = self.compute / whole;
        bound_by_clock / clock_ratio.max(0.01) + (1.0 - bound_by_clock)
    }

    /// What the kernel draws at the highest clock, as a share of what the card can draw beyond its context.
    pub(super) fn draw(&self) -> f64 {
        let everywhere = self.compute + 0.45 * self.memory + 0.12 * self.communication;
        (everywhere * self.sm_share.clamp(0.0, 1.0)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPUTE: Intensity = Intensity { compute: 1.0, memory: 0.0, communication: 0.0, sm_share: 1.0 };

    #[test]
    fn only_arithmetic_feels_the_clock() {
        assert!((COMPUTE.slowdown(0.5) - 2.0).abs() < 1e-9);
        let mixed = Intensity { compute: 0.5, memory: 0.5, ..COMPUTE };
        assert!((mixed.slowdown(0.5) - 1.5).abs() < 1e-9);
        let exchange = Intensity { compute: 0.0, communication: 1.0, ..COMPUTE };
        assert!((exchange.slowdown(0.5) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_waiting_exchange_draws_little() {
        assert!((COMPUTE.draw() - 1.0).abs() < 1e-9);
        let exchange = Intensity { compute: 0.0, communication: 1.0, ..COMPUTE };
        assert!(exchange.draw() < 0.2);
        let one_multiprocessor = Intensity { sm_share: 0.01, ..COMPUTE };
        assert!(one_multiprocessor.draw() < 0.02);
    }
}
