//! What a paste shows around the driver, before anything is made of it.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{KernelFact, KernelLine, PciDevice, Vendor};
use gpuwhy_model::scene::Scene;

use super::super::DRIVER_NOT_LOADED;
use crate::facts::cards::{nvidia_pci_cards, whole_cards};
use crate::facts::kernel_log;

/// States of a build in which the module can be loaded.
const USABLE: &[&str] = &["installed", "installed-weak"];

/// Packages with kernel modules beside the driver's own.
const OTHER_PACKAGES: &[&str] = &["nvidia-fs", "nvidia-peermem", "nvidia-peer-memory", "nvidia-p2p"];

/// What a paste shows.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a sign of its own, and any may stand beside any other"
)]
pub(super) struct Signs<'scene> {
    /// What the driver's tool says instead of an answer, as far as it is about a missing driver.
    pub(super) tool: Option<&'scene Failure>,
    /// A card of NVIDIA shows figures.
    pub(super) a_card_answers: bool,
    /// A card on the bus does not answer, or the log says so.
    pub(super) a_card_is_lost: bool,
    /// The driver's module wrote about cards that it serves.
    pub(super) driver_spoke: bool,
    /// NVIDIA's driver has some of the cards on the bus.
    pub(super) some_are_served: bool,
    /// All cards on the bus are kept for virtual machines.
    pub(super) all_are_passed_on: bool,
    /// The whole bus was listed, without a card of NVIDIA.
    pub(super) has_no_card: bool,
    /// No driver has any of the cards on the bus.
    pub(super) none_is_bound: bool,
    /// Drivers other than NVIDIA's that have cards, each once.
    pub(super) other_drivers: Vec<&'scene str>,
    /// The line that says that the module was refused.
    pub(super) refusal: Option<&'scene KernelLine>,
    /// A line that says that some module was refused.
    pub(super) unnamed_refusal: Option<&'scene KernelLine>,
    /// The line that says that another driver has the cards.
    pub(super) owned_by_other: Option<&'scene KernelLine>,
    /// The line that says that the module is for another kernel.
    pub(super) does_not_fit: Option<&'scene KernelLine>,
    /// Loaded modules that drive NVIDIA's cards, where NVIDIA's own is not among the loaded ones.
    pub(super) stand_ins: Vec<String>,
    /// The module is not loaded.
    pub(super) module_is_absent: bool,
    /// There is no file of the module for this kernel.
    pub(super) has_no_file: bool,
    /// The module is built on this machine.
    pub(super) builds_driver: bool,
    /// The running kernel, and those for which the module is built instead.
    pub(super) not_built: Option<(&'scene str, Vec<String>)>,
    /// Only signed code may start.
    pub(super) secure_boot_is_on: bool,
}

impl<'scene> Signs<'scene> {
    pub(super) fn of(scene: &'scene Scene) -> Self {
        let driver = &scene.machine.driver;
        let listed = scene.machine.pci_cards.known();
        let cards = nvidia_pci_cards(scene).into_known().unwrap_or_default();
        let of_nvidia = listed.into_iter().flatten().filter(|device| is_of_nvidia(device)).count();
        let bound: Vec<&str> =
            cards.iter().filter_map(|card| card.driver.known()).map(String::as_str).collect();
        let mut other_drivers: Vec<&str> = bound
            .iter()
            .copied()
            .filter(|driver| !driver.starts_with("nvidia") || *driver == "nvidiafb")
            .collect();
        other_drivers.sort_unstable();
        other_drivers.dedup();
        let line = |is_wanted: fn(&KernelFact) -> bool| {
            let of_now = kernel_log::lines(scene).iter().filter(|line| !line.before_boot);
            of_now.rev().find(|line| line.fact.as_ref().is_some_and(is_wanted))
        };
        let is_lost = cards.iter().any(|card| card.answers == Reading::Known(false));
        Self {
            tool: tool(&driver.library),
            a_card_answers: whole_cards(scene).filter(|card| card.vendor == Vendor::Nvidia).any(|card| {
                card.busy.is_known() || card.memory.is_known() || !card.known_clients().is_empty()
            }),
            a_card_is_lost: is_lost
                || line(|fact| matches!(fact, KernelFact::FallenOffTheBus { .. })).is_some(),
            driver_spoke: line(speaks_of_cards).is_some(),
            some_are_served: bound.contains(&"nvidia"),
            none_is_bound: !cards.is_empty() && cards.iter().all(|card| card.driver == Reading::Unsupported),
            all_are_passed_on: of_nvidia > 0 && cards.is_empty(),
            has_no_card: listed.is_some() && of_nvidia == 0,
            other_drivers,
            refusal: line(|fact| *fact == KernelFact::ModuleRefused),
            unnamed_refusal: line(|fact| *fact == KernelFact::UnnamedModuleRefused),
            owned_by_other: line(|fact| matches!(fact, KernelFact::CardsOfOtherDriver { .. })),
            does_not_fit: line(|fact| *fact == KernelFact::ModuleOfOtherKernel),
            stand_ins: stand_ins(&driver.modules),
            module_is_absent: driver.module == Reading::Unsupported,
            has_no_file: driver.module_file == Reading::Unsupported,
            builds_driver: builds(scene).next().is_some(),
            not_built: not_built(scene),
            secure_boot_is_on: scene.machine.secure_boot == Reading::Known(true),
        }
    }

