//! What the network says.

use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::sample::InterfaceKind;
use crate::units::BytesPerSecond;

/// A network interface over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What came in.
    pub received: Reading<BytesPerSecond>,
    /// What went out.
    pub sent: Reading<BytesPerSecond>,
    /// What the link can carry, one way.
    pub link: Reading<BytesPerSecond>,
    /// What kind.
    pub kind: InterfaceKind,
    /// Whether it is up, newest.
    pub up: Reading<bool>,
    /// Packets that were damaged or dropped in the window.
    pub errors: Reading<u64>,
    /// Times that the link went down in the window.
    pub downs: Reading<u64>,
    /// Ticks a second in which data had to wait for credit of the other side.
    pub congestion_per_s: Reading<f64>,
}
