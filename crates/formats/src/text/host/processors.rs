//! Output of `mpstat`.

use std::collections::BTreeSet;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::units::{Cores, Share};

use super::amounts::number;
use super::commands::interval_s;
use super::disks::title;
use super::{block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads the reports that begin with the first line, if any do.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let title = title(first);
    let begins = |place: usize| super::text(lines, place).and_then(head).is_some();
    let is_begin = if title.is_some() { (1..=2).any(begins) } else { begins(0) };
    if !is_begin {
        return None;
    }
    let from_title = usize::from(title.is_some());
    let mut scene = scene(Format::Mpstat);
    if let Some(title) = title {
        title.fill(&mut scene);
    }
    let mut names: Vec<&str> = Vec::new();
    let mut reports: Vec<Shares> = Vec::new();
    let mut mean: Option<Shares> = None;
    let mut each: BTreeSet<&str> = BTreeSet::new();
    let mut taken = from_title;
    for (place, line) in lines.iter().enumerate().skip(from_title) {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            continue;
        }
        if let Some(found) = head(text) {
            names = found;
        } else if let Some((processor, shares)) = row(&names, text) {
            if processor == "all" && text.starts_with("Average") {
                mean = Some(shares);
            } else if processor == "all" {
                reports.push(shares);
            } else {
                each.insert(processor);
            }
        } else {
            break;
        }
        taken = place + 1;
    }
    if !scene.host.cpus.is_known() && each.len() > 1 {
        scene.host.cpus = Reading::Known(each.len() as u64);
    }
    let interval = interval_s(context.command, "mpstat");
    let is_of_now = mean.is_some() || reports.len() > 1 || interval.is_some();
    let shares = mean.or_else(|| Shares::mean(&reports)).filter(|_| is_of_now);
    if let Some(shares) = shares {
        scene.window.samples = reports.len().max(1);
        scene.window.span_s = interval.unwrap_or(1.0) * reports.len() as f64;
        let cpus = scene.host.cpus.known().copied();
        scene.host.cores_used = cpus.map(|cpus| Cores(shares.used * cpus as f64)).into();
        scene.host.steal = shares.steal.map(Share).into();
    }
    Some(block(taken, scene))
}

/// Shares of processor time, from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Shares {
    used: f64,
    steal: Option<f64>,
}

impl Shares {
    fn mean(all: &[Self]) -> Option<Self> {
        let steal: Option<Vec<f64>> = all.iter().map(|shares| shares.steal).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let used: Vec<f64> = all.iter().map(|shares| shares.used).collect();
        (!all.is_empty()).then(|| Self { used: mean(&used), steal: steal.map(|steal| mean(&steal)) })
    }
}

/// Returns the names of the columns from `CPU` on, if a line is the head of a report.
fn head(text: &str) -> Option<Vec<&str>> {
    if !text.contains("%idle") {
        return None;
    }
    let mut words = text.split_ascii_whitespace().skip_while(|word| *word != "CPU");
    words.next()?;
    let names: Vec<&str> = words.collect();
    (names.contains(&"%idle") && names.iter().any(|name| name.starts_with("%us"))).then_some(names)
}

/// Reads the row of one processor, or of all.
fn row<'line>(names: &[&str], text: &'line str) -> Option<(&'line str, Shares)> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let place = words.len().checked_sub(names.len() + 1)?;
    let processor = words[place];
    let is_processor = processor == "all" || processor.bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Vec<f64> = words[place + 1..].iter().map_while(|word| number(word)).collect();
    if !is_processor || numbers.len() != names.len() || names.is_empty() || place > 3 {
        return None;
    }
    let value = |wanted: &str| names.iter().position(|name| *name == wanted).map(|place| numbers[place]);
    let idle = value("%idle")? + value("%iowait").unwrap_or(0.0);
    let used = (1.0 - idle / 100.0).max(0.0);
    Some((processor, Shares { used, steal: value("%steal").map(|steal| steal / 100.0) }))
}
