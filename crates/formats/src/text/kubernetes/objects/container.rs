//! The containers of a pod, as its object describes them.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Container, ContainerEnd, ContainerState};

use super::pod::of_container;
use crate::text::kubernetes::pod::{end, is_trouble};
use crate::text::kubernetes::quantity::{bytes, cores};
use crate::tree::Tree;

/// Where shared memory is.
const SHARED_MEMORY: &str = "/dev/shm";

/// Returns the containers of a pod, those that run before the others too where something is said of their state.
pub(super) fn containers(spec: &Tree, status: &Tree) -> Vec<Container> {
    let shared = shared_memory(spec);
    let of = |specified: &Tree, statuses: &Tree| -> Vec<Container> {
        let mut all: Vec<Container> = Vec::new();
        for own in specified.list() {
            let state = statuses.list().iter().find(|state| state.get("name") == own.get("name"));
            all.push(container(own, state.unwrap_or(&Tree::Nothing), &shared));
        }
        for state in statuses.list() {
            if !specified.list().iter().any(|own| own.get("name") == state.get("name")) {
                all.push(container(&Tree::Nothing, state, &Tree::Nothing));
            }
        }
        all
    };
    let mut all = of(&Tree::Nothing, status.get("initContainerStatuses"));
    // Those that did what they should say nothing.
    all.retain(|container| {
        let waits_for_trouble = container
            .reason
            .known()
            .is_some_and(|reason| is_trouble(reason.split(':').next().unwrap_or_default()));
        let failed = container.ends.iter().any(|end| end.exit_code != Some(0));
        failed || waits_for_trouble && container.state == Reading::Known(ContainerState::Waiting)
    });
    all.extend(of(spec.get("containers"), status.get("containerStatuses")));
    all
}

/// Returns the volume that is shared memory, if one is.
fn shared_memory(spec: &Tree) -> Tree {
    let volumes = spec.get("volumes").list().iter();
    let mut in_memory = volumes.filter(|volume| volume.at(&["emptyDir", "medium"]).text() == Some("Memory"));
    let is_mounted = |volume: &&Tree| {
        spec.get("containers").list().iter().flat_map(|container| container.get("volumeMounts").list()).any(
            |mount| {
                mount.get("name") == volume.get("name")
                    && mount.get("mountPath").text() == Some(SHARED_MEMORY)
            },
        )
    };
    in_memory.find(is_mounted).cloned().unwrap_or_default()
}

/// Reads a container of what it was specified to be and of what is said of its state.
pub(super) fn container(spec: &Tree, status: &Tree, shared: &Tree) -> Container {
    let limits = spec.at(&["resources", "limits"]);
    let is_described = spec.has("image") || !limits.entries().is_empty();
    let limit = |name: &str| limits.get(name).text();
    let cards = of_container(spec).cards;
    let (state, reason) = state(status.get("state"));
    Container {
        name: spec.get("name").owned().or_else(|| status.get("name").owned()).unwrap_or_default(),
        image: spec.get("image").owned().or_else(|| status.get("image").owned()).into(),
        state: state.into(),
        reason: reason.into(),
        ends: ["state", "lastState"]
            .iter()
            .filter_map(|place| ended(status.at(&[place, "terminated"])))
            .collect(),
        restarts: status.get("restartCount").whole().into(),
        memory_limit: match limit("memory").map(bytes) {
            Some(limit) => limit.into(),
            None if is_described => Reading::Unsupported,
            None => Reading::default(),
        },
        cpu_limit: match limit("cpu").map(cores) {
            Some(limit) => limit.into(),
            None if is_described => Reading::Unsupported,
            None => Reading::default(),
        },
        shared_memory: match shared.at(&["emptyDir", "sizeLimit"]).text() {
            Some(size) => bytes(size).into(),
            None if shared.has("emptyDir") => Reading::Unsupported,
            None => Reading::default(),
        },
        promised_cards: cards.map(|cards| cards.to_string()),
        ..Container::default()
    }
}

/// Returns how far a container has come, and why.
fn state(state: &Tree) -> (Option<ContainerState>, Option<String>) {
    let words = |own: &Tree| {
        let (reason, message) = (own.get("reason").text(), own.get("message").text());
        match (reason, message) {
            (Some(reason), Some(message)) => Some(masked_text(&format!("{reason}: {}", message.trim()))),
            (reason, message) => reason.or(message).map(masked_text),
        }
    };
    for (name, of) in [
        ("waiting", ContainerState::Waiting),
        ("running", ContainerState::Running),
        ("terminated", ContainerState::Ended),
    ] {
        if let Some((_, own)) = state.entries().iter().find(|(own, _)| own == name) {
            return (Some(of), words(own));
        }
    }
    (None, None)
}

fn ended(terminated: &Tree) -> Option<ContainerEnd> {
    let code = terminated.get("exitCode").text().and_then(|code| code.parse().ok());
    let signal = terminated.get("signal").whole().and_then(|signal| u32::try_from(signal).ok());
    let reason = terminated.get("reason").text();
    (code.is_some() || reason.is_some())
        .then(|| end(reason, code, signal, terminated.get("finishedAt").text()))
}
