//! Evidence that several rules use, with its words, its unit and who measured it.

use gpuwhy_model::evidence::{Comparison, Evidence, EvidenceSource, Normal, Value};
use gpuwhy_model::sample::KernelFact;
use gpuwhy_model::scene::{Card, Process, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, Cores, Percent, Seconds, Unit};

use crate::facts::cards::Holder;
use crate::facts::idle::{Idle, IdleSource};
use crate::facts::xids::Report;
use crate::facts::{culprit, names};
use crate::shared_text;

/// What would be normal.
pub(crate) const fn normal(op: Comparison, value: f64) -> Normal {
    Normal { op, value }
}

/// Returns who delivered a value of a card.
pub(crate) fn reader(scene: &Scene, live: Reader) -> Reader {
    if scene.provenance.source == SourceKind::Text { Reader::NvidiaSmi } else { live }
}

/// Makes evidence of a single look.
pub(crate) fn once(
    signal: Signal,
    value: impl Into<Value>,
    unit: Unit,
    reader: Reader,
    text: Text,
) -> Evidence {
    Evidence { signal, value: value.into(), unit, normal: None, source: EvidenceSource::once(reader), text }
}

/// Says that a thing is so.
pub(crate) fn flag(signal: Signal, reader: Reader, text: Text) -> Evidence {
    once(signal, true, Unit::Flag, reader, text)
}

/// Adds what would be normal.
pub(crate) fn with_normal(mut evidence: Evidence, normal: impl Into<Option<Normal>>) -> Evidence {
    evidence.normal = normal.into();
    evidence
}

/// Adds how often and for how long was looked.
pub(crate) fn over(mut evidence: Evidence, n: usize, span_s: f64) -> Evidence {
    evidence.source = EvidenceSource::over(evidence.source.reader, n, span_s);
    evidence
}

/// Share of time in which a kernel ran.
pub(crate) fn busy(scene: &Scene, busy: &Trend<Percent>, normal: impl Into<Option<Normal>>) -> Evidence {
    let (reader, text) = if busy.n > 1 {
        (Reader::NvmlSamples, shared_text::busy(busy.mean))
    } else {
        (Reader::Nvml, shared_text::busy_at_one_look(busy.mean))
    };
    let reader = self::reader(scene, reader);
    let evidence = once(Signal::GpuBusy, busy.mean.0, Unit::Percent, reader, text);
    with_normal(over(evidence, busy.n, busy.span_s), normal)
}

/// Share of samples without any kernel.
pub(crate) fn zeros(scene: &Scene, busy: &Trend<Percent>, normal: impl Into<Option<Normal>>) -> Evidence {
    let percent = Percent(busy.zeros * 100.0);
    let words = if busy.zeros > 0.0 { shared_text::zeros(percent) } else { shared_text::no_gaps() };
    let reader = reader(scene, Reader::NvmlSamples);
    let evidence = once(Signal::GpuBusyShape, percent.0, Unit::Percent, reader, words);
    with_normal(over(evidence, busy.n, busy.span_s), normal)
}

/// Power as a share of its limit.
pub(crate) fn power(scene: &Scene, card: &Card, ratio: f64, normal: impl Into<Option<Normal>>) -> Evidence {
    let percent = Percent(ratio * 100.0);
    let reader = reader(scene, Reader::Nvml);
    let evidence = once(Signal::PowerRatio, percent.0, Unit::Percent, reader, shared_text::power(percent));
    let looks = card.power.known().map_or((1, 0.0), |power| (power.n, power.span_s));
    with_normal(over(evidence, looks.0, looks.1), normal)
}

/// What one process holds.
pub(crate) fn holds(scene: &Scene, holder: &Holder<'_>) -> Evidence {
    let bytes = holder.bytes();
    let text = shared_text::holds(bytes, culprit::called(holder), u64::from(holder.client.pid.0));
    once(Signal::VramByProcess, bytes.0, Unit::Bytes, reader(scene, Reader::Nvml), text)
}

/// How much of a card's memory is used.
pub(crate) fn memory_used(scene: &Scene, used: Bytes, total: Bytes) -> Evidence {
    let text = shared_text::memory_used(total, used);
    once(Signal::VramUsed, used.0, Unit::Bytes, reader(scene, Reader::Nvml), text)
}

/// For how long nothing was done on the card, and how that is known.
pub(crate) fn idle(scene: &Scene, idle: Idle, limit_s: f64) -> Evidence {
    let (signal, live, text) = match idle.known_by {
        IdleSource::LastWork => (
            Signal::GpuIdleFor,
            Reader::NvmlSamples,
            shared_text::idle_since_last_work(Seconds(idle.at_least_s)),
        ),
        IdleSource::Buffers => {
            (Signal::GpuIdleFor, Reader::NvmlSamples, shared_text::idle_at_least(Seconds(idle.at_least_s)))
        }
        IdleSource::ProcessorTime { used_s, age_s } => (
            Signal::ProcessAge,
            Reader::ProcPid,
            shared_text::idle_by_processor_time(Seconds(age_s), Seconds(used_s)),
        ),
    };
    let evidence = once(signal, idle.at_least_s, Unit::Seconds, reader(scene, live), text);
    with_normal(evidence, normal(Comparison::Less, limit_s))
}

/// Processor cores that a process and all below it used.
pub(crate) fn tree_cores(scene: &Scene, cores: f64, limit: Normal) -> Evidence {
    let text = shared_text::tree_cores(Cores(cores));
    let evidence = once(Signal::ProcessCpu, cores, Unit::Cores, Reader::ProcPid, text);
    with_normal(over(evidence, scene.window.samples, scene.window.span_s), limit)
}

/// A living process.
pub(crate) fn alive(process: &Process) -> Evidence {
    let text = shared_text::alive(names::called(process), u64::from(process.key.pid.0));
    once(Signal::ParentAlive, "alive", Unit::Text, Reader::ProcPid, text)
}

/// Shows a numbered error: its line of the kernel log, or the driver's event.
pub(crate) fn reported(report: &Report<'_>) -> Evidence {
    let number = report.number;
    let Some(line) = report.line else {
        return once(
            Signal::XidEvents,
            number,
            Unit::Code,
            Reader::NvmlEvents,
            shared_text::xid_event(number),
        );
    };
    // A line of clean-up has a number of its own.
    let is_named = matches!(&line.fact, Some(KernelFact::Xid { caused_by: Some(_), .. }));
    let words = match report.age_s {
        Some(age_s) if is_named => {
            shared_text::xid_named_with_age(Seconds(age_s), line.text.as_str(), number)
        }
        None if is_named => shared_text::xid_named(line.text.as_str(), number),
        Some(age_s) => shared_text::xid_line_with_age(Seconds(age_s), line.text.as_str(), number),
        None => shared_text::xid_line(line.text.as_str(), number),
    };
    once(Signal::KernelLog, number, Unit::Code, Reader::KernelLog, words)
}
