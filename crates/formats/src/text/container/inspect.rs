//! `docker inspect`, `podman inspect`, whole or a few lines of it, and the settings of docker.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    Container, ContainerEnd, ContainerState, LimitHit, LogLine, ProgramFact, Provenance, Scene, SourceKind,
    Standing,
};
use gpuwhy_model::units::{Bytes, Cores};

use super::obstacle_of;
use crate::Format;
use crate::paste::Line;
use crate::text::kubernetes::json_of_lines;
use crate::text::{Block, Context};
use crate::tree::Tree;

/// Signs of such a document, near its begin.
const SIGNS: &[&str] = &[
    "\"OOMKilled\"",
    "\"HostConfig\"",
    "\"ShmSize\"",
    "\"NanoCpus\"",
    "\"DeviceRequests\"",
    "\"IpcMode\"",
    "\"PidsLimit\"",
    "\"default-runtime\"",
    "\"RestartCount\"",
    "\"CgroupParent\"",
];

/// So far from its begin is looked for a sign.
const LOOKED_AT: usize = 80;

/// The variable that names the cards of a container.
const VISIBLE: &str = "NVIDIA_VISIBLE_DEVICES=";

/// Reads the document that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim_start();
    let is_json = first.starts_with(['{', '[', '"']);
    let is_key =
        first.starts_with('"') && SIGNS.iter().any(|sign| first.starts_with(sign)) || !first.starts_with('"');
    let has_sign =
        || lines.iter().take(LOOKED_AT).any(|line| SIGNS.iter().any(|sign| line.text.contains(sign)));
    if !is_json || !(is_key || first.starts_with("\"Id\"") || first.starts_with("\"State\"")) || !has_sign() {
        return None;
    }
    let (tree, taken) = json_of_lines(lines)?;
    let mut scene = Scene {
        provenance: Provenance {
            source: SourceKind::Text,
            inputs: vec![Format::ContainerInspect.to_string()],
        },
        ..Scene::default()
    };
    let single = [tree];
    let documents = if single[0].list().is_empty() { &single[..] } else { single[0].list() };
    for document in documents {
        add(document, &mut scene);
    }
    let is_empty = scene.machine.containers.is_empty() && !scene.machine.container_runtimes.is_known();
    (!is_empty).then_some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn add(document: &Tree, scene: &mut Scene) {
    if document.has("runtimes") || document.has("default-runtime") {
        let mut names: Vec<String> =
            document.get("runtimes").entries().iter().map(|(name, _)| name.clone()).collect();
        names.extend(document.get("default-runtime").owned());
        names.sort();
        names.dedup();
        scene.machine.container_runtimes = Reading::Known(names);
        return;
    }
    let container = container(document);
    if container == (Container { name: container.name.clone(), ..Container::default() }) {
        return;
    }
    if let Some(end) = container.ends.iter().find(|end| end.for_memory) {
        scene.program.push(killed(&container, end));
    }
    if let Some(message) = document.at(&["State", "Error"]).text()
        && let Some(fact) = obstacle_of(message)
    {
        scene.program.push(LogLine {
            text: masked_text(message),
            fact: Some(fact),
            standing: Some(Standing::Final),
            ..LogLine::default()
        });
    }
    scene.machine.containers.push(container);
}

/// Says in one line that a container was ended for want of memory.
fn killed(container: &Container, end: &ContainerEnd) -> LogLine {
    let limit =
        container.memory_limit.known().map_or_else(String::new, |limit| format!(" Memory={}", limit.0));
    let code = end.exit_code.map_or_else(String::new, |code| format!(" ExitCode={code}"));
    LogLine {
        text: format!("{}: OOMKilled=true{code}{limit}", container.name),
        fact: Some(ProgramFact::LimitHit(LimitHit::Memory)),
        standing: Some(Standing::Final),
        ..LogLine::default()
    }
}

