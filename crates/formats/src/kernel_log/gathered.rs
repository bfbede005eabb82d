//! Puts the lines of a log together: messages that stand on several lines, the clock, boots, and what is kept.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{KernelFact, KernelLine, PciDevice, Service};

use super::clock::Clock;
use super::facts::fact;
use super::kept::{KeepLimits, Kept};
use super::line::{LogLine, Sender};
use super::out_of_memory::group_at_its_limit;
use super::record::on_one_line;
use super::stamp::Stamp;
use super::units::Units;
use super::{enumerated, is_about_cards};

/// A message of the driver stands on no more lines than these.
const LINES_OF_A_MESSAGE: usize = 8;
/// Lines of one message are this close together, in microseconds.
const MESSAGE_LASTS_US: i64 = 2_000_000;
/// Longer texts are cut.
const TEXT_MAX: usize = 2048;
/// So many relevant lines may stand between the line that names a control group and the one that needs its name.
const GROUP_HOLDS_FOR: u64 = 20;

/// What the first line of a message of the driver begins with that goes on in further lines.
const GOES_ON: &[&str] = &["NVRM: The NVIDIA ", "NVRM: API mismatch", "NVRM: This PCI I/O region"];
/// What begins another message of the driver.
const BEGINS: &[&str] = &[
    "NVRM: API mismatch",
    "NVRM: GPU ",
    "NVRM: No NVIDIA",
    "NVRM: None of",
    "NVRM: RmInit",
    "NVRM: The NVIDIA ",
    "NVRM: Xid",
    "NVRM: loading",
    "NVRM: nvidia_",
    "NVRM: rm_init",
];

/// What a log says.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The lines that matter, in order.
    pub lines: Vec<KernelLine>,
    /// How many more mattered and were left out, by the limits.
    pub left_out: u64,
    /// How many lines were taken in.
    pub read: u64,
    /// The machine's name, where all lines agree on it.
    pub host: Option<String>,
    /// Release of the running kernel.
    pub kernel: Option<String>,
    /// Devices that the kernel listed when it started, as far as they are cards.
    pub pci_cards: Vec<PciDevice>,
    /// What the service manager and services around cards say of those.
    pub services: Vec<Service>,
    /// Version of the driver's module, by a service that asked it.
    pub module: Option<String>,
    /// Whether a service looked for `NVSwitches` and found none.
    pub has_no_switches: bool,
}

/// A message that may go on.
#[derive(Debug)]
struct Message {
    line: KernelLine,
    fact: Option<KernelFact>,
    stamp: Stamp,
    lines: usize,
}

/// Gathers lines in the order of a log.
#[derive(Debug)]
pub(crate) struct Gatherer {
    kept: Kept,
    clock: Clock,
    open: Option<Message>,
    group: Option<(String, u64)>,
    relevant: u64,
    read: u64,
    hosts: Hosts,
    kernel: Option<String>,
    pci_cards: BTreeMap<String, PciDevice>,
    units: Units,
}

impl Gatherer {
    pub(crate) fn new(limits: KeepLimits) -> Self {
        Self {
            kept: Kept::new(limits),
            clock: Clock::default(),
            open: None,
            group: None,
            relevant: 0,
            read: 0,
            hosts: Hosts::default(),
            kernel: None,
            pci_cards: BTreeMap::new(),
            units: Units::default(),
        }
    }

    /// Takes a line.
    pub(crate) fn push(&mut self, line: &LogLine<'_>) {
        self.read += 1;
        self.hosts.note(line.host);
        let text = masked_text(&on_one_line(cut(line.text)));
        if let Sender::Program(name) = line.sender {
            self.clock.advance(&line.stamp);
            self.units.note(name, &text);
            return;
        }
        if let Some(release) = text.strip_prefix("Linux version ").and_then(|rest| rest.split(' ').next()) {
            self.kernel = Some(release.to_owned());
            self.a_boot_begins();
        } else if let Some(release) = release_of_trace(&text) {
            self.kernel.get_or_insert(release);
        }
        if self.clock.falls_to(&line.stamp) {
            self.a_boot_begins();
        }
        self.clock.advance(&line.stamp);
        if let Some(device) = enumerated::card(&text) {
            self.pci_cards.insert(device.address.clone(), device);
        }
        if self.joins(&text, &line.stamp) {
            return;
        }
        self.flush();
        if let Some(group) = group_at_its_limit(&text) {
            self.group = Some((group.to_owned(), self.relevant));
        }
        let message = self.message(text, line);
        if message.fact.is_none() && goes_on(&message.line.text) {
            self.open = Some(message);
        } else {
            self.keep(message);
        }
    }

