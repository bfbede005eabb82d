//! Limits out of what a record says: of a quality of service, of an account.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Quota, QuotaHolder, QuotaReach, Resources, Scheduler};

use super::field::Field;
use super::record::Record;
use super::tres;
use super::words::{count, time};

/// Returns every limit that a record sets.
pub(super) fn quotas(record: &Record, holder: QuotaHolder) -> Vec<Quota> {
    let name = match holder {
        QuotaHolder::Account => record.get(Field::Account),
        QuotaHolder::Queue => record.get(Field::Partition),
        QuotaHolder::Qos | QuotaHolder::Namespace => {
            record.get(Field::Name).or_else(|| record.get(Field::Qos))
        }
    };
    let user = if holder == QuotaHolder::Account { record.get(Field::User) } else { None };
    let of = |reach: QuotaReach| Quota {
        scheduler: Scheduler::Slurm,
        holder,
        name: name.unwrap_or_default().to_owned(),
        user: user.unwrap_or_default().to_owned(),
        reach,
        ..Quota::default()
    };
    let limits = [
        (
            QuotaReach::Group,
            Field::GroupTres,
            Some(Field::GroupJobs),
            Some(Field::GroupSubmitted),
            Some(Field::GroupTime),
        ),
        (QuotaReach::User, Field::UserTres, Some(Field::UserJobs), Some(Field::UserSubmitted), None),
        (
            QuotaReach::Account,
            Field::AccountTres,
            Some(Field::AccountJobs),
            Some(Field::AccountSubmitted),
            None,
        ),
        (QuotaReach::Job, Field::JobTres, None, None, Some(Field::TimeLimit)),
        (QuotaReach::Node, Field::NodeTres, None, None, None),
        (QuotaReach::JobAtLeast, Field::LeastTres, None, None, None),
    ];
    let mut quotas = Vec::new();
    for (reach, amounts, jobs, submitted, length) in limits {
        let mut quota = of(reach);
        if let Some(text) = record.get(amounts) {
            quota.most = tres::resources(text).or_else(|| tres::gres(text)).unwrap_or_default();
            quota.used = tres::used(text);
        }
        let number = |field: Option<Field>| field.and_then(|field| record.get(field)).and_then(limit_of);
        if let Some((most, used)) = number(jobs) {
            quota.most.jobs = most;
            quota.used.jobs = used;
        }
        quota.submitted_most = number(submitted).map(|(most, _)| most).unwrap_or_default();
        let length = length.and_then(|field| record.get(field)).and_then(|text| time(text, 60.0));
        quota.most.time = length.unwrap_or_default();
        if limits_something(&quota.most) || quota.submitted_most.is_known() {
            quotas.push(quota);
        }
    }
    if let Some(share) = record.get(Field::FairShare).and_then(|text| text.parse().ok()) {
        quotas.push(Quota { fair_share: Reading::Known(share), ..of(QuotaReach::Group) });
    }
    quotas
}

/// Returns a number of jobs that is allowed, and how many of it are used: `4`, `N(2)`, `4(2)`.
fn limit_of(text: &str) -> Option<(Reading<u64>, Reading<u64>)> {
    let (most, used) = match text.split_once('(') {
        Some((most, rest)) => (most, rest.strip_suffix(')').and_then(count)),
        None => (text, None),
    };
    let most = if most == "N" { Reading::Unsupported } else { Reading::Known(count(most)?) };
    Some((most, used.into()))
}

/// Returns whether any of the amounts is a limit.
fn limits_something(most: &Resources) -> bool {
    most.nodes.is_known()
        || most.cards.is_known()
        || most.cpus.is_known()
        || most.memory.is_known()
        || most.time.is_known()
        || most.jobs.is_known()
}
