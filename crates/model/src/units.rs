//! Quantities with their unit in the type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;

/// A number with a unit that trends can be taken of.
pub trait Quantity: Copy + Default {
    /// Makes the quantity from a plain number in its own unit.
    fn from_number(number: f64) -> Self;
    /// Returns the plain number in the quantity's own unit.
    fn number(self) -> f64;
}

macro_rules! quantity {
    ($($(#[$attribute:meta])* $name:ident;)+) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl Quantity for $name {
            fn from_number(number: f64) -> Self {
                Self(number)
            }

            fn number(self) -> f64 {
                self.0
            }
        }
    )+};
}

quantity! {
    /// Hundredths of a whole, 0 to 100.
    Percent;
    /// Part of a whole, 0 to 1.
    Share;
    /// Electrical power in watts.
    Watts;
    /// Energy in joules since some start.
    Joules;
    /// Temperature, or a difference of temperatures, in degrees Celsius.
    Celsius;
    /// Clock frequency in megahertz.
    Megahertz;
    /// A length of time in seconds.
    Seconds;
    /// Processor time per wall time: 1.0 is one core fully used.
    Cores;
    /// A rate in bytes per second.
    BytesPerSecond;
}

/// An amount of memory or data in bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Makes an amount from mebibytes (2^20 bytes).
    pub const fn from_mebibytes(mebibytes: u64) -> Self {
        Self(mebibytes << 20)
    }
}

impl Quantity for Bytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative amounts cannot occur and the cast saturates"
    )]
    fn from_number(number: f64) -> Self {
        Self(number.round() as u64)
    }

    fn number(self) -> f64 {
        self.0 as f64
    }
}

closed_list! {
    /// The unit in which the report gives a number.
    pub enum Unit {
        /// Hundredths of a whole.
        Percent = "percent",
        /// Bytes.
        Bytes = "bytes",
        /// Bytes per second.
        BytesPerSecond = "bytes_per_second",
        /// Seconds.
        Seconds = "seconds",
        /// Watts.
        Watts = "watts",
        /// Degrees Celsius.
        Celsius = "celsius",
        /// Megahertz.
        Megahertz = "megahertz",
        /// Fully used processor cores.
        Cores = "cores",
        /// A number of things.
        Count = "count",
        /// A code of the driver or library.
        Code = "code",
        /// True or false, as 1 or 0.
        Flag = "flag",
        /// Raw text.
        Text = "text",
    }
}
