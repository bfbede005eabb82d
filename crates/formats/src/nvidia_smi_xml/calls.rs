//! Calls of the tool one after the other, as one window.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{NvmlSample, ReadTime, Sample, Section};
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};
use gpuwhy_model::window::window;
use jiff::Timestamp;

use crate::format::Format;
use crate::text::Remark;

/// One call's output.
pub(crate) struct Call {
    /// What should be said of its text.
    pub(crate) remarks: Vec<Remark>,
    /// Its time, where it says one.
    pub(crate) taken: Option<Timestamp>,
    pub(crate) nvml: NvmlSample,
    /// Whether the numbers of its cards are the library's; else they only stand for the places in this text.
    pub(crate) is_numbered: bool,
}

impl Call {
    /// Returns whether the other call can stand in one window behind this one: what is judged as one has a time each,
    /// in order.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        self.taken.is_some() && self.taken < other.taken
    }
}

/// Says of the whole cards that no input gives their number.
pub(crate) fn leave_unnumbered(scene: &mut Scene) {
    for card in scene.cards.iter_mut().filter(|card| card.parent.is_none()) {
        card.is_unnumbered = true;
    }
}

/// Makes the scene of calls, which stand in the order of their time; none without a call.
pub(crate) fn scene_of_calls(calls: &[Call], format: Format) -> Option<Scene> {
    let first = calls.first()?.taken.unwrap_or(Timestamp::UNIX_EPOCH);
    let samples: Vec<Sample> = calls
        .iter()
        .map(|call| {
            let wall = call.taken.unwrap_or(Timestamp::UNIX_EPOCH);
            let since_first = u64::try_from(wall.duration_since(first).as_nanos()).unwrap_or(0);
            let taken = ReadTime { boot_ns: since_first, wall };
            let mut sample = Sample::empty(taken);
            sample.nvml = Section { read: taken, value: Reading::Known(call.nvml.clone()) };
            sample
        })
        .collect();
    let mut scene = window(&samples);
    // The text tells neither how long the library took to start nor the time since boot.
    scene.machine.driver.init_ms = Reading::default();
    scene.window.end_boot_ns = None;
    if !calls.iter().any(|call| call.is_numbered) {
        leave_unnumbered(&mut scene);
    }
    scene.provenance = Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] };
    Some(scene)
}
