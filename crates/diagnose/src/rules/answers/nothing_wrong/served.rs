//! No card is in the text, but a model server that keeps up with its requests, or a program that waits for some.

use gpuwhy_knowledge::FrameKind;
use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Profile, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::serving::{Server, servers};
use crate::facts::stacks::{members, shares, through};
use crate::findings::Findings;

/// A program that spends this share of its time asking for requests has none.
const POLLS_SHARE_MIN: f64 = 0.7;
/// A program that spends this share of its own time on work is not idle.
const WORKS_SHARE_MAX: f64 = 0.1;
/// A cache fuller than this may be the next trouble.
const CACHE_SHARE_MAX: f64 = 0.95;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let is_open = findings.candidates().any(|draft| draft.finding.severity != Severity::Note);
    if !scene.cards.is_empty() || is_open || findings.answers().next().is_some() {
        return;
    }
    let servers = servers(scene);
    if servers.iter().any(|server| server.keeps_up(limits) == Some(false)) {
        return;
    }
    let keeping_up: Vec<&Server<'_>> = servers
        .iter()
        .filter(|server| {
            let is_full =
                server.looks.last().and_then(|look| look.cache).is_some_and(|cache| cache > CACHE_SHARE_MAX);
            server.keeps_up(limits) == Some(true) && !is_full
        })
        .collect();
    let polling: Vec<Evidence> =
        scene.profiles.iter().filter_map(polls).chain(stands_polling(scene)).collect();
    let summary = match (keeping_up.is_empty(), polling.is_empty()) {
        (true, true) => return,
        (false, _) => text::summary_server(),
        (true, false) => text::summary_polls(),
    };
    // A look at the whole program that shows work is not nothing.
    if polling.len() < scene.profiles.len() {
        return;
    }
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Ok);
    draft.balance.past_decides = true;
    for server in &keeping_up {
        weigh_server(server, keeping_up.len(), limits, &mut draft);
    }
    let number = polling.len();
    for evidence in polling {
        draft.agree(3.0 / number as f64, evidence);
    }
    // What the cards do is not in the text.
    draft.silent(1.0);
    let polls = keeping_up.is_empty();
    draft.advise(Action::Nothing, Vec::new(), if polls { text::fix_polls() } else { text::fix() });
    findings.report(draft);
}

fn weigh_server(server: &Server<'_>, number: usize, limits: &Limits, draft: &mut Draft) {
    let running = server.running().unwrap_or(0);
    let words = text::keeps_up(running);
    let evidence = once(Signal::ServerQueue, 0_u64, Unit::Count, server.reader, words);
    let evidence = with_normal(evidence, normal(Comparison::Less, limits.serving_waiting_min as f64));
    let certainty = if server.looks_at_queue() > 1 { 1.0 } else { 0.8 };
    draft.agree_by(3.0 / number as f64, certainty, evidence);
    if let Some(cache) = server.looks.last().and_then(|look| look.cache) {
        let percent = Percent(cache * 100.0);
        draft.mention(once(
            Signal::ServerCache,
            percent.0,
            Unit::Percent,
            server.reader,
            text::cache(percent),
        ));
    }
}

/// Returns the evidence that a program only asks for requests, if it does.
fn polls(profile: &Profile) -> Option<Evidence> {
    let shares = shares(profile);
    let of =
        |wanted: FrameKind| shares.iter().find(|(kind, _)| *kind == wanted).map_or(0.0, |(_, share)| *share);
    let works =
        [FrameKind::Serve, FrameKind::Compute, FrameKind::Prepare, FrameKind::Storage, FrameKind::Data];
    let works: f64 = works.iter().map(|kind| of(*kind)).sum();
    let (function, all) = through(profile, FrameKind::Poll)?;
    let share = of(FrameKind::Poll).max(all.min(1.0));
    if share < POLLS_SHARE_MIN || works > WORKS_SHARE_MAX {
        return None;
    }
    let percent = Percent(share * 100.0);
    Some(once(Signal::Profile, percent.0, Unit::Percent, Reader::Sampler, text::polls(function, percent)))
}

/// Returns the evidence that all programs whose stacks were dumped stand where they ask for requests.
fn stands_polling(scene: &Scene) -> Option<Evidence> {
    let members = members(scene);
    let first = members.first()?;
    let all_poll = members.iter().all(|member| member.place.kind == Some(FrameKind::Poll));
    let words = text::stands(first.place.frame.function.as_str(), members.len());
    all_poll.then(|| once(Signal::Stacks, members.len(), Unit::Count, Reader::Sampler, words))
}
