//! States of jobs and nodes in Slurm's long and short words.

use gpuwhy_model::scene::{JobPhase, NodeActivity, NodeCondition};

/// Returns how far a job has come by its state: `PD`, `PENDING`, `CANCELLED by 1000`, `RUNNING,COMPLETING`, `CANCELLED+`.
pub(super) fn phase(text: &str) -> Option<JobPhase> {
    let text = text.trim().trim_matches(['"', '(', ')']);
    let words = text.split([',', ' ', '+', '|']).filter(|word| !word.is_empty());
    let mut phase = None;
    for word in words {
        match phase_of_word(word) {
            // A job that has ended and still leaves its nodes is ending.
            Some(JobPhase::Ending) => return Some(JobPhase::Ending),
            Some(JobPhase::Starting) if phase == Some(JobPhase::Running) => return Some(JobPhase::Starting),
            Some(known) if phase.is_none() => phase = Some(known),
            Some(_) => {}
            // What follows the first word explains it.
            None if phase.is_some() => break,
            None => return None,
        }
    }
    phase
}

fn phase_of_word(word: &str) -> Option<JobPhase> {
    let phase = match word.to_ascii_uppercase().as_str() {
        "PD" | "PENDING" | "RQ" | "REQUEUED" | "RH" | "REQUEUE_HOLD" | "RF" | "REQUEUE_FED" | "RD"
        | "RESV_DEL_HOLD" | "SE" | "SPECIAL_EXIT" => JobPhase::Waiting,
        "CF" | "CONFIGURING" | "PO" | "POWER_UP_NODE" => JobPhase::Starting,
        "R" | "RUNNING" | "RS" | "RESIZING" | "SI" | "SIGNALING" => JobPhase::Running,
        "S" | "SUSPENDED" | "ST" | "STOPPED" => JobPhase::Suspended,
        "CG" | "COMPLETING" | "SO" | "STAGE_OUT" => JobPhase::Ending,
        "CD" | "COMPLETED" => JobPhase::Completed,
        "F" | "FAILED" | "LF" | "LAUNCH_FAILED" => JobPhase::Failed,
        "CA" | "CANCELLED" | "CANCELED" | "RV" | "REVOKED" => JobPhase::Cancelled,
        "TO" | "TIMEOUT" | "DL" | "DEADLINE" => JobPhase::TimedOut,
        "OOM" | "OUT_OF_MEMORY" | "OUT_OF_ME" => JobPhase::OutOfMemory,
        "NF" | "NODE_FAIL" | "BF" | "BOOT_FAIL" => JobPhase::NodeFailed,
        "PR" | "PREEMPTED" => JobPhase::Preempted,
        _ => return None,
    };
    Some(phase)
}

/// Returns whether a cell is a state of a job in its long form, which nothing else looks like.
pub(super) fn is_long_job_state(text: &str) -> bool {
    let first = text.trim().split([' ', '+', ',']).next().unwrap_or_default();
    first.len() > 4
        && first.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && phase_of_word(first).is_some()
}

/// What the state of a node says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NodeState {
    pub(super) activity: Option<NodeActivity>,
    pub(super) conditions: Vec<NodeCondition>,
}

/// Returns what a node's state says: `mix-`, `drng@`, `IDLE+DRAIN`, `DOWN*+DRAIN`, `allocated`; none when it is no state.
pub(super) fn node_state(text: &str) -> Option<NodeState> {
    let mut state = NodeState::default();
    let text = text.trim().trim_matches('"').to_ascii_lowercase();
    let mut parts = text.split(['+', ',', ' ']).filter(|part| !part.is_empty());
    let base = parts.next()?;
    if !add_word(&mut state, base) {
        return None;
    }
    for flag in parts {
        if !add_word(&mut state, flag) && !IGNORED_FLAGS.contains(&bare(flag)) {
            return None;
        }
    }
    if text.ends_with('+') {
        add(&mut state, NodeCondition::Completing);
    }
    Some(state)
}

/// Flags that say nothing of whether the node takes jobs.
const IGNORED_FLAGS: &[&str] = &[
    "cloud",
    "dynamic_norm",
    "dynamic_future",
    "external",
    "res",
    "undrain",
    "resume",
    "power_drain",
    "backfill",
];

/// Marks behind a state.
const MARKS: &[(char, NodeCondition)] = &[
    ('*', NodeCondition::NotResponding),
    ('~', NodeCondition::PoweredDown),
    ('!', NodeCondition::PoweredDown),
    ('%', NodeCondition::PoweredDown),
    ('#', NodeCondition::PoweringUp),
    ('$', NodeCondition::Maintenance),
    ('@', NodeCondition::RebootPending),
    ('^', NodeCondition::Rebooting),
    ('-', NodeCondition::Planned),
];

fn bare(word: &str) -> &str {
    word.trim_end_matches(|last| MARKS.iter().any(|(mark, _)| *mark == last))
}

fn add(state: &mut NodeState, condition: NodeCondition) {
    if !state.conditions.contains(&condition) {
        state.conditions.push(condition);
    }
}

