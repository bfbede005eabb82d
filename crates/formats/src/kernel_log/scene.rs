//! What a log of the kernel says of the machine.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, KernelLine, PciDevice};
use gpuwhy_model::scene::{Provenance, Scene, SourceKind, Window};

use super::Gathered;
use crate::Format;

/// The class of display controllers.
const DISPLAY: u32 = 0x0003_0000;

/// Returns the scene that a log shows.
///
/// Cards that the log only names by an address are not listed: the log gives them no number. Its lines carry them.
pub fn scene(gathered: Gathered) -> Scene {
    let mut scene = Scene {
        window: Window {
            taken_at: gathered.lines.iter().filter_map(|line| line.at).next_back().unwrap_or_default(),
            samples: 1,
            ..Window::default()
        },
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::KernelLog.to_string()] },
        ..Scene::default()
    };
    let machine = &mut scene.machine;
    machine.hostname = gathered.host.into();
    machine.kernel = gathered.kernel.into();
    machine.driver.module = module(&gathered.lines);
    if let (Some(version), false) = (gathered.module, machine.driver.module.is_known()) {
        machine.driver.module = Reading::Known(version);
    }
    machine.secure_boot = secure_boot(&gathered.lines).into();
    if gathered.has_no_switches {
        machine.nvswitches = Reading::Known(0);
    }
    if !gathered.services.is_empty() {
        machine.services = Reading::Known(gathered.services);
    }
    let mut cards: BTreeMap<String, PciDevice> =
        gathered.pci_cards.into_iter().map(|device| (device.address.clone(), device)).collect();
    if others_have(&gathered.lines, &mut cards) {
        machine.driver.modules = Reading::Known(vec!["nouveau".to_owned()]);
    }
    if !cards.is_empty() {
        machine.pci_cards = Reading::Known(cards.into_values().collect());
    }
    scene.events = Reading::Known(gathered.lines);
    scene
}

/// Returns the version of the driver's module, by the newest line about it; one that served no card is not loaded.
fn module(lines: &[KernelLine]) -> Reading<String> {
    let of_now = lines.iter().rev().filter(|line| !line.before_boot);
    let mut said = of_now.filter_map(|line| match line.fact.as_ref()? {
        KernelFact::ModuleLoaded { version } | KernelFact::VersionMismatch { module: version, .. } => {
            Some(Reading::Known(version.clone()))
        }
        KernelFact::NoCardServed => Some(Reading::Unsupported),
        _ => None,
    });
    said.next().unwrap_or_default()
}

fn secure_boot(lines: &[KernelLine]) -> Option<bool> {
    lines.iter().rev().find_map(|line| match line.fact {
        Some(KernelFact::SecureBoot { is_enabled }) => Some(is_enabled),
        _ => None,
    })
}

/// Adds the cards that another driver has, and returns whether there are any.
fn others_have(lines: &[KernelLine], cards: &mut BTreeMap<String, PciDevice>) -> bool {
    let mut are_any = false;
    for line in lines.iter().filter(|line| !line.before_boot) {
        let Some(KernelFact::OtherDriver { pci_address, driver }) = &line.fact else {
            continue;
        };
        are_any = true;
        // That driver takes display controllers of NVIDIA and nothing else.
        let new = || PciDevice {
            address: pci_address.clone(),
            vendor: PciDevice::NVIDIA,
            class: DISPLAY,
            ..PciDevice::default()
        };
        cards.entry(pci_address.clone()).or_insert_with(new).driver = Reading::Known(driver.clone());
    }
    are_any
}
