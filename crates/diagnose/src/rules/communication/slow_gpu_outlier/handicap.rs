//! What makes one member of a job slower than the others.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Card;
use gpuwhy_model::units::{Megahertz, Percent, Share};

use crate::facts::effort::is_kept_slow;
use crate::facts::members::Member;
use crate::facts::peers::level_change;
use crate::statistics::{OddOne, median, odd_ones_out};

/// One thing in which a member's card is worse off than the others.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Handicap {
    /// Heat lowers its clocks.
    Heat(Share),
    /// A brake from outside lowers its clocks.
    Brake(Share),
    /// Its multiprocessor clock is lower.
    Clock { own: Megahertz, others: Megahertz, fell_in_window: bool },
    /// Its link to the host has fewer lanes.
    Width { own: f64, others: f64 },
    /// Its link to the host is of an older generation.
    Generation { own: f64, others: f64 },
    /// Fewer of its links to other cards are up.
    Links { own: f64, others: f64 },
    /// Its memory lost data.
    Memory(u64),
    /// It still computes while the others wait.
    Power { own: Percent, others: Percent },
}

impl Handicap {
    /// Returns how much it tells by itself: more work than the others have may be intended.
    pub(super) const fn weight(&self) -> f64 {
        match self {
            Self::Heat(_) | Self::Brake(_) | Self::Width { .. } | Self::Links { .. } => 2.5,
            Self::Clock { .. } | Self::Generation { .. } => 2.0,
            Self::Power { .. } => 1.5,
            Self::Memory(_) => 0.5,
        }
    }

    /// Returns whether it slows every kernel of the member: then a synchronous job feels it, however much it computes.
    pub(super) const fn slows_kernels(&self) -> bool {
        matches!(self, Self::Heat(_) | Self::Brake(_) | Self::Clock { .. })
    }

    /// Returns which part of its time the member needs longer by, as far as that is known.
    pub(super) fn slower_by(&self) -> f64 {
        match self {
            Self::Clock { own, others, .. } if others.0 > 0.0 => (1.0 - own.0 / others.0).max(0.0),
            _ => 0.0,
        }
    }

    /// Returns its name in the report's details.
    pub(super) const fn id(&self) -> &'static str {
        match self {
            Self::Heat(_) => "heat",
            Self::Brake(_) => "brake",
            Self::Clock { .. } => "clock",
            Self::Width { .. } => "pcie-width",
            Self::Generation { .. } => "pcie-generation",
            Self::Links { .. } => "nvlinks",
            Self::Memory(_) => "memory-errors",
            Self::Power { .. } => "more-work",
        }
    }
}

