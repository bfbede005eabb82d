//! What `kubectl describe` prints of pods, nodes, workloads, quotas, and parts of it.

mod node;
mod pod;
mod section;

#[cfg(test)]
mod tests;

use super::event::Event;
use super::event_row::event_row;
use super::picture::Picture;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context, Remark};
use section::{Section, sections};

/// Sections that show what a part describes, where the top is cut off.
const PARTS: &[&str] = &[
    "Containers",
    "Init Containers",
    "Conditions",
    "Capacity",
    "Allocatable",
    "Non-terminated Pods",
    "Allocated resources",
    "Events",
    "Taints",
    "QoS Class",
    "Node-Selectors",
    "Last State",
    "State",
    "Limits",
    "Requests",
    "Unschedulable",
    "Tolerations",
];

/// Labels that stand near the top of every description.
const NEAR_THE_TOP: &[&str] =
    &["Namespace:", "Roles:", "Labels:", "Annotations:", "Priority:", "API Version:"];

/// Reads the description that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let is_row = event_row(first).is_some();
    if !is_row && !begins(first, lines) {
        return None;
    }
    let (taken, mut picture, remarks) = if is_row {
        let (events, taken) = rows(lines, 0);
        let mut picture = Picture::default();
        picture.events = events;
        (taken, picture, Vec::new())
    } else {
        let (sections, taken) = sections(lines);
        let (picture, remarks) = described(&sections)?;
        (taken, picture, remarks)
    };
    picture.is_recognised = true;
    Some(Block { lines: taken.max(1), scene: picture.scene(Format::KubectlDescribe), remarks })
}

/// Returns whether a description, or a part of one, begins here.
fn begins(first: &str, lines: &[Line<'_>]) -> bool {
    let Some((key, value)) = section::key_and_value(first) else {
        return false;
    };
    if key == "Name" {
        return !value.is_empty()
            && lines
                .iter()
                .skip(1)
                .take(6)
                .any(|line| NEAR_THE_TOP.iter().any(|near| line.text.starts_with(near)));
    }
    let next = lines.iter().skip(1).take(3).map(|line| line.text.trim());
    match key {
        // Other texts have such words too: what must follow shows it.
        "Conditions" | "Events" => {
            value == "<none>"
                || next.into_iter().any(|next| next.starts_with("Type ") || event_row(next).is_some())
        }
        "Capacity" | "Allocatable" | "Limits" | "Requests" => {
            value.is_empty()
                && next.into_iter().any(|next| {
                    next.starts_with("cpu:") || next.starts_with("memory:") || next.contains(".com/")
                })
        }
        "State" | "Last State" => ["Waiting", "Running", "Terminated"].contains(&value),
        "Unschedulable" => value == "true" || value == "false",
        "Taints" => value.contains(":No") || value == "<none>",
        "QoS Class" => ["Guaranteed", "Burstable", "BestEffort"].contains(&value),
        "Allocated resources" | "Non-terminated Pods" => true,
        "Containers" | "Init Containers" => {
            value.is_empty() && next.into_iter().any(|next| next.ends_with(':'))
        }
        "Node-Selectors" | "Tolerations" => !value.is_empty(),
        _ => PARTS.contains(&key) && value.is_empty(),
    }
}

/// Reads rows of events; a row goes on over lines that are none, where a window was narrow.
fn rows(lines: &[Line<'_>], indent_min: usize) -> (Vec<Event>, usize) {
    let mut events: Vec<Event> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        let is_head = is_head(text);
        if let Some(event) = event_row(text).filter(|_| !is_head) {
            events.push(event);
        } else if let Some(last) = events.last_mut().filter(|last| goes_on(last, text, indent_min)) {
            if !last.message.is_empty() {
                last.message.push(' ');
            }
            last.message.push_str(text.trim());
        } else if !is_head {
            break;
        }
        taken = place + 1;
    }
    (events, taken)
}

/// Returns whether a line is the head of a table of events, or the line below it.
fn is_head(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_rule = !text.trim().is_empty()
        && text.trim().bytes().all(|byte| byte == b'-' || byte == b' ' || byte == b'\t');
    is_rule
        || matches!(
            (words.next(), words.next()),
            (Some("Type"), Some("Reason")) | (Some("FirstSeen"), Some("LastSeen"))
        )
}

/// Returns whether a line is the rest of a sentence that a narrow window broke.
fn goes_on(event: &Event, text: &str, indent_min: usize) -> bool {
    let is_open = !event.message.ends_with('.') && event.message.len() >= 20 && event.message.len() < 4000;
    let indent = text.len() - text.trim_start().len();
    let is_other = text.trim().is_empty()
        || section::key_and_value(text).is_some()
        || command_after_prompt(text).is_some();
    is_open && !is_other && indent >= indent_min
}

/// Makes a picture of a description.
fn described(sections: &[Section<'_>]) -> Option<(Picture, Vec<Remark>)> {
    let mut picture = Picture::default();
    let value = |key: &str| sections.iter().find(|section| section.key == key).map(|section| section.value);
    let has = |key: &str| value(key).is_some();
    let kind = value("Kind");
    let name = value("Name").unwrap_or_default();
    let namespace = value("Namespace").filter(|namespace| *namespace != "<none>");
    let id = match namespace {
        Some(namespace) if !name.is_empty() => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    };
    let is_node = has("Capacity")
        || has("Allocatable")
        || has("Roles")
        || has("Non-terminated Pods")
        || has("Allocated resources")
        || has("Taints")
        || has("Unschedulable");
    let object_kind;
    if is_node {
        object_kind = "node";
        node::read(sections, name, &mut picture);
    } else if kind == Some("Workload") {
        object_kind = "workload";
        section::read_workload(sections, &id, &mut picture);
    } else if has("Resource") {
        object_kind = "resourcequota";
        section::read_quota(sections, &id, &mut picture);
    } else {
        let is_pod = [
            "Containers",
            "Init Containers",
            "QoS Class",
            "State",
            "Last State",
            "Limits",
            "Requests",
            "Node-Selectors",
            "Status",
        ];
        let is_pod = kind.is_none()
            && is_pod.iter().any(|key| has(key))
            && !has("Replicas")
            && !has("Pod Template")
            && !has("Completions");
        object_kind = if is_pod { "pod" } else { "" };
        if is_pod {
            pod::read(sections, &id, namespace, &mut picture);
        }
    }
    for section in sections.iter().filter(|section| section.key == "Events") {
        let mut events = rows(section.lines, 0).0;
        for event in &mut events {
            object_kind.clone_into(&mut event.kind);
            id.clone_into(&mut event.object);
        }
        picture.events.extend(events);
    }
    let has_content =
        !picture.is_empty() || sections.iter().any(|section| section.key == "Events") || has("Name");
    has_content.then(|| (picture, Vec::new()))
}
