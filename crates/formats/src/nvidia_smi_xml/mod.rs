//! Output of `nvidia-smi -q -x`, of all drivers.

mod card;
mod clients;
mod document;
mod health;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvmlSample, ReadTime, Sample, Section};
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};
use gpuwhy_model::window::window;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::format::{Format, FormatError};
use document::{Document, Element};

/// How the output writes its time, without a zone.
const TIME_FORMAT: &str = "%a %b %e %H:%M:%S %Y";

/// What should be said of a text beside the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// Its end is missing: only what is whole before it was read.
    Cut {
        /// The line, from 1, at which it ends.
        line: u64,
        /// How many whole cards there are.
        cards: usize,
    },
    /// It holds more than one output: the first was read.
    IsFollowed,
}

/// Reads the output of one call. It is a single look: trends have one value, rates need a second look.
///
/// The output names no time zone: its time is taken as UTC.
///
/// # Errors
/// Fails when the text is no XML, XML of something else, or cut before the first card is whole.
pub fn read(text: &str) -> Result<Scene, FormatError> {
    read_with_remarks(text).map(|(scene, _)| scene)
}

/// Reads as [`read`] does, and returns what should be said of the text.
///
/// # Errors
/// As those of [`read`].
pub fn read_with_remarks(text: &str) -> Result<(Scene, Vec<Remark>), FormatError> {
    let Document { root, cut_at, is_followed } = document::document(text)?;
    if root.child(&["driver_version", "attached_gpus", "gpu"]).is_none() {
        return Err(FormatError {
            format: Format::NvidiaSmiXml,
            line: root.line,
            expected: "`<driver_version>` or `<gpu>`".to_owned(),
            found: "none in the document".to_owned(),
        });
    }
    let cards = root.children("gpu").count();
    let parts = cards + root.children("gpu").map(|gpu| card::instances(gpu).count()).sum::<usize>();
    if cards > NvmlSample::CARDS_MAX as usize || parts > NvmlSample::PARTS_MAX as usize {
        return Err(FormatError {
            format: Format::NvidiaSmiXml,
            line: root.line,
            expected: format!("at most {} cards", NvmlSample::CARDS_MAX),
            found: format!("{cards} with {} instances", parts - cards),
        });
    }
    let cut = cut_at.map(|line| Remark::Cut { line, cards });
    let remarks = cut.into_iter().chain(is_followed.then_some(Remark::IsFollowed)).collect();
    Ok((scene(&root, cut.is_some()), remarks))
}

fn scene(root: &Element, is_cut: bool) -> Scene {
    let taken = ReadTime { boot_ns: 0, wall: time(root).unwrap_or(Timestamp::UNIX_EPOCH) };
    let mut sample = Sample::empty(taken);
    sample.nvml = Section { read: taken, value: Reading::Known(nvml(root, is_cut)) };
    let mut scene = window(&[sample]);
    // The text tells neither how long the library took to start nor the time since boot.
    scene.machine.driver.init_ms = Reading::default();
    scene.window.end_boot_ns = None;
    scene.provenance =
        Provenance { source: SourceKind::Text, inputs: vec![Format::NvidiaSmiXml.to_string()] };
    scene
}

fn time(root: &Element) -> Option<Timestamp> {
    let element = root.child(&["timestamp"])?;
    let local = DateTime::strptime(TIME_FORMAT, &element.text).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

fn nvml(root: &Element, is_cut: bool) -> NvmlSample {
    let attached = value::small(root.child(&["attached_gpus"]), "", "");
    NvmlSample {
        driver_version: value::text(root.child(&["driver_version"])).map(str::to_owned),
        cuda_version: value::text(root.child(&["cuda_version"])).map(str::to_owned),
        // Of a cut output the first cards are there.
        cards: cards(root, attached.known().copied().filter(|_| !is_cut)),
        card_count: attached,
        ..NvmlSample::default()
    }
}

/// Reads all cards. They are listed in the library's order and carry no index: where only some of the cards were asked
/// for, the numbers of their device files stand for it.
fn cards(root: &Element, attached: Option<u32>) -> Vec<CardSample> {
    let gpus: Vec<&Element> = root.children("gpu").collect();
    let minors: BTreeSet<u32> = gpus
        .iter()
        .filter_map(|gpu| value::small(gpu.child(&["minor_number"]), "", "").into_known())
        .collect();
    let are_some =
        attached.is_some_and(|attached| u32::try_from(gpus.len()).is_ok_and(|listed| listed < attached));
    let by_minor = are_some && minors.len() == gpus.len();
    let mut cards = Vec::new();
    for (gpu, place) in gpus.iter().zip(0..) {
        let minor = value::small(gpu.child(&["minor_number"]), "", "").into_known();
        let index = minor.filter(|_| by_minor).unwrap_or(place);
        cards.extend(card::card_with_instances(gpu, index));
    }
    cards
}
