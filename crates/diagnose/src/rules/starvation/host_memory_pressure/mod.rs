//! `host-memory-pressure`: the machine itself is short of memory.

mod killed;
mod said;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::HostMemory;
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Percent, Unit};
use gpuwhy_model::verdict::{Impact, Severity};

use self::killed::{Killed, latest};
use super::partly_busy::{PartlyBusyCard, partly_busy_cards};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::culprit;
use crate::facts::kin::Kin;
use crate::facts::waiting::{Places, Waiting};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/host_memory_pressure.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::HostMemoryPressure,
    needs: Needs {
        span: Span::seconds(2.0),
        samples: 2,
        signals: &[
            Signal::HostMemory,
            Signal::HostPressure,
            Signal::HostPaging,
            Signal::PageFaults,
            Signal::WaitChannel,
            Signal::KernelLog,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// A process that holds this share of the machine's memory is worth naming.
const SHARE_WORTH_NAMING: f64 = 0.25;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let killed = latest(scene, limits);
    let Some(memory) = scene.host.memory.known().filter(|memory| memory.total > 0) else {
        if let Some(killed) = &killed {
            findings.report(was_short(scene, killed));
        }
        return;
    };
    let signs = Signs::of(scene, limits);
    if available_share(memory) <= limits.host_memory_available_share_max && signs.are_seen() {
        let suffering = suffering_cards(scene, &signs, limits, findings);
        findings.report(is_short(scene, memory, &signs, killed.as_ref(), &suffering, limits));
        return;
    }
    if let Some(killed) = &killed {
        findings.report(was_short(scene, killed));
        return;
    }
    findings.rule_out(Signal::HostMemory, None);
}

fn available_share(memory: &HostMemory) -> f64 {
    memory.available as f64 / memory.total as f64
}

/// What shows that somebody suffers from a lack of memory.
#[derive(Debug, Default)]
struct Signs {
    /// Share of time in which all work waited for memory, where it is notable.
    all_waited: Option<f64>,
    /// The same for some work.
    some_waited: Option<f64>,
    /// Pages a second from and to swap, where it is notable.
    swapped: Option<f64>,
    /// Page faults of GPU programs a second that waited for a disk, where it is notable.
    faults: Option<f64>,
    /// Share of time in which a main thread of GPU programs waited until the kernel made room.
    waits: Option<f64>,
}

impl Signs {
    fn of(scene: &Scene, limits: &Limits) -> Self {
        let pressure = &scene.host.pressure;
        let paging = &scene.host.paging;
        let at_least = |value: Option<f64>, limit: f64| value.filter(|value| *value >= limit);
        let swapped_in = paging.swapped_in_per_s.known().copied();
        let swapped_out = paging.swapped_out_per_s.known().copied();
        let both_ways = swapped_in.zip(swapped_out);
        let places = Places::default();
        let gpu_programs = || scene.workloads.iter().flat_map(|workload| scene.processes_of(workload));
        let faults: f64 =
            gpu_programs().filter_map(|process| process.major_faults_per_s.known()).copied().sum();
        let waits = gpu_programs()
            .map(|process| Waiting::of_main_thread(process, &places).memory)
            .fold(0.0, f64::max);
        Self {
            all_waited: at_least(
                pressure.memory_full.known().map(|share| share.0),
                limits.memory_full_pressure_share_min,
            ),
            some_waited: at_least(
                pressure.memory_some.known().map(|share| share.0),
                limits.memory_some_pressure_share_min,
            ),
            // What only comes back from swap was sent there long ago.
            swapped: both_ways
                .filter(|(_, out)| *out >= limits.swap_pages_per_s_min)
                .map(|(came, went)| came + went),
            faults: at_least(Some(faults), limits.major_faults_per_s_min),
            waits: at_least(Some(waits), limits.loader_blocked_share_min),
        }
    }

    fn are_seen(&self) -> bool {
        [self.all_waited, self.some_waited, self.swapped, self.faults, self.waits].iter().any(Option::is_some)
    }
}

/// Returns the cards that rest while their programs wait for memory.
fn suffering_cards<'scene>(
    scene: &'scene Scene,
    signs: &Signs,
    limits: &Limits,
    findings: &mut Findings,
) -> Vec<PartlyBusyCard<'scene>> {
    let mark = findings.ruled_out.clone();
    let mut cards = partly_busy_cards(scene, limits, findings);
    // That a card is full says nothing about the machine's memory.
    findings.ruled_out = mark;
    let kin = Kin::of(scene);
    cards.retain(|work| work.processes().any(|process| suffers(&kin, process, signs, limits)));
    cards
}

/// Returns whether a program or something below it waits for memory.
///
/// While the machine swaps and all work stands still for it, a wait for a disk is one for memory too: what was in memory
/// has to be fetched again.
fn suffers<'scene>(kin: &Kin<'scene>, process: &'scene Process, signs: &Signs, limits: &Limits) -> bool {
    let places = Places::default();
    let disks_are_for_memory = signs.all_waited.is_some() && signs.swapped.is_some();
    kin.tree(process).into_iter().any(|member| {
        let faults = member.major_faults_per_s.known().copied().unwrap_or(0.0);
        let waiting = Waiting::of_main_thread(member, &places);
        let waits = waiting.memory + if disks_are_for_memory { waiting.storage } else { 0.0 };
        faults >= limits.major_faults_per_s_min || waits >= limits.loader_blocked_share_min
    })
}

