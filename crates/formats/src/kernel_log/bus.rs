//! Errors of PCIe links that the kernel reports (advanced error reporting, containment of ports).

use gpuwhy_model::sample::{BusErrorSeverity, KernelFact};

use super::address::pci_address;

/// Reads `pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0` of all kernels,
/// `nvidia 0000:01:00.0: PCIe Bus Error: severity=Corrected, …` and `pcieport …: DPC: containment event, …`.
pub(super) fn bus_error(text: &str) -> Option<KernelFact> {
    let (before, after) = ["PCIe Bus Error: ", "AER: ", "DPC: containment event"]
        .iter()
        .find_map(|mark| text.split_once(mark))?;
    let is_contained = text.contains("DPC: containment event");
    let tells_it = ["severity=", "error received", "error message received", "DPC: containment event"];
    if !tells_it.iter().any(|words| text.contains(words)) {
        return None;
    }
    let severity = if is_contained { BusErrorSeverity::Fatal } else { severity(after)? };
    // The port reports, the device behind it suffers.
    let sufferer = after.rsplit([' ', '=']).next().and_then(pci_address);
    let reporter =
        || before.split_ascii_whitespace().rev().find_map(|word| pci_address(word.trim_end_matches(':')));
    Some(KernelFact::BusError { pci_address: sufferer.or_else(reporter)?, severity })
}

fn severity(words: &str) -> Option<BusErrorSeverity> {
    if words.contains("(Fatal)") {
        return Some(BusErrorSeverity::Fatal);
    }
    if words.contains("Non-Fatal") {
        return Some(BusErrorSeverity::NonFatal);
    }
    let is_corrected = ["Corrected", "Correctable"].iter().any(|word| words.contains(word));
    is_corrected.then_some(BusErrorSeverity::Corrected)
}

#[cfg(test)]
mod tests {
    use super::bus_error;
    use gpuwhy_model::sample::{BusErrorSeverity, KernelFact};

    #[test]
    fn errors_of_all_kernels_name_a_device() {
        for (text, address, severity) in [
            (
                "pcieport 0000:00:01.0: AER: Multiple Corrected error received: 0000:41:00.0",
                "0000:41:00.0",
                BusErrorSeverity::Corrected,
            ),
            (
                "pcieport 0000:00:01.0: AER: Correctable error message received from 0000:41:00.0",
                "0000:41:00.0",
                BusErrorSeverity::Corrected,
            ),
            (
                "pcieport 0000:00:03.1: AER: Uncorrected (Non-Fatal) error received: id=0018",
                "0000:00:03.1",
                BusErrorSeverity::NonFatal,
            ),
            (
                "pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0",
                "0000:3b:00.0",
                BusErrorSeverity::Fatal,
            ),
            (
                "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
                "0000:41:00.0",
                BusErrorSeverity::Corrected,
            ),
            (
                "nvidia 0000:41:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
                "0000:41:00.0",
                BusErrorSeverity::Fatal,
            ),
            (
                "pcieport 0000:3a:00.0: DPC: containment event, status:0x1f01 source:0x0000",
                "0000:3a:00.0",
                BusErrorSeverity::Fatal,
            ),
        ] {
            let pci_address = address.to_owned();
            assert_eq!(bus_error(text), Some(KernelFact::BusError { pci_address, severity }), "{text}");
        }
        for text in [
            "pcieport 0000:00:01.0: AER: enabled with IRQ 122",
            "nvidia 0000:41:00.0: AER: can't recover (no error_detected callback)",
            "nvidia 0000:41:00.0:   device [10de:2330] error status/mask=00000001/0000a000",
            "AER: Corrected error received: ",
        ] {
            assert_eq!(bus_error(text), None, "{text}");
        }
    }
}
