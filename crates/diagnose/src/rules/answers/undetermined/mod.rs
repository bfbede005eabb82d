//! `undetermined`: nothing was found, and too little was seen to say that nothing is wrong.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::PciDevice;
use gpuwhy_model::scene::{Card, Client, LogLine, ProgramFact, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Severity;

use crate::draft::Draft;
use crate::evidence::{once, over, reader};
use crate::facts::apparent_heat::apparent_heat;
use crate::facts::cards::is_full;
use crate::facts::program::says;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod step;

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/undetermined.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::Undetermined,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::PciCards,
            Signal::DriverLibrary,
            Signal::GpuBusy,
            Signal::VramUsed,
            Signal::VramByProcess,
            Signal::Temperature,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// The PCI class of accelerators that are no display.
const ACCELERATOR_CLASS: u32 = 0x12;

/// So many lines of programs are shown.
const SAID_MAX: usize = 3;

/// Why nothing can be said.
enum Reason {
    NoGpu,
    OnlyOtherVendors,
    NoView,
    /// Programs said something, and it does not decide.
    Program,
    /// A text says something of a machine, but nothing of its cards.
    Text,
    Signals,
}

impl Reason {
    const fn id(&self) -> &'static str {
        match self {
            Self::NoGpu => "no-gpu",
            Self::OnlyOtherVendors => "other-vendors",
            Self::NoView => "no-view",
            Self::Program => "program",
            Self::Text => "text",
            Self::Signals => "signals",
        }
    }

    fn summary(&self, scene: &Scene, findings: &Findings) -> Text {
        match self {
            Self::NoGpu => text::summary_no_gpu(),
            Self::OnlyOtherVendors => text::summary_other_vendors(),
            Self::NoView => text::summary_no_view(),
            Self::Program => text::summary_program(),
            Self::Text => text::summary_text(),
            Self::Signals if scene.window.span_s <= 0.0 => text::summary_one_look(cards(scene, findings)),
            Self::Signals => text::summary_signals(cards(scene, findings)),
        }
    }
}

fn cards(scene: &Scene, findings: &Findings) -> Vec<String> {
    let without_number = findings.candidates().filter(|draft| draft.is_about_an_unlisted_card(scene));
    let addresses = without_number.map(|draft| draft.finding.subject.name.clone());
    findings.undecided.iter().map(u32::to_string).chain(addresses).collect()
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    if findings.answers().next().is_some() {
        return;
    }
    let reason = reason(scene, findings);
    let open: Vec<&Card> = findings.undecided.iter().filter_map(|index| scene.card(*index)).collect();
    let heat = open.iter().find_map(|card| Some(apparent_heat(scene, card, limits)?.words(card)));
    let summary = heat.unwrap_or_else(|| reason.summary(scene, findings));
    let mut draft = Draft::about_machine(&RULE, scene, summary).severity(Severity::Note);
    draft.finding.cards = findings.undecided.iter().copied().collect();
    draft.finding.detail.insert("reason".to_owned(), reason.id().to_owned());
    if let Some(devices) = scene.machine.pci_cards.known() {
        let number = devices.iter().filter(|device| is_gpu(device)).count();
        draft.mention(once(Signal::PciCards, number, Unit::Count, Reader::SysPci, text::on_the_bus(number)));
    }
    if matches!(reason, Reason::Program) {
        for line in said(scene).take(SAID_MAX) {
            draft.mention(says(line));
        }
    }
    for card in &open {
        mention_card(scene, card, limits, &mut draft);
    }
    if let Some(step) = step::of_text(scene, &open, limits) {
        draft.advise(Action::LookAgain, Vec::new(), step);
    }
    mention_unplaced(scene, &mut draft);
    if matches!(reason, Reason::NoGpu) {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_other_machine());
    }
    if matches!(reason, Reason::NoView | Reason::Text) {
        name_what_is_missing(scene, findings);
    }
    findings.report(draft);
}

