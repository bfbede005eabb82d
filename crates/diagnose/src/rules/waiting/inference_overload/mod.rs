//! `inference-overload`: a model server has more requests than it can serve.

use gpuwhy_model::action::{Action, SubjectKind};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Scene, ServingBound};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Percent, Seconds, Unit};
use gpuwhy_model::verdict::{Impact, Subject};

use crate::draft::Draft;
use crate::evidence::{busy, normal, once, with_normal};
use crate::facts::cards::whole_cards;
use crate::facts::serving::{QueueTime, Server, servers};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/inference_overload.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::InferenceOverload,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::ServerQueue,
            Signal::ServerCache,
            Signal::ServerTimes,
            Signal::ServerSpeed,
            Signal::GpuBusy,
        ],
    },
    check,
};

/// A card that works less than this while requests wait is kept waiting by its host.
const BUSY_PERCENT_MIN: f64 = 50.0;
/// A server that forms no batches has about one request in each execution.
const NO_BATCHES_MAX: f64 = 1.5;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for server in servers(scene) {
        if server.keeps_up(limits) == Some(true) {
            findings.rule_out(Signal::ServerQueue, None);
        } else if is_overloaded(&server, limits) {
            findings.report(judge(scene, &server, limits));
        }
    }
}

/// Returns the time in the queue where it is most of what requests take.
fn long_queue(server: &Server<'_>, limits: &Limits) -> Option<QueueTime> {
    server.queue_time().filter(|time| {
        // What waits for less than it is computed for is the usual mixing of batches.
        let is_long = time.seconds >= limits.serving_queue_s
            || server.entry.is_some_and(|entry| entry.clients.is_known());
        time.share >= limits.serving_queue_share_min && is_long
    })
}

fn is_overloaded(server: &Server<'_>, limits: &Limits) -> bool {
    let waits = server.waiting().is_some_and(|waiting| waiting > 0);
    waits || server.put_back > 0 || server.refused > 0 || long_queue(server, limits).is_some()
}

fn judge(scene: &Scene, server: &Server<'_>, limits: &Limits) -> Draft {
    let bound = server.bound(limits);
    let waiting = server.waiting().unwrap_or(0);
    let mut draft = about(server, bound, limits);
    weigh_queue(server, limits, &mut draft);
    weigh_times(server, limits, &mut draft);
    weigh_cache(server, bound, limits, &mut draft);
    weigh_refusals(server, &mut draft);
    weigh_speed(server, bound, &mut draft);
    weigh_batches(server, &mut draft);
    weigh_card(scene, &mut draft);
    draft.finding.impact = Impact { blocked: waiting.max(server.refused).max(1), ..Impact::default() };
    draft.finding.detail.insert("bound".to_owned(), bound.id().to_owned());
    advise(server, bound, &mut draft);
    draft
}

/// Begins the finding.
fn about(server: &Server<'_>, bound: ServingBound, limits: &Limits) -> Draft {
    let name = match server.entry.map(|entry| entry.model.as_str()).filter(|model| !model.is_empty()) {
        Some(model) => format!("{} {model}", server.engine),
        None if server.engine.is_empty() => "server".to_owned(),
        None => server.engine.clone(),
    };
    let subject = Subject { kind: SubjectKind::Program, id: name.clone(), name };
    let group = format!("server {}", subject.id);
    let mut draft = Draft::new(&RULE, subject, group, Vec::new(), summary(server, bound, limits));
    // A queue is a state: it is there, however short the look.
    draft.balance.past_decides = true;
    draft
}

fn summary(server: &Server<'_>, bound: ServingBound, limits: &Limits) -> Text {
    let waiting = server.waiting().unwrap_or(0);
    match (bound, long_queue(server, limits)) {
        (ServingBound::Cache, _) if waiting > 0 => text::summary_cache(waiting),
        (ServingBound::Cache, _) => text::summary_put_back(),
        (ServingBound::Execution | ServingBound::Unknown, Some(time)) => {
            text::summary_queue(Percent(time.share * 100.0), Seconds(time.seconds))
        }
        (_, _) if waiting == 0 && server.refused > 0 => text::summary_refused(server.refused),
        (ServingBound::Prefill, _) => text::summary_prefill(waiting),
        (ServingBound::Decode, _) => text::summary_decode(waiting),
        (ServingBound::BatchLimit, _) => text::summary_batch_limit(server.running().unwrap_or(0), waiting),
        (ServingBound::Execution | ServingBound::Unknown, None) => text::summary(waiting),
    }
}

