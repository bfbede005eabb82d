//! A limit of tasks: no further thread or process can be started.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Cgroup, Scene, Workload};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;

use super::{about_run, text};
use crate::evidence::{normal, once, with_normal};
use crate::facts::groups::called;
use crate::findings::Findings;

/// Reports the first group of a run that was refused tasks, or has nearly as many as it may.
pub(super) fn check(
    scene: &Scene,
    workload: &Workload,
    groups: &[&Cgroup],
    limits: &Limits,
    findings: &mut Findings,
) {
    for group in groups {
        let (Some(tasks), Some(limit)) = (group.tasks.known().copied(), group.tasks_limit.known().copied())
        else {
            continue;
        };
        let refused = group.tasks_refused.known().copied().unwrap_or(0);
        let is_reached = limit > 0 && tasks as f64 >= limit as f64 * limits.group_limit_share_min;
        if !is_reached && refused == 0 {
            continue;
        }
        let mut draft = about_run(scene, workload, "tasks", text::summary_tasks());
        let words = text::tasks(limit, called(scene, group), tasks);
        let evidence = once(Signal::CgroupTasks, tasks, Unit::Count, Reader::Cgroup, words);
        if is_reached {
            let usual = normal(Comparison::Less, limit as f64 * limits.group_limit_share_min);
            draft.agree(3.0, with_normal(evidence, usual));
        } else {
            draft.mention(evidence);
        }
        if refused > 0 {
            let words = text::refused(refused);
            draft.agree(3.0, once(Signal::CgroupTasks, refused, Unit::Count, Reader::Cgroup, words));
        } else if tasks < limit {
            // A few more can still be started.
            draft.silent(1.5);
        }
        // The numbers are what they are, however long one looks.
        draft.balance.past_decides = true;
        draft.advise(Action::RaiseLimit, Vec::new(), text::fix_tasks());
        draft.advise(Action::ImproveProgram, Vec::new(), text::fix_fewer_threads());
        findings.report(draft);
        return;
    }
}
