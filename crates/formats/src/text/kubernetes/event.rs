//! Events of Kubernetes, and what they say of pods, workloads and nodes.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    Job, JobPhase, LimitHit, LogLine, PluginEvent, PluginReport, ProgramFact, Standing, WaitReason,
};

use super::picture::Picture;
use super::reasons::{Attempt, attempt, begin_of_sentence, of_queue, plain};
use super::refused::refused;
use super::resources::card_kind;
use crate::text::container::obstacle_of;

/// An event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Event {
    /// Kind of what it is about, in lower case: `pod`, `node`, `workload`; empty where that is not said.
    pub(super) kind: String,
    /// Namespace and name of it; empty where they are not said.
    pub(super) object: String,
    /// Its word: `FailedScheduling`.
    pub(super) reason: String,
    /// Who says so.
    pub(super) from: String,
    /// Its sentence.
    pub(super) message: String,
    /// How long ago it was, the last time, in seconds.
    pub(super) age_s: Option<f64>,
    /// When it was, the last time, as it is written: of a form that sorts.
    pub(super) at: Option<String>,
}

/// Words of events that surely are some of Kubernetes, for lines without a head.
const WORDS: &[&str] = &[
    "FailedScheduling",
    "Scheduled",
    "NotTriggerScaleUp",
    "TriggeredScaleUp",
    "Preempted",
    "Pulling",
    "Pulled",
    "Created",
    "Started",
    "Killing",
    "BackOff",
    "Failed",
    "FailedMount",
    "FailedAttachVolume",
    "FailedCreate",
    "FailedCreatePodSandBox",
    "SandboxChanged",
    "Unhealthy",
    "UnexpectedAdmissionError",
    "Evicted",
    "OOMKilling",
    "SystemOOM",
    "NodeNotReady",
    "NodeReady",
    "NodeNotSchedulable",
    "NodeSchedulable",
    "NodeHasDiskPressure",
    "NodeHasInsufficientMemory",
    "Rebooted",
    "Starting",
    "Pending",
    "QuotaReserved",
    "Admitted",
    "EvictedDueToPreempted",
    "EvictedDueToPodsReadyTimeout",
    "Unschedulable",
    "Suspended",
    "Resumed",
    "SuccessfulCreate",
    "CreatedWorkload",
    "Stopped",
    "ExceededQuota",
    "Allocated",
    "FailedKillPod",
    "TaintManagerEviction",
    "NodeAllocatableEnforced",
    "EvictionThresholdMet",
    "FreeDiskSpaceFailed",
    "ContainerGCFailed",
    "ImageGCFailed",
    "InspectFailed",
    "NodeHasSufficientMemory",
    "NodeHasNoDiskPressure",
    "NodeHasSufficientPID",
    "RegisteredNode",
    "FailedBinding",
    "WaitForFirstConsumer",
    "ProvisioningFailed",
    "ExternalProvisioning",
    "SuccessfulDelete",
    "ScalingReplicaSet",
    "BackoffLimitExceeded",
    "FailedPostStartHook",
];

/// Returns whether a word is surely that of an event.
pub(super) fn is_known(word: &str) -> bool {
    WORDS.contains(&word)
}

/// Adds what events say; they may stand in any order.
pub(super) fn apply(mut events: Vec<Event>, picture: &mut Picture) {
    let have_times = events.iter().all(|event| event.at.is_some());
    if have_times {
        events.sort_by(|one, other| one.at.cmp(&other.at));
    } else if events.iter().all(|event| event.age_s.is_some()) {
        let age = |event: &Event| event.age_s.unwrap_or(0.0);
        events.sort_by(|one, other| age(other).total_cmp(&age(one)));
    }
    for event in events {
        add(&event, picture);
    }
}

fn add(event: &Event, picture: &mut Picture) {
    if event.kind == "node" {
        of_node(event, picture);
        return;
    }
    match event.reason.as_str() {
        "FailedScheduling" | "Unschedulable" => {
            let job = picture.job(&event.object);
            // A pod that has its place keeps it; what is being deleted waits for nothing.
            let has_place = job.phase.known().is_some_and(|phase| *phase != JobPhase::Waiting);
            if !has_place && !event.message.contains("skip schedule deleting pod") {
                waits(job, attempt(&event.message));
            }
        }
        "Scheduled" => {
            let node = event
                .message
                .rsplit_once(" to ")
                .map(|(_, node)| node.trim().trim_end_matches('.').to_owned());
            placed(picture.job(&event.object), node);
        }
        "Started" => started(picture.job(&event.object)),
        "Pulling" | "Pulled" | "Created" | "QuotaReserved" | "Admitted" => {
            placed(picture.job(&event.object), None);
        }
        "FailedCreate" | "ExceededQuota" => refused(event, picture),
        "UnexpectedAdmissionError" => {
            too_few(event, picture);
            let job = picture.job(&event.object);
            ends(job, JobPhase::Refused, event);
        }
        "Evicted" | "TaintManagerEviction" if event.from.contains("kueue") => {
            given_up(picture.job(&event.object), event);
        }
        "Evicted" => ends(picture.job(&event.object), JobPhase::Failed, event),
        "OOMKilling" => killed(event, picture),
        "Failed" | "FailedCreatePodSandBox" | "BackOff" => not_started(event, picture),
        "NodeNotReady" => {
            picture.job(&event.object).state = Reading::Known(event.reason.clone());
        }
        "Pending" | "QuotaReservationFailed" if is_of_queue(event) => {
            let job = picture.job(&event.object);
            let mut reasons = of_queue(&event.message);
            // That it had its place and lost it is the beginning of the story.
            reasons.extend(
                std::mem::take(&mut job.reasons).into_iter().filter(|reason| reason.word == PREEMPTED),
            );
            waits(job, Attempt { reasons, ..Attempt::default() });
        }
        "Preempted" | "EvictedDueToPreempted" => given_up(picture.job(&event.object), event),
        _ => {
            if let Some(begin) = begin_of_sentence(&event.message).filter(|_| event.reason.is_empty()) {
                waits(picture.job(&event.object), attempt(&event.message[begin..]));
            }
        }
    }
}

