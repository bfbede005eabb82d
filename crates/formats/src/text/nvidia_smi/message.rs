//! What `nvidia-smi` says in words: that it cannot start, that a card does not answer, that something is damaged.

use gpuwhy_model::reading::Failure;

use crate::kernel_log::pci_address;
use crate::nvidia_cell::{error_code, failure};

/// The call behind a library that does not start.
const INIT: &str = "nvmlInit_v2";

/// The call behind a card that does not answer.
const HANDLE: &str = "nvmlDeviceGetHandleByIndex_v2";

/// `NVML_ERROR_DRIVER_NOT_LOADED`
const DRIVER_NOT_LOADED: u32 = 9;
/// `NVML_ERROR_NO_PERMISSION`
const NO_PERMISSION: u32 = 4;
/// `NVML_ERROR_CORRUPTED_INFOROM`
const CORRUPTED_INFOROM: u32 = 14;

/// A longer line is no message of a tool.
const LENGTH_MAX: usize = 400;

/// Each message has one of these: every line of a paste is asked.
const SIGNS: &[&str] = &[
    "NVML",
    "NVIDIA-SMI",
    "nvidia-smi",
    "device handle",
    "o devices",
    "GPU is lost",
    "WARNING:",
    "Make sure",
    "Please also try",
    "Reboot the system",
    "Treating as",
];

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::text) enum Message {
    /// The library cannot be asked.
    Library(Failure),
    /// The version of the library that was loaded.
    LibraryVersion(String),
    /// The library answers and counts no card.
    NoDevices,
    /// This card does not answer.
    Handle { index: Option<u32>, address: Option<String>, failure: Failure },
    /// A card is lost; which one is not said.
    Lost(Failure),
    /// A card's own store is damaged.
    Inforom { address: String, failure: Failure },
    /// A warning of another kind.
    OtherWarning,
    /// The rest of another message: what to do about it.
    Advice,
}

/// Returns what a line says, if it is a message of the tool, or of a shell that does not find it.
pub(in crate::text) fn message(line: &str) -> Option<Message> {
    let text = line.trim();
    if text.is_empty() || text.len() > LENGTH_MAX || !SIGNS.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let plain = lower.trim_end_matches('.');
    if plain == "no devices were found" || plain == "no devices found" {
        return Some(Message::NoDevices);
    }
    library(text, &lower)
        .or_else(|| card(text, &lower))
        .or_else(|| warning(text, &lower))
        .or_else(|| advice(&lower))
        .or_else(|| is_tool_missing(&lower).then(|| Message::Library(missing())))
}

/// Reads that the library cannot be asked.
fn library(text: &str, lower: &str) -> Option<Message> {
    if let Some(rest) = after(text, lower, "failed to initialize nvml:")
        .or_else(|| after(text, lower, "failed to properly shut down nvml:"))
    {
        let code = error_code(rest)?;
        return Some(Message::Library(Failure::Nvml { call: INIT.to_owned(), code }));
    }
    if let Some(rest) = after(text, lower, "nvml library version:") {
        let version = rest.split_whitespace().next()?;
        return is_version(version).then(|| Message::LibraryVersion(version.to_owned()));
    }
    if !lower.starts_with("nvidia-smi") {
        return None;
    }
    let is_library_missing =
        lower.contains("couldn") && (lower.contains("libnvidia-ml") || lower.contains("nvml.dll"));
    if is_library_missing {
        let first = text.split_once(". ").map_or(text, |(first, _)| first);
        return Some(Message::Library(Failure::LibraryNotLoaded { error: first.to_owned() }));
    }
    let code = if !lower.contains("has failed") {
        return None;
    } else if lower.contains("permission") {
        NO_PERMISSION
    } else if lower.contains("couldn") && lower.contains("communicate with") {
        DRIVER_NOT_LOADED
    } else {
        return None;
    };
    Some(Message::Library(Failure::Nvml { call: INIT.to_owned(), code }))
}

/// Reads that a card does not answer.
fn card(text: &str, lower: &str) -> Option<Message> {
    if let Some(rest) = after(text, lower, "unable to determine the device handle for") {
        let (index, address, words) = named_card(rest);
        let code = error_code(words)?;
        return Some(Message::Handle {
            index,
            address,
            failure: Failure::Nvml { call: HANDLE.to_owned(), code },
        });
    }
    let code = error_code(text).filter(|_| lower.starts_with("gpu is lost"))?;
    Some(Message::Lost(failure(code)))
}

