//! What is fuzzed: one function for each target of `fuzz/`, over what the package offers. The gate lets the same functions
//! read the inputs that are kept.

// A fuzz target takes this file by its path, so the way to the other one is said too.
#[path = "../everything/mod.rs"]
mod everything;

use std::io::Cursor;

use gpuwhy_formats::kernel_log::{LogStream, looks_like_log};
use gpuwhy_formats::text::{understand, understand_paste};
use gpuwhy_formats::unpack::{Content, Limits, Unpacked, Unpacker};
use gpuwhy_formats::{decoded, nvidia_smi_xml, trace};
use gpuwhy_model::window::merge;

/// Reads an input as what it is meant to be.
type Entry = fn(&[u8]);

/// Every target by its name: the name of its file, of its program and of its folder of inputs.
pub(crate) const TARGETS: &[(&str, Entry)] = &[
    ("any_text", any_text),
    ("archive", archive),
    ("host", |input| after(&["top -b -n 1", "ps aux", "lspci -vv"], input)),
    ("kernel_log", kernel_log),
    ("kubernetes", |input| after(&["kubectl describe pod x", "kubectl get pod x -o yaml"], input)),
    ("machine_files", everything::read_as_everything),
    ("metrics", |input| after(&["curl -s localhost:9400/metrics"], input)),
    ("nvidia_smi", |input| after(&["nvidia-smi"], input)),
    ("nvidia_smi_csv", |input| after(&["nvidia-smi --query-gpu=index,name,memory.used --format=csv"], input)),
    ("nvidia_smi_query", |input| after(&["nvidia-smi -q"], input)),
    ("nvidia_smi_xml", nvidia_smi_document),
    ("program_log", |input| after(&["python train.py"], input)),
    ("slurm", |input| after(&["squeue", "scontrol show job", "sacct"], input)),
    ("trace", profiler_trace),
];

/// So much may come out of an archive: reading text takes longer than unpacking it.
const LIMITS: Limits = Limits { bytes: 64 << 10, members: 20, depth: 2 };

/// Lets a target read an input.
///
/// # Panics
/// Panics when there is no such target, or when a reader breaks its promises.
pub(crate) fn read(target: &str, input: &[u8]) {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    let (_, read) = found.expect("the name of a target is in the table");
    read(input);
}

/// Text as it comes, in any encoding.
fn any_text(input: &[u8]) {
    survive(&decoded(input));
}

/// Text below the prompts of commands that print such.
fn after(commands: &[&str], input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for command in commands {
        survive(&format!("$ {command}\n{text}"));
    }
}

/// Understands a text; outputs stand in their order and inside it, and make one scene.
fn survive(text: &str) {
    let understood = understand(text);
    let lines = text.split('\n').count() as u64;
    let mut last = 0;
    for piece in &understood.pieces {
        assert!(piece.first_line > last && piece.last_line >= piece.first_line, "{:?}", piece.format);
        assert!(piece.last_line <= lines, "{:?}", piece.format);
        last = piece.last_line;
    }
    drop(merge(understood.pieces.into_iter().map(|piece| piece.scene)));
}

/// A log of the kernel, in a paste and as a stream that comes in pieces.
fn kernel_log(input: &[u8]) {
    after(&["dmesg -T"], input);
    let counted = |length: usize| {
        let mut stream = LogStream::default();
        input.chunks(length).for_each(|piece| stream.feed(piece));
        let read = stream.finish();
        (read.lines, read.bytes)
    };
    assert_eq!(counted(7), counted(4096), "lines and bytes");
    let _ = looks_like_log(input);
}

/// A document of `nvidia-smi`, alone and in a paste.
fn nvidia_smi_document(input: &[u8]) {
    let text = decoded(input);
    let _ = nvidia_smi_xml::read_with_remarks(&text);
    survive(&text);
}

/// A trace of a profiler, alone and in a paste.
fn profiler_trace(input: &[u8]) {
    let _ = trace::read(input);
    survive(&String::from_utf8_lossy(input));
}

/// An archive, a compressed file or a text, as a file and as a stream; what comes out of it is understood.
fn archive(input: &[u8]) {
    let mut take = |unpacked: Unpacked| {
        if let Content::Text(text) = &unpacked.content {
            text.with_paste(|paste| understand_paste(paste, &mut |_| {}));
        }
    };
    let mut unpacker = Unpacker::new(LIMITS, &mut take);
    unpacker.file("file", Cursor::new(input));
    unpacker.stream("stream", input);
}
