//! Whom a person would name.

use gpuwhy_model::action::{SubjectKind, Target};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Client, Process, Scene};
use gpuwhy_model::verdict::{Culprit, Subject};

use super::cards::Holder;
use super::names;

/// Returns the process that a person would name for a holder: itself, or the head of its run if it is a mere worker.
pub(crate) fn head<'scene>(scene: &'scene Scene, holder: &Holder<'scene>) -> Option<&'scene Process> {
    let process = holder.process?;
    let root = holder.workload.and_then(|workload| scene.process(workload.root));
    match root {
        Some(root) if names::is_spawned_worker(process) => Some(root),
        _ => Some(process),
    }
}

/// Returns the culprits of some holders, each once, in their order.
pub(crate) fn culprits(scene: &Scene, holders: &[Holder<'_>]) -> Vec<Culprit> {
    let mut culprits: Vec<Culprit> = Vec::new();
    for holder in holders {
        let culprit = match head(scene, holder) {
            Some(process) => of_process(process),
            None => of_client(holder.client),
        };
        if !culprits.contains(&culprit) {
            culprits.push(culprit);
        }
    }
    culprits
}

/// Makes a culprit of a process.
pub(crate) fn of_process(process: &Process) -> Culprit {
    let owner = process.owner.clone();
    Culprit {
        process: Some(process.key.clone()),
        pid: Some(process.key.pid),
        user: process.user.known().cloned(),
        command: process.command.known().cloned(),
        name: Some(names::called(process)),
        container: owner.container,
        pod: owner.pod,
        job: owner.job,
        unit: owner.unit,
        session: owner.session,
        ..nobody()
    }
}

/// Makes a culprit of what the driver says of a process that cannot be seen.
fn of_client(client: &Client) -> Culprit {
    let name = client.name.known().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
    Culprit { pid: Some(client.pid), name, ..nobody() }
}

fn nobody() -> Culprit {
    Culprit {
        process: None,
        pid: None,
        user: None,
        command: None,
        name: None,
        container: None,
        pod: None,
        job: None,
        unit: None,
        session: None,
        notebook: None,
        remark: None,
    }
}

/// Returns the pids of some holders.
pub(crate) fn pids(holders: &[Holder<'_>]) -> Vec<Pid> {
    holders.iter().map(|holder| holder.client.pid).collect()
}

/// Returns the run of a holder as a subject, with the key of its group.
pub(crate) fn run_of(scene: &Scene, holder: &Holder<'_>) -> (String, Subject) {
    let root = holder.workload.map_or(holder.client.pid, |workload| workload.root);
    let name = head(scene, holder).map_or_else(
        || holder.client.name.known().cloned().unwrap_or_else(|| root.to_string()),
        names::called,
    );
    (format!("run {root}"), Subject { kind: SubjectKind::Workload, id: root.to_string(), name })
}

/// Returns a process as the target of a step.
pub(crate) fn target(pid: Pid) -> Target {
    Target { kind: SubjectKind::Process, id: pid.to_string() }
}

/// Returns what a person calls a holder.
pub(crate) fn called(holder: &Holder<'_>) -> String {
    match (holder.process, &holder.client.name) {
        (Some(process), _) => names::called(process),
        (None, Reading::Known(name)) => name.rsplit('/').next().unwrap_or(name).to_owned(),
        (None, _) => holder.client.pid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::Owner;
    use gpuwhy_model::scene::Process;

    use super::of_process;

    #[test]
    fn a_culprit_is_named_with_where_it_belongs() {
        let some = |text: &str| Some(text.to_owned());
        let owner = Owner {
            container: some("c"),
            pod: some("p"),
            job: some("j"),
            unit: some("u"),
            session: some("s"),
        };
        let culprit = of_process(&Process { owner, ..Process::default() });
        let named = [culprit.container, culprit.pod, culprit.job, culprit.unit, culprit.session];
        assert_eq!(named, ["c", "p", "j", "u", "s"].map(some));
    }
}