/// Adds what one word of a state says; returns whether it is one.
fn add_word(state: &mut NodeState, word: &str) -> bool {
    use NodeActivity::{Allocated, Idle, Mixed};
    use NodeCondition as Is;
    let (activity, conditions): (Option<NodeActivity>, &[Is]) = match bare(word) {
        "alloc" | "allocated" | "npc" | "perfctrs" => (Some(Allocated), &[]),
        "mix" | "mixed" => (Some(Mixed), &[]),
        "idle" => (Some(Idle), &[]),
        "comp" | "completing" => (None, &[Is::Completing]),
        "drain" | "drained" => (None, &[Is::Drained]),
        "drng" | "draining" => (Some(Mixed), &[Is::Drained]),
        "down" | "futr" | "future" => (None, &[Is::Down]),
        "fail" | "failg" | "failing" | "error" => (None, &[Is::Failing]),
        "maint" | "maintenance" => (None, &[Is::Maintenance]),
        "resv" | "reserved" => (None, &[Is::Reserved]),
        "unk" | "unknown" | "no_respond" | "not_responding" => (None, &[Is::NotResponding]),
        "plnd" | "planned" | "block" | "blocked" => (None, &[Is::Planned]),
        "boot" | "booting" | "reboot_issued" => (None, &[Is::Rebooting]),
        "reboot" | "reboot_requested" => (None, &[Is::RebootPending]),
        "inval" | "invalid" | "invalid_reg" => (None, &[Is::Unregistered]),
        "pow_dn" | "powering_down" | "powered_down" | "powerdown" | "power_down" => {
            (None, &[Is::PoweredDown])
        }
        "pow_up" | "powering_up" | "power_up" => (None, &[Is::PoweringUp]),
        _ => return false,
    };
    state.activity = state.activity.or(activity);
    for condition in conditions {
        add(state, *condition);
    }
    for mark in word[bare(word).len()..].chars() {
        for (_, condition) in MARKS.iter().filter(|(known, _)| *known == mark) {
            add(state, *condition);
        }
    }
    true
}

/// Returns the state of a partition as whether it starts jobs: `up`, `down`, `drain`, `inact`.
pub(super) fn queue_is_open(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "up" => Some(true),
        "down" | "drain" | "inact" | "inactive" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{JobPhase, NodeActivity, NodeCondition as Is};

    use super::{is_long_job_state, node_state, phase, queue_is_open};

    #[test]
    fn states_of_jobs_are_known() {
        for (text, expected) in [
            ("PD", Some(JobPhase::Waiting)),
            ("PENDING", Some(JobPhase::Waiting)),
            ("CANCELLED by 1000", Some(JobPhase::Cancelled)),
            ("CANCELLED+", Some(JobPhase::Cancelled)),
            ("RUNNING,COMPLETING", Some(JobPhase::Ending)),
            ("RUNNING CONFIGURING", Some(JobPhase::Starting)),
            ("COMPLETED (exit code 0)", Some(JobPhase::Completed)),
            ("OUT_OF_MEMORY", Some(JobPhase::OutOfMemory)),
            ("OUT_OF_ME+", Some(JobPhase::OutOfMemory)),
            ("ready", None),
            ("", None),
        ] {
            assert_eq!(phase(text), expected, "{text}");
        }
        assert!(is_long_job_state("NODE_FAIL") && !is_long_job_state("PD") && !is_long_job_state("Running"));
    }

    #[test]
    fn states_of_nodes_are_taken_apart() {
        let of = |text: &str| node_state(text).map(|state| (state.activity, state.conditions));
        let (idle, mixed, allocated) =
            (Some(NodeActivity::Idle), Some(NodeActivity::Mixed), Some(NodeActivity::Allocated));
        for (text, expected) in [
            ("idle", (idle, vec![])),
            ("mix-", (mixed, vec![Is::Planned])),
            ("drng@", (mixed, vec![Is::Drained, Is::RebootPending])),
            ("IDLE+DRAIN", (idle, vec![Is::Drained])),
            ("DOWN*+DRAIN", (None, vec![Is::Down, Is::NotResponding, Is::Drained])),
            ("ALLOCATED+DRAIN+RESERVED", (allocated, vec![Is::Drained, Is::Reserved])),
            ("IDLE+CLOUD+POWERED_DOWN", (idle, vec![Is::PoweredDown])),
            ("fail*", (None, vec![Is::Failing, Is::NotResponding])),
            ("IDLE+NOT_RESPONDING+INVALID_REG", (idle, vec![Is::NotResponding, Is::Unregistered])),
            ("idle$", (idle, vec![Is::Maintenance])),
            ("alloc+", (allocated, vec![Is::Completing])),
            ("mixed,drain", (mixed, vec![Is::Drained])),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
        for text in ["", "n1", "up", "running", "idle+hello", "Ready"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(
            [queue_is_open("up"), queue_is_open("INACT"), queue_is_open("x")],
            [Some(true), Some(false), None]
        );
    }
}