/// Weighs the queue: one that stays, or grows, is more than the next moment clears.
fn weigh_queue(server: &Server<'_>, limits: &Limits, draft: &mut Draft) {
    let (Some(waiting), Some(least)) = (server.waiting(), server.least_waiting()) else {
        if server.put_back == 0 && server.refused == 0 && server.requests.is_empty() && !has_clients(server) {
            draft.silent(2.0);
        }
        return;
    };
    if waiting == 0 && least == 0 {
        // It comes and goes.
        if server.put_back > 0 || server.refused > 0 {
            draft.silent(2.0);
        } else {
            draft.only_possible();
        }
        return;
    }
    let words = match server.running() {
        Some(running) => text::waiting_beside(running, waiting),
        None => text::waiting(waiting),
    };
    let evidence = once(Signal::ServerQueue, waiting, Unit::Count, server.reader, words);
    let evidence = with_normal(evidence, normal(Comparison::Less, limits.serving_waiting_min as f64));
    let looks = server.looks_at_queue();
    let certainty = if looks > 1 { 1.0 } else { 0.8 };
    draft.agree_by(3.0, certainty, evidence);
    let is_few = least < limits.serving_waiting_min;
    if is_few && server.put_back == 0 && server.refused == 0 && long_queue(server, limits).is_none() {
        draft.only_possible();
    }
    if looks > 1 && server.queue_grows() {
        let first = server.looks.iter().find_map(|look| look.waiting).unwrap_or(0);
        draft.agree(
            1.0,
            once(Signal::ServerQueue, waiting, Unit::Count, server.reader, text::grows(first, waiting)),
        );
    }
}

fn has_clients(server: &Server<'_>) -> bool {
    server.entry.is_some_and(|entry| entry.clients.is_known())
}

