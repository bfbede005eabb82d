//! Kernel logs and outputs of host tools that are cut anywhere or damaged: nothing panics, no line is taken twice, and
//! what is cut off is not made up.

use gpuwhy_formats::kernel_log::{LogStream, looks_like_log};
use gpuwhy_formats::text::understand;
use proptest::prelude::*;

/// A few lines of each output.
const OUTPUTS: &[&str] = &[
    "$ dmesg -T\n[Sat Oct 12 18:35:32 2024] NVRM: Xid (PCI:0000:61:00): 45, pid=1496, name=a b, Ch 0000000a\n\
     [Sat Oct 12 18:38:44 2024] INFO: task cache_mgr:620 blocked for more than 120 seconds.\n      Tainted: P  OE 5.15.0-97-generic #107\n",
    "[   50.000001] NVRM: The NVIDIA GPU 0000:18:00.0\n[   50.000001] NVRM: (PCI ID: 10de:2330)\nNVRM: installed in this system has\n\
     NVRM: fallen off the bus and is not responding to commands.\n<4>[ 60.000001][ T12] pcieport 0000:00:01.0: AER: Corrected error received: 0000:41:00.0\n",
    "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: API mismatch: the client has the version 535.183.06, but\n\
     kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: this kernel module has the version 535.183.01.\n",
    "Nov  5 13:55:26 n1 kernel: [12345.678901] Memory cgroup out of memory: Killed process 42 (py) total-vm:9kB\n\
     Nov  5 13:55:27 n1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.\n-- Boot 5f2c --\n\
     Nov  5 13:56:26 n1 kernel: nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 x\n",
    "6,3964,206764307,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03\n SUBSYSTEM=pci\n",
    "{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"__MONOTONIC_TIMESTAMP\" : \"9\",\n\t\"MESSAGE\" : \"NVRM: x\"\n}\n\
     {\"_TRANSPORT\":\"kernel\",\"__MONOTONIC_TIMESTAMP\":\"9\",\"MESSAGE\":\"NVRM: Xid (PCI:0000:65:00): 79\"}\n",
    "__CURSOR=s\n__MONOTONIC_TIMESTAMP=9\n_TRANSPORT=kernel\nMESSAGE=NVRM: x\n\ndmesg: read kernel buffer failed: Operation not permitted\n",
    "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
     alice       4242 98.7 12.3 98765432 33554432 pts/3 Rl+ 14:02 512:33  \\_ python train.py\n\
     bob 5151 2.0 0.0 0 0 pts/4 Z+ 14:03 0:10 [python] <defunct>\n",
    "    PID COMMAND         COMMAND                  STARTED %CPU\n   4242 tmux: server    tmux new  Sat Oct 12 18:35:32 2024 1.0\n",
    "top - 18:35:32 up 12 days,  3:04,  2 users,  load average: 1.00, 0.90, 0.80\nTasks: 812 total\n\
     %Cpu0  : 50,0 us, 10,0 sy,  0,0 ni, 30,0 id, 10,0 wa\nMiB Mem : 128000.0 total,   1000.0 free,  90000.0 used,  37000.0 buff/cache\n\
     MiB Swap:   2048.0 total,    512.0 free,   1536.0 used.  36000.0 avail Mem\n\n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   \
     4242 alice     20   0   98.7g  31.2g   1.1g S   3.0  25.0 512:33.21 python\n",
    "    0[||||100.0%]    1[|  5.0%]\n  Mem[||100G/125G] Tasks: 1\n  Swp[| 512M/2.00G] Load average: 1.00 0.90 0.80\n    \
     PID USER       PRI  NI  VIRT   RES   SHR S  CPU%▽MEM%   TIME+  Command\n   4242 alice 20 0 98.7G 31.2G 1.1G R 101.0 25.0  1h02:03 python\n",
    "               total        used        free      shared  buff/cache   available\nMem:           125Gi        90Gi       1.0Gi       2.0Gi        34Gi        33Gi\nSwap:          2.0Gi       2.0Gi          0B\n",
    "Filesystem     Type 1K-blocks      Used Available Use% Mounted on\nshm  tmpfs 65536     65536         0 100% /dev/shm\nnas01:/very/long\n  100 90 10 90% /data\n",
    "nas01:/data on /data type nfs4 (rw,relatime)\nnas01:/data /data nfs4 rw 0 0\n36 35 0:50 / /data rw shared:1 - nfs4 nas01:/data rw\n",
    "Linux 5.15.0-97-generic (node1) \t10/12/2024 \t_x86_64_\t(64 CPU)\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 1.00 0.00 1.00 0.50 0.00 97.50\n\nDevice r/s rkB/s w/s wkB/s aqu-sz %util\nnvme0n1 10.00 100.00 1.00 10.00 0.01 1.00\n",
    "06:35:32 PM  CPU    %usr   %nice    %sys %iowait %steal   %idle\n06:35:33 PM  all   25.00    0.00    0.00   25.00 1.00   50.00\n06:35:34 PM  all   25.00    0.00    0.00   25.00 1.00   50.00\n",
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0 1 5 1 2 1 2 3 4 1 2 3 1 95 1 0\n 1  0 1 5 1 2 1 2 3 4 1 2 3 1 95 1 0\n",
    "==> /proc/pressure/io <==\nsome avg10=85.50 avg60=40.00 avg300=10.00 total=4140807\nfull avg10=1.0 avg60=30.00 total=3\n",
    "$ cat /proc/4242/status\nName:\tpython3\nState:\tD (disk sleep)\nPid:\t4242\nPPid:\t1\nThreads:\t17\n",
    "MemTotal:       131822592 kB\nMemAvailable:    1000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 1 kB\nShmem: 2 kB\n",
    "$ cat /proc/4242/stack\n[<0>] nvidia_ioctl+0x12/0x34 [nvidia]\n[<0>] do_syscall_64+0x38/0x90\n",
    "0000:65:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b5] (rev ff)\n\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4\n\tKernel driver in use: nvidia\n",
    "Module                  Size  Used by\nnvidia              56823808  40 nvidia_uvm\nfilename:       /lib/nvidia.ko\nversion:        535.129.03\n",
    "nvidia/535.113.01, 5.15.0-86-generic, x86_64: installed\nmodprobe: ERROR: could not insert 'nvidia': Key was rejected by service\nSecureBoot enabled\n",
    "× nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib/x.service; enabled)\n     Active: failed (Result: exit-code)\n   CGroup: /x\n           └─1234 /usr/bin/x\n\nNov 05 13:55:26 node1 systemd[1]: x.service: Failed\n",
    "Linux node1 5.15.0-97-generic #107-Ubuntu SMP x86_64 GNU/Linux\ncore file size (blocks, -c) 0\nopen files (-n) 1024\nMax open files            1024      524288    files\n",
    "                     USER        PID ACCESS COMMAND\n/dev/nvidia0:        root       1234 F...m Xorg\nCOMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\npython 4242 alice 5u CHR 195,0 0t0 450 /dev/nvidia0\n",
];