/// Splits `GPU1: 0000:34:00.0: Unknown Error`, and the forms without number or without address.
fn named_card(text: &str) -> (Option<u32>, Option<String>, &str) {
    let rest = text.trim();
    let rest = rest
        .get(..3)
        .filter(|word| word.eq_ignore_ascii_case("gpu"))
        .map_or(rest, |_| rest[3..].trim_start());
    if let Some((address, words)) = leading_address(rest) {
        return (None, Some(address), words);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let index = rest[..digits].parse().ok();
    let words = rest[digits..].trim_start_matches([':', ' ']);
    match leading_address(words) {
        Some((address, words)) => (index, Some(address), words),
        None => (index, None, words),
    }
}

/// Splits an address off the front of a text: `0000:34:00.0: words`.
fn leading_address(text: &str) -> Option<(String, &str)> {
    let end = text.find(|character: char| !character.is_ascii_hexdigit() && !":.".contains(character));
    let end = end.unwrap_or(text.len());
    let address = pci_address(text[..end].trim_end_matches(':'))?;
    Some((address, text[end..].trim_start_matches([':', ' '])))
}

/// Reads a warning.
fn warning(text: &str, lower: &str) -> Option<Message> {
    let rest = after(text, lower, "warning:")?;
    let about = rest.to_ascii_lowercase();
    if about.contains("inforom") && about.contains("corrupt") {
        let mut words = rest.split_whitespace();
        let address = words.find_map(|word| pci_address(word.trim_end_matches(['.', ',', ':'])))?;
        return Some(Message::Inforom { address, failure: failure(CORRUPTED_INFOROM) });
    }
    let is_of_the_tool =
        ["inforom", "libnvidia-ml", "persistence mode", "remap", "retire", "power cap", "power limit"]
            .iter()
            .any(|words| about.contains(words));
    is_of_the_tool.then_some(Message::OtherWarning)
}

/// Knows what is printed below another message.
fn advice(lower: &str) -> Option<Message> {
    let known = [
        "make sure that the latest nvidia driver is installed and running",
        "please also try adding directory that contains libnvidia-ml.so",
        "reboot the system to recover this gpu",
        "treating as warning and moving on",
    ];
    known.iter().any(|words| lower.starts_with(words)).then_some(Message::Advice)
}

/// Returns whether a shell says that there is no such tool.
fn is_tool_missing(lower: &str) -> bool {
    if !lower.contains("nvidia-smi") {
        return false;
    }
    let names_the_tool = |words: &str| {
        lower.split_once(words).is_some_and(|(before, _)| {
            let tool = before
                .trim_end_matches([':', ' '])
                .rsplit([' ', ':', '\'', '`', '"', '/'])
                .find(|word| !word.is_empty());
            tool.is_some_and(|tool| tool == "nvidia-smi" || tool == "nvidia-smi.exe")
        })
    };
    names_the_tool("command not found")
        || names_the_tool(": not found")
        || names_the_tool("' not found, but can be installed")
        || names_the_tool("' is not recognized as")
        || lower.ends_with("command not found: nvidia-smi")
        || lower.contains("the term 'nvidia-smi' is not recognized")
        || lower.contains("exec: \"nvidia-smi\": executable file not found")
}

/// The tool itself is not there.
fn missing() -> Failure {
    Failure::Missing { path: "nvidia-smi".to_owned() }
}

/// Returns what stands behind words that a text begins with; a machine's name may stand before them.
fn after<'text>(text: &'text str, lower: &str, words: &str) -> Option<&'text str> {
    let place = lower.find(words)?;
    let before = lower[..place].trim_end();
    let is_name = before.is_empty() || before.ends_with(':') && !before.contains(' ');
    // Lower case in ASCII has the same length.
    let rest = text.get(place + words.len()..)?;
    is_name.then(|| rest.trim())
}

