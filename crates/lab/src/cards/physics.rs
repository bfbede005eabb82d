//! The laws of a card, without any sharing or clocks: one step of power, clock and heat.

use crate::board::Card;

use super::reasons::Reasons;

/// At full load and highest clock a card would draw this much of its default limit; that is why healthy cards
/// run power-capped.
const FULL_LOAD_OVER_DEFAULT_LIMIT: f64 = 1.08;
/// Power follows the clock with this exponent (voltage falls with the clock).
const POWER_EXPONENT: f64 = 2.4;
/// Time over which the card averages its demand before it lowers clocks, in seconds.
const DEMAND_TIME_S: f64 = 0.25;
/// Time constant of heat sink and air, in seconds.
const HEAT_TIME_S: f64 = 20.0;
/// A card at its default limit settles so far below its highest operating temperature, in kelvin.
const HEADROOM_C: f64 = 18.0;
/// Air temperature for which a cooler is made, in degrees Celsius.
const DESIGN_AMBIENT_C: f64 = 28.0;
/// What is left of the cooling without fan or airflow.
const STILL_AIR: f64 = 0.25;
/// Clocks fall by this share per kelvin above the highest operating temperature.
const CLOCK_LOSS_PER_C: f64 = 0.06;
/// Clocks never fall below this share for heat or power.
const LOWEST_RATIO: f64 = 0.15;
/// What a sync-boost group leaves of a card's clock when another card of it is slower.
const SYNC_BOOST_RATIO: f64 = 0.85;
/// A card counts as idle when no kernel ran for so long, in seconds.
pub(super) const IDLE_AFTER_S: f64 = 0.5;
/// A card leaves its busy performance state when no kernel ran for so long, in seconds.
const CALM_AFTER_S: f64 = 3.0;

/// The state of a card that follows from its past.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Body {
    /// Degrees Celsius.
    pub temperature_c: f64,
    /// Averaged demand beyond the context's power, in watts at full clock.
    pub demand_w: f64,
    /// SM clock over highest SM clock.
    pub clock_ratio: f64,
}

/// What acts on the card during one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Influence {
    /// Share of the step's full draw that kernels ask for (0 to 1).
    pub draw: f64,
    /// Share of the step with memory traffic (0 to 1).
    pub memory_share: f64,
    /// Whether anybody has a context on the card.
    pub has_client: bool,
    /// Whether a kernel runs.
    pub is_busy: bool,
    /// Seconds since a kernel ran last.
    pub calm_s: f64,
}

/// What came out of one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    /// Watts during the step.
    pub power_w: f64,
    /// Why clocks are not higher.
    pub reasons: Reasons,
}

impl Body {
    /// A card that has been idle for long.
    pub(super) fn idle(card: &Card) -> Self {
        let warmth = card.profile.power.idle / conductance(card, 0.0);
        Self {
            temperature_c: card.setting.start_c.unwrap_or(card.ambient_c + warmth),
            demand_w: 0.0,
            clock_ratio: ratio(card, card.profile.clocks.idle),
        }
    }

    /// Moves on by `seconds` (at most a tenth) under `influence`.
    pub(super) fn step(&mut self, card: &Card, influence: Influence, seconds: f64) -> Outcome {
        let power = &card.profile.power;
        let full_w = power.default * FULL_LOAD_OVER_DEFAULT_LIMIT - power.context;
        let demand_now_w = full_w * influence.draw;
        self.demand_w += (demand_now_w - self.demand_w) * (1.0 - (-seconds / DEMAND_TIME_S).exp());

        let mut reasons = Reasons::NONE;
        self.clock_ratio = self.allowed_clock(card, influence, &mut reasons);

        let power_w = if influence.has_client {
            power.context + demand_now_w * self.clock_ratio.powf(POWER_EXPONENT)
        } else {
            power.idle
        };
        let cooling = conductance(card, self.temperature_c);
        let settles_at = card.ambient_c + power_w / cooling;
        let heat_time = HEAT_TIME_S * full_conductance(card) / cooling;
        self.temperature_c += (settles_at - self.temperature_c) * (1.0 - (-seconds / heat_time).exp());
        Outcome { power_w, reasons }
    }

