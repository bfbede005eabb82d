//! Cards of exporters: which values belong to which card or instance.

use std::collections::BTreeMap;

use gpuwhy_knowledge::{Severity, xid};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{
    CardKind, CardMemory, CardSample, ClockReasons, NvmlSample, Owner, RemappedRows, RetiredPages, XidEvent,
};
use gpuwhy_model::units::Bytes;

use super::card_fields::{Gathered, card_metric};
use super::exposition::Value;
use super::scrapes::Scrapes;
use crate::kernel_log::pci_address;

/// The machine, the card and the instance that a value is of.
type Key = (String, String, Option<u32>);

/// What the exporters say of cards at one time.
#[derive(Debug, Default)]
pub(super) struct CardsOfScrape {
    pub(super) cards: Vec<CardSample>,
    pub(super) driver_version: Option<String>,
    /// The machines that have them.
    pub(super) hosts: Vec<String>,
    /// To whom cards are given, by the place of the card in `cards`.
    pub(super) owners: BTreeMap<usize, Owner>,
    /// The last error of cards, by the place of the card.
    pub(super) errors: Vec<(u32, u32)>,
    /// Cards to which nothing gives a number: theirs only tell them apart.
    pub(super) unnumbered: Vec<u32>,
}

/// Returns what one answer says of cards.
pub(super) fn cards(values: &[Value], scrapes: &Scrapes) -> CardsOfScrape {
    let mut gathered: BTreeMap<Key, Gathered> = BTreeMap::new();
    let mut owners: BTreeMap<Key, Owner> = BTreeMap::new();
    let mut order: Vec<Key> = Vec::new();
    let mut read = CardsOfScrape::default();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let names = Names::of(values);
    for value in values {
        let Some(metric) = card_metric(&value.name) else {
            describe(value, &names, &mut gathered, &mut numbers, &mut read);
            continue;
        };
        let Some(key) = names.key(value) else { continue };
        let instance = key.2;
        let whole = (key.0.clone(), key.1.clone(), None);
        for key in [Some(&whole), instance.is_some().then_some(&key)].into_iter().flatten() {
            if !order.contains(key) && order.len() < NvmlSample::PARTS_MAX as usize {
                order.push(key.clone());
            }
        }
        let of_part = metric.is_of_instance && instance.is_some();
        let target = gathered.entry(if of_part { key.clone() } else { whole.clone() }).or_default();
        if let Some(number) = in_our_unit(value, scrapes) {
            (metric.set)(target, number);
        }
        name_it(value, gathered.entry(whole).or_default(), instance.is_some());
        let owner = owner(value);
        if !owner.is_nobody() {
            owners.insert(key.clone(), owner);
        }
        if let Some(version) = value.label("DCGM_FI_DRIVER_VERSION") {
            read.driver_version = Some(version.to_owned());
        }
        if let Some(profile) = value.label("GPU_I_PROFILE").filter(|_| instance.is_some()) {
            gathered.entry(key).or_default().card.name = Reading::Known(format!("MIG {profile}"));
        }
    }
    place(order, gathered, &owners, &numbers, read)
}

/// Returns the value in the unit that the table has, if the exporter says which unit it is.
fn in_our_unit(value: &Value, scrapes: &Scrapes) -> Option<f64> {
    let help = scrapes.help.get(&value.name).map(|help| help.to_ascii_lowercase());
    let says = |words: &str| help.as_ref().is_some_and(|help| help.contains(words));
    if value.name.ends_with("_VIOLATION") && (says("in us") || says("microsecond")) {
        return Some(value.number * 1000.0);
    }
    if value.name.starts_with("DCGM_FI_PROF_PCIE_") {
        // Some exporters make a total of it.
        let is_gauge = scrapes.kinds.get(&value.name).is_some_and(|kind| kind == "gauge");
        return (is_gauge || says("rate") || says("per second")).then_some(value.number);
    }
    value.number.is_finite().then_some(value.number)
}

/// What tells cards apart, whichever labels a value bears.
struct Names<'values> {
    /// The machine, where all values that name one name the same.
    only_host: Option<&'values str>,
    /// Numbers of cards by their unique names.
    numbers: BTreeMap<&'values str, &'values str>,
}

impl<'values> Names<'values> {
    fn of(values: &'values [Value]) -> Self {
        let mut hosts = values.iter().filter_map(host);
        let first = hosts.next();
        let only_host = first.filter(|first| hosts.all(|host| host == *first));
        let both = |value: &'values Value| Some((unique(value)?, value.label("gpu")?));
        Self { only_host, numbers: values.iter().filter_map(both).collect() }
    }

