//! What the NVIDIA driver, and drivers that stand in its way, say when they are loaded and take their cards.

use gpuwhy_model::sample::KernelFact;

use super::address::pci_address;

/// Drivers of cards whose failures to take one are kept.
const CARD_DRIVERS: &[&str] = &["nvidia", "nouveau", "amdgpu", "i915", "xe"];

/// Reads a line of a driver.
pub(super) fn fact(text: &str) -> Option<KernelFact> {
    if let Some(failed) = probe_failed(text) {
        return Some(failed);
    }
    if let Some(pci_address) = nouveau(text) {
        return Some(KernelFact::OtherDriver { pci_address, driver: "nouveau".to_owned() });
    }
    if !text.contains("NVRM") {
        return None;
    }
    // A message on several lines has the mark of the driver before each of them.
    let lower = text.to_ascii_lowercase().replace(" nvrm: ", " ");
    if lower.contains("nvrm: loading nvidia") {
        return versions(text).next().map(|version| KernelFact::ModuleLoaded { version: version.to_owned() });
    }
    if lower.contains("api mismatch") {
        return version_mismatch(text);
    }
    if let Some((_, rest)) = lower.split_once("probe routine was not called for ") {
        let cards = rest.split(' ').next()?.parse().ok()?;
        return Some(KernelFact::CardsOfOtherDriver { cards });
    }
    if is_no_card_served(&lower) {
        return Some(KernelFact::NoCardServed);
    }
    if let Some(needs_other_module) = not_supported(&lower) {
        return Some(KernelFact::CardNotSupported { pci_address: card(text), needs_other_module });
    }
    if lower.contains("rm_init_adapter failed") || lower.contains("rminitadapter failed") {
        let minor = number_behind(&lower, "minor number ");
        return Some(KernelFact::CardNotStarted { pci_address: card(text), minor });
    }
    let is_no_window =
        lower.contains("is 0m @ 0x0") || lower.contains("assigned to your nvidia device is invalid");
    if is_no_window {
        let place = text.split_once("(PCI:").and_then(|(_, rest)| pci_address(rest.split(')').next()?));
        return Some(KernelFact::NoMemoryWindow { pci_address: place });
    }
    if is_window_full(&lower) {
        return Some(KernelFact::MemoryWindowFull { pci_address: card(text) });
    }
    is_rpc_timeout(&lower).then_some(KernelFact::RpcTimeout)
}

/// Returns whether the driver says, in lower case, that it found no room for a mapping in the window into a card.
fn is_window_full(lower: &str) -> bool {
    let maps = lower.contains("kbusmapfbaperture") || lower.contains("kbusmapbar1");
    let fails = ["could not map", "failed", "insufficient resources", "no_memory"];
    maps && fails.iter().any(|words| lower.contains(words))
        || lower.contains("dmaallocmapping") && lower.contains("alloc va space for mapping")
}

/// Reads `nvidia: probe of 0000:01:00.0 failed with error -1` and, of newer kernels,
/// `nvidia 0000:01:00.0: probe with driver nvidia failed with error -1`.
fn probe_failed(text: &str) -> Option<KernelFact> {
    let (before, code) = text.split_once(" failed with error ")?;
    let (driver, place) = if let Some((driver, place)) = before.split_once(": probe of ") {
        (driver, place)
    } else {
        let (place, driver) = before.split_once(": probe with driver ")?;
        (driver, place.rsplit(' ').next()?)
    };
    let driver = driver.rsplit(' ').next()?;
    let code = code.split(|sign: char| sign != '-' && !sign.is_ascii_digit()).next()?.parse().ok()?;
    let is_of_cards = CARD_DRIVERS.contains(&driver) || driver.starts_with("nvidia");
    is_of_cards.then_some(())?;
    Some(KernelFact::ProbeFailed { pci_address: pci_address(place)?, driver: driver.to_owned(), code })
}

/// Returns the card that nouveau has; a card that it cannot take is not its own.
fn nouveau(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix("nouveau ")?;
    if ["unknown chipset", "failed with error", "DRM: failed"].iter().any(|words| text.contains(words)) {
        return None;
    }
    // Kernels before 4.3: `nouveau  [  DEVICE][0000:01:00.0] Chipset: GK104 (NVE4)`.
    let mut words = rest.split([' ', '[', ']']).filter(|word| !word.is_empty());
    words.by_ref().take(3).find_map(|word| pci_address(word.trim_end_matches(':')))
}

