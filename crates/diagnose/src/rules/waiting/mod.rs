//! Causes of waiting: jobs that cannot start, queues that are full, nodes that take no jobs, cards that nobody offers.

pub(crate) mod gpu_not_advertised;
pub(crate) mod inference_overload;
pub(crate) mod node_unavailable;
pub(crate) mod queue_congested;
pub(crate) mod scheduler_pending;

use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Group, reader_of};
use crate::rule::Rule;
use crate::shared_text;

/// Begins a finding about jobs that wait.
fn about_group(rule: &'static Rule, group: &Group<'_>, summary: gpuwhy_model::text::Text) -> Draft {
    let key = format!("{} {} {}", group.scheduler, group.queue, group.why.word());
    let mut draft = Draft::new(rule, group.subject(), key, Vec::new(), summary);
    draft = draft.culprits(group.culprits(), Vec::new());
    // States and reasons are no rates: they are so, however long one looks.
    draft.balance.past_decides = true;
    draft.finding.impact = Impact { blocked: group.size, ..Impact::default() };
    draft.finding.detail.insert("jobs".to_owned(), group.size.to_string());
    if !group.why.word().is_empty() {
        draft.finding.detail.insert("reason".to_owned(), group.why.word().to_owned());
    }
    draft
}

/// Shows the reason that the scheduler gives.
fn says(group: &Group<'_>) -> Evidence {
    let word = group.why.word();
    let words = match group.why.reason.and_then(|reason| reason.note.as_deref()) {
        Some(note) if note.len() <= 200 => shared_text::job_reason_with_note(note, word),
        _ => shared_text::job_reason(word),
    };
    once(Signal::JobReason, word, Unit::Text, reader_of(group.scheduler), words)
}