    /// Returns the card that a value is of; a value without any label is of the only one.
    fn key(&self, value: &Value) -> Option<Key> {
        let host = host(value).or(self.only_host).unwrap_or_default();
        let by_name = || unique(value).map(|name| self.numbers.get(name).copied().unwrap_or(name));
        let card = value
            .label("gpu")
            .or_else(by_name)
            .or_else(|| value.any_label(&["minor_number", "device"]))
            .or_else(|| value.labels.is_empty().then_some("0"))?;
        let instance = value.label("GPU_I_ID").and_then(|id| id.parse().ok());
        Some((host.to_owned(), card.to_owned(), instance))
    }
}

fn host(value: &Value) -> Option<&str> {
    value.any_label(&["Hostname", "hostname", "node", "exported_node"])
}

fn unique(value: &Value) -> Option<&str> {
    value.any_label(&["UUID", "uuid", "gpu_uuid"])
}

fn name_it(value: &Value, gathered: &mut Gathered, has_instances: bool) {
    let card = &mut gathered.card;
    if let Some(uuid) = value.any_label(&["UUID", "uuid", "gpu_uuid"]).filter(|uuid| uuid.starts_with("GPU-"))
    {
        card.uuid = Reading::Known(uuid.to_owned());
    } else if let Some(uuid) = value.label("uuid").filter(|uuid| uuid.len() == 36) {
        card.uuid = Reading::Known(format!("GPU-{uuid}"));
    }
    if let Some(name) = value.any_label(&["modelName", "name"]) {
        card.name = Reading::Known(name.to_owned());
    }
    if let Some(address) = value.label("pci_bus_id").and_then(pci_address) {
        card.pci_address = Reading::Known(address);
    }
    if let Some(minor) = value.label("device").and_then(|device| device.strip_prefix("nvidia")?.parse().ok())
    {
        card.minor = Reading::Known(minor);
    }
    if has_instances {
        card.mig_enabled = Reading::Known(true);
    }
}

/// Returns to whom a card is given, as the exporter's labels say it.
fn owner(value: &Value) -> Owner {
    let label = |names: &[&str]| value.any_label(names).map(str::to_owned);
    let pod = label(&["exported_pod", "pod"]);
    let namespace = label(&["exported_namespace", "namespace"]);
    Owner {
        container: label(&["exported_container", "container"]),
        pod: match (namespace, pod) {
            (Some(namespace), Some(pod)) => Some(format!("{namespace}/{pod}")),
            (_, pod) => pod,
        },
        job: label(&["hpc_job"]),
        ..Owner::default()
    }
}

/// Reads values that describe cards rather than measure them.
fn describe(
    value: &Value,
    names: &Names<'_>,
    gathered: &mut BTreeMap<Key, Gathered>,
    numbers: &mut BTreeMap<String, u32>,
    read: &mut CardsOfScrape,
) {
    match value.name.as_str() {
        "nvidia_smi_gpu_info" => {
            if let (Some(key), Some(version)) = (names.key(value), value.label("driver_version")) {
                name_it(value, gathered.entry(key).or_default(), false);
                read.driver_version = Some(version.to_owned());
            }
        }
        "nvidia_smi_index" => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be small"
            )]
            if let Some((_, card, _)) = names.key(value).filter(|_| (0.0..4096.0).contains(&value.number)) {
                numbers.insert(card, value.number as u32);
            }
        }
        _ => {}
    }
}

