//! `sdiag`: how the scheduler itself does.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::SchedulerState;
use gpuwhy_model::units::Seconds;

use super::gathered::Gathered;
use super::words::count;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Reads the report, if it begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let is_title = |line: Option<&Line<'_>>| {
        line.is_some_and(|line| line.text.trim_start().starts_with("sdiag output at"))
    };
    let is_stars = |text: &str| text.len() >= 10 && text.bytes().all(|byte| byte == b'*');
    let is_begin = is_title(lines.first()) || is_stars(&lines.first()?.text) && is_title(lines.get(1));
    if !is_begin {
        return None;
    }
    let mut state = SchedulerState::default();
    let (mut taken, mut part) = (0, "");
    for (place, line) in lines.iter().enumerate().take(2000) {
        let text = line.text.trim();
        if command_after_prompt(text).is_some() {
            break;
        }
        if text.starts_with("Main schedule statistics") {
            part = "main";
        } else if text.starts_with("Backfilling stats") {
            part = "backfill";
        } else if text.starts_with("Remote Procedure Call") {
            part = "calls";
        }
        let is_title = ["sdiag", "Data since", "Main schedule", "Backfilling", "Bf ", "Pending RPC"];
        let is_of_it = text.is_empty()
            || is_stars(text)
            || text.contains(':')
            || is_title.iter().any(|title| text.starts_with(title))
            || part == "calls";
        if !is_of_it {
            break;
        }
        add(text, part, &mut state);
        if !text.is_empty() {
            taken = place + 1;
        }
    }
    let mut gathered = Gathered::default();
    gathered.scheduler = state;
    Some(Block { lines: taken, scene: gathered.scene(Format::Sdiag), remarks: Vec::new() })
}

fn add(text: &str, part: &str, state: &mut SchedulerState) {
    let Some((name, value)) = text.split_once(':') else {
        return;
    };
    let number: Reading<u64> = count(value.trim()).into();
    let cycle = number.clone().map(|microseconds| Seconds(microseconds as f64 / 1e6));
    match (part, name.trim()) {
        ("", "Jobs pending") => state.waiting = number,
        ("", "Jobs running") => state.running = number,
        ("", "Server thread count") => state.threads = number,
        ("", "Agent queue size") => state.unsent = number,
        ("main", "Last cycle") => state.cycle = cycle,
        ("backfill", "Last cycle") => state.backfill_cycle = cycle,
        _ => {}
    }
}
