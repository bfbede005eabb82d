//! The hidden commands: processes that a box needs for itself.

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use gpuwhy_lab::place::keeper::{self, read_json};
use gpuwhy_lab::place::server::{self, Server};
use gpuwhy_lab::place::store::{self, Mounted};
use gpuwhy_lab::place::{BoxDirectory, launch as launching, namespace};
use rustix::process::Signal;

/// Keeps a box; says what came of it in one line of JSON.
pub(super) fn keep(directory: &Path, has_lifeline: bool) -> anyhow::Result<()> {
    // A Ctrl-C is for whoever started us; we hear of it by the end of the lifeline. Fails only for a group leader.
    let _ = rustix::process::setsid();
    keeper::keep(&BoxDirectory::new(directory), has_lifeline, |status| {
        if let Ok(line) = serde_json::to_string(status) {
            say(&line);
        }
    })
    .context("cannot keep the box")
}

/// Makes the namespace and holds it until the keeper closes our standard input.
pub(super) fn anchor(
    directory: &Path,
    devices: &[String],
    mount_points: &[String],
    shared_memory_bytes: Option<u64>,
) -> anyhow::Result<()> {
    namespace::create(&BoxDirectory::new(directory), devices, mount_points, shared_memory_bytes)?;
    say("ready");
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Serves a store until it dies with the keeper.
pub(super) fn store(file: &Path, anchor: u32) -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mounted: Mounted = read_json(file)?;
    namespace::enter(anchor)?;
    store::serve(&mounted, || say("ready"))?;
    Ok(())
}

/// Serves files at the other end of a network cable until it dies with the keeper.
pub(super) fn server(directory: &Path, file: &Path, anchor: u32) -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let server: Server = read_json(file)?;
    namespace::enter(anchor)?;
    server::serve(&BoxDirectory::new(directory), &server, || say("ready"))?;
    Ok(())
}

/// Becomes the process that `file` describes.
pub(super) fn launch(file: &Path) -> anyhow::Result<()> {
    let launch = launching::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    Err(launch.become_it().into())
}

fn say(line: &str) {
    // Whoever waits for the line sees the end of the pipe when this fails.
    let _ = writeln!(io::stdout(), "{line}");
}
