//! A pod as an object.

use gpuwhy_model::command_line::{CommandLine, masked_text};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Container, ContainerState, Job, JobPhase, Resources, Scheduler, WaitReason};

use super::container::{container, containers};
use super::id;
use crate::text::container::obstacle_of;
use crate::text::kubernetes::event::line;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::pod::{is_trouble, phase};
use crate::text::kubernetes::reasons::{Attempt, attempt, plain};
use crate::text::kubernetes::resources::resources;
use crate::tree::Tree;

/// Reads a pod.
pub(super) fn read(object: &Tree, picture: &mut Picture) {
    let spec = object.get("spec");
    let status = object.get("status");
    let mut job = job(object);
    job.asked = asked(spec.get("containers"), spec.get("initContainers"));
    if !spec.get("containers").list().is_empty()
        && job.asked.cards.is_not_in_source()
        && !asks_otherwise(object)
    {
        job.asked.cards = Reading::Known(0);
    }
    job.containers = containers(spec, status);
    fill_status(&mut job, spec, status);
    if object.at(&["metadata", "deletionTimestamp"]).text().is_some() {
        job.phase = Reading::Known(JobPhase::Ending);
    }
    messages(status, picture);
    picture.add_job(job);
}

/// Reads a part of a pod: its status, a container's status, what it asks for.
pub(super) fn read_part(part: &Tree, picture: &mut Picture) {
    let status = if part.get("status").entries().is_empty() { part } else { part.get("status") };
    let spec = if part.get("spec").entries().is_empty() { part } else { part.get("spec") };
    let mut job = job(part);
    job.asked = asked(spec.get("containers"), spec.get("initContainers"));
    job.containers = containers(spec, status);
    fill_status(&mut job, spec, status);
    // A container's own part: its state, what it is given.
    let container = container(part, part, &Tree::Nothing);
    let says_something = container != Container { name: container.name.clone(), ..Container::default() };
    if job.containers.is_empty() && says_something {
        job.asked = if job.asked.is_unknown() { of_container(part) } else { job.asked };
        job.containers = vec![container];
    }
    let amounts = own_amounts(part);
    if job.asked.is_unknown() {
        job.asked = amounts;
    }
    let is_of_pod = job.phase.is_known() || job.asked.cards.is_known() || !job.reasons.is_empty();
    let has_ends =
        job.containers.iter().any(|container| !container.ends.is_empty() || container.state.is_known());
    messages(status, picture);
    if is_of_pod || has_ends {
        picture.add_job(job);
    }
}

/// Begins a job of what stands at the top of an object.
fn job(object: &Tree) -> Job {
    let metadata = object.get("metadata");
    let spec = object.get("spec");
    let label = |name: &str| metadata.get("labels").get(name).owned();
    let selector: Vec<String> = spec
        .get("nodeSelector")
        .entries()
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value.text()?)))
        .collect();
    let first = &spec.get("containers").list().first().cloned().unwrap_or_default();
    let words: Vec<&str> =
        ["command", "args"].iter().flat_map(|name| first.get(name).list()).filter_map(Tree::text).collect();
    Job {
        id: id(object),
        scheduler: Scheduler::Kubernetes,
        name: metadata.get("name").owned().into(),
        account: metadata.get("namespace").owned().into(),
        queues: label("kueue.x-k8s.io/queue-name").into_iter().collect(),
        qos: spec.get("priorityClassName").owned().into(),
        priority: spec.get("priority").text().and_then(|number| number.parse().ok()).into(),
        constraint: if selector.is_empty() { Reading::default() } else { Reading::Known(selector.join(",")) },
        nodes: spec.get("nodeName").owned().into_iter().collect(),
        submitted: metadata.get("creationTimestamp").owned().into(),
        command: if words.is_empty() {
            Reading::default()
        } else {
            Reading::Known(CommandLine::masked(words))
        },
        ..Job::default()
    }
}

/// Returns whether something beside its containers' resources may ask for cards.
fn asks_otherwise(object: &Tree) -> bool {
    let annotations = object.at(&["metadata", "annotations"]).entries();
    let of_cards = |(name, _): &(String, Tree)| name.to_ascii_lowercase().contains("gpu");
    annotations.iter().any(of_cards) || !object.at(&["spec", "resourceClaims"]).list().is_empty()
}

/// Returns what containers ask for together; those that run before the others ask for no more than the most of them.
fn asked(containers: &Tree, first: &Tree) -> Resources {
    let all: Vec<(String, String)> = containers.list().iter().flat_map(amounts).collect();
    let together = resources(all.iter().map(|(name, amount)| (name.as_str(), amount.as_str())));
    let mut most = together;
    for container in first.list() {
        let own = of_container(container);
        if let Reading::Known(cards) = own.cards
            && most.cards.known().is_none_or(|known| *known < cards)
        {
            most.cards = Reading::Known(cards);
            most.card_kinds = own.card_kinds;
        }
    }
    most
}

