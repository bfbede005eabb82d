//! `/proc/PID/status`.

use gpuwhy_model::sample::ProcessState;

use super::bytes::{numbered_lines, small_number, words};
use super::processor::processor_count;
use super::stat::process_state;
use crate::Malformed;

/// Bit of the signal that cannot be caught, in the kernel's signal masks.
const KILL: u64 = 1 << (9 - 1);

/// What the status file of a process says. Every value may be missing: threads of the kernel have no memory, old
/// kernels no namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// State of the main thread.
    pub state: Option<ProcessState>,
    /// Real user id.
    pub uid: Option<u32>,
    /// Pid namespace numbers, outermost first.
    pub namespace_pids: Option<Vec<u32>>,
    /// Resident memory in bytes.
    pub resident: Option<u64>,
    /// Resident memory that lies in `/dev/shm` and the like, in bytes.
    pub shared_resident: Option<u64>,
    /// Memory that was sent to swap, in bytes.
    pub swapped: Option<u64>,
    /// On how many processors it may run.
    pub cpus_allowed: Option<u32>,
    /// The process that traces it; 0: none.
    pub tracer: Option<u32>,
    /// Whether it was killed and has not died yet.
    pub kill_pending: Option<bool>,
}

/// Reads a status file.
///
/// # Errors
/// Fails when no line has the form `Key: value`.
pub fn status(file: &[u8]) -> Result<Status, Malformed> {
    let mut status = Status::default();
    let mut has_key = false;
    for (_, line) in numbered_lines(file) {
        // Of some sixty lines these letters begin the few that are wanted.
        if !matches!(line.first(), Some(b'C' | b'N' | b'R' | b'S' | b'T' | b'U' | b'V')) {
            continue;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        has_key = true;
        let value = &line[colon + 1..];
        match &line[..colon] {
            b"State" => status.state = value.trim_ascii().first().copied().and_then(process_state),
            b"Uid" => status.uid = words(value).next().and_then(small_number),
            b"NSpid" => status.namespace_pids = words(value).map(small_number).collect(),
            b"VmRSS" => status.resident = super::meminfo::bytes_of(value),
            b"RssShmem" => status.shared_resident = super::meminfo::bytes_of(value),
            b"VmSwap" => status.swapped = super::meminfo::bytes_of(value),
            b"Cpus_allowed_list" => {
                let count = processor_count(value.trim_ascii()).ok();
                status.cpus_allowed = count.and_then(|count| u32::try_from(count).ok());
            }
            b"TracerPid" => status.tracer = words(value).next().and_then(small_number),
            b"SigPnd" | b"ShdPnd" => {
                let pending = words(value).next().and_then(mask).map(|mask| mask & KILL != 0);
                status.kill_pending = match (status.kill_pending, pending) {
                    (Some(one), Some(other)) => Some(one || other),
                    (one, other) => one.or(other),
                };
            }
            _ => {}
        }
    }
    if has_key { Ok(status) } else { Err(Malformed::first_line("`Name:` and more keys")) }
}

/// Returns the signals of a mask in hexadecimal digits.
fn mask(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{Status, status};
    use gpuwhy_model::sample::ProcessState;

    #[test]
    fn values_are_read_by_key() {
        let file = "Name:\tUid:\\t7\nState:\tD (disk sleep)\nTracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\n\
                    NSpid:\t4242\t17\nVmRSS:\t    2048 kB\nRssShmem:\t 512 kB\nVmSwap:\t 0 kB\n\
                    Cpus_allowed_list:\t0-15,32\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n";
        let expected = Status {
            state: Some(ProcessState::Blocked),
            uid: Some(1000),
            namespace_pids: Some(vec![4242, 17]),
            resident: Some(2 * 1024 * 1024),
            shared_resident: Some(512 * 1024),
            swapped: Some(0),
            cpus_allowed: Some(17),
            tracer: Some(0),
            kill_pending: Some(true),
        };
        assert_eq!(status(file.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn what_is_not_there_stays_unknown() {
        let kernel_thread = status(b"Name:\tkthreadd\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\n").unwrap();
        assert_eq!(kernel_thread.resident, None);
        assert_eq!((kernel_thread.swapped, kernel_thread.cpus_allowed), (None, None));
        assert_eq!(kernel_thread.namespace_pids, None);
        assert_eq!(kernel_thread.kill_pending, None);
        assert_eq!(status(b"NSpid:\t1\tx\n").unwrap().namespace_pids, None);
        assert_eq!(status(b"VmRSS: 99999999999999999999 kB\n").unwrap().resident, None);
        assert!(status(b"").is_err());
        assert!(status(b"\xff\xff").is_err());
    }
}
