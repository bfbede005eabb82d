//! One look at the GPU processes and their trees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, ProcessSample, ProcessState, ProcessTable, ReadTime, Vendor};

use super::cgroups::Hierarchies;
use super::description::{Descriptions, People};
use super::effort::Effort;
use super::holders::Holders;
use super::index::Index;
use super::libraries::Libraries;
use super::limits::{RESTING_EVERY, SEEN_LASTS};
use super::suspicion::{Attention, RESTING_CORES, Suspicion, TreeActivity};
use super::tree::{Role, trees};
use crate::host::Mounts;
use crate::meter::{Meter, Part};
use crate::proc::{
    Connections, HeldStats, OpenFiles, ProcRoot, ThreadsWanted, counters, open_files, threads,
    wait_channel_of,
};

/// What a look at processes goes by.
pub(crate) struct ProcessLook<'machine> {
    pub(crate) at: ReadTime,
    /// The cards with their clients, as far as the driver told.
    pub(crate) cards: &'machine [&'machine CardSample],
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

/// Which process, exactly, within one boot.
type Key = (Pid, u64);

/// Which card or instance: whether it is another vendor's, the whole card's index for an instance, and its own.
type CardKey = (bool, Option<u32>, u32);

/// What is kept of the processes from look to look.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(crate) index: Index,
    stats: HeldStats,
    descriptions: Descriptions,
    libraries: Libraries,
    suspicion: Suspicion,
    /// Processor time of each tree when it was last read whole, in ticks.
    used: BTreeMap<Pid, (u64, ReadTime)>,
    /// Whom the driver named last, by card: a driver that has stopped answering does not make them go away. Of each the
    /// start is kept too, so that nobody who gets their numbers later is taken for them.
    named: BTreeMap<CardKey, Vec<Key>>,
    /// Clients whose trees did nothing when they were read last: their children are not read at every look.
    resting: BTreeSet<Pid>,
    looks: u64,
    /// The trees of the last look, with the list and the clients that they were made of.
    trees: Option<(u64, BTreeSet<Pid>, BTreeMap<Pid, Role>)>,
    /// Whom the last sweep found.
    holders: BTreeSet<Key>,
    /// Files that suspects were seen to have open.
    file_mounts: BTreeMap<Key, BTreeMap<String, u64>>,
}

impl Processes {
    pub(crate) fn new(proc_root: &Path) -> Self {
        Self {
            index: Index::default(),
            stats: HeldStats::new(),
            descriptions: Descriptions::new(proc_root),
            libraries: Libraries::new(proc_root),
            suspicion: Suspicion::default(),
            used: BTreeMap::new(),
            named: BTreeMap::new(),
            resting: BTreeSet::new(),
            looks: 0,
            trees: None,
            holders: BTreeSet::new(),
            file_mounts: BTreeMap::new(),
        }
    }

    /// Sweeps the descriptors of all processes.
    pub(crate) fn sweep_holders(
        &mut self,
        proc: &mut ProcRoot,
        dev: &Path,
        own_child: Option<Pid>,
    ) -> Holders {
        let holders = Holders::sweep(proc, &self.index, dev, own_child);
        for (pid, start_ticks) in holders.all() {
            if self.index.row(pid).is_none_or(|row| row.start_ticks != start_ticks) {
                self.index.read_anew(proc, pid);
            }
        }
        holders
    }

