//! What lines of the kernel log say, as far as rules ask for it.

use gpuwhy_model::sample::KernelFact;

use super::address::pci_address;
use super::bus::bus_error;
use super::driver;
use super::module;
use super::out_of_memory::out_of_memory;
use super::switch::switch_error;
use super::task::{bad_access, hung_task, soft_lockup};
use super::xid::xid;

/// Returns what a line says; none where it says nothing that rules ask for.
pub fn fact(text: &str) -> Option<KernelFact> {
    if let Some(xid) = xid(text) {
        return Some(numbered(xid));
    }
    if let Some(pci_address) = fallen_off_the_bus(text) {
        return Some(KernelFact::FallenOffTheBus { pci_address });
    }
    let readers = [
        switch_error,
        hung_task,
        out_of_memory,
        soft_lockup,
        bad_access,
        bus_error,
        driver::fact,
        module::fact,
    ];
    readers.iter().find_map(|reader| reader(text))
}

/// Returns the fact of a numbered error.
fn numbered(xid: super::Xid) -> KernelFact {
    KernelFact::Xid {
        caused_by: caused_by(&xid.detail),
        is_fatal: is_fatal(&xid.detail),
        recovery: if xid.number == RECOVERY { recovery(&xid.detail) } else { None },
        pci_address: xid.pci_address,
        number: xid.number,
        pid: xid.pid,
        name: xid.name,
    }
}

/// The number that says what the driver asks for from now on.
const RECOVERY: u32 = 154;

/// Returns the action behind `changed from 0x0 (None) to 0x2 (Node Reboot Required)`.
fn recovery(detail: &str) -> Option<u32> {
    let (_, rest) = detail.rsplit_once(" to 0x")?;
    let end = rest.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(rest.len());
    u32::from_str_radix(&rest[..end], 16).ok()
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

#[cfg(test)]
mod tests {
    use super::{fact, fallen_off_the_bus};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::KernelFact;

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
            recovery: None,
        };
        assert_eq!(fact(text), Some(expected));
        let fell_off = KernelFact::FallenOffTheBus { pci_address: "0000:29:00.0".to_owned() };
        assert_eq!(fact("NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."), Some(fell_off));
    }

    #[test]
    fn the_action_that_the_driver_asks_for_is_read() {
        for (text, wanted) in [
            (
                "NVRM: Xid (PCI:0000:02:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
                Some(2),
            ),
            (
                "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain",
                Some(4),
            ),
            ("NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed", None),
            ("NVRM: Xid (PCI:0009:01:00): 43, pid=7, name=x, changed from a to 0x1", None),
        ] {
            let Some(KernelFact::Xid { recovery, .. }) = fact(text) else {
                panic!("{text}");
            };
            assert_eq!(recovery, wanted, "{text}");
        }
    }
}
