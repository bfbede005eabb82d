//! `vram-held-by-dead-process`: a run is over, and one of its processes still holds memory.

mod residue;

use std::collections::BTreeMap;

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Seconds, Unit};
use gpuwhy_model::verdict::{Culprit, Impact, Severity, Subject};

use crate::draft::{Draft, card_subject};
use crate::evidence::{flag, holds, idle as idle_evidence, normal, once, tree_cores};
use crate::facts::cards::{Holder, holders, is_worth_naming, seconds_lost, whole_cards, why_not_in_proc};
use crate::facts::idle::{
    Idle, IdleSource, idle, is_for_want_of_looks, tree_cores as cores_of_tree, tree_left_storage_alone,
};
use crate::facts::kin::Kin;
use crate::facts::run::{DeadLeader, Parent, dead_leader, living_leader, parent};
use crate::facts::{culprit, names};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/vram_held_by_dead_process.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::VramHeldByDeadProcess,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::VramByProcess,
            Signal::GpuIdleFor,
            Signal::ProcessAge,
            Signal::ProcessCpu,
            Signal::ProcessIo,
            Signal::ParentAlive,
            Signal::ProcessState,
            Signal::ProcessEnvironment,
            Signal::ProcessCommand,
            Signal::ProcessList,
            Signal::VramUnexplained,
            Signal::DeviceHolders,
            Signal::KernelLog,
        ],
    },
    check,
};

/// A process that was found blocked in this share of looks does not come out of it.
const STUCK_SHARE: f64 = 0.95;

/// A holder whose run may be over, with what was seen of it.
struct Suspect<'scene> {
    holder: Holder<'scene>,
    process: &'scene Process,
    parent: Parent,
    sign: Result<DeadLeader, Absence>,
    idle: Result<Idle, Absence>,
    cores: Result<f64, Absence>,
    /// Whether it is blocked in the kernel all the time and nothing moves: no signal ends it.
    is_stuck: bool,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let kin = Kin::of(scene);
    let mut runs: BTreeMap<String, Vec<Suspect<'_>>> = BTreeMap::new();
    for card in whole_cards(scene) {
        for holder in holders(scene, card) {
            if !is_worth_naming(holder.bytes(), card, limits) {
                continue;
            }
            if let Some(suspect) = suspect(&kin, holder, limits, findings) {
                runs.entry(key_of_run(&suspect)).or_default().push(suspect);
            }
        }
    }
    for suspects in runs.values() {
        report(scene, suspects, limits, findings);
    }
    residue::check(scene, limits, findings);
}

/// Asks every question whose answer can show that a run is not over; the first such answer ends it.
fn suspect<'scene>(
    kin: &Kin<'scene>,
    holder: Holder<'scene>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Suspect<'scene>> {
    let scene = kin.scene;
    let card = Some(holder.card.parent.unwrap_or(holder.card.index));
    let Some(process) = holder.process else {
        // Gone, in another pid namespace, or hidden: from here these look the same.
        findings.blind(Signal::ProcessList, why_not_in_proc(scene));
        return None;
    };
    if holder.worked(limits) == Some(true) {
        findings.rule_out(Signal::GpuIdleFor, card);
        return None;
    }
    let sign = match dead_leader(process) {
        Ok(Some(sign)) => Ok(sign),
        Ok(None) => {
            findings.rule_out(Signal::ProcessCommand, card);
            return None;
        }
        Err(absence) => Err(absence),
    };
    let is_zombie = sign == Ok(DeadLeader::Zombie);
    let parent = parent(scene, process);
    let has_leader = living_leader(scene, process).is_some();
    if !is_zombie && (matches!(parent, Parent::Alive(_)) || has_leader) {
        findings.rule_out(Signal::ParentAlive, card);
        return None;
    }
    let cores = cores_of_tree(kin, process);
    if cores.as_ref().is_ok_and(|cores| *cores > limits.dead_process_cores_max) {
        findings.rule_out(Signal::ProcessCpu, card);
        return None;
    }
    let is_stuck = is_stuck(kin, process, limits);
    if !is_stuck && tree_left_storage_alone(kin, process, limits) == Ok(false) {
        findings.rule_out(Signal::ProcessIo, card);
        return None;
    }
    let idle = idle(&holder);
    if idle.as_ref().is_ok_and(|idle| {
        idle.known_by == IdleSource::LastWork && idle.at_least_s < limits.dead_process_idle_s
    }) {
        findings.rule_out(Signal::GpuIdleFor, card);
        return None;
    }
    Some(Suspect { holder, process, parent, sign, idle, cores, is_stuck })
}

