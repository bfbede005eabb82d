//! Whose threads are worth a look: trees behind cards that neither clearly work nor clearly rest.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{CardSample, TimedValue};

/// A card with this much kernel time and power works; its processes' threads explain nothing.
const WORKING_BUSY: f64 = 90.0;
const WORKING_POWER: f64 = 0.5;

/// How much of the driver's buffers is kept in mind, in microseconds.
const KEPT_US: u64 = 10_000_000;

/// A tree that uses less of a core between two looks does nothing.
const RESTING_CORES: f64 = 0.02;

/// What is kept in mind of the cards from look to look.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    busy: BTreeMap<u32, Vec<TimedValue>>,
}

/// What a card does, as far as one can tell at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glance {
    /// It computes, and draws power for it.
    Works,
    /// No kernel has run.
    Rests,
    /// Something between, or it does not tell.
    Unclear,
}

/// What a client's tree does on the host.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TreeActivity {
    /// Whether one of its processes is blocked.
    pub(super) is_blocked: bool,
    /// Processor time per wall time since the last look; none at the first.
    pub(super) cores: Option<f64>,
}

impl Suspicion {
    /// Returns the clients whose trees are worth a look.
    pub(super) fn suspects(
        &mut self,
        cards: &[CardSample],
        clients: &BTreeSet<Pid>,
        activity: &BTreeMap<Pid, TreeActivity>,
    ) -> BTreeSet<Pid> {
        // Those whose cards say nothing may be what hangs.
        let mut suspects = clients.clone();
        for client in cards.iter().flat_map(|card| card.clients.known().into_iter().flatten()) {
            suspects.remove(&client.pid);
        }
        for card in cards {
            let glance = self.glance(card);
            for client in card.clients.known().into_iter().flatten() {
                let tree = activity.get(&client.pid).copied().unwrap_or_default();
                let is_suspect = match glance {
                    Glance::Works => false,
                    Glance::Unclear => true,
                    // A card may rest because its data do not come.
                    Glance::Rests => tree.is_blocked || tree.cores.is_some_and(|cores| cores > RESTING_CORES),
                };
                if is_suspect {
                    suspects.insert(client.pid);
                }
            }
        }
        suspects
    }

    fn glance(&mut self, card: &CardSample) -> Glance {
        let kept = self.busy.entry(card.index).or_default();
        kept.extend(card.busy_samples.known().into_iter().flatten());
        let newest_us = kept.last().map_or(0, |timed| timed.time_us);
        kept.retain(|timed| timed.time_us + KEPT_US >= newest_us);
        let now = card.busy.known().map(|percent| percent.0);
        let mean = if kept.is_empty() {
            now
        } else {
            Some(kept.iter().map(|timed| timed.value).sum::<f64>() / kept.len() as f64)
        };
        let Some(mean) = mean else {
            return Glance::Unclear;
        };
        if mean <= 0.0 && now.is_none_or(|now| now <= 0.0) {
            return Glance::Rests;
        }
        let power = card
            .power
            .known()
            .zip(card.power_limits.enforced.known())
            .map(|(power, limit)| power.0 / limit.0);
        if mean >= WORKING_BUSY && power.is_some_and(|share| share >= WORKING_POWER) {
            return Glance::Works;
        }
        Glance::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::{Suspicion, TreeActivity};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardClient, CardSample, ClientKind, PowerLimits, TimedValue};
    use gpuwhy_model::units::{Percent, Watts};
    use std::collections::{BTreeMap, BTreeSet};

    fn card(busy: f64, watts: f64) -> CardSample {
        let client = CardClient {
            pid: Pid(7),
            kind: ClientKind::Compute,
            memory: Reading::Unsupported,
            name: Reading::Unsupported,
        };
        CardSample {
            busy: Reading::Known(Percent(busy)),
            busy_samples: Reading::Known(vec![TimedValue { time_us: 1, value: busy }]),
            power: Reading::Known(Watts(watts)),
            power_limits: PowerLimits { enforced: Reading::Known(Watts(400.0)), ..PowerLimits::default() },
            clients: Reading::Known(vec![client]),
            ..CardSample::default()
        }
    }

    fn is_suspect(card: CardSample, tree: TreeActivity) -> bool {
        let activity = BTreeMap::from([(Pid(7), tree)]);
        Suspicion::default().suspects(&[card], &BTreeSet::from([Pid(7)]), &activity).contains(&Pid(7))
    }

    #[test]
    fn cards_that_clearly_work_or_rest_need_no_threads() {
        let still = TreeActivity { is_blocked: false, cores: Some(0.0) };
        assert!(!is_suspect(card(98.0, 390.0), still));
        assert!(!is_suspect(card(0.0, 60.0), still));
        assert!(is_suspect(card(40.0, 120.0), still));
        assert!(is_suspect(card(98.0, 100.0), still), "busy without power");
    }

    #[test]
    fn a_holder_whom_no_card_names_is_suspect() {
        let suspects = Suspicion::default().suspects(&[], &BTreeSet::from([Pid(9)]), &BTreeMap::new());
        assert_eq!(suspects, BTreeSet::from([Pid(9)]));
    }

    #[test]
    fn a_resting_card_with_a_busy_or_blocked_tree_is_suspect() {
        assert!(is_suspect(card(0.0, 60.0), TreeActivity { is_blocked: true, cores: None }));
        assert!(is_suspect(card(0.0, 60.0), TreeActivity { is_blocked: false, cores: Some(1.0) }));
        assert!(is_suspect(
            CardSample { busy_samples: Reading::Unsupported, busy: Reading::Unsupported, ..card(0.0, 0.0) },
            TreeActivity::default()
        ));
    }
}
