//! What the words that Kubernetes has for the state of a node mean.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{ClusterNode, NodeCondition};

/// Whether a node is ready, as far as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Readiness {
    #[default]
    NotSaid,
    Ready,
    NotReady,
    Unknown,
}

/// The state of a node, while it is read.
#[derive(Debug, Default)]
pub(super) struct NodeState {
    readiness: Readiness,
    is_closed: bool,
    others: Vec<NodeCondition>,
    taints: Vec<String>,
    reason: Option<String>,
    labels: Labels,
}

impl NodeState {
    /// Takes a condition of the node.
    pub(super) fn condition(&mut self, kind: &str, status: &str, message: Option<&str>) {
        let is_so = status.eq_ignore_ascii_case("true");
        let is_unknown = status.eq_ignore_ascii_case("unknown");
        let is_trouble = match kind {
            "Ready" => {
                self.readiness = match (is_so, is_unknown) {
                    (true, _) => Readiness::Ready,
                    (_, true) => Readiness::Unknown,
                    _ => Readiness::NotReady,
                };
                !is_so
            }
            "MemoryPressure" | "DiskPressure" | "PIDPressure" if is_so => {
                self.add(NodeCondition::UnderPressure);
                true
            }
            "NetworkUnavailable" if is_so => {
                self.add(NodeCondition::Failing);
                true
            }
            _ => false,
        };
        if let Some(message) = message.filter(|_| is_trouble && self.reason.is_none()) {
            self.reason = Some(masked_text(message));
        }
    }

    /// Takes the words in the column `STATUS`: `Ready,SchedulingDisabled`; returns whether they are such words.
    pub(super) fn words(&mut self, words: &str) -> bool {
        let mut all_are_known = !words.is_empty();
        for word in words.split(',') {
            match word.trim() {
                "Ready" => self.readiness = Readiness::Ready,
                "NotReady" => self.readiness = Readiness::NotReady,
                "Unknown" => self.readiness = Readiness::Unknown,
                "SchedulingDisabled" => self.is_closed = true,
                _ => all_are_known = false,
            }
        }
        all_are_known
    }

    /// Notes that nothing new is placed there.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Takes a taint: `key=value:NoSchedule`.
    pub(super) fn taint(&mut self, taint: &str) {
        let taint = taint.trim();
        if taint.is_empty() || taint.starts_with('<') {
            return;
        }
        let key = taint.split(['=', ':']).next().unwrap_or_default();
        match key {
            "node.kubernetes.io/unschedulable" => self.is_closed = true,
            "node.kubernetes.io/not-ready" if self.readiness == Readiness::NotSaid => {
                self.readiness = Readiness::NotReady;
            }
            "node.kubernetes.io/unreachable" if self.readiness == Readiness::NotSaid => {
                self.readiness = Readiness::Unknown;
            }
            "node.kubernetes.io/memory-pressure"
            | "node.kubernetes.io/disk-pressure"
            | "node.kubernetes.io/pid-pressure" => {
                self.add(NodeCondition::UnderPressure);
            }
            _ => {}
        }
        if taint.ends_with(":NoSchedule") || taint.ends_with(":NoExecute") {
            self.add(NodeCondition::Tainted);
        }
        self.taints.push(masked_text(taint));
    }

    /// Takes a label.
    pub(super) fn label(&mut self, name: &str, value: &str) {
        self.labels.add(name, value);
    }

    fn add(&mut self, condition: NodeCondition) {
        if !self.others.contains(&condition) {
            self.others.push(condition);
        }
    }

    /// Writes the state into a node.
    pub(super) fn fill(self, node: &mut ClusterNode) {
        let word = match self.readiness {
            Readiness::NotSaid => None,
            Readiness::Ready => Some("Ready"),
            Readiness::NotReady => Some("NotReady"),
            Readiness::Unknown => Some("Unknown"),
        };
        let mut conditions = self.others;
        match self.readiness {
            Readiness::NotReady => conditions.push(NodeCondition::Down),
            Readiness::Unknown => conditions.push(NodeCondition::NotResponding),
            Readiness::NotSaid | Readiness::Ready => {}
        }
        if self.is_closed {
            conditions.push(NodeCondition::Drained);
        }
        if word.is_some() || !conditions.is_empty() {
            let closed = if self.is_closed { ",SchedulingDisabled" } else { "" };
            node.state = word.map(|word| format!("{word}{closed}")).into();
            node.conditions = Reading::Known(conditions);
        }
        node.reason = self.reason.into();
        node.counted_cards = self.labels.cards.into();
        node.has_cards = self.labels.has_cards.into();
        node.features = self.labels.kept;
        node.features.extend(self.taints.into_iter().map(|taint| format!("taint {taint}")));
    }
}

/// What the labels of a node say of its cards.
#[derive(Debug, Default)]
struct Labels {
    cards: Option<u64>,
    has_cards: Option<bool>,
    kept: Vec<String>,
}

/// Labels that are kept as they are.
const KEPT: &[&str] = &[
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.replicas",
    "nvidia.com/gpu.sharing-strategy",
    "nvidia.com/mig.strategy",
    "nvidia.com/mig.config",
    "nvidia.com/mig.config.state",
    "nvidia.com/gpu.deploy.device-plugin",
    "nvidia.com/cuda.driver-version.full",
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/instance-type",
    "accelerator",
];

impl Labels {
    fn add(&mut self, name: &str, value: &str) {
        let value = value.trim().trim_matches('"');
        match name {
            "nvidia.com/gpu.count" | "gpu.nvidia.com/count" => self.cards = value.parse().ok(),
            "nvidia.com/gpu.present"
            | "feature.node.kubernetes.io/pci-10de.present"
            | "feature.node.kubernetes.io/pci-0302_10de.present" => {
                self.has_cards = self.has_cards.or(Some(value == "true"));
            }
            _ => {}
        }
        if KEPT.contains(&name) {
            self.kept.push(format!("{name}={value}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::{ClusterNode, NodeCondition};

    use super::NodeState;

    #[test]
    fn words_and_conditions_are_states() {
        let mut state = NodeState::default();
        assert!(state.words("Ready,SchedulingDisabled"));
        let mut node = ClusterNode::default();
        state.fill(&mut node);
        assert_eq!(node.state, Reading::Known("Ready,SchedulingDisabled".to_owned()));
        assert_eq!(node.conditions, Reading::Known(vec![NodeCondition::Drained]));
        assert_eq!(node.takes_jobs(), Some(false));

        let mut state = NodeState::default();
        state.condition("MemoryPressure", "False", Some("kubelet has sufficient memory available"));
        state.condition("Ready", "Unknown", Some("Kubelet stopped posting node status."));
        state.taint("nvidia.com/gpu=present:NoSchedule");
        state.label("nvidia.com/gpu.count", "\"8\"");
        let mut node = ClusterNode::default();
        state.fill(&mut node);
        assert_eq!(
            node.conditions,
            Reading::Known(vec![NodeCondition::Tainted, NodeCondition::NotResponding])
        );
        assert_eq!(node.reason.known().map(String::as_str), Some("Kubelet stopped posting node status."));
        assert_eq!(node.counted_cards, Reading::Known(8));
        assert!(!NodeState::default().words("Running"));
    }

    #[test]
    fn nothing_said_is_nothing_known() {
        let mut node = ClusterNode::default();
        NodeState::default().fill(&mut node);
        assert_eq!(node, ClusterNode::default());
    }
}
