//! A pod as `kubectl describe` prints it.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    Container, ContainerEnd, ContainerState, Job, JobPhase, Resources, Scheduler, WaitReason,
};

use super::section::{Section, entries};
use crate::text::container::obstacle_of;
use crate::text::kubernetes::event::line;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::pod::{end, is_trouble, phase};
use crate::text::kubernetes::quantity::{bytes, cores};
use crate::text::kubernetes::reasons::plain;
use crate::text::kubernetes::resources::resources;

/// A container while it is read.
#[derive(Default)]
struct Open<'text> {
    name: &'text str,
    /// Which part of it the next lines belong to.
    part: &'text str,
    container: Container,
    requests: Vec<(&'text str, &'text str)>,
    limits: Vec<(&'text str, &'text str)>,
    last: Option<Ended<'text>>,
    now: Option<Ended<'text>>,
    message: Option<&'text str>,
    is_described: bool,
}

/// How a container ended, while it is read.
#[derive(Default)]
struct Ended<'text> {
    reason: Option<&'text str>,
    code: Option<i64>,
    signal: Option<u32>,
    at: Option<&'text str>,
}

/// Reads a pod, or what is left of one.
pub(super) fn read(sections: &[Section<'_>], id: &str, namespace: Option<&str>, picture: &mut Picture) {
    let value = |key: &str| {
        sections
            .iter()
            .find(|section| section.key == key)
            .map(|section| section.value)
            .filter(|value| !value.is_empty() && *value != "<none>")
    };
    let mut all: Vec<Open<'_>> = Vec::new();
    let mut loose = Open::default();
    for section in sections {
        match section.key {
            "Containers" | "Init Containers" => {
                let of_init = section.key == "Init Containers";
                let containers = containers(section);
                all.extend(containers.into_iter().filter(|open| !of_init || !has_done(open)));
            }
            // A part of one container, pasted alone.
            "State" | "Last State" | "Limits" | "Requests" | "Restart Count" | "Ready" => {
                loose.take(0, section.key, section.value);
                for (indent, name, value) in entries(section.lines) {
                    loose.take(indent + 1, name, value);
                }
            }
            _ => {}
        }
    }
    if all.is_empty()
        && (loose.now.is_some()
            || loose.last.is_some()
            || loose.is_described
            || loose.container != Container::default())
    {
        all.push(loose);
    }
    let asked: Vec<(&str, &str)> = all.iter().flat_map(Open::asked).collect();
    let asked: Resources = resources(asked);
    let messages: Vec<&str> = all.iter().filter_map(|open| open.message).collect();
    for message in messages {
        if let Some(fact) = obstacle_of(message) {
            picture.program.push(line(message, Some(fact)));
        }
    }
    let node = value("Node").map(|node| node.split('/').next().unwrap_or(node).to_owned());
    let mut job = Job {
        id: id.to_owned(),
        scheduler: Scheduler::Kubernetes,
        name: value("Name").map(str::to_owned).into(),
        account: namespace.map(str::to_owned).into(),
        qos: value("Priority Class Name").map(str::to_owned).into(),
        priority: value("Priority").and_then(|number| number.parse().ok()).into(),
        constraint: value("Node-Selectors").map(str::to_owned).into(),
        nodes: node.into_iter().collect(),
        submitted: value("Start Time").map(str::to_owned).into(),
        asked,
        containers: all.into_iter().map(Open::finish).collect(),
        ..Job::default()
    };
    let scheduled = sections
        .iter()
        .filter(|section| section.key == "Conditions")
        .flat_map(|section| section.lines)
        .find_map(|line| {
            let mut words = line.text.split_whitespace();
            (words.next() == Some("PodScheduled")).then(|| words.next() == Some("True"))
        });
    fill_status(&mut job, value("Status"), value("Reason"), value("Message"), scheduled);
    let says_something =
        job.phase.is_known() || !job.containers.is_empty() || job.asked.cards.is_known() || !id.is_empty();
    if says_something {
        picture.add_job(job);
    }
}

/// Returns whether a container that runs before the others did what it should.
fn has_done(open: &Open<'_>) -> bool {
    let is_ended_well = |ended: &Option<Ended<'_>>| ended.as_ref().is_some_and(|ended| ended.code == Some(0));
    is_ended_well(&open.now) || open.now.is_none() && open.last.is_none()
}

fn containers<'text>(section: &'text Section<'text>) -> Vec<Open<'text>> {
    let mut all: Vec<Open<'text>> = Vec::new();
    let least = entries(section.lines).map(|(indent, ..)| indent).min().unwrap_or(0);
    for (indent, name, value) in entries(section.lines) {
        if indent == least && value.is_empty() {
            all.push(Open { name, is_described: true, ..Open::default() });
        } else if let Some(open) = all.last_mut() {
            open.take(indent.saturating_sub(least + 2), name, value);
        }
    }
    all
}

impl<'text> Open<'text> {
    /// Takes an entry; what is indented belongs to the part before it.
    fn take(&mut self, indent: usize, name: &'text str, value: &'text str) {
        if indent == 0 {
            self.part = name;
            match name {
                "Image" => self.container.image = Reading::Known(value.to_owned()),
                "Restart Count" => self.container.restarts = value.parse().ok().into(),
                "State" => {
                    self.container.state = match value {
                        "Waiting" => Reading::Known(ContainerState::Waiting),
                        "Running" => Reading::Known(ContainerState::Running),
                        "Terminated" => Reading::Known(ContainerState::Ended),
                        _ => Reading::default(),
                    };
                    self.now = (value == "Terminated").then(Ended::default);
                }
                "Last State" => self.last = (value == "Terminated").then(Ended::default),
                _ => {}
            }
            return;
        }
        match self.part {
            "Limits" => self.limits.push((name, value)),
            "Requests" => self.requests.push((name, value)),
            "State" => {
                match name {
                    "Reason" => self.container.reason = Reading::Known(value.to_owned()),
                    "Message" => self.message = Some(value),
                    _ => {}
                }
                if let Some(now) = &mut self.now {
                    now.take(name, value);
                }
            }
            "Last State" => {
                if name == "Message" {
                    self.message = self.message.or(Some(value));
                }
                if let Some(last) = &mut self.last {
                    last.take(name, value);
                }
            }
            _ => {}
        }
    }

    /// Returns what it asks for: its requests, and its limits where it has no request.
    fn asked(&self) -> impl Iterator<Item = (&'text str, &'text str)> {
        let has = |name: &str| self.requests.iter().any(|(own, _)| *own == name);
        self.requests.iter().chain(self.limits.iter().filter(move |(name, _)| !has(name))).copied()
    }

    fn finish(self) -> Container {
        let limit = |name: &str| self.limits.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        let is_described = self.is_described || !self.limits.is_empty();
        let cards = resources(self.asked()).cards;
        let ends = [self.now.as_ref(), self.last.as_ref()];
        Container {
            name: self.name.to_owned(),
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
            promised_cards: cards.map(|cards| cards.to_string()),
            ends: ends.into_iter().flatten().map(Ended::finish).collect(),
            ..self.container
        }
    }
}

impl<'text> Ended<'text> {
    fn take(&mut self, name: &str, value: &'text str) {
        match name {
            "Reason" => self.reason = Some(value),
            "Exit Code" => self.code = value.parse().ok(),
            "Signal" => self.signal = value.parse().ok(),
            "Finished" => self.at = Some(value),
            _ => {}
        }
    }

    fn finish(&self) -> ContainerEnd {
        end(self.reason, self.code, self.signal, self.at)
    }
}

/// Reads how far the pod has come.
fn fill_status(
    job: &mut Job,
    status: Option<&str>,
    reason: Option<&str>,
    message: Option<&str>,
    scheduled: Option<bool>,
) {
    // `Terminating (lasts 5m)`, `Failed`.
    let own = status.map(|status| status.split(" (").next().unwrap_or(status));
    let waiting = job.containers.iter().find_map(|container| {
        let word = container.reason.known()?;
        let is_waiting = container.state == Reading::Known(ContainerState::Waiting);
        (is_waiting && is_trouble(word)).then(|| word.clone())
    });
    let killed = job.containers.iter().any(|container| {
        container.state == Reading::Known(ContainerState::Ended)
            && container.ends.first().is_some_and(|end| end.for_memory)
    });
    let known = reason.filter(|reason| phase(reason).is_some());
    let word = known.map(str::to_owned).or(waiting).or_else(|| own.map(str::to_owned));
    let is_placed = scheduled == Some(true) || !job.nodes.is_empty();
    job.phase = match (own, word.as_deref()) {
        (Some("Pending"), Some("Pending")) if is_placed => Reading::Known(JobPhase::Starting),
        (Some("Failed" | "Running"), _) if killed => Reading::Known(JobPhase::OutOfMemory),
        (_, Some(word)) => phase(word).into(),
        _ if scheduled == Some(false) => Reading::Known(JobPhase::Waiting),
        _ => Reading::default(),
    };
    job.state = if killed { Reading::Known("OOMKilled".to_owned()) } else { word.into() };
    if let Some(reason) = known {
        job.reasons = vec![WaitReason { note: message.map(masked_text), ..plain(reason) }];
        job.reason = Reading::Known(reason.to_owned());
    }
}
