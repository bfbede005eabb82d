//! Outputs of host tools of several versions, with values checked by eye.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, ProcessRole, ProcessState};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::units::{BytesPerSecond, Cores, Seconds, Share};

use crate::Format;
use crate::text::understand;

/// Understands a text that is one output and nothing else, a prompt before it aside.
fn read(format: Format, text: &str) -> Scene {
    let mut understood = understand(text);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [format], "{text}");
    assert_eq!(understood.unknown_lines, [0_u64; 0], "{text}");
    understood.pieces.remove(0).scene
}

fn process(scene: &Scene, pid: u32) -> &Process {
    scene.process(Pid(pid)).unwrap_or_else(|| panic!("no {pid} in {:?}", scene.processes))
}

const MIB: u64 = 1 << 20;

#[test]
fn ps_aux_tells_state_memory_time_and_age() {
    let scene = read(
        Format::Ps,
        "$ ps aux | head\n\
         USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
         root           1  0.0  0.0 168140 11520 ?        Ss   Oct01   1:05 /sbin/init splash\n\
         alice       4242 98.7 12.3 98765432 33554432 pts/3 Rl+ 14:02 512:33 python train.py --token=abc --lr 0.1\n\
         bob         5151  2.0  0.0      0     0 pts/4    Z+   14:03   0:10 [python] <defunct>\n\
         root        6161  0.0  0.0      0     0 ?        D    14:03   0:00 [kworker/u8:2+nvidia]\n\
         1007        7171  0.0  0.1 1234567 65536 ?       Dsl  14:03   0:00 nvidia-smi -q",
    );
    assert_eq!(scene.processes.len(), 5);
    let train = process(&scene, 4242);
    assert_eq!(train.user, Reading::Known("alice".to_owned()));
    assert_eq!((train.name.as_str(), train.role), ("python", Some(ProcessRole::Interpreter)));
    assert_eq!(train.command.known().unwrap().line(), "python train.py --token=*** --lr 0.1");
    assert_eq!(train.resident.known().unwrap().0, 32 << 30);
    assert_eq!(train.cpu_time, Reading::Known(Seconds(30_753.0)));
    assert!((train.age.known().unwrap().0 - 31_158.05).abs() < 0.1);
    assert_eq!((train.terminal, train.states.running, train.thread_count), (34_819, 1.0, 0));
    assert!(train.cores.is_not_in_source() && train.parent == Pid(0));
    let dead = process(&scene, 5151);
    assert_eq!((dead.state.known(), dead.name.as_str()), (Some(&ProcessState::Zombie), "python"));
    assert!(dead.command.is_not_in_source());
    assert_eq!(process(&scene, 6161).name, "kworker/u8:2+nv");
    let stuck = process(&scene, 7171);
    assert_eq!((stuck.uid.known(), stuck.session), (Some(&1007), Pid(7171)));
    assert_eq!(stuck.state, Reading::Known(ProcessState::Blocked));
    assert!(scene.machine.viewer.initial_pid_namespace.is_not_in_source());
    // A share of 0.0 leaves only a least age.
    assert_eq!(process(&scene, 1).age, Reading::Known(Seconds(130_000.0)));
    assert!(stuck.age.is_not_in_source());
}

#[test]
fn ps_ef_tells_parents() {
    let scene = read(
        Format::Ps,
        "UID          PID    PPID  C STIME TTY          TIME CMD\n\
         alice       4242       1 99 Oct12 ?        2-01:02:03 VLLM::EngineCore\n\
         alice       4300    4242  0 Oct12 pts/0    00:00:07 /usr/bin/python3 -c from multiprocessing.spawn import spawn_main",
    );
    assert_eq!(process(&scene, 4242).parent, Pid(1));
    assert_eq!(process(&scene, 4242).cpu_time, Reading::Known(Seconds(176_523.0)));
    assert_eq!(process(&scene, 4242).role, Some(ProcessRole::ServerWorker));
    assert_eq!((process(&scene, 4300).parent, process(&scene, 4300).name.as_str()), (Pid(4242), "python3"));
    // A share that was rounded to whole hundredths gives no age.
    assert!(process(&scene, 4300).age.is_not_in_source());
}

