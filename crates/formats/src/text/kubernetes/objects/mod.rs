//! Objects of Kubernetes as YAML or JSON: single ones, lists, several documents, parts of them.

mod container;
mod node;
mod pod;
mod quota;
mod workload;

#[cfg(test)]
mod tests;

pub(super) use workload::place as place_of_workload;

use super::event::Event;
use super::picture::Picture;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};
use crate::tree::{Tree, json, lines_of_json, yaml};

/// Keys with which a whole object, or the top of one, begins.
const TOP_KEYS: &[&str] = &["apiVersion", "kind", "items", "metadata", "spec", "status"];

/// Keys with which a part of an object begins that tells something.
const PART_KEYS: &[&str] = &[
    "allocatable",
    "capacity",
    "conditions",
    "containerStatuses",
    "initContainerStatuses",
    "lastState",
    "state",
    "phase",
    "qosClass",
    "resources",
    "limits",
    "requests",
    "hard",
    "used",
    "taints",
    "unschedulable",
    "message",
    "reason",
    "addresses",
    "podSets",
    "admission",
    "flavorsUsage",
    "nodeName",
    "containers",
];

/// A part that nobody knows is not looked at further than this many lines.
const PART_LINES_MAX: usize = 2000;

/// Reads the object or objects that begin with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let (tree, taken) = match first.trim_start().chars().next()? {
        '{' | '[' | '"' => of_json(lines)?,
        _ => of_yaml(lines)?,
    };
    let mut picture = Picture::default();
    read_tree(&tree, &mut picture);
    if picture.is_empty() {
        return None;
    }
    Some(Block { lines: taken, scene: picture.scene(Format::KubernetesObject), remarks: Vec::new() })
}

/// Returns what YAML at the begin of these lines says, and how many they are.
fn of_yaml(lines: &[Line<'_>]) -> Option<(Tree, usize)> {
    let first = lines[0].text.as_ref();
    let is_head = |line: &&Line<'_>| line.text.starts_with('#') || line.text.trim() == "---";
    let head = lines.iter().take(20).take_while(is_head).count();
    let key = key_of(&lines.get(head)?.text)?;
    if head > 0 {
        // Comments only before an object: a prompt looks alike.
        TOP_KEYS.contains(&key).then_some(())?;
        (first.trim() == "---" || command_after_prompt(first).is_none()).then_some(())?;
    } else {
        (TOP_KEYS.contains(&key) || PART_KEYS.contains(&key)).then_some(())?;
    }
    let taken = head + lines[head..].iter().take_while(|line| may_be_yaml(&line.text)).count();
    let taken = lines[..taken].iter().rposition(|line| !line.text.trim().is_empty())? + 1;
    let is_whole = lines[..taken]
        .iter()
        .take(40)
        .any(|line| line.text.trim_start_matches([' ', '-']).starts_with("apiVersion:"));
    let taken = if is_whole { taken } else { taken.min(PART_LINES_MAX) };
    Some((yaml(lines[..taken].iter().map(|line| line.text.as_ref())), taken))
}

/// Returns the key of a line of YAML, behind the dash of a row.
fn key_of(text: &str) -> Option<&str> {
    let text = text.trim_start().trim_start_matches("- ").trim_start();
    let (key, rest) = text.split_once(':')?;
    let is_word = !key.is_empty() && key.len() <= 40 && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_word && (rest.is_empty() || rest.starts_with(' '))).then_some(key)
}

/// Returns whether a line may belong to YAML: indented, or a key, an entry of a row, a comment, a border of documents.
fn may_be_yaml(text: &str) -> bool {
    if text.is_empty()
        || text.starts_with([' ', '#'])
        || text == "---"
        || text == "..."
        || text == "-"
        || text.starts_with("- ")
    {
        return command_after_prompt(text).is_none();
    }
    let Some((key, rest)) = text.split_once(':') else {
        return false;
    };
    let is_key =
        key.len() <= 80 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./\"'".contains(&byte));
    is_key && (rest.is_empty() || rest.starts_with(' '))
}

/// Signs that JSON is of Kubernetes.
const JSON_SIGNS: &[&str] = &[
    "\"apiVersion\"",
    "\"items\"",
    "\"allocatable\"",
    "\"capacity\"",
    "\"containerStatuses\"",
    "\"PodScheduled\"",
    "\"nvidia.com/",
    "\"lastState\"",
    "\"involvedObject\"",
    "kubernetes.io/",
];

