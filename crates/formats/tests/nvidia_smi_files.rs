//! Output of `nvidia-smi -q -x` of real machines, with values that were read by eye.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;
use std::path::Path;

use beside::beside;
use gpuwhy_formats::{Format, nvidia_smi_xml, recognise};
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardKind, ClientKind, ClockReasons};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Watts};

fn scene(folder: &Path, name: &str) -> Scene {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    nvidia_smi_xml::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn mebibytes(count: u64) -> Bytes {
    Bytes::from_mebibytes(count)
}

fn memory(card: &Card) -> [u64; 4] {
    let memory = card.memory.known().unwrap();
    let reserved = memory.reserved.known().map_or(u64::MAX, |reserved| reserved.0 >> 20);
    [memory.total.0 >> 20, reserved, memory.used.0 >> 20, memory.free.0 >> 20]
}

#[test]
fn every_file_is_recognised_and_read() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        assert_eq!(recognise(&bytes), Some(Format::NvidiaSmiXml), "{}", path.display());
        let scene = nvidia_smi_xml::read(std::str::from_utf8(&bytes).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!scene.cards.is_empty(), "{}", path.display());
        for card in &scene.cards {
            let is_whole = card.kind == CardKind::Card;
            assert!(!is_whole || card.name.is_known() && card.uuid.is_known(), "{}", path.display());
            let text = format!("{card:?}");
            assert!(!text.contains("Syntax"), "{}: {text}", path.display());
        }
        files += 1;
    }
    assert!(files >= 15, "only {files} files");
}

