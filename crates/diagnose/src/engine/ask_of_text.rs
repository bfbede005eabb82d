//! The one command to run next where a text does not decide: on the machine, or of its scheduler, ready to copy.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobPhase, ProgramFact, Scene, Scheduler, StartObstacle};

/// Causes that only the kernel's log, or other people's processes, tell apart: that takes root.
const TOLD_TO_ROOT: &[Cause] = &[
    Cause::GpuLost,
    Cause::DriverHung,
    Cause::XidAppFault,
    Cause::XidHwFault,
    Cause::EccUncorrectable,
    Cause::RowRemapPending,
    Cause::NvlinkFault,
    Cause::VramHeldByDeadProcess,
    Cause::VramHeldByHiddenProcess,
];

/// Causes of waiting, which the scheduler tells apart.
const OF_WAITING: &[Cause] =
    &[Cause::SchedulerPending, Cause::QueueCongested, Cause::NodeUnavailable, Cause::GpuNotAdvertised];

/// Returns the command that separates these causes.
pub(super) fn command(scene: &Scene, separates: &[Cause]) -> String {
    let is_about_waiting = separates.iter().any(|cause| OF_WAITING.contains(cause))
        || separates.is_empty() && scene.cards.is_empty();
    if let Some(command) = of_scheduler(scene).filter(|_| is_about_waiting) {
        return command;
    }
    if let Some(command) = of_runtime(scene) {
        return command.to_owned();
    }
    let takes_root = !separates.is_empty() && separates.iter().all(|cause| TOLD_TO_ROOT.contains(cause));
    if takes_root && !scene.events.is_known() { "sudo gpuwhy" } else { "gpuwhy" }.to_owned()
}

/// Returns what to ask on the host of a container that could not be started with its cards.
fn of_runtime(scene: &Scene) -> Option<&'static str> {
    let obstacle = scene.program.iter().rev().find_map(|line| match &line.fact {
        Some(ProgramFact::ContainerNotStarted(not_started)) => Some(not_started.obstacle),
        _ => None,
    })?;
    Some(match obstacle {
        // It comes back slowly, or never.
        StartObstacle::DriverTimedOut => "time nvidia-smi",
        StartObstacle::DeviceUnknown | StartObstacle::MigDevice => "nvidia-smi -L",
        _ => "nvidia-smi",
    })
}

/// Returns what to ask the scheduler: why a job waits, then what its nodes have, then when it could start.
fn of_scheduler(scene: &Scene) -> Option<String> {
    let mut waiting = scene.jobs.iter().filter(|job| waits(job));
    let first = waiting.clone().next();
    let job = waiting.find(|job| job.reasons.is_empty()).or(first)?;
    let asks_nodes = !job.reasons.is_empty() && scene.cluster.is_empty();
    let asks_time = !job.reasons.is_empty() && !scene.cluster.is_empty();
    let id = job.id.as_str();
    match job.scheduler {
        Scheduler::Slurm if asks_nodes => Some("scontrol show nodes".to_owned()),
        Scheduler::Slurm if asks_time => Some(format!("squeue --start --jobs {}", plain(id)?)),
        Scheduler::Slurm => Some(format!("scontrol -d show job {}", plain(id)?)),
        Scheduler::Kubernetes if asks_nodes || asks_time => Some("kubectl describe nodes".to_owned()),
        Scheduler::Kubernetes => Some(match id.split_once('/') {
            Some((namespace, pod)) => {
                format!("kubectl -n {} describe pod {}", plain(namespace)?, plain(pod)?)
            }
            None => format!("kubectl describe pod {}", plain(id)?),
        }),
    }
}

fn waits(job: &Job) -> bool {
    match &job.phase {
        Reading::Known(phase) => *phase == JobPhase::Waiting,
        _ => job.state.known().is_some_and(|state| state.eq_ignore_ascii_case("pending")),
    }
}

/// Returns a name if a shell takes it as it is: it comes from a text that anybody can have written.
fn plain(name: &str) -> Option<&str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte));
    (is_plain && !name.is_empty() && !name.starts_with('-')).then_some(name)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::cause::Cause;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::{Card, ClusterNode, Job, JobPhase, Scene, Scheduler, WaitReason};

    use super::command;

    fn job(id: &str, scheduler: Scheduler, reason: Option<&str>) -> Job {
        let reasons = reason.map(|word| WaitReason { word: word.to_owned(), ..WaitReason::default() });
        Job {
            id: id.to_owned(),
            scheduler,
            phase: Reading::Known(JobPhase::Waiting),
            reasons: reasons.into_iter().collect(),
            ..Job::default()
        }
    }

    fn scene(jobs: Vec<Job>) -> Scene {
        Scene { jobs, ..Scene::default() }
    }

    const WAITING: &[Cause] = &[Cause::SchedulerPending, Cause::QueueCongested];

    #[test]
    fn the_scheduler_is_asked_why_a_job_waits() {
        let running = Job { phase: Reading::Known(JobPhase::Running), ..job("7", Scheduler::Slurm, None) };
        let known = job("8", Scheduler::Slurm, Some("Resources"));
        let unknown = job("9_3", Scheduler::Slurm, None);
        assert_eq!(
            command(&scene(vec![running, known.clone(), unknown]), WAITING),
            "scontrol -d show job 9_3"
        );
        assert_eq!(command(&scene(vec![known.clone()]), WAITING), "scontrol show nodes");
        let with_nodes = Scene { cluster: vec![ClusterNode::default()], ..scene(vec![known]) };
        assert_eq!(command(&with_nodes, &[]), "squeue --start --jobs 8");
        let pod = job("lab/train-0", Scheduler::Kubernetes, None);
        assert_eq!(command(&scene(vec![pod]), &[]), "kubectl -n lab describe pod train-0");
    }

    #[test]
    fn what_a_shell_would_understand_otherwise_is_not_repeated() {
        for id in ["8; rm -rf /", "$(x)", "-h", "", "a b"] {
            assert_eq!(command(&scene(vec![job(id, Scheduler::Slurm, None)]), WAITING), "gpuwhy", "{id}");
        }
    }

    #[test]
    fn the_machine_is_asked_about_itself() {
        let cards = Scene { cards: vec![Card::default()], ..scene(vec![job("8", Scheduler::Slurm, None)]) };
        assert_eq!(command(&cards, &[Cause::IdleReserved, Cause::GpuLost]), "gpuwhy");
        assert_eq!(command(&cards, &[]), "gpuwhy");
        assert_eq!(command(&cards, &[Cause::GpuLost]), "sudo gpuwhy");
        let with_log = Scene { events: Reading::Known(Vec::new()), ..cards };
        assert_eq!(command(&with_log, &[Cause::GpuLost]), "gpuwhy");
    }
}