    /// Takes an entry that has its time and fact already.
    pub(crate) fn push_entry(&mut self, line: KernelLine, host: Option<&str>) {
        self.read += 1;
        self.hosts.note(host);
        self.flush();
        if self.clock.falls_to_boot(line.boot_us) {
            self.a_boot_begins();
        }
        self.clock.set(line.boot_us);
        if is_about_cards(&line.text) || line.fact.is_some() {
            self.kept.push(line);
        }
    }

    /// Takes a line of a program, with nothing but its name known.
    pub(crate) fn push_program(&mut self, name: &str, text: &str) {
        self.read += 1;
        self.units.note(name, &masked_text(&on_one_line(cut(text))));
    }

    /// Says that all lines so far are of an earlier boot.
    pub(crate) fn a_boot_begins(&mut self) {
        self.flush();
        self.kept.a_boot_begins();
        self.clock.a_boot_begins();
    }

    /// Returns what was gathered.
    pub(crate) fn finish(mut self) -> Gathered {
        self.flush();
        let (lines, left_out) = self.kept.into_lines();
        let module = self.units.module().map(str::to_owned);
        let has_no_switches = self.units.has_no_switches();
        Gathered {
            lines,
            left_out,
            read: self.read,
            host: self.hosts.only(),
            kernel: self.kernel,
            pci_cards: self.pci_cards.into_values().collect(),
            services: self.units.into_services(),
            module,
            has_no_switches,
        }
    }

    /// Returns whether a text goes on with the open message, and adds it there.
    fn joins(&mut self, text: &str, stamp: &Stamp) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let goes_on = text.starts_with("NVRM: ") && !BEGINS.iter().any(|begin| text.starts_with(begin));
        if !goes_on || open.lines >= LINES_OF_A_MESSAGE || !are_close(&open.stamp, stamp) {
            return false;
        }
        open.line.text.push(' ');
        open.line.text.push_str(text);
        open.lines += 1;
        open.fact = fact(&open.line.text);
        // What is not supported is said in full at the end only.
        if open.fact.is_some() && text.ends_with('.') {
            self.flush();
        }
        true
    }

    fn message(&self, text: String, line: &LogLine<'_>) -> Message {
        let (boot_us, clock, at) = self.clock.now();
        let fact = fact(&text);
        let level = Reading::from(line.level);
        let line_kept = KernelLine { boot_us, level, text, clock, at, ..KernelLine::default() };
        Message { line: line_kept, fact, stamp: line.stamp, lines: 1 }
    }

    fn flush(&mut self) {
        if let Some(message) = self.open.take() {
            self.keep(message);
        }
    }

    fn keep(&mut self, message: Message) {
        if message.fact.is_none() && !is_about_cards(&message.line.text) {
            return;
        }
        self.relevant += 1;
        let mut fact = message.fact;
        if let Some(KernelFact::OutOfMemory { of_group: true, group: group @ None, .. }) = &mut fact
            && let Some((named, at)) = &self.group
            && self.relevant - at <= GROUP_HOLDS_FOR
        {
            *group = Some(named.clone());
        }
        self.kept.push(KernelLine { fact, ..message.line });
    }
}

/// Returns whether a message of the driver goes on in further lines.
fn goes_on(text: &str) -> bool {
    GOES_ON.iter().any(|begin| text.starts_with(begin)) && !text.contains("probe routine")
}

/// Returns whether two lines were written at about the same time, as far as that is known.
fn are_close(one: &Stamp, other: &Stamp) -> bool {
    let apart = match (one.boot_us, other.boot_us) {
        (Some(one), Some(other)) => i64::try_from(one.abs_diff(other)).ok(),
        _ => one.wall.zip(other.wall).map(|(one, other)| (one.microseconds() - other.microseconds()).abs()),
    };
    apart.is_none_or(|us| us <= MESSAGE_LASTS_US)
}

/// Returns the release in the head of a trace: `… Tainted: P OE 5.15.0-97-generic #107-Ubuntu`.
fn release_of_trace(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("ainted")?;
    let (before, _) = rest.split_once(" #")?;
    let word = before.rsplit(' ').next()?;
    let is_release = word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    is_release.then(|| word.to_owned())
}

/// Returns a text without what goes beyond the limit.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The names of the machines in a log.
#[derive(Debug, Default)]
struct Hosts {
    first: Option<String>,
    are_several: bool,
}

impl Hosts {
    fn note(&mut self, host: Option<&str>) {
        match (host, &self.first) {
            (Some(host), None) => self.first = Some(host.to_owned()),
            (Some(host), Some(first)) => self.are_several |= host != first,
            (None, _) => {}
        }
    }

    fn only(self) -> Option<String> {
        self.first.filter(|_| !self.are_several)
    }
}