/// Returns the handicaps of each member, in the members' order, the heaviest first.
pub(super) fn handicaps(members: &[Member<'_>], limits: &Limits) -> Vec<Vec<Handicap>> {
    let mut all: Vec<Vec<Handicap>> = members.iter().map(|_| Vec::new()).collect();
    slowed(members, limits, &mut all);
    let with_equal_limits = if have_equal_limits(members) { high_power(members, limits) } else { Vec::new() };
    let works_most: Vec<usize> = with_equal_limits.iter().map(|odd| odd.place).collect();
    let clock_share = limits.member_clock_difference_share_min;
    let low_clocks = low(members, clock_share, |member| {
        member
            .card
            .sm_clock
            .known()
            .map(|clock| clock.mean.0)
            .filter(|_| member.busy >= limits.busy_percent_min)
    });
    // The one that computes while the others wait at full clocks is at its power limit, as healthy cards are.
    let is_by_its_work = |place: usize| {
        works_most.contains(&place) && members[place].effort.of_limit >= limits.saturated_power_share_min
    };
    for odd in low_clocks.into_iter().filter(|odd| !is_by_its_work(odd.place)) {
        let fell_in_window = members[odd.place]
            .card
            .sm_clock
            .known()
            .and_then(level_change)
            .is_some_and(|change| change.level_after < change.level_before);
        let (own, others) = (Megahertz(odd.value), Megahertz(odd.others));
        all[odd.place].push(Handicap::Clock { own, others, fell_in_window });
    }
    for odd in low(members, 0.0, |member| member.card.pcie.width.known().map(|width| f64::from(*width))) {
        all[odd.place].push(Handicap::Width { own: odd.value, others: odd.others });
    }
    // An idle link saves power at an older generation.
    for odd in low(members, 0.0, |member| {
        let generation = member.card.pcie.generation.known().map(|generation| f64::from(*generation));
        generation.filter(|_| member.busy >= limits.busy_percent_min)
    }) {
        all[odd.place].push(Handicap::Generation { own: odd.value, others: odd.others });
    }
    for odd in low(members, 0.0, |member| active_links(member.card)) {
        all[odd.place].push(Handicap::Links { own: odd.value, others: odd.others });
    }
    for (member, handicaps) in members.iter().zip(&mut all) {
        if let Some(lost) = member.card.ecc_growth.uncorrected.known().filter(|lost| **lost > 0) {
            handicaps.push(Handicap::Memory(*lost));
        }
    }
    for odd in with_equal_limits {
        let (own, others) = (Percent(odd.value * 100.0), Percent(odd.others * 100.0));
        all[odd.place].push(Handicap::Power { own, others });
    }
    for handicaps in &mut all {
        handicaps.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
    }
    all
}

/// Adds what lowers clocks from outside, where fewer than half of the members feel it. For less of the time it makes no
/// member so much slower that the others would notice.
fn slowed(members: &[Member<'_>], limits: &Limits, all: &mut [Vec<Handicap>]) {
    let felt =
        |share: &Reading<Share>| share.known().copied().filter(|share| share.0 >= limits.heat_share_min);
    let heat = |card: &Card| {
        felt(&card.reason_shares.hardware_thermal).or_else(|| felt(&card.reason_shares.software_thermal))
    };
    let brake = |card: &Card| felt(&card.reason_shares.power_brake);
    add_where_rare(members, heat, Handicap::Heat, all);
    add_where_rare(members, brake, Handicap::Brake, all);
}

/// Adds a handicap to those members that have it, if most of the others do not; of two, one may.
fn add_where_rare(
    members: &[Member<'_>],
    share_of: impl Fn(&Card) -> Option<Share>,
    handicap: fn(Share) -> Handicap,
    all: &mut [Vec<Handicap>],
) {
    let shares: Vec<Option<Share>> = members.iter().map(|member| share_of(member.card)).collect();
    let number = shares.iter().filter(|share| share.is_some()).count();
    if number >= members.len().div_ceil(2).max(2) {
        return;
    }
    for (share, handicaps) in shares.into_iter().zip(all.iter_mut()) {
        handicaps.extend(share.map(handicap));
    }
}

/// Returns the members whose value is low beside the others'; of two, the one with the lower value.
fn low(members: &[Member<'_>], least_share: f64, value: impl Fn(&Member<'_>) -> Option<f64>) -> Vec<OddOne> {
    let known: Vec<(usize, f64)> =
        members.iter().enumerate().filter_map(|(place, member)| Some((place, value(member)?))).collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let odd = match values[..] {
        // A worse state needs no majority, only a better one beside it.
        [one, other] if one < other * (1.0 - least_share) => {
            vec![OddOne { place: 0, value: one, others: other }]
        }
        [one, other] if other < one * (1.0 - least_share) => {
            vec![OddOne { place: 1, value: other, others: one }]
        }
        _ => odd_ones_out(&values, least_share),
    };
    odd.into_iter().filter(OddOne::is_low).map(|odd| OddOne { place: known[odd.place].0, ..odd }).collect()
}

/// Returns whether all members have cards of one product at one power limit: else shares of it say little.
fn have_equal_limits(members: &[Member<'_>]) -> bool {
    let same = |one: &Member<'_>, other: &Member<'_>| {
        one.card.name == other.card.name && one.card.power_limits.enforced == other.card.power_limits.enforced
    };
    members.windows(2).all(|pair| same(&pair[0], &pair[1]))
}

/// Returns the members that draw much more than the others, which spin.
fn high_power(members: &[Member<'_>], limits: &Limits) -> Vec<OddOne> {
    let mut high = Vec::new();
    for (place, member) in members.iter().enumerate() {
        let others: Vec<f64> = members
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != place)
            .map(|(_, other)| other.effort.of_limit)
            .collect();
        let Some(middle) = median(&others) else {
            continue;
        };
        let value = member.effort.of_limit;
        if member.busy >= limits.busy_percent_min && value - middle >= limits.member_difference_share_min {
            high.push(OddOne { place, value, others: middle });
        }
    }
    if high.len() * 2 < members.len() || members.len() == 2 && high.len() == 1 { high } else { Vec::new() }
}

/// Returns how many links of a card to other cards are up; none for a product without any.
fn active_links(card: &Card) -> Option<f64> {
    let links = card.nvlinks.known().filter(|links| !links.is_empty())?;
    Some(links.iter().filter(|link| link.active == Reading::Known(true)).count() as f64)
}

/// Returns whether a member waits on its card for others: busy at little power, at full clocks.
pub(super) fn waits(member: &Member<'_>, limits: &Limits) -> bool {
    member.may_spin(limits) && is_ready(member, limits)
}

/// Returns whether a member takes part at full clocks: its card is busy, and nothing keeps it slow.
pub(super) fn is_ready(member: &Member<'_>, limits: &Limits) -> bool {
    member.busy >= limits.busy_percent_min && !is_kept_slow(member.card, limits)
}
