//! Lines of the kernel log in a paste, as any tool shows them: `dmesg`, system logs, the journal, `/dev/kmsg`.

mod denied;
mod entries;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use gpuwhy_model::reading::Reading;

use crate::Format;
use crate::kernel_log::{
    Gatherer, KeepLimits, LogLine, Sender, Units, fact, is_about_cards, kmsg, log_line, scene,
};
use crate::paste::Line;
use crate::text::{Block, Context, Remark};

/// A message goes on over no more lines that have no head of their own.
const LINES_WITHOUT_HEAD: usize = 4;

/// What lines of the driver begin with, whatever they say.
const OF_THE_DRIVER: &[&str] =
    &["NVRM: ", "nvidia-nvlink: ", "nvidia-nvswitch", "nvidia-modeset: ", "nvidia-uvm: "];

/// What the lines below one about a task hold that stands still.
const OF_A_TRACE: &[&str] = &["Tainted: ", "Not tainted ", "hung_task_timeout_secs\"", "Call Trace:"];

/// Programs of the system that write between lines of the kernel; what they say is passed over.
const OF_THE_SYSTEM: &[&str] = &[
    "audit",
    "auditd",
    "anacron",
    "chronyd",
    "containerd",
    "CRON",
    "cron",
    "crond",
    "dbus",
    "dbus-daemon",
    "dhclient",
    "dockerd",
    "gdm",
    "gnome-shell",
    "irqbalance",
    "kubelet",
    "login",
    "multipathd",
    "NetworkManager",
    "ntpd",
    "polkitd",
    "rsyslogd",
    "rtkit-daemon",
    "smartd",
    "snapd",
    "sshd",
    "su",
    "sudo",
    "systemd",
    "systemd-logind",
    "systemd-networkd",
    "systemd-resolved",
    "systemd-timesyncd",
    "systemd-udevd",
    "udisksd",
    "nvidia-persistenced",
    "nvidia-powerd",
    "nv-fabricmanager",
    "nv-hostengine",
];

/// Who writes into a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writers {
    /// The kernel, and services between its lines.
    Kernel,
    /// Services alone.
    Services,
}

/// Reads the log that begins with the first line, if one does.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if denied::is_denial(first, context) {
        return Some(denied::block(denied::length(lines)));
    }
    let (gatherer, taken) = entries::read(lines, Writers::Kernel).or_else(|| log(lines, Writers::Kernel))?;
    Some(block(gatherer, taken))
}

/// Reads the log that begins with the first line, if one does in which only services write: the journal of some units.
///
/// What the kernel said meanwhile is not known by it.
pub(super) fn read_services(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let (gatherer, taken) =
        entries::read(lines, Writers::Services).or_else(|| log(lines, Writers::Services))?;
    let mut block = block(gatherer, taken);
    block.scene.events = Reading::default();
    block.scene.provenance.inputs = vec![Format::SystemLog.to_string()];
    Some(block)
}

/// Gathers the log that begins with the first line, and returns how many lines it has. A line of the kernel is none in
/// a log of services.
fn log(lines: &[Line<'_>], writers: Writers) -> Option<(Gatherer, usize)> {
    let first = lines.first()?.text.as_ref();
    let begins = is_separator(first) && lines.iter().skip(1).take(2).any(|line| begins_a_log(&line.text));
    if !begins && !begins_a_log(first) {
        return None;
    }
    let mut log = Log { gatherer: Gatherer::new(KeepLimits::PASTE), open: None };
    let mut taken = 0;
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let text = line.text.as_ref();
        if text.trim().is_empty() {
            next += 1;
            continue;
        }
        if writers == Writers::Services && is_of_kernel(text) {
            return None;
        }
        let goes_on = if is_separator(text) {
            log.separate();
            true
        } else if let Some(record) = kmsg(text) {
            log.flush();
            log.gatherer.push_entry(record, None);
            true
        } else if is_property_of_record(text) {
            true
        } else {
            log.take(text, &lines[next + 1..])
        };
        if !goes_on {
            break;
        }
        next += 1;
        taken = next;
    }
    log.flush();
    Some((log.gatherer, taken))
}

