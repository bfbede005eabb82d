//! Why loaders do not get more processor time.

use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Cores, Percent, Unit};

use super::super::waiting_card::WaitingCard;
use super::text;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::groups::cgroups_of;

/// A reason for the lack of processor time.
pub(super) struct Shortage {
    pub(super) evidence: Evidence,
    /// How strongly it speaks, 0 to 1.
    pub(super) strength: f64,
    /// The limit that somebody set, where it is one.
    pub(super) limit: Option<&'static str>,
}

impl Shortage {
    fn plain(evidence: Evidence) -> Self {
        Self { evidence, strength: 1.0, limit: None }
    }
}

/// Returns the first reason that is seen, from the narrowest to the widest.
pub(super) fn shortage(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Option<Shortage> {
    quota(scene, waiting, limits)
        .or_else(|| few_processors(scene, waiting, limits))
        .or_else(|| hypervisor(scene, limits))
        .or_else(|| queueing(waiting, limits))
        .or_else(|| full_loaders(scene, waiting, limits))
        .or_else(|| full_machine(scene, limits))
        .or_else(|| pressure(scene, limits))
}

/// A quota that stops the control group of the run.
fn quota(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Option<Shortage> {
    let team = waiting.team.processes();
    let groups = team.iter().flat_map(|process| cgroups_of(scene, process));
    let (share, quota) = groups
        .filter_map(|cgroup| Some((cgroup.cpu_throttled.known()?.0, cgroup.cpu_quota.known()?.0)))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .filter(|(share, _)| *share >= limits.throttled_share_notice)?;
    let percent = Percent(share * 100.0);
    let words = text::throttled(percent, Cores(quota));
    let evidence = once(Signal::CgroupCpu, percent.0, Unit::Percent, Reader::Cgroup, words);
    let usual = normal(Comparison::Less, limits.throttled_share_notice * 100.0);
    Some(Shortage {
        evidence: with_normal(evidence, usual),
        strength: share / limits.throttled_share_strong,
        limit: Some("cgroup-quota"),
    })
}

/// Fewer processors than the machine has, by affinity or a processor set, and all of them in use.
fn few_processors(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Option<Shortage> {
    let cpus = *scene.host.cpus.known()?;
    let loaders = waiting.team.loaders.iter();
    let allowed = loaders.filter_map(|loader| loader.process.cpus_allowed.known()).max().copied()?;
    if u64::from(allowed) >= cpus {
        return None;
    }
    let used = waiting.team.cores().unwrap_or(0.0);
    let are_in_use = used >= f64::from(allowed) * limits.tree_cores_share_min;
    let others_take_them =
        waiting.team.mean(|loader| loader.run_delay.unwrap_or(0.0)) >= limits.run_delay_share_min;
    if !are_in_use && !others_take_them {
        return None;
    }
    let words = text::few_processors(allowed, cpus, Cores(used));
    let evidence = once(Signal::HostCpu, u64::from(allowed), Unit::Count, Reader::ProcPid, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    Some(Shortage { evidence, strength: 1.0, limit: Some("allowed-processors") })
}

/// A hypervisor that gives the machine's processors to others.
fn hypervisor(scene: &Scene, limits: &Limits) -> Option<Shortage> {
    let steal = scene.host.steal.known().filter(|steal| steal.0 >= limits.steal_share_min)?;
    let percent = Percent(steal.0 * 100.0);
    let evidence = once(Signal::HostCpu, percent.0, Unit::Percent, Reader::ProcHost, text::steal(percent));
    let usual = normal(Comparison::Less, limits.steal_share_min * 100.0);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    Some(Shortage { evidence: with_normal(evidence, usual), strength: 1.0, limit: Some("hypervisor") })
}

/// Loaders that wait for a processor.
fn queueing(waiting: &WaitingCard<'_>, limits: &Limits) -> Option<Shortage> {
    let delay = waiting.team.mean(|loader| loader.run_delay.unwrap_or(0.0));
    if delay < limits.run_delay_share_min {
        return None;
    }
    let percent = Percent(delay * 100.0);
    let evidence =
        once(Signal::RunDelay, percent.0, Unit::Percent, Reader::ProcTask, text::run_delay(percent));
    Some(Shortage::plain(with_normal(evidence, normal(Comparison::Less, limits.run_delay_share_min * 100.0))))
}

/// Loaders that fill a whole core each.
fn full_loaders(scene: &Scene, waiting: &WaitingCard<'_>, limits: &Limits) -> Option<Shortage> {
    let used = waiting.team.mean(|loader| loader.cores.unwrap_or(0.0));
    if used < limits.loader_cores_full {
        return None;
    }
    let words = text::loaders_are_full(waiting.team.loaders.len());
    let evidence = once(Signal::ThreadCpu, used, Unit::Cores, Reader::ProcTask, words);
    let usual = normal(Comparison::Less, limits.loader_cores_full);
    Some(Shortage::plain(with_normal(over(evidence, waiting.team.looks(), scene.window.span_s), usual)))
}

/// A machine all of whose processors are in use.
fn full_machine(scene: &Scene, limits: &Limits) -> Option<Shortage> {
    let (all, cpus) = (scene.host.cores_used.known()?, *scene.host.cpus.known()?);
    if all.0 < cpus as f64 * limits.tree_cores_share_min {
        return None;
    }
    let words = text::machine_is_full(cpus, *all);
    let evidence = once(Signal::ProcessCpu, all.0, Unit::Cores, Reader::ProcHost, words);
    Some(Shortage::plain(over(evidence, scene.window.samples, scene.window.span_s)))
}

/// Pressure of the whole machine, which only supports.
fn pressure(scene: &Scene, limits: &Limits) -> Option<Shortage> {
    let pressure = scene.host.pressure.cpu_some.known()?.0;
    if pressure < limits.cpu_pressure_share_notice {
        return None;
    }
    let percent = Percent(pressure * 100.0);
    let words = text::pressure(percent);
    let evidence = once(Signal::HostPressure, percent.0, Unit::Percent, Reader::ProcPressure, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    Some(Shortage { evidence, strength: 0.5, limit: None })
}
