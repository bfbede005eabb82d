//! `memory-preallocated`: a framework or server took most of a card at its start, by design.

mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::ProcessRole;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, Percent, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{busy, holds, normal, once, over, reader, with_normal};
use crate::facts::cards::{Holder, holders, whole_cards};
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/memory_preallocated.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::MemoryPreallocated,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::VramByProcess,
            Signal::VramGrowth,
            Signal::GpuBusy,
            Signal::ProcessCommand,
            Signal::ProcessLibraries,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// Memory that moves by less than this share of the card stands still.
const STANDS_STILL_SHARE: f64 = 0.01;

/// Other answers that say what the holder, or its card, is about.
const SAYS_MORE: &[Cause] = &[
    Cause::VramHeldByDeadProcess,
    Cause::IdleReserved,
    Cause::VramLeak,
    Cause::GpuLost,
    Cause::StarvedByStorage,
    Cause::StarvedByCpu,
    Cause::StarvedByHostCode,
    Cause::StarvedByNetworkInput,
    Cause::TransferBound,
    Cause::CheckpointPause,
    Cause::CommBound,
    Cause::CollectiveHang,
    Cause::BatchTooSmall,
];

/// By what it is known that memory is taken by design.
enum Design {
    /// It serves a model and keeps room for requests.
    Server,
    /// Its framework takes nearly all at its start.
    Framework(&'static str),
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    for card in whole_cards(scene) {
        if !is_largely_used(scene, card, limits) {
            continue;
        }
        let Some(largest) = holders(scene, card).into_iter().next() else {
            continue;
        };
        // An instance of a card is a card of its own.
        let share = share_of(largest.card, largest.bytes());
        if share.is_none_or(|share| share < limits.preallocated_share_min) {
            continue;
        }
        let Some(design) = design(&largest) else {
            continue;
        };
        let Some(trend) = card.busy.known() else {
            continue;
        };
        if trend.mean.0 > limits.preallocated_busy_percent_max {
            // It works: what it took, it may well need.
            findings.rule_out(Signal::GpuBusy, Some(card.index));
            continue;
        }
        if grows(&largest) {
            findings.rule_out(Signal::VramGrowth, Some(card.index));
            continue;
        }
        let says_more = findings
            .answers()
            .any(|draft| SAYS_MORE.contains(&draft.cause()) && draft.processes.contains(&largest.client.pid));
        if !says_more {
            findings.report(judge(scene, card, &largest, &design, trend, limits));
        }
    }
}

/// Returns whether most of a card's memory, or of one of its instances, is in use.
fn is_largely_used(scene: &Scene, card: &Card, limits: &Limits) -> bool {
    let instances = scene.cards.iter().filter(|part| part.parent == Some(card.index));
    std::iter::once(card)
        .chain(instances)
        .any(|part| part.memory_share().known().is_some_and(|share| *share >= limits.preallocated_share_min))
}

fn share_of(card: &Card, bytes: Bytes) -> Option<f64> {
    let total = card.memory.known()?.total.0;
    (total > 0).then(|| bytes.0 as f64 / total as f64)
}

/// Returns what shows that the holder takes memory by design; none where nothing does.
fn design(holder: &Holder<'_>) -> Option<Design> {
    let Some(process) = holder.process else {
        let name = holder.client.name.known()?;
        let role = gpuwhy_knowledge::role(name.rsplit('/').next().unwrap_or(name));
        return matches!(role, Some(ProcessRole::Server | ProcessRole::ServerWorker))
            .then_some(Design::Server);
    };
    if names::is_server(process) {
        return Some(Design::Server);
    }
    let mut libraries = process.libraries.known().into_iter().flatten();
    let framework = libraries.find_map(|library| gpuwhy_knowledge::greedy_framework(library));
    framework.map(|framework| Design::Framework(framework.name()))
}

/// Returns whether what the holder holds moved in the window.
fn grows(holder: &Holder<'_>) -> bool {
    let total = holder.card.memory.known().map_or(0, |memory| memory.total.0) as f64;
    holder
        .client
        .memory_trend
        .known()
        .is_some_and(|trend| trend.max.0.saturating_sub(trend.min.0) as f64 > total * STANDS_STILL_SHARE)
}

fn judge(
    scene: &Scene,
    card: &Card,
    holder: &Holder<'_>,
    design: &Design,
    trend: &Trend<Percent>,
    limits: &Limits,
) -> Draft {
    let bytes = holder.bytes();
    let (summary, severity): (Text, Severity) = match design {
        Design::Server => (text::summary_server(bytes), Severity::Ok),
        Design::Framework(name) => (text::summary_framework(bytes, *name), Severity::Note),
    };
    let mut draft = Draft::about_card(&RULE, card, summary).severity(severity);
    let (group, subject) = culprit::run_of(scene, holder);
    draft = draft.group(group, subject);
    let total = holder.card.memory.known().map_or(0, |memory| memory.total.0) as f64;
    let usual = normal(Comparison::Less, total * limits.preallocated_share_min);
    draft.agree(2.0, with_normal(holds(scene, holder), usual));
    let who = match design {
        Design::Server => {
            let words = text::is_a_server(culprit::called(holder));
            once(Signal::ProcessCommand, culprit::called(holder), Unit::Text, Reader::ProcPid, words)
        }
        Design::Framework(name) => {
            once(Signal::ProcessLibraries, *name, Unit::Text, Reader::ProcPid, text::has_loaded(*name))
        }
    };
    draft.agree(2.0, who);
    match holder.client.memory_trend.known() {
        Some(trend) if trend.n > 1 => {
            let words = text::stands_still();
            let evidence = once(Signal::VramGrowth, 0_u64, Unit::Bytes, reader(scene, Reader::Nvml), words);
            draft.agree(0.75, over(evidence, trend.n, trend.span_s));
        }
        _ => draft.silent(0.75),
    }
    draft.rest_on(trend);
    draft.agree(1.0, busy(scene, trend, normal(Comparison::Greater, limits.preallocated_busy_percent_max)));
    advise(design, &mut draft);
    draft.culprits(culprit::culprits(scene, &[*holder]), vec![holder.client.pid])
}

fn advise(design: &Design, draft: &mut Draft) {
    match design {
        Design::Server => {
            draft.advise(Action::Nothing, Vec::new(), text::fix_nothing());
            draft.advise(Action::ReduceMemory, Vec::new(), text::fix_server());
        }
        Design::Framework(_) => draft.advise(Action::ReduceMemory, Vec::new(), text::fix_framework()),
    }
}