/// Makes a finding of a machine that is short of memory now.
fn is_short(
    scene: &Scene,
    memory: &HostMemory,
    signs: &Signs,
    killed: Option<&Killed<'_>>,
    suffering: &[PartlyBusyCard<'_>],
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_machine(&RULE, scene, text::summary());
    let words = text::available(Bytes(memory.available), Bytes(memory.total));
    let evidence = once(Signal::HostMemory, memory.available, Unit::Bytes, Reader::ProcHost, words);
    let usual = normal(Comparison::Greater, memory.total as f64 * limits.host_memory_available_share_max);
    draft.agree(3.0, with_normal(evidence, usual));
    weigh_pressure(scene, signs, limits, &mut draft);
    weigh_paging(scene, signs, &mut draft);
    if let Some(killed) = killed {
        draft.agree(1.0, killed.evidence(scene));
    }
    advise(&mut draft);
    draft.finding.cards = suffering.iter().map(|work| work.card.index).collect();
    let waits: f64 = suffering.iter().map(PartlyBusyCard::waits).sum();
    draft.finding.impact = Impact { gpu_seconds: scene.window.span_s * waits, bytes_held: 0, blocked: 0 };
    let suffering_processes =
        suffering.iter().flat_map(|work| culprit::pids(&work.holders)).collect::<Vec<_>>();
    let large: Vec<_> = large_processes(scene, memory).into_iter().map(culprit::of_process).collect();
    draft.culprits(large, suffering_processes)
}

fn weigh_pressure(scene: &Scene, signs: &Signs, limits: &Limits, draft: &mut Draft) {
    let over_window = |evidence| over(evidence, scene.window.samples, scene.window.span_s);
    let percent = |share: f64| Percent((share * 100.0).min(100.0));
    if let Some(share) = signs.all_waited {
        let words = text::all_waited(percent(share));
        let evidence = once(Signal::HostPressure, share * 100.0, Unit::Percent, Reader::ProcPressure, words);
        let usual = normal(Comparison::Less, limits.memory_full_pressure_share_min * 100.0);
        draft.agree(2.0, over_window(with_normal(evidence, usual)));
    } else if let Some(share) = signs.some_waited {
        let words = text::some_waited(percent(share));
        let evidence = once(Signal::HostPressure, share * 100.0, Unit::Percent, Reader::ProcPressure, words);
        let usual = normal(Comparison::Less, limits.memory_some_pressure_share_min * 100.0);
        draft.agree_by(2.0, 0.7, over_window(with_normal(evidence, usual)));
    } else if let Some(absence) = scene.host.pressure.memory_full.absence() {
        draft.unseen(1.0, Signal::HostPressure, absence);
    } else {
        draft.silent(2.0);
    }
}

fn weigh_paging(scene: &Scene, signs: &Signs, draft: &mut Draft) {
    let over_window = |evidence| over(evidence, scene.window.samples, scene.window.span_s);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of small numbers")]
    let whole = |rate: f64| rate.max(0.0).round() as u64;
    match signs.swapped {
        Some(pages) => {
            let words = text::swaps(whole(pages));
            draft.agree(
                1.0,
                over_window(once(Signal::HostPaging, pages, Unit::Count, Reader::ProcVmstat, words)),
            );
        }
        // Without swap space there is nothing to swap.
        None => draft.silent(0.5),
    }
    if let Some(faults) = signs.faults {
        let words = text::faults(whole(faults));
        draft.agree(1.0, over_window(once(Signal::PageFaults, faults, Unit::Count, Reader::ProcPid, words)));
    }
    if let Some(share) = signs.waits {
        let percent = Percent(share * 100.0);
        let words = text::waits_for_room(percent);
        draft.agree(
            1.0,
            over_window(once(Signal::WaitChannel, percent.0, Unit::Percent, Reader::ProcTask, words)),
        );
    }
}

/// Makes a finding of a machine that was so short of memory a while ago that a process was ended for it.
fn was_short(scene: &Scene, killed: &Killed<'_>) -> Draft {
    let severity = if killed.is_part_of_a_run() { Severity::Warn } else { Severity::Note };
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_was(killed.name)).severity(severity);
    draft.agree(4.0, killed.evidence(scene));
    draft.silent(0.5);
    draft.balance.past_decides = true;
    draft.finding.detail.insert("killed".to_owned(), killed.name.to_owned());
    advise(&mut draft);
    draft
}

/// Returns the processes of GPU programs that hold a large part of the machine's memory, the largest first.
fn large_processes<'scene>(scene: &'scene Scene, memory: &HostMemory) -> Vec<&'scene Process> {
    let resident = |process: &Process| process.resident.known().map_or(0, |bytes| bytes.0);
    let is_large = |process: &&Process| resident(process) as f64 >= memory.total as f64 * SHARE_WORTH_NAMING;
    let mut large: Vec<&Process> = scene.processes.iter().filter(is_large).collect();
    large.sort_by_key(|process| (std::cmp::Reverse(resident(process)), process.key.pid));
    large
}

fn advise(draft: &mut Draft) {
    draft.advise(Action::FreeHostMemory, Vec::new(), text::fix_look());
    draft.advise(Action::FreeHostMemory, Vec::new(), text::fix_less());
    draft.advise(Action::MoveWork, Vec::new(), text::fix_room());
}
