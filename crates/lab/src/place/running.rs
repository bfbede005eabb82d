//! A box that is up, seen from outside: starting its keeper, visiting it, stopping it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ability::Ability;
use super::keeper::{Status, read_json, write_json};
use super::launch::Launch;
use super::plan::Plan;
use super::{BoxDirectory, PlaceError, journal, users};
use crate::stand_in;

/// How long a keeper may take to bring a box down.
const DOWN_WITHIN: Duration = Duration::from_secs(30);

/// Who decides how long a box stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until `lab down`.
    UntilStopped,
    /// No longer than the process that started it.
    WithStarter,
}

/// A keeper that has brought its box up.
#[derive(Debug)]
pub struct Kept {
    /// Its process; its standard input is the lifeline.
    pub keeper: Child,
    /// What came of it.
    pub status: Status,
}

/// Brings the box of `plan` up below `directory`; `program` is the `lab` binary.
///
/// # Errors
/// Fails when the box cannot be brought up; nothing is left behind then.
pub fn start(
    program: &Path,
    directory: &BoxDirectory,
    plan: &Plan,
    lifetime: Lifetime,
) -> Result<Kept, PlaceError> {
    let path = directory.path();
    fs::create_dir_all(path).map_err(failed(path))?;
    if journal::is_kept(directory) {
        return Err(PlaceError::AlreadyUp { path: path.to_owned() });
    }
    write_json(&directory.plan(), plan)?;
    let log = path.join("keeper.log");
    let errors = fs::File::create(&log).map_err(failed(&log))?;
    let mut command = Command::new(program);
    command.arg("keep").arg(path).stdout(Stdio::piped()).stderr(errors);
    match lifetime {
        Lifetime::WithStarter => command.arg("--lifeline").stdin(Stdio::piped()),
        Lifetime::UntilStopped => command.stdin(Stdio::null()),
    };
    let mut keeper = command.spawn().map_err(failed(program))?;
    let mut line = String::new();
    if let Some(output) = keeper.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(failed(&log))?;
    }
    if let Ok(status) = serde_json::from_str(&line) {
        return Ok(Kept { keeper, status });
    }
    keeper.wait().map_err(PlaceError::Watch)?;
    let said = fs::read_to_string(&log).unwrap_or_default();
    Err(PlaceError::Helper { kind: "keep".to_owned(), said: said.trim().to_owned() })
}

/// Takes a box down, through its keeper if that still runs.
///
/// # Errors
/// Fails when the box does not go down within thirty seconds, or something cannot be put back.
pub fn stop(directory: &BoxDirectory) -> Result<(), PlaceError> {
    if journal::is_kept(directory) {
        let control = directory.control();
        UnixStream::connect(&control).map_err(failed(&control))?;
        let deadline = Instant::now() + DOWN_WITHIN;
        while journal::is_kept(directory) || directory.journal().exists() {
            if Instant::now() >= deadline {
                return Err(PlaceError::StaysUp { path: directory.path().to_owned() });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // Harmless when the keeper did all of it.
    journal::undo(directory)?;
    Ok(())
}

/// What it takes to run `command` inside the box, as `user` or else as the caller.
///
/// # Errors
/// Fails when the box is not up or has no such user.
pub fn visit(
    directory: &BoxDirectory,
    user: Option<&str>,
    command: Vec<String>,
) -> Result<Launch, PlaceError> {
    let status: Status = read_json(&directory.status())?;
    let plan: Plan = read_json(&directory.plan())?;
    let can_leave = status.cannot_show.iter().all(|inability| inability.what != Ability::OwnPids);
    let own_pids = (plan.visitor.own_pids && can_leave).then(|| directory.path().to_owned());
    let user = match user {
        Some(name) => {
            let known = users::user_named(name);
            Some(known.ok_or_else(|| PlaceError::NoSuchUser { name: name.to_owned() })?)
        }
        None => None,
    };
    let mut environment: BTreeMap<String, String> = std::env::vars().collect();
    let path = environment.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    let path = stand_in::search_path(directory, path);
    environment.insert("PATH".to_owned(), path);
    environment
        .insert("LD_LIBRARY_PATH".to_owned(), directory.library_directory().to_string_lossy().into_owned());
    if let Some(user) = &user {
        environment.insert("USER".to_owned(), user.name.clone());
    }
    let program = command.first().map(PathBuf::from).unwrap_or_default();
    Ok(Launch {
        anchor: status.anchor,
        groups: status.visitor_group.into_iter().collect(),
        cpus: None,
        user: user.map(|user| user.id),
        program,
        command,
        environment,
        log: None,
        is_member: false,
        own_pids,
    })
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |source| PlaceError::Io { path, source }
}
