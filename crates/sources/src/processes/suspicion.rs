//! Who is worth a closer look: trees behind cards that neither clearly work nor clearly rest.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{CardSample, TimedValue, Vendor};

/// A card with this much kernel time and power works; its processes' threads explain nothing.
const WORKING_BUSY: f64 = 90.0;
const WORKING_POWER: f64 = 0.5;

/// A card with less kernel time hardly works.
const HARDLY_BUSY: f64 = 5.0;

/// How much of the driver's buffers is kept in mind, in microseconds.
const KEPT_US: u64 = 10_000_000;

/// No card takes more samples in that time.
const KEPT_MAX: usize = 2048;

/// A tree that uses less of a core between two looks does nothing.
pub(super) const RESTING_CORES: f64 = 0.02;

/// What is kept in mind of the cards from look to look.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    /// By vendor and place among its cards, and the card of an instance.
    busy: BTreeMap<(bool, Option<u32>, u32), Vec<TimedValue>>,
}

/// What a card does, as far as one can tell at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Glance {
    /// It computes, and draws power for it.
    Works,
    /// No kernel has run.
    Rests,
    /// A kernel now and then.
    HardlyWorks,
    /// Something between, or it does not tell.
    Unclear,
}

/// How closely a tree is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attention {
    /// Where its processes wait.
    Waits,
    /// Its threads too.
    Threads,
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
    /// Returns the clients whose trees are worth a closer look, and how close.
    pub(super) fn suspects(
        &mut self,
        cards: &[&CardSample],
        clients: &BTreeSet<Pid>,
        activity: &BTreeMap<Pid, TreeActivity>,
    ) -> BTreeMap<Pid, Attention> {
        // Those whose cards say nothing may be what hangs.
        let mut suspects: BTreeMap<Pid, Attention> =
            clients.iter().map(|client| (*client, Attention::Threads)).collect();
        for client in cards.iter().filter_map(|card| card.clients.known()).flatten() {
            suspects.remove(&client.pid);
        }
        for card in cards {
            let glance = self.glance(card);
            for client in card.clients.known().into_iter().flatten() {
                let tree = activity.get(&client.pid).copied().unwrap_or_default();
                let is_active = tree.is_blocked || tree.cores.is_some_and(|cores| cores > RESTING_CORES);
                let attention = match glance {
                    Glance::Unclear => Some(Attention::Threads),
                    // A card may rest because its data do not come.
                    Glance::Rests | Glance::HardlyWorks if is_active => Some(Attention::Threads),
                    Glance::HardlyWorks => Some(Attention::Waits),
                    Glance::Works | Glance::Rests => None,
                };
                // A process on several cards deserves what the oddest of them asks for.
                if let Some(attention) = attention {
                    let known = suspects.entry(client.pid).or_insert(attention);
                    *known = attention.max(*known);
                }
            }
        }
        suspects
    }

    fn glance(&mut self, card: &CardSample) -> Glance {
        let place = (card.vendor != Vendor::Nvidia, card.parent, card.index);
        let kept = self.busy.entry(place).or_default();
        kept.extend(card.busy_samples.known().into_iter().flatten());
        let newest_us = kept.last().map_or(0, |timed| timed.time_us);
        kept.retain(|timed| timed.time_us.saturating_add(KEPT_US) >= newest_us);
        // A card whose clock stands still must not fill our memory.
        kept.drain(..kept.len().saturating_sub(KEPT_MAX));
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
        if mean <= HARDLY_BUSY {
            return Glance::HardlyWorks;
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
    use super::{Attention, Suspicion, TreeActivity};
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

    fn attention(card: &CardSample, tree: TreeActivity) -> Option<Attention> {
        let activity = BTreeMap::from([(Pid(7), tree)]);
        let clients = BTreeSet::from([Pid(7)]);
        Suspicion::default().suspects(&[card], &clients, &activity).get(&Pid(7)).copied()
    }

    #[test]
    fn cards_that_clearly_work_or_rest_need_no_closer_look() {
        let still = TreeActivity { is_blocked: false, cores: Some(0.0) };
        assert_eq!(attention(&card(98.0, 390.0), still), None);
        assert_eq!(attention(&card(0.0, 60.0), still), None);
        assert_eq!(attention(&card(3.0, 60.0), still), Some(Attention::Waits));
        assert_eq!(attention(&card(40.0, 120.0), still), Some(Attention::Threads));
        assert_eq!(attention(&card(98.0, 100.0), still), Some(Attention::Threads), "busy without power");
    }

    #[test]
    fn a_holder_whom_no_card_names_is_suspect() {
        let suspects = Suspicion::default().suspects(&[], &BTreeSet::from([Pid(9)]), &BTreeMap::new());
        assert_eq!(suspects, BTreeMap::from([(Pid(9), Attention::Threads)]));
    }

    #[test]
    fn a_resting_card_with_a_busy_or_blocked_tree_is_suspect() {
        let blocked = TreeActivity { is_blocked: true, cores: None };
        let busy = TreeActivity { is_blocked: false, cores: Some(1.0) };
        for (busy_percent, tree) in [(0.0, blocked), (0.0, busy), (3.0, blocked), (3.0, busy)] {
            assert_eq!(attention(&card(busy_percent, 60.0), tree), Some(Attention::Threads));
        }
        let silent =
            CardSample { busy_samples: Reading::Unsupported, busy: Reading::Unsupported, ..card(0.0, 0.0) };
        assert_eq!(attention(&silent, TreeActivity::default()), Some(Attention::Threads));
    }
}
