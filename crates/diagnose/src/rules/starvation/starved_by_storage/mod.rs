//! `starved-by-storage`: work waits for reads from storage.

mod said;
mod stood;

use std::collections::BTreeMap;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{BytesPerSecond, Cores, Percent, Unit};

use super::waiting_card::{WaitingCard, cards_with_slow_loaders};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::groups::cgroups_of;
use crate::facts::team::LoaderKind;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/starved_by_storage.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::StarvedByStorage,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::ProcessState,
            Signal::WaitChannel,
            Signal::ProcessCpu,
            Signal::ThreadCpu,
            Signal::BlockDelay,
            Signal::ProcessIo,
            Signal::Mounts,
            Signal::CgroupPressure,
            Signal::HostPressure,
            Signal::ProgramLog,
            Signal::Stacks,
            Signal::Profile,
            Signal::Trace,
        ],
    },
    check,
};

/// Loaders that wait twice as long as the limit prove it fully.
const FULL_PROOF: f64 = 2.0;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    stood::check(scene, limits, findings);
    let shares = |waiting: &WaitingCard<'_>| (waiting.storage, waiting.storage + waiting.processor);
    for waiting in cards_with_slow_loaders(scene, limits, findings, Signal::WaitChannel, shares) {
        findings.report(judge(scene, &waiting, limits));
    }
}

fn judge(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, waiting.work.card, text::summary());
    waiting.weigh_card(scene, limits, &mut draft);
    weigh_blocked(scene, waiting, limits, &mut draft);
    weigh_processor(scene, waiting, limits, &mut draft);
    weigh_delay(waiting, limits, &mut draft);
    weigh_pressure(scene, waiting, limits, &mut draft);
    weigh_writes(waiting, limits, &mut draft);
    mention_places(scene, waiting, &mut draft);
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_nearer());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_larger_files());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_prefetch());
    waiting.finish(scene, draft)
}

/// Weighs how much of their time the loaders wait for storage, and where.
fn weigh_blocked(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let loaders = &waiting.team.loaders;
    let blocked =
        loaders.iter().filter(|loader| loader.waiting.storage >= limits.loader_blocked_share_min).count();
    let share = Percent(waiting.storage * 100.0);
    let words = match waiting.team.kind {
        LoaderKind::Processes => text::loaders_blocked(loaders.len(), blocked, share),
        LoaderKind::Threads => text::threads_blocked(loaders.len(), blocked, share),
        LoaderKind::MainThread => text::main_thread_blocked(share),
    };
    let evidence = once(Signal::ProcessState, share.0, Unit::Percent, Reader::ProcTask, words);
    let usual = normal(Comparison::Less, limits.loader_blocked_share_min * 100.0);
    let evidence = with_normal(over(evidence, waiting.team.looks(), scene.window.span_s), usual);
    draft.agree_by(3.0, waiting.storage / (limits.loader_blocked_share_min * FULL_PROOF), evidence);

    let mut channels: Vec<String> =
        loaders.iter().filter_map(|loader| loader.waiting.channel).map(str::to_owned).collect();
    channels.sort();
    channels.dedup();
    if channels.is_empty() {
        // Where it waits may be readable by root only; that it is blocked is not.
        draft.silent(1.0);
        return;
    }
    let evidence =
        once(Signal::WaitChannel, channels.join(" "), Unit::Text, Reader::ProcTask, text::channels(channels));
    draft.agree(1.0, evidence);
}

