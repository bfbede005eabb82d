//! Kernel logs and outputs of host tools of real machines, with values that were read by eye.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;
use std::path::Path;

use beside::beside;
use gpuwhy_formats::Format;
use gpuwhy_formats::kernel_log::{LogStream, looks_like_log};
use gpuwhy_formats::text::{Understood, understand};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, KernelLine, LogClock};
use gpuwhy_model::scene::Scene;

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .into_owned()
}

fn formats(understood: &Understood) -> Vec<Format> {
    understood.pieces.iter().map(|piece| piece.format).collect()
}

/// Understands a file that is one output.
fn only(path: &Path, format: Format) -> Scene {
    let mut understood = understand(&text(path));
    assert_eq!(formats(&understood), [format], "{}", path.display());
    understood.pieces.remove(0).scene
}

fn events(scene: &Scene) -> &[KernelLine] {
    scene.events.known().unwrap()
}

fn count(scene: &Scene, is_wanted: impl Fn(&KernelFact) -> bool) -> usize {
    events(scene).iter().filter_map(|line| line.fact.as_ref()).filter(|fact| is_wanted(fact)).count()
}

fn xid_numbers(scene: &Scene) -> Vec<u32> {
    let number = |line: &KernelLine| match line.fact {
        Some(KernelFact::Xid { number, .. }) => Some(number),
        _ => None,
    };
    let mut numbers: Vec<u32> = events(scene).iter().filter_map(number).collect();
    numbers.dedup();
    numbers
}

#[test]
fn logs_of_the_kernel_are_known_as_such() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    for (name, numbers) in [
        ("leptonai-gpud__dmesg-time-format-iso.log", &[48, 63, 94][..]),
        ("leptonai-gpud__dmesg-time-format-short-iso.log", &[]),
        ("leptonai-gpud__dmesg-with-xid-119.log", &[119]),
        ("leptonai-gpud__dmesg.peermem.log.0", &[]),
        ("leptonai-gpud__kmsg.1.log", &[]),
        ("leptonai-gpud__dmesg-erst.txt", &[]),
        ("leptonai-gpud__os_dmesg.decode.iso.log", &[]),
        ("amd-node-scraper__dmesg_sample.log", &[]),
    ] {
        let scene = only(&folder.join(name), Format::KernelLog);
        let mut found = xid_numbers(&scene);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, numbers, "{name}");
    }
}

#[test]
fn what_real_logs_say_is_read() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    let fault = only(&folder.join("leptonai-gpud__accelerator_dmesg.decode.iso.log"), Format::KernelLog);
    let in_nccl = |fact: &KernelFact| matches!(fact, KernelFact::BadAccess { library: Some(file), pid: Pid(2_536_443), .. } if file == "libnccl.so.2");
    assert_eq!(count(&fault, in_nccl), 2);
    assert_eq!((events(&fault)[1].boot_us, events(&fault)[1].clock), (60_000_000, LogClock::FirstLine));
    assert_eq!(fault.window.taken_at, "2025-01-21T04:42:44.285060Z".parse().unwrap());

    let memory = only(&folder.join("leptonai-gpud__memory_dmesg.decode.iso.log"), Format::KernelLog);
    assert!(count(&memory, |fact| matches!(fact, KernelFact::OutOfMemory { .. })) > 0);
    assert_eq!(xid_numbers(&memory), [13, 43]);

    let flood = only(&folder.join("leptonai-gpud__dmesg.decode.iso.log.0"), Format::KernelLog);
    assert_eq!(count(&flood, |fact| matches!(fact, KernelFact::Xid { .. })), 636);

    let kernel = only(&folder.join("amd-node-scraper__dmesg_sample.log"), Format::KernelLog);
    assert_eq!(kernel.machine.kernel, Reading::Known("5.15.0-91-generic".to_owned()));
    let crash = only(&folder.join("leptonai-gpud__dmesg-erst.txt"), Format::KernelLog);
    assert_eq!(crash.machine.kernel, Reading::Known("4.7.0-coreos".to_owned()));
}

