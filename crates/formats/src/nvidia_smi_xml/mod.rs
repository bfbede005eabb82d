//! Output of `nvidia-smi -q -x`, of all drivers. The indented text of `nvidia-smi -q` becomes the same elements and is read
//! by the same readers.

mod calls;
mod card;
mod clients;
mod document;
mod element;
mod fabric;
mod health;
mod lines;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvmlSample};
use gpuwhy_model::scene::Scene;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::format::{Format, FormatError};
use crate::text::Remark;
pub(crate) use calls::{Call, leave_unnumbered, scene_of_calls};
pub(crate) use card::card_with_instances;
use document::Document;
pub(crate) use element::Element;
pub(crate) use lines::read_lines;
pub(crate) use value::small;

/// How the output writes its time, without a zone.
const TIME_FORMAT: &str = "%a %b %e %H:%M:%S %Y";

/// How much of an output is there.
struct Extent {
    is_cut: bool,
    has_no_begin: bool,
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
    let Document { root, cut_at } = document::document(text)?;
    let root = checked(root)?;
    let cut = cut_at.map(|line| Remark::Cut { line, cards: root.children("gpu").count() });
    let nvml = nvml(&root, &Extent { is_cut: cut.is_some(), has_no_begin: false });
    let is_numbered = is_numbered(&root, &nvml, cut.is_some());
    let call = Call { remarks: Vec::new(), taken: time(&root), nvml, is_numbered };
    let scene = scene_of_calls(&[call], Format::NvidiaSmiXml).unwrap_or_default();
    Ok((scene, cut.into_iter().collect()))
}

/// Returns the root of a document if it holds what the output has, and no more cards than a machine can have.
fn checked(root: Element) -> Result<Element, FormatError> {
    let refused = |expected: String, found: String| {
        Err(FormatError { format: Format::NvidiaSmiXml, line: root.line, expected, found })
    };
    if root.child(&["driver_version", "attached_gpus", "gpu"]).is_none() {
        return refused("`<driver_version>` or `<gpu>`".to_owned(), "none in the document".to_owned());
    }
    let cards = root.children("gpu").count();
    let parts = cards + root.children("gpu").map(|gpu| card::instances(gpu).count()).sum::<usize>();
    if cards > NvmlSample::CARDS_MAX as usize || parts > NvmlSample::PARTS_MAX as usize {
        return refused(
            format!("at most {} cards", NvmlSample::CARDS_MAX),
            format!("{cards} with {} instances", parts - cards),
        );
    }
    Ok(root)
}

/// Returns the time of a call; its zone is not written.
pub(crate) fn time(root: &Element) -> Option<Timestamp> {
    let element = root.child(&["timestamp"])?;
    let local = DateTime::strptime(TIME_FORMAT, &element.text).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

/// Returns a version; since driver 610 a remark in brackets may stand behind it.
pub(crate) fn version(element: Option<&Element>) -> Reading<String> {
    value::text(element)
        .map(|text| text.split_once(" [").map_or(text, |(version, _)| version).trim().to_owned())
}

/// Returns whether the cards of an output are all of the machine: then their places are the library's numbers.
fn is_numbered(root: &Element, nvml: &NvmlSample, is_part: bool) -> bool {
    let listed = u32::try_from(root.children("gpu").count()).unwrap_or(u32::MAX);
    !is_part && nvml.card_count == Reading::Known(listed)
}

fn nvml(root: &Element, extent: &Extent) -> NvmlSample {
    let attached = value::small(root.child(&["attached_gpus"]), "", "");
    NvmlSample {
        driver_version: version(root.child(&["driver_version", "kmd_version"])),
        cuda_version: version(root.child(&["cuda_version", "cuda_umd_version"])),
        // Of a cut output the first cards are there.
        cards: cards(root, attached.known().copied().filter(|_| !extent.is_cut), extent.has_no_begin),
        card_count: attached,
        ..NvmlSample::default()
    }
}

/// Reads all cards. They are listed in the library's order and carry no index: where only some of the cards were asked
/// for, or the first ones are missing, the numbers of their device files stand for it.
fn cards(root: &Element, attached: Option<u32>, has_no_begin: bool) -> Vec<CardSample> {
    let gpus: Vec<&Element> = root.children("gpu").collect();
    let minors: BTreeSet<u32> = gpus
        .iter()
        .filter_map(|gpu| value::small(gpu.child(&["minor_number"]), "", "").into_known())
        .collect();
    let are_some = has_no_begin
        || attached.is_some_and(|attached| u32::try_from(gpus.len()).is_ok_and(|listed| listed < attached));
    let by_minor = are_some && minors.len() == gpus.len();
    let mut cards = Vec::new();
    for (gpu, place) in gpus.iter().zip(0..) {
        let minor = value::small(gpu.child(&["minor_number"]), "", "").into_known();
        let index = minor.filter(|_| by_minor).unwrap_or(place);
        cards.extend(card::card_with_instances(gpu, index));
    }
    cards
}
