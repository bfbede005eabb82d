//! What lines of the kernel log say, as far as rules ask for it.

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::KernelFact;

use super::address::pci_address;
use super::out_of_memory::out_of_memory;
use super::xid::xid;

/// Returns what a line says; none where it says nothing that rules ask for.
pub fn fact(text: &str) -> Option<KernelFact> {
    if let Some(xid) = xid(text) {
        let (caused_by, is_fatal) = (caused_by(&xid.detail), is_fatal(&xid.detail));
        let (pci_address, number, pid, name) = (xid.pci_address, xid.number, xid.pid, xid.name);
        return Some(KernelFact::Xid { pci_address, number, pid, name, caused_by, is_fatal });
    }
    if let Some(pci_address) = fallen_off_the_bus(text) {
        return Some(KernelFact::FallenOffTheBus { pci_address });
    }
    if let Some(hung) = hung_task(text) {
        return Some(hung);
    }
    if let Some(killed) = out_of_memory(text) {
        return Some(killed);
    }
    let lower = text.to_ascii_lowercase();
    if is_rpc_timeout(&lower) {
        return Some(KernelFact::RpcTimeout);
    }
    is_module_refusal(&lower).then_some(KernelFact::ModuleRefused)
}

/// Returns the number behind `caused by previous Xid`.
fn caused_by(detail: &str) -> Option<u32> {
    let (_, rest) = detail.split_once("caused by previous Xid ")?;
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Returns whether an error of a link calls itself fatal: `RLW_RXPIPE Nonfatal XC0 i0 Link 12 (…)`.
fn is_fatal(detail: &str) -> Option<bool> {
    detail.split(' ').find_map(|word| match word {
        "Fatal" => Some(true),
        "Nonfatal" | "Non-fatal" => Some(false),
        _ => None,
    })
}

/// Reads `INFO: task NAME:PID blocked for more than N seconds.`, with `in I/O wait` where the kernel says so.
fn hung_task(text: &str) -> Option<KernelFact> {
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

/// Returns whether the driver says, in lower case, that the card's own processor did not answer a call.
fn is_rpc_timeout(lower: &str) -> bool {
    let is_call = lower.contains("rpc") || lower.contains("gsp");
    let is_late = ["timeout", "timed out", "timedout"].iter().any(|word| lower.contains(word));
    lower.contains("nvrm") && is_call && is_late
}

/// Returns whether the kernel says, in lower case, that it refused the driver's module for its signature.
fn is_module_refusal(lower: &str) -> bool {
    let is_about_signing =
        ["lockdown", "key was rejected", "required key not available", "module verification failed"]
            .iter()
            .any(|words| lower.contains(words));
    is_about_signing && lower.contains("nvidia")
}

#[cfg(test)]
mod tests {
    use super::{fact, fallen_off_the_bus, hung_task};
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
            assert_eq!(fact(text), Some(expected));
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
    fn calls_that_were_not_answered_are_recognised() {
        for text in [
            "NVRM: _issueRpcAndWait: rpcRecvPoll timedout for fn 76! RPC timed out",
            "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
        ] {
            assert_eq!(fact(text), Some(KernelFact::RpcTimeout), "{text}");
        }
        for text in ["NVRM: loading NVIDIA UNIX x86_64 Kernel Module", "nfs: RPC: Timeout"] {
            assert_eq!(fact(text), None, "{text}");
        }
    }

    #[test]
    fn what_an_error_comes_of_and_whether_it_is_fatal_are_read() {
        for (text, wanted_cause, wanted_fatal) in [
            (
                "NVRM: Xid (PCI:0000:dc:00): 45, pid=7, name=python3, Ch 00000001 caused by previous Xid 149",
                Some(149),
                None,
            ),
            (
                "NVRM: Xid (PCI:0000:dc:00): 45, pid=7, name=python3, Ch 00000001, caused by previous Xid 31.",
                Some(31),
                None,
            ),
            (
                "NVRM: Xid (PCI:0018:01:00): 145, pid=7, name=x, RLW_RXPIPE Nonfatal XC0 i0 Link 12 (0x1)",
                None,
                Some(false),
            ),
            ("NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x1)", None, Some(true)),
            ("NVRM: Xid (PCI:0018:01:00): 79, GPU has fallen off the bus.", None, None),
        ] {
            let Some(KernelFact::Xid { caused_by, is_fatal, .. }) = fact(text) else {
                panic!("{text}");
            };
            assert_eq!((caused_by, is_fatal), (wanted_cause, wanted_fatal), "{text}");
        }
    }

    #[test]
    fn a_number_says_more_than_the_words_behind_it() {
        let text = "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU3 GSP!";
        let expected = KernelFact::Xid {
            pci_address: "0000:3b:00.0".to_owned(),
            number: 119,
            pid: Some(Pid(1)),
            name: Some("x".to_owned()),
            caused_by: None,
            is_fatal: None,
        };
        assert_eq!(fact(text), Some(expected));
        let fell_off = KernelFact::FallenOffTheBus { pci_address: "0000:29:00.0".to_owned() };
        assert_eq!(fact("NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."), Some(fell_off));
    }

    #[test]
    fn refused_modules_are_recognised() {
        for text in [
            "Lockdown: modprobe: unsigned module loading of nvidia is restricted; see man kernel_lockdown.7",
            "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        ] {
            assert_eq!(fact(text), Some(KernelFact::ModuleRefused), "{text}");
        }
        assert_eq!(fact("Lockdown: swapper: hibernation is restricted"), None);
    }
}