#[test]
fn lines_of_tests_of_others_are_read_without_times() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    let understood = understand(&text(&folder.join("leptonai-gpud__xid-lines-from-tests.txt")));
    let events = || understood.pieces.iter().flat_map(|piece| events(&piece.scene));
    let xids = events().filter(|line| matches!(line.fact, Some(KernelFact::Xid { .. }))).count();
    assert_eq!(xids, 75);
    let lost: Vec<&str> = events()
        .filter_map(|line| match &line.fact {
            Some(KernelFact::FallenOffTheBus { pci_address }) => Some(pci_address.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(lost, ["0000:29:00.0", "0000:18:00.0"]);
    let switches = understand(&text(&folder.join("rupalis-nv-NVSentinel__xid-sxid-lines-from-tests.txt")));
    let of_switches = |line: &&KernelLine| matches!(line.fact, Some(KernelFact::SwitchError { .. }));
    let found =
        switches.pieces.iter().flat_map(|piece| crate::events(&piece.scene)).filter(of_switches).count();
    assert_eq!(found, 9);
}

#[test]
fn a_stream_finds_the_same_as_a_paste() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    for name in [
        "leptonai-gpud__dmesg-with-xid-119.log",
        "leptonai-gpud__memory_dmesg.decode.iso.log",
        "leptonai-gpud__dmesg-time-format-iso.log",
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        assert!(looks_like_log(&bytes), "{name}");
        let mut stream = LogStream::default();
        stream.feed_all(bytes.as_slice()).unwrap();
        let streamed = stream.finish();
        let facts = |scene: &Scene| -> Vec<KernelFact> {
            events(scene).iter().filter_map(|line| line.fact.clone()).collect()
        };
        let pasted = only(&folder.join(name), Format::KernelLog);
        assert_eq!(facts(&streamed.scene), facts(&pasted), "{name}");
    }
}

#[test]
fn outputs_of_host_tools_are_known() {
    let Some(folder) = beside("testdata/nvidia-smi") else { return };
    let modules = only(&folder.join("Azure-azhpc-diagnostics__lsmod.nvidia.out"), Format::Lsmod);
    let names = modules.machine.driver.modules.known().unwrap();
    assert_eq!(names, &["nvidia", "nvidia_drm", "nvidia_modeset"]);

    let a100 = only(&folder.join("leptonai-gpud__lspci.nn.a100"), Format::Lspci);
    let cards = a100.machine.pci_cards.known().unwrap();
    assert_eq!((cards.len(), cards[0].address.as_str(), cards[0].device), (8, "0001:00:00.0", 0x20b2));
    assert_eq!(a100.machine.nvswitches, Reading::Known(6));

    let a10 = only(&folder.join("leptonai-gpud__lspci.nn.a10"), Format::Lspci);
    let cards = a10.machine.pci_cards.known().unwrap();
    let addresses: Vec<&str> = cards.iter().map(|card| card.address.as_str()).collect();
    assert_eq!(addresses, ["0000:00:01.0", "0000:06:00.0"]);
    assert_eq!(a10.machine.nvswitches, Reading::Known(0));

    let gb200 = only(&folder.join("leptonai-gpud__lspci.gb200"), Format::Lspci);
    let cards = gb200.machine.pci_cards.known().unwrap();
    assert_eq!(cards.iter().filter(|card| card.vendor == 0x10de).count(), 4);
}

#[test]
fn incidents_are_read_as_far_as_they_are_of_these_formats() {
    let Some(folder) = beside("corpus") else { return };
    let part = |case: &str, format: Format| only(&folder.join(case), format);
    let ps = part("A-08-process-hidden-from-ps/ps.txt", Format::Ps);
    assert_eq!(ps.processes[0].key.pid, Pid(87354));

    let nouveau = part("A-28-nouveau-owns-three-gpus/dmesg.txt", Format::KernelLog);
    assert_eq!(count(&nouveau, |fact| *fact == KernelFact::CardsOfOtherDriver { cards: 3 }), 1);
    assert_eq!(nouveau.machine.driver.module, Reading::Unsupported);

    let refused = part("A-29-secure-boot-key-rejected/modprobe.txt", Format::Modprobe);
    assert_eq!(count(&refused, |fact| *fact == KernelFact::ModuleRefused), 1);
    let built = part("A-29-secure-boot-key-rejected/dkms-status.txt", Format::DkmsStatus);
    assert_eq!(built.machine.driver.module_builds.known().unwrap().len(), 3);

    let fabric = part("A-45-fabric-manager-550-127-vs-120/systemctl-status.txt", Format::SystemLog);
    let service = &fabric.machine.services.known().unwrap()[0];
    assert_eq!((service.name.as_str(), &service.running), ("nvidia-fabricmanager", &Reading::Known(false)));
    assert_eq!(service.version, Reading::Known("550.127.05".to_owned()));
    assert_eq!(fabric.machine.driver.module, Reading::Known("550.120".to_owned()));

    let bus = part("A-50-lspci-rev-ff/lspci.txt", Format::Lspci);
    let gone: Vec<&str> = bus
        .machine
        .pci_cards
        .known()
        .unwrap()
        .iter()
        .filter(|card| card.answers == Reading::Known(false))
        .map(|card| card.address.as_str())
        .collect();
    assert_eq!(gone, ["0000:1c:00.0"]);

    let gsp = part("A-52-gsp-timeout-on-h100-gpu4/dmesg.txt", Format::KernelLog);
    assert_eq!(xid_numbers(&gsp), [119]);
    let reboot = part("A-53-3090-xid154-no-devices/dmesg.txt", Format::KernelLog);
    assert_eq!(
        count(&reboot, |fact| matches!(fact, KernelFact::Xid { number: 154, recovery: Some(2), .. })),
        1
    );
    let rows = part("A-60-a100-xid63-correctable-177/syslog.txt", Format::KernelLog);
    assert_eq!(xid_numbers(&rows), [63]);
    let program = part("A-62-xid13-out-of-range-then-43/dmesg.txt", Format::KernelLog);
    assert_eq!((xid_numbers(&program), events(&program).len()), (vec![13, 43], 17));
    let cascade = part("A-64-xid145-149-then-45-cascade/kernel.log", Format::KernelLog);
    let caused = |by: u32| {
        count(
            &cascade,
            |fact| matches!(fact, KernelFact::Xid { caused_by: Some(number), .. } if *number == by),
        )
    };
    assert_eq!((caused(149), caused(145)), (2, 5));
    let hung = part("A-67-xid45-then-hung-task/dmesg.txt", Format::KernelLog);
    let task =
        |fact: &KernelFact| matches!(fact, KernelFact::HungTask { pid: Pid(620_917), seconds: 120, .. });
    assert_eq!((xid_numbers(&hung), count(&hung, task)), (vec![45], 1));
    let times: Vec<u64> = events(&hung).iter().map(|line| line.boot_us / 1_000_000).collect();
    assert_eq!(times[..7], [0, 0, 0, 0, 0, 0, 192]);
    assert_eq!(hung.machine.kernel, Reading::Known("5.15.0-97-generic".to_owned()));

    let room = |case: &str| {
        let space = part(case, Format::Df).host.shared_memory.known().copied().unwrap();
        (space.total >> 20, space.available >> 20)
    };
    assert_eq!(room("B-07-shm-1g-dataloader-deadlock/df-shm.txt"), (1024, 142));
    assert_eq!(room("B-62-shm-error-but-94g-free/df-shm.txt"), (94 << 10, 94 << 10));
    part("B-09-idle-gen1-180mhz-healthy/lspci-lnksta.txt", Format::Lspci);
}
