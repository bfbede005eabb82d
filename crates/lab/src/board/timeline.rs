//! The cards of a board at each moment: what its events make of them, and what has grown meanwhile.

use super::{Board, BoardError, BoardEvent, Card, CardSetting};

/// The cards from one event until the next.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Seconds after the box came up.
    pub begins_s: f64,
    /// All cards.
    pub cards: Vec<Card>,
}

/// Resolves all cards.
pub(super) fn resolve(settings: &[CardSetting]) -> Result<Vec<Card>, BoardError> {
    settings.iter().enumerate().map(|(index, setting)| Card::resolve(index, setting)).collect()
}

/// The events in order of time, and the phases that they begin.
pub(super) fn of(
    events: &[BoardEvent],
    settings: &[CardSetting],
) -> Result<(Vec<BoardEvent>, Vec<Phase>), BoardError> {
    let mut events = events.to_vec();
    events.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let mut settings = settings.to_vec();
    let mut later = Vec::new();
    for event in &events {
        let card = event.card.unwrap_or(0);
        if !event.at_s.is_finite() || event.at_s < 0.0 || card >= settings.len() {
            return Err(BoardError::Impossible {
                what: format!("event at {} s of card {card}: no such moment or card", event.at_s),
            });
        }
        if event.set.is_empty() {
            continue;
        }
        for (index, setting) in settings.iter_mut().enumerate() {
            if event.concerns(index) {
                *setting = event.change(setting)?;
            }
        }
        later.push(Phase { begins_s: event.at_s, cards: resolve(&settings)? });
    }
    Ok((events, later))
}

impl Board {
    /// The card at `index` as it is `since_start` seconds after the box came up.
    pub fn card_at(&self, index: usize, since_start: f64) -> Option<&Card> {
        let begun = self.later.iter().rev().find(|phase| phase.begins_s <= since_start);
        begun.map_or(&self.cards, |phase| &phase.cards).get(index)
    }

    /// The next moment after `since_start` at which cards change.
    pub fn next_change_s(&self, since_start: f64) -> Option<f64> {
        self.later.iter().map(|phase| phase.begins_s).find(|begins| *begins > since_start)
    }

    /// What a rate of the card at `index` has brought until `since_start`.
    pub fn grown(&self, index: usize, since_start: f64, per_s: impl Fn(&CardSetting) -> f64) -> f64 {
        let mut grown = 0.0;
        let mut from = 0.0;
        while let Some(card) = self.card_at(index, from) {
            let until = self.next_change_s(from).unwrap_or(since_start).min(since_start);
            grown += per_s(&card.setting) * (until - from).max(0.0);
            if until >= since_start {
                break;
            }
            from = until;
        }
        grown
    }

    /// Since when, in seconds after the box came up, `holds` for the card at `index`; nothing while it does
    /// not.
    pub fn holds_since(
        &self,
        index: usize,
        since_start: f64,
        holds: impl Fn(&CardSetting) -> bool,
    ) -> Option<f64> {
        let first = self.cards.get(index).map(|card| (0.0, card));
        let later = self.later.iter().filter_map(|phase| Some((phase.begins_s, phase.cards.get(index)?)));
        let mut since = None;
        for (begins, card) in first.into_iter().chain(later).take_while(|(begins, _)| *begins <= since_start)
        {
            since = holds(&card.setting).then(|| since.unwrap_or(begins));
        }
        since
    }
}

#[cfg(test)]
mod tests {
    use crate::board::BoardFile;

    #[test]
    fn events_change_cards_in_their_order() {
        let file: BoardFile = toml::from_str(
            r#"
            [[card]]
            profile = "a100-sxm4-80gb"
            count = 2
            ecc = { corrected_per_s = 2.0 }

            [[event]]
            at_s = 6.0
            card = 1
            set = { lost = false, ecc = { corrected_per_s = 0.0 } }

            [[event]]
            at_s = 3.0
            card = 1
            set = { lost = true }
            xid = 79
            "#,
        )
        .unwrap();
        let board = file.resolve().unwrap();
        let is_lost = |card, at| board.card_at(card, at).unwrap().is_lost(at);
        assert_eq!([is_lost(1, 2.9), is_lost(1, 3.0), is_lost(1, 6.5)], [false, true, false]);
        assert!(!is_lost(0, 4.0));
        assert_eq!(board.next_change_s(3.0), Some(6.0));
        let errors = |card, at| board.grown(card, at, |setting| setting.ecc.corrected_per_s);
        assert!((errors(0, 10.0) - 20.0).abs() < 1e-9);
        assert!((errors(1, 10.0) - 12.0).abs() < 1e-9);
        assert!((errors(1, 4.0) - 8.0).abs() < 1e-9);
        assert_eq!(board.holds_since(1, 5.0, |setting| setting.lost), Some(3.0));
        assert_eq!(board.holds_since(1, 7.0, |setting| setting.lost), None);
        let again: BoardFile = toml::from_str(&file.to_toml().unwrap()).unwrap();
        assert_eq!(file, again);
    }

    #[test]
    fn events_of_no_card_are_refused() {
        let file: BoardFile =
            toml::from_str("[[card]]\nprofile = \"t4\"\n\n[[event]]\nat_s = 1.0\ncard = 1\n").unwrap();
        assert!(file.resolve().is_err());
    }
}
