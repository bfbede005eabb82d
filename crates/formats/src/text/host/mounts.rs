//! Mounted file systems: output of `mount`, and the files `/proc/mounts` and `/proc/PID/mountinfo`.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::MountPoint;

use super::{block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads the list that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    mount(&lines.first()?.text)?;
    let mut mounts: Vec<MountPoint> = Vec::new();
    let mut taken = 0;
    for line in lines {
        let Some(found) = mount(&line.text) else {
            break;
        };
        taken += 1;
        // A later mount hides an earlier one at the same place.
        mounts.retain(|known| known.target != found.target);
        mounts.push(found);
    }
    let mut scene = scene(Format::Mounts);
    scene.mounts = Reading::Known(mounts);
    Some(block(taken, scene))
}

fn mount(line: &str) -> Option<MountPoint> {
    of_command(line).or_else(|| of_info(line)).or_else(|| of_table(line))
}

/// Reads `nas01:/data on /data type nfs4 (rw,relatime)`.
fn of_command(line: &str) -> Option<MountPoint> {
    let (source, rest) = line.split_once(" on /")?;
    let (target, rest) = rest.split_once(" type ")?;
    let (file_system, options) = rest.split_once(' ')?;
    let is_mount = options.starts_with('(') && !source.contains(char::is_whitespace) && is_kind(file_system);
    is_mount.then(|| point(source, &format!("/{target}"), file_system, ""))
}

/// Reads `nas01:/data /data nfs4 rw,relatime,vers=4.2 0 0`.
fn of_table(line: &str) -> Option<MountPoint> {
    if !line.ends_with(['0', '1', '2']) {
        return None;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let [source, target, file_system, options, "0" | "1" | "2", "0" | "1" | "2"] = words[..] else {
        return None;
    };
    let is_mount = target.starts_with('/')
        && is_kind(file_system)
        && (options.starts_with("rw") || options.starts_with("ro") || options.contains(','));
    is_mount.then(|| point(source, target, file_system, ""))
}

/// Reads `36 35 98:0 / /data rw,noatime shared:1 - nfs4 nas01:/data rw`.
fn of_info(line: &str) -> Option<MountPoint> {
    if !line.contains(" - ") || !line.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mount = crate::proc::mounts(line.as_bytes()).ok()?.into_iter().next()?;
    mount.point.target.starts_with('/').then_some(mount.point)
}

fn is_kind(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 40
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
}

fn point(source: &str, target: &str, file_system: &str, device: &str) -> MountPoint {
    MountPoint {
        target: target.replace("\\040", " "),
        file_system: file_system.to_owned(),
        source: masked_text(source),
        device: device.to_owned(),
    }
}
