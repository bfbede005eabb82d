//! Memory, disks, the bus, modules, services, and many outputs in one paste.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, ProcessState};
use gpuwhy_model::units::{BytesPerSecond, Cores, Share};

use super::{MIB, process, read};
use crate::Format;
use crate::text::understand;

#[test]
fn free_of_all_ages_tells_what_is_available() {
    for (text, total, available, swap_free) in [
        (
            "               total        used        free      shared  buff/cache   available\n\
             Mem:           125Gi        90Gi       1.0Gi       2.0Gi        34Gi        33Gi\n\
             Swap:          2.0Gi       2.0Gi          0B",
            125 << 30,
            33 << 30,
            0,
        ),
        (
            "$ free -m\n              total        used        free      shared  buff/cache   available\n\
             Mem:         128000       90000        1000         200       37000       36000\nSwap:          2048           0        2048",
            128_000 * MIB,
            36_000 * MIB,
            2048 * MIB,
        ),
        (
            "             total       used       free     shared    buffers     cached\n\
             Mem:     131822592  131000000     822592          0     100000   50000000\n\
             -/+ buffers/cache:   80900000   50922592\nSwap:      2097152          0    2097152",
            131_822_592 << 10,
            50_922_592 << 10,
            2_097_152 << 10,
        ),
        (
            "               总计         已用        空闲      共享    缓冲/缓存    可用\n\
             内存：         125Gi        90Gi       1.0Gi       2.0Gi        34Gi        33Gi\n交换：         2.0Gi          0B       2.0Gi",
            125 << 30,
            33 << 30,
            2 << 30,
        ),
    ] {
        let scene = read(Format::Free, text);
        let memory = scene.host.memory.known().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            (memory.total, memory.available, memory.swap_free),
            (total, available, swap_free),
            "{text}"
        );
    }
    // Cut before the row about swap: nothing is made up.
    let cut = "               total        used        free      shared  buff/cache   available\nMem:           125Gi        90Gi       1.0Gi";
    assert!(read(Format::Free, cut).host.memory.is_not_in_source());
}

#[test]
fn df_tells_the_room_in_shared_memory() {
    let room = |text: &str| {
        let scene = read(Format::Df, text);
        scene.host.shared_memory.known().map(|space| (space.total, space.available))
    };
    for (text, expected) in [
        ("# df -h | grep shm\nshm      1.0G  883M  142M  87% /dev/shm", Some((1 << 30, 142 * MIB))),
        ("tmpfs            94G  336K   94G   1% /dev/shm", Some((94 << 30, 94 << 30))),
        (
            "Filesystem     1K-blocks      Used Available Use% Mounted on\nshm                65536     65536         0 100% /dev/shm\n/dev/nvme0n1p1 959786032 123456789 787503947  14% /",
            Some((64 * MIB, 0)),
        ),
        (
            "文件系统        容量  已用  可用 已用% 挂载点\nshm              64M     0   64M    0% /dev/shm",
            Some((64 * MIB, 64 * MIB)),
        ),
        (
            "Filesystem                              Size  Used Avail Use% Mounted on\nnas01.example.com:/export/very/long/data\n                                        100T   90T   10T  90% /data",
            None,
        ),
        (
            "$ df -i\nFilesystem     Inodes IUsed IFree IUse% Mounted on\nshm              5000     1  4999    1% /dev/shm",
            None,
        ),
    ] {
        assert_eq!(room(text), expected, "{text}");
    }
    let typed = read(
        Format::Df,
        "Filesystem     Type   Size  Used Avail Use% Mounted on\nnas01:/data    nfs4   100T   90T   10T  90% /data",
    );
    assert_eq!(typed.mounts.known().unwrap()[0].file_system, "nfs4");
}

