//! Tables of `kubectl get`: pods, nodes, events, workloads, queues, quotas, with their own columns or others.

mod custom;
mod rows;

#[cfg(test)]
mod tests;

use super::columns::{Columns, split_at_commas};
use super::picture::Picture;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};
use custom::Custom;
use rows::{Kind, bare_row};

/// Further lines that are no rows end a table.
const STRAY_MAX: usize = 3;

/// Reads the table that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if let Some(table) = with_head(first, lines, context) {
        return Some(table);
    }
    bare_row(first)?;
    let mut picture = Picture::default();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let Some(add) = bare_row(&line.text) else {
            break;
        };
        add.to(&mut picture);
        taken = place + 1;
    }
    let remarks = vec![Remark::HasNoBegin { line: lines[0].number }];
    Some(Block { lines: taken, scene: picture.scene(Format::KubectlGet), remarks })
}

fn with_head(first: &str, lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let is_comma = first.contains(',') && !first.contains("  ");
    let columns = if is_comma { Columns::of_commas(first)? } else { Columns::of_head(first)? };
    let kind = Kind::of_columns(&columns).filter(|_| !is_comma);
    let custom =
        if kind.is_some() { None } else { Some(Custom::of_columns(&columns, is_comma, context.command)?) };
    let mut picture = Picture::default();
    let mut remarks = Vec::new();
    let mut taken = 1;
    let mut stray = 0;
    for (place, line) in lines.iter().enumerate().skip(1) {
        let text = line.text.as_ref();
        if command_after_prompt(text).is_some() || text == first && !is_comma && place > 1 && taken < place {
            break;
        }
        if text.trim().is_empty() {
            // Tables of several kinds stand below each other, with a blank line between them.
            break;
        }
        let cells = if is_comma { split_at_commas(text) } else { columns.cells(text) };
        let is_row = match (&kind, &custom) {
            (Some(kind), _) => kind.add(&columns, &cells, &mut picture),
            (None, Some(custom)) => custom.add(&cells, &mut picture),
            _ => false,
        };
        // The head again, where somebody watched.
        let is_head_again = text == first;
        if !is_row && !is_head_again {
            let goes_on = kind.as_ref().is_some_and(|kind| kind.continues(text, &mut picture));
            if !goes_on {
                stray += 1;
                if stray > STRAY_MAX || looks_like_other(text) {
                    break;
                }
                remarks.push(Remark::NotUnderstood { line: line.number });
                continue;
            }
        }
        stray = 0;
        taken = place + 1;
    }
    if picture.is_empty() && kind.is_none() {
        return None;
    }
    picture.is_recognised = true;
    let last = lines[taken - 1].number;
    remarks.retain(|remark| matches!(remark, Remark::NotUnderstood { line } if *line <= last));
    Some(Block { lines: taken, scene: picture.scene(Format::KubectlGet), remarks })
}

/// Returns whether a line surely belongs to another text.
fn looks_like_other(text: &str) -> bool {
    text.starts_with(['+', '|', '{', '[', '<', '#']) || text.contains(": ") || text.ends_with(':')
}
