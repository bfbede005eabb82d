//! Processes, their threads and their control groups over a window.

use std::collections::BTreeMap;

use super::host::{share_of_time, ticks_per_second};
use super::series::{Growth, growth, newest_of};
use crate::process::{BootId, Pid, ProcessKey};
use crate::reading::{Failure, Reading};
use crate::sample::{
    CgroupSample, IoCounters, ProcessSample, ProcessState, ProcessTable, ReadTime, Sample, ThreadSample,
};
use crate::scene::{Cgroup, IoRates, Process, StateShares, Thread, WaitChannel};
use crate::units::{Bytes, BytesPerSecond, Cores, Seconds, Share};

/// Block-I/O delay may overshoot wall time by this factor (buffered FUSE reads do) before it is not believed.
const DELAY_OVERSHOOT: f64 = 1.5;

/// One look at one process.
type Look<'samples> = (ReadTime, &'samples ProcessSample);

/// Returns the processes of the newest table, by pid, with what earlier samples say of the same process.
pub(super) fn processes(samples: &[Sample]) -> Vec<Process> {
    let boot_id = samples
        .iter()
        .rev()
        .find_map(|sample| sample.machine.value.known()?.boot_id.known())
        .cloned()
        .unwrap_or_default();
    let mut looks: BTreeMap<(Pid, u64), Vec<Look<'_>>> = BTreeMap::new();
    for (at, table) in tables(samples) {
        for process in &table.processes {
            looks.entry((process.pid, process.start_ticks)).or_default().push((at, process));
        }
    }
    let Some((newest_at, newest)) = tables(samples).last() else {
        return Vec::new();
    };
    let machine = Clock { ticks: ticks_per_second(samples) as f64, now: newest_at, boot_id };
    let mut processes: Vec<Process> = newest
        .processes
        .iter()
        .filter_map(|process| looks.get(&(process.pid, process.start_ticks)))
        .filter_map(|looks| over_window(looks, &machine))
        .collect();
    processes.sort_by_key(|process| process.key.pid);
    processes.dedup_by_key(|process| process.key.pid);
    processes
}

/// Returns the control groups of the newest table that has some, by path.
pub(super) fn cgroups(samples: &[Sample]) -> Vec<Cgroup> {
    let mut looks: BTreeMap<&str, Vec<(ReadTime, &CgroupSample)>> = BTreeMap::new();
    for (at, table) in tables(samples) {
        for cgroup in &table.cgroups {
            looks.entry(&cgroup.path).or_default().push((at, cgroup));
        }
    }
    looks.into_iter().map(|(path, looks)| cgroup_over_window(path, &looks)).collect()
}

/// What is needed to turn ticks into time.
struct Clock {
    /// Clock ticks per second; 0 when unknown.
    ticks: f64,
    now: ReadTime,
    boot_id: BootId,
}

impl Clock {
    /// Returns ticks as seconds.
    fn seconds(&self, ticks: u64) -> Reading<Seconds> {
        if self.ticks == 0.0 {
            Reading::default()
        } else {
            Reading::Known(Seconds(ticks as f64 / self.ticks))
        }
    }

    /// Returns the share of wall time that a growth in ticks makes.
    fn share(&self, growth: &Growth) -> Reading<f64> {
        if self.ticks == 0.0 { Reading::default() } else { Reading::Known(growth.per_second() / self.ticks) }
    }
}

fn tables(samples: &[Sample]) -> impl Iterator<Item = (ReadTime, &ProcessTable)> {
    samples.iter().filter_map(|sample| Some((sample.processes.read, sample.processes.value.known()?)))
}

