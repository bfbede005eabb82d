//! The settings: `/etc/gpuwhy/gpuwhy.toml`, the user's own file over it, or only the file that was named.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gpuwhy_model::limits::Limits;
use gpuwhy_model::text::Text;
use gpuwhy_render::message;

use crate::failure::{Failure, chain};
use crate::similar::similar;

/// Settings of the whole machine.
const MACHINE_FILE: &str = "/etc/gpuwhy/gpuwhy.toml";

/// Every table that a file may have. Tables of commands that this version lacks are accepted and not read.
const TABLES: [&str; 5] = ["limits", "fix", "serve", "queue", "privacy"];

/// The settings in force.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    /// The limits that rules judge by.
    pub(crate) limits: Limits,
    /// Remarks about what could not be used.
    pub(crate) notes: Vec<Text>,
}

/// The values of all files, laid over each other.
#[derive(Default)]
struct Layers {
    limits: toml::Table,
    /// Whether everybody may see everybody's command lines; this version only says that it does not do so yet.
    command_lines_are_open: bool,
}

impl Configuration {
    /// Reads the settings.
    ///
    /// # Errors
    /// Fails when a file says something that is not understood, or when the file that was named cannot be read. A
    /// file of the machine or user that is not there, or that we may not read, is left out.
    pub(crate) fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let mut layers = Layers::default();
        let mut notes = Vec::new();
        match named {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| cannot_use(path).because(&error))?;
                layers.add(path, &text)?;
            }
            None => {
                for path in usual_files() {
                    match std::fs::read_to_string(&path) {
                        Ok(text) => layers.add(&path, &text)?,
                        Err(error)
                            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                        Err(error) => {
                            notes.push(message::cannot_read_configuration(shown(&path), chain(&error)));
                        }
                    }
                }
            }
        }
        let limits = Limits::with_changes(&layers.limits)
            .map_err(|error| cannot_use(named.unwrap_or(Path::new(MACHINE_FILE))).because(&error))?;
        if layers.command_lines_are_open {
            notes.push(message::command_lines_stay_closed());
        }
        Ok(Self { limits, notes })
    }
}

/// Returns the files of the machine and of the user, the stronger last.
fn usual_files() -> Vec<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).and_then(absolute);
    let user = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    let mut files = vec![PathBuf::from(MACHINE_FILE)];
    files.extend(user.map(|folder| folder.join("gpuwhy/gpuwhy.toml")));
    files
}

impl Layers {
    /// Lays the values of a file over those before.
    fn add(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        let tables: toml::Table = text.parse().map_err(|error| cannot_use(path).because(&error))?;
        for (name, value) in tables {
            if !TABLES.contains(&name.as_str()) {
                let tables: Vec<String> = TABLES.iter().map(|name| format!("[{name}]")).collect();
                return Err(cannot_use(path)
                    .because_of(message::unknown_table(name))
                    .hint(message::hint_tables(tables)));
            }
            let toml::Value::Table(table) = value else {
                return Err(cannot_use(path).because_of(message::not_a_table(name)));
            };
            match name.as_str() {
                "limits" => self.add_limits(path, table)?,
                "privacy" => self.add_privacy(path, &table)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_limits(&mut self, path: &Path, table: toml::Table) -> Result<(), Failure> {
        let known = known_limits();
        for (name, value) in table {
            if !known.contains(&name) {
                let candidates = known.iter().map(String::as_str);
                return Err(unknown_setting(path, "limits", &name, similar(&name, candidates)));
            }
            if !value.is_integer() && !value.is_float() {
                return Err(cannot_use(path).because_of(message::not_a_number(name, "limits")));
            }
            self.limits.insert(name, value);
        }
        Ok(())
    }

    fn add_privacy(&mut self, path: &Path, table: &toml::Table) -> Result<(), Failure> {
        for (name, value) in table {
            if name != "command_lines" {
                return Err(unknown_setting(path, "privacy", name, vec!["command_lines".to_owned()]));
            }
            self.command_lines_are_open = match value.as_str() {
                Some("open") => true,
                Some("owner") => false,
                _ => return Err(cannot_use(path).because_of(message::bad_privacy())),
            };
        }
        Ok(())
    }
}

/// Returns the name of every limit.
fn known_limits() -> Vec<String> {
    match serde_json::to_value(Limits::default()) {
        Ok(serde_json::Value::Object(members)) => members.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

fn cannot_use(path: &Path) -> Failure {
    Failure::new(message::cannot_use_configuration(shown(path)))
}

fn unknown_setting(path: &Path, table: &str, name: &str, names: Vec<String>) -> Failure {
    let failure = cannot_use(path).because_of(message::unknown_setting(name, table));
    if names.is_empty() { failure } else { failure.hint(message::hint_did_you_mean(names)) }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Layers;

    fn layers(texts: &[&str]) -> Result<Layers, crate::failure::Failure> {
        let mut layers = Layers::default();
        for text in texts {
            layers.add(Path::new("x.toml"), text)?;
        }
        Ok(layers)
    }

    #[test]
    fn later_files_lie_over_earlier_ones() {
        let both = layers(&[
            "[limits]\nidle_reserved_s = 8\ninit_slow_s = 3\n[privacy]\ncommand_lines = 'open'\n[serve]\nport = 1",
            "[limits]\nidle_reserved_s = 9.5",
        ])
        .unwrap();
        assert_eq!(both.limits["idle_reserved_s"].as_float(), Some(9.5));
        assert_eq!(both.limits["init_slow_s"].as_integer(), Some(3));
        assert!(both.command_lines_are_open);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "[limit]\nx = 1",
            "limits = 3",
            "[limits]\nidle_reserved = 8",
            "[limits]\nidle_reserved_s = 'long'",
            "[privacy]\ncommand_lines = 'all'",
            "[privacy]\ncommand_line = 'open'",
            "[limits",
        ] {
            assert!(layers(&[text]).is_err(), "{text}");
        }
    }
}
