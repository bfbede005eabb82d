//! Faults that a board injects into library calls.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What goes wrong in one library function. Several faults may name the same function; the first that applies
/// wins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Name of the NVML function: with its version suffix for that version alone, without for all versions
    /// (`nvmlInit` for every way to initialise); `*` for every function.
    pub function: String,
    /// Only for this card; for all cards (and for calls without a card) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<usize>,
    /// Return code of NVML, e.g. 15 for "GPU is lost"; the call is answered normally when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
    /// So many calls of one process are answered normally first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_calls: u64,
    /// The fault begins so many seconds after the box came up.
    #[serde(default, skip_serializing_if = "is_zero_seconds")]
    pub after_s: f64,
    /// The call takes so many milliseconds longer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub latency_ms: u64,
    /// The call never returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<Hang>,
    /// The file that a call with `hang = "file"` reads; relative to the box directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// How a call never returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hang {
    /// Sleeps for ever: the process can be killed.
    Sleep,
    /// Reads a file that may lie on a mount that never answers: the process is in D state.
    File,
}

impl Fault {
    /// Additional time that the call takes.
    pub fn latency(&self) -> Duration {
        Duration::from_millis(self.latency_ms)
    }

    /// Whether the fault is about `function` called on `card`.
    pub fn concerns(&self, function: &str, card: Option<usize>) -> bool {
        let function_matches =
            self.function == "*" || self.function == function || self.function == family(function);
        let card_matches = self.card.is_none() || self.card == card;
        function_matches && card_matches
    }
}

/// The name of a function without its version.
fn family(function: &str) -> &str {
    if function == "nvmlInitWithFlags" {
        return "nvmlInit";
    }
    function.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches("_v")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero_seconds(value: &f64) -> bool {
    *value <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_one_card_spares_the_others() {
        let fault = Fault { function: "nvmlDeviceGetName".into(), card: Some(1), ..Fault::default() };
        assert!(fault.concerns("nvmlDeviceGetName", Some(1)));
        assert!(!fault.concerns("nvmlDeviceGetName", Some(0)));
        assert!(!fault.concerns("nvmlDeviceGetName", None));
        assert!(!fault.concerns("nvmlDeviceGetUUID", Some(1)));
    }

    #[test]
    fn a_name_without_version_concerns_all_versions() {
        let init = Fault { function: "nvmlInit".into(), ..Fault::default() };
        assert!(init.concerns("nvmlInit_v2", None) && init.concerns("nvmlInitWithFlags", None));
        let third = Fault { function: "nvmlDeviceGetComputeRunningProcesses_v3".into(), ..Fault::default() };
        assert!(!third.concerns("nvmlDeviceGetComputeRunningProcesses_v2", None));
    }

    #[test]
    fn a_star_concerns_every_call() {
        let fault = Fault { function: "*".into(), ..Fault::default() };
        assert!(fault.concerns("nvmlInit_v2", None) && fault.concerns("nvmlDeviceGetName", Some(7)));
    }
}
