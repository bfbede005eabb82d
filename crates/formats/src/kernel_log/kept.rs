//! Keeps of a log what matters, within a limit: of every kind of line the first ones and the newest.

use std::collections::{BTreeMap, VecDeque};

use gpuwhy_model::sample::{KernelFact, KernelLine};

/// How much of a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    /// Of each kind (the same fact about the same card, with the same number) so many of the first lines.
    pub first_of_a_kind: usize,
    /// And so many of the newest.
    pub last_of_a_kind: usize,
    /// No more kinds than these.
    pub kinds: usize,
}

impl KeepLimits {
    /// For a paste: practically all of it.
    pub const PASTE: Self = Self { first_of_a_kind: 2000, last_of_a_kind: 2000, kinds: 1000 };
    /// For a log of any size: about 30 MB at most.
    pub const STREAM: Self = Self { first_of_a_kind: 16, last_of_a_kind: 112, kinds: 256 };
}

/// What makes two lines alike: what they say, of which card, with which number.
type Kind = (&'static str, String, u32);

/// Lines of one kind.
#[derive(Debug, Default)]
struct Alike {
    first: Vec<(u64, KernelLine)>,
    last: VecDeque<(u64, KernelLine)>,
}

/// The lines that are kept.
#[derive(Debug)]
pub(super) struct Kept {
    limits: KeepLimits,
    kinds: BTreeMap<Kind, Alike>,
    seen: u64,
    left_out: u64,
}

impl Kept {
    pub(super) fn new(limits: KeepLimits) -> Self {
        Self { limits, kinds: BTreeMap::new(), seen: 0, left_out: 0 }
    }

    /// Takes a line, which is newer than all before.
    pub(super) fn push(&mut self, line: KernelLine) {
        self.seen += 1;
        let kind = kind(&line);
        if self.kinds.len() >= self.limits.kinds && !self.kinds.contains_key(&kind) {
            self.left_out += 1;
            return;
        }
        let alike = self.kinds.entry(kind).or_default();
        if alike.first.len() < self.limits.first_of_a_kind {
            alike.first.push((self.seen, line));
            return;
        }
        alike.last.push_back((self.seen, line));
        if alike.last.len() > self.limits.last_of_a_kind {
            alike.last.pop_front();
            self.left_out += 1;
        }
    }

    /// Says that all lines so far are of an earlier boot.
    pub(super) fn a_boot_begins(&mut self) {
        for alike in self.kinds.values_mut() {
            let lines = alike.first.iter_mut().chain(alike.last.iter_mut());
            for (_, line) in lines {
                line.before_boot = true;
            }
        }
    }

    /// Returns the kept lines in their order, and how many more there were.
    pub(super) fn into_lines(self) -> (Vec<KernelLine>, u64) {
        let all = self.kinds.into_values().flat_map(|alike| alike.first.into_iter().chain(alike.last));
        let mut lines: Vec<(u64, KernelLine)> = all.collect();
        lines.sort_by_key(|(place, _)| *place);
        (lines.into_iter().map(|(_, line)| line).collect(), self.left_out)
    }
}

fn kind(line: &KernelLine) -> Kind {
    let about = |name: &'static str, address: &str, number: u32| (name, address.to_owned(), number);
    let Some(fact) = &line.fact else {
        return about("", "", 0);
    };
    match fact {
        KernelFact::Xid { pci_address, number, .. } => about("xid", pci_address, *number),
        KernelFact::SwitchError { pci_address, number, .. } => about("sxid", pci_address, *number),
        KernelFact::BusError { pci_address, severity } => about("bus", pci_address, *severity as u32),
        KernelFact::FallenOffTheBus { pci_address } => about("lost", pci_address, 0),
        KernelFact::OtherDriver { pci_address, driver } => (("other"), format!("{pci_address} {driver}"), 0),
        KernelFact::ProbeFailed { pci_address, driver, .. } => {
            ("probe", format!("{pci_address} {driver}"), 0)
        }
        KernelFact::HungTask { .. } => about("hung", "", 0),
        KernelFact::SoftLockup { .. } => about("lockup", "", 0),
        KernelFact::BadAccess { .. } => about("access", "", 0),
        KernelFact::OutOfMemory { of_group, .. } => about("memory", "", u32::from(*of_group)),
        KernelFact::KilledForMemory { .. } => about("killed", "", 0),
        KernelFact::RpcTimeout => about("rpc", "", 0),
        KernelFact::MemoryWindowFull { .. } => about("window", "", 0),
        KernelFact::CardNotSupported { .. }
        | KernelFact::CardNotStarted { .. }
        | KernelFact::NoMemoryWindow { .. } => about("not started", "", 0),
        KernelFact::ModuleRefused
        | KernelFact::UnnamedModuleRefused
        | KernelFact::ModuleOfOtherKernel
        | KernelFact::SecureBoot { .. }
        | KernelFact::ModuleLoaded { .. }
        | KernelFact::VersionMismatch { .. }
        | KernelFact::CardsOfOtherDriver { .. }
        | KernelFact::NoCardServed => about("module", "", 0),
    }
}

#[cfg(test)]
mod tests {
    use super::{KeepLimits, Kept};
    use gpuwhy_model::sample::{KernelFact, KernelLine};

    fn xid(number: u32, boot_us: u64) -> KernelLine {
        let fact = KernelFact::Xid {
            pci_address: "0000:65:00.0".to_owned(),
            number,
            pid: None,
            name: None,
            caused_by: None,
            is_fatal: None,
            recovery: None,
        };
        KernelLine { boot_us, fact: Some(fact), ..KernelLine::default() }
    }

    #[test]
    fn a_flood_of_one_kind_leaves_the_others() {
        let mut kept = Kept::new(KeepLimits { first_of_a_kind: 2, last_of_a_kind: 3, kinds: 2 });
        for boot_us in 0..1000 {
            kept.push(xid(if boot_us == 500 { 79 } else { 13 }, boot_us));
        }
        kept.push(xid(31, 1000));
        let (lines, left_out) = kept.into_lines();
        let times: Vec<u64> = lines.iter().map(|line| line.boot_us).collect();
        assert_eq!(times, [0, 1, 500, 997, 998, 999]);
        assert_eq!(left_out, 1001 - 6);
    }
}
