//! Traces of profilers in Chrome's JSON (Kineto of PyTorch, XLA): what ran on the cards, and what the program did meanwhile.
//!
//! A trace is read event by event: memory stays bounded, however long it is.

mod event;
mod gathering;
mod intervals;
mod kind;
mod lines;

#[cfg(test)]
mod tests;

use std::io::{BufReader, Read};

use gpuwhy_model::scene::{Provenance, Scene, SourceKind};
use serde::de::DeserializeSeed;

use self::gathering::Gathering;
use crate::Format;
pub(crate) use lines::read_lines;

/// What was read of a trace.
#[derive(Debug)]
pub struct TraceRead {
    /// What it says, in the section of programs.
    pub scene: Scene,
    /// The line, from 1, at which it breaks off; what stands before it was read.
    pub cut_at: Option<u64>,
}

/// Reads a trace from its first byte on; none when it holds no event.
pub fn read(reader: impl Read) -> Option<TraceRead> {
    let mut deserializer = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, reader));
    read_by(|gathering| event::Trace(gathering).deserialize(&mut deserializer))
}

/// Reads a trace that stands on one line.
fn read_text(text: &str) -> Option<TraceRead> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    read_by(|gathering| event::Trace(gathering).deserialize(&mut deserializer))
}

fn read_by(deserialize: impl FnOnce(&mut Gathering) -> serde_json::Result<()>) -> Option<TraceRead> {
    let mut gathering = Gathering::default();
    let cut_at = deserialize(&mut gathering).err().map(|error| error.line() as u64);
    if gathering.events == 0 {
        return None;
    }
    let provenance = Provenance { source: SourceKind::Text, inputs: vec![Format::Trace.to_string()] };
    let scene = Scene { traces: gathering.finish(), provenance, ..Scene::default() };
    Some(TraceRead { scene, cut_at })
}
