//! Heat that the figures of a text show where the text does not say why the clocks are as they are.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Vendor;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Celsius, Percent, Watts};

use super::cards::{Activity, activity};
use crate::shared_text;

/// So close to the temperature from which on its clocks are cut, a card is hot, in degrees Celsius.
const NEAR_C: f64 = 3.0;
/// Above this, any card is near it, in degrees Celsius.
const HOT_C: f64 = 87.0;
/// No card's clocks are cut at a lower temperature: newer cards give some limits as an offset.
const LOWEST_LIMIT_C: f64 = 40.0;
/// A busy card that takes less than this share of its power limit is not held back by that limit.
const FAR_FROM_LIMIT: f64 = 0.6;

/// A card that is hot and busy and takes far less power than it may.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ApparentHeat {
    pub(crate) temperature: Celsius,
    power: Watts,
    limit: Watts,
    fan: Option<Percent>,
}

impl ApparentHeat {
    /// Says it with its figures.
    pub(crate) fn words(&self, card: &Card) -> Text {
        let shown = card.shown();
        match self.fan {
            Some(fan) => {
                shared_text::apparent_heat_with_fan(shown, fan, self.limit, self.power, self.temperature)
            }
            None => shared_text::apparent_heat(shown, self.limit, self.power, self.temperature),
        }
    }
}

/// Returns the heat that a text's figures of a card show; none where the text gives the reasons of its clocks.
pub(crate) fn apparent_heat(scene: &Scene, card: &Card, limits: &Limits) -> Option<ApparentHeat> {
    let is_of_text = scene.provenance.source == SourceKind::Text && card.vendor == Vendor::Nvidia;
    let shares = &card.reason_shares;
    let says_why = card.clock_reasons.is_known()
        || card.lasting_clock_reasons.is_known()
        || shares.hardware_thermal.is_known()
        || shares.software_thermal.is_known();
    let is_busy = card.busy.known().is_some_and(|busy| busy.mean.0 >= limits.busy_percent_min);
    if !is_of_text || says_why || !is_busy || activity(card, limits) != Activity::Works {
        return None;
    }
    let (power, limit) = (card.power.known()?.mean, *card.power_limits.enforced.known()?);
    let temperature = card.temperature.known()?.max;
    let takes_little = power.0 < limit.0 * FAR_FROM_LIMIT;
    (takes_little && is_hot(card, temperature)).then(|| ApparentHeat {
        temperature,
        power,
        limit,
        fan: card.fan.known().copied(),
    })
}

fn is_hot(card: &Card, temperature: Celsius) -> bool {
    let limits = &card.temperature_limits;
    let is_near = |limit: &Reading<Celsius>| {
        let limit = limit.known().filter(|limit| limit.0 >= LOWEST_LIMIT_C);
        limit.is_some_and(|limit| temperature.0 >= limit.0 - NEAR_C)
    };
    temperature.0 > HOT_C || is_near(&limits.slowdown) || is_near(&limits.operating_maximum)
}
