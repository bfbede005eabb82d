//! Short answers about the system: `uname`, `mokutil --sb-state`, `ulimit -a`.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::ProcessLimit;

use super::{amounts, block, runs, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads `uname -a` and `uname -r`.
pub(in crate::text) fn kernel(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.trim();
    let is_release = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.matches('.').count() >= 2
            && word.len() <= 80
    };
    let mut scene = scene(Format::Uname);
    if runs(context, "uname") && is_release(text) && !text.contains(' ') {
        scene.machine.kernel = Reading::Known(text.to_owned());
        return Some(block(1, scene));
    }
    if !text.starts_with("Linux ") {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let ["Linux", host, release, build, ..] = words[..] else {
        return None;
    };
    if !is_release(release) || !build.starts_with('#') {
        return None;
    }
    scene.machine.hostname = Reading::Known(host.to_owned());
    scene.machine.kernel = Reading::Known(release.to_owned());
    Some(block(1, scene))
}

/// Reads `mokutil --sb-state`.
pub(in crate::text) fn secure_boot(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let state = match lines.first()?.text.trim() {
        "SecureBoot enabled" => Reading::Known(true),
        "SecureBoot disabled" | "SecureBoot validation is disabled in shim" => Reading::Known(false),
        "EFI variables are not supported on this system" => Reading::Unsupported,
        "Platform is in Setup Mode" if runs(context, "mokutil") => Reading::Known(false),
        _ => return None,
    };
    let mut scene = scene(Format::Mokutil);
    scene.machine.secure_boot = state;
    // More lines say the same in other words.
    let more = lines.iter().skip(1).take_while(|line| line.text.trim().starts_with("SecureBoot ")).count();
    Some(block(1 + more, scene))
}

/// Reads `ulimit -a` and `/proc/PID/limits`.
pub(in crate::text) fn limits(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if first.starts_with("Limit ") && first.contains("Soft Limit") {
        let limits: Vec<ProcessLimit> = lines.iter().skip(1).map_while(|line| of_file(&line.text)).collect();
        return Some(found(limits.len() + 1, limits));
    }
    // Most often one row is left of the file.
    let units = [" files", " processes", " bytes"];
    if let Some(limit) = of_file(first).filter(|_| units.iter().any(|unit| first.trim_end().ends_with(unit)))
    {
        return Some(found(1, vec![limit]));
    }
    let limits: Vec<ProcessLimit> = lines.iter().map_while(|line| of_shell(&line.text)).collect();
    if limits.is_empty() {
        return one_limit(first, context);
    }
    Some(found(limits.len(), limits))
}

fn found(lines: usize, limits: Vec<ProcessLimit>) -> Block {
    let mut scene = scene(Format::Ulimit);
    scene.machine.process_limits = Reading::Known(limits);
    block(lines, scene)
}

/// Reads `open files                      (-n) 1024`, with the unit before the option where it has one.
fn of_shell(text: &str) -> Option<ProcessLimit> {
    let (name, rest) = text.split_once('(')?;
    let (unit, value) = rest.split_once(')')?;
    let (unit, option) = unit.rsplit_once(", ").unwrap_or(("", unit));
    let is_option = option.len() == 2 && option.starts_with('-');
    let value = value.trim();
    let factor = match unit {
        "kbytes" => 1024,
        "blocks" | "512 bytes" => 512,
        _ => 1,
    };
    let limit = match value {
        "unlimited" => Reading::Unsupported,
        _ => Reading::Known(amounts::whole::<u64>(value)?.checked_mul(factor)?),
    };
    is_option.then(|| ProcessLimit { name: name.trim().to_owned(), limit })
}

/// Reads `Max open files            1024                 524288               files`.
fn of_file(text: &str) -> Option<ProcessLimit> {
    let rest = text.strip_prefix("Max ")?;
    let name_end = rest.find("  ")?;
    let value = rest[name_end..].split_ascii_whitespace().next()?;
    let limit = match value {
        "unlimited" => Reading::Unsupported,
        _ => Reading::Known(amounts::whole(value)?),
    };
    Some(ProcessLimit { name: rest[..name_end].trim().to_owned(), limit })
}

/// Reads the one number of `ulimit -n`.
fn one_limit(text: &str, context: &Context<'_>) -> Option<Block> {
    let options = super::commands::words_of(context.command?, "ulimit")?;
    let name = match *options.last()? {
        "-n" | "-Sn" | "-Hn" => "open files",
        "-u" | "-Su" => "max user processes",
        _ => return None,
    };
    let limit = match text.trim() {
        "unlimited" => Reading::Unsupported,
        value => Reading::Known(amounts::whole(value)?),
    };
    Some(found(1, vec![ProcessLimit { name: name.to_owned(), limit }]))
}