#[test]
fn eight_h100() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let scene = scene(&folder, "NVIDIA-k8s-test-infra__qx-h100.xml");
    assert_eq!(scene.machine.driver.version, Reading::Known("580.105.08".into()));
    assert_eq!(scene.machine.driver.cuda_version, Reading::Known("13.0".into()));
    assert_eq!(scene.machine.driver.card_count, Reading::Known(8));
    assert_eq!(scene.window.taken_at.to_string(), "2026-08-21T08:54:01Z");
    assert_eq!(scene.cards.iter().map(|card| card.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    let card = &scene.cards[0];
    assert_eq!(card.name, Reading::Known("NVIDIA H100 80GB HBM3".into()));
    assert_eq!(card.pci_address, Reading::Known("0000:53:00.0".into()));
    assert_eq!(memory(card), [81559, 480, 0, 81080]);
    assert_eq!(card.power.known().unwrap().last, Watts(68.57));
    assert_eq!(card.power_limits.enforced, Reading::Known(Watts(700.0)));
    assert_eq!(card.temperature_limits.margin, Reading::Known(Celsius(58.0)));
    assert!(card.temperature_limits.slowdown.is_not_in_source());
    assert_eq!(card.pcie.replays, Reading::Known(150));
    assert_eq!(card.pcie.to_card, Reading::Known(BytesPerSecond(578_000.0)));
    assert_eq!(card.pcie.to_host, Reading::Known(BytesPerSecond(502_000.0)));
    assert_eq!(card.fan, Reading::Unsupported);
    assert_eq!(card.clients, Reading::Known(Vec::new()));
    assert_eq!(card.mig_enabled, Reading::Known(false));
}

#[test]
fn a_gb200_that_is_lost() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let scene = scene(&folder, "NVIDIA-k8s-test-infra__qx-gb200-lost.xml");
    let [alive, lost] = scene.cards.as_slice() else { panic!("two cards") };
    assert_eq!(alive.handle, Reading::Known(()));
    assert_eq!(alive.busy.known().unwrap().last, Percent(50.0));
    assert_eq!(alive.power.known().unwrap().last, Watts(618.35));
    assert_eq!(alive.pcie.generation, Reading::Known(6));
    assert_eq!(alive.clock_reasons, Reading::Known(ClockReasons(ClockReasons::IDLE)));
    assert!(matches!(lost.handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert!(matches!(lost.memory, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert!(matches!(lost.busy, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert!(matches!(lost.power, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert_eq!(lost.pci_address, Reading::Known("0000:0b:00.0".into()));
    assert_eq!(lost.uuid, Reading::Known("GPU-b200b200-0000-0000-0000-000000000001".into()));
}

#[test]
fn an_a100_in_four_instances() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let scene = scene(&folder, "influxdata-telegraf__a100-sxm4-v12.xml");
    assert_eq!(scene.machine.driver.card_count, Reading::Known(4));
    assert_eq!(scene.cards.len(), 5);
    let card = &scene.cards[0];
    // One of four cards is listed; its device file is nvidia1.
    assert_eq!((card.index, card.minor.clone()), (1, Reading::Known(1)));
    assert_eq!(card.mig_enabled, Reading::Known(true));
    assert_eq!(card.busy, Reading::Unsupported);
    assert_eq!(card.persistence, Reading::Known(false));
    assert_eq!(card.power.known().unwrap().last, Watts(67.03));
    assert_eq!(card.temperature_limits.slowdown, Reading::Known(Celsius(89.0)));
    assert_eq!(card.temperature_limits.shutdown, Reading::Known(Celsius(92.0)));
    assert_eq!(card.temperature_limits.margin, Reading::Unsupported);
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(0)));
    for (instance, index) in scene.cards[1..].iter().zip(0..) {
        assert_eq!((instance.kind, instance.parent, instance.index), (CardKind::MigInstance, Some(1), index));
        assert_eq!(memory(instance), [19968, 0, 12, 19955]);
        assert_eq!(instance.bar1.known().unwrap().total, mebibytes(32767));
    }
}

#[test]
fn a_desktop_card_with_four_programs() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let scene = scene(&folder, "influxdata-telegraf__rtx-4000-sff-ada-v13.xml");
    let card = &scene.cards[0];
    assert_eq!(memory(card), [20475, 460, 3534, 16482]);
    assert_eq!(card.fan, Reading::Known(Percent(30.0)));
    assert_eq!(card.performance_state, Reading::Known(8));
    assert_eq!(
        (card.pcie.generation.clone(), card.pcie.generation_max.clone()),
        (Reading::Known(1), Reading::Known(4))
    );
    let clients: Vec<_> = card
        .known_clients()
        .iter()
        .map(|client| (client.pid.0, client.kind, client.memory.known().unwrap().0 >> 20))
        .collect();
    assert_eq!(
        clients,
        [
            (1842, ClientKind::Graphics, 410),
            (3190, ClientKind::Graphics, 451),
            (4937, ClientKind::Compute, 160),
            (34626, ClientKind::Graphics, 183),
        ]
    );
    assert_eq!(card.known_clients()[0].name, Reading::Known("cosmic-comp".into()));
    assert_eq!(card.unexplained, Reading::Known(mebibytes(3534 - 410 - 451 - 160 - 183)));
}

#[test]
fn old_drivers_use_other_names() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let old = scene(&folder, "influxdata-telegraf__gtx-1660-ti.xml");
    let card = &old.cards[0];
    assert_eq!(card.memory.known().unwrap().total, mebibytes(5912));
    assert!(card.memory.known().unwrap().reserved.is_not_in_source());
    assert_eq!(card.power.known().unwrap().last, Watts(8.93));
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(ClockReasons::IDLE)));
    assert_eq!(card.clocks.sm, Reading::Known(Megahertz(300.0)));
    assert_eq!(card.clocks.memory_max, Reading::Known(Megahertz(4001.0)));
    assert!(card.mig_enabled.is_not_in_source());
    let capped = scene(&folder, "influxdata-telegraf__rtx-3090-v12.xml");
    assert_eq!(capped.cards[0].power_limits.enforced, Reading::Known(Watts(200.0)));
    assert_eq!(capped.cards[0].power_limits.default, Reading::Known(Watts(350.0)));
    assert_eq!(capped.cards[0].power_limits.maximum, Reading::Known(Watts(375.0)));
    let without_power = scene(&folder, "influxdata-telegraf__quadro-p400.xml");
    assert_eq!(without_power.cards[0].power, Reading::Unsupported);
    let narrow = scene(&folder, "influxdata-telegraf__a10g.xml");
    assert_eq!(narrow.cards[0].pcie.width, Reading::Known(8));
    assert_eq!(narrow.cards[0].pcie.width_max, Reading::Known(16));
    assert_eq!(narrow.cards[0].pci_address, Reading::Known("0000:00:1e.0".into()));
    let t4 = scene(&folder, "NVIDIA-k8s-test-infra__qx-t4.xml");
    assert_eq!(t4.cards[0].power.known().unwrap().last, Watts(33.51), "only the instant value is there");
}

#[test]
fn secrets_in_process_names_are_masked() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let scene = scene(&folder, "influxdata-telegraf__rtx-3080-v12.xml");
    let clients = scene.cards[0].known_clients();
    assert_eq!(clients.len(), 5);
    let browser = clients.iter().find(|client| client.pid.0 == 2214).unwrap();
    let name = browser.name.known().unwrap();
    assert!(name.starts_with("/opt/microsoft/msedge/msedge --type=gpu-process"), "{name}");
    assert!(name.contains("--gpu-preferences=***") && !name.contains("WAAAAAAAAAAgAAAEAAAA"), "{name}");
    assert_eq!(scene.cards[0].minor, Reading::Unsupported);
    assert_eq!(scene.cards[0].persistence, Reading::Unsupported);
}