/// Weighs processor time: where decoding takes longer than reading, storage is not the slow part.
fn weigh_processor(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    if waiting.processor > waiting.storage {
        let percent = Percent(waiting.processor * 100.0);
        let evidence =
            once(Signal::ThreadCpu, percent.0, Unit::Percent, Reader::ProcTask, text::loaders_run(percent));
        draft.contradict(1.5, over(evidence, waiting.team.looks(), scene.window.span_s));
        return;
    }
    let (Some(used), Some(cpus)) = (waiting.team.cores(), scene.host.cpus.known()) else {
        draft.silent(1.0);
        return;
    };
    let words = text::cores_used(*cpus, Cores(used));
    let evidence = once(Signal::ProcessCpu, used, Unit::Cores, Reader::ProcPid, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    let strength = 1.0 - waiting.processor / limits.loader_cores_full;
    draft.agree_by(1.0, strength, evidence);
}

/// Weighs block-I/O delay. Network file systems and direct reads have none, so none proves nothing.
fn weigh_delay(waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let delays: Vec<f64> = waiting
        .team
        .processes()
        .iter()
        .filter_map(|process| process.block_delay.known())
        .map(|delay| delay.0)
        .collect();
    let longest = delays.iter().copied().fold(0.0, f64::max);
    if longest < limits.block_delay_share_min {
        return;
    }
    // Several threads together, or the kernel's own rounding, may exceed the wall clock.
    let percent = Percent(longest.min(1.0) * 100.0);
    let evidence =
        once(Signal::BlockDelay, percent.0, Unit::Percent, Reader::ProcPid, text::block_delay(percent));
    draft.agree(0.5, with_normal(evidence, normal(Comparison::Less, limits.block_delay_share_min * 100.0)));
}

/// Weighs pressure: the run's own control group before the machine. Low pressure proves nothing.
fn weigh_pressure(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let own = waiting
        .team
        .processes()
        .iter()
        .flat_map(|process| cgroups_of(scene, process))
        .filter_map(|cgroup| cgroup.io_some.known())
        .map(|share| share.0)
        .fold(0.0, f64::max);
    let machine = scene.host.pressure.io_some.known().map_or(0.0, |share| share.0);
    let (signal, reader, share, weight) = if own >= limits.io_pressure_share_notice {
        (Signal::CgroupPressure, Reader::Cgroup, own, 1.0)
    } else {
        (Signal::HostPressure, Reader::ProcPressure, machine, 0.5)
    };
    if share < limits.io_pressure_share_notice {
        return;
    }
    let percent = Percent(share * 100.0);
    let words = match signal {
        Signal::CgroupPressure => text::pressure_group(percent),
        _ => text::pressure_machine(percent),
    };
    let evidence = once(signal, percent.0, Unit::Percent, reader, words);
    let usual = normal(Comparison::Less, limits.io_pressure_share_notice * 100.0);
    let evidence = with_normal(over(evidence, scene.window.samples, scene.window.span_s), usual);
    draft.agree_by(weight, share / limits.io_pressure_share_strong, evidence);
}

/// Weighs writes: a run that saves its state waits for storage too, and is not starved.
fn weigh_writes(waiting: &WaitingCard<'_>, limits: &Limits, draft: &mut Draft) {
    let blocked = waiting
        .team
        .loaders
        .iter()
        .filter(|loader| loader.waiting.storage >= limits.loader_blocked_share_min);
    // Read calls count here whatever file system answers; what is handed over a pipe is no write to storage.
    let (read, written) = blocked
        .filter_map(|loader| loader.process.io.known())
        .fold((0.0, 0.0), |(read, written), io| (read + io.read_chars.0, written + io.written_bytes.0));
    if written <= read || written < limits.quiet_io_bytes as f64 {
        return;
    }
    let words = text::writes_more(BytesPerSecond(read), BytesPerSecond(written));
    draft.contradict(2.0, once(Signal::ProcessIo, written, Unit::BytesPerSecond, Reader::ProcPid, words));
    draft.only_possible();
}

/// Says from which file system the loaders read.
fn mention_places(scene: &Scene, waiting: &WaitingCard<'_>, draft: &mut Draft) {
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    for process in waiting.team.processes() {
        for (mount, number) in process.file_mounts.known().into_iter().flatten() {
            *files.entry(mount).or_default() += number;
        }
    }
    let Some((mount, _)) =
        files.iter().filter(|(mount, _)| !is_system_place(mount)).max_by_key(|(_, number)| **number)
    else {
        return;
    };
    let mounted = scene.mounts.known().into_iter().flatten().find(|point| point.target == **mount);
    let words = match mounted {
        Some(point) => text::place(point.file_system.as_str(), point.target.as_str()),
        None => text::place_unknown(*mount),
    };
    draft.finding.detail.insert("mount".to_owned(), (*mount).to_owned());
    draft.mention(once(Signal::Mounts, *mount, Unit::Text, Reader::ProcPid, words));
}

fn is_system_place(mount: &str) -> bool {
    ["/dev", "/proc", "/sys", "/run", "/tmp"].iter().any(|place| mount.starts_with(place))
}
