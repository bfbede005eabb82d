//! Cards and who holds them.

use gpuwhy_model::limits::Limits;
pub(crate) use gpuwhy_model::pci::slot;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Absence, Access, Failure, Reading};
use gpuwhy_model::sample::{ClientKind, PciDevice, ProcessState};
use gpuwhy_model::scene::{Card, Client, Process, Scene, Workload};
use gpuwhy_model::units::Bytes;

/// A process that holds a card for computing.
#[derive(Clone, Copy)]
pub(crate) struct Holder<'scene> {
    pub(crate) card: &'scene Card,
    pub(crate) client: &'scene Client,
    /// Its entry in `/proc`, where there is one that surely is the same process.
    pub(crate) process: Option<&'scene Process>,
    pub(crate) workload: Option<&'scene Workload>,
}

impl Holder<'_> {
    /// Returns the bytes that it holds; 0 when nobody says.
    pub(crate) fn bytes(&self) -> Bytes {
        self.client.memory.known().copied().unwrap_or_default()
    }

    /// Returns whether its kernels ran in the window, where that is known.
    pub(crate) fn worked(&self, limits: &Limits) -> Option<bool> {
        if let Some(work) = self.client.sm.known() {
            return Some(work.mean.0 > limits.idle_percent_max);
        }
        match activity(self.card, limits) {
            Activity::Rests => Some(false),
            Activity::Works if self.card.known_clients().len() == 1 => Some(true),
            Activity::Works | Activity::Unknown => None,
        }
    }

    /// Returns whether it lives: it has an entry in `/proc` and is no zombie.
    pub(crate) fn lives(&self) -> bool {
        self.process.is_some_and(|process| process.state != Reading::Known(ProcessState::Zombie))
    }
}

/// Returns the whole cards; instances belong to theirs.
pub(crate) fn whole_cards(scene: &Scene) -> impl Iterator<Item = &Card> {
    scene.cards.iter().filter(|card| card.parent.is_none())
}

/// Returns the whole cards, and behind them those that texts name by their address alone: they too can have errors.
pub(crate) fn with_unlisted(scene: &Scene) -> impl Iterator<Item = &Card> {
    whole_cards(scene).chain(&scene.unlisted_cards)
}

/// Returns the processes that hold a card or an instance of it for computing.
pub(crate) fn holders<'scene>(scene: &'scene Scene, card: &'scene Card) -> Vec<Holder<'scene>> {
    holders_of_kind(scene, card, |kind| kind != ClientKind::Graphics)
}

/// Returns the processes that hold a card for showing pictures.
pub(crate) fn displays<'scene>(scene: &'scene Scene, card: &'scene Card) -> Vec<Holder<'scene>> {
    holders_of_kind(scene, card, |kind| kind == ClientKind::Graphics)
}

fn holders_of_kind<'scene>(
    scene: &'scene Scene,
    card: &'scene Card,
    is_wanted: fn(ClientKind) -> bool,
) -> Vec<Holder<'scene>> {
    let parts = scene.cards.iter().filter(|part| card.parent.is_none() && part.parent == Some(card.index));
    let mut holders: Vec<Holder<'_>> = std::iter::once(card)
        .chain(parts)
        .flat_map(|part| part.known_clients().iter().map(move |client| (part, client)))
        .filter(|(_, client)| is_wanted(client.kind))
        .map(|(part, client)| Holder {
            card: part,
            client,
            process: process_of(scene, client.pid),
            workload: scene.workload_of(client.pid),
        })
        .collect();
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.bytes()), holder.client.pid));
    holders.dedup_by_key(|holder| holder.client.pid);
    holders
}

/// Returns the processes that worked on a card in the window, or may have.
pub(crate) fn holders_at_work<'scene>(
    scene: &'scene Scene,
    card: &'scene Card,
    limits: &Limits,
) -> Vec<Holder<'scene>> {
    let mut holders = holders(scene, card);
    holders.retain(|holder| holder.worked(limits) != Some(false));
    holders
}

/// Returns the process that a number of the driver means, if both count in the same pid namespace.
fn process_of(scene: &Scene, pid: Pid) -> Option<&Process> {
    let numbers_agree = scene.machine.viewer.initial_pid_namespace != Reading::Known(false);
    scene.process(pid).filter(|_| numbers_agree)
}

