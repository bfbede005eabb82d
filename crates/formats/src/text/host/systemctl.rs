//! Output of `systemctl`: the status of units, and lists of them.

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{Owner, Service};
use gpuwhy_model::scene::{Process, Scene};

use super::commands::words_of;
use super::process::without_tree;
use super::{amounts, block, scene};
use crate::Format;
use crate::kernel_log::{Sender, Units, log_line};
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Signs before the name of a unit.
const SIGNS: &[char] = &['●', '○', '×', '↻', '*', 'x'];

/// Reads the output that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if let Some(unit) = not_found(first) {
        let mut scene = scene(Format::Systemctl);
        let service = Service {
            name: unit.to_owned(),
            installed: Reading::Known(false),
            running: Reading::Known(false),
            ..Service::default()
        };
        scene.machine.services = Reading::Known(vec![service]);
        return Some(block(1, scene));
    }
    if let Some(block) = answer(first, context) {
        return Some(block);
    }
    if let Some(block) = listed(lines) {
        return Some(block);
    }
    status(lines)
}

/// Returns the unit of `Unit x.service could not be found.`.
fn not_found(text: &str) -> Option<&str> {
    let unit = text.strip_prefix("Unit ")?.strip_suffix(" could not be found.")?;
    Some(unit.strip_suffix(".service").unwrap_or(unit)).filter(|unit| !unit.contains(' '))
}

/// Reads the one word of `systemctl is-active UNIT`.
fn answer(text: &str, context: &Context<'_>) -> Option<Block> {
    let words = words_of(context.command?, "systemctl")?;
    let unit = words.iter().skip_while(|word| **word != "is-active").nth(1)?;
    let runs = match text.trim() {
        "active" => true,
        "inactive" | "failed" | "deactivating" => false,
        _ => return None,
    };
    let mut scene = scene(Format::Systemctl);
    let name = unit.strip_suffix(".service").unwrap_or(unit).to_owned();
    scene.machine.services =
        Reading::Known(vec![Service { name, running: Reading::Known(runs), ..Service::default() }]);
    Some(block(1, scene))
}

/// States of a unit in a list.
const STATES: &[&str] =
    &["active", "inactive", "failed", "activating", "deactivating", "reloading", "refreshing", "maintenance"];

/// Reads rows of `systemctl list-units`: `nvidia-persistenced.service loaded active running NVIDIA Persistence Daemon`.
fn listed(lines: &[Line<'_>]) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if !["loaded", "not-found", "masked", "LOAD"].iter().any(|word| first.contains(word)) {
        return None;
    }
    let mut services = Vec::new();
    let mut taken = 0;
    let head =
        lines.first()?.text.split_ascii_whitespace().eq(["UNIT", "LOAD", "ACTIVE", "SUB", "DESCRIPTION"]);
    for line in lines.iter().skip(usize::from(head)) {
        let text = line.text.trim_start().trim_start_matches(SIGNS).trim_start();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [unit, load @ ("loaded" | "not-found" | "masked" | "error" | "bad-setting"), active, _, ..] =
            words[..]
        else {
            break;
        };
        let Some((_, kind)) = unit.rsplit_once('.') else {
            break;
        };
        // A program that fails may say `./a: error while loading shared libraries`.
        if !STATES.contains(&active) {
            break;
        }
        taken += 1;
        if kind == "service" && matches!(active, "active" | "inactive" | "failed" | "activating") {
            services.push(Service {
                name: unit.trim_end_matches(".service").to_owned(),
                installed: Reading::Known(load != "not-found"),
                running: Reading::Known(active == "active"),
                failed: active == "failed",
                ..Service::default()
            });
        }
    }
    if taken == 0 {
        return None;
    }
    let mut scene = scene(Format::Systemctl);
    scene.machine.services = Reading::Known(services);
    Some(block(taken + usize::from(head), scene))
}

