//! Output of `nvidia-smi -q -x` inside a paste: where it begins and ends, and several calls in a row as one window.

use super::calls::{Call, scene_of_calls};
use super::document::{Document, document};
use super::{Extent, checked, is_numbered, nvml, time};
use crate::format::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};

/// The root may stand so many lines below the declaration.
const HEAD_LINES: usize = 8;

const ROOT_START: &str = "<nvidia_smi_log";
const ROOT_END: &str = "</nvidia_smi_log>";

/// How a card begins; no other tool writes it so.
const CARD_START: &str = "<gpu id=\"";

/// Reads the output that begins with the first line, and those of further calls right behind it.
pub(crate) fn read_lines(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let mut calls: Vec<Call> = Vec::new();
    let mut taken = 0;
    while let Some((call, length)) = first_call(&lines[taken..]) {
        if calls.last().is_some_and(|last| !last.is_before(&call)) {
            break;
        }
        calls.push(call);
        taken += length;
        let blank = lines[taken..].iter().take_while(|line| line.text.trim().is_empty()).count();
        if !lines.get(taken + blank).is_some_and(|line| begins(line, &lines[taken + blank..])) {
            break;
        }
        taken += blank;
    }
    let scene = scene_of_calls(&calls, Format::NvidiaSmiXml)?;
    let remarks = calls.into_iter().flat_map(|call| call.remarks).collect();
    Some(Block { lines: taken, scene, remarks })
}

/// Returns the first output, and how many lines it has.
fn first_call(lines: &[Line<'_>]) -> Option<(Call, usize)> {
    let first = lines.first()?;
    if !begins(first, lines) {
        return None;
    }
    let has_no_begin = is_card(first);
    let length = length(lines, has_no_begin);
    let body: Vec<&str> = lines[..length].iter().map(|line| line.text.as_ref()).collect();
    let mut text = body.join("\n");
    if has_no_begin {
        text.insert_str(0, "<nvidia_smi_log>");
    }
    let Document { root, cut_at } = document(&text).ok()?;
    let root = checked(root).ok()?;
    let number = |line: u64| {
        let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        lines[..length].get(place).map_or(first.number, |line| line.number)
    };
    let mut remarks = Vec::new();
    if has_no_begin {
        remarks.push(Remark::HasNoBegin { line: first.number });
    }
    if let Some(line) = cut_at {
        remarks.push(Remark::Cut { line: number(line), cards: root.children("gpu").count() });
    }
    let nvml = nvml(&root, &Extent { is_cut: cut_at.is_some(), has_no_begin });
    let is_numbered = is_numbered(&root, &nvml, cut_at.is_some() || has_no_begin);
    Some((Call { remarks, taken: time(&root), nvml, is_numbered }, length))
}

/// Returns whether an output begins with a line; its declaration may stand before it.
fn begins(first: &Line<'_>, lines: &[Line<'_>]) -> bool {
    let text = first.text.trim_start();
    if !text.starts_with('<') {
        return false;
    }
    let is_head = text.starts_with("<?xml") || text.starts_with("<!DOCTYPE nvidia_smi_log");
    let has_root = |line: &Line<'_>| line.text.contains(ROOT_START);
    has_root(first) || is_head && lines.iter().take(HEAD_LINES).any(has_root) || is_card(first)
}

fn is_card(line: &Line<'_>) -> bool {
    line.text.trim_start().starts_with(CARD_START)
}

/// Returns the number of lines up to the end of the root; of a cut output up to what is no XML, or begins anew.
fn length(lines: &[Line<'_>], has_no_begin: bool) -> usize {
    let mut is_inside = has_no_begin;
    let mut is_in_card = false;
    let mut last_tag = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let has_root = text.contains(ROOT_START);
        // A card inside a card is none: each look ahead ends at the next one.
        if is_inside && (has_root || text.starts_with("<?xml")) || is_in_card && is_card(line) {
            return place;
        }
        is_inside |= has_root;
        is_in_card = (is_card(line) || is_in_card) && !text.contains("</gpu>");
        if text.contains(ROOT_END) {
            return place + 1;
        }
        if command_after_prompt(&line.text).is_some() {
            break;
        }
        if text.starts_with('<') {
            last_tag = place;
        }
    }
    last_tag + 1
}