/// Reads a text as a log of any size.
fn survive_as_stream(text: &str) {
    let mut stream = LogStream::default();
    text.as_bytes().chunks(17).for_each(|piece| stream.feed(piece));
    drop(stream.finish());
    let _ = looks_like_log(text.as_bytes());
}

/// Understands a text, and checks that pieces stand in their order and inside it.
fn survive(text: &str) {
    let understood = understand(text);
    let lines = text.split('\n').count() as u64;
    let mut last = 0;
    for piece in &understood.pieces {
        assert!(piece.first_line > last && piece.last_line >= piece.first_line, "{text:?}");
        assert!(piece.last_line <= lines, "{text:?}");
        last = piece.last_line;
    }
}

#[test]
fn every_output_is_known_and_may_be_cut_at_any_byte() {
    for output in OUTPUTS {
        let whole = understand(output);
        assert!(
            !whole.pieces.is_empty() && whole.unknown_lines.is_empty(),
            "{output}: {:?}",
            whole.unknown_lines
        );
        for length in (0..output.len()).filter(|length| output.is_char_boundary(*length)) {
            survive(&output[..length]);
            survive(&output[length..]);
        }
    }
}

proptest! {
    #[test]
    fn damaged_outputs_are_survived(
        place in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
    ) {
        let mut bytes = OUTPUTS[place.index(OUTPUTS.len())].as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        survive(&String::from_utf8_lossy(&bytes));
        survive_as_stream(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn shuffled_words_are_survived(
        place in any::<prop::sample::Index>(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), "[ \t\n]{1,3}"), 0..60),
    ) {
        let words: Vec<&str> = OUTPUTS[place.index(OUTPUTS.len())].split([' ', '\n']).collect();
        let text: String =
            picks.iter().flat_map(|(pick, blank)| [words[pick.index(words.len())], blank.as_str()]).collect();
        survive(&text);
    }
}
