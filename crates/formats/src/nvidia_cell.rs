//! Values as `nvidia-smi` prints them in all its outputs: a number with its unit, or words that say why there is none.

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::units::Bytes;

/// What stands for the call where a text does not tell which one failed.
const TOOL: &str = "nvidia-smi";

/// `NVML_ERROR_GPU_IS_LOST`.
pub(crate) const LOST: u32 = 15;

/// `NVML_ERROR_UNKNOWN`.
pub(crate) const UNKNOWN: u32 = 999;

/// What it prints where a card has no such value.
const UNSUPPORTED: &[&str] = &[
    "N/A",
    "Not Supported",
    "Requested functionality has been deprecated",
    "Not available in WDDM driver model",
];

/// What it prints where the system refuses a value.
const REFUSED: &str = "Insufficient Permissions";

/// The library's words for its errors (`nvmlErrorString`), with their codes.
const ERRORS: &[(&str, u32)] = &[
    ("GPU is lost", LOST),
    ("GPU requires reset", 16),
    ("GPU requires restart", 16),
    ("Timeout", 10),
    ("Unknown Error", UNKNOWN),
    ("ERR!", UNKNOWN),
    ("Driver/library version mismatch", 18),
    ("RM has detected an NVML/RM version mismatch", 18),
    ("GPU access blocked by the operating system", 17),
    ("Driver Not Loaded", 9),
    ("Not Found", 6),
    (REFUSED, 4),
    ("Insufficient External Power", 8),
    ("Interrupt Request Issue", 11),
    ("NVML Shared Library Not Found", 12),
    ("Function Not Found", 13),
    ("Corrupted infoROM", 14),
    ("In use by another client", 19),
    ("Insufficient Memory", 20),
    ("Uninitialized", 1),
    ("Invalid Argument", 2),
    ("Not Supported", 3),
];

/// Fewer letters of a text that was cut for want of room prove nothing.
const CUT_LETTERS_MIN: usize = 4;

/// Returns a text, or why words stand there instead of a value.
pub(crate) fn said(text: &str) -> Reading<&str> {
    let words = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
    if words.is_empty() {
        return Reading::default();
    }
    if UNSUPPORTED.iter().any(|known| is_so_far(words, known)) {
        return Reading::Unsupported;
    }
    if is_so_far(words, REFUSED) {
        return Reading::Denied(Access::Root);
    }
    match ERRORS.iter().find(|(known, _)| is_so_far(words, known)) {
        Some((_, code)) => Reading::Failed(failure(*code)),
        None => Reading::Known(text.trim()),
    }
}

/// Returns whether words are the known ones, or their begin where dots say that they were cut.
fn is_so_far(words: &str, known: &str) -> bool {
    let Some(begin) = words.strip_suffix("...").map(str::trim_end) else {
        return words.eq_ignore_ascii_case(known);
    };
    begin.len() >= CUT_LETTERS_MIN && begins_with(known, begin)
}

/// Returns the code of the error whose words a text begins with, as the library words it.
pub(crate) fn error_code(text: &str) -> Option<u32> {
    let text = text.trim_start();
    ERRORS.iter().find(|(words, _)| begins_with(text, words)).map(|(_, code)| *code)
}

fn begins_with(text: &str, begin: &str) -> bool {
    text.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))
}

/// Returns the failure of a value. The text does not tell which call failed: the tool stands for it.
pub(crate) fn failure(code: u32) -> Failure {
    Failure::Nvml { call: TOOL.to_owned(), code }
}

/// Returns whether a reading failed because the card is lost.
pub(crate) fn is_lost<T>(reading: &Reading<T>) -> bool {
    matches!(reading, Reading::Failed(Failure::Nvml { code: LOST, .. }))
}

/// Returns the number in front of a unit, blanks between them or not.
pub(crate) fn number(text: &str, unit: &str) -> Option<f64> {
    text.trim().strip_suffix(unit)?.trim_end().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the whole number in front of a unit; the unit may be empty.
pub(crate) fn whole(text: &str, unit: &str) -> Option<u64> {
    text.trim().strip_suffix(unit)?.trim_end().parse().ok()
}

/// Returns an amount of memory; drivers before 331 wrote `MB` and meant mebibytes.
pub(crate) fn memory(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let number = text.strip_suffix("MiB").or_else(|| text.strip_suffix("MB"))?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(1 << 20).map(Bytes)
}

/// Returns the compute mode in the one form of the model (`exclusive_process`), from a full word or a table's short one.
pub(crate) fn compute_mode(text: &str) -> String {
    match text.trim() {
        "E. Process" => "exclusive_process".to_owned(),
        "E. Thread" => "exclusive_thread".to_owned(),
        word => word.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Bytes, Reading, compute_mode, error_code, failure, memory, number, said, whole};

    #[test]
    fn words_say_why_there_is_no_value() {
        for words in ["N/A", "[N/A]", "Not Supported", " [Not Supported] ", "Not Supp..."] {
            assert_eq!(said(words), Reading::Unsupported, "{words}");
        }
        for words in ["Insufficient Permissions", "[Insufficient Permissions]", "Insufficient Perm..."] {
            assert_eq!(said(words), Reading::Denied(Access::Root), "{words}");
        }
        for (words, code) in
            [("ERR!", 999), ("[Unknown Error]", 999), ("GPU is lost", 15), ("[Not Found]", 6)]
        {
            assert_eq!(said(words), Reading::Failed(failure(code)), "{words}");
        }
        assert_eq!(said(" 41 C "), Reading::Known("41 C"));
        assert_eq!(said("..."), Reading::Known("..."));
        assert!(said(" [] ").is_not_in_source());
    }

    #[test]
    fn errors_are_known_by_their_begin() {
        assert_eq!(error_code("GPU is lost.  Reboot the system to recover this GPU"), Some(15));
        assert_eq!(error_code("driver/library version mismatch"), Some(18));
        assert_eq!(error_code("something else"), None);
        assert_eq!(error_code("Unknown Erro"), None);
    }

    #[test]
    fn numbers_need_their_unit() {
        assert_eq!((number("113W", "W"), number("1.5 W", "W")), (Some(113.0), Some(1.5)));
        assert_eq!((number("W", "W"), number("inf W", "W"), number("7", "W")), (None, None, None));
        assert_eq!((whole("78%", "%"), whole("7", ""), whole("-7", "")), (Some(78), Some(7), None));
        assert_eq!(memory("814MiB"), Some(Bytes(814 << 20)));
        assert_eq!((memory("11 MB"), memory("11 GB")), (Some(Bytes(11 << 20)), None));
        assert_eq!(memory("18446744073709551615MiB"), None);
    }

    #[test]
    fn modes_have_one_name() {
        assert_eq!(compute_mode("E. Process"), "exclusive_process");
        assert_eq!(compute_mode("Exclusive_Process"), "exclusive_process");
        assert_eq!(compute_mode("Default"), "default");
    }
}
