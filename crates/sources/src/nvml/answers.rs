//! From answers of the library to readings.

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardClient, ClientKind};

use super::call::Call;
use super::plausible;
use super::process_list::Row;
use super::raw::{self, ListKind, Refusal};

/// Returns the reading that a call's answer makes.
pub(super) fn reading_of<T>(call: Call, answer: raw::Answer<T>) -> Reading<T> {
    match answer {
        Ok(value) => Reading::Known(value),
        Err(refusal) if refusal.is_lasting() => Reading::Unsupported,
        Err(Refusal::Code(Refusal::NO_PERMISSION)) => Reading::Denied(Access::Root),
        Err(Refusal::Nonsense) => {
            Reading::Failed(Failure::Implausible { value: format!("answer of {}", call.symbol()) })
        }
        Err(refusal) => {
            Reading::Failed(Failure::Nvml { call: call.symbol().to_owned(), code: refusal.code() })
        }
    }
}

/// Takes "not found" for an empty list.
pub(super) fn nothing_if_not_found<T>(answer: raw::Answer<Vec<T>>) -> raw::Answer<Vec<T>> {
    if matches!(answer, Err(Refusal::Code(Refusal::NOT_FOUND))) { Ok(Vec::new()) } else { answer }
}

pub(super) fn client(row: &Row, kind: ListKind) -> CardClient {
    let kind = match kind {
        ListKind::Compute => ClientKind::Compute,
        ListKind::Graphics => ClientKind::Graphics,
        ListKind::Mps => ClientKind::Mps,
    };
    let memory = row.memory.map_or(Reading::Unsupported, plausible::held);
    CardClient { pid: row.pid, kind, memory, name: Reading::default() }
}

pub(super) fn compute_mode(mode: u32) -> String {
    match mode {
        0 => "default".to_owned(),
        1 => "exclusive_thread".to_owned(),
        2 => "prohibited".to_owned(),
        3 => "exclusive_process".to_owned(),
        unknown => unknown.to_string(),
    }
}

/// Returns whether a driver version such as `535.129.03` is before another.
pub(super) fn is_before(version: &str, (major, minor): (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let own = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    own < (major, minor)
}

#[cfg(test)]
mod tests {
    use super::{is_before, nothing_if_not_found, reading_of};
    use crate::nvml::call::Call;
    use crate::nvml::raw::Refusal;
    use gpuwhy_model::reading::{Access, Failure, Reading};

    #[test]
    fn codes_become_the_reason_why_there_is_no_value() {
        let read = |refusal| reading_of::<u32>(Call::Fan, Err(refusal));
        assert_eq!(read(Refusal::Missing), Reading::Unsupported);
        // Not supported, not there, a structure in no form that it knows, given up in later libraries.
        for code in [3, 13, 25, 26] {
            assert_eq!(read(Refusal::Code(code)), Reading::Unsupported, "{code}");
        }
        assert_eq!(read(Refusal::Code(4)), Reading::Denied(Access::Root));
        let lost = Failure::Nvml { call: "nvmlDeviceGetFanSpeed".to_owned(), code: 15 };
        assert_eq!(read(Refusal::Code(15)), Reading::Failed(lost));
        assert_eq!(reading_of(Call::Fan, Ok(30)), Reading::Known(30));
    }

    #[test]
    fn nobody_worked_is_an_answer() {
        assert_eq!(nothing_if_not_found::<u32>(Err(Refusal::Code(6))), Ok(Vec::new()));
        assert_eq!(nothing_if_not_found::<u32>(Err(Refusal::Code(999))), Err(Refusal::Code(999)));
    }

    #[test]
    fn thermal_counters_were_renumbered_once() {
        for (version, is_earlier) in
            [("535.129.03", true), ("580.65.06", true), ("580.82.07", false), ("595.10", false)]
        {
            assert_eq!(is_before(version, (580, 82)), is_earlier, "{version}");
        }
    }
}
