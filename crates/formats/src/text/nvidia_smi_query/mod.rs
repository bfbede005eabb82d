//! Output of `nvidia-smi -q` as indented text: whole, of some sections (`-d`), or parts of it that somebody picked out.
//!
//! Its lines become the elements that the XML of the same tool has, which are read by the readers of the XML.

mod extent;
mod line;
mod names;
mod reader;
mod tree;

#[cfg(test)]
mod tests;

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardSample, NvmlSample};
use gpuwhy_model::scene::Scene;

use super::nvidia_scene::{asked_for, container_of, names_cards};
use super::{Block, Context, Remark};
use crate::Format;
use crate::nvidia_smi_xml::{Call, Element, card_with_instances, scene_of_calls, small, time, version};
use crate::paste::Line;
use extent::{Begin, begin};
use reader::{Output, output};

/// So many calls in a row make one look over time; more begin another.
const CALLS_MAX: usize = 512;

/// Reads the output that begins with the first of these lines, and those of further calls right behind it.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let mut calls: Vec<Call> = Vec::new();
    let mut taken = 0;
    let mut has_open_list = false;
    while calls.len() < CALLS_MAX
        && let Some((call, length, is_open)) = call(&lines[taken..], context, calls.is_empty())
        && calls.last().is_none_or(|last| last.is_before(&call))
    {
        calls.push(call);
        taken += length;
        has_open_list = is_open;
        let blank = lines[taken..].iter().take(4).take_while(|line| line.text.trim().is_empty()).count();
        if blank == 4 || begin(&lines[taken + blank..], false) != Some(Begin::Heading) {
            break;
        }
        taken += blank;
    }
    let mut scene = scene_of_calls(&calls, Format::NvidiaSmiQuery)?;
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    if has_open_list {
        leave_list_open(&mut scene);
    }
    let remarks = calls.into_iter().flat_map(|call| call.remarks).collect();
    Some(Block { lines: taken, scene, remarks })
}

/// Says of the last card that others may hold memory, behind the end of the text.
fn leave_list_open(scene: &mut Scene) {
    if let Some(card) = scene.cards.iter_mut().rev().find(|card| card.parent.is_none()) {
        card.unexplained = Failure::Syntax {
            path: Format::NvidiaSmiQuery.to_string(),
            line: 0,
            expected: "the end of the list of processes".to_owned(),
        }
        .into_reading();
    }
}

/// Returns the first call's output, how many lines it has, and whether its last list may go on.
fn call(lines: &[Line<'_>], context: &Context<'_>, is_first: bool) -> Option<(Call, usize, bool)> {
    let is_commanded = is_first && context.command.is_some_and(|command| command.contains("nvidia-smi"));
    let begin = begin(lines, is_commanded)?;
    let output = output(lines, begin, is_commanded);
    let gpus: Vec<&Element> = output.root.children("gpu").collect();
    let has_head = output.root.child(&["driver_version", "attached_gpus", "attached_units"]).is_some();
    if gpus.is_empty() && !has_head {
        return None;
    }
    let attached = small(output.root.child(&["attached_gpus"]), "", "");
    let listed = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
    let are_some = attached.known().is_some_and(|attached| listed < *attached);
    let names_cards = context.command.is_some_and(names_cards);
    let is_cut = output.is_last && are_some && !names_cards;
    let is_asked = context.command.and_then(asked_for).is_some_and(|asked| asked.len() == gpus.len());
    let is_whole = output.begin == Begin::Heading && attached == Reading::Known(listed);
    let mut cards = cards(&gpus, &output, are_some && !is_cut, context.command);
    cards.truncate(NvmlSample::PARTS_MAX as usize);
    let nvml = NvmlSample {
        driver_version: version(output.root.child(&["driver_version"])),
        cuda_version: version(output.root.child(&["cuda_version"])),
        card_count: attached,
        cards,
        ..NvmlSample::default()
    };
    let taken = time(&output.root);
    let (length, has_open_list) = (output.lines, output.has_open_list);
    let remarks = remarks(output, is_cut, listed, lines);
    let is_numbered = is_asked || is_whole;
    Some((Call { remarks, taken, nvml, is_numbered }, length, has_open_list))
}

fn remarks(output: Output, is_cut: bool, cards: u32, lines: &[Line<'_>]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if output.begin == Begin::Inside
        && let Some(first) = lines.first()
    {
        remarks.push(Remark::HasNoBegin { line: first.number });
    }
    if is_cut && let Some(last) = output.lines.checked_sub(1).and_then(|last| lines.get(last)) {
        remarks.push(Remark::Cut { line: last.number, cards: cards as usize });
    }
    remarks.extend(output.remarks);
    remarks
}

/// Reads all cards. They are listed in the library's order and carry no index.
fn cards(gpus: &[&Element], output: &Output, are_some: bool, command: Option<&str>) -> Vec<CardSample> {
    let indices = indices(gpus, output, are_some, command);
    gpus.iter().zip(indices).flat_map(|(gpu, index)| card_with_instances(gpu, index)).collect()
}

/// Returns the numbers of cards: those that were asked for, or of all cards their places; where others may stand above,
/// the numbers of their device files.
fn indices(gpus: &[&Element], output: &Output, are_some: bool, command: Option<&str>) -> Vec<u32> {
    let places: Vec<u32> = (0..).take(gpus.len()).collect();
    if let Some(asked) = command.and_then(asked_for)
        && asked.len() == gpus.len()
    {
        return asked;
    }
    if !are_some && output.begin == Begin::Heading {
        return places;
    }
    let minors: Vec<Option<u32>> = gpus
        .iter()
        .map(|gpu| small(gpu.child(&["minor_number"]), "", "").into_known().filter(|minor| *minor < 4096))
        .collect();
    // What stands above the first whole card is the end of the card before it.
    let mut numbers = minors.clone();
    if let [None, Some(second), ..] = minors[..]
        && gpus.first().is_some_and(|first| first.id.is_none())
    {
        numbers[0] = second.checked_sub(1);
    }
    let rise = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let known: Option<Vec<u32>> = numbers.into_iter().collect();
    known.filter(|_| rise).unwrap_or(places)
}