    fn allowed_clock(&self, card: &Card, influence: Influence, reasons: &mut Reasons) -> f64 {
        let heat = &card.profile.heat;
        if !influence.is_busy && influence.calm_s >= IDLE_AFTER_S {
            reasons.insert(Reasons::GPU_IDLE);
            return ratio(card, resting_clock(card, influence));
        }
        if card.setting.stuck_state.is_some_and(is_slow) {
            return ratio(card, card.profile.clocks.idle);
        }
        let mut allowed = ratio(card, card.clock_limit_mhz);
        if card.clock_limit_mhz < card.profile.clocks.maximum && !card.setting.clock_limit_is_silent {
            reasons.insert(Reasons::APPLICATIONS_CLOCKS);
        }
        let memory_limit_c = heat.memory_maximum.map_or(f64::INFINITY, f64::from);
        let memory_too_hot_c = memory_c(card, self.temperature_c, influence.memory_share) - memory_limit_c;
        let too_hot_c = (self.temperature_c - f64::from(heat.maximum_operating)).max(memory_too_hot_c);
        if too_hot_c > 0.0 {
            allowed = allowed.min(1.0 - CLOCK_LOSS_PER_C * too_hot_c);
            reasons.insert(Reasons::SW_THERMAL);
        }
        if self.temperature_c >= f64::from(heat.slowdown) {
            allowed = allowed.min(0.5);
            reasons.insert(Reasons::HW_THERMAL);
            reasons.insert(Reasons::HW_SLOWDOWN);
        }
        if card.setting.power_brake {
            allowed = allowed.min(0.5);
            reasons.insert(Reasons::HW_POWER_BRAKE);
            reasons.insert(Reasons::HW_SLOWDOWN);
        }
        if card.setting.hw_slowdown {
            allowed = allowed.min(0.5);
            reasons.insert(Reasons::HW_SLOWDOWN);
        }
        if card.setting.sync_boost {
            allowed = allowed.min(SYNC_BOOST_RATIO);
            reasons.insert(Reasons::SYNC_BOOST);
        }
        // Whoever is slow for another reason does not reach the power limit.
        let headroom_w = card.enforced_power_limit_w - card.profile.power.context;
        let by_power = (headroom_w / self.demand_w.max(1e-9)).powf(1.0 / POWER_EXPONENT);
        if by_power < allowed {
            allowed = by_power;
            reasons.insert(Reasons::SW_POWER_CAP);
        }
        allowed.max(LOWEST_RATIO)
    }
}

/// The performance state that the card is in.
pub(super) fn performance_state(card: &Card, has_client: bool, calm_s: f64) -> u32 {
    let states = &card.profile.states;
    if let Some(stuck) = card.setting.stuck_state {
        stuck
    } else if calm_s < CALM_AFTER_S {
        states.busy
    } else if has_client {
        states.context
    } else {
        states.idle
    }
}

/// SM clock of a card on which nothing runs, in MHz.
fn resting_clock(card: &Card, influence: Influence) -> u32 {
    let is_slow = is_slow(performance_state(card, influence.has_client, influence.calm_s));
    if influence.has_client && !is_slow { card.clock_limit_mhz } else { card.profile.clocks.idle }
}

/// Whether a performance state is one in which a card rests.
pub(super) fn is_slow(performance_state: u32) -> bool {
    performance_state >= 5
}

/// Temperature of the memory in degrees Celsius.
pub(super) fn memory_c(card: &Card, chip_c: f64, memory_share: f64) -> f64 {
    chip_c + 4.0 + 6.0 * memory_share.clamp(0.0, 1.0) + card.setting.memory_hotter_c
}

/// Memory clock in MHz.
pub(super) fn memory_clock(card: &Card, performance_state: u32) -> u32 {
    if is_slow(performance_state) { card.profile.clocks.memory_idle } else { card.profile.clocks.memory }
}

/// Speed that the fans should have, in percent of their highest; nothing for a card without fan.
pub(super) fn fan_target_percent(card: &Card, temperature_c: f64) -> Option<f64> {
    (card.profile.fans > 0).then(|| fan_curve(temperature_c))
}

fn fan_curve(temperature_c: f64) -> f64 {
    (30.0 + (temperature_c - 45.0) * 1.8).clamp(30.0, 100.0)
}

/// Watts that leave the card per kelvin above the air.
fn conductance(card: &Card, temperature_c: f64) -> f64 {
    let full = full_conductance(card);
    if card.setting.fan_failed {
        return full * STILL_AIR;
    }
    if card.profile.fans == 0 {
        return full;
    }
    full * (0.35 + 0.65 * fan_curve(temperature_c) / fan_curve(settled_c(card)))
}

/// Conductance for which the cooler is made: the default limit at the design air temperature.
fn full_conductance(card: &Card) -> f64 {
    card.profile.power.default / (settled_c(card) - DESIGN_AMBIENT_C)
}

fn settled_c(card: &Card) -> f64 {
    f64::from(card.profile.heat.maximum_operating) - HEADROOM_C
}