fn over_window(looks: &[Look<'_>], clock: &Clock) -> Option<Process> {
    let (_, last) = looks.last()?;
    let counter = |pick: fn(&ProcessSample) -> Reading<u64>| {
        growth(looks.iter().map(move |(at, look)| (*at, pick(look))))
    };
    let run_s = clock
        .seconds(last.start_ticks)
        .map(|start| Seconds((clock.now.boot_ns as f64 / 1e9 - start.0).max(0.0)));
    Some(Process {
        key: ProcessKey { boot_id: clock.boot_id.clone(), pid: last.pid, start_ticks: last.start_ticks },
        parent: last.parent,
        group: last.group,
        session: last.session,
        terminal: last.terminal,
        state: newest(looks, |look| &look.state),
        name: last.name.clone(),
        role: last.role,
        uid: newest(looks, |look| &look.uid),
        user: newest(looks, |look| &look.user),
        command: newest(looks, |look| &look.command),
        executable: newest(looks, |look| &look.executable),
        cgroups: newest(looks, |look| &look.cgroups),
        owner: last.owner.clone(),
        environment: newest(looks, |look| &look.environment),
        namespace_pids: newest(looks, |look| &look.namespace_pids),
        age: run_s,
        cpu_time: clock.seconds(last.cpu_ticks),
        cores: counter(|look| Reading::Known(look.cpu_ticks)).and_then(|used| clock.share(&used)).map(Cores),
        thread_count: last.thread_count,
        block_delay: counter(|look| look.block_delay_ticks.as_ref().copied())
            .and_then(|delay| clock.share(&delay))
            .and_then(|share| plausible_delay(share, last.thread_count)),
        run_delay: counter(|look| look.run_delay_ns.as_ref().copied())
            .map(|delay| Share(delay.per_second() / 1e9)),
        io: io_rates(looks),
        states: state_shares(looks.iter().map(|(_, look)| &look.state)),
        wait_channels: wait_channels(looks.iter().map(|(_, look)| &look.wait_channel)),
        resident: newest(looks, |look| &look.resident).map(Bytes),
        shared_resident: newest(looks, |look| &look.shared_resident).map(Bytes),
        swapped: newest(looks, |look| &look.swapped).map(Bytes),
        major_faults_per_s: counter(|look| look.major_faults.as_ref().copied())
            .map(|faults| faults.per_second()),
        cpus_allowed: newest(looks, |look| &look.cpus_allowed),
        open_sockets: newest(looks, |look| &look.open_sockets),
        libraries: newest(looks, |look| &look.libraries),
        file_mounts: newest(looks, |look| &look.file_mounts),
        threads: threads(looks, clock),
    })
}

fn newest<'looks, T: Clone + 'looks>(
    looks: &'looks [Look<'_>],
    pick: fn(&ProcessSample) -> &Reading<T>,
) -> Reading<T> {
    newest_of(looks.iter().map(move |(_, look)| pick(look).as_ref()))
}

/// Refuses a delay that exceeds what all threads together could have waited.
fn plausible_delay(share: f64, threads: u64) -> Reading<Share> {
    if share > threads.max(1) as f64 * DELAY_OVERSHOOT {
        return Failure::Implausible { value: format!("block delay {share:.1} × wall time") }.into_reading();
    }
    Reading::Known(Share(share))
}

fn io_rates(looks: &[Look<'_>]) -> Reading<IoRates> {
    let rate = |pick: fn(&IoCounters) -> u64| {
        growth(looks.iter().map(move |(at, look)| (*at, look.io.as_ref().map(pick))))
            .map(|bytes| BytesPerSecond(bytes.per_second()))
    };
    rate(|io| io.read_chars).and_then(|read_chars| {
        rate(|io| io.written_chars).and_then(|written_chars| {
            rate(|io| io.read_bytes).and_then(|read_bytes| {
                rate(|io| io.written_bytes).map(|written_bytes| IoRates {
                    read_chars,
                    written_chars,
                    read_bytes,
                    written_bytes,
                })
            })
        })
    })
}

fn state_shares<'looks>(states: impl Iterator<Item = &'looks Reading<ProcessState>>) -> StateShares {
    let seen: Vec<ProcessState> = states.filter_map(|state| state.known().copied()).collect();
    let n = seen.len();
    if n == 0 {
        return StateShares::default();
    }
    let share =
        |wanted: ProcessState| seen.iter().filter(|state| **state == wanted).count() as f64 / n as f64;
    StateShares {
        n,
        running: share(ProcessState::Running),
        blocked: share(ProcessState::Blocked),
        sleeping: share(ProcessState::Sleeping),
    }
}