/// Reads the versions of a client and of the module; their order and words changed over the years.
fn version_mismatch(text: &str) -> Option<KernelFact> {
    let module_at = text.find("kernel module has")?;
    let module = versions(&text[module_at..]).next()?;
    let mut others = versions(&text[..module_at]).chain(versions(&text[module_at..]));
    let client = others.find(|version| *version != module)?;
    Some(KernelFact::VersionMismatch { client: client.to_owned(), module: module.to_owned() })
}

/// Returns the words that are versions: `550.54.14`, `340.101`.
pub(crate) fn versions(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|sign: char| sign.is_ascii_whitespace() || ",;()'\"".contains(sign));
    words.map(|word| word.trim_end_matches('.')).filter(|word| is_version(word))
}

/// Returns whether a word is a driver's version: three digits, then one or two more numbers.
pub(crate) fn is_version(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_branch = parts.next().is_some_and(|part| (2..=4).contains(&part.len()) && is_number(part));
    let rest: Vec<&str> = parts.collect();
    is_branch && (1..=2).contains(&rest.len()) && rest.iter().all(|part| is_number(part))
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_no_card_served(lower: &str) -> bool {
    let says_no =
        ["no nvidia graphics adapter", "no nvidia devices", "no nvidia gpu found", "none of the nvidia"];
    let of_all = ["probed", "found", "were initialized"];
    says_no.iter().any(|words| lower.contains(words)) && of_all.iter().any(|words| lower.contains(words))
}

/// Returns whether a message says that a card is not supported, and then whether the other kind of module is needed.
fn not_supported(lower: &str) -> Option<bool> {
    if lower.contains("requires use of the nvidia open kernel modules") {
        return Some(true);
    }
    if !lower.contains("installed in this") {
        return None;
    }
    if lower.contains("not supported by open nvidia.ko")
        || lower.contains("not supported by proprietary nvidia.ko")
    {
        return Some(true);
    }
    let is_unsupported =
        lower.contains("is not supported by") || lower.contains("supported through the nvidia");
    is_unsupported.then_some(false)
}

/// Returns the card that a message of the driver is about: `NVRM: GPU 0000:65:00.0: …`, `The NVIDIA GPU 0000:65:00.0 …`.
fn card(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("GPU ")?;
    pci_address(rest.split_ascii_whitespace().next()?.trim_end_matches(':'))
}

fn number_behind(text: &str, mark: &str) -> Option<u32> {
    let (_, rest) = text.split_once(mark)?;
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Returns whether the driver says, in lower case, that the card's own processor did not answer a call.
fn is_rpc_timeout(lower: &str) -> bool {
    let is_call = lower.contains("rpc") || lower.contains("gsp");
    let is_late = ["timeout", "timed out", "timedout"].iter().any(|word| lower.contains(word));
    is_call && is_late
}

#[cfg(test)]
mod tests {
    use super::fact;
    use gpuwhy_model::sample::KernelFact;

    #[test]
    fn versions_that_do_not_fit_are_read_in_all_wordings() {
        let mismatch = |client: &str, module: &str| {
            Some(KernelFact::VersionMismatch { client: client.to_owned(), module: module.to_owned() })
        };
        for (text, expected) in [
            (
                "NVRM: API mismatch: the client has the version 535.183.06, but NVRM: this kernel module has the \
                 version 535.171.04.  Please NVRM: make sure that this kernel module and all NVIDIA driver NVRM: \
                 components have the same version.",
                mismatch("535.183.06", "535.171.04"),
            ),
            (
                "NVRM: API mismatch: the client 'nvidia-smi' (pid 77) has the version 570.124.06, but this kernel \
                 module has the version 570.124.04.",
                mismatch("570.124.06", "570.124.04"),
            ),
            (
                "NVRM: API mismatch: the NVIDIA kernel module has version 340.96, but this NVIDIA driver component \
                 has version 340.101.",
                mismatch("340.101", "340.96"),
            ),
            ("NVRM: API mismatch: the client has the version 535.183.06, but", None),
        ] {
            assert_eq!(fact(text), expected, "{text}");
        }
    }

    #[test]
    fn cards_that_the_module_does_not_get_are_counted() {
        let text = "NVRM: The NVIDIA probe routine was not called for 3 device(s).";
        assert_eq!(fact(text), Some(KernelFact::CardsOfOtherDriver { cards: 3 }));
        for text in [
            "NVRM: No NVIDIA graphics adapter probed!",
            "NVRM: No NVIDIA devices probed.",
            "NVRM: None of the NVIDIA devices were initialized.",
        ] {
            assert_eq!(fact(text), Some(KernelFact::NoCardServed), "{text}");
        }
        let other = |address: &str| {
            Some(KernelFact::OtherDriver { pci_address: address.to_owned(), driver: "nouveau".to_owned() })
        };
        for (text, expected) in [
            ("nouveau 0000:17:00.0: NVIDIA GA102 (172000a1)", other("0000:17:00.0")),
            ("nouveau  [  DEVICE][0000:01:00.0] Chipset: GK104 (NVE4)", other("0000:01:00.0")),
            ("nouveau 0000:17:00.0: unknown chipset (b92000a1)", None),
            ("nouveau: detected PR support, will not use DSM", None),
        ] {
            assert_eq!(fact(text), expected, "{text}");
        }
    }

    #[test]
    fn cards_that_cannot_be_started_are_named() {
        let address = || Some("0000:65:00.0".to_owned());
        for (text, expected) in [
            (
                "NVRM: GPU 0000:65:00.0: rm_init_adapter failed, device minor number 2",
                KernelFact::CardNotStarted { pci_address: address(), minor: Some(2) },
            ),
            (
                "NVRM: GPU 0000:65:00.0: RmInitAdapter failed! (0x62:0x65:1860)",
                KernelFact::CardNotStarted { pci_address: address(), minor: None },
            ),
            (
                "NVRM: rm_init_adapter failed for device bearing minor number 0",
                KernelFact::CardNotStarted { pci_address: None, minor: Some(0) },
            ),
            (
                "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:1184) NVRM: installed in this system is not \
                 supported by the NVIDIA 580.65.06 driver release.",
                KernelFact::CardNotSupported { pci_address: address(), needs_other_module: false },
            ),
            (
                "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:1b06) NVRM: installed in this system is not \
                 supported by open nvidia.ko because it does not include the required GPU NVRM: System Processor",
                KernelFact::CardNotSupported { pci_address: address(), needs_other_module: true },
            ),
            (
                "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:1050) installed NVRM: in this system is not supported \
                 by the 280.13 NVIDIA Linux NVRM: graphics driver release.",
                KernelFact::CardNotSupported { pci_address: address(), needs_other_module: false },
            ),
            (
                "NVRM: The NVIDIA GPU 0000:65:00.0 (PCI ID: 10de:1b06) NVRM: installed in this system is not supported \
                 by open NVRM: nvidia.ko because it does not include the required GPU",
                KernelFact::CardNotSupported { pci_address: address(), needs_other_module: true },
            ),
            (
                "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
                KernelFact::CardNotSupported { pci_address: None, needs_other_module: true },
            ),
            (
                "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: NVRM: BAR1 is 0M @ 0x0 \
                 (PCI:0000:65:00.0)",
                KernelFact::NoMemoryWindow { pci_address: address() },
            ),
            (
                "nvidia: probe of 0000:65:00.0 failed with error -1",
                KernelFact::ProbeFailed {
                    pci_address: "0000:65:00.0".to_owned(),
                    driver: "nvidia".to_owned(),
                    code: -1,
                },
            ),
            (
                "nvidia 0000:65:00.0: probe with driver nvidia failed with error -12",
                KernelFact::ProbeFailed {
                    pci_address: "0000:65:00.0".to_owned(),
                    driver: "nvidia".to_owned(),
                    code: -12,
                },
            ),
        ] {
            assert_eq!(fact(text), Some(expected), "{text}");
        }
        assert_eq!(fact("ie31200_edac: probe of 0000:00:00.0 failed with error -12"), None);
    }

    #[test]
    fn the_version_of_a_loaded_module_is_read() {
        for (text, version) in [
            (
                "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC",
                "535.129.03",
            ),
            (
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (b@h)",
                "580.65.06",
            ),
        ] {
            assert_eq!(fact(text), Some(KernelFact::ModuleLoaded { version: version.to_owned() }));
        }
    }

    #[test]
    fn a_full_window_is_recognised() {
        let full = Some(KernelFact::MemoryWindowFull { pci_address: None });
        for text in [
            "NVRM: dmaAllocMapping_GM107: can't alloc VA space for mapping.",
            "NVRM: kbusMapFbAperture_GM107: Failed: [GPU1] Could not map pAperOffset: 0x0",
        ] {
            assert_eq!(fact(text), full, "{text}");
        }
        assert_eq!(fact("NVRM: kbusMapFbAperture_GM107: mapped"), None);
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
}