    /// Reads the processes. The index must have been refreshed for this look.
    pub(crate) fn look(
        &mut self,
        proc: &mut ProcRoot,
        look: ProcessLook<'_>,
        buffer: &mut Vec<u8>,
        meter: &mut Meter,
    ) -> ProcessTable {
        if let Some(holders) = &look.holders {
            self.holders = holders.card_holders().collect();
        }
        let mut clients = self.clients(&look);
        let mut roles = self.roles(&clients);
        self.looks += 1;
        let is_turn_of_resting = look.is_full || self.looks.is_multiple_of(RESTING_EVERY);
        let resting = if is_turn_of_resting { BTreeSet::new() } else { std::mem::take(&mut self.resting) };
        let is_due = |role: &Role| !matches!(role, Role::Descendant(client) if resting.contains(client));
        let (mut samples, others) = self.read_stats(proc, &roles, is_due, &look);
        if !others.is_empty() {
            for pid in others {
                self.index.read_anew(proc, pid);
            }
            clients = self.clients(&look);
            roles = self.roles(&clients);
            samples = self.read_stats(proc, &roles, is_due, &look).0;
        }
        self.index.drop_seen();
        meter.book(Part::ProcessStates);
        let activity = self.activity(&samples, &roles, &resting, &look);
        let suspects = self.suspicion.suspects(look.cards, &clients, &activity);
        if look.is_full {
            self.descriptions.write(proc, look.people, &mut samples, &roles, !look.counts);
            self.libraries.write(&mut samples, &roles);
        }
        meter.book(Part::Descriptions);
        let is_still = |client: &Pid| {
            let cores = activity.get(client).and_then(|tree| tree.cores);
            suspects.get(client) != Some(&Attention::Threads)
                && cores.is_some_and(|cores| cores <= RESTING_CORES)
        };
        self.resting =
            if is_turn_of_resting { clients.iter().copied().filter(is_still).collect() } else { resting };
        self.read_details(proc, &mut samples, &roles, &suspects, &look);
        meter.book(Part::ProcessDetails);
        let cgroups = if look.is_full {
            Hierarchies::of(look.mounts, look.sys).read(&samples, buffer)
        } else {
            Vec::new()
        };
        meter.book(Part::ControlGroups);
        self.trees = Some((self.index.version(), clients, roles));
        ProcessTable {
            processes: samples,
            listed: Reading::Known(self.index.listed()),
            device_holders: look
                .holders
                .map_or_else(Reading::default, |holders| holders.reading(look.people.viewer == 0)),
            cgroups,
        }
    }

    /// Reads where processes wait, their threads, counters and open files, as far as they are worth it.
    fn read_details(
        &mut self,
        proc: &mut ProcRoot,
        samples: &mut [ProcessSample],
        roles: &BTreeMap<Pid, Role>,
        suspects: &BTreeMap<Pid, Attention>,
        look: &ProcessLook<'_>,
    ) {
        if look.is_full && !self.file_mounts.is_empty() {
            let there: BTreeSet<Key> =
                samples.iter().map(|sample| (sample.pid, sample.start_ticks)).collect();
            self.file_mounts.retain(|key, _| there.contains(key));
        }
        let mut connections = Connections::default();
        let mut effort = Effort::share(suspects, roles);
        for sample in samples {
            let role = roles.get(&sample.pid).copied().unwrap_or(Role::Ancestor);
            let Some(client) = role.client(sample.pid) else {
                continue;
            };
            let state = sample.state.known().copied();
            if look.is_full && look.counts {
                sample.io = counters::io(proc, sample.pid);
                sample.run_delay_ns = counters::run_delay(proc, sample.pid);
            }
            // The memory costs the most to read: that of clients always, of their children where it may matter, and only
            // by looks of which others follow: what children bring one look cannot tell.
            let wants_status = role == Role::Client || look.counts && effort.takes_status(client);
            // Who was described just now has been asked.
            if look.is_full && wants_status && sample.resident.is_not_in_source() {
                counters::write_status(sample, &counters::status(proc, sample.pid));
            }
            let is_named_in_full = look.is_full && role == Role::Client;
            let is_asked = is_named_in_full || look.counts && effort.takes_wait(client);
            // Where a process waits that runs, nobody needs to ask; where one is blocked, always. How often children wait
            // at a place one look cannot tell.
            if state == Some(ProcessState::Blocked) || is_asked && state != Some(ProcessState::Running) {
                let may_look = self.may_look(proc, sample.pid, look.people);
                sample.wait_channel = wait_channel_of(proc, sample.pid, may_look);
            }
            let Some(attention) = suspects.get(&client) else {
                continue;
            };
            if *attention == Attention::Threads && sample.thread_count > 1 {
                let run_delay = look.is_full && look.counts;
                let at_most = effort.takes_threads(sample.pid, role);
                if at_most > 0 {
                    let may_look = self.may_look(proc, sample.pid, look.people);
                    sample.threads =
                        threads(proc, sample.pid, ThreadsWanted { at_most, run_delay, may_look });
                }
            }
            let sockets = self.read_open_files(proc, sample, &mut effort.open_files, look);
            if look.is_full {
                if let Some(sockets) = sockets {
                    sample.open_sockets = connections.count(proc, sample.pid, &sockets);
                }
                if let Some(mounts) = self.file_mounts.get(&(sample.pid, sample.start_ticks)) {
                    sample.file_mounts = Reading::Known(mounts.clone());
                }
            }
        }
    }

