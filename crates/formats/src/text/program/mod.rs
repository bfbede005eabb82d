//! What programs print: tracebacks, training and serving logs, and what shells and launchers say of their end.

mod figures;
mod message;
mod prefix;
mod progress;
mod server;
mod shape;
mod standing;
mod summary;
mod system;
mod writer;

use std::collections::BTreeMap;

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{LogLine, ProgramFact, Provenance, Scene, SourceKind};

use self::prefix::{Prefixed, stripped};
use self::shape::{Shape, shape};
use self::standing::{Error, decide};
use self::writer::{Entry, continues, errors};
use super::block::{Block, Context};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// Of many steps so many at the begin and at the end are kept.
const STEPS_KEPT: usize = 200;
/// So many lines without marks may follow an error as its message.
const CONTINUED_MAX: usize = 40;

/// Reads the output of programs that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    if let Some((fact, number)) = summary::of_pytorch(lines).or_else(|| summary::of_tensorflow(lines)) {
        let text = lines[..number].iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
        let text = text.chars().take(200).collect();
        return Some(block(number, vec![LogLine { text, fact: Some(fact), ..LogLine::default() }], None));
    }
    let number = lines_of_log(lines);
    if number == 0 {
        return None;
    }
    let (program, library_code) = said(&lines[..number]);
    Some(block(number, program, library_code))
}

fn block(lines: usize, program: Vec<LogLine>, library_code: Option<u32>) -> Block {
    let mut scene = Scene {
        program,
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::ProgramLog.to_string()] },
        ..Scene::default()
    };
    if let Some(code) = library_code {
        scene.machine.driver.library =
            Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code });
    }
    Block { lines, scene, remarks: Vec::new() }
}

/// How a line belongs to a log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    /// It is surely one of a program.
    Surely,
    /// It may continue the message before it.
    AsContinued,
    /// It may stand between two of them.
    Between,
    /// It is something else.
    Not,
}

/// Returns how many lines from the first one on are a log of programs.
fn lines_of_log(lines: &[Line<'_>]) -> usize {
    let mut is_in_traceback = false;
    let mut continued = CONTINUED_MAX;
    let mut number = 0;
    for (place, line) in lines.iter().enumerate() {
        match belongs(line, &mut is_in_traceback) {
            Belongs::Surely => (number, continued) = (place + 1, 0),
            Belongs::AsContinued if place > 0 && continued < CONTINUED_MAX => {
                (number, continued) = (place + 1, continued + 1);
            }
            // Empty lines belong to it if more of it follows soon.
            Belongs::Between if place > 0 && place < number + 2 => {}
            _ => break,
        }
    }
    number
}

fn belongs(line: &Line<'_>, is_in_traceback: &mut bool) -> Belongs {
    let text = line.text.as_ref();
    if command_after_prompt(text).is_some() {
        return Belongs::Not;
    }
    let prefixed = stripped(text);
    if is_of_others(text) && !*is_in_traceback {
        return Belongs::Not;
    }
    let shape = shape(prefixed.text, *is_in_traceback);
    match shape {
        Shape::Blank if prefixed.is_log => return Belongs::Surely,
        Shape::Blank => return Belongs::Between,
        Shape::Header | Shape::Frame => *is_in_traceback = true,
        Shape::Detail => {}
        Shape::Link | Shape::TakingDown | Shape::Exception { .. } => *is_in_traceback = false,
        Shape::Other => {
            if is_of_program(&prefixed) {
                *is_in_traceback = false;
                return Belongs::Surely;
            }
            if prefixed.is_marked || !continues(prefixed.text) {
                return Belongs::Not;
            }
            *is_in_traceback = false;
            return Belongs::AsContinued;
        }
    }
    Belongs::Surely
}

/// Returns whether a line that is no part of a traceback is surely a program's.
fn is_of_program(prefixed: &Prefixed<'_>) -> bool {
    let text = prefixed.text;
    // What the kernel says is read elsewhere.
    if is_of_others(text) {
        return false;
    }
    prefixed.is_log
        || is_warning(text)
        || text.trim().starts_with("terminate called after throwing")
        || message::of_line(text).is_some()
        || message::library_code(text).is_some()
}

/// Returns whether a line is one of the kernel, of the driver's tools, or of who watches over cards.
fn is_of_others(text: &str) -> bool {
    [
        "NVRM: ",
        " kernel: ",
        "nvidia-smi",
        "Xid=",
        "nvidia.com/gpu",
        "total-vm:",
        "oom-kill:constraint",
        "oom_reaper",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

/// Returns whether a line is a warning of Python: `UserWarning: …`, with or without the place in a file before it.
fn is_warning(text: &str) -> bool {
    let text = text.trim_end();
    let named =
        text.split_once("Warning: ").map(|(before, _)| before).or_else(|| text.strip_suffix("Warning:"));
    let Some(before) = named else {
        return false;
    };
    let name = before.rsplit([' ', ':']).next().unwrap_or(before);
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns what programs say in these lines, in order, and a code of the driver's library.
fn said(lines: &[Line<'_>]) -> (Vec<LogLine>, Option<u32>) {
    let mut writers: BTreeMap<(Option<u32>, Option<&str>), Vec<Entry<'_>>> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        let prefixed = stripped(&line.text);
        let entry = Entry {
            place,
            at: prefixed.at,
            rank: prefixed.rank,
            begins: prefixed.has_stamp,
            goes_on: prefixed.is_calm && !speaks_of_an_end(prefixed.text),
            text: prefixed.text,
        };
        writers.entry((prefixed.rank, prefixed.writer)).or_default().push(entry);
    }
    let mut all: Vec<Error> = Vec::new();
    for entries in writers.values() {
        let mut of_writer = errors(entries);
        let calm: Vec<usize> =
            entries.iter().filter(|entry| entry.goes_on).map(|entry| entry.place).collect();
        decide(&mut of_writer, &calm);
        all.append(&mut of_writer);
    }
    all.sort_by_key(|error| error.place);
    let library_code = all.iter().find_map(|error| error.library_code);
    let mut program: Vec<LogLine> = all.into_iter().map(Error::line).collect();
    drop_middle_steps(&mut program);
    (program, library_code)
}

/// Returns whether a calm line belongs to the end of a program: what is taken down is told calmly too.
fn speaks_of_an_end(text: &str) -> bool {
    const STEMS: &[&str] = &[
        "shut", "exit", "stop", "kill", "terminat", "finish", "clean", "abort", "clos", "destroy", "cancel",
        "fail", "error",
    ];
    let lower = text.to_ascii_lowercase();
    STEMS.iter().any(|stem| lower.contains(stem))
}

/// Leaves the first and last of very many steps.
fn drop_middle_steps(program: &mut Vec<LogLine>) {
    let is_step =
        |line: &LogLine| matches!(line.fact, Some(ProgramFact::Step(_) | ProgramFact::ServerState(_)));
    let steps = program.iter().filter(|line| is_step(line)).count();
    if steps <= STEPS_KEPT * 2 {
        return;
    }
    let mut seen = 0;
    program.retain(|line| {
        if !is_step(line) {
            return true;
        }
        seen += 1;
        seen <= STEPS_KEPT || seen > steps - STEPS_KEPT
    });
}

#[cfg(test)]
mod tests;
