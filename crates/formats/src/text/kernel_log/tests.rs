use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{KernelFact, KernelLine, LogClock};
use gpuwhy_model::scene::Scene;

use crate::Format;
use crate::text::{Understood, understand};

/// Understands a text that is one kernel log and nothing else.
fn read(text: &str) -> Scene {
    let mut understood = understand(text);
    assert_eq!(formats(&understood), [Format::KernelLog], "{text}");
    assert_eq!(understood.unknown_lines, [0_u64; 0], "{text}");
    understood.pieces.remove(0).scene
}

fn formats(understood: &Understood) -> Vec<Format> {
    understood.pieces.iter().map(|piece| piece.format).collect()
}

fn events(scene: &Scene) -> &[KernelLine] {
    scene.events.known().unwrap()
}

/// Numbers of Xids, with the time of each.
fn xids(scene: &Scene) -> Vec<(u32, u64)> {
    let number = |line: &KernelLine| match line.fact {
        Some(KernelFact::Xid { number, .. }) => Some((number, line.boot_us)),
        _ => None,
    };
    events(scene).iter().filter_map(number).collect()
}

/// The same two errors as every tool writes them; 192.5 s lie between them.
const AS_TOOLS_WRITE_IT: &[&str] = &[
    "[ 1000.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     [ 1192.500001] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "<4>[ 1000.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     <4>[ 1192.500001] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "kern  :warn  : [ 1000.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     kern  :err   : [ 1192.500001] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "Nov  5 13:55:26 n1 kernel: [ 1000.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     Nov  5 13:58:38 n1 kernel: [ 1192.500001] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "4,1234,1000000001,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n SUBSYSTEM=pci\n DEVICE=+pci:x\n\
     3,1235,1192500001,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "[ 1000.000001] n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     [ 1192.500001] n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "{\"_TRANSPORT\":\"kernel\",\"__MONOTONIC_TIMESTAMP\":\"1000000001\",\"MESSAGE\":\"NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\"}\n\
     {\"_TRANSPORT\":\"kernel\",\"__MONOTONIC_TIMESTAMP\":\"1192500001\",\"MESSAGE\":\"NVRM: Xid (PCI:0000:3b:00): 79, x\"}",
    "{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"__MONOTONIC_TIMESTAMP\" : \"1000000001\",\n\t\"MESSAGE\" : \"NVRM: Xid (PCI:0000:3b:00): 31, pid=77\"\n}\n\
     {\n\t\"__MONOTONIC_TIMESTAMP\" : \"1192500001\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"NVRM: Xid (PCI:0000:3b:00): 79, x\"\n}",
    "__CURSOR=s=1\n__MONOTONIC_TIMESTAMP=1000000001\n_TRANSPORT=kernel\nMESSAGE=NVRM: Xid (PCI:0000:3b:00): 31, pid=77\n\n\
     __CURSOR=s=2\n__MONOTONIC_TIMESTAMP=1192500001\n_TRANSPORT=kernel\nMESSAGE=NVRM: Xid (PCI:0000:3b:00): 79",
];

/// The same with calendar times only.
const WITH_CALENDAR_TIMES: &[&str] = &[
    "[Tue Nov  5 13:55:26 2024] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     [Tue Nov  5 13:58:38 2024] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "2024-11-05T13:55:26,500000+00:00 NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     2024-11-05T13:58:38,500000+00:00 NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "2024-11-05T13:55:26+0100 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     2024-11-05T13:58:38+0100 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "Nov 05 13:55:26 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     Nov 05 13:58:38 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
    "[Nov 5 13:55] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=a, x\n\
     [ +192.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
];

#[test]
fn every_tool_tells_the_same_times() {
    for text in AS_TOOLS_WRITE_IT {
        let scene = read(text);
        assert_eq!(xids(&scene), [(31, 1_000_000_001), (79, 1_192_500_001)], "{text}");
        assert!(events(&scene).iter().all(|line| line.clock == LogClock::Boot));
    }
    for text in WITH_CALENDAR_TIMES {
        let text = text.replace("[Nov 5 ", "[Nov5 ");
        let scene = read(&text);
        assert_eq!(xids(&scene), [(31, 0), (79, 192_000_000)], "{text}");
        assert!(events(&scene).iter().all(|line| line.clock == LogClock::FirstLine));
    }
}

#[test]
fn times_with_a_year_are_kept_and_others_are_not_made_up() {
    let scene = read(WITH_CALENDAR_TIMES[0]);
    assert_eq!(events(&scene)[1].at, Some("2024-11-05T13:58:38Z".parse().unwrap()));
    assert_eq!(scene.window.taken_at, "2024-11-05T13:58:38Z".parse().unwrap());
    assert_eq!(events(&read(WITH_CALENDAR_TIMES[3]))[1].at, None);
    let over_the_year = "Dec 31 23:59:59 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, x\n\
                         Jan  1 00:00:01 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 43, pid=7, name=a, x";
    let times: Vec<u64> = xids(&read(over_the_year)).iter().map(|(_, time)| *time).collect();
    assert_eq!(times, [0, 2_000_000]);
}

#[test]
fn lines_without_times_keep_their_order() {
    let scene = read(
        "NVRM: Xid (PCI:0000:dc:00): 145, pid=5, name=a, RLW_RXPIPE Nonfatal XC0 i0 Link 12 (0x1)\n\
         kernel: NVRM: Xid (PCI:0000:ba:00): 45, pid=6, name=b, Ch 1 caused by previous Xid 145\n\
         NVRM: Xid (PCI:0000:aa:00): 13, pid=4, name=c, x",
    );
    assert_eq!(xids(&scene), [(145, 0), (45, 0), (13, 0)]);
    assert!(scene.machine.hostname.is_not_in_source());
}

#[test]
fn a_message_may_stand_on_several_lines_with_one_time() {
    let with_times = "[ 50.000001] NVRM: The NVIDIA GPU 0000:18:00.0\n[ 50.000001] NVRM: (PCI ID: 10de:2330)\n\
                      [ 50.000001] NVRM: installed in this system has\n\
                      [ 50.000001] NVRM: fallen off the bus and is not responding to commands.\n\
                      [ 50.000009] nvidia: probe of 0000:18:00.0 failed with error -1";
    let one_time = "[ 50.000001] NVRM: The NVIDIA GPU 0000:18:00.0 (PCI ID: 10de:2330)\n\
                    NVRM: installed in this system has\nNVRM: fallen off the bus and is not responding to commands.";
    let lost = KernelFact::FallenOffTheBus { pci_address: "0000:18:00.0".to_owned() };
    // `dmesg` itself shows further lines of one record so.
    let indented = "[ 50.000001] NVRM: The NVIDIA GPU 0000:18:00.0 (PCI ID: 10de:2330)\n               \
                    NVRM: installed in this system has\n               NVRM: fallen off the bus and is not responding \
                    to commands.\n[ 51.000001] eth0: link becomes ready";
    for text in [with_times, one_time, indented] {
        assert_eq!(events(&read(text))[0].fact, Some(lost.clone()), "{text}");
    }
    // The address of a neighbouring message does not count.
    let scene = read(
        "[ 50.000001] NVRM: GPU 0000:18:00.0: RmInitAdapter failed! (0x62)\n[ 50.000001] NVRM: fallen off the bus",
    );
    assert!(events(&scene).iter().all(|line| line.fact != Some(lost.clone())));
}

#[test]
fn cards_that_need_another_module_are_named_at_the_end_of_a_message() {
    let fact = |needs_other_module| {
        let pci_address = Some("0000:09:00.0".to_owned());
        Some(KernelFact::CardNotSupported { pci_address, needs_other_module })
    };
    for (text, needs_other_module) in [
        (
            "kernel: NVRM: The NVIDIA GPU 0000:09:00.0 (PCI ID: 10de:1d01)\n         NVRM: installed in this system is not \
             supported by open\n         NVRM: nvidia.ko because it does not include the required GPU\n         NVRM: \
             System Processor (GSP).\nkernel: nvidia 0000:09:00.0: probe with driver nvidia failed with error -1\n\
             kernel: NVRM: The NVIDIA probe routine failed for 1 device(s).\n\
             kernel: NVRM: None of the NVIDIA devices were initialized.",
            true,
        ),
        (
            "[ 5.100001] NVRM: The NVIDIA GPU 0000:09:00.0 (PCI ID: 10de:1050) installed\n[ 5.100002] NVRM: in this \
             system is not supported by the 280.13 NVIDIA Linux\n[ 5.100003] NVRM: graphics driver release.  Please \
             see 'Appendix A -\n[ 5.100004] NVRM: www.nvidia.com.\n[ 5.100005] nvidia: probe of 0000:09:00.0 failed \
             with error -1\n[ 5.100006] NVRM: None of the NVIDIA graphics adapters were initialized!",
            false,
        ),
    ] {
        let scene = read(text);
        assert_eq!(events(&scene)[0].fact, fact(needs_other_module), "{text}");
        assert!(matches!(events(&scene)[1].fact, Some(KernelFact::ProbeFailed { code: -1, .. })));
        assert_eq!(events(&scene).last().unwrap().fact, Some(KernelFact::NoCardServed));
        assert_eq!(scene.machine.driver.module, Reading::Unsupported);
    }
}

#[test]
fn versions_that_do_not_fit_stand_on_several_lines() {
    let scene = read(
        "[ 50.000001] NVRM: API mismatch: the client has the version 535.183.06, but\n\
         NVRM: this kernel module has the version 535.183.01.  Please\n\
         NVRM: make sure that this kernel module and all NVIDIA driver\n\
         NVRM: components have the same version.",
    );
    let (client, module) = ("535.183.06".to_owned(), "535.183.01".to_owned());
    assert_eq!(events(&scene)[0].fact, Some(KernelFact::VersionMismatch { client, module }));
    assert_eq!(scene.machine.driver.module, Reading::Known("535.183.01".to_owned()));
    let newer = read(
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 77) has the version 595.84,\n\
         but this kernel module has the version 595.71.05.",
    );
    let (client, module) = ("595.84".to_owned(), "595.71.05".to_owned());
    assert_eq!(events(&newer)[0].fact, Some(KernelFact::VersionMismatch { client, module }));
}

#[test]
fn a_driver_that_gets_no_card_is_not_loaded() {
    let scene = read(
        "[10.000001] nouveau 0000:17:00.0: NVIDIA GA102 (172000a1)\n\
         [50.000001] nvidia-nvlink: Nvlink Core is being initialized, major device number 511\n\
         [50.000002] NVRM: The NVIDIA probe routine was not called for 2 device(s).\n\
         [50.000003] NVRM: This can occur when a driver such as: \nNVRM: nouveau, rivafb, nvidiafb or rivatv \n\
         NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n\
         [50.000005] NVRM: No NVIDIA graphics adapter probed!",
    );
    let driver = &scene.machine.driver;
    assert_eq!(driver.module, Reading::Unsupported);
    assert_eq!(driver.modules, Reading::Known(vec!["nouveau".to_owned()]));
    let cards = scene.machine.pci_cards.known().unwrap();
    assert_eq!(
        (cards[0].address.as_str(), &cards[0].driver),
        ("0000:17:00.0", &Reading::Known("nouveau".to_owned()))
    );
    assert!(events(&scene).iter().any(|line| line.fact == Some(KernelFact::CardsOfOtherDriver { cards: 2 })));
}

#[test]
fn a_log_that_may_not_be_read_is_closed_and_not_empty() {
    for text in [
        "$ dmesg | grep -i xid\ndmesg: read kernel buffer failed: Operation not permitted\n$ ",
        "dmesg: klogctl failed: Operation not permitted",
        "dmesg: 读取内核缓冲区失败: 不允许的操作",
        "dmesg: Lesen des Kernel-Puffers ist fehlgeschlagen: Vorgang nicht zulässig",
        "cat: /var/log/kern.log: Permission denied",
        "cat: /dev/kmsg: Operation not permitted",
        "Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm', \
         'systemd-journal' can see all messages.\n      Pass -q to turn off this notice.",
        "No journal files were opened due to insufficient permissions.",
    ] {
        let understood = understand(text);
        assert_eq!(formats(&understood), [Format::KernelLog], "{text}");
        assert_eq!(understood.pieces[0].scene.events, Reading::Denied(Access::KernelLog), "{text}");
        assert_eq!(understood.unknown_lines, [0_u64; 0], "{text}");
    }
    for text in
        ["cat: /data/train.py: Permission denied", "dmesg: unknown option -- q", "$ dmesg | grep NVRM\n$ "]
    {
        assert!(!formats(&understand(text)).contains(&Format::KernelLog), "{text}");
    }
}

#[test]
fn sentences_are_no_log() {
    for text in [
        "nouveau is loaded here, what now?",
        "kernel: python3 is idle",
        "nvidia: the driver of my card does not load",
        "see [1] NVRM: in the log",
    ] {
        assert!(!formats(&understand(text)).contains(&Format::KernelLog), "{text}");
    }
}

#[test]
fn boots_are_told_apart() {
    for text in [
        "Nov  5 13:00:00 n1 kernel: [90000.000001] NVRM: Xid (PCI:0000:3b:00): 79, x\n\
         Nov  5 14:00:00 n1 kernel: [   50.000001] NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, x",
        "Nov 05 13:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, x\n-- Boot 5f2c --\n\
         Nov 05 14:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, x",
        "Nov 05 13:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, x\n\
         Nov 05 13:10:00 n1 kernel: Linux version 6.8.0-45-generic (b@h)\n\
         Nov 05 14:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, x",
    ] {
        let scene = read(text);
        let old: Vec<bool> = events(&scene).iter().map(|line| line.before_boot).collect();
        assert_eq!(old, [true, false], "{text}");
    }
}

#[test]
fn lines_that_a_window_broke_are_whole_again() {
    let scene = read(
        "[ 1000.000001] NVRM: Xid (PCI:0000:3b:00): 45, pid=1818990, name=python3, Ch 00\n000001 caused by previous Xid 149\n\
         [ 1000.000002] INFO: task cache_mgr_event:620917 blocked for more than 120\nseconds.",
    );
    assert!(matches!(events(&scene)[0].fact, Some(KernelFact::Xid { caused_by: Some(149), .. })));
    let (name, pid) = ("cache_mgr_event".to_owned(), Pid(620_917));
    assert_eq!(
        events(&scene)[1].fact,
        Some(KernelFact::HungTask { name, pid, seconds: 120, waits_for_io: false })
    );
}

#[test]
fn old_kernels_name_the_group_beforehand() {
    let scene = read(
        "[ 90.000001] Task in /slurm/uid_1000/job_5 killed as a result of limit of /slurm/uid_1000/job_5\n\
         [ 90.000002] memory: usage 8388608kB, limit 8388608kB, failcnt 9999\n\
         [ 90.000003] Memory cgroup out of memory: Kill process 4242 (python) score 974 or sacrifice child\n\
         [ 90.000004] Killed process 4242 (python), UID 1000, total-vm:98304kB, anon-rss:65536kB",
    );
    let group = Some("/slurm/uid_1000/job_5".to_owned());
    let killed = KernelFact::OutOfMemory { name: "python".to_owned(), pid: Pid(4242), of_group: true, group };
    assert!(events(&scene).iter().any(|line| line.fact == Some(killed.clone())));
}

#[test]
fn services_in_a_journal_are_read_and_other_programs_are_left_to_others() {
    let understood = understand(
        "Nov 05 13:55:26 n1 systemd[1]: Starting NVIDIA fabric manager service...\n\
         Nov 05 13:55:26 n1 nv-fabricmanager[104]: fabric manager NVIDIA GPU driver interface version 550.90.07 \
         don't match with driver version 550.54. Please update.\n\
         Nov 05 13:55:26 n1 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE\n\
         Nov 05 13:55:27 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=a, x\n\
         Nov 05 13:55:27 n1 sshd[9]: Accepted publickey for bob\n\
         Nov 05 13:55:28 n1 vllm[99]: INFO 11-05 13:55:28 metrics.py: x",
    );
    assert_eq!((understood.pieces[0].first_line, understood.pieces[0].last_line), (1, 5));
    let scene = &understood.pieces[0].scene;
    let service = &scene.machine.services.known().unwrap()[0];
    assert_eq!((service.name.as_str(), &service.running), ("nvidia-fabricmanager", &Reading::Known(false)));
    assert_eq!(scene.machine.driver.module, Reading::Known("550.54".to_owned()));
    assert_eq!(scene.machine.hostname, Reading::Known("n1".to_owned()));
}

#[test]
fn a_log_of_services_alone_says_nothing_of_the_kernel() {
    for text in [
        "Nov 05 13:55:26 n1 systemd[1]: Starting NVIDIA fabric manager service...\n\
         Nov 05 13:55:26 n1 sshd[9]: Accepted publickey for bob\n\
         Nov 05 13:55:27 n1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.",
        "{\"__MONOTONIC_TIMESTAMP\":\"9\",\"_HOSTNAME\":\"n1\",\"SYSLOG_IDENTIFIER\":\"systemd\",\"MESSAGE\":\"nvidia-fabricmanager.service: Failed with result 'exit-code'.\"}",
    ] {
        let mut understood = understand(text);
        assert_eq!(formats(&understood), [Format::SystemLog], "{text}");
        assert_eq!(understood.unknown_lines, [0_u64; 0], "{text}");
        let scene = understood.pieces.remove(0).scene;
        assert!(scene.events.is_not_in_source(), "{text}");
        assert_eq!(scene.provenance.inputs, ["log of services"]);
        let service = &scene.machine.services.known().unwrap()[0];
        assert_eq!((service.name.as_str(), service.failed), ("nvidia-fabricmanager", true), "{text}");
    }
}

#[test]
fn the_kernel_and_its_devices_are_known_from_its_start() {
    let scene = read(
        "[    0.000000] Linux version 6.8.0-45-generic (b@h) (gcc) #45-Ubuntu SMP\n\
         [    0.000000] secureboot: Secure boot enabled\n\
         [    1.000000] pci 0000:65:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint\n\
         [    9.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024",
    );
    assert_eq!(scene.machine.kernel, Reading::Known("6.8.0-45-generic".to_owned()));
    assert_eq!(scene.machine.secure_boot, Reading::Known(true));
    assert_eq!(scene.machine.driver.module, Reading::Known("550.90.07".to_owned()));
    assert_eq!(scene.machine.pci_cards.known().unwrap()[0].device, 0x2330);
}