/// Reads the status of one unit after the other.
fn status(lines: &[Line<'_>]) -> Option<Block> {
    let mut scene = scene(Format::Systemctl);
    let mut services = Vec::new();
    let mut taken = 0;
    while let Some(rest) = lines.get(taken..).filter(|rest| !rest.is_empty()) {
        let blanks = rest.iter().take_while(|line| line.text.trim().is_empty()).count();
        let Some(length) = one_status(&rest[blanks..], &mut scene, &mut services) else {
            break;
        };
        taken += blanks + length;
    }
    if taken == 0 {
        return None;
    }
    scene.processes.sort_by_key(|process| process.key.pid);
    scene.processes.dedup_by_key(|process| process.key.pid);
    scene.machine.services = Reading::Known(services);
    Some(block(taken, scene))
}

/// Reads the status of one unit, and returns how many lines it has.
fn one_status(lines: &[Line<'_>], scene: &mut Scene, services: &mut Vec<Service>) -> Option<usize> {
    let named = unit_of_title(&lines.first()?.text);
    let from = usize::from(named.is_some());
    let loaded = lines.get(from)?.text.trim_start();
    // Without its title a status is known by its next line.
    if !loaded.starts_with("Loaded: ") {
        return None;
    }
    let unit = named.or_else(|| unit_of_path(loaded))?;
    let mut units = Units::default();
    let is_there = !loaded.starts_with("Loaded: not-found");
    units.service(unit).installed = Reading::Known(is_there);
    let mut taken = from + 1;
    for (place, line) in lines.iter().enumerate().skip(taken) {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            continue;
        }
        if unit_of_title(text).is_some() || command_after_prompt(text).is_some() {
            break;
        }
        let inside = text.trim_start();
        if let Some(active) = inside.strip_prefix("Active: ") {
            let service = units.service(unit);
            service.running = runs(active).into();
            service.failed = active.starts_with("failed") || active.contains("(Result: ");
        } else if let Some(process) = process(inside, unit) {
            scene.processes.push(process);
        } else if let Some(found) = log_line(text).filter(|found| matches!(found.sender, Sender::Program(_)))
        {
            if let Sender::Program(program) = found.sender {
                note(program, found.text, unit, &mut units);
            }
            if scene.machine.hostname.is_not_in_source() {
                scene.machine.hostname = found.host.map(str::to_owned).into();
            }
        } else if !is_field(inside) && !text.starts_with(' ') {
            break;
        }
        taken = place + 1;
    }
    if units.has_no_switches() {
        scene.machine.nvswitches = Reading::Known(0);
    }
    if let Some(version) = units.module() {
        scene.machine.driver.module = Reading::Known(version.to_owned());
    }
    services.extend(units.into_services());
    Some(taken)
}

/// Reads a line of the unit's journal; the state that the status names is the newer one.
fn note(program: &str, text: &str, unit: &str, units: &mut Units) {
    let (state, failed) = (units.service(unit).running.clone(), units.service(unit).failed);
    units.note(program, text);
    if state.is_known() {
        let service = units.service(unit);
        service.running = state;
        service.failed = failed;
    }
}

/// Returns the unit of `● nvidia-fabricmanager.service - NVIDIA fabric manager service`.
fn unit_of_title(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix(SIGNS)?.trim_start();
    let unit = rest.split(' ').next()?;
    let is_title = rest == unit || rest[unit.len()..].starts_with(" - ");
    unit.strip_suffix(".service").filter(|_| is_title)
}

/// Returns the unit of `Loaded: loaded (/lib/systemd/system/x.service; enabled; …)`.
fn unit_of_path(text: &str) -> Option<&str> {
    let (_, path) = text.split_once('(')?;
    path.split(';').next()?.rsplit('/').next()?.strip_suffix(".service")
}

/// Returns whether a unit runs, by its state; none while it starts.
fn runs(state: &str) -> Option<bool> {
    match state.split([' ', '(']).find(|word| !word.is_empty())? {
        "active" | "reloading" => Some(true),
        "inactive" | "failed" | "deactivating" => Some(false),
        _ => None,
    }
}

fn is_field(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, _)| {
        name.len() <= 20 && name.starts_with(|first: char| first.is_ascii_uppercase())
    })
}

/// Reads a process of the unit's control group: `├─1234 /usr/bin/x --y`.
fn process(text: &str, unit: &str) -> Option<Process> {
    let rest = without_tree(text.strip_prefix(['├', '└', '|', '`'])?.trim_start_matches(['─', '-']));
    let (pid, command) = rest.split_once(' ')?;
    let pid = Pid(amounts::whole(pid)?);
    let arguments: Vec<&str> = command.split_ascii_whitespace().collect();
    let program = arguments.first()?.rsplit('/').next().unwrap_or_default();
    let name: String = program.chars().take(15).collect();
    let command = Reading::Known(CommandLine::masked(&arguments));
    Some(Process {
        key: ProcessKey { pid, ..ProcessKey::default() },
        role: crate::proc::role(&name, &command),
        name,
        command,
        owner: Owner { unit: Some(format!("{unit}.service")), ..Owner::default() },
        ..Process::default()
    })
}