    /// Returns whether the tool found a library and that no driver.
    pub(super) fn driver_is_unreachable(&self) -> bool {
        matches!(self.tool, Some(Failure::Nvml { .. }))
    }

    /// Returns whether something shows that the driver is not there.
    pub(super) fn has_trouble(&self) -> bool {
        self.tool.is_some() || self.module_is_absent
    }
}

fn is_of_nvidia(device: &PciDevice) -> bool {
    device.vendor == PciDevice::NVIDIA && device.is_card()
}

/// Returns what the tool says, if it is that there is no driver, library or tool.
fn tool(library: &Reading<()>) -> Option<&Failure> {
    let Reading::Failed(failure) = library else {
        return None;
    };
    match failure {
        Failure::Nvml { code, .. } => (*code == DRIVER_NOT_LOADED).then_some(failure),
        Failure::LibraryNotLoaded { .. } => Some(failure),
        Failure::Missing { path } => (path == "nvidia-smi").then_some(failure),
        _ => None,
    }
}

/// Returns whether only a module that serves cards writes such a line.
fn speaks_of_cards(fact: &KernelFact) -> bool {
    matches!(
        fact,
        KernelFact::Xid { .. }
            | KernelFact::FallenOffTheBus { .. }
            | KernelFact::CardNotStarted { .. }
            | KernelFact::CardNotSupported { .. }
            | KernelFact::NoMemoryWindow { .. }
            | KernelFact::RpcTimeout
    )
}

/// Returns the loaded modules that take NVIDIA's cards, unless NVIDIA's own is loaded too.
fn stand_ins(modules: &Reading<Vec<String>>) -> Vec<String> {
    let modules = modules.known().map_or(&[][..], Vec::as_slice);
    if modules.iter().any(|name| name == "nvidia") {
        return Vec::new();
    }
    let takes = |name: &&String| matches!(name.as_str(), "nouveau" | "nova_core");
    modules.iter().filter(takes).cloned().collect()
}

/// Returns the builds of the driver's module.
fn builds(scene: &Scene) -> impl Iterator<Item = &gpuwhy_model::scene::ModuleBuild> {
    let all = scene.machine.driver.module_builds.known().into_iter().flatten();
    all.filter(|build| !OTHER_PACKAGES.contains(&build.module.as_str()))
}

/// Returns the running kernel and those for which the module can be loaded, if it is not among them.
fn not_built(scene: &Scene) -> Option<(&str, Vec<String>)> {
    // A build that went wrong names the kernel that somebody wants it for.
    let wanted = || builds(scene).find(|build| build.state == "broken")?.kernel.as_ref();
    let running = scene.machine.kernel.known().or_else(wanted)?;
    let mut built_for: Vec<String> = builds(scene)
        .filter(|build| USABLE.contains(&build.state.as_str()))
        .filter_map(|build| build.kernel.clone())
        .collect();
    built_for.sort();
    built_for.dedup();
    let is_built = built_for.contains(running) || builds(scene).next().is_none();
    (!is_built).then_some((running.as_str(), built_for))
}
