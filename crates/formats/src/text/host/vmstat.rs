//! Output of `vmstat`.

use gpuwhy_model::reading::Reading;

use super::amounts::whole;
use super::commands::{interval_s, words_of};
use super::{block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// A page on most machines, in KiB.
const PAGE_KIB: f64 = 4.0;

/// Reads the table that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let head_at = usize::from(is_title(first));
    if head_at == 0 && !first.trim_start().starts_with("r ") {
        return None;
    }
    let names: Vec<&str> = super::text(lines, head_at)?.split_ascii_whitespace().collect();
    if !names.starts_with(&["r", "b", "swpd"]) && !names.starts_with(&["r", "b", "avm"]) {
        return None;
    }
    let value = |row: &[u64], name: &str| row.get(names.iter().position(|known| *known == name)?).copied();
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut taken = head_at + 1;
    for line in lines.iter().skip(taken) {
        let text = line.text.as_ref();
        // Long outputs repeat their head.
        if is_title(text) || text.split_ascii_whitespace().take(3).eq(names.iter().copied().take(3)) {
            taken += 1;
            continue;
        }
        let row: Vec<u64> = text.split_ascii_whitespace().map_while(whole).collect();
        if row.len() < names.iter().filter(|name| !matches!(**name, "UTC" | "CST" | "CET")).count().min(15) {
            break;
        }
        rows.push(row);
        taken += 1;
    }
    let mut scene = scene(Format::Vmstat);
    // The first row is about all the time since boot.
    if let Some(recent) = rows.get(1..).filter(|recent| !recent.is_empty()) {
        scene.window.samples = recent.len();
        scene.window.span_s = interval_s(context.command, "vmstat").unwrap_or(1.0) * recent.len() as f64;
        let unit = unit(context);
        let pages = |name: &str| {
            let all: Option<Vec<u64>> = recent.iter().map(|row| value(row, name)).collect();
            let mean = all.map(|all| all.iter().map(|amount| *amount as f64).sum::<f64>() / all.len() as f64);
            Reading::from(mean.map(|mean| mean * unit / PAGE_KIB))
        };
        scene.host.paging.swapped_in_per_s = pages("si");
        scene.host.paging.swapped_out_per_s = pages("so");
    }
    Some(block(taken, scene))
}

/// Returns whether a line names groups of columns: `procs -----------memory---------- ---swap-- …`.
fn is_title(text: &str) -> bool {
    text.trim_start_matches('-').starts_with("procs") && text.contains("memory") && text.contains("swap")
}

/// Returns how many KiB a number counts.
fn unit(context: &Context<'_>) -> f64 {
    let options = context.command.and_then(|command| words_of(command, "vmstat")).unwrap_or_default();
    let unit =
        options.iter().position(|word| *word == "-S").and_then(|place| options.get(place + 1)).copied();
    let glued = options.iter().find_map(|word| word.strip_prefix("-S").filter(|unit| !unit.is_empty()));
    match unit.or(glued) {
        Some("M") => 1024.0,
        Some("m") => 1_000_000.0 / 1024.0,
        Some("k") => 1000.0 / 1024.0,
        _ => 1.0,
    }
}