#[test]
fn mounts_are_read_from_command_and_files() {
    for text in [
        "nas01:/data on /data type nfs4 (rw,relatime,vers=4.2)\nproc on /proc type proc (rw)",
        "nas01:/data /data nfs4 rw,relatime,vers=4.2 0 0\nproc /proc proc rw 0 0",
        "36 35 0:50 / /data rw,noatime shared:1 - nfs4 nas01:/data rw,vers=4.2\n22 27 0:21 / /proc rw,relatime - proc proc rw",
    ] {
        let scene = read(Format::Mounts, text);
        let mounts = scene.mounts.known().unwrap();
        assert_eq!((mounts[0].target.as_str(), mounts[0].file_system.as_str()), ("/data", "nfs4"), "{text}");
        assert_eq!(mounts.len(), 2);
    }
}

const IOSTAT: &str = "Linux 5.15.0-97-generic (node1) \t10/12/2024 \t_x86_64_\t(64 CPU)\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    1.00    0.50    0.00   97.50\n\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\nnvme0n1         10.00    100.00     0.00   0.00    0.10    10.00    1.00     10.00     0.00   0.00    0.10    10.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.01   1.00\n\n";

#[test]
fn iostat_since_the_start_of_the_machine_says_nothing_about_now() {
    let scene = read(Format::Iostat, IOSTAT);
    assert_eq!(scene.host.cpus, Reading::Known(64));
    assert_eq!(scene.machine.kernel, Reading::Known("5.15.0-97-generic".to_owned()));
    let disk = &scene.host.disks.known().unwrap()[0];
    assert!(disk.name == "nvme0n1" && disk.busy.is_not_in_source());
    let later = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          10.00    0.00    5.00   20.00    0.00   65.00\n\nDevice            r/s     rMB/s     w/s     wMB/s  aqu-sz  %util\nnvme0n1       1000.00    500.00    0.00      0.00   31.50  99.90\nsda              0.00      0.00    2.00      1.00    0.00   0.10\n";
    let scene = read(Format::Iostat, &format!("$ iostat -xm 2 2\n{IOSTAT}{later}"));
    assert_eq!((scene.window.samples, scene.window.span_s), (1, 2.0));
    let disk = &scene.host.disks.known().unwrap()[0];
    assert_eq!(disk.read, Reading::Known(BytesPerSecond(500.0 * 1_048_576.0)));
    assert!((disk.busy.known().unwrap().0 - 0.999).abs() < 1e-9 && disk.queue == Reading::Known(31.5));
    assert!((scene.host.cores_used.known().unwrap().0 - 9.6).abs() < 1e-9);
    // Old columns, without a title: later reports.
    let old = read(
        Format::Iostat,
        "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\nsda               0.00     1.00  100.00    5.00  4096.00    40.00    78.00     4.50   45.00   44.00   50.00   9.00  95.00",
    );
    let disk = &old.host.disks.known().unwrap()[0];
    assert_eq!(
        (disk.read.clone(), disk.queue.clone()),
        (Reading::Known(BytesPerSecond(4096.0 * 1024.0)), Reading::Known(4.5))
    );
}

#[test]
fn mpstat_counts_processors() {
    let title = "Linux 5.15.0-97-generic (node1) \t10/12/2024 \t_x86_64_\t(4 CPU)\n\n";
    let head =
        "06:35:32 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n";
    let rows = "06:35:33 PM  all   25.00    0.00    0.00   25.00    0.00    0.00    1.00    0.00    0.00   50.00\n06:35:33 PM    0  100.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n";
    let since_start = read(Format::Mpstat, &format!("{title}{head}{rows}"));
    assert_eq!(since_start.host.cpus, Reading::Known(4));
    assert!(since_start.host.cores_used.is_not_in_source());
    let asked = read(Format::Mpstat, &format!("$ mpstat -P ALL 1 1\n{title}{head}{rows}"));
    assert_eq!(asked.host.cores_used, Reading::Known(Cores(1.0)));
    assert_eq!(asked.host.steal, Reading::Known(Share(0.01)));
    let average = "\nAverage:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\nAverage:     all   50.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   50.00\n";
    let averaged = read(Format::Mpstat, &format!("{title}{head}{rows}{average}"));
    assert_eq!(averaged.host.cores_used, Reading::Known(Cores(2.0)));
}