#[test]
fn rows_without_their_head_are_known() {
    let scene = read(
        Format::Ps,
        "alice      87354  0.0  0.0 112724   988 pts/1    S+   02:44   0:00 grep --color=auto 87315",
    );
    assert_eq!(process(&scene, 87354).name, "grep");
    let scene = read(
        Format::Ps,
        "$ ps -ef | grep python\nalice 4242 1 99 10:00 ? 02:00:00 python a.py\nbob 77 5 0 Oct12 pts/1 00:00:00 python b.py",
    );
    assert_eq!(process(&scene, 4242).parent, Pid(1));
    assert_eq!(scene.processes.len(), 2);
    for line in ["alice 12 0.1 0.2 5 6 table x y z w", "epoch 12 0.5 0.2 loss", "gpu 0 1 2 3 4 5"] {
        assert!(understand(line).pieces.is_empty(), "{line}");
    }
}

#[test]
fn chosen_columns_are_read_by_their_names() {
    let scene = read(
        Format::Ps,
        "$ ps axo pid,ppid,pgid,sid,stat,wchan:32,nlwp,etimes,time,cgroup:60,cmd\n\
           PID    PPID    PGID     SID STAT WCHAN                            NLWP  ETIMES     TIME CGROUP                                                       CMD\n\
          4242       1    4242    4200 Dl   os_acquire_rwlock_write            17    3600 00:10:00 0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope python -m vllm\n\
          4243    4242    4242    4200 R    -                                   1    3600 00:50:00 0::/user.slice                                                python x",
    );
    let stuck = process(&scene, 4242);
    assert_eq!((stuck.group, stuck.session, stuck.thread_count), (Pid(4242), Pid(4200), 17));
    assert_eq!(stuck.wait_channels[0].name, "os_acquire_rwlock_write");
    assert!(stuck.owner.container.is_some());
    assert_eq!(
        (stuck.age.clone(), stuck.cpu_time.clone()),
        (Reading::Known(Seconds(3600.0)), Reading::Known(Seconds(600.0)))
    );
    assert!(process(&scene, 4243).wait_channels.is_empty());
}

#[test]
fn the_first_numbers_tell_a_machine_from_a_container() {
    let namespace = |rows: &str| {
        let scene = read(Format::Ps, &format!("    PID TTY          TIME CMD\n{rows}"));
        scene.machine.viewer.initial_pid_namespace.known().copied()
    };
    assert_eq!(
        namespace("      1 ?        00:00:05 systemd\n      2 ?        00:00:00 kthreadd"),
        Some(true)
    );
    assert_eq!(namespace("      1 ?        00:00:05 python3\n     77 ?        00:00:00 bash"), Some(false));
    assert_eq!(namespace("     77 ?        00:00:00 bash\n     78 ?        00:00:00 python3"), None);
}

#[test]
fn threads_belong_to_their_process() {
    let scene = read(
        Format::Ps,
        "UID          PID    PPID     LWP  C NLWP STIME TTY          TIME CMD\n\
         alice       4242       1    4242 99    3 10:00 ?        00:10:00 python train.py\n\
         alice       4242       1    4243  0    3 10:00 ?        00:00:00 python train.py\n\
         alice       4242       1    4244 50    3 10:00 ?        00:05:00 python train.py",
    );
    assert_eq!(scene.processes.len(), 1);
    let tids: Vec<Pid> =
        process(&scene, 4242).threads.known().unwrap().iter().map(|thread| thread.tid).collect();
    assert_eq!((tids, process(&scene, 4242).thread_count), (vec![Pid(4242), Pid(4243), Pid(4244)], 3));
}

#[test]
fn a_drawn_tree_tells_parents_too() {
    let scene = read(
        Format::Ps,
        "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
         root         900  0.0  0.0  15420  9000 ?        Ss   09:00   0:00 sshd: /usr/sbin/sshd -D\n\
         alice       1000  0.0  0.0   9000  5000 pts/0    Ss   09:01   0:00  \\_ -bash\n\
         alice       1100  5.0  1.0 999999 90000 pts/0    Sl+  09:02   1:00  |   \\_ python train.py\n\
         alice       1101 50.0  1.0 999999 90000 pts/0    R+   09:02   9:00  |       \\_ python train.py\n\
         bob         1200  0.0  0.0   9000  5000 pts/1    Ss   09:03   0:00  \\_ -zsh",
    );
    let parents: Vec<u32> =
        [900, 1000, 1100, 1101, 1200].iter().map(|pid| process(&scene, *pid).parent.0).collect();
    assert_eq!(parents, [0, 900, 1000, 1100, 900]);
    assert_eq!((process(&scene, 1000).name.as_str(), process(&scene, 1101).thread_count), ("bash", 1));
}

