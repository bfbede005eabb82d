//! Whether the run of a holder is over: its head is gone, and it is a part that cannot live alone.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Absence, Access, Reading};
use gpuwhy_model::sample::ProcessState;
use gpuwhy_model::scene::{Process, Scene};

use super::names;

/// What became of the process that started a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parent {
    /// It lives.
    Alive(Pid),
    /// It is gone: the holder was adopted.
    Gone,
    /// It cannot be told.
    Unclear(Absence),
}

/// Why a holder cannot be the head of a run by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeadLeader {
    /// Its main thread has ended, yet it still holds memory.
    Zombie,
    /// Its arguments or name are those of a worker that another process started.
    Worker,
    /// A launcher set its rank, and no launcher is left.
    Rank(&'static str),
    /// Its rank is set, though maybe by hand.
    RankByHand,
}

/// Returns what became of the parent of a process.
pub(crate) fn parent(scene: &Scene, process: &Process) -> Parent {
    if let Some(named) = names::spawning_parent(process)
        && is_in_initial_namespace(process)
        && named != process.parent.0
    {
        return Parent::Gone;
    }
    match scene.process(process.parent) {
        Some(adopter) if names::is_adopter(adopter) => adopted(process),
        Some(init) if names::is_container_init(init) => Parent::Unclear(Absence::Unsupported),
        Some(parent) if parent.state == Reading::Known(ProcessState::Zombie) => Parent::Gone,
        Some(parent) => Parent::Alive(parent.key.pid),
        None if process.parent.0 == 1 => adopted(process),
        None => Parent::Unclear(Absence::Denied(Access::VisibleProcesses)),
    }
}

/// Judges a process whose parent is the init of the machine or of a session: services are born there.
fn adopted(process: &Process) -> Parent {
    let is_service = process.cgroups.known().is_some_and(|cgroups| {
        cgroups.values().any(|path| path.ends_with(".service") && !path.contains("user@"))
    });
    let leads_itself = process.group == process.key.pid && process.session == process.key.pid;
    if is_service && leads_itself { Parent::Unclear(Absence::Unsupported) } else { Parent::Gone }
}

/// Returns whether a process counts as the machine does; inside a container its arguments name other numbers.
fn is_in_initial_namespace(process: &Process) -> bool {
    process.namespace_pids.known().is_none_or(|pids| pids.len() <= 1)
}

/// Returns the sign that the head of the process's run is dead; none when there is no such sign.
///
/// # Errors
/// Fails when what would show it may not be read.
pub(crate) fn dead_leader(process: &Process) -> Result<Option<DeadLeader>, Absence> {
    if process.state == Reading::Known(ProcessState::Zombie) {
        return Ok(Some(DeadLeader::Zombie));
    }
    if names::is_spawned_worker(process) {
        return Ok(Some(DeadLeader::Worker));
    }
    match names::rank_variable(process) {
        Reading::Known(Some("RANK")) if process.group == process.key.pid => Ok(Some(DeadLeader::RankByHand)),
        Reading::Known(Some(name)) => Ok(Some(DeadLeader::Rank(name))),
        Reading::Known(None) => Ok(None),
        other => Err(other.absence().unwrap_or(Absence::Unsupported)),
    }
}

/// Returns a living head of the process's group or session that is not the process itself.
pub(crate) fn living_leader<'scene>(scene: &'scene Scene, process: &Process) -> Option<&'scene Process> {
    [process.group, process.session]
        .into_iter()
        .filter(|leader| *leader != process.key.pid)
        .filter_map(|leader| scene.process(leader))
        .find(|leader| leader.state != Reading::Known(ProcessState::Zombie) && !names::is_adopter(leader))
}
