//! Programs that want a newer CUDA than the driver runs, and what shows that they are well all the same.

use gpuwhy_knowledge::CudaRuntime;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessRole, ProcessState};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::Signal;

use crate::facts::cards::{Holder, holders, is_worth_naming, whole_cards};
use crate::facts::unexplained::having_open;
use crate::facts::versions::is_newer;

/// By what it is known which CUDA a program wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It has the runtime of that CUDA loaded.
    Library,
    /// Its container's image was made for it.
    Image,
}

/// A program that the driver cannot run.
pub(super) struct Suspect<'scene> {
    pub(super) process: &'scene Process,
    /// The oldest CUDA that it can use.
    pub(super) wanted: CudaRuntime,
    pub(super) sign: Sign,
    /// Whether it brings a newer driver library along, on a card that does not allow that.
    pub(super) has_forbidden_library: bool,
    /// Whether it has a context on a card, and nothing more.
    pub(super) has_mere_context: bool,
}

/// What became of a look at one process.
pub(super) enum Examined<'scene> {
    /// It wants nothing that the driver has not.
    Fits,
    /// It seems to want a newer CUDA, and this shows that it is well.
    Excluded(Signal),
    /// The driver cannot run it.
    Suspect(Suspect<'scene>),
}

/// Looks at one process.
pub(super) fn examined<'scene>(
    scene: &'scene Scene,
    process: &'scene Process,
    highest: (u32, u32),
    limits: &Limits,
) -> Examined<'scene> {
    let Some((wanted, sign)) = wanted(process) else {
        return Examined::Fits;
    };
    let is_dead = matches!(process.state, Reading::Known(ProcessState::Zombie | ProcessState::Dead));
    if is_dead || gpuwhy_knowledge::is_enough(highest, wanted) {
        return Examined::Fits;
    }
    if wants_no_card(process) {
        return Examined::Excluded(Signal::ProcessEnvironment);
    }
    let held: Vec<Holder<'_>> = whole_cards(scene)
        .flat_map(|card| holders(scene, card))
        .filter(|holder| holder.client.pid == process.key.pid)
        .collect();
    let has_mere_context = sign == Sign::Image && held.iter().all(|holder| is_mere_context(holder, limits));
    if !held.is_empty() && !has_mere_context {
        // Who has a context was not refused: what it has loaded or was made for is more than it uses.
        return Examined::Excluded(Signal::VramByProcess);
    }
    if sign == Sign::Image && held.is_empty() && !tries(scene, process) {
        return Examined::Fits;
    }
    let brings_a_newer_library = brings_a_newer_library(scene, process);
    if brings_a_newer_library && !are_all_for_games(scene) {
        return Examined::Excluded(Signal::ProcessLibraries);
    }
    Examined::Suspect(Suspect {
        process,
        wanted,
        sign,
        has_forbidden_library: brings_a_newer_library,
        has_mere_context: has_mere_context && !held.is_empty(),
    })
}

/// Returns the oldest CUDA that a process can use, by what it has loaded, else by its container's image.
fn wanted(process: &Process) -> Option<(CudaRuntime, Sign)> {
    let libraries = process.libraries.known().into_iter().flatten();
    let loaded = libraries.filter_map(|library| gpuwhy_knowledge::cuda_runtime(library)).min();
    if let Some(runtime) = loaded {
        return Some((runtime, Sign::Library));
    }
    let is_a_service = matches!(process.role, Some(ProcessRole::CardService | ProcessRole::Helper));
    let (major, minor) = parsed(built_for(process).filter(|_| !is_a_service)?)?;
    Some((CudaRuntime { major, minor: Some(minor) }, Sign::Image))
}

/// Returns the version of CUDA that the image of a process's container was made for.
pub(super) fn built_for(process: &Process) -> Option<&str> {
    process.environment.known()?.get("CUDA_VERSION").map(String::as_str)
}

/// Reads `12.4` and `12.4.1`.
pub(super) fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns whether somebody told a process to compute without cards: its framework loads the runtime all the same.
fn wants_no_card(process: &Process) -> bool {
    let visible = process.environment.known().and_then(|environment| environment.get("CUDA_VISIBLE_DEVICES"));
    visible.is_some_and(|visible| matches!(visible.trim(), "" | "-1" | "NoDevFiles"))
}

/// Returns whether a holder has a context on its card, and neither memory worth naming nor work.
fn is_mere_context(holder: &Holder<'_>, limits: &Limits) -> bool {
    let is_small = holder.client.memory.is_known() && !is_worth_naming(holder.bytes(), holder.card, limits);
    is_small && holder.worked(limits) == Some(false)
}

/// Returns whether a process has a card open for computing.
fn tries(scene: &Scene, process: &Process) -> bool {
    whole_cards(scene).any(|card| having_open(scene, card).any(|holder| holder.pid == process.key.pid))
}

/// Returns whether a process has loaded a CUDA library of a newer driver than the one that runs (`cuda-compat`).
fn brings_a_newer_library(scene: &Scene, process: &Process) -> bool {
    let driver = &scene.machine.driver;
    let Some(module) = driver.module.known().or(driver.version.known()) else {
        return false;
    };
    let libraries = process.libraries.known().into_iter().flatten();
    libraries
        .filter_map(|library| gpuwhy_knowledge::cuda_driver(library))
        .any(|version| is_newer(version, module))
}

/// Returns whether all cards are of the line for games, where a newer library on an older driver is refused.
fn are_all_for_games(scene: &Scene) -> bool {
    let mut names = whole_cards(scene).map(|card| card.name.known()).peekable();
    names.peek().is_some() && names.all(|name| name.is_some_and(|name| name.contains("GeForce")))
}
