//! What went over the ways between cards, and between machines, as a share of what they carry.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Absence, Failure, Reading};
use gpuwhy_model::sample::InterfaceKind;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::{Reader, Signal};

/// One way, and how much of it was used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    pub(crate) kind: WayKind,
    /// Bytes per second, in the direction that counts.
    pub(crate) rate: f64,
    /// Bytes per second in the busier direction.
    pub(crate) busier: f64,
    /// Share of what it carries; none where that is not known.
    pub(crate) share: Option<f64>,
}

/// What kind of way it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WayKind {
    /// The links between cards.
    NvLink,
    /// The link to the host; the weaker direction counts, since an exchange goes both ways.
    Pcie {
        /// Whether the whole window was counted, not only moments of it.
        is_by_counters: bool,
    },
    /// A network link, by name.
    Network(String),
}

impl Way {
    /// Returns the signal that shows it.
    pub(crate) const fn signal(&self) -> Signal {
        match self.kind {
            WayKind::NvLink => Signal::NvLinkTraffic,
            WayKind::Pcie { .. } => Signal::PcieTraffic,
            WayKind::Network(_) => Signal::Network,
        }
    }

    /// Returns who measured it.
    pub(crate) const fn reader(&self) -> Reader {
        match self.kind {
            WayKind::NvLink | WayKind::Pcie { is_by_counters: true } => Reader::NvmlCounters,
            WayKind::Pcie { is_by_counters: false } => Reader::Nvml,
            WayKind::Network(_) => Reader::SysNet,
        }
    }

    /// Returns whether next to nothing went over it.
    pub(crate) fn is_quiet(&self, limits: &Limits) -> bool {
        self.busier <= limits.quiet_link_bytes as f64
    }
}

/// Returns how much the links between cards were used; unsupported where a card has none.
pub(crate) fn nvlink(card: &Card) -> Result<Way, Absence> {
    let links = card.nvlinks.known().map_or(&[][..], Vec::as_slice);
    let has_active = links.iter().any(|link| link.active == Reading::Known(true));
    let rates = [&card.nvlink_received, &card.nvlink_sent].map(Reading::known);
    let rate = rates
        .into_iter()
        .flatten()
        .map(|rate| rate.0)
        .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
    let Some(rate) = rate else {
        let has_none = !has_active && (card.nvlinks.is_known() || card.nvlinks == Reading::Unsupported);
        let absence = card.nvlink_received.absence().unwrap_or(Absence::Failed(Failure::NotInSource));
        return Err(if has_none { Absence::Unsupported } else { absence });
    };
    Ok(Way {
        kind: WayKind::NvLink,
        rate,
        busier: rate,
        share: nvlink_capacity(card).map(|capacity| rate / capacity),
    })
}

/// Returns whether a card has no links to other cards in use, as far as is known.
pub(crate) fn has_no_nvlink(card: &Card) -> bool {
    match &card.nvlinks {
        Reading::Known(links) => links.iter().all(|link| link.active != Reading::Known(true)),
        Reading::Unsupported => true,
        _ => false,
    }
}

/// Returns what a card's links to other cards carry one way, in bytes per second.
fn nvlink_capacity(card: &Card) -> Option<f64> {
    let fact = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    let both_ways = fact.and_then(|fact| fact.nvlink_total_gb_s).filter(|total| *total > 0.0);
    if let Some(both_ways) = both_ways {
        return Some(both_ways * 1e9 / 2.0);
    }
    let version = *card.nvlinks.known()?.iter().find_map(|link| link.version.known())?;
    gpuwhy_knowledge::nvlink_bandwidth(version).map(|capacity| capacity.0)
}

/// Returns how much a card's link to the host was used in its weaker direction.
pub(crate) fn pcie(card: &Card) -> Result<Way, Absence> {
    let traffic = &card.pcie_traffic;
    let (Some(to_card), Some(to_host)) = (traffic.to_card.known(), traffic.to_host.known()) else {
        let absence = traffic.to_card.absence().or_else(|| traffic.to_host.absence());
        return Err(absence.unwrap_or(Absence::Failed(Failure::NotInSource)));
    };
    let rate = to_card.0.min(to_host.0);
    let capacity = match (card.pcie.generation.known(), card.pcie.width.known()) {
        (Some(generation), Some(width)) => gpuwhy_knowledge::pcie_bandwidth(*generation, *width),
        _ => None,
    };
    Ok(Way {
        kind: WayKind::Pcie { is_by_counters: traffic.is_by_counters },
        rate,
        busier: to_card.0.max(to_host.0),
        share: capacity.filter(|capacity| capacity.0 > 0.0).map(|capacity| rate / capacity.0),
    })
}

