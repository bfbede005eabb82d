//! A processor quota that stops a run while the machine has processors to spare.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Cgroup, Process, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Cores, Percent, Unit};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::groups::{called, cgroups_of, is_of_one_work};
use crate::facts::kin::Kin;
use crate::findings::Findings;
use crate::rules::starvation::partly_busy::{PartlyBusyCard, partly_busy_cards};

/// Reports every card whose program is stopped at a quota that was set for its container or job.
///
/// A quota of which nobody knows for whom it was set is named by `starved-by-cpu` where loaders suffer from it.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for work in partly_busy_cards(scene, limits, findings) {
        let Some(throttled) = most_throttled(scene, &work, limits) else {
            findings.rule_out(Signal::CgroupCpu, Some(work.card.index));
            continue;
        };
        let is_named_already = findings.answers().any(|draft| {
            draft.cause() == Cause::StarvedByCpu && draft.finding.cards.contains(&work.card.index)
        });
        let has_owner = is_of_one_work(throttled.group);
        if machine_is_full(scene, limits) || is_named_already && !has_owner {
            continue;
        }
        findings.report(judge(scene, &work, &throttled, has_owner, limits));
    }
}

/// A control group that is stopped at its quota.
struct Throttled<'scene> {
    group: &'scene Cgroup,
    /// Share of periods in which it was stopped.
    share: f64,
    quota: f64,
}

fn most_throttled<'scene>(
    scene: &'scene Scene,
    work: &'scene PartlyBusyCard<'scene>,
    limits: &Limits,
) -> Option<Throttled<'scene>> {
    let kin = Kin::of(scene);
    let members: Vec<&Process> = work.processes().flat_map(|process| kin.tree(process)).collect();
    members
        .into_iter()
        .flat_map(|process| cgroups_of(scene, process))
        .filter_map(|group| {
            let (share, quota) = (group.cpu_throttled.known()?.0, group.cpu_quota.known()?.0);
            (share >= limits.throttled_share_strong).then_some(Throttled { group, share, quota })
        })
        .reduce(|most, next| if next.share > most.share { next } else { most })
}

/// Returns whether a higher quota would find no processor free.
fn machine_is_full(scene: &Scene, limits: &Limits) -> bool {
    match (scene.host.cores_used.known(), scene.host.cpus.known()) {
        (Some(used), Some(cpus)) => used.0 >= *cpus as f64 * limits.tree_cores_share_min,
        _ => false,
    }
}

fn judge(
    scene: &Scene,
    work: &PartlyBusyCard<'_>,
    throttled: &Throttled<'_>,
    has_owner: bool,
    limits: &Limits,
) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary_processor());
    work.weigh_shape(scene, limits, &mut draft);
    let percent = Percent(throttled.share * 100.0);
    let words = text::throttled(called(scene, throttled.group), percent, Cores(throttled.quota));
    let evidence = once(Signal::CgroupCpu, percent.0, Unit::Percent, Reader::Cgroup, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    let usual = normal(Comparison::Less, limits.throttled_share_strong * 100.0);
    draft.agree(3.5, with_normal(evidence, usual));
    if !has_owner {
        // It may be a limit of the whole place, and not of this work.
        draft.silent(2.0);
    }
    match (scene.host.cores_used.known(), scene.host.cpus.known()) {
        (Some(used), Some(cpus)) => {
            let words = text::machine_has_more(*cpus, *used);
            let evidence = once(Signal::HostCpu, used.0, Unit::Cores, Reader::ProcHost, words);
            draft.agree(1.5, over(evidence, scene.window.samples, scene.window.span_s));
        }
        _ => draft.silent(1.5),
    }
    draft.finding.detail.insert("limit".to_owned(), "processor".to_owned());
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_processor());
    draft.advise(Action::ImproveCpu, Vec::new(), text::fix_fewer_threads());
    work.finish(scene, draft)
}