#[test]
fn vmstat_tells_swapping() {
    let text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0 100000 500000   1000  20000    1    2    30    40  100  200  3  1 95  1  0\n 5  9 200000  10000   1000  20000 4000 8000  9000  9000 9000 9000 20 30 10 40  0\n 5  9 200000  10000   1000  20000 4000 8000  9000  9000 9000 9000 20 30 10 40  0\n";
    let scene = read(Format::Vmstat, &format!("$ vmstat 5\n{text}"));
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 10.0));
    assert_eq!(scene.host.paging.swapped_in_per_s, Reading::Known(1000.0));
    assert_eq!(scene.host.paging.swapped_out_per_s, Reading::Known(2000.0));
    let first_only = text.lines().take(3).collect::<Vec<_>>().join("\n");
    assert!(read(Format::Vmstat, &first_only).host.paging.swapped_in_per_s.is_not_in_source());
}

#[test]
fn uptime_tells_when_the_machine_started() {
    let scene =
        read(Format::Uptime, " 18:35:32 up 2 days,  1:00,  1 user,  load average: 64.12, 60.00, 50.10");
    assert_eq!(scene.window.end_boot_ns, Some((2 * 86_400 + 3600) * 1_000_000_000));
}

#[test]
fn files_of_proc_are_known_by_content_and_path() {
    let memory = read(
        Format::ProcFile,
        "$ cat /proc/meminfo\nMemTotal:       131822592 kB\nMemFree:          822592 kB\nMemAvailable:    1000000 kB\nSwapTotal:       2097152 kB\nSwapFree:              0 kB\nDirty:               100 kB\nShmem:              2048 kB\nHugePages_Total:       0",
    );
    assert_eq!(memory.host.memory.known().unwrap().available, 1_000_000 << 10);
    let some = "some avg10=85.50 avg60=40.00 avg300=10.00 total=4140807\nfull avg10=60.25 avg60=30.00 avg300=8.00 total=3140807";
    let io = read(Format::ProcFile, &format!("$ cat /proc/pressure/memory\n{some}"));
    assert_eq!(io.host.pressure.memory_some, Reading::Known(Share(0.855)));
    assert_eq!(io.host.pressure.memory_full, Reading::Known(Share(0.6025)));
    let named = read(
        Format::ProcFile,
        "/proc/pressure/io:some avg10=12.00 avg60=1.00 avg300=0.00 total=5\n/proc/pressure/io:full avg10=11.00 avg60=1.00 avg300=0.00 total=4",
    );
    assert_eq!(named.host.pressure.io_some, Reading::Known(Share(0.12)));
    // Of what nobody says is not taken for anything.
    assert!(read(Format::ProcFile, some).host.pressure.memory_some.is_not_in_source());
    let version = read(
        Format::ProcFile,
        "==> /proc/driver/nvidia/version <==\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (b@h)\nGCC version:  gcc version 12.2.0 (x)",
    );
    assert_eq!(version.machine.driver.module, Reading::Known("580.65.06".to_owned()));
    let missing = read(Format::ProcFile, "cat: /proc/driver/nvidia/version: No such file or directory");
    assert_eq!(missing.machine.driver.module, Reading::Unsupported);
    read(Format::ProcFile, "0.10 0.20 0.30 3/1234 56789");
}

#[test]
fn files_of_a_process_name_it_by_their_path() {
    let status = read(
        Format::ProcFile,
        "$ cat /proc/4242/status\nName:\tpython3\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4242\nPid:\t4242\nPPid:\t1\nUid:\t1000\t1000\t1000\t1000\nVmRSS:\t    2048 kB\nThreads:\t17",
    );
    let found = process(&status, 4242);
    assert_eq!((found.name.as_str(), found.parent, found.thread_count), ("python3", Pid(1), 17));
    assert_eq!(found.state, Reading::Known(ProcessState::Blocked));
    let stack = read(
        Format::ProcFile,
        "# cat /proc/4242/stack\n[<0>] os_acquire_rwlock_write+0x35/0x40 [nvidia]\n[<0>] nvidia_ioctl+0x12/0x34 [nvidia]\n[<0>] do_syscall_64+0x38/0x90",
    );
    assert_eq!(process(&stack, 4242).wait_channels[0].name, "os_acquire_rwlock_write");
    let place = read(Format::ProcFile, "$ cat /proc/4242/wchan\nrpc_wait_bit_killable");
    assert_eq!(process(&place, 4242).wait_channels[0].name, "rpc_wait_bit_killable");
}

