//! Modules of the kernel: which are loaded, which lie on disk, for which kernels they are built, why one is refused.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, KernelLine};
use gpuwhy_model::scene::ModuleBuild;

use super::{amounts, block, runs, scene};
use crate::Format;
use crate::kernel_log::{fact, is_refusal, is_version};
use crate::paste::Line;
use crate::text::{Block, Context};

/// A list with a head and so many rows is a whole one.
const ROWS_OF_A_WHOLE_LIST: usize = 20;

/// Reads `lsmod`, with its head or the rows that a `grep` left.
pub(in crate::text) fn loaded(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let has_head = first.starts_with("Module ") && first.contains("Size") && first.contains("Used by");
    let name = first.split(' ').next().unwrap_or_default();
    let may_be_row = is_of_cards(name) && first.contains("  ") || runs(context, "lsmod");
    let is_begin = has_head || may_be_row && module(first).is_some();
    if !is_begin {
        return None;
    }
    let from = usize::from(has_head);
    let mut names: Vec<String> =
        lines.iter().skip(from).map_while(|line| module(&line.text)).map(str::to_owned).collect();
    let rows = names.len();
    names.sort();
    names.dedup();
    let mut scene = scene(Format::Lsmod);
    let has_driver = names.iter().any(|name| name == "nvidia");
    if has_head && rows >= ROWS_OF_A_WHOLE_LIST && !has_driver {
        scene.machine.driver.module = Reading::Unsupported;
    }
    names.retain(|name| is_of_cards(name));
    if has_head || !names.is_empty() {
        scene.machine.driver.modules = Reading::Known(names);
    }
    Some(block(from + rows, scene))
}

/// Returns the name of the module that a row lists: `nvidia_uvm  1540096  2`, `drm  483328  4 drm_kms_helper,nvidia`.
fn module(text: &str) -> Option<&str> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (name, size, users) = (*words.first()?, words.get(1)?, words.get(2)?);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let are_numbers =
        amounts::whole::<u64>(size).is_some_and(|size| size >= 1024) && users.parse::<i64>().is_ok();
    (is_name && are_numbers && words.len() <= 4).then_some(name)
}

/// Returns whether a module drives or blocks cards.
fn is_of_cards(name: &str) -> bool {
    name.starts_with("nvidia")
        || matches!(
            name,
            "nouveau" | "nova_core" | "nvidiafb" | "amdgpu" | "i915" | "xe" | "gdrdrv" | "vfio_pci"
        )
}

/// Reads `modinfo nvidia`.
pub(in crate::text) fn on_disk(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let mut scene = scene(Format::Modinfo);
    if let Some(rest) = first.strip_prefix("modinfo: ERROR: Module ") {
        if rest.split(' ').next().is_some_and(|name| name.trim_matches('\'') == "nvidia") {
            scene.machine.driver.module_file = Reading::Unsupported;
        }
        return Some(block(1, scene));
    }
    let asks_version = context.command.is_some_and(|command| command.contains("modinfo -F version nvidia"));
    if asks_version && is_version(first.trim()) {
        scene.machine.driver.module_file = Reading::Known(first.trim().to_owned());
        return Some(block(1, scene));
    }
    let file = first.strip_prefix("filename:")?.trim();
    let fields = lines
        .iter()
        .take_while(|line| line.text.split_once(':').is_some_and(|(name, _)| !name.contains(' ')));
    let taken = fields.clone().count();
    let value = |name: &str| {
        fields.clone().find_map(|line| line.text.split_once(':').filter(|(known, _)| *known == name))
    };
    let is_driver = ["nvidia.ko", "nvidia-current.ko"]
        .iter()
        .any(|name| file.rsplit('/').next().is_some_and(|last| last.starts_with(name)));
    if is_driver && let Some((_, version)) = value("version") {
        scene.machine.driver.module_file = Reading::Known(version.trim().to_owned());
    }
    Some(block(taken, scene))
}

/// Reads `dkms status`.
pub(in crate::text) fn built(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    if let Some(block) = build_failed(lines) {
        return Some(block);
    }
    let mut builds = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        match build(&line.text) {
            Some(build) => builds.push(build),
            // Notes stand between the rows.
            None if place > 0 && is_note(&line.text) => {}
            None => break,
        }
        taken = place + 1;
    }
    if builds.is_empty() {
        return None;
    }
    let mut scene = scene(Format::DkmsStatus);
    let of_driver = builds.into_iter().filter(|build| build.module.starts_with("nvidia")).collect();
    scene.machine.driver.module_builds = Reading::Known(of_driver);
    Some(block(taken, scene))
}