/// Says what processes hold of which the card is not said, and how to go on from the largest.
fn mention_unplaced(scene: &Scene, draft: &mut Draft) {
    let clients = scene.unplaced_clients.iter().map(|unplaced| &unplaced.client);
    let mut holders: Vec<(Bytes, &Client)> =
        clients.filter_map(|client| Some((*client.memory.known()?, client))).collect();
    holders.sort_by_key(|(bytes, client)| (std::cmp::Reverse(*bytes), client.pid));
    for (bytes, client) in holders.iter().take(SAID_MAX) {
        let name = client.name.known().map_or("?", String::as_str);
        let words = text::process_holds(*bytes, name, u64::from(client.pid.0));
        let reader = reader(scene, Reader::Nvml);
        draft.mention(once(Signal::VramByProcess, bytes.0, Unit::Bytes, reader, words));
    }
    if let Some((_, largest)) = holders.first() {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_whose(u64::from(largest.pid.0)));
    } else if said(scene).any(is_about_memory) {
        draft.advise(Action::LookAgain, Vec::new(), text::fix_who_holds());
    }
}

/// Returns whether a program says that a card has too little memory left for it.
fn is_about_memory(line: &LogLine) -> bool {
    matches!(line.fact, Some(ProgramFact::OutOfCardMemory(_) | ProgramFact::ServerMemory(_)))
}

/// Says what was seen of a card, so that a person can go on from there.
fn mention_card(scene: &Scene, card: &Card, limits: &Limits, draft: &mut Draft) {
    let index = card.shown();
    let is_full = is_full(card, limits) == Some(true);
    let total = card.memory.known().map(|memory| memory.total).filter(|_| is_full);
    let (busy, used) = (card.busy.known(), card.memory.known().map(|memory| memory.used));
    let evidence = match (busy, used) {
        (Some(busy), Some(used)) => {
            let words = match total {
                Some(total) => text::seen_full(busy.mean, index, total, used),
                None => text::seen(busy.mean, index, used),
            };
            let evidence =
                once(Signal::GpuBusy, busy.mean.0, Unit::Percent, reader(scene, Reader::Nvml), words);
            over(evidence, busy.n, busy.span_s)
        }
        (None, Some(used)) => once(
            Signal::VramUsed,
            used.0,
            Unit::Bytes,
            reader(scene, Reader::Nvml),
            match total {
                Some(total) => text::seen_full_memory(index, total, used),
                None => text::seen_memory(index, used),
            },
        ),
        _ => return,
    };
    draft.mention(evidence);
}

/// Returns what programs said that is understood.
fn said(scene: &Scene) -> impl Iterator<Item = &LogLine> {
    scene.program.iter().filter(|line| line.fact.is_some())
}

fn reason(scene: &Scene, findings: &Findings) -> Reason {
    if findings.undecided.is_empty() && said(scene).next().is_some() {
        return Reason::Program;
    }
    if !scene.cards.is_empty() {
        return Reason::Signals;
    }
    let is_text = scene.provenance.source == SourceKind::Text;
    let no_view = if is_text { Reason::Text } else { Reason::NoView };
    let Some(devices) = scene.machine.pci_cards.known() else {
        return no_view;
    };
    let gpus: Vec<&PciDevice> = devices.iter().filter(|device| is_gpu(device)).collect();
    let was_promised = scene.machine.container.is_known() && scene.machine.promised_cards.is_known();
    if gpus.is_empty() {
        return if was_promised { no_view } else { Reason::NoGpu };
    }
    if gpus.iter().all(|device| device.vendor != PciDevice::NVIDIA) {
        return Reason::OnlyOtherVendors;
    }
    no_view
}

/// Returns whether a device can compute: the display chip of a board's controller or of a virtual machine cannot.
fn is_gpu(device: &PciDevice) -> bool {
    let is_of_a_gpu_maker = matches!(device.vendor, PciDevice::NVIDIA | PciDevice::AMD | PciDevice::INTEL);
    device.is_card() && (is_of_a_gpu_maker || device.class >> 16 == ACCELERATOR_CLASS)
}

fn name_what_is_missing(scene: &Scene, findings: &mut Findings) {
    let is_text = scene.provenance.source == SourceKind::Text;
    // That a text does not speak of the whole machine is no surprise.
    if let Some(absence) = scene.machine.pci_cards.absence()
        && !(is_text && scene.machine.pci_cards.is_not_in_source())
    {
        findings.blind(Signal::PciCards, absence);
    }
    let library = &scene.machine.driver.library;
    if let Reading::Denied(_) | Reading::Failed(_) = library
        && let Some(absence) = library.absence()
        && !(is_text && library.is_not_in_source())
    {
        findings.blind(Signal::DriverLibrary, absence);
    }
}