#[test]
fn lspci_tells_cards_that_are_gone_and_links() {
    let scene = read(
        Format::Lspci,
        "1a:00.0 VGA compatible controller: NVIDIA Corporation TU102GL [Quadro RTX 6000/8000] (rev a1)\n\
         1a:00.1 Audio device: NVIDIA Corporation TU102 High Definition Audio Controller (rev a1)\n\
         1c:00.0 VGA compatible controller: NVIDIA Corporation TU102GL [Quadro RTX 6000/8000] (rev ff)",
    );
    let cards = scene.machine.pci_cards.known().unwrap();
    let answers: Vec<bool> = cards.iter().map(|card| *card.answers.known().unwrap()).collect();
    assert_eq!((answers, cards[1].vendor), (vec![true, false], 0x10de));
    assert!(scene.machine.nvswitches.is_not_in_source());
    let detailed = read(
        Format::Lspci,
        "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2] (rev 04)\n\
         0000:65:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] [10de:20b5] (rev a1)\n\
         \tSubsystem: NVIDIA Corporation Device [10de:1533]\n\tNUMA node: 1\n\
         \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n\
         \t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)\n\
         \tKernel driver in use: nouveau\n\tKernel modules: nvidiafb, nouveau\n\
         66:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b5] (rev ff) (prog-if ff)\n\
         \t!!! Unknown header type 7f\n\tKernel modules: nvidiafb, nouveau",
    );
    let cards = detailed.machine.pci_cards.known().unwrap();
    assert_eq!((cards[0].device, cards[0].class, cards[0].width.known()), (0x20b5, 0x03_02_00, Some(&4)));
    assert!((cards[0].lane_speed.known().unwrap().0 - 984_615_384.6).abs() < 1.0);
    assert_eq!(
        (cards[0].driver.clone(), cards[0].numa_node.clone()),
        (Reading::Known("nouveau".to_owned()), Reading::Known(1))
    );
    assert_eq!(
        (cards[1].answers.clone(), cards[1].driver.clone()),
        (Reading::Known(false), Reading::Unsupported)
    );
    assert_eq!(detailed.machine.nvswitches, Reading::Known(0));
    let dumped = read(
        Format::Lspci,
        "65:00.0 0302: 10de:20b5\n00: de 10 b5 20 07 04 10 00 a1 00 02 03 00 00 00 00\n10: 00 00 00 de 0c 00 00 00 00 00 00 00 \
         00 00 00 00\n\n66:00.0 0302: 10de:20b5\n00: ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff",
    );
    let cards = dumped.machine.pci_cards.known().unwrap();
    assert!(cards[0].answers.is_not_in_source() && cards[1].answers == Reading::Known(false));
    let numbers = read(Format::Lspci, "65:00.0 0302: 10de:20b5 (rev a1)\n66:00.0 0680: 10de:1af1 (rev a1)");
    assert_eq!(numbers.machine.nvswitches, Reading::Known(1));
    // Links without their device name nobody, and are known all the same.
    read(
        Format::Lspci,
        "\t\tLnkCap:\tPort #3, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x16",
    );
}