/// The word for having lost a place to another.
pub(super) const PREEMPTED: &str = "Preempted";

fn is_of_queue(event: &Event) -> bool {
    event.from.contains("kueue")
        || event.kind == "workload"
        || event.message.contains("pod set")
        || event.from.is_empty()
}

/// Notes that a job waits, and why.
pub(super) fn waits(job: &mut Job, attempt: Attempt) {
    job.phase = Reading::Known(JobPhase::Waiting);
    if let Some(nodes) = attempt.nodes {
        job.nodes_tried = Reading::Known(nodes);
    }
    if !attempt.reasons.is_empty() {
        job.reason = Reading::Known(attempt.reasons[0].word.clone());
        job.reasons = attempt.reasons;
    }
    job.preemption = attempt.preemption;
}

/// Notes that a job has its place: why it waited is over.
fn placed(job: &mut Job, node: Option<String>) {
    let has_begun = matches!(job.phase.known(), Some(phase) if *phase != JobPhase::Waiting && *phase != JobPhase::Preempted);
    if !has_begun {
        job.phase = Reading::Known(JobPhase::Starting);
    }
    job.reason = Reading::default();
    job.reasons.clear();
    job.preemption.clear();
    job.nodes_tried = Reading::default();
    if let Some(node) = node.filter(|node| !node.is_empty() && !node.contains(' ')) {
        job.nodes = vec![node];
    }
}

fn started(job: &mut Job) {
    placed(job, None);
    if matches!(job.phase.known(), Some(JobPhase::Starting)) {
        job.phase = Reading::Known(JobPhase::Running);
    }
}

/// Notes that a job lost its place to another.
fn given_up(job: &mut Job, event: &Event) {
    let reason = WaitReason { note: Some(masked_text(&event.message)), ..plain(PREEMPTED) };
    waits(job, Attempt { reasons: vec![reason], ..Attempt::default() });
    job.phase = Reading::Known(JobPhase::Preempted);
}

fn ends(job: &mut Job, phase: JobPhase, event: &Event) {
    job.phase = Reading::Known(phase);
    job.state = Reading::Known(event.reason.clone());
    let reason = WaitReason { note: Some(masked_text(&event.message)), ..plain(&event.reason) };
    job.reason = Reading::Known(reason.word.clone());
    job.reasons = vec![reason];
}

/// Reads that the kubelet had fewer cards than the pod came for.
fn too_few(event: &Event, picture: &mut Picture) {
    if let Some(report) = too_few_devices(&event.message) {
        picture.program.push(line(&event.message, Some(ProgramFact::Plugin(report))));
    }
}

/// Reads `… requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, …`.
pub(super) fn too_few_devices(message: &str) -> Option<PluginReport> {
    let (_, rest) = message.split_once("devices unavailable for ")?;
    let resource = rest.split([' ', ',']).next()?.trim_end_matches('.');
    card_kind(resource)?;
    Some(PluginReport {
        event: PluginEvent::TooFew,
        resource: Some(resource.to_owned()),
        device: None,
        xid: None,
    })
}

/// Reads that a process was ended for want of memory in its group.
fn killed(event: &Event, picture: &mut Picture) {
    picture.program.push(LogLine {
        standing: Some(Standing::Final),
        ..line(&event.message, Some(ProgramFact::LimitHit(LimitHit::Memory)))
    });
}

/// Reads why a container of a pod could not be started.
fn not_started(event: &Event, picture: &mut Picture) {
    if let Some(fact) = obstacle_of(&event.message) {
        picture.program.push(line(&event.message, Some(fact)));
    }
    let job = picture.job(&event.object);
    let has_started = matches!(job.phase.known(), Some(JobPhase::Running | JobPhase::Failed));
    placed(job, None);
    if event.reason == "BackOff" && event.message.contains("restarting failed container") {
        job.phase = Reading::Known(JobPhase::Failed);
        job.state = Reading::Known("CrashLoopBackOff".to_owned());
    } else if !has_started {
        job.reason = Reading::Known(event.reason.clone());
        job.reasons = vec![WaitReason { note: Some(masked_text(&event.message)), ..plain(&event.reason) }];
    }
}

fn of_node(event: &Event, picture: &mut Picture) {
    match event.reason.as_str() {
        "OOMKilling" => killed(event, picture),
        "SystemOOM" => picture.program.push(line(&event.message, None)),
        _ => {}
    }
}

/// Makes a line of what was said.
pub(super) fn line(text: &str, fact: Option<ProgramFact>) -> LogLine {
    LogLine { text: masked_text(&text.replace(['\n', '\r'], " ")), fact, ..LogLine::default() }
}
