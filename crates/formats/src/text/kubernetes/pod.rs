//! What the words that Kubernetes has for the state of a pod or container mean.

use gpuwhy_model::scene::{ContainerEnd, JobPhase};

/// Exit codes above this are 128 and the signal that ended the program.
const BY_SIGNAL: i64 = 128;

/// Returns how far a pod has come, by the word in the column `STATUS`, or the reason or phase of its object.
pub(super) fn phase(status: &str) -> Option<JobPhase> {
    let status = status.trim();
    if status.starts_with("Init:") || status.starts_with("Resizing") {
        return Some(JobPhase::Starting);
    }
    if status.starts_with("OutOf") || status.starts_with("ExitCode:") || status.starts_with("Signal:") {
        return Some(if status.starts_with("OutOf") { JobPhase::Refused } else { JobPhase::Failed });
    }
    Some(match status {
        "Pending" | "SchedulingGated" => JobPhase::Waiting,
        "ContainerCreating"
        | "PodInitializing"
        | "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "InvalidImageName"
        | "CreateContainerConfigError"
        | "CreateContainerError"
        | "RunContainerError"
        | "StartError" => JobPhase::Starting,
        "Running" | "NotReady" | "Paused" => JobPhase::Running,
        "Completed" | "Succeeded" => JobPhase::Completed,
        "Error"
        | "Failed"
        | "CrashLoopBackOff"
        | "ContainerCannotRun"
        | "ContainerStatusUnknown"
        | "Evicted" => JobPhase::Failed,
        "DeadlineExceeded" => JobPhase::TimedOut,
        "OOMKilled" => JobPhase::OutOfMemory,
        "Terminating" => JobPhase::Ending,
        "Preempting" | "Preempted" | "PreemptionByScheduler" => JobPhase::Preempted,
        "Unknown" | "NodeLost" | "NodeShutdown" | "Shutdown" => JobPhase::NodeFailed,
        "UnexpectedAdmissionError"
        | "NodeAffinity"
        | "NodePorts"
        | "TopologyAffinityError"
        | "AdmissionError" => JobPhase::Refused,
        _ => return None,
    })
}

/// Returns whether a pod with this word has begun, and goes no further for a reason of its own.
pub(super) fn is_trouble(status: &str) -> bool {
    let own = status.strip_prefix("Init:").unwrap_or(status);
    let has_begun = phase(own)
        .is_none_or(|phase| !matches!(phase, JobPhase::Waiting | JobPhase::Running | JobPhase::Completed));
    has_begun && !matches!(own, "ContainerCreating" | "PodInitializing" | "Terminating") && !own.contains('/')
}

/// Makes an end of what a container's state says of it.
pub(super) fn end(
    reason: Option<&str>,
    exit_code: Option<i64>,
    signal: Option<u32>,
    at: Option<&str>,
) -> ContainerEnd {
    let by_code = exit_code.filter(|code| (BY_SIGNAL + 1..BY_SIGNAL + 65).contains(code));
    ContainerEnd {
        exit_code,
        signal: signal.or(by_code.and_then(|code| u32::try_from(code - BY_SIGNAL).ok())),
        for_memory: reason == Some("OOMKilled"),
        reason: reason.map(str::to_owned),
        at: at.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::JobPhase;

    use super::{end, is_trouble, phase};

    #[test]
    fn words_are_phases() {
        for (word, expected) in [
            ("Pending", Some(JobPhase::Waiting)),
            ("Init:0/2", Some(JobPhase::Starting)),
            ("Init:CrashLoopBackOff", Some(JobPhase::Starting)),
            ("Running", Some(JobPhase::Running)),
            ("OOMKilled", Some(JobPhase::OutOfMemory)),
            ("OutOfnvidia.com/gpu", Some(JobPhase::Refused)),
            ("UnexpectedAdmissionError", Some(JobPhase::Refused)),
            ("3/3", None),
            ("", None),
        ] {
            assert_eq!(phase(word), expected, "{word}");
        }
        assert!(is_trouble("CrashLoopBackOff") && is_trouble("Init:Error") && is_trouble("ImagePullBackOff"));
        assert!(!is_trouble("Running") && !is_trouble("Init:0/2") && !is_trouble("ContainerCreating"));
    }

    #[test]
    fn an_exit_code_holds_the_signal() {
        let killed = end(Some("OOMKilled"), Some(137), None, None);
        assert_eq!((killed.signal, killed.for_memory), (Some(9), true));
        assert_eq!(end(Some("Error"), Some(1), None, None).signal, None);
        assert_eq!(end(None, Some(255), None, None).signal, None);
    }
}