#[test]
fn modules_are_loaded_on_disk_built_or_refused() {
    let grep = read(
        Format::Lsmod,
        "$ lsmod | grep -i nv\nnvidia_uvm           1540096  2\nnvidia              56823808  40 nvidia_uvm,nvidia_modeset\nnvme                   49152  3",
    );
    assert_eq!(
        grep.machine.driver.modules,
        Reading::Known(vec!["nvidia".to_owned(), "nvidia_uvm".to_owned()])
    );
    let rows = (0..25).map(|number| format!("module_{number}  16384  1")).collect::<Vec<_>>().join("\n");
    let whole =
        read(Format::Lsmod, &format!("Module                  Size  Used by\nnouveau  2000000  1\n{rows}"));
    assert_eq!(whole.machine.driver.module, Reading::Unsupported);
    assert_eq!(whole.machine.driver.modules, Reading::Known(vec!["nouveau".to_owned()]));
    let disk = read(
        Format::Modinfo,
        "filename:       /lib/modules/5.15.0-97-generic/updates/dkms/nvidia.ko\nfirmware:       nvidia/535.129.03/gsp_tu10x.bin\nversion:        535.129.03\nsupported:      external\nlicense:        NVIDIA",
    );
    assert_eq!(disk.machine.driver.module_file, Reading::Known("535.129.03".to_owned()));
    let none = read(Format::Modinfo, "modinfo: ERROR: Module nvidia not found.");
    assert_eq!(none.machine.driver.module_file, Reading::Unsupported);
    let built = read(
        Format::DkmsStatus,
        "$ dkms status\nnvidia/535.113.01, 5.15.0-86-generic, x86_64: installed\nnvidia, 470.82.00, 5.4.0-90-generic, x86_64: built\nzfs/2.1.5: added",
    );
    let builds = built.machine.driver.module_builds.known().unwrap();
    assert_eq!(
        (builds.len(), builds[1].version.as_str(), builds[0].kernel.as_deref()),
        (2, "470.82.00", Some("5.15.0-86-generic"))
    );
    let refused = read(
        Format::Modprobe,
        "$ sudo modprobe nvidia\nmodprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    );
    assert_eq!(refused.machine.driver.module, Reading::Unsupported);
    assert_eq!(refused.events.known().unwrap()[0].fact, Some(KernelFact::ModuleRefused));
    let missing = read(
        Format::Modprobe,
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.2.0-34-generic",
    );
    assert_eq!(missing.machine.driver.module_file, Reading::Unsupported);
}

#[test]
fn what_modprobe_and_dkms_say_is_told_apart() {
    for (text, module, file, fact, kernel) in [
        (
            "modprobe: FATAL: Module nvidia not found in directory /lib/modules/5.14.0-427.el9.x86_64",
            Reading::Unsupported,
            Reading::Unsupported,
            None,
            Some("5.14.0-427.el9.x86_64"),
        ),
        (
            "modprobe: ERROR: could not insert 'nvidia': No such device",
            Reading::Unsupported,
            Reading::default(),
            None,
            None,
        ),
        (
            "modprobe: ERROR: could not insert 'nvidia': Exec format error",
            Reading::Unsupported,
            Reading::default(),
            Some(KernelFact::ModuleOfOtherKernel),
            None,
        ),
        // Who is not root learns nothing, and a module beside the driver says nothing of it.
        (
            "modprobe: ERROR: could not insert 'nvidia': Operation not permitted",
            Reading::default(),
            Reading::default(),
            None,
            None,
        ),
        (
            "modprobe: FATAL: Module nvidia_peermem not found in directory /lib/modules/6.8.0-49-generic",
            Reading::default(),
            Reading::default(),
            None,
            None,
        ),
    ] {
        let scene = read(Format::Modprobe, text);
        let driver = &scene.machine.driver;
        assert_eq!((&driver.module, &driver.module_file), (&module, &file), "{text}");
        let said = scene.events.known().and_then(|lines| lines[0].fact.clone());
        assert_eq!((said, scene.machine.kernel.known().map(String::as_str)), (fact, kernel), "{text}");
    }
    let failed = read(
        Format::DkmsStatus,
        "Error! Bad return status for module build on kernel: 6.8.0-31-generic (x86_64)\nConsult /var/lib/dkms/nvidia/535.161.08/build/make.log for more information.",
    );
    let build = &failed.machine.driver.module_builds.known().unwrap()[0];
    assert_eq!((build.kernel.as_deref(), build.state.as_str()), (Some("6.8.0-31-generic"), "broken"));
}

#[test]
fn services_that_failed_are_told_from_those_that_are_not_started() {
    for (text, failed, switches) in [
        (
            "○ nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; disabled)\n     Active: inactive (dead)",
            false,
            Reading::default(),
        ),
        (
            "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n   Loaded: loaded (/usr/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n   Active: failed (Result: exit-code) since Wed 2023-03-01 08:12:11 CET; 5 days ago",
            true,
            Reading::default(),
        ),
        (
            "[Nov 05 2024 13:55:26] [INFO] [tid 77] Fabric Manager version is : 535.161.08\n[Nov 05 2024 13:55:26] [ERROR] [tid 77] fabric manager NVIDIA GPU driver interface version 535.161.08 don't match with driver version 535.183.01. Please update with matching NVIDIA driver package.",
            true,
            Reading::default(),
        ),
        (
            "[Nov 05 2024 13:55:26] [ERROR] [tid 77] request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
            false,
            Reading::Known(0),
        ),
    ] {
        let format = if text.starts_with('[') { Format::FabricManagerLog } else { Format::Systemctl };
        let scene = read(format, text);
        let service = &scene.machine.services.known().unwrap()[0];
        assert_eq!((service.failed, &scene.machine.nvswitches), (failed, &switches), "{text}");
    }
}

#[test]
fn the_status_of_units_tells_whether_they_run() {
    let scene = read(
        Format::Systemctl,
        "× nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled; vendor preset: enabled)\n     Active: failed (Result: exit-code) since Tue 2024-11-05 13:55:26 UTC; 5min ago\n    Process: 104230 ExecStart=/usr/bin/nv-fabricmanager -c x (code=exited, status=1/FAILURE)\n        CPU: 12ms\n\nNov 05 13:55:26 node1 nv-fabricmanager[104230]: fabric manager NVIDIA GPU driver interface version 550.90.07 don't match with driver version 550.54.\nNov 05 13:55:26 node1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.",
    );
    let service = &scene.machine.services.known().unwrap()[0];
    assert_eq!((service.name.as_str(), &service.installed), ("nvidia-fabricmanager", &Reading::Known(true)));
    assert_eq!(
        (&service.running, &service.version),
        (&Reading::Known(false), &Reading::Known("550.90.07".to_owned()))
    );
    assert_eq!(scene.machine.driver.module, Reading::Known("550.54".to_owned()));
    assert_eq!(scene.machine.hostname, Reading::Known("node1".to_owned()));
    let running = read(
        Format::Systemctl,
        "● nvidia-persistenced.service - NVIDIA Persistence Daemon\n   Loaded: loaded (/lib/systemd/system/nvidia-persistenced.service; static)\n   Active: active (running) since Tue 2024-11-05 13:55:26 UTC; 1 day ago\n Main PID: 1234 (nvidia-persiste)\n   CGroup: /system.slice/nvidia-persistenced.service\n           └─1234 /usr/bin/nvidia-persistenced --user nvidia-persistenced",
    );
    assert_eq!(running.machine.services.known().unwrap()[0].running, Reading::Known(true));
    assert_eq!(process(&running, 1234).owner.unit.as_deref(), Some("nvidia-persistenced.service"));
    let missing = read(Format::Systemctl, "Unit nvidia-fabricmanager.service could not be found.");
    assert_eq!(missing.machine.services.known().unwrap()[0].installed, Reading::Known(false));
    let failed = read(
        Format::Systemctl,
        "● nvidia-fabricmanager.service loaded failed failed NVIDIA fabric manager service",
    );
    assert_eq!(failed.machine.services.known().unwrap()[0].running, Reading::Known(false));
    let word = read(Format::Systemctl, "$ systemctl is-active nvidia-persistenced\ninactive");
    assert_eq!(word.machine.services.known().unwrap()[0].running, Reading::Known(false));
}

#[test]
fn short_answers_about_the_system() {
    let uname = read(
        Format::Uname,
        "Linux node1 5.15.0-97-generic #107-Ubuntu SMP Wed Feb 7 13:26:48 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux",
    );
    assert_eq!(uname.machine.kernel, Reading::Known("5.15.0-97-generic".to_owned()));
    let release = read(Format::Uname, "$ uname -r\n6.2.0-34-generic");
    assert_eq!(release.machine.kernel, Reading::Known("6.2.0-34-generic".to_owned()));
    assert_eq!(read(Format::Mokutil, "SecureBoot enabled").machine.secure_boot, Reading::Known(true));
    assert_eq!(
        read(Format::Mokutil, "EFI variables are not supported on this system").machine.secure_boot,
        Reading::Unsupported
    );
    let limits = read(
        Format::Ulimit,
        "core file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) 65536\nmax memory size             (kbytes, -m) unlimited\nopen files                          (-n) 1073741816",
    );
    let limits = limits.machine.process_limits.known().unwrap();
    assert_eq!(
        (limits[1].limit.clone(), limits[2].limit.clone()),
        (Reading::Known(64 * MIB), Reading::Unsupported)
    );
    assert_eq!(
        (limits[3].name.as_str(), limits[3].limit.clone()),
        ("open files", Reading::Known(1_073_741_816))
    );
    let file = read(
        Format::Ulimit,
        "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax open files            1024                 524288               files     ",
    );
    assert_eq!(file.machine.process_limits.known().unwrap()[1].limit, Reading::Known(1024));
}

#[test]
fn one_paste_holds_many_outputs() {
    let paste = "so this is what I see:\n\
        > alice@n1:~$ uname -a\r\n\
        > Linux n1 5.15.0-97-generic #107-Ubuntu SMP Wed Feb 7 13:26:48 UTC 2024 x86_64 GNU/Linux\r\n\
        > alice@n1:~$ free -g\r\n\
        >                total        used        free      shared  buff/cache   available\r\n\
        > Mem:             503         490           2           1          10           8\r\n\
        > Swap:              7           7           0\r\n\
        > alice@n1:~$ df -h /dev/shm\r\n\
        > Filesystem      Size  Used Avail Use% Mounted on\r\n\
        > tmpfs           252G  250G  2.0G 100% /dev/shm\r\n\
        > alice@n1:~$ ps aux | grep -v root | head -2\r\n\
        > USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\r\n\
        > alice       4242 98.7 12.3 98765432 33554432 pts/3 Rl+ 14:02 512:33 python train.py\r\n\
        > alice@n1:~$ dmesg | tail -3\r\n\
        > dmesg: read kernel buffer failed: Operation not permitted\r\n\
        > alice@n1:~$ sudo dmesg | tail -1\r\n\
        > [ 1000.000001] Out of memory: Killed process 777 (python) total-vm:9kB, anon-rss:5kB\r\n\
        > alice@n1:~$ lsmod | grep nouveau\r\n\
        > alice@n1:~$ cat /proc/loadavg\r\n\
        > 64.12 60.00 50.10 65/4321 99999\r\n";
    let understood = understand(paste);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    let expected = [
        Format::Uname,
        Format::Free,
        Format::Df,
        Format::Ps,
        Format::KernelLog,
        Format::KernelLog,
        Format::ProcFile,
    ];
    assert_eq!(formats, expected);
    assert_eq!(understood.unknown_lines, [1]);
    let merged = gpuwhy_model::window::merge(understood.pieces.into_iter().map(|piece| piece.scene));
    assert!(merged.disagreements.is_empty());
    let scene = merged.scene;
    assert_eq!(scene.host.memory.known().unwrap().available, 8 << 30);
    assert_eq!(scene.host.shared_memory.known().unwrap().available, 2 << 30);
    assert_eq!(scene.process(Pid(4242)).unwrap().name, "python");
    // What was read counts more than that somebody else might not.
    assert_eq!(scene.events.known().unwrap().len(), 1);
    assert_eq!(scene.machine.hostname, Reading::Known("n1".to_owned()));
}