/// Returns whether an adapter counts what goes past the kernel, straight into memory.
pub(crate) fn counts_remote_memory(scene: &Scene) -> bool {
    scene.network.known().into_iter().flatten().any(|link| {
        let is_up = link.up != Reading::Known(false);
        let counts = link.received.is_known() || link.sent.is_known();
        link.kind == InterfaceKind::Infiniband && is_up && counts
    })
}

/// Returns the most used network link with hardware behind it that is up.
pub(crate) fn network(scene: &Scene) -> Option<Way> {
    let links = scene.network.known()?.iter().filter(|link| link.kind != InterfaceKind::Virtual);
    let ways = links.filter(|link| link.up != Reading::Known(false)).filter_map(|link| {
        let rates = [&link.received, &link.sent].map(Reading::known);
        let rate = rates.into_iter().flatten().map(|rate| rate.0).fold(0.0, f64::max);
        let capacity = link.link.known().map(|capacity| capacity.0).filter(|capacity| *capacity > 0.0);
        let is_seen = link.received.is_known() || link.sent.is_known();
        is_seen.then(|| Way {
            kind: WayKind::Network(link.name.clone()),
            rate,
            busier: rate,
            share: capacity.map(|capacity| rate / capacity),
        })
    });
    ways.max_by(|one, other| {
        let weight = |way: &Way| (way.share.unwrap_or(0.0), way.rate);
        weight(one).0.total_cmp(&weight(other).0).then_with(|| weight(one).1.total_cmp(&weight(other).1))
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::PcieLink;
    use gpuwhy_model::scene::{Interface, NvLinkState, PcieTraffic};
    use gpuwhy_model::units::BytesPerSecond;

    use super::*;

    #[test]
    fn links_between_cards_are_judged_by_what_the_product_carries() {
        let link = NvLinkState { active: Reading::Known(true), ..NvLinkState::default() };
        let mut card = Card {
            name: Reading::Known("NVIDIA A100-SXM4-80GB".to_owned()),
            nvlinks: Reading::Known(vec![link]),
            nvlink_received: Reading::Known(BytesPerSecond(150e9)),
            ..Card::default()
        };
        let way = nvlink(&card).unwrap();
        assert!((way.share.unwrap() - 0.5).abs() < 1e-9 && !way.is_quiet(&Limits::default()));
        card.nvlink_received = Reading::Failed(Failure::TooFewSamples);
        assert_eq!(nvlink(&card), Err(Absence::Failed(Failure::TooFewSamples)));
        card.nvlinks = Reading::Unsupported;
        assert_eq!(nvlink(&card), Err(Absence::Unsupported));
        assert!(has_no_nvlink(&card));
    }

    #[test]
    fn an_exchange_over_the_host_goes_both_ways() {
        let card = Card {
            pcie: PcieLink {
                generation: Reading::Known(4),
                width: Reading::Known(16),
                ..PcieLink::default()
            },
            pcie_traffic: PcieTraffic {
                to_card: Reading::Known(BytesPerSecond(25e9)),
                to_host: Reading::Known(BytesPerSecond(3.15e9)),
                is_by_counters: true,
            },
            ..Card::default()
        };
        assert!((pcie(&card).unwrap().share.unwrap() - 0.1).abs() < 1e-3);
    }

    #[test]
    fn a_bridge_is_no_way_to_another_machine() {
        let link = |name: &str, kind, received: f64| Interface {
            name: name.to_owned(),
            kind,
            received: Reading::Known(BytesPerSecond(received)),
            link: Reading::Known(BytesPerSecond(12.5e9)),
            ..Interface::default()
        };
        let network = vec![
            link("docker0", InterfaceKind::Virtual, 12e9),
            link("eth0", InterfaceKind::Network, 1e6),
            link("mlx5_0/1", InterfaceKind::Infiniband, 10e9),
        ];
        let scene = Scene { network: Reading::Known(network), ..Scene::default() };
        let way = super::network(&scene).unwrap();
        assert_eq!(way.kind, WayKind::Network("mlx5_0/1".to_owned()));
        assert!((way.share.unwrap() - 0.8).abs() < 1e-9);
    }
}
