//! `nvlink-fault`: links between cards are down or faulty.

mod said;

use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::Vendor;
use gpuwhy_model::scene::{Card, NvLinkState, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{normal, once, over, reader, reported, with_normal};
use crate::facts::cards::{Activity, activity, with_unlisted};
use crate::facts::culprit;
use crate::facts::peers;
use crate::facts::xids::{self, Kind, Report};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/nvlink_fault.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::NvlinkFault,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::NvLinks,
            Signal::Fabric,
            Signal::KernelLog,
            Signal::XidEvents,
            Signal::Peers,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// Links that are down cost a card that works this share of the time, for each share of its links.
const LEAST_LOSS: f64 = 0.01;
/// The library's answer of a card that is gone.
const GPU_IS_LOST: u32 = 15;
/// A link went down on this card's side; cards at the other ends report other numbers.
const LOST_LINK: &[u32] = &[149, 150];
/// Two bits each of the fabric's health mask say whether something is so; 1 stands for yes.
const YES: u32 = 1;
const BANDWIDTH_IS_DEGRADED: u32 = 0;
const ROUTE_IS_UNHEALTHY: u32 = 4;

/// What is wrong with the links of a card.
#[derive(Debug, Default)]
struct Faults<'scene> {
    /// How many are up, of how many that should be.
    down: Option<Down>,
    /// What the counters of the links did.
    growth: Growth,
    /// The fabric says that this card gets less bandwidth, or a broken route.
    fabric: Option<u32>,
    /// Link errors that the driver reported.
    reports: Vec<Report<'scene>>,
    /// What other cards report where the link went down on this card's side.
    echoes: Vec<(String, Report<'scene>)>,
}

#[derive(Debug, Clone, Copy)]
struct Down {
    up: usize,
    expected: usize,
    /// The product is known to have so many, on its board; else the same cards here have them.
    by_product: bool,
    /// Numbers of the links that are down.
    first: Option<u32>,
}

/// What the error counters of all links did in the window.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    crc: u64,
    replays: u64,
    recoveries: u64,
    /// The link with most of it.
    link: u32,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    let groups = peers::same_products(scene);
    let somebody_lost_a_link = with_unlisted(scene).any(|card| {
        link_reports(scene, card, limits).iter().any(|report| LOST_LINK.contains(&report.number))
    });
    let somebody_is_gone = with_unlisted(scene).any(|card| is_gone(scene, card, limits));
    for card in with_unlisted(scene) {
        if card.vendor != Vendor::Nvidia || !card.handle.is_known() {
            continue;
        }
        if let Some(absence @ Absence::Denied(_)) = card.nvlinks.absence() {
            findings.blind(Signal::NvLinks, absence);
        }
        let group = groups.iter().find(|group| group.iter().any(|one| one.index == card.index));
        let peers = group.map_or(&[][..], Vec::as_slice);
        let mut reports = link_reports(scene, card, limits);
        reports.retain(|report| !somebody_lost_a_link || LOST_LINK.contains(&report.number));
        // Links to a card that is gone are down, and healthy cards report that.
        let echoes = if reports.is_empty() || somebody_is_gone || !somebody_lost_a_link {
            Vec::new()
        } else {
            echoes(scene, card, limits)
        };
        let faults = Faults {
            echoes,
            down: down(card, peers).filter(|_| !somebody_is_gone),
            growth: growth(card),
            fabric: fabric(card),
            reports: if somebody_is_gone { Vec::new() } else { reports },
        };
        if let Some(draft) = judge(scene, card, &faults, limits) {
            findings.report(draft);
        }
    }
}

/// Returns the errors of links that a card reports; those that the driver itself calls not fatal are book-keeping.
fn link_reports<'scene>(scene: &'scene Scene, card: &Card, limits: &Limits) -> Vec<Report<'scene>> {
    let mut reports = xids::of_card(scene, card, limits);
    reports.retain(|report| xids::kind(report.number, card) == Kind::Link && report.is_fatal != Some(false));
    reports
}

/// Returns what the cards at the other ends report of a link that went down.
fn echoes<'scene>(scene: &'scene Scene, card: &Card, limits: &Limits) -> Vec<(String, Report<'scene>)> {
    let mut echoes = Vec::new();
    for other in with_unlisted(scene).filter(|other| other.called() != card.called()) {
        let mut reports = link_reports(scene, other, limits);
        reports.retain(|report| !LOST_LINK.contains(&report.number));
        echoes.extend(reports.into_iter().map(|report| (other.called(), report)));
    }
    echoes
}

fn is_gone(scene: &Scene, card: &Card, limits: &Limits) -> bool {
    let answers_lost =
        matches!(card.handle.absence(), Some(Absence::Failed(Failure::Nvml { code: GPU_IS_LOST, .. })));
    let reports = xids::of_card(scene, card, limits);
    answers_lost || reports.iter().any(|report| xids::kind(report.number, card) == Kind::Lost)
}

