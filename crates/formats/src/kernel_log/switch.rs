//! Numbered errors of `NVSwitches` (SXid): a table of its own, not that of cards.

use gpuwhy_model::sample::KernelFact;

use super::address::pci_address;

/// Reads `nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 …`; none for the lines of data that
/// follow an error with the same number.
pub(super) fn switch_error(text: &str) -> Option<KernelFact> {
    let (_, rest) = text.split_once("SXid (")?;
    let rest = rest.strip_prefix("PCI:").unwrap_or(rest);
    let (place, rest) = rest.split_once(')')?;
    let (_, rest) = rest.split_once(": ")?;
    let (number, detail) = rest.split_once(',').unwrap_or((rest, ""));
    let detail = detail.trim_start();
    if ["Severity ", "Data ", "Data{"].iter().any(|data| detail.starts_with(data)) {
        return None;
    }
    let (is_fatal, detail) = match detail.split_once(',') {
        Some(("Fatal", rest)) => (Some(true), rest),
        Some(("Non-fatal" | "Nonfatal", rest)) => (Some(false), rest),
        _ => (None, detail),
    };
    let link =
        detail.trim_start().strip_prefix("Link ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some(KernelFact::SwitchError {
        pci_address: pci_address(place)?,
        number: number.trim().parse().ok()?,
        is_fatal,
        link,
    })
}

#[cfg(test)]
mod tests {
    use super::switch_error;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn errors_are_told_from_their_data() {
        for (text, number, is_fatal, link) in [
            (
                "nvidia-nvswitch0: SXid (PCI:0000:C1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO",
                28006,
                Some(false),
                Some(46),
            ),
            (
                "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 28 sourcetrack timeout error",
                24007,
                Some(true),
                Some(28),
            ),
            ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 26006, SOE HALTED", 26006, None, None),
            ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20009, Non-fatal, Li", 20009, Some(false), None),
        ] {
            let pci_address = "0000:c1:00.0".to_owned();
            assert_eq!(
                switch_error(text),
                Some(KernelFact::SwitchError { pci_address, number, is_fatal, link }),
                "{text}"
            );
        }
        for text in [
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 12033, Severity 1 Engine instance 00",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 12033, Data {0x00000001, 0x0}",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:0",
            "NVRM: Xid (PCI:0000:c3:00): 79",
        ] {
            assert_eq!(switch_error(text), None, "{text}");
        }
    }
}