#[test]
fn a_long_command_may_be_broken_by_the_window() {
    let scene = read(
        Format::Ps,
        "    PID TTY          TIME CMD\n   4242 pts/0    00:01:00 python train.py --data /mnt/data/imagenet --workers\n16 --epochs 90\n   4300 pts/0    00:00:00 bash",
    );
    assert_eq!(process(&scene, 4242).command.known().unwrap().arguments().len(), 8);
    assert_eq!(scene.processes.len(), 2);
}

#[test]
fn top_of_procps_gives_shares_of_now() {
    let scene = read(
        Format::Top,
        "$ top -b -n 2 -d 5\n\
         top - 18:35:32 up 12 days,  3:04,  2 users,  load average: 1.00, 0.90, 0.80\n\
         Tasks: 812 total,   3 running, 809 sleeping,   0 stopped,   0 zombie\n\
         %Cpu(s):  3.1 us,  1.0 sy,  0.0 ni, 95.0 id,  0.8 wa,  0.0 hi,  0.1 si,  0.0 st\n\
         MiB Mem : 128000.0 total,   1000.0 free,  90000.0 used,  37000.0 buff/cache\n\
         MiB Swap:   2048.0 total,    512.0 free,   1536.0 used.  36000.0 avail Mem \n\
         \n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   \
           4242 alice     20   0   98.7g  31.2g   1.1g S   3.0  25.0 512:33.21 python train.py\n\
         \n\
         top - 18:35:37 up 12 days,  3:04,  2 users,  load average: 1.00, 0.90, 0.80\n\
         Tasks: 812 total,   3 running, 809 sleeping,   0 stopped,   0 zombie\n\
         %Cpu(s):  3.1 us,  1.0 sy,  0.0 ni, 95.0 id,  0.8 wa,  0.0 hi,  0.1 si,  0.0 st\n\
         MiB Mem : 128000.0 total,   1000.0 free,  90000.0 used,  37000.0 buff/cache\n\
         MiB Swap:   2048.0 total,    512.0 free,   1536.0 used.  36000.0 avail Mem \n\
         \n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   \
           4242 alice     20   0   98.7g  31.2g   1.1g R 103.3  25.0 512:38.30 python train.py\n   \
           4300 bob       20   0  123456  45678   1234 D   0.0   0.0   0:00.00 cp\n",
    );
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 5.0));
    assert_eq!(scene.window.end_boot_ns, Some((12 * 86_400 + 3 * 3600 + 240) * 1_000_000_000));
    let train = process(&scene, 4242);
    assert_eq!(train.cores, Reading::Known(Cores(1.033)));
    assert_eq!((train.states.n, train.states.running, train.states.sleeping), (2, 0.5, 0.5));
    assert!(train.age.is_not_in_source());
    assert_eq!(process(&scene, 4300).state, Reading::Known(ProcessState::Blocked));
    assert_eq!(process(&scene, 4300).resident.known().unwrap().0, 45678 << 10);
    let memory = scene.host.memory.known().unwrap();
    assert_eq!((memory.total, memory.available), (128_000 * MIB, 36_000 * MIB));
    assert_eq!((memory.swap_total, memory.swap_free), (2048 * MIB, 512 * MIB));
    assert!(scene.host.cores_used.is_not_in_source());
}