/// Returns how many links are up, if the state of all is known.
fn links_up(card: &Card) -> Option<usize> {
    let links = card.nvlinks.known().filter(|links| !links.is_empty())?;
    let states: Option<Vec<bool>> = links.iter().map(|link| link.active.known().copied()).collect();
    Some(states?.into_iter().filter(|is_up| *is_up).count())
}

/// Returns whether links are down that should be up.
///
/// A card without any link up may be alone in a machine, without its bridge, or given to a virtual machine by itself:
/// that is a fault only if the same cards beside it have links.
fn down(card: &Card, peers: &[&Card]) -> Option<Down> {
    let up = links_up(card)?;
    let others = || peers.iter().filter(|peer| peer.index != card.index).filter_map(|peer| links_up(peer));
    let most = others().max();
    if up == 0 && most.is_none_or(|most| most == 0) {
        return None;
    }
    // A card in multi-instance mode has no use for its links, and the fabric manager turns them off.
    if up == 0 && card.mig_enabled == Reading::Known(true) {
        return None;
    }
    let links = card.nvlinks.known().into_iter().flatten();
    let first = links.into_iter().find(|link| link.active.known() == Some(&false)).map(|link| link.link);
    let product = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    let wired = product.filter(|product| product.has_wired_links()).and_then(|product| product.nvlink_links);
    // Boards of other makers wire fewer: all alike is how it was built.
    let all_alike = others().count() > 0 && others().all(|other| other == up);
    if let Some(expected) = wired.and_then(|links| usize::try_from(links).ok())
        && up < expected
        && !all_alike
    {
        return Some(Down { up, expected, by_product: true, first });
    }
    // A pair with a bridge beside a pair without one is a choice.
    let expected = most.filter(|most| up > 0 && up < *most || up == 0 && wired.is_some() && *most > 0)?;
    Some(Down { up, expected, by_product: false, first })
}

fn growth(card: &Card) -> Growth {
    let mut sum = Growth::default();
    let mut most = 0;
    for link in card.nvlinks.known().into_iter().flatten() {
        let (crc, replays, recoveries) = of_link(link);
        sum.crc = sum.crc.saturating_add(crc);
        sum.replays = sum.replays.saturating_add(replays);
        sum.recoveries = sum.recoveries.saturating_add(recoveries);
        let all = crc.saturating_add(replays).saturating_add(recoveries);
        if all > most {
            (most, sum.link) = (all, link.link);
        }
    }
    sum
}

fn of_link(link: &NvLinkState) -> (u64, u64, u64) {
    let grown = |reading: &Reading<u64>| reading.known().copied().unwrap_or(0);
    (grown(&link.crc_growth), grown(&link.replay_growth), grown(&link.recovery_growth))
}

/// Returns the fabric's health mask, if it names a fault of this card's routes.
fn fabric(card: &Card) -> Option<u32> {
    let health = card.fabric.known()?.health;
    let says = |shift: u32| (health >> shift) & 0b11 == YES;
    (says(BANDWIDTH_IS_DEGRADED) || says(ROUTE_IS_UNHEALTHY)).then_some(health)
}

fn judge(scene: &Scene, card: &Card, faults: &Faults<'_>, limits: &Limits) -> Option<Draft> {
    let growth = faults.growth;
    let crc_per_s = if scene.window.span_s > 0.0 { growth.crc as f64 / scene.window.span_s } else { 0.0 };
    let has_many_errors = crc_per_s >= limits.nvlink_crc_per_s_min
        || growth.replays >= limits.nvlink_replays_min
        || growth.recoveries > 0;
    let has_errors = has_many_errors || growth.replays > 0;
    let fault = faults.down.is_some() || faults.fabric.is_some();
    if !fault && !has_errors && faults.reports.is_empty() {
        return None;
    }
    let is_note = !fault && !has_many_errors && faults.reports.is_empty();
    let severity = match (fault, is_note) {
        (true, _) => Severity::Fault,
        (false, true) => Severity::Note,
        (false, false) => Severity::Warn,
    };
    let mut draft = Draft::about_card(&RULE, card, summary(faults, has_errors)).severity(severity);
    if let Some(down) = faults.down {
        weigh_down(scene, down, &mut draft);
    }
    if has_errors {
        weigh_growth(scene, growth, crc_per_s, has_many_errors, &mut draft);
    }
    if let Some(health) = faults.fabric {
        let words = text::fabric();
        draft.agree(3.0, once(Signal::Fabric, health, Unit::Code, reader(scene, Reader::Nvml), words));
    }
    weigh_reports(scene, faults, fault || has_errors, &mut draft);
    draft.finding.impact.gpu_seconds =
        if is_note { 0.0 } else { seconds_lost(scene, card, faults.down, limits) };
    advise(card, faults, has_errors, &mut draft);
    let (culprits, pids) = culprit::at_work_on(scene, card, limits);
    Some(draft.culprits(culprits, pids))
}