/// Writes a number as exactly as a person reads it.
fn plain(number: f64) -> String {
    if number >= 10.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Weighs how long requests wait.
fn weigh_times(server: &Server<'_>, limits: &Limits, draft: &mut Draft) {
    let Some(time) = server.queue_time() else { return };
    let share = Percent(time.share * 100.0);
    let evidence = once(
        Signal::ServerTimes,
        share.0,
        Unit::Percent,
        server.reader,
        text::queue_time(share, Seconds(time.seconds)),
    );
    let usual = normal(Comparison::Less, limits.serving_queue_share_min * 100.0);
    if long_queue(server, limits).is_some() {
        let strength = if server.times_are_recent() { 1.0 } else { 0.5 };
        draft.agree_by(3.0, strength, with_normal(evidence, usual));
        if !server.times_are_recent() && server.waiting() == Some(0) {
            // It was so at some time since the server's start.
            draft.only_possible();
        }
        if time.n > 0 && time.n < 10 && server.requests.len() < 10 && !has_clients(server) {
            draft.silent(1.0);
        }
    } else if server.times_are_recent() && time.share < limits.serving_queue_share_min / 2.0 {
        draft.contradict(1.0, with_normal(evidence, usual));
    }
    weigh_clients(server, draft);
}

/// Says that so many open requests must take so long at such a speed, whatever the model needs.
fn weigh_clients(server: &Server<'_>, draft: &mut Draft) {
    let Some(entry) = server.entry else { return };
    let (Some(clients), Some(speed)) = (entry.clients.known(), entry.requests_per_s.known()) else { return };
    if *speed > 0.0 {
        let seconds = Seconds(*clients as f64 / speed);
        draft.mention(once(
            Signal::ServerSpeed,
            *clients,
            Unit::Count,
            server.reader,
            text::clients(*clients, plain(*speed), seconds),
        ));
    }
    if let Some(compute) = entry.times.compute.known() {
        let words = text::compute_time(compute.mean);
        draft.mention(once(Signal::ServerTimes, compute.mean.0, Unit::Seconds, server.reader, words));
    }
}

/// Weighs the cache: full, it is why; with room, it is not.
fn weigh_cache(server: &Server<'_>, bound: ServingBound, limits: &Limits, draft: &mut Draft) {
    if server.put_back > 0 {
        let words = text::put_back(server.put_back);
        draft.agree(1.5, once(Signal::ServerCache, server.put_back, Unit::Count, server.reader, words));
    } else if server.was_put_back && bound == ServingBound::Cache {
        draft.silent(0.5);
    }
    let Some(cache) = server.cache_while_waiting() else {
        if bound != ServingBound::Execution {
            draft.silent(1.0);
        }
        return;
    };
    let percent = Percent(cache * 100.0);
    let words = match bound {
        ServingBound::Cache if cache >= limits.serving_cache_share_min => text::cache_full(percent),
        _ if cache <= limits.serving_cache_roomy_share_max => text::cache_has_room(percent),
        _ => text::cache(percent),
    };
    let evidence = once(Signal::ServerCache, percent.0, Unit::Percent, server.reader, words);
    let evidence = with_normal(evidence, normal(Comparison::Less, limits.serving_cache_share_min * 100.0));
    match bound {
        ServingBound::Cache if cache >= limits.serving_cache_share_min => draft.agree(1.5, evidence),
        _ => draft.mention(evidence),
    }
}

fn weigh_refusals(server: &Server<'_>, draft: &mut Draft) {
    if server.refused > 0 {
        let words = text::refused(server.refused);
        draft.agree(3.0, once(Signal::ServerQueue, server.refused, Unit::Count, server.reader, words));
    }
}

/// Weighs what the server gets done: which part of the work it is that fills it.
fn weigh_speed(server: &Server<'_>, bound: ServingBound, draft: &mut Draft) {
    let (prompts, answers) = server.speed();
    if let (Some(prompts), Some(answers)) = (prompts, answers) {
        let evidence = once(
            Signal::ServerSpeed,
            answers,
            Unit::Count,
            server.reader,
            text::speed(plain(answers), plain(prompts)),
        );
        if matches!(bound, ServingBound::Prefill | ServingBound::Decode) {
            draft.agree(0.5, evidence);
        } else {
            draft.mention(evidence);
        }
    }
    if bound == ServingBound::Unknown {
        draft.silent(2.0);
    }
}

fn weigh_batches(server: &Server<'_>, draft: &mut Draft) {
    let Some(batch) = server.entry.and_then(|entry| entry.batch_mean.known().copied()) else { return };
    let words =
        if batch < NO_BATCHES_MAX { text::no_batches(plain(batch)) } else { text::batches(plain(batch)) };
    draft.mention(once(Signal::ServerSpeed, batch, Unit::Count, server.reader, words));
    if batch < NO_BATCHES_MAX {
        draft.finding.detail.insert("batching".to_owned(), "off".to_owned());
    }
}

/// Weighs cards that rest while requests wait: then something before them is slow.
fn weigh_card(scene: &Scene, draft: &mut Draft) {
    let resting: Vec<_> = whole_cards(scene).filter_map(|card| card.busy.known()).collect();
    let Some(busiest) = resting.iter().copied().max_by(|one, other| one.mean.0.total_cmp(&other.mean.0))
    else {
        return;
    };
    let usual = normal(Comparison::AtLeast, BUSY_PERCENT_MIN);
    if busiest.mean.0 < BUSY_PERCENT_MIN {
        draft.contradict(1.0, busy(scene, busiest, usual));
    } else {
        draft.agree(0.5, busy(scene, busiest, None));
    }
}

fn advise(server: &Server<'_>, bound: ServingBound, draft: &mut Draft) {
    let steps: &[Text] = &match bound {
        ServingBound::Cache => vec![text::fix_cache_room(), text::fix_cache_need()],
        ServingBound::Prefill => vec![text::fix_prefill(), text::fix_prefix_cache()],
        ServingBound::Decode => vec![text::fix_decode()],
        ServingBound::BatchLimit => vec![text::fix_batch_limit()],
        ServingBound::Execution if draft.finding.detail.contains_key("batching") => {
            vec![text::fix_batching()]
        }
        ServingBound::Execution => vec![text::fix_instances()],
        ServingBound::Unknown => vec![text::fix_look()],
    };
    for step in steps {
        draft.advise(Action::ImproveProgram, Vec::new(), step.clone());
    }
    let shed = if has_clients(server) { text::fix_fewer_clients() } else { text::fix_shed() };
    draft.advise(Action::MoveWork, Vec::new(), shed);
}
