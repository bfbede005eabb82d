//! Which lines of the kernel log say something about cards, their driver, or processes that it stopped.

/// What a relevant line holds, in lower case; upper and lower case are not told apart.
const MARKS: &[&str] = &[
    "aer:",
    "amdgpu",
    "blocked for more than",
    "blocked in i/o wait for more than",
    "dpc: containment event",
    "fallen off the bus",
    "general protection fault",
    "kernel is locked down",
    "kill process",
    "killed as a result of limit",
    "killed process",
    "lockdown:",
    "module verification failed",
    "module with un",
    "nouveau",
    "nvidia",
    "nvrm",
    "oom-kill",
    "oom_reaper",
    "out of memory",
    "pcie bus error",
    "rejected by service",
    "secure boot",
    "secureboot",
    "segfault at",
    "signed with a trusted key",
    "soft lockup",
    "unsigned module",
    "xid (",
];

/// For each byte, whether a mark begins with it: most places of a line are passed with one look.
const IS_FIRST_BYTE: [bool; 256] = {
    let mut is_first = [false; 256];
    let mut place = 0;
    while place < MARKS.len() {
        let first = MARKS[place].as_bytes()[0];
        is_first[first as usize] = true;
        is_first[first.to_ascii_uppercase() as usize] = true;
        place += 1;
    }
    is_first
};

/// Returns whether a line of the kernel log is about cards, their driver, the bus, or processes stopped by the kernel.
pub fn is_about_cards(text: &str) -> bool {
    let bytes = text.as_bytes();
    for (place, byte) in bytes.iter().enumerate() {
        if !IS_FIRST_BYTE[usize::from(*byte)] {
            continue;
        }
        let rest = &bytes[place..];
        let has_mark = |mark: &&str| {
            rest.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
        };
        if MARKS.iter().any(has_mark) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{MARKS, is_about_cards};

    #[test]
    fn lines_about_cards_are_kept() {
        for line in [
            "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
            "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46",
            "nouveau 0000:01:00.0: fifo: SCHED_ERROR 0a",
            "pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:01:00.0",
            "INFO: task nvidia-smi:1234 blocked for more than 120 seconds.",
            "Out of memory: Killed process 345 (python) total-vm:1kB",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)",
            "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            "secureboot: Secure boot enabled",
            "Loading of unsigned module is rejected",
        ] {
            assert!(is_about_cards(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "",
            "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
            "EXT4-fs (nvme0n1p1): mounted filesystem",
            "laser: nv",
            "audit: type=1400",
        ] {
            assert!(!is_about_cards(line), "{line}");
        }
    }

    #[test]
    fn marks_are_lower_case_and_sorted() {
        assert!(MARKS.is_sorted());
        assert!(MARKS.iter().all(|mark| !mark.is_empty() && *mark == mark.to_ascii_lowercase()));
    }
}
