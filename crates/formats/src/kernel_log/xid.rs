//! Xid lines: the driver's numbered errors.

use gpuwhy_model::process::Pid;

use super::address::pci_address;

/// What one Xid line says. The process is evidence, not a target: for many numbers it is whoever was inside a driver
/// call at that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// The card, `0000:65:00.0`.
    pub pci_address: String,
    /// The instance of the card (`GPU-I`), in multi-instance mode.
    pub instance: Option<u32>,
    /// The number.
    pub number: u32,
    /// The process in the initial pid namespace, where the line names one.
    pub pid: Option<Pid>,
    /// Its name, where the line has one.
    pub name: Option<String>,
    /// What follows.
    pub detail: String,
}

/// Reads an Xid line; none when the text is no complete one.
pub fn xid(text: &str) -> Option<Xid> {
    let rest = after_mark(text)?;
    let rest = rest.strip_prefix("PCI:").unwrap_or(rest);
    let (place, rest) = rest.split_once(')')?;
    let mut words = place.split(' ');
    let pci_address = pci_address(words.next()?)?;
    let instance = words.find_map(|word| word.strip_prefix("GPU-I:")).and_then(|digits| digits.parse().ok());
    let (_, rest) = rest.split_once(": ")?;
    let (number, detail) = match rest.split_once(',') {
        Some((number, detail)) => (number, detail.trim_start()),
        None => (rest.trim_end(), ""),
    };
    let number = number.parse().ok()?;
    let (pid, detail) = process_number(detail);
    let (name, detail) = process_name(detail);
    Some(Xid { pci_address, instance, number, pid, name, detail: detail.trim_end().to_owned() })
}

/// Returns what follows `Xid (`; the `SXid (` of a switch is another table of numbers.
fn after_mark(text: &str) -> Option<&str> {
    const MARK: &str = "Xid (";
    let start = text.find(MARK)?;
    (!text[..start].ends_with('S')).then(|| &text[start + MARK.len()..])
}

/// Takes `pid=1234, `, `pid='1234', ` or `pid='<unknown>', ` off the text.
fn process_number(text: &str) -> (Option<Pid>, &str) {
    let Some(rest) = text.strip_prefix("pid=") else {
        return (None, text);
    };
    let (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
    let pid = value.trim().trim_matches('\'').parse().ok().map(Pid);
    (pid, rest.trim_start())
}

/// Takes `name=python, ` or `name=<unknown>, ` off the text.
fn process_name(text: &str) -> (Option<String>, &str) {
    let Some(rest) = text.strip_prefix("name=") else {
        return (None, text);
    };
    let (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
    let value = value.trim().trim_matches('\'');
    let name = (!value.is_empty() && value != "<unknown>").then(|| value.to_owned());
    (name, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::{Xid, xid};
    use gpuwhy_model::process::Pid;

    fn line(pci_address: &str, number: u32, pid: Option<u32>, name: Option<&str>, detail: &str) -> Xid {
        Xid {
            pci_address: pci_address.into(),
            instance: None,
            number,
            pid: pid.map(Pid),
            name: name.map(str::to_owned),
            detail: detail.into(),
        }
    }

    #[test]
    fn every_known_form_is_read() {
        for (text, expected) in [
            (
                "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                line("0000:05:00.0", 79, None, None, "GPU has fallen off the bus."),
            ),
            (
                "[171167.6] NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal",
                line("0018:01:00.0", 145, Some(876_767), Some("ray::WorkerDict"), "RLW_RXPIPE Nonfatal"),
            ),
            (
                "NVRM: Xid (PCI:0000:3b:00): 43, pid='4242', name=python, Ch 00000008",
                line("0000:3b:00.0", 43, Some(4242), Some("python"), "Ch 00000008"),
            ),
            (
                "NVRM: Xid (0000:01:00): 13, 0003 00000000 00009297",
                line("0000:01:00.0", 13, None, None, "0003 00000000 00009297"),
            ),
            ("NVRM: Xid (PCI:0000:b3:00.0): 79", line("0000:b3:00.0", 79, None, None, "")),
            ("NVRM: Xid (PCI:0000:b3:00.0): 79, pid=1234", line("0000:b3:00.0", 79, Some(1234), None, "")),
            (
                "NVRM: Xid (PCI:0000:9b:00): 45, pid=12, name=a b, Ch 1, caused by previous Xid 31",
                line("0000:9b:00.0", 45, Some(12), Some("a b"), "Ch 1, caused by previous Xid 31"),
            ),
        ] {
            assert_eq!(xid(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_instance_is_kept() {
        let line =
            xid("NVRM: Xid (PCI:0000:41:00 GPU-I:03 GPU-CI:01): 94, pid=1, name=x, Contained").unwrap();
        assert_eq!((line.pci_address.as_str(), line.instance), ("0000:41:00.0", Some(3)));
    }

    #[test]
    fn other_texts_are_no_xid() {
        for text in [
            "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46",
            "NVRM: Xid (PCI:0000:b3:00.0): INVALID, pid=1234",
            "NVRM: Xid (PCI:0000:01:00): 154 (",
            "NVRM: Xid : 32, pid=2280636",
            "NVRM: Xid (PCI:xyz): 32",
            "NVRM: Xid (PCI:0000:01:00",
            "NVRM: GPU at PCI:0000:66:00: GPU-12345678-1234-5678-9abc-def012345678",
            "",
        ] {
            assert_eq!(xid(text), None, "{text}");
        }
    }
}
