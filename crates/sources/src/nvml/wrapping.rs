//! A counter of 32 bits that begins anew when it is full, followed into a counter that does not.
//!
//! The driver counts the bytes of a PCIe link in 32 bits: a fast link fills them several times a second. Where that can
//! have happened more than once between two looks, nobody can tell how often, and there is no value.

use std::time::Duration;

use gpuwhy_model::reading::{Failure, Reading};

/// Where the counter begins anew.
const FULL: f64 = 4_294_967_296.0;

/// A counter that is followed.
#[derive(Debug, Default)]
pub(super) enum Wrapping {
    /// It was not read yet.
    #[default]
    Unread,
    /// All that was counted since the first look, with that look's own value, and when it was looked at.
    Followed { newest: u32, whole: u64, at: Duration },
    /// It ran ahead of us once: since then nobody knows.
    Escaped,
}

impl Wrapping {
    /// Takes the next value of a counter that grows by no more than `fastest` a second, and returns the whole.
    pub(super) fn follow(&mut self, value: u32, at: Duration, fastest: f64) -> Reading<u64> {
        let next = match *self {
            Self::Unread => Some(u64::from(value)),
            Self::Followed { newest, whole, at: before } => {
                let possible = at.saturating_sub(before).as_secs_f64() * fastest;
                (possible < FULL).then(|| whole + u64::from(value.wrapping_sub(newest)))
            }
            Self::Escaped => None,
        };
        let Some(whole) = next else {
            *self = Self::Escaped;
            let value = format!("{value}, which may have begun anew several times");
            return Reading::Failed(Failure::Implausible { value });
        };
        *self = Self::Followed { newest: value, whole, at };
        Reading::Known(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::Wrapping;
    use gpuwhy_model::reading::Reading;
    use std::time::Duration;

    const GIB_PER_S: f64 = 1_073_741_824.0;

    #[test]
    fn a_counter_is_followed_over_its_end() {
        let mut counter = Wrapping::default();
        let at = Duration::from_secs;
        assert_eq!(counter.follow(u32::MAX - 9, at(1), GIB_PER_S), Reading::Known(4_294_967_286));
        assert_eq!(counter.follow(20, at(2), GIB_PER_S), Reading::Known(4_294_967_316));
        assert_eq!(counter.follow(20, at(3), GIB_PER_S), Reading::Known(4_294_967_316));
    }

    #[test]
    fn one_that_may_have_ended_twice_is_no_counter_any_more() {
        let mut counter = Wrapping::default();
        assert!(counter.follow(5, Duration::ZERO, 16.0 * GIB_PER_S).is_known());
        assert!(!counter.follow(9, Duration::from_millis(500), 16.0 * GIB_PER_S).is_known());
        assert!(!counter.follow(9, Duration::from_millis(501), 16.0 * GIB_PER_S).is_known());
    }
}