/// Returns whether a line is one of the kernel's.
fn is_of_kernel(text: &str) -> bool {
    let is_program = |found: &LogLine<'_>| matches!(found.sender, Sender::Program(_));
    kmsg(text).is_some() || log_line(text).is_some_and(|found| !is_program(&found) && is_of_log(&found))
}

/// Makes the block of what was gathered.
fn block(gatherer: Gatherer, lines: usize) -> Block {
    let log = gatherer.finish();
    let remarks = (log.left_out > 0).then_some(Remark::LeftOut { lines: log.left_out });
    Block { lines, scene: scene(log), remarks: remarks.into_iter().collect() }
}

/// Returns whether a line alone shows that a log of the kernel begins here.
fn begins_a_log(text: &str) -> bool {
    if kmsg(text).is_some() {
        return true;
    }
    let Some(found) = log_line(text) else {
        return false;
    };
    match found.sender {
        Sender::Kernel => true,
        Sender::Bare => {
            // Sentences may begin with a name too.
            let is_of_driver = OF_THE_DRIVER.iter().any(|begin| found.text.starts_with(begin));
            is_of_driver || fact(found.text).is_some()
        }
        Sender::Program(name) => Units::are_told_by(name, found.text),
    }
}

/// Returns whether a line stands between lines of the journal: `-- Boot 5f2c… --`, `-- Journal begins at … --`.
fn is_separator(text: &str) -> bool {
    text.starts_with("-- ")
        && text.ends_with(" --")
        && ["Boot", "boot", "Journal", "Logs"].iter().any(|word| text.contains(word))
}

/// Returns whether a line is a property below a record of `/dev/kmsg`: ` SUBSYSTEM=pci`.
fn is_property_of_record(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("SUBSYSTEM=") || text.starts_with("DEVICE=")
}

/// A log in the making; the last line stays open, for a narrow window may have broken it.
struct Log<'paste> {
    gatherer: Gatherer,
    open: Option<Cow<'paste, str>>,
}

impl<'paste> Log<'paste> {
    /// Takes a line, and returns whether the log goes on with it.
    fn take(&mut self, text: &'paste str, rest: &[Line<'_>]) -> bool {
        match log_line(text) {
            Some(found) if is_of_log(&found) => {
                self.flush();
                self.open = Some(Cow::Borrowed(text));
                true
            }
            // Somebody else writes into the same log.
            Some(LogLine { sender: Sender::Program(name), .. }) => OF_THE_SYSTEM.contains(&name),
            _ => self.continue_with(text, rest),
        }
    }

    /// Takes a line without a head as the end of the line before, if the log goes on behind it or it makes a whole of
    /// what was none.
    fn continue_with(&mut self, text: &str, rest: &[Line<'_>]) -> bool {
        let Some(open) = &self.open else {
            return false;
        };
        let said = |line: &str| log_line(line).and_then(|found| fact(found.text));
        let (broken, spaced) = (format!("{open}{text}"), format!("{open} {text}"));
        let makes_a_whole = said(open).is_none() && (said(&broken).is_some() || said(&spaced).is_some());
        let goes_on = rest.iter().take(LINES_WITHOUT_HEAD).any(|line| {
            kmsg(&line.text).is_some()
                || log_line(&line.text).is_some_and(|found| found.has_time() && is_of_log(&found))
        });
        let is_of_a_trace = OF_A_TRACE.iter().any(|words| text.contains(words));
        let may_go_on = goes_on && open.len() + text.len() < 4096;
        if !makes_a_whole && !is_of_a_trace && !may_go_on {
            return false;
        }
        let is_whole_without_blank = said(&broken).is_some() && said(&spaced).is_none();
        self.open = Some(Cow::Owned(if is_whole_without_blank { broken } else { spaced }));
        true
    }

    fn separate(&mut self) {
        self.flush();
        self.gatherer.a_boot_begins();
    }

    fn flush(&mut self) {
        if let Some(line) = self.open.take()
            && let Some(found) = log_line(&line)
        {
            self.gatherer.push(&found);
        }
    }
}

fn is_of_log(found: &LogLine<'_>) -> bool {
    match found.sender {
        Sender::Kernel => true,
        Sender::Bare => {
            found.text.starts_with("NVRM:") || fact(found.text).is_some() || is_about_cards(found.text)
        }
        Sender::Program(name) => Units::are_told_by(name, found.text),
    }
}
