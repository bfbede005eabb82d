//! What kind of error a program died of, and which errors only speak of another one.

use std::sync::OnceLock;

use gpuwhy_model::scene::ErrorClass;
use serde::Deserialize;

use crate::phrase::{Phrase, Squeezed};

/// What an error says of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorRole {
    /// It only says that another part failed.
    Relay,
    /// It is what others say when one member of a job is gone.
    Echo,
    /// It comes of taking down.
    CleanUp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    phrase: Vec<ClassByPhrase>,
    name: Vec<ClassByName>,
    relay: Vec<Of>,
    echo: Vec<Of>,
    cleanup: Vec<Of>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassByPhrase {
    class: ErrorClass,
    any: Vec<Phrase>,
    #[serde(default)]
    not: Vec<Phrase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassByName {
    class: ErrorClass,
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Of {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    phrases: Vec<Phrase>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("../data/program_errors.toml"))
            .expect("the built-in kinds of errors are read by a test")
    })
}

/// Returns the last part of a dotted name.
fn short(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// Returns what kind of error an exception is: by its message, else by its name.
pub fn error_class(name: &str, message: &Squeezed) -> ErrorClass {
    class_of_words(message).unwrap_or_else(|| {
        let short = short(name);
        let by_name = table().name.iter().find(|row| row.names.iter().any(|known| known == short));
        by_name.map_or(ErrorClass::UncaughtException, |row| row.class)
    })
}

/// Returns what kind of error a message speaks of, if it has words of one.
pub fn class_of_words(message: &Squeezed) -> Option<ErrorClass> {
    let has = |phrases: &[Phrase]| phrases.iter().any(|phrase| phrase.is_in(message));
    table().phrase.iter().find(|row| has(&row.any) && !has(&row.not)).map(|row| row.class)
}

/// Returns what an error says of others; none where it stands for itself.
pub fn error_role(name: &str, message: &Squeezed) -> Option<ErrorRole> {
    let short = short(name);
    let fits = |rows: &[Of]| {
        rows.iter().any(|row| {
            row.names.iter().any(|known| known == short)
                || row.phrases.iter().any(|phrase| phrase.is_in(message))
        })
    };
    let table = table();
    if fits(&table.cleanup) {
        Some(ErrorRole::CleanUp)
    } else if fits(&table.relay) {
        Some(ErrorRole::Relay)
    } else {
        fits(&table.echo).then_some(ErrorRole::Echo)
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::ErrorClass;

    use super::{ErrorRole, error_class, error_role};
    use crate::phrase::Squeezed;

    #[test]
    fn errors_have_a_kind() {
        for (name, message, class) in [
            ("FileNotFoundError", "[Errno 2] No such file or directory: 'a.json'", ErrorClass::MissingFile),
            ("IOError", "[Errno 2] No such file or directory: 'a.json'", ErrorClass::MissingFile),
            ("PermissionError", "[Errno 13] Permission denied: '/x'", ErrorClass::Permission),
            ("ModuleNotFoundError", "No module named 'x'", ErrorClass::MissingModule),
            (
                "OSError",
                "libx.so.1: cannot open shared object file: No such file or directory",
                ErrorClass::MissingModule,
            ),
            ("AssertionError", "", ErrorClass::Assertion),
            ("AssertionError", "loss is nan", ErrorClass::NanLoss),
            ("ZeroDivisionError", "division by zero", ErrorClass::DivisionByZero),
            ("MemoryError", "", ErrorClass::HostMemoryError),
            ("numpy.core._exceptions._ArrayMemoryError", "", ErrorClass::HostMemoryError),
            ("std::bad_alloc", "std::bad_alloc", ErrorClass::HostMemoryError),
            ("OSError", "[Errno 12] Cannot allocate memory", ErrorClass::HostMemoryError),
            (
                "RuntimeError",
                "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
                ErrorClass::DeviceMismatch,
            ),
            ("RuntimeError", "shapes differ", ErrorClass::RuntimeError),
            ("std::runtime_error", "cannot open", ErrorClass::RuntimeError),
            ("KeyError", "'rank'", ErrorClass::UncaughtException),
        ] {
            assert_eq!(error_class(name, &Squeezed::of(message)), class, "{name}: {message}");
        }
    }

    #[test]
    fn what_speaks_of_others_is_told() {
        let role = |name: &str, message: &str| error_role(name, &Squeezed::of(message));
        assert_eq!(role("subprocess.CalledProcessError", "Command died"), Some(ErrorRole::Relay));
        assert_eq!(role("RuntimeError", "Engine core initialization failed. See"), Some(ErrorRole::Relay));
        assert_eq!(role("RuntimeError", "[1] Connection closed by peer"), Some(ErrorRole::Echo));
        assert_eq!(role("ValueError", "bad row"), None);
    }
}