/// Returns why a process that the driver names cannot be found in `/proc`.
pub(crate) fn why_not_in_proc(scene: &Scene) -> Absence {
    if scene.processes.is_empty() && !scene.machine.viewer.initial_pid_namespace.is_known() {
        return Absence::Failed(Failure::NotInSource);
    }
    Absence::Denied(Access::VisibleProcesses)
}

/// Returns whether an amount of a card's memory is worth naming.
pub(crate) fn is_worth_naming(bytes: Bytes, card: &Card, limits: &Limits) -> bool {
    let total = card.memory.known().map_or(0, |memory| memory.total.0);
    let share = if total > 0 { bytes.0 as f64 / total as f64 } else { 0.0 };
    bytes.0 >= limits.held_bytes_worth_naming || share >= limits.held_share_worth_naming
}

/// Returns the memory of a card that is in use for something else than a display.
pub(crate) fn used_for_computing(card: &Card) -> Option<Bytes> {
    let used = card.memory.known()?.used;
    let displays = card.known_clients().iter().filter(|client| client.kind == ClientKind::Graphics);
    let shown: u64 = displays.filter_map(|client| client.memory.known()).map(|bytes| bytes.0).sum();
    Some(Bytes(used.0.saturating_sub(shown)))
}

/// Returns whether nobody holds memory worth naming for computing.
pub(crate) fn is_free(card: &Card, limits: &Limits) -> bool {
    let is_small = |bytes: Bytes| !is_worth_naming(bytes, card, limits);
    let computing = card.known_clients().iter().filter(|client| client.kind != ClientKind::Graphics);
    let all_small =
        computing.map(|client| client.memory.known()).all(|bytes| bytes.copied().is_some_and(is_small));
    all_small && used_for_computing(card).is_some_and(is_small)
}

/// Cards that work are hotter, in degrees Celsius.
const COOL_C: f64 = 45.0;

/// Whether a card works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Works,
    Rests,
    Unknown,
}

/// Returns whether a counter shows work where nobody works: no process that does, no memory, no power.
///
/// Drivers do so after their start, while persistence mode is off.
fn is_a_ghost(card: &Card, limits: &Limits) -> bool {
    let rests =
        |client: &Client| client.sm.known().is_some_and(|work| work.mean.0 <= limits.idle_percent_max);
    let nobody = card.clients.known().is_some_and(|clients| clients.iter().all(rests));
    let ratio = card.power_ratio().into_known();
    let draws_little = ratio.is_some_and(|ratio| ratio < limits.false_busy_power_share_max);
    nobody && draws_little && is_free(card, limits)
        || is_empty(card) && (draws_little || ratio.is_none() && is_cool(card))
}

/// Returns whether a text that lists no processes shows that there are none: each would hold memory for its context.
fn is_empty(card: &Card) -> bool {
    card.clients.is_not_in_source()
        && card.memory.known().is_some_and(|memory| memory.used.0 == 0 && memory.total.0 > 0)
}

/// Returns whether a card is as cool as one that rests; its power limit would say it better.
fn is_cool(card: &Card) -> bool {
    card.power.is_known() && card.temperature.known().is_some_and(|temperature| temperature.max.0 <= COOL_C)
}

/// Returns whether a card worked in the window.
pub(crate) fn activity(card: &Card, limits: &Limits) -> Activity {
    if let Some(busy) = card.busy.known() {
        let works = busy.mean.0 > limits.idle_percent_max && !is_a_ghost(card, limits);
        return if works { Activity::Works } else { Activity::Rests };
    }
    let mut works = card.known_clients().iter().map(|client| &client.sm).peekable();
    if works.peek().is_none() {
        return Activity::Unknown;
    }
    let mut all_known = true;
    for work in works {
        match work.known() {
            Some(work) if work.mean.0 > limits.idle_percent_max => return Activity::Works,
            Some(_) => {}
            None => all_known = false,
        }
    }
    if all_known { Activity::Rests } else { Activity::Unknown }
}

/// Returns the card time that some cards lost in the window by being held: a card that others use loses none.
pub(crate) fn seconds_lost(scene: &Scene, indices: &[u32], limits: &Limits) -> f64 {
    let cards = indices.iter().filter_map(|index| scene.card(*index));
    let resting = cards.filter(|card| activity(card, limits) != Activity::Works).count();
    scene.window.span_s * resting as f64
}

