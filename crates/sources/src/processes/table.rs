//! One look at the GPU processes and their trees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, ProcessSample, ProcessState, ProcessTable, ReadTime};

use super::cgroups::Hierarchies;
use super::description::{Descriptions, People};
use super::effort::Effort;
use super::holders::Holders;
use super::index::Index;
use super::limits::RESTING_EVERY;
use super::suspicion::{Attention, RESTING_CORES, Suspicion, TreeActivity};
use super::tree::{Role, trees};
use crate::host::Mounts;
use crate::proc::{HeldStats, ProcRoot, ThreadsWanted, counters, mounts_in_use, threads, wait_channel_of};

/// What a look at processes goes by.
pub(crate) struct ProcessLook<'machine> {
    pub(crate) at: ReadTime,
    /// The cards with their clients, as far as the driver told.
    pub(crate) cards: &'machine [CardSample],
    /// Whether the driver's process numbers are those of the `/proc` that is read.
    pub(crate) numbers_agree: bool,
    /// Whether everything is read, or only what changes quickly.
    pub(crate) is_full: bool,
    /// Whether counters are read, whose growth only a later look can tell.
    pub(crate) counts: bool,
    /// Whether delays by block devices are counted; none where the kernel does not say.
    pub(crate) delays_are_counted: Option<bool>,
    pub(crate) ticks_per_second: u64,
    pub(crate) mounts: &'machine Mounts,
    pub(crate) sys: &'machine Path,
    pub(crate) people: &'machine People,
    /// The sweep over all descriptors, when there was one.
    pub(crate) holders: Option<Holders>,
}

/// What is kept of the processes from look to look.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) index: Index,
    stats: HeldStats,
    descriptions: Descriptions,
    suspicion: Suspicion,
    /// Processor time of each tree when it was last read whole, in ticks.
    used: BTreeMap<Pid, (u64, ReadTime)>,
    /// Whom the driver named last, by card: a driver that has stopped answering does not make them go away.
    named: BTreeMap<u32, Vec<Pid>>,
    /// Clients whose trees did nothing when they were read last: their children are not read at every look.
    resting: BTreeSet<Pid>,
    looks: u64,
    /// Whom the last sweep found.
    holders: BTreeSet<Pid>,
    /// Files that suspects were seen to have open.
    file_mounts: BTreeMap<Pid, BTreeMap<String, u64>>,
}

impl Processes {
    pub(crate) fn new(proc_root: &Path) -> Self {
        Self {
            index: Index::default(),
            stats: HeldStats::new(),
            descriptions: Descriptions::new(proc_root),
            suspicion: Suspicion::default(),
            used: BTreeMap::new(),
            named: BTreeMap::new(),
            resting: BTreeSet::new(),
            looks: 0,
            holders: BTreeSet::new(),
            file_mounts: BTreeMap::new(),
        }
    }

    /// Sweeps the descriptors of all processes.
    pub(crate) fn sweep_holders(&self, proc: &mut ProcRoot, dev: &Path, own_child: Option<Pid>) -> Holders {
        Holders::sweep(proc, &self.index, dev, own_child)
    }

