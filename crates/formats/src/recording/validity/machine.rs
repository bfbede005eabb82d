//! Whether the numbers of a sample's machine and processes can be.

use std::ops::RangeInclusive;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CgroupSample, HostSample, MachineSample, ProcessSample, ProcessTable};

use super::{BYTES_MAX, Check};

/// Quotas are set in thousandths of a processor.
const QUOTA: RangeInclusive<f64> = 1e-6..=1e6;

/// More processors than any machine has.
const CPUS_MAX: u32 = 1 << 20;

/// More `NVSwitches` than any machine has.
const NVSWITCHES_MAX: u64 = 1024;

/// The widest link of a device has 32 lanes.
const WIDTH_MAX: u32 = 64;

impl Check {
    pub(super) fn processes(&mut self, table: &ProcessTable) {
        self.counter_if_known("processes.listed", &table.listed);
        for process in &table.processes {
            self.process(process);
        }
        for group in &table.cgroups {
            self.cgroup(group);
        }
    }

    fn process(&mut self, process: &ProcessSample) {
        self.counter("processes.start_ticks", process.start_ticks);
        self.counter("processes.cpu_ticks", process.cpu_ticks);
        self.at_most("processes.thread_count", process.thread_count, u64::from(u32::MAX));
        self.counter_if_known("processes.block_delay_ticks", &process.block_delay_ticks);
        self.counter_if_known("processes.run_delay_ns", &process.run_delay_ns);
        self.bytes_if_known("processes.resident", &process.resident);
        self.bytes_if_known("processes.shared_resident", &process.shared_resident);
        self.bytes_if_known("processes.swapped", &process.swapped);
        self.counter_if_known("processes.major_faults", &process.major_faults);
        self.small_if_known("processes.cpus_allowed", &process.cpus_allowed, CPUS_MAX);
        self.counter_if_known("processes.open_sockets", &process.open_sockets);
        if let Reading::Known(io) = &process.io {
            for bytes in [io.read_chars, io.written_chars, io.read_bytes, io.written_bytes] {
                self.counter("processes.io", bytes);
            }
        }
        for thread in process.threads.known().into_iter().flatten() {
            self.counter("processes.threads.cpu_ticks", thread.cpu_ticks);
            self.counter_if_known("processes.threads.run_delay_ns", &thread.run_delay_ns);
        }
    }

    fn cgroup(&mut self, group: &CgroupSample) {
        if let Reading::Known(cores) = &group.cpu_quota_cores {
            self.number("processes.cgroups.cpu_quota_cores", *cores, &QUOTA);
        }
        self.counter_if_known("processes.cgroups.cpu_periods", &group.cpu_periods);
        self.counter_if_known("processes.cgroups.cpu_throttled_periods", &group.cpu_throttled_periods);
        self.counter_if_known("processes.cgroups.cpu_throttled_ns", &group.cpu_throttled_ns);
        self.counter_if_known("processes.cgroups.io_some_us", &group.io_some_us);
        self.counter_if_known("processes.cgroups.cpu_some_us", &group.cpu_some_us);
        self.counter_if_known("processes.cgroups.memory_some_us", &group.memory_some_us);
        self.bytes_if_known("processes.cgroups.memory_limit", &group.memory_limit);
        self.bytes_if_known("processes.cgroups.memory_used", &group.memory_used);
        self.counter_if_known("processes.cgroups.memory_limit_hits", &group.memory_limit_hits);
        self.counter_if_known("processes.cgroups.oom_kills", &group.oom_kills);
        self.counter_if_known("processes.cgroups.tasks_limit", &group.tasks_limit);
        self.counter_if_known("processes.cgroups.tasks", &group.tasks);
    }

    pub(super) fn host(&mut self, host: &HostSample) {
        if let Reading::Known(cpus) = &host.cpus {
            self.at_most("host.cpus", *cpus, u64::from(u32::MAX));
        }
        if let Reading::Known(times) = &host.cpu_times {
            for ticks in [times.user, times.system, times.idle, times.io_wait, times.steal] {
                self.counter("host.cpu_times", ticks);
            }
        }
        if let Reading::Known(memory) = &host.memory {
            // What is free may exceed what is there: containers get these numbers from different places.
            for bytes in [
                memory.total,
                memory.available,
                memory.swap_total,
                memory.swap_free,
                memory.shared,
                memory.dirty,
            ] {
                self.at_most("host.memory", bytes, BYTES_MAX);
            }
        }
        for pressure in [&host.cpu_pressure, &host.io_pressure, &host.memory_pressure] {
            let Reading::Known(pressure) = pressure else {
                continue;
            };
            self.counter("host.pressure", pressure.some.total_us);
            self.counter("host.pressure", pressure.full.map_or(0, |line| line.total_us));
        }
        if let Reading::Known(paging) = &host.paging {
            for count in [paging.major_faults, paging.swapped_in, paging.swapped_out, paging.oom_kills] {
                self.counter("host.paging", count);
            }
        }
        if let Reading::Known(space) = &host.shared_memory {
            self.at_most("host.shared_memory", space.total, BYTES_MAX);
            self.at_most("host.shared_memory", space.available, space.total);
        }
        for disk in host.disks.known().into_iter().flatten() {
            for count in [disk.read_bytes, disk.written_bytes, disk.busy_ms, disk.waited_ms] {
                self.counter("host.disks", count);
            }
        }
        for interface in host.interfaces.known().into_iter().flatten() {
            self.quantity("host.interfaces.speed", &interface.speed);
            for count in [
                &interface.received_bytes,
                &interface.sent_bytes,
                &interface.errors,
                &interface.downs,
                &interface.congestion,
            ] {
                self.counter_if_known("host.interfaces", count);
            }
        }
    }

    pub(super) fn machine(&mut self, machine: &MachineSample) {
        if let Reading::Known(switches) = &machine.nvswitches {
            self.at_most("machine.nvswitches", *switches, NVSWITCHES_MAX);
        }
        for device in machine.pci_cards.known().into_iter().flatten() {
            self.quantity("machine.pci_cards.lane_speed", &device.lane_speed);
            self.quantity("machine.pci_cards.lane_speed", &device.lane_speed_max);
            self.small_if_known("machine.pci_cards.width", &device.width, WIDTH_MAX);
            self.small_if_known("machine.pci_cards.width", &device.width_max, WIDTH_MAX);
            self.counter_if_known("machine.pci_cards.errors", &device.corrected_errors);
            self.counter_if_known("machine.pci_cards.errors", &device.uncorrected_errors);
        }
    }

    fn bytes_if_known(&mut self, field: &'static str, value: &Reading<u64>) {
        if let Reading::Known(value) = value {
            self.at_most(field, *value, BYTES_MAX);
        }
    }
}
