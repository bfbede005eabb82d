//! What a limit allows, what is used of it, and what a job asks for beside.

use gpuwhy_knowledge::{LimitReach, LimitedResource};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, Quota, QuotaHolder, QuotaReach, Resources, Scene};
use gpuwhy_model::text::Arg;
use gpuwhy_model::units::{Bytes, Seconds};

use super::fit::Need;
use super::why::Why;
use super::{cards_of, has_place};

/// A limit and what counts against it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reckoning {
    pub(crate) resource: LimitedResource,
    /// How much is allowed.
    pub(crate) most: f64,
    /// How much is used already, where that is known.
    pub(crate) used: Option<f64>,
    /// How much the job adds, where that is known.
    pub(crate) need: Option<f64>,
    /// Whether it adds whole nodes, because it wants them for itself.
    pub(crate) counts_whole_nodes: bool,
}

impl Reckoning {
    /// Returns by how much the limit would be passed, where all is known.
    pub(crate) fn gap(&self) -> Option<f64> {
        Some((self.used.unwrap_or(0.0) + self.need? - self.most).max(0.0))
    }

    /// Returns an amount of the limited resource as a value inside a text.
    pub(crate) fn amount(&self, number: f64) -> Arg {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts are positive")]
        match self.resource {
            LimitedResource::Memory => Bytes(number.max(0.0) as u64).into(),
            LimitedResource::Time => Seconds(number).into(),
            _ => Arg::Count(number.max(0.0).round() as u64),
        }
    }
}

/// Returns the limit that a job is told to have met, with what counts against it; none where it is not in the source.
pub(crate) fn reckoning(scene: &Scene, job: &Job, why: &Why<'_>) -> Option<Reckoning> {
    let (reach, resource) = (why.reach?, why.resource?);
    let quota = quota(scene, job, reach, resource)?;
    let most = amount(&quota.most, resource)?;
    let is_per_job = matches!(reach, LimitReach::Job | LimitReach::Node);
    let used = if is_per_job {
        None
    } else {
        amount(&quota.used, resource).or_else(|| used(scene, job, reach, resource))
    };
    let (need, counts_whole_nodes) = need(scene, job, reach, resource);
    Some(Reckoning { resource, most, used, need, counts_whole_nodes })
}

/// Returns the limit of this reach on this resource that the job is under.
fn quota<'scene>(
    scene: &'scene Scene,
    job: &Job,
    reach: LimitReach,
    resource: LimitedResource,
) -> Option<&'scene Quota> {
    let of_reach = |quota: &&Quota| {
        let reach_fits = match reach {
            LimitReach::User => quota.reach == QuotaReach::User,
            LimitReach::Account => quota.reach == QuotaReach::Account,
            LimitReach::Group => quota.reach == QuotaReach::Group && quota.holder == QuotaHolder::Account,
            LimitReach::Qos => quota.reach == QuotaReach::Group && quota.holder == QuotaHolder::Qos,
            LimitReach::Namespace => quota.holder == QuotaHolder::Namespace,
            LimitReach::Job => matches!(quota.reach, QuotaReach::Job | QuotaReach::JobAtLeast),
            LimitReach::Node => quota.reach == QuotaReach::Node,
        };
        reach_fits && quota.scheduler == job.scheduler && amount(&quota.most, resource).is_some()
    };
    let all: Vec<&Quota> = scene.quotas.iter().filter(of_reach).collect();
    let names = |quota: &&&Quota| {
        let own = match quota.holder {
            QuotaHolder::Qos => job.qos.known().map(String::as_str),
            QuotaHolder::Account | QuotaHolder::Namespace => job.account.known().map(String::as_str),
            QuotaHolder::Queue => job.queues.first().map(String::as_str),
        };
        let is_of_user = quota.user.is_empty() || job.user.known().is_some_and(|user| *user == quota.user);
        is_of_user && own.is_some_and(|own| own == quota.name)
    };
    // A single limit is the one that is meant, where the source names no other.
    all.iter().find(names).copied().or(if all.len() == 1 { all.first().copied() } else { None })
}

/// Returns an amount of one resource.
fn amount(resources: &Resources, resource: LimitedResource) -> Option<f64> {
    match resource {
        LimitedResource::Cards => resources.cards.known().map(|number| *number as f64),
        LimitedResource::Cpus => resources.cpus.known().map(|cpus| cpus.0),
        LimitedResource::Memory => resources.memory.known().map(|bytes| bytes.0 as f64),
        LimitedResource::Nodes => resources.nodes.known().map(|number| *number as f64),
        LimitedResource::Jobs => resources.jobs.known().map(|number| *number as f64),
        LimitedResource::Time => resources.time.known().map(|time| time.0),
        _ => None,
    }
}

/// Returns what jobs that run hold of a resource and that counts against the same limit.
fn used(scene: &Scene, job: &Job, reach: LimitReach, resource: LimitedResource) -> Option<f64> {
    let is_same = |other: &&Job| {
        let same = |one: &Reading<String>, other: &Reading<String>| match (one.known(), other.known()) {
            (Some(one), Some(other)) => one == other,
            // A table of one user's jobs does not repeat the name.
            (None, None) => true,
            _ => false,
        };
        has_place(other)
            && other.scheduler == job.scheduler
            && match reach {
                LimitReach::User => same(&job.user, &other.user),
                LimitReach::Account | LimitReach::Group | LimitReach::Namespace => {
                    same(&job.account, &other.account)
                }
                LimitReach::Qos => same(&job.qos, &other.qos),
                LimitReach::Job | LimitReach::Node => false,
            }
    };
    let mut sum = None;
    for other in scene.jobs.iter().filter(is_same) {
        let (held, _) = need(scene, other, reach, resource);
        sum = Some(sum.unwrap_or(0.0) + held? * other.number() as f64);
    }
    sum
}

/// Returns what a job adds to a limit, and whether it adds whole nodes.
fn need(scene: &Scene, job: &Job, reach: LimitReach, resource: LimitedResource) -> (Option<f64>, bool) {
    let of_node = reach == LimitReach::Node;
    let needed = Need::of(job);
    let nodes = if of_node { 1 } else { needed.nodes };
    let is_exclusive = needed.is_exclusive;
    if is_exclusive
        && matches!(resource, LimitedResource::Cards | LimitedResource::Cpus)
        && let Some(whole) = of_whole_node(scene, job, resource)
    {
        return (Some(whole * nodes as f64), true);
    }
    let need = match resource {
        LimitedResource::Cards if of_node => needed.cards.map(|cards| cards as f64),
        LimitedResource::Cards => cards_of(job).map(|cards| cards as f64),
        LimitedResource::Cpus if of_node => needed.cpus,
        LimitedResource::Memory if of_node => needed.memory.map(|memory| memory.0 as f64),
        LimitedResource::Jobs | LimitedResource::SubmittedJobs => Some(1.0),
        _ => amount(&job.given, resource).or_else(|| amount(&job.asked, resource)),
    };
    (need, false)
}

/// Returns what one whole node counts of a resource: the node that the job has, or any where all are alike.
fn of_whole_node(scene: &Scene, job: &Job, resource: LimitedResource) -> Option<f64> {
    let mut amounts: Vec<f64> = scene
        .cluster
        .iter()
        .filter(|node| job.nodes.is_empty() || job.nodes.contains(&node.name) || node.name.is_empty())
        .filter_map(|node| amount(&node.has, resource))
        .filter(|amount| *amount > 0.0)
        .collect();
    amounts.sort_by(f64::total_cmp);
    amounts.dedup();
    match amounts.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}
