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
    let builds: Vec<ModuleBuild> = lines.iter().map_while(|line| build(&line.text)).collect();
    if builds.is_empty() {
        return None;
    }
    let mut scene = scene(Format::DkmsStatus);
    let taken = builds.len();
    let of_driver = builds.into_iter().filter(|build| build.module.starts_with("nvidia")).collect();
    scene.machine.driver.module_builds = Reading::Known(of_driver);
    Some(block(taken, scene))
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
    let text = lines.first()?.text.as_ref();
    let is_of_tool = ["modprobe: ", "insmod: "].iter().any(|tool| text.starts_with(tool));
    if !is_of_tool || !text.contains("nvidia") {
        return None;
    }
    let mut scene = scene(Format::Modprobe);
    let lower = text.to_ascii_lowercase();
    let is_missing = lower.contains("not found in directory");
    if is_missing {
        scene.machine.driver.module_file = Reading::Unsupported;
    }
    if is_missing || lower.contains("could not insert") || lower.contains("can't load module") {
        scene.machine.driver.module = Reading::Unsupported;
    }
    if is_refusal(&lower) {
        let text = masked_text(text);
        let fact = fact(&text).or(Some(KernelFact::ModuleRefused));
        scene.events = Reading::Known(vec![KernelLine { text, fact, ..KernelLine::default() }]);
    }
    Some(block(1, scene))
}
