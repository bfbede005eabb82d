//! How fast a card runs under load, and what its clock reasons say.

use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ClockReasons, Vendor};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Share, Unit};

use crate::evidence::{normal, once, over, reader, with_normal};
use crate::facts::cards::{Activity, activity, whole_cards};
pub(super) use crate::facts::effort::clock_share;
use crate::shared_text;

/// Lowered clocks cost at least this share of time, however little is known of them.
const LEAST_LOSS: f64 = 0.01;
/// What lowered clocks cost where the clocks themselves are not known.
const UNKNOWN_LOSS: f64 = 0.1;

/// Returns the cards whose clocks can be judged: those of NVIDIA that answer.
pub(super) fn judged(scene: &Scene) -> impl Iterator<Item = &Card> {
    whole_cards(scene).filter(|card| card.vendor == Vendor::Nvidia && card.handle.is_known())
}

/// Returns whether a card works.
pub(super) fn works(card: &Card, limits: &Limits) -> bool {
    activity(card, limits) == Activity::Works
}

/// Returns whether a card has work nearly all the time, so that its clocks should be up.
pub(super) fn is_under_load(card: &Card, limits: &Limits) -> bool {
    let is_busy = card.busy.known().is_some_and(|busy| busy.mean.0 >= limits.busy_percent_min);
    is_busy && works(card, limits)
}

/// Returns the card time that lowered clocks cost in the window, in seconds.
pub(super) fn seconds_lost(scene: &Scene, card: &Card, limits: &Limits) -> f64 {
    if !works(card, limits) {
        return 0.0;
    }
    let busy = card.busy.known().map_or(1.0, |busy| busy.mean.0 / 100.0);
    let loss = clock_share(card).map_or(UNKNOWN_LOSS, |share| (1.0 - share).clamp(LEAST_LOSS, 1.0));
    scene.window.span_s * busy * loss
}

/// Returns the reasons that held at most looks; of a single look, those of that look.
pub(super) fn lasting_reasons(card: &Card) -> ClockReasons {
    let lasting = card.lasting_clock_reasons.known().or(card.clock_reasons.known());
    lasting.copied().unwrap_or_default()
}

/// Returns a share that is known and felt.
pub(super) fn felt(share: &Reading<Share>, limits: &Limits) -> Option<Share> {
    share.known().copied().filter(|share| share.0 > limits.slowed_share_max)
}

/// Shows the share of time in which a reason lowered the clocks, by the counters of the card.
pub(super) fn reason_evidence(
    scene: &Scene,
    share: Share,
    most: f64,
    words: gpuwhy_model::text::Text,
) -> Evidence {
    let evidence = once(Signal::ClockReasons, share.0 * 100.0, Unit::Percent, Reader::NvmlCounters, words);
    let usual = normal(Comparison::AtMost, most * 100.0);
    with_normal(over(evidence, scene.window.samples, scene.window.span_s), usual)
}

/// Shows the mean clock against the highest, where both are known.
pub(super) fn clock_evidence(scene: &Scene, card: &Card, least_share: f64) -> Option<Evidence> {
    let trend = card.sm_clock.known()?;
    let (share, highest) = (clock_share(card)?, card.clocks.sm_max.known()?.0);
    let words = shared_text::sm_clock(megahertz(trend.mean.0), megahertz(highest), Percent(share * 100.0));
    let evidence = once(Signal::SmClock, trend.mean.0, Unit::Megahertz, reader(scene, Reader::Nvml), words);
    let usual = normal(Comparison::AtLeast, highest * least_share);
    Some(with_normal(over(evidence, trend.n, trend.span_s), usual))
}

/// Returns a clock as text shows it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clocks are small and positive")]
pub(super) fn megahertz(clock: f64) -> u64 {
    clock.max(0.0).round() as u64
}
