//! What the scheduler of Kubernetes says between the lines of why a pod waits.

use gpuwhy_knowledge::{LimitedResource, WaitClass, kubernetes_reason};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, Scheduler, WaitReason};

/// Words in the names of taints that keep others away from nodes with cards.
const OF_CARDS: &[&str] = &["gpu", "nvidia", "amd.com", "accelerator", "npu", "ascend", "habana"];

/// Returns whether a reason is a taint that sets nodes with cards apart: a pod that wants cards must bear it.
pub(crate) fn is_taint_of_cards(reason: &WaitReason) -> bool {
    let lower = reason.word.to_ascii_lowercase();
    let is_policy = kubernetes_reason(&reason.word).is_some_and(|fact| fact.class == WaitClass::Policy);
    is_policy && lower.contains("taint") && OF_CARDS.iter().any(|word| lower.contains(word))
}

/// Returns whether a pod is told of nodes that lack free cards: then none of those that are open has room.
pub(crate) fn is_told_of_full_nodes(job: &Job) -> bool {
    job.scheduler == Scheduler::Kubernetes
        && job.reasons.iter().any(|reason| reason.nodes.is_some() && lacks_cards(reason))
}

/// Returns whether no node could hold a pod even if it were empty: a scheduler that tells such nodes apart (since about
/// 1.33) says of all of them that ending others would not help, and of some that cards do not suffice.
pub(crate) fn is_beyond_every_node(job: &Job) -> bool {
    let Reading::Known(tried) = job.nodes_tried else {
        return false;
    };
    let count = |words: &str| {
        let of_words =
            job.preemption.iter().filter(|reason| reason.word.to_ascii_lowercase().contains(words));
        of_words.filter_map(|reason| reason.nodes).fold(0, u64::saturating_add)
    };
    let is_short_of_cards = job.reasons.iter().any(lacks_cards);
    let is_all_of_it = job.preemption.iter().all(|reason| reason.nodes.is_some());
    is_short_of_cards && is_all_of_it && count("not helpful") >= tried && count("no preemption victims") == 0
}

fn lacks_cards(reason: &WaitReason) -> bool {
    kubernetes_reason(&reason.word).is_some_and(|fact| {
        fact.class == WaitClass::Capacity && fact.resource == Some(LimitedResource::Cards)
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::{Job, Scheduler, WaitReason};

    use super::{is_beyond_every_node, is_taint_of_cards, is_told_of_full_nodes};

    fn reason(word: &str, nodes: u64) -> WaitReason {
        WaitReason { word: word.to_owned(), nodes: Some(nodes), ..WaitReason::default() }
    }

    fn job(reasons: Vec<WaitReason>, preemption: Vec<WaitReason>) -> Job {
        let nodes_tried = Reading::Known(4);
        Job { scheduler: Scheduler::Kubernetes, nodes_tried, reasons, preemption, ..Job::default() }
    }

    #[test]
    fn a_request_beyond_every_node_is_told_from_full_nodes() {
        let short = || {
            vec![reason("Insufficient nvidia.com/gpu", 3), reason("node(s) had untolerated taint {a: }", 1)]
        };
        let not_helpful = |nodes| reason("Preemption is not helpful for scheduling", nodes);
        assert!(is_beyond_every_node(&job(short(), vec![not_helpful(4)])));
        let victims = reason("No preemption victims found for incoming pod", 3);
        assert!(!is_beyond_every_node(&job(short(), vec![not_helpful(1), victims])));
        assert!(!is_beyond_every_node(&job(short(), Vec::new())));
        assert!(is_told_of_full_nodes(&job(short(), Vec::new())));
        let affinity =
            job(vec![reason("node(s) didn't match Pod's node affinity/selector", 4)], vec![not_helpful(4)]);
        assert!(!is_beyond_every_node(&affinity) && !is_told_of_full_nodes(&affinity));
    }

    #[test]
    fn taints_of_cards_are_known() {
        assert!(is_taint_of_cards(&reason("node(s) had untolerated taint {nvidia.com/gpu: present}", 1)));
        for word in [
            "node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }",
            "node(s) had untolerated taint {node.kubernetes.io/unschedulable: }",
            "Insufficient nvidia.com/gpu",
        ] {
            assert!(!is_taint_of_cards(&reason(word, 1)), "{word}");
        }
    }
}
