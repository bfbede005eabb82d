//! What somebody copied from the window of `htop`.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::HostMemory;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::units::Cores;

use super::columns;
use super::ps::Table;
use super::{amounts, block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Meters of all processors stand on no more lines.
const METER_LINES_MAX: usize = 300;

/// Reads the window that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let is_begin = is_head(first) || has_meter(first) && leads_to_head(lines);
    if !is_begin {
        return None;
    }
    let mut scene = scene(Format::Htop);
    let mut meters = Meters::default();
    for (place, line) in lines.iter().enumerate().take(METER_LINES_MAX) {
        let text = line.text.as_ref();
        if is_head(text) {
            let head = columns::head(text)?;
            let mut table = Table::default();
            let (rows, remarks) = table.take(&head, &lines[place + 1..]);
            scene.processes = table.into_processes();
            let after = place + 1 + rows;
            let keys = super::text(lines, after).is_some_and(|text| text.trim_start().starts_with("F1"));
            meters.fill(&mut scene);
            return Some(Block { remarks, ..block(after + usize::from(keys), scene) });
        }
        meters.take(text);
    }
    None
}

fn is_head(text: &str) -> bool {
    let plain = text.trim_start();
    let plain = plain.strip_prefix("Main I/O").map_or(plain, str::trim_start);
    plain.starts_with("PID") && text.contains("PRI") && text.contains("VIRT") && columns::head(text).is_some()
}

fn has_meter(text: &str) -> bool {
    text.contains('[') && text.contains(']') && (text.contains('%') || text.contains("Mem["))
}

fn leads_to_head(lines: &[Line<'_>]) -> bool {
    for line in lines.iter().take(METER_LINES_MAX) {
        let text = line.text.as_ref();
        if is_head(text) {
            return true;
        }
        let words =
            ["Mem[", "Swp[", "Tasks:", "Load average:", "Uptime:", "Main", "Zswap", "Network", "Disk"];
        let is_of_window =
            has_meter(text) || text.trim().is_empty() || words.iter().any(|word| text.contains(word));
        if !is_of_window {
            return false;
        }
    }
    false
}

/// What the meters show.
#[derive(Debug, Default)]
struct Meters {
    processors: Vec<f64>,
    memory: Option<(u64, u64)>,
    swap: Option<(u64, u64)>,
}

impl Meters {
    /// Reads the meters of a line: `  0[||||  45.2%]   4[|  3.1%]`, `Mem[|||12.3G/125G]`; several stand side by side.
    fn take(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, inside)) = rest.split_once('[') {
            let Some((inside, after)) = inside.split_once(']') else {
                return;
            };
            let name = before.rsplit(' ').next().unwrap_or_default();
            let value = inside.trim_start_matches(['|', '#', '*', ' ', '\t', '$', '@', ':']);
            let amounts = || {
                let (used, total) = value.split_once('/')?;
                Some((amounts::bytes(used.trim(), 1024)?, amounts::bytes(total.trim(), 1024)?))
            };
            match name {
                "Mem" => self.memory = amounts().or(self.memory),
                "Swp" => self.swap = amounts().or(self.swap),
                _ if amounts::whole::<u32>(name).is_some() => {
                    let share = value.split('%').next().and_then(amounts::number);
                    self.processors.extend(share.filter(|_| value.contains('%')));
                }
                _ => {}
            }
            rest = after;
        }
    }

    fn fill(&self, scene: &mut Scene) {
        if self.processors.len() > 1 {
            scene.host.cpus = Reading::Known(self.processors.len() as u64);
            scene.host.cores_used = Reading::Known(Cores(self.processors.iter().sum::<f64>() / 100.0));
        }
        if let (Some((used, total)), Some((swap_used, swap_total))) = (self.memory, self.swap) {
            // It counts as used what could not be given away.
            let (available, swap_free) = (total.saturating_sub(used), swap_total.saturating_sub(swap_used));
            let memory = HostMemory { total, available, swap_total, swap_free, ..HostMemory::default() };
            scene.host.memory = Reading::Known(memory);
        }
    }
}
