//! The settings: `/etc/gpuwhy/gpuwhy.toml`, the user's own file over it, or only the file that was named.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use gpuwhy_model::limits::Limits;
use gpuwhy_model::text::Text;
use gpuwhy_render::message;
use rustix::fs::{Mode, OFlags};

use crate::failure::{Failure, chain};
use crate::similar::similar;

/// Settings of the whole machine.
const MACHINE_FILE: &str = "/etc/gpuwhy/gpuwhy.toml";

/// More than settings can need.
const BYTES_MAX: u64 = 1 << 20;

/// Every table that a file may have. Tables of commands that this version lacks are accepted and not read.
const TABLES: [&str; 5] = ["limits", "fix", "serve", "queue", "privacy"];

/// The settings in force.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    /// The limits that rules judge by.
    pub(crate) limits: Limits,
    /// Whether everybody may see everybody's command lines, masked.
    pub(crate) command_lines_are_open: bool,
    /// Remarks about what could not be used.
    pub(crate) notes: Vec<Text>,
}

/// The values of all files, laid over each other.
#[derive(Default)]
struct Layers {
    limits: toml::Table,
    command_lines_are_open: bool,
    notes: Vec<Text>,
}

/// For whom a file speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// Root wrote it, and nobody else can: it speaks for everybody on this machine.
    Machine,
    /// It speaks for who runs gpuwhy, and can give away nothing that belongs to others.
    User,
}

impl Configuration {
    /// Reads the settings.
    ///
    /// # Errors
    /// Fails when a file says something that is not understood, or when the file that was named cannot be read. A
    /// file of the machine or user that is not there, or that we may not read, is left out.
    pub(crate) fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let mut layers = Layers::default();
        if let Some(path) = named {
            let (text, voice) = contents(path).map_err(|error| cannot_use(path).because(&error))?;
            layers.add(path, &text, voice)?;
        } else {
            layers.add_if_there(Path::new(MACHINE_FILE), Voice::Machine)?;
            if let Some(path) = user_file() {
                layers.add_if_there(&path, Voice::User)?;
            }
        }
        let limits = Limits::with_changes(&layers.limits)
            .map_err(|error| cannot_use(named.unwrap_or(Path::new(MACHINE_FILE))).because(&error))?;
        let Layers { command_lines_are_open, notes, .. } = layers;
        Ok(Self { limits, command_lines_are_open, notes })
    }
}

/// Returns what a file says, and for whom it may speak.
fn contents(path: &Path) -> io::Result<(String, Voice)> {
    // Opening a pipe would wait for its other end.
    let open = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, open, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > BYTES_MAX {
        return Err(io::Error::other(format!("larger than {BYTES_MAX} bytes")));
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok((text, voice(metadata.uid(), metadata.mode())))
}

/// Returns for whom a file speaks that has this owner and mode.
fn voice(owner: u32, mode: u32) -> Voice {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    if owner == 0 && mode & WRITABLE_BY_OTHERS == 0 { Voice::Machine } else { Voice::User }
}

/// Returns the user's own file, if he can have one.
fn user_file() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).and_then(absolute);
    let folder = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("gpuwhy/gpuwhy.toml"))
}

impl Layers {
    /// Lays the values of one of the usual files over those before, with no more of a voice than it is given.
    fn add_if_there(&mut self, path: &Path, at_most: Voice) -> Result<(), Failure> {
        match contents(path) {
            Ok((text, Voice::Machine)) => self.add(path, &text, at_most)?,
            Ok((text, Voice::User)) => self.add(path, &text, Voice::User)?,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => {
                self.notes.push(message::cannot_read_configuration(shown(path), chain(&error)));
            }
        }
        Ok(())
    }