/// Returns what JSON at the begin of these lines says, and how many they are.
fn of_json(lines: &[Line<'_>]) -> Option<(Tree, usize)> {
    // An object that `kubectl` prints has its sign in the first lines.
    let is_ours = lines.iter().take(30).any(|line| JSON_SIGNS.iter().any(|sign| line.text.contains(sign)));
    if !is_ours {
        return None;
    }
    json_of_lines(lines)
}

/// Reads the JSON that begins with the first of these lines, and counts its lines.
pub(in crate::text) fn json_of_lines(lines: &[Line<'_>]) -> Option<(Tree, usize)> {
    let is_part = lines.first()?.text.trim_start().starts_with('"');
    let own = lines.iter().take_while(|line| command_after_prompt(&line.text).is_none());
    let own = own.map(|line| line.text.as_ref());
    let number = if is_part { own.take(PART_LINES_MAX).count() } else { lines_of_json(own) };
    let mut text = String::new();
    for line in &lines[..number] {
        text.push_str(&line.text);
        text.push('\n');
    }
    let read = json(&text);
    (read.bytes > 0).then_some(())?;
    let taken = &text[..read.bytes];
    let number = taken.matches('\n').count() + usize::from(!taken.ends_with('\n'));
    Some((read.tree, number.clamp(1, lines.len())))
}

/// Reads an object, a list of objects, or a part of one.
fn read_tree(tree: &Tree, picture: &mut Picture) {
    for object in tree.list() {
        read_tree(object, picture);
    }
    let items = tree.get("items").list();
    if !items.is_empty() {
        let listed = tree.get("kind").text().and_then(|kind| kind.strip_suffix("List"));
        picture.is_recognised = true;
        for item in items {
            read_object(item, item.get("kind").text().or(listed).unwrap_or_default(), picture);
        }
        return;
    }
    if !tree.entries().is_empty() {
        read_object(tree, tree.get("kind").text().unwrap_or_default(), picture);
    }
}

fn read_object(object: &Tree, kind: &str, picture: &mut Picture) {
    // Of an object with a kind and a version nothing need be kept: it is recognised all the same.
    picture.is_recognised |= object.has("apiVersion") && object.has("kind");
    match kind {
        "Pod" => pod::read(object, picture),
        "Node" => node::read(object, picture),
        "Event" => picture.events.push(event(object)),
        "Workload" => workload::read(object, picture),
        "ClusterQueue" | "LocalQueue" => workload::read_queue(object, kind, picture),
        "ResourceQuota" | "LimitRange" => quota::read(object, kind, picture),
        "" => read_part(object, picture),
        _ => read_other(object, kind, picture),
    }
}

/// Reads a part of an object without its kind.
fn read_part(part: &Tree, picture: &mut Picture) {
    let has_type = |conditions: &Tree, wanted: &[&str]| {
        conditions
            .list()
            .iter()
            .any(|condition| condition.get("type").text().is_some_and(|own| wanted.contains(&own)))
    };
    let status = if part.get("status").entries().is_empty() { part } else { part.get("status") };
    let conditions = status.get("conditions");
    if part.has("involvedObject") || part.has("regarding") {
        picture.events.push(event(part));
    } else if status.has("allocatable") || status.has("capacity") || status.has("nodeInfo") {
        node::read(part, picture);
    } else if has_type(conditions, &["QuotaReserved", "Admitted"])
        || part.at(&["spec", "podSets"]) != &Tree::Nothing
    {
        workload::read(part, picture);
    } else if node::are_labels(part) {
        node::read_labels(part, picture);
    } else if status.has("hard") {
        quota::read(part, "ResourceQuota", picture);
    } else if has_type(conditions, &["MemoryPressure", "DiskPressure"]) {
        node::read(part, picture);
    } else {
        pod::read_part(part, picture);
    }
}

/// Reads what other objects say of pods that could not be made.
fn read_other(object: &Tree, kind: &str, picture: &mut Picture) {
    for condition in object.at(&["status", "conditions"]).list() {
        let Some(message) = condition.get("message").text().filter(|message| message.contains("quota"))
        else {
            continue;
        };
        picture.events.push(Event {
            kind: kind.to_ascii_lowercase(),
            object: id(object),
            reason: "FailedCreate".to_owned(),
            message: message.to_owned(),
            at: condition.get("lastTransitionTime").owned(),
            ..Event::default()
        });
    }
}

/// Returns namespace and name of an object.
fn id(object: &Tree) -> String {
    joined(object.at(&["metadata", "namespace"]).text(), object.at(&["metadata", "name"]).text())
}

fn joined(namespace: Option<&str>, name: Option<&str>) -> String {
    match (namespace, name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (_, name) => name.unwrap_or_default().to_owned(),
    }
}

fn event(object: &Tree) -> Event {
    let about =
        if object.has("involvedObject") { object.get("involvedObject") } else { object.get("regarding") };
    let kind = about.get("kind").text().unwrap_or_default().to_ascii_lowercase();
    let namespace = about.get("namespace").text().filter(|_| kind != "node");
    let first = |values: [&Tree; 4]| values.into_iter().find_map(Tree::owned);
    Event {
        kind,
        object: joined(namespace, about.get("name").text()),
        reason: object.get("reason").owned().unwrap_or_default(),
        from: first([
            object.get("reportingComponent"),
            object.get("reportingController"),
            object.at(&["source", "component"]),
            object.at(&["deprecatedSource", "component"]),
        ])
        .unwrap_or_default(),
        message: object.get("message").owned().or_else(|| object.get("note").owned()).unwrap_or_default(),
        age_s: None,
        at: first([
            object.at(&["series", "lastObservedTime"]),
            object.get("lastTimestamp"),
            object.get("deprecatedLastTimestamp"),
            object.get("eventTime"),
        ]),
    }
}