/// Returns whether a process, alone, is blocked in the kernel in all looks and moves not a byte.
fn is_stuck<'scene>(kin: &Kin<'scene>, process: &'scene Process, limits: &Limits) -> bool {
    let moves_nothing = process.io.known().is_some_and(|io| {
        io.read_chars.0 + io.written_chars.0 + io.read_bytes.0 + io.written_bytes.0
            < limits.quiet_io_bytes as f64
    });
    let is_blocked = process.states.n > 1 && process.states.blocked >= STUCK_SHARE;
    is_blocked && moves_nothing && kin.tree(process).len() == 1
}

/// Returns what the holders of one dead run have in common.
fn key_of_run(suspect: &Suspect<'_>) -> String {
    let process = suspect.process;
    let environment = process.environment.known();
    let named = ["TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"]
        .iter()
        .find_map(|name| environment?.get(*name).map(|value| format!("{name} {value}")));
    let uid = process.uid.known().copied().unwrap_or_default();
    named.map_or_else(
        || format!("dead session {} of {uid}", process.session),
        |name| format!("dead {name} of {uid}"),
    )
}

fn report(scene: &Scene, suspects: &[Suspect<'_>], limits: &Limits, findings: &mut Findings) {
    let Some(first) = suspects.first() else {
        return;
    };
    let bytes = Bytes(suspects.iter().map(|suspect| suspect.holder.bytes().0).sum());
    // The run is as idle as its least idle part.
    let weakest = suspects.iter().min_by(|one, other| idle_s(one).total_cmp(&idle_s(other))).unwrap_or(first);
    let mut draft = Draft::new(
        &RULE,
        card_subject(first.holder.card),
        key_of_run(first),
        cards_of(suspects),
        summary(bytes, weakest),
    )
    .severity(Severity::Warn);
    if draft.finding.cards.len() > 1 {
        draft.finding.subject = Subject {
            kind: SubjectKind::Workload,
            id: first.process.key.pid.to_string(),
            name: names::called(first.process),
        };
    }
    draft.agree(2.0, holds(scene, &first.holder));
    for suspect in &suspects[1..] {
        draft.mention(holds(scene, &suspect.holder));
    }
    weigh_idle(scene, weakest, limits, &mut draft);
    weigh_processor(scene, weakest, limits, &mut draft);
    weigh_io(scene, weakest, limits, &mut draft);
    weigh_parent(weakest, &mut draft);
    weigh_sign(weakest, &mut draft);
    draft.balance.past_decides = true;

    let holders: Vec<Holder<'_>> = suspects.iter().map(|suspect| suspect.holder).collect();
    let culprits = suspects.iter().map(culprit_of).collect();
    let lost_s = seconds_lost(scene, &draft.finding.cards, limits);
    draft.finding.impact = Impact { gpu_seconds: lost_s, bytes_held: bytes.0, blocked: 0 };
    advise(suspects, &mut draft);
    findings.report(draft.culprits(culprits, culprit::pids(&holders)));
}

fn culprit_of(suspect: &Suspect<'_>) -> Culprit {
    let is_zombie = suspect.sign == Ok(DeadLeader::Zombie);
    let remark = match suspect.parent {
        _ if is_zombie => Some(text::who_zombie()),
        Parent::Gone => Some(text::parent_gone()),
        _ => None,
    };
    Culprit { remark, ..culprit::of_process(suspect.process) }
}

fn idle_s(suspect: &Suspect<'_>) -> f64 {
    suspect.idle.as_ref().map_or(0.0, |idle| idle.at_least_s)
}

fn cards_of(suspects: &[Suspect<'_>]) -> Vec<u32> {
    let mut cards: Vec<u32> = suspects
        .iter()
        .map(|suspect| suspect.holder.card.parent.unwrap_or(suspect.holder.card.index))
        .collect();
    cards.sort_unstable();
    cards.dedup();
    cards
}

fn summary(bytes: Bytes, suspect: &Suspect<'_>) -> gpuwhy_model::text::Text {
    match &suspect.idle {
        Ok(Idle { known_by: IdleSource::ProcessorTime { used_s, age_s }, .. }) => {
            text::summary_little_work(Seconds(*age_s), bytes, Seconds(*used_s))
        }
        Ok(idle) => text::summary(bytes, Seconds(idle.at_least_s)),
        Err(_) => text::summary_unknown_idle(bytes),
    }
}

fn weigh_idle(scene: &Scene, suspect: &Suspect<'_>, limits: &Limits, draft: &mut Draft) {
    match &suspect.idle {
        Ok(idle) => {
            draft.agree(2.0, idle_evidence(scene, *idle, limits.dead_process_idle_s));
            if idle.at_least_s < limits.dead_process_idle_s {
                draft.possible_until(limits.dead_process_idle_s);
            }
        }
        Err(absence) => {
            draft.unseen(2.0, Signal::GpuIdleFor, absence.clone());
            draft.possible_until(limits.dead_process_idle_s);
        }
    }
}

fn weigh_processor(scene: &Scene, suspect: &Suspect<'_>, limits: &Limits, draft: &mut Draft) {
    match &suspect.cores {
        Ok(cores) => {
            let limit = normal(Comparison::Greater, limits.dead_process_cores_max);
            draft.agree(1.0, tree_cores(scene, *cores, limit));
        }
        // A single look has no rates; how little it used in its life is counted already.
        Err(absence) if is_for_want_of_looks(scene, absence) => draft.silent(1.0),
        Err(absence) => draft.unseen(1.0, Signal::ProcessCpu, absence.clone()),
    }
}

fn weigh_io(scene: &Scene, suspect: &Suspect<'_>, limits: &Limits, draft: &mut Draft) {
    if suspect.is_stuck {
        let place = suspect.process.wait_channels.first().map_or("?", |channel| channel.name.as_str());
        let words = text::is_stuck(place);
        draft.agree(0.5, once(Signal::ProcessState, "D", Unit::Text, Reader::ProcPid, words));
        return;
    }
    match tree_left_storage_alone(&Kin::of(scene), suspect.process, limits) {
        Ok(_) => draft.agree(0.5, flag(Signal::ProcessIo, Reader::ProcPid, text::no_io())),
        Err(absence) if is_for_want_of_looks(scene, &absence) => draft.silent(0.5),
        Err(absence) => draft.unseen(0.5, Signal::ProcessIo, absence),
    }
}

fn weigh_parent(suspect: &Suspect<'_>, draft: &mut Draft) {
    if suspect.sign == Ok(DeadLeader::Zombie) {
        return;
    }
    match &suspect.parent {
        Parent::Gone => {
            let words = match names::spawning_parent(suspect.process) {
                Some(named) => text::parent_gone_named(u64::from(named)),
                None => text::parent_gone(),
            };
            draft.agree(2.0, once(Signal::ParentAlive, "gone", Unit::Text, Reader::ProcPid, words));
        }
        Parent::Alive(_) => draft.only_possible(),
        Parent::Unclear(absence) => {
            draft.unseen(2.0, Signal::ParentAlive, absence.clone());
            draft.only_possible();
        }
    }
}

fn weigh_sign(suspect: &Suspect<'_>, draft: &mut Draft) {
    match &suspect.sign {
        Ok(DeadLeader::Zombie) => {
            draft.agree(4.0, once(Signal::ProcessState, "Z", Unit::Text, Reader::ProcPid, text::is_zombie()));
        }
        Ok(DeadLeader::Worker) => {
            draft.agree(2.0, flag(Signal::ProcessCommand, Reader::ProcPid, text::is_worker()));
        }
        Ok(DeadLeader::Rank(variable)) => {
            let words = text::has_rank(*variable);
            draft.agree(2.0, once(Signal::ProcessEnvironment, *variable, Unit::Text, Reader::ProcPid, words));
        }
        Ok(DeadLeader::RankByHand) => {
            let words = text::has_rank("RANK");
            draft.agree_by(
                2.0,
                0.5,
                once(Signal::ProcessEnvironment, "RANK", Unit::Text, Reader::ProcPid, words),
            );
            // Runs over several machines are also started by hand, one rank on each.
            draft.only_possible();
        }
        Err(absence) => {
            draft.unseen(2.0, Signal::ProcessEnvironment, absence.clone());
            draft.only_possible();
        }
    }
}

fn advise(suspects: &[Suspect<'_>], draft: &mut Draft) {
    let pids: Vec<String> = suspects.iter().map(|suspect| suspect.process.key.pid.to_string()).collect();
    let targets: Vec<Target> =
        suspects.iter().map(|suspect| culprit::target(suspect.process.key.pid)).collect();
    if suspects.iter().any(|suspect| suspect.sign == Ok(DeadLeader::Zombie)) {
        draft.advise(Action::LookAgain, targets, text::fix_zombie(pids));
        return;
    }
    draft.advise(Action::AskOwner, targets.clone(), text::fix_ask(pids.clone()));
    if suspects.iter().any(|suspect| suspect.is_stuck) {
        draft.advise(Action::LookAgain, targets, text::fix_stuck(pids));
        return;
    }
    draft.advise(Action::Terminate, targets, text::fix_terminate(pids));
}