#[test]
fn top_of_every_processor_tells_how_many_there_are() {
    let scene = read(
        Format::Top,
        "top - 18:35:32 up 5 min,  1 user,  load average: 1.00, 0.90, 0.80\n\
         Tasks:   2 total,   1 running,   1 sleeping,   0 stopped,   0 zombie\n\
         %Cpu0  : 50,0 us, 10,0 sy,  0,0 ni, 30,0 id, 10,0 wa,  0,0 hi,  0,0 si,  0,0 st\n\
         %Cpu1  :  0,0 us,  0,0 sy,  0,0 ni,100,0 id,  0,0 wa,  0,0 hi,  0,0 si,  0,0 st\n\
         KiB Mem : 16333724 total,   500000 free, 15000000 used,   833724 buff/cache\n\
         KiB Swap:        0 total,        0 free,        0 used.  1000000 avail Mem\n\
         \n  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n   77 root      20   0  123456   1234   1000 S  12,5  0,1   0:01.00 sshd",
    );
    assert_eq!(scene.host.cpus, Reading::Known(2));
    assert!((scene.host.cores_used.known().unwrap().0 - 0.6).abs() < 1e-9);
    assert_eq!(process(&scene, 77).cores, Reading::Known(Cores(0.125)));
    assert_eq!(scene.host.memory.known().unwrap().total, 16_333_724 << 10);
}

#[test]
fn top_of_busybox_is_a_table_too() {
    let scene = read(
        Format::Top,
        "Mem: 7929376K used, 8404348K free, 1084K shrd, 52K buff, 4164K cached\n\
         CPU:   5% usr   2% sys   0% nic  90% idle   3% io   0% irq   0% sirq\n\
         Load average: 0.08 0.02 0.01 2/811 77\n  PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n    1     0 root     S     1624   0%   0   0% python serve.py",
    );
    assert_eq!((process(&scene, 1).parent, process(&scene, 1).name.as_str()), (Pid(0), "python"));
    // It gives shares of all processors together.
    assert!(process(&scene, 1).cores.is_not_in_source() && scene.host.memory.is_not_in_source());
}

#[test]
fn htop_shows_meters_and_a_table() {
    let scene = read(
        Format::Htop,
        "    0[||||||||||||||||||||||||||100.0%]    2[||                         5.0%]\n\
             1[                            0.0%]    3[|||                       15.0%]\n  \
           Mem[||||||||||||||||||||||100G/125G]  Tasks: 123, 456 thr; 2 running\n  \
           Swp[|                    512M/2.00G]  Load average: 1.00 0.90 0.80\n                                        Uptime: 12 days, 03:04:05\n\n    \
         PID USER       PRI  NI  VIRT   RES   SHR S  CPU%▽MEM%   TIME+  Command\n   \
         4242 alice       20   0 98.7G 31.2G 1.1G R 101.0 25.0  1h02:03 python train.py\n  \
         F1Help  F2Setup F3SearchF4Filter",
    );
    assert_eq!(scene.host.cpus, Reading::Known(4));
    assert!((scene.host.cores_used.known().unwrap().0 - 1.2).abs() < 1e-9);
    assert_eq!(scene.host.memory.known().unwrap().available, 25 << 30);
    let train = process(&scene, 4242);
    assert_eq!(
        (train.cores.clone(), train.cpu_time.clone()),
        (Reading::Known(Cores(1.01)), Reading::Known(Seconds(3723.0)))
    );
}

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
fn those_who_have_cards_open_are_listed() {
    let fuser = read(
        Format::Openers,
        "$ sudo fuser -v /dev/nvidia*\n                     USER        PID ACCESS COMMAND\n/dev/nvidia0:        root       1234 F...m Xorg\n                     alice      4242 F...m python\n/dev/nvidiactl:      alice      4242 F...m python\n/dev/nvidia-uvm:     alice      4242 F...m python",
    );
    let holders = fuser.device_holders.known().unwrap();
    assert_eq!(holders[1].devices, ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"]);
    assert_eq!(process(&fuser, 4242).user, Reading::Known("alice".to_owned()));
    let lsof = read(
        Format::Openers,
        "COMMAND     PID   USER   FD   TYPE  DEVICE SIZE/OFF NODE NAME\npython     4242  alice  mem    CHR 195,255          449 /dev/nvidiactl\npython     4242  alice    5u   CHR   195,0      0t0  450 /dev/nvidia0",
    );
    assert_eq!(lsof.device_holders.known().unwrap()[0].devices, ["/dev/nvidia0", "/dev/nvidiactl"]);
    let bare = read(Format::Openers, "/dev/nvidia0:         1234  4242m\n/dev/nvidiactl:       4242m");
    assert_eq!(bare.device_holders.known().unwrap().len(), 2);
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
