//! Pods that were not even made, for a limit of their namespace.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{JobPhase, Quota, QuotaHolder, Scheduler};

use super::event::Event;
use super::picture::Picture;
use super::quantity::{bytes, cores, count};
use super::reasons::plain;
use super::resources::{card_kind, resources};

/// Reads that a pod was not even made, for a limit of its namespace.
pub(super) fn refused(event: &Event, picture: &mut Picture) {
    let Some(place) = event.message.find("exceeded quota").or_else(|| event.message.find("failed quota"))
    else {
        if event.message.contains("forbidden") {
            let job = picture.job(&event.object);
            job.phase = Reading::Known(JobPhase::Refused);
            let words =
                event.message.split_once("forbidden: ").map_or(event.message.as_str(), |(_, words)| words);
            job.reasons = vec![plain(words)];
            job.reason = Reading::Known(job.reasons[0].word.clone());
        }
        return;
    };
    let words = &event.message[place..];
    let limit = quota_of(words, event.object.split_once('/').map(|(namespace, _)| namespace));
    let asked = named_amounts(words, "requested: ");
    let job = picture.job(&event.object);
    job.phase = Reading::Known(JobPhase::Refused);
    job.reasons = vec![plain(words)];
    job.reason = Reading::Known("exceeded quota".to_owned());
    if job.asked.is_unknown() {
        job.asked = resources(asked.iter().map(|(name, amount)| (name.as_str(), amount.as_str())));
    }
    picture.quotas.extend(limit);
}

/// Reads `exceeded quota: NAME, requested: A=1,B=2, used: A=8, limited: A=8`.
fn quota_of(words: &str, namespace: Option<&str>) -> Option<Quota> {
    let (_, rest) = words.split_once("quota: ")?;
    let name = rest.split([',', ':']).next()?.trim();
    let of = |label: &str| {
        let amounts = named_amounts(words, label);
        resources(amounts.iter().map(|(name, amount)| (name.as_str(), amount.as_str())))
    };
    let quota = Quota {
        scheduler: Scheduler::Kubernetes,
        holder: QuotaHolder::Namespace,
        name: namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}")),
        most: of("limited: "),
        used: of("used: "),
        ..Quota::default()
    };
    (!quota.most.is_unknown()).then_some(quota)
}

/// Returns the amounts behind a label: `A=1,B=2` up to the next label.
fn named_amounts(words: &str, label: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = words.split_once(label) else {
        return Vec::new();
    };
    let end = [", used: ", ", limited: ", ", requested: "]
        .iter()
        .filter_map(|next| rest.find(next))
        .min()
        .unwrap_or(rest.len());
    let entries = rest[..end].split(',').filter_map(|entry| entry.trim().split_once('='));
    let is_known = |name: &str, amount: &str| {
        let plain = name.strip_prefix("requests.").unwrap_or(name);
        match plain {
            "cpu" => cores(amount).is_some(),
            "memory" => bytes(amount).is_some(),
            "pods" => count(amount).is_some(),
            _ => card_kind(plain).is_some() && count(amount).is_some(),
        }
    };
    let entries = entries.map(|(name, amount)| (name.trim(), amount.trim().trim_end_matches('.')));
    entries
        .filter(|(name, amount)| is_known(name, amount))
        .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
        .collect()
}
