//! Command lines that can be kept: secret-looking values are masked when the value is made, so no
//! sample, recording, report or log can hold them.

mod mask;
mod random;

pub use mask::{MASK, masked_text};

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The arguments of a process, with secret-looking values masked.
///
/// Masked are the values of names that stand for a secret (`key=`, `--password …`, `"token": …`, `Authorization: …`),
/// credentials in addresses, and long random words: 20 or more of `[A-Za-z0-9_+/=-]` that mix letters and digits, or
/// upper and lower case as no words do, and are no path, UUID or container id.
/// There is no way to make one that holds the plain secret; reading one back masks again.
///
/// A copy costs next to nothing: every look carries the command lines of hundreds of processes.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct CommandLine(Arc<[String]>);

impl CommandLine {
    /// Makes a command line from the arguments of a process.
    pub fn masked<I, S>(arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut kept: Vec<String> = Vec::new();
        let mut value_is_secret = false;
        for argument in arguments {
            let argument = argument.as_ref();
            if value_is_secret && !argument.starts_with('-') {
                kept.push(MASK.to_owned());
                value_is_secret = false;
                continue;
            }
            let program = kept.first().map_or("", String::as_str);
            value_is_secret = mask::names_a_secret_option(argument) || takes_a_secret_next(program, argument);
            match secret_in_short_option(program, argument) {
                Some(option) => kept.push(format!("{option}{MASK}")),
                // One argument may be a whole shell command or header: all of it is looked at.
                None => kept.push(masked_text(argument)),
            }
        }
        Self(kept.into())
    }

    /// Makes a command line that shows only the program, for people who may not see another user's arguments.
    pub fn program_only(executable: &str) -> Self {
        Self(Arc::from([masked_text(executable)]))
    }

    /// Returns the arguments, masked, the program first.
    pub fn arguments(&self) -> &[String] {
        &self.0
    }

    /// Returns the arguments as one line; control characters are shown escaped.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for argument in self.arguments() {
            if !line.is_empty() {
                line.push(' ');
            }
            for character in argument.chars() {
                if character.is_control() {
                    line.extend(character.escape_default());
                } else {
                    line.push(character);
                }
            }
        }
        line
    }
}

impl Serialize for CommandLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.arguments().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::masked(Vec::<String>::deserialize(deserializer)?))
    }
}

/// Returns the last part of a program's path.
fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether the next argument of a well-known program is a secret by a short option.
fn takes_a_secret_next(program: &str, argument: &str) -> bool {
    match file_name(program) {
        "sshpass" => argument == "-p",
        "curl" => matches!(argument, "-u" | "--user" | "-U" | "--proxy-user"),
        _ => false,
    }
}

/// Returns the short option that a secret is glued to (`mysql -pSECRET`, `sshpass -pSECRET`), for programs that do so.
fn secret_in_short_option<'argument>(program: &str, argument: &'argument str) -> Option<&'argument str> {
    let name = file_name(program);
    let glues = ["mysql", "mariadb", "mycli", "sshpass"].iter().any(|known| name.starts_with(known));
    let is_glued = glues && argument.starts_with("-p") && argument.len() > 2;
    is_glued.then(|| &argument[..2])
}

#[cfg(test)]
mod tests;
