//! Facts in kernel lines other than Xids.

use gpuwhy_model::process::Pid;

use super::address::pci_address;

/// A task that the kernel saw blocked for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HungTask {
    /// Its name.
    pub name: String,
    /// Its number, of a thread as well as of a process.
    pub pid: Pid,
    /// For more than how many seconds.
    pub seconds: u64,
}

/// Reads `INFO: task NAME:PID blocked for more than N seconds.`
pub fn hung_task(text: &str) -> Option<HungTask> {
    let (_, rest) = text.split_once("task ")?;
    let (who, rest) = rest.split_once(" blocked ")?;
    let (_, seconds) = rest.split_once("for more than ")?;
    let (seconds, _) = seconds.split_once(' ')?;
    let (name, pid) = who.rsplit_once(':')?;
    Some(HungTask { name: name.to_owned(), pid: Pid(pid.parse().ok()?), seconds: seconds.parse().ok()? })
}

/// Returns the address of a card that fell off the bus, from the driver's lines that have no Xid number.
///
/// The address of the same message counts, never one of a neighbouring line.
pub fn fallen_off_the_bus(text: &str) -> Option<String> {
    let end = text.find("fallen off the bus")?;
    let before = &text[..end];
    let start = ["NVRM: The NVIDIA GPU ", "NVRM: GPU "]
        .iter()
        .find_map(|mark| before.rfind(mark).map(|start| start + mark.len()))?;
    let word = before[start..].split_ascii_whitespace().next()?;
    pci_address(word.trim_end_matches(':'))
}

/// Returns whether the driver says that the card's own processor did not answer a call.
pub fn is_rpc_timeout(text: &str) -> bool {
    let is_driver = text.contains("NVRM");
    is_driver && text.contains("RPC") && (text.contains("imeout") || text.contains("imed out"))
}

#[cfg(test)]
mod tests {
    use super::{HungTask, fallen_off_the_bus, hung_task, is_rpc_timeout};
    use gpuwhy_model::process::Pid;

    #[test]
    fn hung_tasks_may_have_odd_names() {
        for (text, name, pid, seconds) in [
            ("INFO: task nvidia-smi:1234 blocked for more than 120 seconds.", "nvidia-smi", 1234, 120),
            ("INFO: task kworker/u8:2:99 blocked for more than 241 seconds.", "kworker/u8:2", 99, 241),
            ("INFO: task my task:7 blocked in I/O wait for more than 122 seconds.", "my task", 7, 122),
        ] {
            assert_eq!(hung_task(text), Some(HungTask { name: name.into(), pid: Pid(pid), seconds }));
        }
        for text in
            ["INFO: task x blocked for more than 1 seconds", "task x:1 blocked for more than", "task x:1"]
        {
            assert_eq!(hung_task(text), None);
        }
    }

    #[test]
    fn the_card_of_the_same_message_fell_off() {
        for (text, address) in [
            ("NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.", Some("0000:29:00.0")),
            ("NVRM: GPU 18:00.0: GPU has fallen off the bus.", Some("0000:18:00.0")),
            (
                "NVRM: The NVIDIA GPU 0000:18:00.0 NVRM: (PCI ID: 10de:2901) installed in this system has NVRM: \
                 fallen off the bus and is not responding to commands.",
                Some("0000:18:00.0"),
            ),
            (
                "NVRM: The NVIDIA GPU 0000:b3:00.0 fallen off the bus and is not responding",
                Some("0000:b3:00.0"),
            ),
            ("NVRM: fallen off the bus and is not responding to commands.", None),
            ("NVRM: The NVIDIA GPU 0000:18:00.0", None),
            ("NVRM: The NVIDIA GPU invalid-bdf.0 fallen off the bus", None),
        ] {
            assert_eq!(fallen_off_the_bus(text).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn rpc_timeouts_are_recognised() {
        assert!(is_rpc_timeout(
            "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76"
        ));
        assert!(is_rpc_timeout("NVRM: _issueRpcAndWait: rpcRecvPoll timedout for fn 76! RPC timed out"));
        assert!(!is_rpc_timeout("NVRM: loading NVIDIA UNIX x86_64 Kernel Module"));
        assert!(!is_rpc_timeout("nfs: RPC: Timeout"));
    }
}