fn summary(faults: &Faults<'_>, has_errors: bool) -> Text {
    match (faults.down, faults.fabric, faults.reports.first()) {
        (Some(down), _, _) => text::summary_down(down.expected, down.up),
        (None, Some(_), _) => text::summary_fabric(),
        (None, None, Some(report)) if !has_errors => text::summary_report(report.number),
        _ => text::summary_errors(),
    }
}

fn weigh_down(scene: &Scene, down: Down, draft: &mut Draft) {
    let reader = reader(scene, Reader::Nvml);
    let words = match down.first {
        Some(first) if down.by_product => text::down_by_product(down.expected, first, down.up),
        Some(first) => text::down_by_peers(down.expected, first, down.up),
        None => text::fewer(down.expected, down.up),
    };
    let evidence = once(Signal::NvLinks, down.up, Unit::Count, reader, words);
    let evidence = with_normal(evidence, normal(Comparison::AtLeast, down.expected as f64));
    draft.agree_by(4.0, if down.by_product { 0.95 } else { 0.75 }, evidence);
}

fn weigh_growth(scene: &Scene, growth: Growth, crc_per_s: f64, has_many: bool, draft: &mut Draft) {
    let all = growth.crc.saturating_add(growth.replays).saturating_add(growth.recoveries);
    let words = text::errors(growth.crc, growth.link, growth.recoveries, growth.replays);
    let evidence = once(Signal::NvLinks, all, Unit::Count, Reader::NvmlCounters, words);
    let evidence = over(evidence, scene.window.samples, scene.window.span_s);
    draft.agree_by(
        4.0,
        if has_many { 0.9 } else { 0.6 },
        with_normal(evidence, normal(Comparison::Equal, 0.0)),
    );
    if growth.recoveries == 0 && crc_per_s > 0.0 {
        draft.balance.rest_on(scene.window.samples, scene.window.span_s);
    }
}

/// Weighs link errors of the driver: alone, they may come of the other side.
fn weigh_reports(scene: &Scene, faults: &Faults<'_>, is_seen_otherwise: bool, draft: &mut Draft) {
    let Some(report) = faults.reports.last() else {
        // What the card itself shows needs no second witness; an unread log would only add.
        if let (Some(absence @ Absence::Denied(_)), true) = (scene.events.absence(), is_seen_otherwise) {
            draft.unseen(0.3, Signal::KernelLog, absence);
        }
        return;
    };
    let is_sure = is_seen_otherwise || report.is_fatal == Some(true);
    draft.agree_by(2.0, if is_sure { 1.0 } else { 0.5 }, reported(report));
    draft.finding.detail.insert("xid".to_owned(), report.number.to_string());
    mention_echoes(faults, draft);
}

/// Names the cards at the other ends, and the programs that were ended for it: whoever looks for the cause starts here.
fn mention_echoes(faults: &Faults<'_>, draft: &mut Draft) {
    let mut others: Vec<String> =
        faults.echoes.iter().map(|(card, report)| format!("{card}: {}", report.number)).collect();
    others.sort();
    others.dedup();
    if !others.is_empty() {
        let count = others.len();
        let words = text::other_ends(others);
        draft.mention(once(Signal::KernelLog, count, Unit::Count, Reader::KernelLog, words));
    }
    let all = faults.reports.iter().chain(faults.echoes.iter().map(|(_, report)| report));
    let mut ended: Vec<String> = all
        .filter_map(|report| {
            let pid = report.pid?.0;
            Some(report.name.map_or_else(|| pid.to_string(), |name| format!("{pid} ({name})")))
        })
        .collect();
    ended.sort();
    ended.dedup();
    if !ended.is_empty() {
        let count = ended.len();
        let words = text::ended(ended);
        draft.mention(once(Signal::KernelLog, count, Unit::Count, Reader::KernelLog, words));
    }
}

/// Returns the card time that links that are down cost: exchange takes longer by their share.
fn seconds_lost(scene: &Scene, card: &Card, down: Option<Down>, limits: &Limits) -> f64 {
    if activity(card, limits) != Activity::Works {
        return 0.0;
    }
    let missing = down.map_or(0.0, |down| 1.0 - down.up as f64 / down.expected.max(1) as f64);
    scene.window.span_s * missing.clamp(LEAST_LOSS, 1.0)
}

fn advise(card: &Card, faults: &Faults<'_>, has_errors: bool, draft: &mut Draft) {
    let target = vec![Target { kind: SubjectKind::Card, id: draft.finding.subject.id.clone() }];
    draft.advise(Action::LookAgain, target.clone(), text::fix_look(card.called()));
    let is_wired = faults.down.is_none_or(|down| down.by_product);
    if is_wired || has_errors {
        draft.advise(Action::ResetCard, target.clone(), text::fix_reset());
    }
    draft.advise(Action::ServiceHardware, target, text::fix_service());
}