fn wait_channels<'looks>(channels: impl Iterator<Item = &'looks Reading<String>>) -> Vec<WaitChannel> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for channel in channels.filter_map(Reading::known) {
        // "0": it ran, or the kernel does not tell.
        if !channel.is_empty() && channel != "0" {
            *seen.entry(channel).or_default() += 1;
        }
    }
    let mut channels: Vec<WaitChannel> =
        seen.into_iter().map(|(name, seen)| WaitChannel { name: name.to_owned(), seen }).collect();
    channels.sort_by(|one, other| other.seen.cmp(&one.seen).then_with(|| one.name.cmp(&other.name)));
    channels
}

fn threads(looks: &[Look<'_>], clock: &Clock) -> Reading<Vec<Thread>> {
    let newest_list = newest(looks, |look| &look.threads);
    newest_list.map(|list| {
        let mut by_thread: BTreeMap<Pid, Vec<(ReadTime, &ThreadSample)>> = BTreeMap::new();
        for (at, look) in looks {
            for thread in look.threads.known().into_iter().flatten() {
                by_thread.entry(thread.tid).or_default().push((*at, thread));
            }
        }
        list.iter().filter_map(|thread| thread_over_window(by_thread.get(&thread.tid)?, clock)).collect()
    })
}

fn thread_over_window(looks: &[(ReadTime, &ThreadSample)], clock: &Clock) -> Option<Thread> {
    let (_, last) = looks.last()?;
    let points = looks.iter();
    Some(Thread {
        tid: last.tid,
        name: last.name.clone(),
        cores: growth(points.clone().map(|(at, look)| (*at, Reading::Known(look.cpu_ticks))))
            .and_then(|used| clock.share(&used))
            .map(Cores),
        run_delay: growth(points.clone().map(|(at, look)| (*at, look.run_delay_ns.as_ref().copied())))
            .map(|delay| Share(delay.per_second() / 1e9)),
        states: state_shares(points.clone().map(|(_, look)| &look.state)),
        wait_channels: wait_channels(points.map(|(_, look)| &look.wait_channel)),
    })
}

fn cgroup_over_window(path: &str, looks: &[(ReadTime, &CgroupSample)]) -> Cgroup {
    let counter = |pick: fn(&CgroupSample) -> &Reading<u64>| {
        looks.iter().map(move |(at, look)| (*at, pick(look).as_ref().copied()))
    };
    let newest = |pick: fn(&CgroupSample) -> &Reading<u64>| {
        newest_of(looks.iter().map(move |(_, look)| pick(look).as_ref()))
    };
    let throttled = growth(counter(|look| &look.cpu_throttled_periods));
    let periods = growth(counter(|look| &look.cpu_periods));
    Cgroup {
        path: path.to_owned(),
        cpu_quota: newest_of(looks.iter().map(|(_, look)| look.cpu_quota_cores.as_ref())).map(Cores),
        cpu_throttled: throttled.and_then(|throttled| {
            periods.map(|periods| {
                Share(if periods.amount == 0.0 { 0.0 } else { throttled.amount / periods.amount })
            })
        }),
        io_some: share_of_time(counter(|look| &look.io_some_us)),
        cpu_some: share_of_time(counter(|look| &look.cpu_some_us)),
        memory_some: share_of_time(counter(|look| &look.memory_some_us)),
        memory_limit: newest(|look| &look.memory_limit).map(Bytes),
        memory_used: newest(|look| &look.memory_used).map(Bytes),
        memory_limit_hits: growth(counter(|look| &look.memory_limit_hits)).map(Growth::whole),
        oom_kills: newest(|look| &look.oom_kills),
        oom_kill_growth: growth(counter(|look| &look.oom_kills)).map(Growth::whole),
        tasks_limit: newest(|look| &look.tasks_limit),
        tasks: newest(|look| &look.tasks),
        tasks_refused: growth(counter(|look| &look.tasks_refused)).map(Growth::whole),
        ..Cgroup::default()
    }
}
