//! `docker ps` and `docker stats`, and those of podman and nerdctl.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Container, ContainerEnd, ContainerState, Provenance, Scene, SourceKind};
use gpuwhy_model::units::{Bytes, Cores, Quantity};

use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::kubernetes::Columns;
use crate::text::{Block, Context};

/// Endings of amounts: docker's are powers of 1000 without an `i`.
const UNITS: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("B", 1.0),
];

/// Reads the list that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if !first.starts_with("CONTAINER") && !first.starts_with("ID ") && !first.starts_with("NAME ") {
        return None;
    }
    let columns = Columns::of_head(first)?;
    let has = |name: &str| columns.has(name);
    let is_list = has("IMAGE") && has("STATUS") && (has("NAMES") || has("COMMAND"));
    let is_stats = has("CPU %") && has("MEM %");
    if !is_list && !is_stats {
        return None;
    }
    let mut scene = Scene {
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::ContainerTable.to_string()] },
        ..Scene::default()
    };
    let mut taken = 1;
    for (place, line) in lines.iter().enumerate().skip(1) {
        let text = line.text.as_ref();
        if text.trim().is_empty() || command_after_prompt(text).is_some() {
            break;
        }
        let cells = columns.cells(text);
        let found = if is_list { listed(&columns, &cells) } else { measured(&columns, &cells) };
        // Somebody watched: the newest look counts.
        if text == first {
            scene.machine.containers.clear();
        } else if let Some(container) = found {
            scene.machine.containers.push(container);
        } else {
            break;
        }
        taken = place + 1;
    }
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn listed(columns: &Columns, cells: &[&str]) -> Option<Container> {
    let cell = |name: &str| columns.cell(cells, name);
    let status = cell("STATUS")?;
    let (state, end) = status_of(status)?;
    let id = cell("CONTAINER ID").or_else(|| cell("ID"));
    Some(Container {
        name: cell("NAMES").or(id).unwrap_or_default().to_owned(),
        image: cell("IMAGE").map(str::to_owned).into(),
        state: Reading::Known(state),
        ends: end.into_iter().collect(),
        ..Container::default()
    })
}

/// Reads `Up 3 days`, `Exited (137) 5 minutes ago`, `Restarting (1) 3 seconds ago`, `Created`.
fn status_of(status: &str) -> Option<(ContainerState, Option<ContainerEnd>)> {
    let code = status
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(code, _)| code.parse::<i64>().ok());
    let end = code.map(|code| ContainerEnd {
        exit_code: Some(code),
        signal: (129..193).contains(&code).then(|| u32::try_from(code - 128).unwrap_or_default()),
        ..ContainerEnd::default()
    });
    let word = status.split_whitespace().next()?;
    Some(match word {
        "Up" if status.ends_with("(Paused)") => (ContainerState::Paused, None),
        "Up" => (ContainerState::Running, None),
        "Exited" | "Dead" => (ContainerState::Ended, end),
        "Restarting" => (ContainerState::Waiting, end),
        "Created" | "Initialized" => (ContainerState::Waiting, None),
        _ => return None,
    })
}

fn measured(columns: &Columns, cells: &[&str]) -> Option<Container> {
    let cell = |name: &str| columns.cell(cells, name);
    let id = cell("CONTAINER ID").or_else(|| cell("ID")).or_else(|| cell("CONTAINER"));
    let name = cell("NAME").or(id)?;
    let percent = |cell: &str| cell.strip_suffix('%')?.trim().parse::<f64>().ok();
    let cpu = cell("CPU %").and_then(percent);
    let memory = ["MEM USAGE / LIMIT", "MEM USAGE"]
        .iter()
        .find_map(|name| cell(name))
        .and_then(|cell| cell.split_once('/'));
    (cpu.is_some() || memory.is_some()).then(|| Container {
        name: name.to_owned(),
        state: Reading::Known(ContainerState::Running),
        cpu_used: cpu.map(|percent| Cores(percent / 100.0)).into(),
        memory_used: memory.and_then(|(used, _)| size(used)).into(),
        memory_limit: memory.and_then(|(_, limit)| size(limit)).filter(|limit| limit.0 > 0).into(),
        tasks: cell("PIDS").and_then(|tasks| tasks.parse().ok()).into(),
        ..Container::default()
    })
}

fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let (unit, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: f64 = text[..text.len() - unit.len()].trim().parse().ok()?;
    (0.0..1e12).contains(&number).then(|| Bytes::from_number(number * factor))
}
