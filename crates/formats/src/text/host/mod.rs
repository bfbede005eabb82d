//! What tools of the host print, besides those of cards: processes, memory, disks, the bus, modules, services.

mod amounts;
mod columns;
mod commands;
pub(super) mod df;
pub(super) mod disks;
pub(super) mod fabric_manager_log;
pub(super) mod free;
pub(super) mod htop;
pub(super) mod lspci;
pub(super) mod modules;
pub(super) mod mounts;
pub(super) mod openers;
pub(super) mod proc_file;
mod process;
pub(super) mod processors;
pub(super) mod ps;
pub(super) mod system;
pub(super) mod systemctl;
pub(super) mod top;
pub(super) mod uptime;
pub(super) mod vmstat;

#[cfg(test)]
mod tests;

use gpuwhy_model::scene::{Provenance, Scene, SourceKind, Window};

use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// Returns a scene of one look by a tool, with nothing in it yet.
fn scene(format: Format) -> Scene {
    Scene {
        window: Window { samples: 1, ..Window::default() },
        provenance: Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] },
        ..Scene::default()
    }
}

/// Returns a block of so many lines.
fn block(lines: usize, scene: Scene) -> Block {
    Block { lines, scene, ..Block::default() }
}

/// Returns the text of a line.
fn text<'lines>(lines: &'lines [Line<'_>], place: usize) -> Option<&'lines str> {
    lines.get(place).map(|line| line.text.as_ref())
}

/// Returns whether the command behind the last prompt runs a tool.
fn runs(context: &Context<'_>, tool: &str) -> bool {
    context.command.is_some_and(|command| commands::words_of(command, tool).is_some())
}
