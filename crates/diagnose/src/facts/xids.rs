//! Numbered errors of the driver (Xids) that are young enough to speak of now, card by card, and what kind they are.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_knowledge::{FirstAction, Severity};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::{KernelFact, KernelLine};
use gpuwhy_model::scene::{Card, Scene};

use super::cards::slot;
use super::kernel_log;

/// Errors of a card's memories, and what follows from them.
const OF_MEMORY: &[u32] = &[48, 63, 64, 92, 94, 95, 140, 160, 161, 171, 172];
/// Errors of the links between cards.
const OF_LINKS: &[u32] = &[74, 136, 144, 145, 146, 147, 148, 149, 150, 155];
/// The card has fallen off the bus.
const OF_LOST_CARDS: &[u32] = &[79];
/// The driver says what it asks for because of another error.
const RECOVERY: u32 = 154;
/// What a program leaves behind when something else ended it.
const CLEAN_UP: &[u32] = &[43, 45];

/// One numbered error of a card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report<'scene> {
    pub(crate) number: u32,
    /// Whether the line calls it fatal, where it says so.
    pub(crate) is_fatal: Option<bool>,
    /// Its line in the kernel log; none: only an event of the driver told of it.
    pub(crate) line: Option<&'scene KernelLine>,
    /// The process that the line names: evidence, not a target.
    pub(crate) pid: Option<Pid>,
    pub(crate) name: Option<&'scene str>,
    /// How long ago it was, in seconds, where the log's clock tells.
    pub(crate) age_s: Option<f64>,
}

/// What kind of trouble a number speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program did something wrong.
    Program,
    /// The card, its firmware, its bus or the driver.
    Hardware,
    /// The card's memory.
    Memory,
    /// A link between cards.
    Link,
    /// The card is gone.
    Lost,
    /// Tells nothing alone.
    Remark,
}

/// Returns the errors of a card that are young enough, oldest first; an event of the driver without a line comes last.
pub(crate) fn of_card<'scene>(scene: &'scene Scene, card: &Card, limits: &Limits) -> Vec<Report<'scene>> {
    let mut reports: Vec<Report<'scene>> = in_log(scene, card)
        .filter(|report| report.line.is_none_or(|line| kernel_log::is_fresh(scene, line, limits)))
        .collect();
    let events = scene.machine.driver.xid_events.known().into_iter().flatten();
    for event in events.filter(|event| event.card == card.index) {
        // The event and the line are the same error.
        if !reports.iter().any(|report| report.number == event.number) {
            let (number, age_s) = (event.number, Some(0.0));
            reports.push(Report { number, is_fatal: None, line: None, pid: None, name: None, age_s });
        }
    }
    // A device plugin got the same events, and names the card by its unique name.
    for (_, plugin) in super::offers::reports(scene) {
        let is_of_card = plugin.device.is_some() && plugin.device.as_ref() == card.uuid.known();
        if let Some(number) = plugin.xid.filter(|_| is_of_card)
            && !reports.iter().any(|report| report.number == number)
        {
            reports.push(Report { number, is_fatal: None, line: None, pid: None, name: None, age_s: None });
        }
    }
    reports
}

/// Returns the errors of a card that the kernel log still has, old ones too.
fn in_log<'scene>(scene: &'scene Scene, card: &Card) -> impl Iterator<Item = Report<'scene>> {
    let wanted = card.pci_address.known().map(|address| slot(address));
    kernel_log::lines(scene).iter().filter_map(move |line| {
        let Some(KernelFact::Xid { pci_address, number, pid, name, caused_by, is_fatal, .. }) = &line.fact
        else {
            return None;
        };
        let is_of_card = wanted.as_ref().is_some_and(|wanted| slot(pci_address) == *wanted);
        is_of_card.then(|| Report {
            // A line that only cleans up says what it cleans up after.
            number: caused_by.unwrap_or(*number),
            is_fatal: *is_fatal,
            line: Some(line),
            pid: *pid,
            name: name.as_deref(),
            age_s: kernel_log::age_s(scene, line),
        })
    })
}

/// Returns what the driver asks for to make a card work again, by its newest line about it, and that line.
pub(crate) fn asked_for<'scene>(
    scene: &'scene Scene,
    card: &Card,
    limits: &Limits,
) -> Option<(u32, Report<'scene>)> {
    let mut reports = in_log(scene, card).filter(|report| report.number == RECOVERY);
    let newest = reports.by_ref().last()?;
    let line = newest.line.filter(|line| kernel_log::is_fresh(scene, line, limits))?;
    match line.fact {
        Some(KernelFact::Xid { recovery: Some(step), .. }) if step > 0 => Some((step, newest)),
        _ => None,
    }
}

