//! What control groups and their container say of the devices that its processes may use.

use gpuwhy_model::scene::{Cgroup, JobPhase, Scene, Scheduler};

/// The number under which the kernel knows NVIDIA's devices.
const MAJOR: &str = "195";

/// Returns the groups that have rules for NVIDIA's devices, none of which lets them be opened.
pub(super) fn closed_groups(scene: &Scene) -> Vec<&Cgroup> {
    scene.cgroups.iter().filter(|group| is_closed(group)).collect()
}

fn is_closed(group: &Cgroup) -> bool {
    let Some(rules) = group.device_rules.known() else {
        return false;
    };
    let mut has_own = false;
    for rule in rules {
        let mut words = rule.split_whitespace();
        let (Some(kind), Some(numbers), Some(rights)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let major = numbers.split(':').next().unwrap_or_default();
        let opens = rights.contains(['r', 'w']);
        if opens && (kind == "a" || kind == "c" && (major == "*" || major == MAJOR)) {
            return false;
        }
        has_own |= kind == "c" && major == MAJOR;
    }
    has_own
}

/// Returns what a container or pod of the text was promised: how many cards, by number or name.
pub(super) fn promise(scene: &Scene) -> Option<String> {
    if let Some(cards) = scene.machine.promised_cards.known() {
        return Some(cards.clone());
    }
    let is_over =
        |phase: &JobPhase| matches!(phase, JobPhase::Completed | JobPhase::Failed | JobPhase::Waiting);
    let pods = scene.jobs.iter().filter(|job| job.scheduler == Scheduler::Kubernetes);
    let mut pods = pods.filter(|job| !job.phase.known().is_some_and(is_over));
    let of_pod = pods.find_map(|job| job.asked.cards.known().filter(|cards| **cards > 0));
    let of_container =
        || scene.machine.containers.iter().find_map(|container| container.promised_cards.known());
    of_pod.map(u64::to_string).or_else(|| of_container().cloned())
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::{Cgroup, Scene};

    use super::closed_groups;

    fn closed(rules: &[&str]) -> bool {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let group = Cgroup { device_rules: Reading::Known(rules), ..Cgroup::default() };
        !closed_groups(&Scene { cgroups: vec![group], ..Scene::default() }).is_empty()
    }

    #[test]
    fn only_a_group_that_had_the_cards_can_have_lost_them() {
        assert!(closed(&["c 195:* m"]) && closed(&["c 1:3 rwm", "c *:* m", "c 195:* m"]));
        for rules in
            [&["c 195:* m", "c 195:0 rw"][..], &["a *:* rwm", "c 195:* m"], &["c 1:3 rwm", "c *:* m"], &[]]
        {
            assert!(!closed(rules), "{rules:?}");
        }
    }
}