    /// Reads the processes. The index must have been refreshed for this look.
    pub(crate) fn look(
        &mut self,
        proc: &mut ProcRoot,
        look: ProcessLook<'_>,
        buffer: &mut Vec<u8>,
    ) -> ProcessTable {
        if let Some(holders) = &look.holders {
            self.holders = holders.card_holders().collect();
        }
        let clients = self.clients(&look);
        let roles = trees(&self.index, &clients);
        self.looks += 1;
        let is_turn_of_resting = look.is_full || self.looks.is_multiple_of(RESTING_EVERY);
        let resting = if is_turn_of_resting { BTreeSet::new() } else { std::mem::take(&mut self.resting) };
        let is_due = |role: &Role| !matches!(role, Role::Descendant(client) if resting.contains(client));
        let mut samples = read_stats(proc, &mut self.stats, &roles, is_due, &look);
        let activity = self.activity(&samples, &roles, &resting, &look);
        let suspects = self.suspicion.suspects(look.cards, &clients, &activity);
        if look.is_full {
            self.descriptions.write(proc, look.people, &mut samples, &roles, !look.counts);
        }
        let is_still = |client: &Pid| {
            let cores = activity.get(client).and_then(|tree| tree.cores);
            suspects.get(client) != Some(&Attention::Threads)
                && cores.is_some_and(|cores| cores <= RESTING_CORES)
        };
        self.resting =
            if is_turn_of_resting { clients.iter().copied().filter(is_still).collect() } else { resting };
        let mut effort = Effort::share(&suspects, &roles);
        for sample in &mut samples {
            let role = roles.get(&sample.pid).copied().unwrap_or(Role::Ancestor);
            let Some(client) = role.client(sample.pid) else {
                continue;
            };
            let may_look = look.people.may_see(self.descriptions.owner(sample.pid));
            let state = sample.state.known().copied();
            if look.is_full && look.counts {
                read_counters(proc, sample, role);
            }
            let is_named_in_full = look.is_full && role == Role::Client;
            let is_asked = is_named_in_full || effort.takes_wait(client);
            // Where a process waits that runs, nobody needs to ask; where one is blocked, always.
            if state == Some(ProcessState::Blocked) || is_asked && state != Some(ProcessState::Running) {
                sample.wait_channel = wait_channel_of(proc, sample.pid, may_look);
            }
            let Some(attention) = suspects.get(&client) else {
                continue;
            };
            if *attention == Attention::Threads && sample.thread_count > 1 {
                let run_delay = look.is_full && look.counts;
                let at_most = effort.takes_threads(sample.pid, role);
                if at_most > 0 {
                    sample.threads =
                        threads(proc, sample.pid, ThreadsWanted { at_most, run_delay, may_look });
                }
            }
            self.read_open_files(proc, sample, &mut effort.open_files, &look);
            if look.is_full
                && let Some(mounts) = self.file_mounts.get(&sample.pid)
            {
                sample.file_mounts = Reading::Known(mounts.clone());
            }
        }
        let cgroups = if look.is_full {
            Hierarchies::of(look.mounts, look.sys).read(&samples, buffer)
        } else {
            Vec::new()
        };
        ProcessTable {
            processes: samples,
            listed: Reading::Known(self.index.listed()),
            device_holders: look
                .holders
                .map_or_else(Reading::default, |holders| holders.reading(look.people.viewer == 0)),
            cgroups,
        }
    }

    /// Returns the GPU processes: those that the driver names, and those that hold cards without being named.
    fn clients(&mut self, look: &ProcessLook<'_>) -> BTreeSet<Pid> {
        if look.numbers_agree {
            for card in look.cards {
                if let Some(clients) = card.clients.known() {
                    self.named.insert(card.index, clients.iter().map(|client| client.pid).collect());
                }
            }
        }
        let clients = self.named.values().flatten().chain(&self.holders).copied();
        // Another gpuwhy looks at cards and does not use them. The program that looks may use one itself.
        let only_looks = |pid: &Pid| {
            self.index.row(*pid).is_some_and(|row| row.is_ours && !self.index.ourselves().is_own(*pid))
        };
        clients.filter(|pid| !only_looks(pid)).collect()
    }

    /// Returns what each client's tree has done since the last look.
    fn activity(
        &mut self,
        samples: &[ProcessSample],
        roles: &BTreeMap<Pid, Role>,
        resting: &BTreeSet<Pid>,
        look: &ProcessLook<'_>,
    ) -> BTreeMap<Pid, TreeActivity> {
        let mut used: BTreeMap<Pid, u64> = BTreeMap::new();
        let mut activity: BTreeMap<Pid, TreeActivity> = BTreeMap::new();
        for sample in samples {
            let Some(client) = roles.get(&sample.pid).and_then(|role| role.client(sample.pid)) else {
                continue;
            };
            *used.entry(client).or_default() += sample.cpu_ticks;
            activity.entry(client).or_default().is_blocked |=
                sample.state.known() == Some(&ProcessState::Blocked);
        }
        self.used.retain(|client, _| used.contains_key(client));
        for (client, ticks) in used {
            let tree = activity.entry(client).or_default();
            // A tree that was not read whole is taken to do what it did before: nothing.
            if resting.contains(&client) {
                tree.cores = Some(0.0);
                continue;
            }
            if let Some((before, at)) = self.used.insert(client, (ticks, look.at)) {
                let seconds = look.at.seconds_since(&at);
                let grown = ticks.saturating_sub(before) as f64 / look.ticks_per_second.max(1) as f64;
                tree.cores = (seconds > 0.0).then(|| grown / seconds);
            }
        }
        activity
    }

