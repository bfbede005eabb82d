//! The parts of a description: labels at the left edge with what stands behind and below them.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, Quota, QuotaHolder, Scheduler};

use crate::paste::{Line, command_after_prompt};
use crate::text::kubernetes::objects::place_of_workload;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::resources::resources;
use crate::tree::Tree;

/// One part of a description.
#[derive(Debug)]
pub(super) struct Section<'text> {
    /// Its label.
    pub(super) key: &'text str,
    /// What stands behind the label.
    pub(super) value: &'text str,
    /// The lines below it.
    pub(super) lines: &'text [Line<'text>],
}

/// Splits `Label:   value`; a label begins with a capital letter at the left edge.
pub(super) fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_label = key.len() <= 40
        && key.starts_with(|first: char| first.is_ascii_uppercase())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -/()".contains(&byte));
    (is_label && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key, value.trim()))
}

/// Returns the labels from the first line on, and how many lines belong to them.
pub(super) fn sections<'text>(lines: &'text [Line<'text>]) -> (Vec<Section<'text>>, usize) {
    let mut heads: Vec<usize> = Vec::new();
    let mut end = 0;
    let mut is_table = false;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if text.is_empty() {
            continue;
        }
        if let Some((key, _)) = key_and_value(text) {
            // The next object has a name of its own.
            if key == "Name" && place > 0 {
                break;
            }
            heads.push(place);
            is_table = false;
        } else if is_head_of_quota(text) {
            heads.push(place);
            is_table = true;
        } else if !(text.starts_with([' ', '\t']) || is_table && is_row_of_quota(text))
            || command_after_prompt(text).is_some()
        {
            // Rows of events that a narrow window broke go on at the left edge.
            let in_events = heads.last().is_some_and(|head| lines[*head].text.starts_with("Events:"));
            let is_rest = in_events
                && place > 0
                && lines[place - 1].text.len() >= 60
                && end == place
                && command_after_prompt(text).is_none();
            if !is_rest {
                break;
            }
        }
        end = place + 1;
    }
    let sections = heads.iter().enumerate().map(|(number, head)| {
        let next = heads.get(number + 1).copied().unwrap_or(end);
        let text = lines[*head].text.as_ref();
        let (key, value) = key_and_value(text).unwrap_or(("Resource", ""));
        Section { key, value, lines: &lines[head + 1..next.max(head + 1)] }
    });
    (sections.collect(), end)
}

/// Returns whether a line is the head of the table of a quota.
fn is_head_of_quota(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(words[..], ["Resource", "Used", "Hard"] | ["Type", "Resource", "Min", "Max", ..])
}

fn is_row_of_quota(text: &str) -> bool {
    let words = text.split_whitespace().count();
    text.starts_with("--")
        || (3..=8).contains(&words) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Returns the entries of a part that are `name: value`, with how far they are indented.
pub(super) fn entries<'text>(
    lines: &'text [Line<'text>],
) -> impl Iterator<Item = (usize, &'text str, &'text str)> {
    lines.iter().filter_map(|line| {
        let text = line.text.trim_start();
        let indent = line.text.len() - text.len();
        let (name, value) = match text.split_once(": ") {
            Some((name, value)) => (name, value.trim()),
            None => (text.strip_suffix(':')?, ""),
        };
        (!name.is_empty()).then(|| (indent, name.trim(), value))
    })
}

/// Reads a workload of Kueue.
pub(super) fn read_workload(sections: &[Section<'_>], id: &str, picture: &mut Picture) {
    let below = |key: &str| {
        sections.iter().find(|section| section.key == key).map_or(&[][..], |section| section.lines)
    };
    let mut conditions: Vec<Tree> = Vec::new();
    let mut open: Vec<(String, Tree)> = Vec::new();
    let mut is_in = false;
    for (_, name, value) in entries(below("Status")) {
        match name {
            "Conditions" => is_in = true,
            "Message" | "Reason" | "Status" | "Type" if is_in => {
                open.push((name.to_ascii_lowercase(), Tree::Text(value.to_owned())));
                // Names are sorted: the type is the last.
                if name == "Type" {
                    conditions.push(Tree::Map(std::mem::take(&mut open)));
                }
            }
            _ => {}
        }
    }
    let spec: Vec<(usize, &str, &str)> = entries(below("Spec")).collect();
    let of_spec = |wanted: &str| spec.iter().find(|(_, name, _)| *name == wanted).map(|(.., value)| *value);
    let (namespace, name) =
        id.split_once('/').map_or((None, id), |(namespace, name)| (Some(namespace), name));
    let mut job = Job {
        id: id.to_owned(),
        scheduler: Scheduler::Kubernetes,
        name: Reading::Known(name.to_owned()),
        account: namespace.map(str::to_owned).into(),
        queues: of_spec("Queue Name").map(str::to_owned).into_iter().collect(),
        priority: of_spec("Priority").and_then(|number| number.parse().ok()).into(),
        ..Job::default()
    };
    let cards: Vec<(&str, &str)> = spec
        .iter()
        .map(|(_, name, value)| (*name, *value))
        .filter(|(name, _)| name.contains(".com/"))
        .collect();
    let pods = of_spec("Count").and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
    let mut asked = resources(cards.into_iter().take(1));
    asked.cards = asked.cards.map(|cards| cards.saturating_mul(pods));
    job.asked = asked;
    place_of_workload(&mut job, &Tree::List(conditions), of_spec("Active") == Some("false"));
    picture.add_job(job);
}

/// Reads the table of a quota.
pub(super) fn read_quota(sections: &[Section<'_>], id: &str, picture: &mut Picture) {
    let Some(table) = sections.iter().find(|section| section.key == "Resource") else {
        return;
    };
    let rows: Vec<Vec<&str>> =
        table.lines.iter().map(|line| line.text.split_whitespace().collect()).collect();
    let column = |number: usize| {
        let cells = rows.iter().filter_map(move |row| Some((*row.first()?, *row.get(number)?)));
        resources(cells.filter(|(name, _)| !name.starts_with("--")))
    };
    let (used, most) = (column(1), column(2));
    picture.quotas.extend((!most.is_unknown()).then(|| Quota {
        scheduler: Scheduler::Kubernetes,
        holder: QuotaHolder::Namespace,
        name: id.to_owned(),
        most,
        used,
        ..Quota::default()
    }));
}
