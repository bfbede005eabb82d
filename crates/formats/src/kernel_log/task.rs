//! Lines that say that a task stands still, does not come back from the kernel, or was ended for a wrong access.

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::KernelFact;

/// Reads `INFO: task NAME:PID blocked for more than N seconds.`, with `in I/O wait` where the kernel says so.
pub(super) fn hung_task(text: &str) -> Option<KernelFact> {
    let (_, rest) = text.split_once("task ")?;
    let (who, rest) = rest.split_once(" blocked ")?;
    let (why, seconds) = rest.split_once("for more than ")?;
    let (seconds, _) = seconds.split_once(' ')?;
    let (name, pid) = who.rsplit_once(':')?;
    Some(KernelFact::HungTask {
        name: name.to_owned(),
        pid: Pid(pid.parse().ok()?),
        seconds: seconds.parse().ok()?,
        waits_for_io: why.contains("I/O"),
    })
}

/// Reads `BUG: soft lockup - CPU#3 stuck for 22s! [NAME:PID]`.
pub(super) fn soft_lockup(text: &str) -> Option<KernelFact> {
    let (_, rest) = text.split_once("soft lockup - CPU#")?;
    let (_, rest) = rest.split_once(" stuck for ")?;
    let (seconds, rest) = rest.split_once('s')?;
    let (_, who) = rest.split_once('[')?;
    let (who, _) = who.rsplit_once(']')?;
    let (name, pid) = who.rsplit_once(':')?;
    Some(KernelFact::SoftLockup {
        name: name.to_owned(),
        pid: Pid(pid.parse().ok()?),
        seconds: seconds.parse().ok()?,
    })
}

/// Reads `NAME[PID]: segfault at 0 ip … in libcuda.so.1[…]` and `traps: NAME[PID] general protection fault ip:… in …`.
pub(super) fn bad_access(text: &str) -> Option<KernelFact> {
    let (before, after) =
        ["]: segfault at ", "] general protection"].iter().find_map(|mark| text.split_once(mark))?;
    let before = before.strip_prefix("traps: ").unwrap_or(before);
    let (name, pid) = before.rsplit_once('[')?;
    let library =
        after.rsplit_once(" in ").map(|(_, file)| file.split(['[', ' ']).next().unwrap_or_default());
    Some(KernelFact::BadAccess {
        name: name.to_owned(),
        pid: Pid(pid.parse().ok()?),
        library: library.filter(|file| !file.is_empty()).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::{bad_access, hung_task, soft_lockup};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn hung_tasks_may_have_odd_names() {
        for (text, name, pid, seconds, waits_for_io) in [
            ("INFO: task nvidia-smi:1234 blocked for more than 120 seconds.", "nvidia-smi", 1234, 120, false),
            ("INFO: task kworker/u8:2:99 blocked for more than 241 seconds.", "kworker/u8:2", 99, 241, false),
            ("INFO: task my task:7 blocked in I/O wait for more than 122 seconds.", "my task", 7, 122, true),
        ] {
            let name = name.to_owned();
            let expected = KernelFact::HungTask { name, pid: Pid(pid), seconds, waits_for_io };
            assert_eq!(hung_task(text), Some(expected));
        }
        for text in
            ["INFO: task x blocked for more than 1 seconds", "task x:1 blocked for more than", "task x:1"]
        {
            assert_eq!(hung_task(text), None);
        }
    }

    #[test]
    fn tasks_that_spin_in_the_kernel_are_named() {
        let expected = KernelFact::SoftLockup { name: "python3".to_owned(), pid: Pid(4242), seconds: 23 };
        for text in [
            "watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python3:4242]",
            "NMI watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [python3:4242]",
        ] {
            assert_eq!(soft_lockup(text), Some(expected.clone()), "{text}");
        }
        assert_eq!(soft_lockup("watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python"), None);
    }

    #[test]
    fn programs_that_touched_what_is_not_theirs_are_named() {
        let access = |name: &str, pid: u32, library: Option<&str>| {
            Some(KernelFact::BadAccess {
                name: name.to_owned(),
                pid: Pid(pid),
                library: library.map(str::to_owned),
            })
        };
        for (text, expected) in [
            (
                "pt_main_thread[77]: segfault at 7f79 ip 00007f sp 00007f error 4 in libnccl.so.2[7f7c+d3]",
                access("pt_main_thread", 77, Some("libnccl.so.2")),
            ),
            (
                "python3[5]: segfault at 0 ip 0 sp 0 error 4 in libcuda.so.1[7f+2] likely on CPU 3 (core 1, socket 0)",
                access("python3", 5, Some("libcuda.so.1")),
            ),
            ("my prog[9]: segfault at 0 ip 0 sp 0 error 14", access("my prog", 9, None)),
            (
                "traps: python[6] general protection fault ip:5 sp:7 error:0 in libc.so.6[7f+1]",
                access("python", 6, Some("libc.so.6")),
            ),
            ("traps: python[6] trap invalid opcode ip:5", None),
        ] {
            assert_eq!(bad_access(text), expected, "{text}");
        }
    }
}
