//! `gpu-not-advertised`: a card exists, and the scheduler is offered none of it.

mod short;

use gpuwhy_model::action::{Action, SubjectKind};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, PluginEvent, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity, Subject};

use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::folded;
use crate::facts::offers::{Offers, offers};
use crate::facts::program::says;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use short::{Known, Short, short_nodes};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/gpu_not_advertised.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::GpuNotAdvertised,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::NodeResources,
            Signal::ProgramLog,
            Signal::JobReason,
            Signal::CardCount,
            Signal::DriverLibrary,
        ],
    },
    check,
};

/// More nodes are not named one by one.
const NAMED_MAX: usize = 8;

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    let short = short_nodes(scene);
    let offers = offers(scene);
    if short.is_empty() && offers.are_whole() {
        let is_offered = |cards: &Reading<u64>| cards.known().is_some_and(|cards| *cards > 0);
        if scene.cluster.iter().any(|node| is_offered(&node.built_in.cards)) {
            findings.rule_out(Signal::NodeResources, None);
        }
        return;
    }
    findings.report(judge(scene, &short, &offers));
}

fn judge(scene: &Scene, short: &[Short<'_>], offers: &Offers<'_>) -> Draft {
    let mut draft =
        Draft::new(&RULE, subject(scene, short), "offers".to_owned(), Vec::new(), summary(short, offers))
            .severity(Severity::Warn);
    // What a node offers stays so until somebody acts.
    draft.balance.past_decides = true;
    weigh_nodes(short, &mut draft);
    weigh_reports(short, offers, &mut draft);
    weigh_library(scene, offers, &mut draft);
    let waiting = waiting_for_cards(scene);
    if waiting > 0 {
        let words = text::pods_wait(waiting);
        draft.agree(0.5, once(Signal::JobReason, waiting, Unit::Count, Reader::Kubernetes, words));
    }
    draft.finding.impact = Impact { blocked: waiting.max(1), ..Impact::default() };
    fill_detail(scene, short, offers, &mut draft);
    advise(scene, short, offers, &mut draft);
    draft
}

/// Returns what it is about: a node, several nodes, or the one whose log was read.
fn subject(scene: &Scene, short: &[Short<'_>]) -> Subject {
    let names: Vec<&str> =
        short.iter().map(|short| short.node.name.as_str()).filter(|name| !name.is_empty()).collect();
    let name = if names.is_empty() {
        scene.machine.hostname.known().cloned().unwrap_or_else(|| "node".to_owned())
    } else {
        folded(names)
    };
    Subject { kind: SubjectKind::Node, id: name.clone(), name }
}

fn summary(short: &[Short<'_>], offers: &Offers<'_>) -> Text {
    match short {
        [Short { offered: 0, has: Some(has), .. }] => text::summary_none(*has),
        [Short { offered, has: Some(has), .. }] => text::summary_some(*has, *offered),
        [_] => text::summary_none_uncounted(),
        [_, ..] => text::summary_nodes(short.len()),
        [] => match (offers.none, offers.out.as_slice()) {
            (Some((PluginEvent::NoDevices, _)), _) => text::summary_no_devices(),
            (Some(_), _) => text::summary_all_away(),
            (None, []) => text::summary_too_few(),
            (None, [_]) => text::summary_one_away(),
            (None, out) => text::summary_several_away(out.len()),
        },
    }
}

fn weigh_nodes(short: &[Short<'_>], draft: &mut Draft) {
    for (number, node) in short.iter().enumerate() {
        let reader = if node.known == Known::Driver { Reader::NvidiaSmi } else { Reader::Kubernetes };
        let evidence = once(Signal::NodeResources, node.offered, Unit::Count, reader, words_of(node));
        match (number, node.known) {
            // The kubelet counts both itself.
            (0, Known::Kubelet) => draft.agree(4.0, evidence),
            (0, Known::Driver) => draft.agree_by(4.0, 0.9, evidence),
            (0, Known::Label) => draft.agree_by(4.0, 0.8, evidence),
            (0, Known::Presence) => draft.agree_by(4.0, 0.5, evidence),
            (..NAMED_MAX, _) => draft.mention(evidence),
            _ => break,
        }
    }
}

fn words_of(short: &Short<'_>) -> Text {
    let name = if short.node.name.is_empty() { "node" } else { short.node.name.as_str() };
    match (short.known, short.has) {
        (Known::Kubelet, Some(has)) if short.offered == 0 => text::allocatable_none(has, name),
        (Known::Kubelet, Some(has)) => text::allocatable(has, name, short.offered),
        (Known::Driver, Some(has)) => text::driver_sees(has, name, short.offered),
        (Known::Label, Some(has)) => text::label_counts(has, name, short.offered),
        _ => text::label_says(name),
    }
}

/// Weighs what plugin and kubelet reported.
fn weigh_reports(short: &[Short<'_>], offers: &Offers<'_>, draft: &mut Draft) {
    let is_alone = short.is_empty();
    if let Some((_, line)) = offers.none {
        draft.agree(if is_alone { 4.0 } else { 1.5 }, says(line));
    } else if let Some(out) = offers.out.first() {
        draft.agree(if is_alone { 4.0 } else { 1.5 }, says(out.line));
        for more in offers.out.iter().skip(1).take(NAMED_MAX) {
            draft.mention(says(more.line));
        }
        if let Some(xid) = offers.out.iter().find_map(|out| out.xid) {
            let words = text::after_error(xid);
            draft.mention(once(Signal::ProgramLog, xid, Unit::Code, Reader::ProgramLog, words));
        }
        if is_alone {
            // A later line of the log may say that it came back.
            draft.silent(1.0);
        }
    } else if is_alone {
        if let Some(line) = offers.too_few {
            draft.agree(3.0, says(line));
            draft.silent(2.0);
        }
    } else {
        draft.silent(0.5);
    }
}

/// Weighs that the plugin could not even ask the driver.
fn weigh_library(scene: &Scene, offers: &Offers<'_>, draft: &mut Draft) {
    if let (Reading::Failed(_), Some((PluginEvent::NoDevices, _))) =
        (&scene.machine.driver.library, offers.none)
    {
        let words = text::plugin_cannot_ask();
        draft.agree(0.5, once(Signal::DriverLibrary, "failed", Unit::Text, Reader::ProgramLog, words));
    }
}

/// Returns how many pods wait for cards.
fn waiting_for_cards(scene: &Scene) -> u64 {
    let waits = |phase: &Reading<JobPhase>| {
        matches!(phase, Reading::Known(JobPhase::Waiting | JobPhase::Preempted | JobPhase::Refused))
    };
    let is_for_cards = |word: &str| {
        gpuwhy_knowledge::kubernetes_reason(word)
            .is_some_and(|fact| fact.resource == Some(gpuwhy_knowledge::LimitedResource::Cards))
    };
    let jobs = scene.jobs.iter().filter(|job| waits(&job.phase));
    jobs.filter(|job| job.reasons.iter().any(|reason| is_for_cards(&reason.word)))
        .map(Job::number)
        .fold(0, u64::saturating_add)
}

fn fill_detail(scene: &Scene, short: &[Short<'_>], offers: &Offers<'_>, draft: &mut Draft) {
    let detail = &mut draft.finding.detail;
    if let [only] = short {
        detail.insert("offered".to_owned(), only.offered.to_string());
        if let Some(has) = only.has {
            detail.insert("has".to_owned(), has.to_string());
        }
    }
    if let Some(xid) = offers.out.iter().find_map(|out| out.xid) {
        detail.insert("xid".to_owned(), xid.to_string());
    }
    // Where no node of the text offers any card, whoever waits for one waits for this.
    let offers_some = scene.cluster.iter().any(|node| node.has.cards.known().is_some_and(|cards| *cards > 0));
    if !short.is_empty() && !offers_some {
        detail.insert("scope".to_owned(), "all".to_owned());
    }
}

fn advise(scene: &Scene, short: &[Short<'_>], offers: &Offers<'_>, draft: &mut Draft) {
    let runtimes = &scene.machine.container_runtimes;
    let knows_cards = runtimes.known().is_none_or(|names| names.iter().any(|name| name.contains("nvidia")));
    let finds_none = matches!(offers.none, Some((PluginEvent::NoDevices, _)))
        || short
            .iter()
            .any(|short| matches!(short.known, Known::Label | Known::Presence) && short.offered == 0);
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look());
    if finds_none || !knows_cards {
        draft.advise(Action::GrantDevice, Vec::new(), text::fix_runtime());
    }
    draft.advise(Action::RestartService, Vec::new(), text::fix_restart());
    if offers.out.iter().any(|out| out.xid.is_some()) {
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_ignore());
    }
}
