//! What allocators print of what they hold: PyTorch's memory summary, the statistics of TensorFlow and XLA.

use gpuwhy_knowledge::{Phrase, Squeezed, size_in_bytes};
use gpuwhy_model::scene::{AllocatorState, ProgramFact};
use gpuwhy_model::units::Bytes;

use crate::paste::Line;

/// No summary is longer.
const LINES_MAX: usize = 80;

/// Reads PyTorch's table that begins with one of the first two lines; returns it with the number of its lines.
pub(super) fn of_pytorch(lines: &[Line<'_>]) -> Option<(ProgramFact, usize)> {
    let is_title = |line: &Line<'_>| line.text.contains("PyTorch CUDA memory summary");
    let first = lines.first()?;
    let is_rule = first.text.trim_start().starts_with("|===");
    let begins = is_title(first) || is_rule && lines.get(1).is_some_and(is_title);
    if !begins {
        return None;
    }
    let rows = lines.iter().take(LINES_MAX).take_while(|line| line.text.trim_start().starts_with('|'));
    let mut state = AllocatorState::default();
    let mut number = 0;
    for line in rows {
        number += 1;
        read_row(&line.text, &mut state);
    }
    state.reserved?;
    Some((ProgramFact::AllocatorState(state), number))
}

fn read_row(text: &str, state: &mut AllocatorState) {
    let squeezed = Squeezed::of(text);
    let count = |phrase: &str| Phrase::parse(phrase)?.values(&squeezed)?.first()?.parse::<u64>().ok();
    if let Some(card) = count("device ID {count}") {
        state.card = u32::try_from(card).ok();
    }
    if let Some(failures) = count("CUDA OOMs: {count}") {
        state.failures = Some(failures);
    }
    let mut cells = text.split('|').map(str::trim).filter(|cell| !cell.is_empty());
    let (Some(name), Some(current)) = (cells.next(), cells.next()) else {
        return;
    };
    let bytes = size_in_bytes(&current.replace(' ', "")).map(Bytes);
    match name {
        "Allocated memory" => state.allocated = state.allocated.or(bytes),
        "GPU reserved memory" => state.reserved = state.reserved.or(bytes),
        _ => {}
    }
}

/// Reads the statistics of TensorFlow's allocator that begin with this line: `Limit: 15391703040` and its like.
pub(super) fn of_tensorflow(lines: &[Line<'_>]) -> Option<(ProgramFact, usize)> {
    let value = |line: &Line<'_>, name: &str| {
        line.text.trim().strip_prefix(name)?.strip_prefix(':')?.trim().parse::<u64>().ok()
    };
    let limit = value(lines.first()?, "Limit")?;
    let in_use = value(lines.get(1)?, "InUse")?;
    let others = ["MaxInUse", "NumAllocs", "MaxAllocSize", "Reserved", "PeakReserved", "LargestFreeBlock"];
    let more =
        lines[2..].iter().take_while(|line| others.iter().any(|name| value(line, name).is_some())).count();
    let state = AllocatorState {
        limit: Some(Bytes(limit)),
        allocated: Some(Bytes(in_use)),
        ..AllocatorState::default()
    };
    Some((ProgramFact::AllocatorState(state), 2 + more))
}