fn ratio(card: &Card, mhz: u32) -> f64 {
    f64::from(mhz) / f64::from(card.profile.clocks.maximum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::CardSetting;

    fn card(change: impl FnOnce(&mut CardSetting)) -> Card {
        let mut setting = CardSetting { profile: "a100-sxm4-80gb".into(), ..CardSetting::default() };
        change(&mut setting);
        Card::resolve(0, &setting).unwrap()
    }

    fn run(card: &Card, influence: Influence, seconds: u32) -> (Body, Outcome) {
        let mut body = Body::idle(card);
        let mut outcome = body.step(card, influence, 0.1);
        for _ in 1..seconds * 10 {
            outcome = body.step(card, influence, 0.1);
        }
        (body, outcome)
    }

    const BUSY: Influence =
        Influence { draw: 1.0, memory_share: 0.25, has_client: true, is_busy: true, calm_s: 0.0 };
    const HELD: Influence =
        Influence { draw: 0.0, memory_share: 0.0, has_client: true, is_busy: false, calm_s: 60.0 };
    const FREE: Influence = Influence { has_client: false, ..HELD };

    #[test]
    fn full_load_runs_at_the_power_limit_on_every_product() {
        for name in crate::board::Profile::names() {
            let setting = CardSetting { profile: name.into(), ..CardSetting::default() };
            let card = Card::resolve(0, &setting).unwrap();
            let (body, outcome) = run(&card, BUSY, 300);
            let share = outcome.power_w / card.enforced_power_limit_w;
            assert!((0.95..=1.005).contains(&share), "{name} draws {share} of its limit");
            assert_eq!(outcome.reasons, Reasons::SW_POWER_CAP, "{name} at {} C", body.temperature_c);
            assert!(body.clock_ratio > 0.9, "{name}");
            assert!((body.temperature_c - settled_c(&card)).abs() < 3.0, "{name}: {}", body.temperature_c);
        }
    }

    #[test]
    fn an_idle_card_draws_its_idle_figures() {
        let card = card(|_| ());
        let (body, outcome) = run(&card, FREE, 60);
        assert!((outcome.power_w - 50.0).abs() < 1e-9);
        assert!((body.clock_ratio - 210.0 / 1410.0).abs() < 1e-9);
        let (body, outcome) = run(&card, HELD, 60);
        assert!((outcome.power_w - 62.0).abs() < 1e-9);
        assert!((body.clock_ratio - 1.0).abs() < 1e-9);
        assert_eq!(outcome.reasons, Reasons::GPU_IDLE);
    }

    #[test]
    fn a_lower_limit_costs_clock_and_is_kept() {
        let card = card(|setting| setting.power_limit_w = Some(200.0));
        let (body, outcome) = run(&card, BUSY, 60);
        assert!((outcome.power_w - 200.0).abs() < 2.0, "{}", outcome.power_w);
        assert!(body.clock_ratio < 0.75);
    }

    #[test]
    fn without_air_the_card_throttles_for_heat() {
        let card = card(|setting| setting.fan_failed = true);
        let (body, outcome) = run(&card, BUSY, 600);
        assert!(outcome.reasons.contains(Reasons::SW_THERMAL));
        assert!(body.temperature_c > 85.0 && body.temperature_c < 92.0, "{}", body.temperature_c);
        assert!(body.clock_ratio < 0.85);
    }

    #[test]
    fn a_power_brake_halves_the_clock_and_is_named() {
        let card = card(|setting| setting.power_brake = true);
        let (body, outcome) = run(&card, BUSY, 10);
        assert!(
            outcome.reasons.contains(Reasons::HW_POWER_BRAKE)
                && outcome.reasons.contains(Reasons::HW_SLOWDOWN)
        );
        assert!(body.clock_ratio <= 0.5);
    }

    #[test]
    fn hot_memory_throttles_a_cool_chip() {
        let card = card(|setting| setting.memory_hotter_c = 30.0);
        let (body, outcome) = run(&card, BUSY, 300);
        assert!(outcome.reasons.contains(Reasons::SW_THERMAL));
        assert!(body.temperature_c < 75.0, "{}", body.temperature_c);
        assert!(memory_c(&card, body.temperature_c, 0.25) > 92.0);
    }

    #[test]
    fn protection_without_heat_is_named_alone_and_a_silent_limit_not_at_all() {
        let (body, outcome) = run(&card(|setting| setting.hw_slowdown = true), BUSY, 10);
        assert_eq!(outcome.reasons, Reasons::HW_SLOWDOWN);
        assert!(body.clock_ratio <= 0.5);
        let silent = card(|setting| {
            setting.clock_limit_mhz = Some(700);
            setting.clock_limit_is_silent = true;
        });
        let (body, outcome) = run(&silent, BUSY, 10);
        assert_eq!(outcome.reasons, Reasons::NONE);
        assert!(body.clock_ratio < 0.5);
        let (body, outcome) = run(&card(|setting| setting.stuck_state = Some(8)), BUSY, 10);
        assert_eq!(outcome.reasons, Reasons::NONE);
        assert!(body.clock_ratio < 0.2);
    }

    #[test]
    fn short_bursts_are_not_power_capped() {
        let card = card(|_| ());
        let mut body = Body::idle(&card);
        for step in 0..200 {
            let is_busy = step % 2 == 0;
            let influence = Influence { draw: f64::from(u8::from(is_busy)), is_busy, calm_s: 0.0, ..BUSY };
            let outcome = body.step(&card, influence, 0.05);
            assert!(!outcome.reasons.contains(Reasons::SW_POWER_CAP));
        }
    }

    #[test]
    fn a_consumer_card_rests_although_somebody_holds_it() {
        let setting = CardSetting { profile: "rtx-3090".into(), ..CardSetting::default() };
        let card = Card::resolve(0, &setting).unwrap();
        assert_eq!(performance_state(&card, true, 60.0), 8);
        assert_eq!(performance_state(&card, true, 0.0), 2);
        let (body, _) = run(&card, HELD, 10);
        assert!((body.clock_ratio - 210.0 / 1995.0).abs() < 1e-9);
        assert_eq!(fan_target_percent(&card, 40.0), Some(30.0));
    }
}