fn is_version(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Failure;

    use super::{HANDLE, INIT, Message, message, missing};
    use crate::nvidia_cell::failure;

    fn init(code: u32) -> Message {
        Message::Library(Failure::Nvml { call: INIT.to_owned(), code })
    }

    fn handle(index: Option<u32>, address: Option<&str>, code: u32) -> Message {
        let failure = Failure::Nvml { call: HANDLE.to_owned(), code };
        Message::Handle { index, address: address.map(str::to_owned), failure }
    }

    #[test]
    fn a_library_that_does_not_start_says_why() {
        for (line, code) in [
            (
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that x",
                9,
            ),
            ("NVIDIA-SMI has failed because it couldn’t communicate with the NVIDIA driver.", 9),
            ("Failed to initialize NVML: Driver/library version mismatch", 18),
            ("Failed to initialize NVML: Driver Not Loaded", 9),
            ("Failed to initialize NVML: Insufficient Permissions", 4),
            ("Failed to initialize NVML: Unknown Error", 999),
            ("Failed to initialize NVML: GPU access blocked by the operating system", 17),
            ("Failed to initialize NVML: GPU is lost.  Reboot the system to recover this GPU", 15),
            ("Failed to properly shut down NVML: Driver/library version mismatch", 18),
            ("node7: Failed to initialize NVML: Unknown Error", 999),
        ] {
            assert_eq!(message(line), Some(init(code)), "{line}");
        }
        assert_eq!(message("Failed to initialize NVML: a wording of tomorrow"), None);
        assert_eq!(message("it says that it Failed to initialize NVML: Unknown Error"), None);
    }

    #[test]
    fn versions_and_missing_files_are_read() {
        assert_eq!(message("NVML library version: 535.183"), Some(Message::LibraryVersion("535.183".into())));
        assert_eq!(message("NVML library version: x"), None);
        let line = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that";
        let error = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system".to_owned();
        assert_eq!(message(line), Some(Message::Library(Failure::LibraryNotLoaded { error })));
        for line in [
            "bash: nvidia-smi: command not found",
            "-bash: /usr/bin/nvidia-smi: command not found",
            "zsh: command not found: nvidia-smi",
            "sh: 1: nvidia-smi: not found",
            "Command 'nvidia-smi' not found, but can be installed with:",
            "'nvidia-smi' is not recognized as an internal or external command,",
            "nvidia-smi : The term 'nvidia-smi' is not recognized as the name of a cmdlet",
            "unable to start container process: exec: \"nvidia-smi\": executable file not found in $PATH: unknown.",
        ] {
            assert_eq!(message(line), Some(Message::Library(missing())), "{line}");
        }
        assert_eq!(message("gpustat: command not found"), None);
        assert_eq!(message("nvidia-smi | head: command not found"), None);
    }

    #[test]
    fn a_card_that_does_not_answer_is_named() {
        let of = "Unable to determine the device handle for";
        assert_eq!(
            message(&format!("{of} GPU1: 0000:34:00.0: Unknown Error")),
            Some(handle(Some(1), Some("0000:34:00.0"), 999))
        );
        assert_eq!(
            message(&format!("{of} GPU 0000:05:00.0: GPU is lost.  Reboot the system to recover this GPU")),
            Some(handle(None, Some("0000:05:00.0"), 15))
        );
        assert_eq!(
            message(&format!("{of} GPU0000:25:00.0: Unknown Error")),
            Some(handle(None, Some("0000:25:00.0"), 999))
        );
        assert_eq!(message(&format!("{of} GPU2: Unknown Error")), Some(handle(Some(2), None, 999)));
        assert_eq!(
            message(&format!("{of} gpu 0000:01:00.0: Not Found")),
            Some(handle(None, Some("0000:01:00.0"), 6))
        );
        assert_eq!(
            message("GPU is lost.  Reboot the system to recover this GPU"),
            Some(Message::Lost(failure(15)))
        );
    }

    #[test]
    fn warnings_are_read() {
        assert_eq!(
            message("WARNING: infoROM is corrupted at gpu 0008:00:00.0"),
            Some(Message::Inforom { address: "0008:00:00.0".into(), failure: failure(14) })
        );
        assert_eq!(message("WARNING: persistence mode is off"), Some(Message::OtherWarning));
        assert_eq!(message("WARNING: all log messages before absl"), None);
        assert_eq!(message("No devices were found"), Some(Message::NoDevices));
        assert_eq!(message("No devices were found in the list"), None);
    }
}
