//! Limits of a namespace as objects.

use gpuwhy_model::scene::{Quota, QuotaHolder, QuotaReach, Resources, Scheduler};

use super::id;
use crate::text::kubernetes::picture::Picture;
use crate::text::kubernetes::resources::resources;
use crate::tree::Tree;

/// Reads a quota of a namespace, or a range within which each container must stay.
pub(super) fn read(object: &Tree, kind: &str, picture: &mut Picture) {
    let status = if object.get("status").entries().is_empty() { object } else { object.get("status") };
    let spec = object.get("spec");
    if kind == "LimitRange" {
        for range in spec.get("limits").list() {
            let most = amounts(range.get("max"));
            picture.quotas.extend((!most.is_unknown()).then(|| Quota {
                scheduler: Scheduler::Kubernetes,
                holder: QuotaHolder::Namespace,
                name: id(object),
                reach: QuotaReach::Job,
                most,
                ..Quota::default()
            }));
        }
        return;
    }
    let hard = if status.get("hard").entries().is_empty() { spec.get("hard") } else { status.get("hard") };
    picture.quotas.push(Quota {
        scheduler: Scheduler::Kubernetes,
        holder: QuotaHolder::Namespace,
        name: id(object),
        most: amounts(hard),
        used: amounts(status.get("used")),
        ..Quota::default()
    });
}

fn amounts(amounts: &Tree) -> Resources {
    resources(amounts.entries().iter().filter_map(|(name, amount)| Some((name.as_str(), amount.text()?))))
}
