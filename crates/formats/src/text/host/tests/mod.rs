//! Outputs of host tools of several versions, with values checked by eye.

mod machine;
mod processes;

use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{Process, Scene};

use crate::Format;
use crate::text::understand;

/// Understands a text that is one output and nothing else, a prompt before it aside.
fn read(format: Format, text: &str) -> Scene {
    let mut understood = understand(text);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [format], "{text}");
    assert_eq!(understood.unknown_lines, [0_u64; 0], "{text}");
    understood.pieces.remove(0).scene
}

fn process(scene: &Scene, pid: u32) -> &Process {
    scene.process(Pid(pid)).unwrap_or_else(|| panic!("no {pid} in {:?}", scene.processes))
}

const MIB: u64 = 1 << 20;