/// Returns whether so much of a card's memory is used that a new program will not fit.
pub(crate) fn is_full(card: &Card, limits: &Limits) -> Option<bool> {
    let memory = card.memory.known()?;
    let share = memory.used.0 as f64 / memory.total.0.max(1) as f64;
    Some(share >= limits.full_memory_share_min || memory.free.0 <= limits.full_free_bytes_max)
}

/// Returns the NVIDIA cards on the PCI bus that an NVIDIA driver is meant to serve, by address.
///
/// A card that is bound for passing it to a virtual machine is out of reach by intent.
pub(crate) fn nvidia_pci_cards(scene: &Scene) -> Reading<Vec<&PciDevice>> {
    scene.machine.pci_cards.as_ref().map(|devices| {
        let mut cards: Vec<&PciDevice> = devices
            .iter()
            .filter(|device| device.vendor == PciDevice::NVIDIA && device.is_card())
            .filter(|device| !is_passed_on(device))
            .collect();
        cards.sort_by(|one, other| one.address.cmp(&other.address));
        cards
    })
}

/// Returns the numbers under which the driver would list its cards, when its library lists none at all.
pub(crate) fn only_on_the_bus(scene: &Scene) -> Vec<u32> {
    let driver = &scene.machine.driver;
    let lists_what_cannot_be = matches!(driver.card_count, Reading::Failed(Failure::Implausible { .. }));
    let has_cards = !scene.cards.is_empty() || !scene.unlisted_cards.is_empty();
    if has_cards || driver.library.is_known() && !lists_what_cannot_be {
        return Vec::new();
    }
    let number = nvidia_pci_cards(scene).known().map_or(0, Vec::len);
    (0..u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

/// Returns whether whoever looks is shown only the cards that were given to a container, or to the job of a scheduler in
/// which he is: the driver's library does not list the others to him at all.
pub(crate) fn is_kept_to_some_cards(scene: &Scene) -> bool {
    let viewer = &scene.machine.viewer.uid;
    let is_in_a_job = viewer.known().is_some_and(|uid| *uid != 0)
        && scene.processes.iter().any(|process| process.uid == *viewer && process.owner.job.is_some());
    scene.machine.container.is_known() || is_in_a_job
}

fn is_passed_on(device: &PciDevice) -> bool {
    device.driver.known().is_some_and(|driver| matches!(driver.as_str(), "vfio-pci" | "pci-stub"))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardMemory, TimedValue};
    use gpuwhy_model::scene::Card;
    use gpuwhy_model::trend::Trend;
    use gpuwhy_model::units::{Bytes, Celsius, Percent, Quantity, Watts};

    use super::{Activity, activity};

    fn at<T: Quantity>(value: f64) -> Reading<Trend<T>> {
        Trend::of(&[TimedValue { time_us: 1, value }]).map(Reading::Known).unwrap()
    }

    fn card(used: u64, temperature: f64) -> Card {
        let (total, reserved) = (Bytes(80 << 30), Reading::default());
        let memory = CardMemory { total, reserved, used: Bytes(used), free: Bytes((80 << 30) - used) };
        Card {
            memory: Reading::Known(memory),
            busy: at::<Percent>(100.0),
            power: at::<Watts>(98.0),
            temperature: at::<Celsius>(temperature),
            ..Card::default()
        }
    }

    #[test]
    fn a_stuck_counter_of_an_empty_cool_card_is_no_work() {
        let of = |card: &Card| activity(card, &Limits::default());
        assert_eq!(of(&card(0, 38.0)), Activity::Rests);
        assert_eq!(of(&card(0, 70.0)), Activity::Works, "hot");
        assert_eq!(of(&card(500 << 20, 38.0)), Activity::Works, "somebody's context");
        let unseen = Card { temperature: Reading::default(), ..card(0, 38.0) };
        assert_eq!(of(&unseen), Activity::Works, "nothing says that it is cool");
        let listed = Card { clients: Reading::Unsupported, ..card(0, 38.0) };
        assert_eq!(of(&listed), Activity::Works, "a list that cannot be read is no text without one");
    }
}