/// Returns what kind of trouble a number speaks of on a card.
pub(crate) fn kind(number: u32, card: &Card) -> Kind {
    if OF_LOST_CARDS.contains(&number) {
        return Kind::Lost;
    }
    if OF_MEMORY.contains(&number) {
        return Kind::Memory;
    }
    if OF_LINKS.contains(&number) {
        return Kind::Link;
    }
    let Some(fact) = gpuwhy_knowledge::xid(number) else {
        return Kind::Remark;
    };
    let is_legacy = !fact.used_on_ampere_plus && !is_older_than_ampere(card);
    match fact.severity {
        Severity::None | Severity::Info | Severity::Meta | Severity::Nvlink5 => Kind::Remark,
        Severity::App => Kind::Program,
        Severity::Warn | Severity::HwSuspect if is_legacy => Kind::Remark,
        // The vendor ignores these unless they come again and again.
        Severity::Warn if fact.first_action == FirstAction::None => Kind::Remark,
        Severity::Warn if fact.domains.iter().any(|domain| domain == "app") => Kind::Program,
        Severity::Warn | Severity::HwSuspect | Severity::Reset | Severity::Reboot => Kind::Hardware,
    }
}

/// Returns whether a card is surely older than the Ampere generation: some numbers mean something on those only.
fn is_older_than_ampere(card: &Card) -> bool {
    if let Some(capability) = card.compute_capability.known() {
        return capability.parse().is_ok_and(|capability: f64| capability < 8.0);
    }
    let product = card.name.known().and_then(|name| gpuwhy_knowledge::card(name));
    product.is_some_and(|product| !product.is_ampere_or_later())
}

/// Returns whether an error only says that a program's channels were torn down after something else.
pub(crate) fn is_clean_up(number: u32) -> bool {
    CLEAN_UP.contains(&number)
}

/// Returns the programs that failed on a card by their own fault, as the log names them, with their process numbers;
/// old lines count too.
pub(crate) fn failed_programs<'scene>(
    scene: &'scene Scene,
    card: &Card,
) -> BTreeMap<&'scene str, BTreeSet<Pid>> {
    let mut programs: BTreeMap<&str, BTreeSet<Pid>> = BTreeMap::new();
    for report in in_log(scene, card) {
        let is_own_fault = kind(report.number, card) == Kind::Program && !is_clean_up(report.number);
        if let (true, Some(name), Some(pid)) = (is_own_fault, report.name, report.pid) {
            programs.entry(name).or_default().insert(pid);
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::XidEvent;

    use super::*;

    fn card(name: &str) -> Card {
        Card {
            name: Reading::Known(name.to_owned()),
            pci_address: Reading::Known("00000000:65:00.0".to_owned()),
            ..Card::default()
        }
    }

    fn line(number: u32, seconds_ago: u64) -> KernelLine {
        let pci_address = "0000:65:00.0".to_owned();
        let (pid, name) = (Some(Pid(7)), Some("python3".to_owned()));
        let (caused_by, is_fatal, recovery) = (None, None, None);
        let fact = KernelFact::Xid { pci_address, number, pid, name, caused_by, is_fatal, recovery };
        KernelLine { boot_us: (10_000 - seconds_ago) * 1_000_000, fact: Some(fact), ..KernelLine::default() }
    }

    fn scene(lines: Vec<KernelLine>) -> Scene {
        let mut scene = Scene { events: Reading::Known(lines), ..Scene::default() };
        scene.window.end_boot_ns = Some(10_000 * 1_000_000_000);
        scene
    }

    #[test]
    fn numbers_are_sorted_by_whose_fault_they_are() {
        let new = card("NVIDIA A100-SXM4-80GB");
        for (number, wanted) in [
            (13, Kind::Program),
            (31, Kind::Program),
            (43, Kind::Program),
            (45, Kind::Remark),
            (32, Kind::Hardware),
            (48, Kind::Memory),
            (57, Kind::Remark),
            (62, Kind::Hardware),
            (63, Kind::Memory),
            (74, Kind::Link),
            (79, Kind::Lost),
            (94, Kind::Memory),
            (119, Kind::Hardware),
            (145, Kind::Link),
            (154, Kind::Remark),
            (999, Kind::Remark),
        ] {
            assert_eq!(kind(number, &new), wanted, "{number}");
        }
        assert_eq!(kind(57, &card("Tesla T4")), Kind::Hardware);
    }

    #[test]
    fn old_lines_are_history_and_an_event_is_its_line() {
        let limits = Limits::default();
        let mut scene = scene(vec![line(31, 5000), line(13, 20)]);
        let event = |number: u32| XidEvent { card: 0, number };
        scene.machine.driver.xid_events = Reading::Known(vec![event(13), event(62)]);
        let card = card("NVIDIA L4");
        let numbers: Vec<u32> = of_card(&scene, &card, &limits).iter().map(|report| report.number).collect();
        assert_eq!(numbers, [13, 62]);
        assert_eq!(failed_programs(&scene, &card).len(), 1);
    }
}