/// Returns what one container asks for.
pub(super) fn of_container(container: &Tree) -> Resources {
    let own = amounts(container);
    resources(own.iter().map(|(name, amount)| (name.as_str(), amount.as_str())))
}

/// Returns what a container asks for: its requests, and its limits where it has no request.
fn amounts(container: &Tree) -> Vec<(String, String)> {
    let given = container.get("resources");
    let requests = given.get("requests");
    let own = requests
        .entries()
        .iter()
        .chain(given.get("limits").entries().iter().filter(|(name, _)| !requests.has(name)));
    own.filter_map(|(name, amount)| Some((name.clone(), amount.owned()?))).collect()
}

/// Returns what a part asks for that is nothing but amounts: `limits: {…}` and `requests: {…}`.
fn own_amounts(part: &Tree) -> Resources {
    let whole = Tree::Map(vec![("resources".to_owned(), part.clone())]);
    of_container(&whole)
}

/// Reads how far the pod has come, and why it goes no further.
fn fill_status(job: &mut Job, spec: &Tree, status: &Tree) {
    let condition = status
        .get("conditions")
        .list()
        .iter()
        .find(|condition| condition.get("type").text() == Some("PodScheduled"));
    let is_placed = spec.get("nodeName").text().is_some()
        || condition.is_some_and(|condition| condition.get("status").flag() == Some(true));
    if let Some(condition) = condition.filter(|condition| condition.get("status").flag() == Some(false)) {
        let mut found = attempt(condition.get("message").text().unwrap_or_default());
        if let Some(gated) = condition.get("reason").text().filter(|reason| *reason == "SchedulingGated") {
            found = Attempt { reasons: vec![plain(gated)], ..Attempt::default() };
        }
        job.nodes_tried = found.nodes.into();
        job.preemption = found.preemption;
        job.reasons = found.reasons;
        job.reason = job.reasons.first().map(|reason| reason.word.clone()).into();
    }
    if job.reasons.is_empty() && !spec.get("schedulingGates").list().is_empty() {
        job.reasons = vec![plain("SchedulingGated")];
    }
    // Anything can have a phase and a reason: those of pods are known.
    let own = status.get("phase").text().filter(|own| phase(own).is_some());
    let reason = status.get("reason").text().filter(|reason| phase(reason).is_some());
    let waiting = job.containers.iter().find_map(|container| {
        let word = container.reason.known()?.split(':').next()?;
        let is_waiting = container.state == Reading::Known(ContainerState::Waiting);
        (is_waiting && is_trouble(word)).then(|| word.to_owned())
    });
    let killed = job.containers.iter().any(|container| {
        container.state == Reading::Known(ContainerState::Ended)
            && container.ends.first().is_some_and(|end| end.for_memory)
    });
    let word = reason.map(str::to_owned).or(waiting).or_else(|| own.map(str::to_owned));
    job.phase = match (own, word.as_deref()) {
        (Some("Pending"), Some("Pending")) if is_placed => Reading::Known(JobPhase::Starting),
        (Some("Failed" | "Running"), _) if killed => Reading::Known(JobPhase::OutOfMemory),
        (_, Some(word)) => phase(word).into(),
        _ if !job.reasons.is_empty() => Reading::Known(JobPhase::Waiting),
        _ => Reading::default(),
    };
    job.state = if killed { Reading::Known("OOMKilled".to_owned()) } else { word.into() };
    if let Some(reason) = reason.filter(|_| job.reasons.is_empty()) {
        let note = status.get("message").text().map(masked_text);
        job.reasons = vec![WaitReason { note, ..plain(reason) }];
        job.reason = Reading::Known(reason.to_owned());
    }
}

/// Adds what the messages of a pod and its containers say of cards.
fn messages(status: &Tree, picture: &mut Picture) {
    let containers = ["containerStatuses", "initContainerStatuses"];
    let of_containers = containers.iter().flat_map(|name| status.get(name).list()).flat_map(|container| {
        [["state", "waiting"], ["state", "terminated"], ["lastState", "terminated"]]
            .map(|place| container.at(&place).get("message").text())
    });
    for message in of_containers.flatten().chain(status.get("message").text()) {
        if let Some(fact) = obstacle_of(message) {
            picture.program.push(line(message, Some(fact)));
        } else if let Some(report) = crate::text::kubernetes::event::too_few_devices(message) {
            picture.program.push(line(message, Some(gpuwhy_model::scene::ProgramFact::Plugin(report))));
        }
    }
}