    /// Looks which stores a suspect reads from, and keeps the fullest answer: a loader opens each file only briefly.
    fn read_open_files(
        &mut self,
        proc: &mut ProcRoot,
        sample: &ProcessSample,
        left: &mut usize,
        look: &ProcessLook<'_>,
    ) {
        let is_blocked = sample.state.known() == Some(&ProcessState::Blocked);
        if *left == 0 || !(look.is_full || is_blocked) {
            return;
        }
        *left -= 1;
        if let Ok(mounts) = mounts_in_use(proc, sample.pid, look.mounts) {
            let kept = self.file_mounts.entry(sample.pid).or_default();
            if mounts.values().sum::<u64>() >= kept.values().sum() {
                *kept = mounts;
            }
        }
    }
}

/// Reads the stat files of all processes with a role. One that has ended is left out.
fn read_stats(
    proc: &mut ProcRoot,
    held: &mut HeldStats,
    roles: &BTreeMap<Pid, Role>,
    is_due: impl Fn(&Role) -> bool,
    look: &ProcessLook<'_>,
) -> Vec<ProcessSample> {
    held.keep(|pid| roles.contains_key(&pid));
    let mut samples = Vec::with_capacity(roles.len());
    for (pid, role) in roles {
        if !is_due(role) {
            continue;
        }
        let Some(stat) = held.read(proc, *pid) else {
            continue;
        };
        samples.push(ProcessSample {
            pid: *pid,
            start_ticks: stat.start_ticks,
            parent: stat.parent,
            group: stat.group,
            session: stat.session,
            terminal: stat.terminal,
            state: stat.state.map_or_else(Reading::default, Reading::Known),
            name: stat.name(),
            cpu_ticks: stat.cpu_ticks,
            thread_count: stat.thread_count,
            block_delay_ticks: block_delay(stat.block_delay_ticks, look.delays_are_counted),
            ..ProcessSample::default()
        });
    }
    samples
}

/// Returns the block-I/O delay, which is nothing at all while the kernel does not count it.
///
/// Whether the counter grows faster than it could is judged where it is differenced.
fn block_delay(ticks: Option<u64>, is_counted: Option<bool>) -> Reading<u64> {
    let Some(ticks) = ticks else {
        return Reading::Unsupported;
    };
    // Kernels before 5.14 have no switch and count from boot, unless told not to: then it stays 0.
    if is_counted == Some(false) || (is_counted.is_none() && ticks == 0) {
        return Reading::Unsupported;
    }
    Reading::Known(ticks)
}

/// Reads the counters whose growth is judged; the resident memory only of clients, since it costs the most.
fn read_counters(proc: &mut ProcRoot, sample: &mut ProcessSample, role: Role) {
    sample.io = counters::io(proc, sample.pid);
    sample.run_delay_ns = counters::run_delay(proc, sample.pid);
    if role == Role::Client {
        sample.resident = counters::resident(proc, sample.pid);
    }
}

#[cfg(test)]
mod tests {
    use super::block_delay;
    use gpuwhy_model::reading::Reading;

    #[test]
    fn a_delay_is_only_believed_where_it_is_counted() {
        assert_eq!(block_delay(Some(0), Some(false)), Reading::Unsupported);
        assert_eq!(block_delay(Some(0), None), Reading::Unsupported);
        assert_eq!(block_delay(None, Some(true)), Reading::Unsupported);
        assert_eq!(block_delay(Some(0), Some(true)), Reading::Known(0));
        assert_eq!(block_delay(Some(40), None), Reading::Known(40));
    }
}
