//! Tables of processes.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessRole, ProcessState};
use gpuwhy_model::units::{Cores, Seconds};

use super::{MIB, process, read};
use crate::Format;
use crate::text::understand;

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
        "bob      20114  101  8.1 30123456 5312345 ?  Rl   09:12 712:33 python train.py\n\
         alice    20990  0.0  0.0   9216   900 pts/3  S+   21:02   0:00 grep python",
    );
    assert_eq!(process(&scene, 20114).name, "python", "more than one core has no decimal");
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
fn a_command_names_the_columns_of_rows_without_their_head() {
    let scene = read(
        Format::Ps,
        "$ ps axo pid,ppid,stat,wchan:30,etimes,time,cmd | grep ' D'\n   4242       1 D    os_acquire_rwlock_write             3600 00:00:01 nvidia-smi -q\n   4243       1 D    nvidia_ioctl             3000 00:00:00 nvidia-smi",
    );
    let stuck = process(&scene, 4242);
    assert_eq!((stuck.parent, stuck.state.known()), (Pid(1), Some(&ProcessState::Blocked)));
    assert_eq!(stuck.wait_channels[0].name, "os_acquire_rwlock_write");
    assert_eq!((stuck.age.clone(), scene.processes.len()), (Reading::Known(Seconds(3600.0)), 2));
    let other = understand("$ ps -eo pid,cmd | wc -l\n812");
    assert!(other.pieces.is_empty());
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
