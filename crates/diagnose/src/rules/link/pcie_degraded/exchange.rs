//! What a test moved between cards: one card that is slow to all others has a narrow way to its slot.

use std::collections::BTreeSet;

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::sample::CardPath;
use gpuwhy_model::scene::{JoinedPair, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{BytesPerSecond, Percent, Unit};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, reader, with_normal};
use crate::findings::Findings;

/// Two cards are always alike: of as many at least, one may be the odd one.
const CARDS_MIN: usize = 3;
/// A card that moves less than this share of what the others do has half of their lanes, or less.
const SLOW_SHARE: f64 = 0.65;
/// The others are alike when none of them moves less than this share of the best.
const ALIKE_SHARE: f64 = 0.8;

/// Two cards and what a test moved between them, in bytes a second.
struct Measured {
    one: u32,
    other: u32,
    rate: f64,
}

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let Some(pairs) = measured(scene) else {
        return;
    };
    let cards: BTreeSet<u32> = pairs.iter().flat_map(|pair| [pair.one, pair.other]).collect();
    if cards.len() < CARDS_MIN {
        return;
    }
    for card in &cards {
        let (own, others): (Vec<&Measured>, Vec<&Measured>) =
            pairs.iter().partition(|pair| pair.one == *card || pair.other == *card);
        // What was not measured may be as fast as the others.
        if own.len() + 1 < cards.len() || others.is_empty() {
            continue;
        }
        let most = |pairs: &[&Measured]| pairs.iter().map(|pair| pair.rate).fold(0.0, f64::max);
        let (slow, fast) = (most(&own), most(&others));
        if others.iter().all(|pair| pair.rate >= fast * ALIKE_SHARE) && slow < fast * SLOW_SHARE {
            findings.report(draft(scene, *card, slow, fast));
        }
    }
}

/// Returns what was measured, where all of it went over ways of one known kind: ways of other kinds differ by their nature.
fn measured(scene: &Scene) -> Option<Vec<Measured>> {
    let pairs = scene.machine.joined_pairs.known()?;
    let paths = scene.machine.card_pairs.known()?;
    let path = |pair: &JoinedPair| -> Option<CardPath> {
        paths.iter().find(|path| path.one == pair.one && path.other == pair.other).map(|path| path.path)
    };
    let mut common = None;
    let mut all = Vec::new();
    for pair in pairs {
        let Some(rate) = pair.bytes_per_s.filter(|rate| *rate > 0) else {
            continue;
        };
        let path = path(pair)?;
        if *common.get_or_insert(path) != path || pair.nvlinks.is_some() {
            return None;
        }
        all.push(Measured { one: pair.one, other: pair.other, rate: rate as f64 });
    }
    Some(all)
}

fn draft(scene: &Scene, card: u32, slow: f64, fast: f64) -> Draft {
    let share = Percent(slow / fast * 100.0);
    let summary = text::summary_exchange(card, share);
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Warn);
    draft.group = format!("exchange of card {card}");
    draft.balance.past_decides = true;
    if scene.cards.iter().any(|known| known.index == card) {
        draft.finding.cards = vec![card];
    }
    let words = text::exchange(card, BytesPerSecond(fast), BytesPerSecond(slow));
    let evidence = once(Signal::PcieLink, share.0, Unit::Percent, reader(scene, Reader::Nvml), words);
    draft.agree_by(4.0, 0.8, with_normal(evidence, normal(Comparison::AtLeast, SLOW_SHARE * 100.0)));
    draft.advise(Action::MoveWork, Vec::new(), text::fix_exchange());
    draft
}
