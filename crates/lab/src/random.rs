//! A small seeded generator: the same seed and purpose give the same draws on every machine.

/// A stream of draws for one purpose (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed` for `purpose`; streams of different purposes have nothing to do with each other.
    pub fn of(seed: u64, purpose: &str) -> Self {
        let mut random = Self { state: seed };
        for byte in purpose.bytes() {
            random.state ^= u64::from(byte);
            random.state = random.next();
        }
        random
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "a stream that never ends is no iterator here")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number from 0 up to, not including, `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// A number between `low` and `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// The time between two events that happen `rate` times per second, in seconds.
    pub fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_purpose_give_the_same_draws() {
        let draws = |seed, purpose| {
            let mut random = Random::of(seed, purpose);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(draws(7, "cards"), draws(7, "cards"));
        assert_ne!(draws(7, "cards"), draws(8, "cards"));
        assert_ne!(draws(7, "cards"), draws(7, "ranks"));
    }

    #[test]
    fn units_fill_their_range() {
        let mut random = Random::of(1, "units");
        let units: Vec<f64> = (0..1000).map(|_| random.unit()).collect();
        assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
        assert!(units.iter().any(|&unit| unit < 0.01) && units.iter().any(|&unit| unit > 0.99));
    }
}
