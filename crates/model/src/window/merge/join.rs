//! Joins two scenes value by value, in their written form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Disagreement, Fields};
use crate::sample::PciDevice;
use crate::scene::{
    Card, Cgroup, ClusterNode, Container, Disk, Interface, Job, NvLinkState, Process, Queue, Quota,
    Reservation, Scene, Serving,
};

/// Values that do not change while a machine runs.
const STEADY: &[&str] = &[
    "machine.hostname",
    "machine.kernel",
    "machine.boot_id",
    "machine.driver.version",
    "machine.driver.cuda_version",
    "machine.driver.module",
    "machine.driver.card_count",
    "cards.name",
    "cards.memory.total",
    "cards.pci_address",
    "host.cpus",
];

/// Makes an entry of which nothing is known.
type Empty = fn() -> Value;

/// Lists whose entries stand for something that has a name or number, and the path to it.
const ENTITIES: &[(&str, &[&str], Empty)] = &[
    ("cards", &["parent", "kind", "index"], written::<Card>),
    ("cards.clients", &["pid"], || Value::Null),
    ("cards.nvlinks", &["link"], written::<NvLinkState>),
    ("processes", &["key.pid"], written::<Process>),
    ("cgroups", &["path"], written::<Cgroup>),
    ("host.disks", &["name"], written::<Disk>),
    ("mounts", &["target"], || Value::Null),
    ("network", &["name"], written::<Interface>),
    ("jobs", &["id"], written::<Job>),
    ("jobs.containers", &["name"], written::<Container>),
    ("machine.containers", &["name"], written::<Container>),
    ("cluster", &["name"], written::<ClusterNode>),
    ("queues", &["name"], written::<Queue>),
    ("quotas", &["holder", "name", "user", "reach"], written::<Quota>),
    ("reservations", &["name"], written::<Reservation>),
    ("serving", &["engine", "model"], written::<Serving>),
    ("machine.services", &["name"], || Value::Null),
    ("machine.pci_cards", &["address"], written::<PciDevice>),
    ("machine.card_pairs", &["one", "other"], || Value::Null),
    ("machine.joined_pairs", &["one", "other"], || Value::Null),
    ("device_holders", &["pid"], || Value::Null),
];

/// Lists that hold what happened or was said: all of it counts.
const ALL_OF_IT: &[&str] = &[
    "unplaced_clients",
    "events",
    "program",
    "stacks",
    "profiles",
    "traces",
    "serving.looks",
    "provenance.inputs",
    "machine.driver.modules",
    "machine.driver.library_files",
    "machine.device_files",
    "machine.driver.xid_events",
    "machine.driver.stuck_calls",
];

/// The value of which the part counts that shows most in use.
const FULLEST: &str = "cards.bar1_most";

/// Returns how much is in use by the written form of a known amount.
fn used_of(reading: &Value) -> Option<u64> {
    reading.get("known")?.get("used")?.as_u64()
}

fn written<T: Default + serde::Serialize>() -> Value {
    serde_json::to_value(T::default()).unwrap_or_default()
}

/// Joins two scenes; none should one not be writable, which no scene is.
pub(super) fn joined(earlier: &Scene, later: &Scene, disagreements: &mut Vec<Disagreement>) -> Option<Scene> {
    let [earlier, later, nothing] = [earlier, later, &Scene::default()].map(serde_json::to_value);
    let mut join = Join { disagreements };
    let value = join.value("", earlier.ok()?, later.ok()?, &nothing.ok()?);
    serde_json::from_value(value).ok()
}

struct Join<'list> {
    disagreements: &'list mut Vec<Disagreement>,
}