/// Reads a container; what stands alone may stand at the top.
fn container(document: &Tree) -> Container {
    let part =
        |name: &str| if document.get(name).entries().is_empty() { document } else { document.get(name) };
    let (host, state, config) = (part("HostConfig"), part("State"), part("Config"));
    let name = document.get("Name").text().map(|name| name.trim_start_matches('/').to_owned());
    let short = document.get("Id").text().map(|id| id.chars().take(12).collect());
    // What is 0 or less is no limit.
    let limit = |names: [&str; 1]| {
        let value = host.get(names[0]);
        match value.text().map(str::parse::<f64>) {
            Some(Ok(number)) if number > 0.0 => Reading::Known(number),
            Some(Ok(_)) => Reading::Unsupported,
            _ => Reading::default(),
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a limit that is greater than 0"
    )]
    let whole = |number: f64| number as u64;
    let cores = limit(["NanoCpus"]).map(|nano| Cores(nano / 1e9));
    let by_quota = match (limit(["CpuQuota"]), limit(["CpuPeriod"])) {
        (Reading::Known(quota), Reading::Known(period)) => Reading::Known(Cores(quota / period)),
        (Reading::Known(quota), _) => Reading::Known(Cores(quota / 1e5)),
        (other, _) => other.map(Cores),
    };
    Container {
        name: name.or(short).unwrap_or_default(),
        image: document.get("ImageName").owned().or_else(|| config.get("Image").owned()).into(),
        state: state.get("Status").text().and_then(state_of).into(),
        reason: state.get("Error").text().map(masked_text).into(),
        ends: end(state).into_iter().collect(),
        restarts: document.get("RestartCount").whole().into(),
        memory_limit: limit(["Memory"]).map(|bytes| Bytes(whole(bytes))),
        cpu_limit: if cores.is_known() { cores } else { by_quota.or(cores) },
        tasks_limit: match (host.get("PidsLimit"), host.has("ShmSize")) {
            (Tree::Nothing, true) => Reading::Unsupported,
            _ => limit(["PidsLimit"]).map(whole),
        },
        shared_memory: if host.get("IpcMode").text() == Some("host") {
            Reading::Unsupported
        } else {
            host.get("ShmSize").whole().filter(|size| *size > 0).map(Bytes).into()
        },
        promised_cards: promised(host, config),
        runtime: host.get("Runtime").owned().or_else(|| document.get("OCIRuntime").owned()).into(),
        ..Container::default()
    }
}

fn state_of(word: &str) -> Option<ContainerState> {
    Some(match word {
        "created" | "restarting" | "configured" | "initialized" => ContainerState::Waiting,
        "running" | "removing" | "stopping" => ContainerState::Running,
        "paused" => ContainerState::Paused,
        "exited" | "dead" | "stopped" => ContainerState::Ended,
        _ => return None,
    })
}

/// Returns how the container ended, if it did, or had a process of it ended for want of memory.
fn end(state: &Tree) -> Option<ContainerEnd> {
    let for_memory = state.get("OOMKilled").flag() == Some(true);
    let runs = state.get("Running").flag() == Some(true);
    let code = state.get("ExitCode").text().and_then(|code| code.parse().ok()).filter(|_| !runs);
    let ended = state.get("Status").text().is_some_and(|word| state_of(word) == Some(ContainerState::Ended));
    (for_memory || ended && code.is_some()).then(|| ContainerEnd {
        exit_code: code,
        signal: code
            .filter(|code| (129..193).contains(code))
            .and_then(|code: i64| u32::try_from(code - 128).ok()),
        reason: for_memory.then(|| "OOMKilled".to_owned()),
        for_memory,
        at: state.get("FinishedAt").text().filter(|at| !at.starts_with("0001")).map(str::to_owned),
    })
}

/// Returns the cards that a container was promised.
fn promised(host: &Tree, config: &Tree) -> Reading<String> {
    for request in host.get("DeviceRequests").list() {
        let names: Vec<&str> = request.get("DeviceIDs").list().iter().filter_map(Tree::text).collect();
        if !names.is_empty() {
            return Reading::Known(names.join(","));
        }
        match request.get("Count").text() {
            Some("-1") => return Reading::Known("all".to_owned()),
            Some(count) if count != "0" => return Reading::Known(count.to_owned()),
            _ => {}
        }
    }
    let mut environment = config.get("Env").list().iter().filter_map(Tree::text);
    if let Some(cards) = environment.find_map(|variable| variable.strip_prefix(VISIBLE)) {
        return if matches!(cards, "" | "void" | "none") {
            Reading::Unsupported
        } else {
            Reading::Known(cards.to_owned())
        };
    }
    let files = host.get("Devices").list().iter().filter_map(|device| device.get("PathOnHost").text());
    let files: Vec<&str> = files.filter(|file| file.starts_with("/dev/nvidia")).collect();
    match (files.is_empty(), host.has("ShmSize") && host.has("DeviceRequests")) {
        (false, _) => Reading::Known(files.join(",")),
        (true, true) => Reading::Unsupported,
        (true, false) => Reading::default(),
    }
}