    /// Returns whether the viewer may see where a process waits.
    fn may_look(&self, proc: &ProcRoot, pid: Pid, people: &People) -> bool {
        people.may_see_all() || {
            let owner = self.descriptions.owner(pid);
            people.may_see(owner.or_else(|| proc.owner_of(pid).ok()))
        }
    }

    /// Returns the GPU processes: those that the driver names, and those that hold cards without being named.
    fn clients(&mut self, look: &ProcessLook<'_>) -> BTreeSet<Pid> {
        let index = &self.index;
        let key = |pid: Pid| index.row(pid).map(|row| (pid, row.start_ticks));
        for card in look.cards {
            let is_other = card.vendor != Vendor::Nvidia;
            // Holders of other cards were found in the `/proc` that is read.
            if let Some(clients) = card.clients.known().filter(|_| is_other || look.numbers_agree) {
                let named = clients.iter().filter_map(|client| key(client.pid)).collect();
                self.named.insert((is_other, card.parent, card.index), named);
            }
        }
        let clients = self.named.values().flatten().chain(&self.holders).copied();
        let is_there = |client: &Key| key(client.0) == Some(*client);
        // Another gpuwhy looks at cards and does not use them. The program that looks may use one itself.
        let only_looks =
            |pid: Pid| index.row(pid).is_some_and(|row| row.is_ours && !index.ourselves().is_own(pid));
        clients.filter(is_there).map(|(pid, _)| pid).filter(|pid| !only_looks(*pid)).collect()
    }

    /// Returns the trees of the clients. Between two looks they seldom change.
    fn roles(&mut self, clients: &BTreeSet<Pid>) -> BTreeMap<Pid, Role> {
        match self.trees.take() {
            Some((version, before, roles)) if version == self.index.version() && before == *clients => roles,
            _ => trees(&self.index, clients),
        }
    }

    /// Reads the stat files of all processes with a role. One that has ended is left out. Those that have the number of a
    /// listed process and are another are returned apart.
    fn read_stats(
        &mut self,
        proc: &mut ProcRoot,
        roles: &BTreeMap<Pid, Role>,
        is_due: impl Fn(&Role) -> bool,
        look: &ProcessLook<'_>,
    ) -> (Vec<ProcessSample>, Vec<Pid>) {
        self.stats.keep(|pid| roles.contains_key(&pid));
        let mut samples = Vec::with_capacity(roles.len());
        let mut others = Vec::new();
        for (pid, role) in roles {
            if !is_due(role) {
                continue;
            }
            let in_passing = if look.counts { None } else { self.index.seen(*pid, SEEN_LASTS) };
            if let Some((row, seen)) = in_passing {
                let mut sample = seen.sample(row);
                sample.block_delay_ticks = block_delay(seen.block_delay_ticks, look.delays_are_counted);
                samples.push(sample);
                continue;
            }
            let Some(stat) = self.stats.read(proc, *pid) else {
                continue;
            };
            if self.index.row(*pid).is_none_or(|row| row.start_ticks != stat.start_ticks) {
                others.push(*pid);
                continue;
            }
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
                major_faults: Reading::Known(stat.major_faults),
                block_delay_ticks: block_delay(stat.block_delay_ticks, look.delays_are_counted),
                ..ProcessSample::default()
            });
        }
        (samples, others)
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
    /// Returns its sockets.
    fn read_open_files(
        &mut self,
        proc: &mut ProcRoot,
        sample: &ProcessSample,
        left: &mut usize,
        look: &ProcessLook<'_>,
    ) -> Option<Vec<u64>> {
        let is_blocked = sample.state.known() == Some(&ProcessState::Blocked);
        if *left == 0 || !(look.is_full && look.counts || is_blocked) {
            return None;
        }
        *left -= 1;
        let OpenFiles { mounts, sockets } = open_files(proc, sample.pid, look.mounts).ok()?;
        let kept = self.file_mounts.entry((sample.pid, sample.start_ticks)).or_default();
        if mounts.values().sum::<u64>() >= kept.values().sum() {
            *kept = mounts;
        }
        Some(sockets)
    }
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
