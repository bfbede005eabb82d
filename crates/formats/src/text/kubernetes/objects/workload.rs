//! Workloads and queues of Kueue as objects.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, Queue, Quota, QuotaHolder, Resources, Scheduler, WaitReason};

use super::id;
use crate::text::kubernetes::event::PREEMPTED;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::quantity::quantity;
use crate::text::kubernetes::reasons::{of_queue, plain};
use crate::text::kubernetes::resources::resources;
use crate::tree::Tree;

/// Words of conditions that say no more than that it waits.
const ONLY_WAITS: &[&str] = &["Pending", "QuotaReserved", "Inadmissible"];

/// Reads a workload.
pub(super) fn read(object: &Tree, picture: &mut Picture) {
    let spec = object.get("spec");
    let status = if object.get("status").entries().is_empty() { object } else { object.get("status") };
    let mut job = Job {
        id: id(object),
        scheduler: Scheduler::Kubernetes,
        name: object.at(&["metadata", "name"]).owned().into(),
        account: object.at(&["metadata", "namespace"]).owned().into(),
        queues: spec.get("queueName").owned().into_iter().collect(),
        qos: spec.get("priorityClassName").owned().into(),
        priority: spec.get("priority").text().and_then(|number| number.parse().ok()).into(),
        asked: asked(spec.get("podSets")),
        submitted: object.at(&["metadata", "creationTimestamp"]).owned().into(),
        ..Job::default()
    };
    let is_off = spec.get("active").flag() == Some(false);
    place(&mut job, status.get("conditions"), is_off);
    picture.add_job(job);
}

/// Returns what all pods of a workload ask for.
fn asked(sets: &Tree) -> Resources {
    let mut amounts: Vec<(String, String)> = Vec::new();
    for set in sets.list() {
        let pods = set.get("count").whole().unwrap_or(1).min(1_000_000);
        for container in set.at(&["template", "spec", "containers"]).list() {
            let given = container.get("resources");
            let requests = given.get("requests");
            let limits = given.get("limits").entries().iter().filter(|(name, _)| !requests.has(name));
            for (name, amount) in requests.entries().iter().chain(limits) {
                if let Some(amount) = amount.text().and_then(quantity) {
                    amounts.push((name.clone(), format!("{}", amount * pods as f64)));
                }
            }
        }
    }
    resources(amounts.iter().map(|(name, amount)| (name.as_str(), amount.as_str())))
}

/// Reads where a workload stands.
pub(in crate::text::kubernetes) fn place(job: &mut Job, conditions: &Tree, is_off: bool) {
    let find =
        |kind: &str| conditions.list().iter().find(|condition| condition.get("type").text() == Some(kind));
    let is = |kind: &str| find(kind).and_then(|condition| condition.get("status").flag());
    let evicted = find("Evicted").filter(|condition| condition.get("status").flag() == Some(true));
    if is("Finished") == Some(true) {
        job.phase = Reading::Known(JobPhase::Completed);
        return;
    }
    if is("Admitted") == Some(true) && evicted.is_none() {
        job.phase = Reading::Known(JobPhase::Running);
        return;
    }
    if is_off {
        job.reasons.push(plain("Deactivated"));
    }
    if is("QuotaReserved") == Some(true) && evicted.is_none() {
        job.phase = Reading::Known(JobPhase::Starting);
        job.reasons.extend(find("Admitted").map(reason));
    } else {
        job.phase = Reading::Known(JobPhase::Waiting);
        if let Some(condition) = find("QuotaReserved") {
            let word = condition.get("reason").text().filter(|word| !ONLY_WAITS.contains(word));
            job.reasons.extend(word.map(plain));
            job.reasons.extend(condition.get("message").text().map(of_queue).unwrap_or_default());
        }
    }
    if let Some(evicted) = evicted {
        let is_for_another = evicted.get("reason").text() == Some(PREEMPTED);
        if is_for_another && job.reasons.is_empty() {
            job.phase = Reading::Known(JobPhase::Preempted);
        }
        job.reasons.push(reason(evicted));
    }
    job.reason = job.reasons.first().map(|reason| reason.word.clone()).into();
}

/// Returns a condition as a reason: its word, with its sentence beside it.
fn reason(condition: &Tree) -> WaitReason {
    let note = condition.get("message").text().map(masked_text);
    WaitReason { note, ..plain(condition.get("reason").text().unwrap_or("Pending")) }
}

/// Reads a queue.
pub(super) fn read_queue(object: &Tree, kind: &str, picture: &mut Picture) {
    let (spec, status) = (object.get("spec"), object.get("status"));
    let active = status
        .get("conditions")
        .list()
        .iter()
        .find(|condition| condition.get("type").text() == Some("Active"));
    let is_stopped = spec.get("stopPolicy").text().is_some_and(|policy| policy != "None");
    picture.queues.push(Queue {
        name: if kind == "LocalQueue" {
            id(object)
        } else {
            object.at(&["metadata", "name"]).owned().unwrap_or_default()
        },
        scheduler: Scheduler::Kubernetes,
        state: active.and_then(|condition| condition.get("reason").owned()).into(),
        is_open: if is_stopped {
            Reading::Known(false)
        } else {
            active.and_then(|condition| condition.get("status").flag()).into()
        },
        ..Queue::default()
    });
    if kind == "ClusterQueue" {
        let most = sum(
            spec.get("resourceGroups").list().iter().flat_map(|group| group.get("flavors").list()),
            "nominalQuota",
        );
        let usage = if status.has("flavorsUsage") { "flavorsUsage" } else { "flavorsReservation" };
        let used = sum(status.get(usage).list().iter(), "total");
        picture.quotas.extend((!most.is_unknown()).then(|| Quota {
            scheduler: Scheduler::Kubernetes,
            holder: QuotaHolder::Queue,
            name: object.at(&["metadata", "name"]).owned().unwrap_or_default(),
            most,
            used,
            ..Quota::default()
        }));
    }
}

/// Adds up the amounts of flavors.
fn sum<'tree>(flavors: impl Iterator<Item = &'tree Tree>, amount: &str) -> Resources {
    let all: Vec<(&str, &str)> = flavors
        .flat_map(|flavor| flavor.get("resources").list())
        .filter_map(|resource| Some((resource.get("name").text()?, resource.get(amount).text()?)))
        .collect();
    resources(all)
}