impl Join<'_> {
    fn value(&mut self, path: &str, earlier: Value, later: Value, nothing: &Value) -> Value {
        if earlier == later || later == *nothing {
            return earlier;
        }
        if earlier == *nothing {
            return later;
        }
        match (reading_rank(&earlier), reading_rank(&later)) {
            (Some(Rank::Known), Some(Rank::Known)) if path == FULLEST => {
                return if used_of(&earlier) > used_of(&later) { earlier } else { later };
            }
            (Some(Rank::Known), Some(Rank::Known)) => {
                let known = self.known(path, known_of(earlier), known_of(later));
                return Value::Object([("known".to_owned(), known)].into_iter().collect());
            }
            // That a card does not answer is more than that it once did.
            (Some(one), Some(other)) if path == "cards.handle" => {
                return if one < Rank::Known && one > other || other == Rank::Known {
                    earlier
                } else {
                    later
                };
            }
            (Some(one), Some(other)) => return if one > other { earlier } else { later },
            _ => {}
        }
        match (earlier, later) {
            (Value::Array(earlier), Value::Array(later)) => self.list(path, earlier, later),
            (Value::Object(earlier), Value::Object(later)) => self.object(path, earlier, later, nothing),
            (earlier, later) => {
                self.compare(path, &earlier, &later);
                later
            }
        }
    }

    fn object(
        &mut self,
        path: &str,
        earlier: serde_json::Map<String, Value>,
        later: serde_json::Map<String, Value>,
        nothing: &Value,
    ) -> Value {
        let mut fields: Fields = earlier.into_iter().collect();
        for (name, later) in later {
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let nothing = nothing.get(&name).unwrap_or(&Value::Null);
            let value = match fields.remove(&name) {
                Some(earlier) => self.value(&below, earlier, later, nothing),
                None => later,
            };
            fields.insert(name, value);
        }
        Value::Object(fields.into_iter().collect())
    }

    /// Joins what two readings know.
    fn known(&mut self, path: &str, earlier: Value, later: Value) -> Value {
        match (earlier, later) {
            (Value::Array(earlier), Value::Array(later)) => self.list(path, earlier, later),
            (Value::Object(earlier), Value::Object(later)) => {
                // Of two trends the one that rests on more counts.
                if let (Some(one), Some(other)) = (looks(&earlier), looks(&later)) {
                    return Value::Object(if one > other { earlier } else { later });
                }
                for (name, value) in &later {
                    self.compare(&format!("{path}.{name}"), earlier.get(name).unwrap_or(value), value);
                }
                Value::Object(later)
            }
            (earlier, later) if path == "cards.name" && is_cut_form(&later, &earlier) => earlier,
            (earlier, later) if path == "cards.name" && is_cut_form(&earlier, &later) => later,
            (earlier, later) => {
                self.compare(path, &earlier, &later);
                later
            }
        }
    }

    fn list(&mut self, path: &str, earlier: Vec<Value>, later: Vec<Value>) -> Value {
        if let Some((_, keys, nothing)) = ENTITIES.iter().find(|(entity, ..)| *entity == path) {
            return self.entities(path, keys, &nothing(), earlier, later);
        }
        if !ALL_OF_IT.contains(&path) {
            return Value::Array(later);
        }
        let mut known: BTreeSet<String> = earlier.iter().map(Value::to_string).collect();
        let mut all = earlier;
        all.extend(later.into_iter().filter(|entry| known.insert(entry.to_string())));
        Value::Array(all)
    }

    fn entities(
        &mut self,
        path: &str,
        keys: &[&str],
        nothing: &Value,
        earlier: Vec<Value>,
        later: Vec<Value>,
    ) -> Value {
        let key = |entity: &Value| -> Option<String> {
            let parts: Vec<&Value> = keys.iter().map(|key| at(entity, key)).collect();
            // What has no name is nobody's double.
            let is_named = parts.iter().any(|part| part.as_str().is_none_or(|text| !text.is_empty()));
            is_named.then(|| serde_json::to_string(&parts).unwrap_or_default())
        };
        let mut all = earlier;
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (place, entity) in all.iter().enumerate() {
            if let Some(key) = key(entity) {
                places.entry(key).or_insert(place);
            }
        }
        for entity in later {
            let key = key(&entity);
            let Some(place) = key.as_ref().and_then(|key| places.get(key)).copied() else {
                places.extend(key.map(|key| (key, all.len())));
                all.push(entity);
                continue;
            };
            let known = std::mem::take(&mut all[place]);
            all[place] = self.value(path, known, entity, nothing);
        }
        Value::Array(all)
    }

    fn compare(&mut self, path: &str, earlier: &Value, later: &Value) {
        if STEADY.contains(&path) && earlier != later {
            let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.disagreements.push(Disagreement {
                value: path.to_owned(),
                earlier: words(earlier),
                later: words(later),
            });
        }
    }
}

/// How much a reading says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    NotInSource,
    Unsupported,
    Denied,
    Failed,
    Known,
}

/// Returns how much a value says if it is a reading in its written form.
fn reading_rank(value: &Value) -> Option<Rank> {
    if value.as_str() == Some("unsupported") {
        return Some(Rank::Unsupported);
    }
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let (name, inside) = fields.iter().next()?;
    match name.as_str() {
        "known" => Some(Rank::Known),
        "denied" => Some(Rank::Denied),
        "failed" if inside == "not_in_source" => Some(Rank::NotInSource),
        "failed" => Some(Rank::Failed),
        _ => None,
    }
}

/// Returns whether a name is another one that was cut for want of room: `Tesla V100-SXM2...`.
fn is_cut_form(cut: &Value, whole: &Value) -> bool {
    let begin = cut.as_str().and_then(|cut| cut.strip_suffix("...")).map(str::trim_end);
    begin.zip(whole.as_str()).is_some_and(|(begin, whole)| whole.starts_with(begin))
}

fn known_of(mut reading: Value) -> Value {
    reading.get_mut("known").map(std::mem::take).unwrap_or_default()
}

/// Returns the number of looks that a trend rests on, if these are the fields of one.
fn looks(fields: &serde_json::Map<String, Value>) -> Option<u64> {
    fields.get("stddev")?;
    fields.get("n")?.as_u64()
}

/// Returns a field of an entity, or of an object inside it.
fn at<'entity>(entity: &'entity Value, path: &str) -> &'entity Value {
    path.split('.').fold(entity, |value, name| value.get(name).unwrap_or(&Value::Null))
}
