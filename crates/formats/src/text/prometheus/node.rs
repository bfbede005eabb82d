//! The machine as `node-exporter` measures it.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{
    CpuTimes, DiskSample, HostMemory, HostSample, InterfaceKind, InterfaceSample, MachineSample, MountPoint,
    Paging, Pressure, PressureLine, Space,
};
use gpuwhy_model::units::BytesPerSecond;

use super::exposition::Value;

/// The exporter gives seconds; the model counts ticks of this length.
pub(super) const TICKS_PER_SECOND: u64 = 100;

/// Begins of the names of links without hardware.
const VIRTUAL: &[&str] = &[
    "lo",
    "docker",
    "veth",
    "br-",
    "virbr",
    "cali",
    "cni",
    "flannel",
    "tun",
    "tap",
    "vxlan",
    "cilium",
    "lxc",
    "nodelocaldns",
    "kube-ipvs",
];

/// What the exporter says at one time.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) machine: MachineSample,
    pub(super) host: HostSample,
    pub(super) mounts: Reading<Vec<MountPoint>>,
}

/// Returns what one answer says of the machine, if it says anything.
pub(super) fn node(values: &[Value]) -> Option<Node> {
    let ours: Vec<&Value> =
        values.iter().filter(|value| value.name.starts_with("node_") && value.number.is_finite()).collect();
    if ours.is_empty() {
        return None;
    }
    let (cpus, cpu_times) = processors(&ours);
    let (mounts, shared_memory) = file_systems(&ours);
    let host = HostSample {
        cpus,
        cpu_times,
        memory: memory(&ours),
        cpu_pressure: pressure(&ours, "cpu"),
        io_pressure: pressure(&ours, "io"),
        memory_pressure: pressure(&ours, "memory"),
        paging: paging(&ours),
        shared_memory,
        disks: disks(&ours),
        interfaces: interfaces(&ours),
    };
    let mut machine = MachineSample { ticks_per_second: TICKS_PER_SECOND, ..MachineSample::default() };
    if let Some(name) = ours.iter().find(|value| value.name == "node_uname_info") {
        machine.hostname = name.label("nodename").map(str::to_owned).into();
        machine.kernel = name.label("release").map(str::to_owned).into();
    }
    Some(Node { machine, host, mounts })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counters are not negative, and the cast saturates"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn one(values: &[&Value], names: &[&str]) -> Option<u64> {
    let mut found = names.iter().filter_map(|name| values.iter().find(|value| value.name == *name));
    found.next().map(|value| whole(value.number))
}

/// Returns how many processors there are, and their time together.
fn processors(values: &[&Value]) -> (Reading<u64>, Reading<CpuTimes>) {
    let mut cpus: BTreeSet<&str> = BTreeSet::new();
    let mut times = CpuTimes::default();
    let mut modes: BTreeSet<&str> = BTreeSet::new();
    for value in
        values.iter().filter(|value| value.name == "node_cpu_seconds_total" || value.name == "node_cpu")
    {
        let (Some(cpu), Some(mode)) = (value.label("cpu"), value.label("mode")) else { continue };
        let ticks = whole(value.number * TICKS_PER_SECOND as f64);
        let field = match mode {
            "user" | "nice" => &mut times.user,
            "system" | "irq" | "softirq" => &mut times.system,
            "idle" => &mut times.idle,
            "iowait" => &mut times.io_wait,
            "steal" => &mut times.steal,
            _ => continue,
        };
        *field = field.saturating_add(ticks);
        cpus.insert(cpu);
        modes.insert(mode);
    }
    let number = if cpus.is_empty() { Reading::default() } else { Reading::Known(cpus.len() as u64) };
    // Of a part of the modes no share can be taken.
    let is_whole = ["user", "system", "idle"].iter().all(|mode| modes.contains(mode));
    (number, if is_whole { Reading::Known(times) } else { Reading::default() })
}

fn memory(values: &[&Value]) -> Reading<HostMemory> {
    let bytes = |name: &str| {
        let names = [format!("node_memory_{name}_bytes"), format!("node_memory_{name}")];
        names.iter().find_map(|name| one(values, &[name]))
    };
    let memory = || {
        Some(HostMemory {
            total: bytes("MemTotal")?,
            available: bytes("MemAvailable")?,
            swap_total: bytes("SwapTotal")?,
            swap_free: bytes("SwapFree")?,
            shared: bytes("Shmem").unwrap_or(0),
            dirty: bytes("Dirty").unwrap_or(0),
        })
    };
    memory().into()
}

fn pressure(values: &[&Value], resource: &str) -> Reading<Pressure> {
    let line = |kind: &str| {
        let name = format!("node_pressure_{resource}_{kind}_seconds_total");
        values
            .iter()
            .find(|value| value.name == name)
            .map(|value| PressureLine { total_us: whole(value.number * 1e6) })
    };
    line("waiting").map(|some| Pressure { some, full: line("stalled") }).into()
}

fn paging(values: &[&Value]) -> Reading<Paging> {
    let paging = || {
        Some(Paging {
            major_faults: one(values, &["node_vmstat_pgmajfault"])?,
            swapped_in: one(values, &["node_vmstat_pswpin"])?,
            swapped_out: one(values, &["node_vmstat_pswpout"])?,
            oom_kills: one(values, &["node_vmstat_oom_kill"])?,
        })
    };
    paging().into()
}

