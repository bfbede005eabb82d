//! Why Kubernetes, and what queues jobs for it, lets a pod or workload wait.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::table::rows;
use crate::wait_reason::WaitFact;

#[derive(Deserialize)]
struct Row {
    words: String,
    #[serde(flatten)]
    fact: WaitFact,
}

fn table() -> &'static [(String, WaitFact)] {
    static TABLE: OnceLock<Vec<(String, WaitFact)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        rows(include_str!("../data/kubernetes_reasons.csv"))
            .into_iter()
            .map(|row: Row| (row.words, row.fact))
            .collect()
    })
}

/// Returns what one reason means: a part of what the scheduler says of the nodes, a word of a condition, a sentence.
pub fn kubernetes_reason(text: &str) -> Option<&'static WaitFact> {
    // Typographic marks come from chats.
    let lower = text.trim().to_ascii_lowercase().replace(['\u{2019}', '\u{2018}'], "'");
    table().iter().find(|(words, _)| lower.contains(words.as_str())).map(|(_, fact)| fact)
}

#[cfg(test)]
mod tests {
    use super::{kubernetes_reason, table};
    use crate::source;
    use crate::wait_reason::{LimitReach, LimitedResource, WaitClass};

    #[test]
    fn every_row_is_read_and_can_be_met() {
        assert!(table().len() > 140);
        for (place, (words, fact)) in table().iter().enumerate() {
            assert_eq!(*words, words.to_ascii_lowercase());
            assert!(
                !fact.sources.is_empty() && fact.sources.iter().all(|key| source(key).is_some()),
                "{words}"
            );
            let hides = table()[..place].iter().find(|(earlier, _)| words.contains(earlier.as_str()));
            assert!(hides.is_none(), "`{words}` stands behind {hides:?}");
        }
    }

    #[test]
    fn reasons_are_told_apart() {
        let class = |text: &str| kubernetes_reason(text).map(|fact| (fact.class, fact.resource));
        let cards = Some(LimitedResource::Cards);
        assert_eq!(class("Insufficient nvidia.com/gpu"), Some((WaitClass::Capacity, cards)));
        assert_eq!(class("Insufficient nvidia.com/mig-1g.5gb"), Some((WaitClass::Capacity, cards)));
        assert_eq!(class("Insufficient memory"), Some((WaitClass::Capacity, Some(LimitedResource::Memory))));
        assert_eq!(
            class("Insufficient rdma/hca"),
            Some((WaitClass::Capacity, Some(LimitedResource::Unknown)))
        );
        assert_eq!(
            class("node(s) had untolerated taint {node.kubernetes.io/unschedulable: }"),
            Some((WaitClass::Nodes, None))
        );
        assert_eq!(
            class("node(s) had untolerated taint {nvidia.com/gpu: present}"),
            Some((WaitClass::Policy, None))
        );
        assert_eq!(
            class("node(s) didn\u{2019}t match Pod\u{2019}s node affinity/selector"),
            Some((WaitClass::Request, None))
        );
        assert_eq!(
            class("insufficient quota for nvidia.com/gpu in flavor b, request > maximum capacity (8 > 0)"),
            Some((WaitClass::TooLarge, cards))
        );
        assert_eq!(
            class("insufficient unused quota for nvidia.com/gpu in flavor a, 2 more needed"),
            Some((WaitClass::Capacity, cards))
        );
        let fact = kubernetes_reason("exceeded quota: g, requested: requests.nvidia.com/gpu=1").unwrap();
        assert_eq!((fact.class, fact.reach), (WaitClass::Quota, Some(LimitReach::Namespace)));
        assert_eq!(class("everything is fine"), None);
    }
}
