//! A node whose scheduler counts fewer cards on it than it is configured with.

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::scene::{ClusterNode, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Subject;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::reader_of;
use crate::findings::Findings;

/// Reports nodes that are closed because some of their cards are missing. All of them missing is the driver's trouble.
pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    for node in &scene.cluster {
        let counts = node.reason.known().and_then(|reason| missing(reason));
        if let Some((found, configured)) = counts.filter(|(found, _)| *found > 0) {
            findings.report(judge(node, found, configured));
        }
    }
}

/// Returns how many cards were found and how many are configured: `gres/gpu count reported lower than configured (7 < 8)`.
fn missing(reason: &str) -> Option<(u64, u64)> {
    let lower = reason.to_ascii_lowercase();
    let is_about_cards = lower.contains("gpu") && lower.contains("lower than configured");
    let (_, rest) = lower.split_once('(').filter(|_| is_about_cards)?;
    let (found, configured) = rest.split_once(')')?.0.split_once('<')?;
    let (found, configured) = (found.trim().parse().ok()?, configured.trim().parse().ok()?);
    (found < configured).then_some((found, configured))
}

fn judge(node: &ClusterNode, found: u64, configured: u64) -> Draft {
    let name = node.name.clone();
    let subject = Subject { kind: SubjectKind::Node, id: name.clone(), name: name.clone() };
    let summary = text::summary_on_node(configured, found, name.as_str());
    let mut draft = Draft::new(&RULE, subject, format!("node {name}"), Vec::new(), summary);
    draft.balance.past_decides = true;
    let reason = node.reason.known().map_or("", String::as_str);
    let words = text::scheduler_counts(reason);
    draft.agree(3.0, once(Signal::NodeState, reason, Unit::Text, reader_of(node.scheduler), words));
    // The driver may only not have started with it, or the configuration may name too many.
    draft.silent(3.6);
    let target = vec![Target { kind: SubjectKind::Node, id: name }];
    draft.advise(Action::LookAgain, target, text::fix_look_on_node());
    draft
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn counts_are_read_out_of_a_reason() {
        assert_eq!(missing("gres/gpu count reported lower than configured (7 < 8)"), Some((7, 8)));
        assert_eq!(missing("gres/gpu count reported lower than configured (0 < 4)"), Some((0, 4)));
        for reason in [
            "Low RealMemory (reported:1 < 2)",
            "gres/gpu count repor",
            "gres/gpu count reported lower than configured (8 < 7)",
        ] {
            assert_eq!(missing(reason), None, "{reason}");
        }
    }
}