    /// Lays the values of a file over those before.
    fn add(&mut self, path: &Path, text: &str, voice: Voice) -> Result<(), Failure> {
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
                "privacy" => self.add_privacy(path, &table, voice)?,
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
            let Some(number) = number(&value) else {
                return Err(cannot_use(path).because_of(message::not_a_number(name, "limits")));
            };
            if !number.is_finite() || number < 0.0 {
                return Err(cannot_use(path).because_of(message::impossible_limit(name, number.to_string())));
            }
            self.limits.insert(name, value);
        }
        Ok(())
    }

    fn add_privacy(&mut self, path: &Path, table: &toml::Table, voice: Voice) -> Result<(), Failure> {
        for (name, value) in table {
            if name != "command_lines" {
                return Err(unknown_setting(path, "privacy", name, vec!["command_lines".to_owned()]));
            }
            match (value.as_str(), voice) {
                (Some("open"), Voice::Machine) => self.command_lines_are_open = true,
                (Some("open"), Voice::User) => {
                    self.notes.push(message::command_lines_stay_closed(shown(path)));
                }
                (Some("owner"), _) => self.command_lines_are_open = false,
                _ => return Err(cannot_use(path).because_of(message::bad_privacy())),
            }
        }
        Ok(())
    }
}

/// Returns a number of a file, whole or not.
fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(whole) => Some(*whole as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
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

    use super::{BYTES_MAX, Layers, Voice, contents, voice};

    fn layers(texts: &[(&str, Voice)]) -> Result<Layers, crate::failure::Failure> {
        let mut layers = Layers::default();
        for (text, voice) in texts {
            layers.add(Path::new("x.toml"), text, *voice)?;
        }
        Ok(layers)
    }

    #[test]
    fn later_files_lie_over_earlier_ones() {
        let both = layers(&[
            ("[limits]\nidle_reserved_s = 8\ninit_slow_s = 3\n[serve]\nport = 1", Voice::Machine),
            ("[limits]\nidle_reserved_s = 9.5", Voice::User),
        ])
        .unwrap();
        assert_eq!(both.limits["idle_reserved_s"].as_float(), Some(9.5));
        assert_eq!(both.limits["init_slow_s"].as_integer(), Some(3));
    }

    #[test]
    fn only_root_opens_command_lines_and_everybody_can_close_them() {
        const OPEN: &str = "[privacy]\ncommand_lines = 'open'";
        const OWNER: &str = "[privacy]\ncommand_lines = 'owner'";
        for (files, is_open, notes) in [
            (&[(OPEN, Voice::Machine)][..], true, 0),
            (&[(OPEN, Voice::User)], false, 1),
            (&[(OPEN, Voice::Machine), (OWNER, Voice::User)], false, 0),
            (&[(OWNER, Voice::Machine), (OPEN, Voice::User)], false, 1),
        ] {
            let layers = layers(files).unwrap();
            assert_eq!((layers.command_lines_are_open, layers.notes.len()), (is_open, notes), "{files:?}");
        }
    }

    #[test]
    fn a_file_speaks_for_the_machine_if_only_root_can_write_it() {
        assert_eq!(voice(0, 0o100_644), Voice::Machine);
        assert_eq!(voice(0, 0o100_664), Voice::User);
        assert_eq!(voice(0, 0o100_646), Voice::User);
        assert_eq!(voice(1000, 0o100_600), Voice::User);
    }

    #[test]
    fn only_files_of_a_size_that_settings_have_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            path
        };
        assert!(contents(&file("small", 100)).is_ok());
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [Path::new("/dev/zero"), folder.path(), &pipe, &file("large", BYTES_MAX + 1)] {
            assert!(contents(path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "[limit]\nx = 1",
            "limits = 3",
            "[limits]\nidle_reserved = 8",
            "[limits]\nidle_reserved_s = 'long'",
            "[limits]\nidle_reserved_s = nan",
            "[limits]\nidle_reserved_s = inf",
            "[limits]\nidle_reserved_s = -1",
            "[limits]\nbusy_percent_min = -0.5",
            "[privacy]\ncommand_lines = 'all'",
            "[privacy]\ncommand_line = 'open'",
            "[limits",
        ] {
            assert!(layers(&[(text, Voice::Machine)]).is_err(), "{text}");
        }
    }
}
