//! A card's links over a window.

use super::{Look, counted, newest, points, polled, rate};
use crate::reading::Reading;
use crate::sample::{CardSample, NvLink, PcieErrors, PcieLink};
use crate::scene::{NvLinkState, PcieErrorGrowth, PcieTraffic};
use crate::trend::Trend;
use crate::units::BytesPerSecond;
use crate::window::series::{Growth, growth};

/// Returns the newest PCIe link.
pub(super) fn pcie(looks: &[Look<'_>]) -> PcieLink {
    PcieLink {
        generation: newest(looks, |card| &card.pcie.generation),
        generation_max: newest(looks, |card| &card.pcie.generation_max),
        card_generation_max: newest(looks, |card| &card.pcie.card_generation_max),
        width: newest(looks, |card| &card.pcie.width),
        width_max: newest(looks, |card| &card.pcie.width_max),
        replays: newest(looks, |card| &card.pcie.replays),
        to_card: newest(looks, |card| &card.pcie.to_card),
        to_host: newest(looks, |card| &card.pcie.to_host),
        to_card_bytes: newest(looks, |card| &card.pcie.to_card_bytes),
        to_host_bytes: newest(looks, |card| &card.pcie.to_host_bytes),
        errors: PcieErrors {
            corrected: newest(looks, |card| &card.pcie.errors.corrected),
            non_fatal: newest(looks, |card| &card.pcie.errors.non_fatal),
            fatal: newest(looks, |card| &card.pcie.errors.fatal),
        },
    }
}

/// Returns what went over the PCIe link.
pub(super) fn pcie_traffic(looks: &[Look<'_>]) -> PcieTraffic {
    let to_card = rate(looks, |card| &card.pcie.to_card_bytes);
    let to_host = rate(looks, |card| &card.pcie.to_host_bytes);
    if to_card.is_known() && to_host.is_known() {
        return PcieTraffic { to_card, to_host, is_by_counters: true };
    }
    let mean = |pick: fn(&CardSample) -> &Reading<BytesPerSecond>| {
        polled(looks, move |card| pick(card).as_ref().map(|rate| rate.0))
            .map(|trend: Trend<BytesPerSecond>| trend.mean)
    };
    PcieTraffic {
        to_card: mean(|card| &card.pcie.to_card),
        to_host: mean(|card| &card.pcie.to_host),
        is_by_counters: false,
    }
}

/// Returns the errors of the PCIe link in the window.
pub(super) fn pcie_errors(looks: &[Look<'_>]) -> PcieErrorGrowth {
    PcieErrorGrowth {
        corrected: counted(looks, |card| &card.pcie.errors.corrected),
        non_fatal: counted(looks, |card| &card.pcie.errors.non_fatal),
        fatal: counted(looks, |card| &card.pcie.errors.fatal),
    }
}

/// Returns every link of the newest list, with what its counters did.
pub(super) fn nvlinks(looks: &[Look<'_>]) -> Reading<Vec<NvLinkState>> {
    newest(looks, |card| &card.nvlinks)
        .map(|links| links.iter().map(|link| over_window(looks, link)).collect())
}

fn over_window(looks: &[Look<'_>], newest: &NvLink) -> NvLinkState {
    let grown = |pick: fn(&NvLink) -> &Reading<u64>| {
        let number = newest.link;
        let counter = points(looks, move |card| {
            card.nvlinks.as_ref().and_then(|links| {
                links
                    .iter()
                    .find(|link| link.link == number)
                    .map_or_else(Reading::default, |link| pick(link).as_ref().copied())
            })
        });
        growth(counter).map(Growth::whole)
    };
    NvLinkState {
        link: newest.link,
        active: newest.active.clone(),
        version: newest.version.clone(),
        remote: newest.remote.clone(),
        crc_errors: newest.crc_errors.clone(),
        crc_growth: grown(|link| &link.crc_errors),
        replay_growth: grown(|link| &link.replays),
        recovery_growth: grown(|link| &link.recoveries),
    }
}