/// Gives cards their numbers, and makes cards of what was gathered.
fn place(
    order: Vec<Key>,
    mut gathered: BTreeMap<Key, Gathered>,
    owners: &BTreeMap<Key, Owner>,
    numbers: &BTreeMap<String, u32>,
    mut read: CardsOfScrape,
) -> CardsOfScrape {
    let mut given: BTreeMap<(String, String), u32> = BTreeMap::new();
    for key in &order {
        if !key.0.is_empty() && !read.hosts.contains(&key.0) {
            read.hosts.push(key.0.clone());
        }
        let card = (key.0.clone(), key.1.clone());
        if given.contains_key(&card) {
            continue;
        }
        let own = numbers.get(&key.1).copied().or_else(|| key.1.trim_start_matches("nvidia").parse().ok());
        // Cards of a second machine, or without a number, come behind those that have one.
        let is_free = |number: u32| !given.values().any(|other| *other == number);
        let next = given.values().max().map_or(0, |highest| highest + 1);
        if own.is_none() {
            read.unnumbered.push(next);
        }
        let number = own.filter(|own: &u32| *own < 4096 && is_free(*own)).unwrap_or(next);
        given.insert(card, number);
    }
    let mut parts: Vec<(u32, Option<u32>, Key)> = order
        .into_iter()
        .filter_map(|key| Some((*given.get(&(key.0.clone(), key.1.clone()))?, key.2, key)))
        .collect();
    parts.sort();
    for (number, instance, key) in parts {
        let Some(of_card) = gathered.remove(&key) else { continue };
        if let Some(error) = of_card.xid.filter(|_| instance.is_none()) {
            read.errors.push((number, error));
        }
        let mut card = finished(of_card);
        card.index = instance.unwrap_or(number);
        if instance.is_some() {
            (card.kind, card.parent) = (CardKind::MigInstance, Some(number));
        }
        if let Some(owner) = owners.get(&key) {
            read.owners.insert(read.cards.len(), owner.clone());
        }
        read.cards.push(card);
    }
    read
}

/// Makes a card of its values.
fn finished(gathered: Gathered) -> CardSample {
    let Gathered {
        mut card,
        used,
        free,
        total,
        reserved,
        bar1_used,
        bar1_total,
        rows,
        pages,
        engine,
        reasons,
        ..
    } = gathered;
    card.handle = Reading::Known(());
    let all = total.or_else(|| Some(used?.saturating_add(free?).saturating_add(reserved.unwrap_or(0))));
    if let (Some(total), Some(used)) = (all, used) {
        let free = free.unwrap_or_else(|| total.saturating_sub(used).saturating_sub(reserved.unwrap_or(0)));
        card.memory = Reading::Known(CardMemory {
            total: Bytes(total),
            reserved: reserved.map(Bytes).into(),
            used: Bytes(used),
            free: Bytes(free),
        });
    }
    if let (Some(total), Some(used)) = (bar1_total, bar1_used) {
        card.bar1 = Reading::Known(CardMemory {
            total: Bytes(total),
            reserved: Reading::Unsupported,
            used: Bytes(used),
            free: Bytes(total.saturating_sub(used)),
        });
    }
    if let (Some(corrected), Some(uncorrected), Some(pending)) = (rows[0], rows[1], rows[2]) {
        let failed = rows[3].is_some_and(|failed| failed > 0);
        let rows = RemappedRows { corrected, uncorrected, pending: pending > 0, failed, spare_rows: None };
        card.remapped_rows = Reading::Known(rows);
    }
    if let [Some(single_bit), Some(double_bit), Some(pending)] = pages {
        card.retired_pages = Reading::Known(RetiredPages { single_bit, double_bit, pending: pending > 0 });
    }
    if let Some(engine) = engine.filter(|engine| !card.busy.is_known() && (0.0..=100.0).contains(engine)) {
        card.busy = Reading::Known(gpuwhy_model::units::Percent(engine));
    }
    if let Some(bits) = reasons.filter(|_| !card.clock_reasons.is_known()) {
        card.clock_reasons = Reading::Known(ClockReasons(bits));
    }
    // Nobody measures its limit in force apart: what was asked for is it, unless something else caps it.
    if !card.power_limits.enforced.is_known() {
        card.power_limits.enforced = card.power_limits.requested.clone();
    }
    card
}

/// Returns the errors that are worth speaking of: the metric keeps the last one for ever, so that one that a program made
/// may be weeks old; one that is new in this text counts in any case.
pub(super) fn errors(reads: &[&CardsOfScrape]) -> Vec<XidEvent> {
    let Some(last) = reads.last() else { return Vec::new() };
    let first = reads.first().filter(|_| reads.len() > 1);
    let mut events = Vec::new();
    for (card, number) in &last.errors {
        let is_new = first.is_some_and(|first| {
            let before = first.errors.iter().find(|(other, _)| other == card);
            first.cards.iter().any(|known| known.index == *card && known.parent.is_none())
                && before.is_none_or(|(_, before)| before != number)
        });
        let is_grave = xid(*number).is_some_and(|fact| {
            matches!(fact.severity, Severity::HwSuspect | Severity::Reset | Severity::Reboot)
        });
        if is_new || is_grave {
            events.push(XidEvent { card: *card, number: *number });
        }
    }
    events
}
