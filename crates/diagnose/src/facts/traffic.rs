//! What goes over links, as a share of what they carry.

use gpuwhy_model::reading::{Absence, Failure};
use gpuwhy_model::sample::InterfaceKind;
use gpuwhy_model::scene::{Card, Interface, Scene};
use gpuwhy_model::units::BytesPerSecond;

/// Copies reach this share of what a PCIe link carries; the rest goes with the data.
const REACHED_SHARE: f64 = 0.8;

/// Traffic of a card's PCIe link in its busier direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Copies {
    pub(crate) rate: BytesPerSecond,
    pub(crate) is_to_card: bool,
    pub(crate) generation: u32,
    pub(crate) width: u32,
    /// As a share of what copies over the link can reach.
    pub(crate) share: f64,
    /// Whether the whole window counts, and not a few short measurements in it.
    pub(crate) is_by_counters: bool,
}

/// Returns the traffic of a card's PCIe link in its busier direction, or why it is not known.
pub(crate) fn copies(card: &Card) -> Result<Copies, Absence> {
    let traffic = &card.pcie_traffic;
    let unknown = |absence: Option<Absence>| absence.unwrap_or(Absence::Failed(Failure::NotInSource));
    let (to_card, to_host) = match (traffic.to_card.known(), traffic.to_host.known()) {
        (None, None) => return Err(unknown(traffic.to_card.absence())),
        (to_card, to_host) => (to_card.map_or(0.0, |rate| rate.0), to_host.map_or(0.0, |rate| rate.0)),
    };
    let generation = *card.pcie.generation.known().ok_or_else(|| unknown(card.pcie.generation.absence()))?;
    let width = *card.pcie.width.known().ok_or_else(|| unknown(card.pcie.width.absence()))?;
    let carries = gpuwhy_knowledge::pcie_bandwidth(generation, width).ok_or(Absence::Unsupported)?;
    let rate = to_card.max(to_host);
    Ok(Copies {
        rate: BytesPerSecond(rate),
        is_to_card: to_card >= to_host,
        generation,
        width,
        share: if carries.0 > 0.0 { rate / (carries.0 * REACHED_SHARE) } else { 0.0 },
        is_by_counters: traffic.is_by_counters,
    })
}

/// What comes in over the network link on which most comes in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Input<'scene> {
    pub(crate) interface: &'scene str,
    pub(crate) rate: BytesPerSecond,
    /// As a share of what the link carries, where that is known.
    pub(crate) share: Option<f64>,
}

/// Returns what comes in over the network, or why that is not known. Links without hardware count only when nothing
/// comes in over the others: what they carry goes over those, or never leaves the machine. What adapters count beside the
/// kernel's interfaces goes straight into memory: exchange between members of a job, not what a connection brings.
pub(crate) fn input(scene: &Scene, limit: BytesPerSecond) -> Result<Input<'_>, Absence> {
    let interfaces = scene
        .network
        .known()
        .ok_or_else(|| scene.network.absence().unwrap_or(Absence::Failed(Failure::NotInSource)))?;
    let most = |wanted: InterfaceKind| {
        interfaces
            .iter()
            .filter(|interface| interface.kind == wanted)
            .filter_map(|interface| Some((interface, interface.received.known()?.0)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    let physical = most(InterfaceKind::Network).filter(|(_, rate)| *rate >= limit.0);
    physical
        .or_else(|| most(InterfaceKind::Virtual))
        .or_else(|| most(InterfaceKind::Network))
        .map(|(interface, rate)| Input {
            interface: &interface.name,
            rate: BytesPerSecond(rate),
            share: share(interface, rate),
        })
        .ok_or(Absence::Failed(Failure::TooFewSamples))
}

fn share(interface: &Interface, rate: f64) -> Option<f64> {
    interface.link.known().filter(|link| link.0 > 0.0).map(|link| rate / link.0)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::InterfaceKind;
    use gpuwhy_model::scene::{Card, Interface, Scene};
    use gpuwhy_model::units::BytesPerSecond;

    use super::{copies, input};

    const LITTLE: BytesPerSecond = BytesPerSecond(1e6);

    #[test]
    fn copies_are_measured_by_what_the_link_carries_now() {
        let mut card = Card::default();
        assert!(copies(&card).is_err());
        card.pcie.generation = Reading::Known(4);
        card.pcie.width = Reading::Known(8);
        card.pcie_traffic.to_card = Reading::Known(BytesPerSecond(12.6e9));
        card.pcie_traffic.to_host = Reading::Known(BytesPerSecond(1e9));
        let copies = copies(&card).unwrap();
        assert!((copies.share - 1.0).abs() < 1e-9 && copies.is_to_card);
    }

    #[test]
    fn a_real_link_counts_before_one_without_hardware() {
        let interface = |name: &str, kind: InterfaceKind, rate: f64, link: Option<f64>| Interface {
            name: name.to_owned(),
            kind,
            received: Reading::Known(BytesPerSecond(rate)),
            link: link.map_or(Reading::Unsupported, |link| Reading::Known(BytesPerSecond(link))),
            ..Interface::default()
        };
        let lo = interface("lo", InterfaceKind::Virtual, 9e9, None);
        let quiet = interface("eth0", InterfaceKind::Network, 1e3, Some(1.25e9));
        let full = interface("eth1", InterfaceKind::Network, 1e9, Some(1.25e9));
        let scene = |links: Vec<Interface>| Scene { network: Reading::Known(links), ..Scene::default() };
        let busy = scene(vec![lo.clone(), quiet.clone(), full]);
        let found = input(&busy, LITTLE).unwrap();
        assert_eq!(found.interface, "eth1");
        assert!((found.share.unwrap() - 0.8).abs() < 1e-9);
        let port = interface("mlx5_0/1", InterfaceKind::Infiniband, 2e10, Some(2.5e10));
        let local = scene(vec![lo, quiet, port]);
        assert_eq!(input(&local, LITTLE).unwrap().interface, "lo");
        assert!(input(&Scene::default(), LITTLE).is_err());
    }
}