/// Gathers the values of each device by the names of their metrics.
fn by_device<'values>(
    values: &[&'values Value],
    begin: &str,
) -> BTreeMap<&'values str, BTreeMap<&'values str, f64>> {
    let mut devices: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for value in values {
        if let (Some(name), Some(device)) = (value.name.strip_prefix(begin), value.label("device")) {
            devices.entry(device).or_default().insert(name, value.number);
        }
    }
    devices
}

fn disks(values: &[&Value]) -> Reading<Vec<DiskSample>> {
    let devices = by_device(values, "node_disk_");
    let disks: Vec<DiskSample> = devices
        .into_iter()
        .filter_map(|(name, fields)| {
            Some(DiskSample {
                name: name.to_owned(),
                device: String::new(),
                read_bytes: whole(*fields.get("read_bytes_total")?),
                written_bytes: whole(*fields.get("written_bytes_total")?),
                busy_ms: whole(*fields.get("io_time_seconds_total")? * 1e3),
                waited_ms: whole(*fields.get("io_time_weighted_seconds_total")? * 1e3),
            })
        })
        .collect();
    if disks.is_empty() { Reading::default() } else { Reading::Known(disks) }
}

fn interfaces(values: &[&Value]) -> Reading<Vec<InterfaceSample>> {
    let mut interfaces = Vec::new();
    for (name, fields) in by_device(values, "node_network_") {
        let count = |name: &str| fields.get(name).map(|value| whole(*value));
        let sum = |names: [&str; 4]| names.iter().map(|name| count(name)).sum::<Option<u64>>();
        if count("receive_bytes_total").is_none() && count("transmit_bytes_total").is_none() {
            continue;
        }
        let is_virtual = VIRTUAL.iter().any(|begin| name.starts_with(begin));
        interfaces.push(InterfaceSample {
            name: name.to_owned(),
            kind: if is_virtual { InterfaceKind::Virtual } else { InterfaceKind::Network },
            up: fields.get("up").map(|up| up.total_cmp(&1.0).is_eq()).into(),
            // A link that is down has no speed, which the exporter writes as less than nothing.
            speed: fields
                .get("speed_bytes")
                .filter(|speed| **speed > 0.0)
                .map(|speed| BytesPerSecond(*speed))
                .into(),
            received_bytes: count("receive_bytes_total").into(),
            sent_bytes: count("transmit_bytes_total").into(),
            errors: sum([
                "receive_errs_total",
                "receive_drop_total",
                "transmit_errs_total",
                "transmit_drop_total",
            ])
            .into(),
            ..InterfaceSample::default()
        });
    }
    interfaces.extend(ports(values));
    if interfaces.is_empty() { Reading::default() } else { Reading::Known(interfaces) }
}

/// Returns the ports of fast networks.
fn ports(values: &[&Value]) -> Vec<InterfaceSample> {
    let mut ports: BTreeMap<(&str, &str), BTreeMap<&str, f64>> = BTreeMap::new();
    for value in values {
        let name = value.name.strip_prefix("node_infiniband_");
        if let (Some(name), Some(device), Some(port)) = (name, value.label("device"), value.label("port")) {
            ports.entry((device, port)).or_default().insert(name, value.number);
        }
    }
    let port = |((device, port), fields): ((&str, &str), BTreeMap<&str, f64>)| {
        let count = |name: &str| fields.get(name).map(|value| whole(*value));
        InterfaceSample {
            name: format!("{device}/{port}"),
            kind: InterfaceKind::Infiniband,
            up: fields.get("state_id").map(|state| state.total_cmp(&4.0).is_eq()).into(),
            speed: fields.get("rate_bytes_per_second").map(|rate| BytesPerSecond(*rate)).into(),
            received_bytes: count("port_data_received_bytes_total").into(),
            sent_bytes: count("port_data_transmitted_bytes_total").into(),
            downs: count("link_downed_total").into(),
            congestion: count("port_transmit_wait_total").into(),
            ..InterfaceSample::default()
        }
    };
    ports.into_iter().map(port).collect()
}

/// Returns the mounted file systems, and the room in shared memory.
fn file_systems(values: &[&Value]) -> (Reading<Vec<MountPoint>>, Reading<Space>) {
    let mut mounts: BTreeMap<&str, MountPoint> = BTreeMap::new();
    let mut sizes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for value in values {
        let Some(name) = value.name.strip_prefix("node_filesystem_") else { continue };
        let (Some(target), Some(kind)) = (value.label("mountpoint"), value.label("fstype")) else { continue };
        sizes.insert((target, name), whole(value.number));
        mounts.entry(target).or_insert_with(|| MountPoint {
            target: target.to_owned(),
            file_system: kind.to_owned(),
            source: gpuwhy_model::command_line::masked_text(value.label("device").unwrap_or_default()),
            device: String::new(),
        });
    }
    let space = |target: &str| {
        let total = sizes.get(&(target, "size_bytes")).or_else(|| sizes.get(&(target, "size")))?;
        let available = sizes.get(&(target, "avail_bytes")).or_else(|| sizes.get(&(target, "avail")))?;
        Some(Space { total: *total, available: *available })
    };
    let shared: Reading<Space> = space("/dev/shm").into();
    let mounts: Vec<MountPoint> = mounts.into_values().collect();
    (if mounts.is_empty() { Reading::default() } else { Reading::Known(mounts) }, shared)
}