/// Returns whether a line explains the row above it.
fn is_note(text: &str) -> bool {
    ["Error! Could not locate dkms.conf", "File: /var/lib/dkms/", "WARNING! Diff between built and installed"]
        .iter()
        .any(|begin| text.trim_start().starts_with(begin))
}

/// Reads that a build went wrong: `Error! Bad return status for module build on kernel: 6.8.0-31-generic (x86_64)`
/// and `Consult /var/lib/dkms/nvidia/535.113.01/build/make.log for more information.`
fn build_failed(lines: &[Line<'_>]) -> Option<Block> {
    let first = lines.first()?.text.trim_start();
    let (_, rest) = first.split_once("Bad return status for module build on kernel: ")?;
    let kernel = rest.split(' ').next().filter(|kernel| kernel.contains('.'))?;
    let log = lines.get(1).and_then(|line| line.text.split_once("/var/lib/dkms/"));
    let mut parts = log?.1.split('/');
    let (module, version) = (parts.next()?, parts.next()?);
    let mut scene = scene(Format::DkmsStatus);
    if module.starts_with("nvidia") {
        scene.machine.driver.module_builds = Reading::Known(vec![ModuleBuild {
            module: module.to_owned(),
            version: version.to_owned(),
            kernel: Some(kernel.to_owned()),
            state: "broken".to_owned(),
        }]);
    }
    Some(block(2, scene))
}

/// Reads `nvidia/535.113.01, 5.15.0-86-generic, x86_64: installed` and, of older versions,
/// `nvidia, 470.82, 5.4.0-90-generic, x86_64: installed`; a module may be added for no kernel yet.
fn build(text: &str) -> Option<ModuleBuild> {
    const STATES: &[&str] = &["added", "built", "installed", "broken", "installed-weak"];
    let (what, state) = text.split_once(": ")?;
    let state = state.split(' ').next()?;
    if !STATES.contains(&state) {
        return None;
    }
    let mut parts = what.split(", ");
    let first = parts.next()?;
    let (module, version) = match first.split_once('/') {
        Some(pair) => pair,
        None => (first, parts.next()?),
    };
    let kernel = parts.next().map(str::to_owned);
    let is_module = !module.is_empty() && !module.contains(' ');
    let (module, version, state) = (module.to_owned(), version.to_owned(), state.to_owned());
    is_module.then_some(ModuleBuild { module, version, kernel, state })
}

/// Reads what `modprobe` and `insmod` say when a module cannot be loaded.
pub(in crate::text) fn refused(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.trim_start();
    let is_of_tool = ["modprobe: ", "insmod: ", "FATAL: Module nvidia", "FATAL: Error inserting nvidia"]
        .iter()
        .any(|begin| text.starts_with(begin));
    if !is_of_tool || !text.contains("nvidia") {
        return None;
    }
    let mut scene = scene(Format::Modprobe);
    let lower = text.to_ascii_lowercase();
    let is_missing = lower.contains("not found in directory") || lower.contains("nvidia not found.");
    let is_insert = ["could not insert", "can't load module", "error inserting", "failed to load module"]
        .iter()
        .any(|words| lower.contains(words));
    // Whoever may not load modules learns nothing of this one, and one that is there already is loaded.
    let says_nothing = ["operation not permitted", "permission denied", "file exists", "module already"]
        .iter()
        .any(|words| lower.contains(words));
    let is_side_module = is_of_side_module(&lower);
    if is_missing && !is_side_module {
        scene.machine.driver.module_file = Reading::Unsupported;
        scene.machine.kernel = release_of_directory(text).into();
    }
    if (is_missing || is_insert && !says_nothing) && !is_side_module {
        scene.machine.driver.module = Reading::Unsupported;
    }
    let text = masked_text(text);
    let fact = fact(&text).or_else(|| is_refusal(&lower).then_some(KernelFact::ModuleRefused));
    if fact.is_some() {
        scene.events = Reading::Known(vec![KernelLine { text, fact, ..KernelLine::default() }]);
    }
    Some(block(1, scene))
}

/// Returns whether a message is about a module of NVIDIA that no card needs for computing.
fn is_of_side_module(lower: &str) -> bool {
    ["nvidia_fs", "nvidia-fs", "nvidia_peermem", "nvidia-peermem", "nvidia_vgpu", "nvidiafb"]
        .iter()
        .any(|name| lower.contains(name))
}

/// Returns the release of `… not found in directory /lib/modules/6.8.0-49-generic`.
fn release_of_directory(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("/lib/modules/")?;
    let release = rest.split(['/', ' ', '\'', '"']).next()?.trim_end_matches('.');
    let is_release = release.starts_with(|first: char| first.is_ascii_digit()) && release.contains('.');
    is_release.then(|| release.to_owned())
}
