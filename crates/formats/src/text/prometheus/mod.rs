//! Metrics in the text form of Prometheus and OpenMetrics: of cards, of the machine, of model servers.

mod card_fields;
mod cards;
mod dcgm_names;
mod dcgmi;
mod exposition;
mod node;
mod scrapes;
mod serving;

#[cfg(test)]
mod tests;

use gpuwhy_knowledge::serving_metrics;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{NvmlSample, ReadTime, Sample, Section};
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};
use gpuwhy_model::window::window;
use jiff::Timestamp;

use self::cards::CardsOfScrape;
use self::scrapes::{Scrape, Scrapes, scrapes};
use super::block::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// Begins of names that only exporters of cards and machines use.
const KNOWN: &[&str] = &[
    "DCGM_FI_",
    "DCGM_EXP_",
    "nvidia_smi_",
    "nvidia_gpu_",
    "nv_",
    "vllm:",
    "sglang:",
    "tgi_",
    "llamacpp:",
    "npu_chip_",
    "container_",
    "kube_",
    "python_",
    "http_",
    "promhttp_",
    "scrape_",
];

/// Begins of names that many files of numbers have, and what follows in names of metrics: a file of the kernel's may
/// say `node_from 0` too.
const KNOWN_BEHIND: &[(&str, &[&str])] = &[
    (
        "go_",
        &["cgo_", "cpu_", "gc_", "godebug_", "goroutines", "info", "memstats_", "sched_", "sync_", "threads"],
    ),
    (
        "process_",
        &[
            "cpu_seconds",
            "max_fds",
            "network_",
            "open_fds",
            "resident_memory",
            "start_time_",
            "virtual_memory",
        ],
    ),
    (
        "node_",
        &[
            "arp_",
            "bonding_",
            "boot_",
            "btrfs_",
            "context_",
            "cooling_",
            "cpu",
            "disk_",
            "dmi_",
            "edac_",
            "entropy_",
            "ethtool_",
            "exporter_",
            "fibrechannel_",
            "filefd_",
            "filesystem_",
            "forks",
            "hwmon_",
            "infiniband_",
            "interrupts",
            "intr",
            "ipvs_",
            "load",
            "logind_",
            "md_",
            "memory_",
            "mountstats_",
            "netstat_",
            "network_",
            "nf_",
            "nfs_",
            "nfsd_",
            "ntp_",
            "nvme_",
            "os_",
            "power_supply_",
            "pressure_",
            "procs_",
            "processes_",
            "rapl_",
            "schedstat_",
            "scrape_",
            "selinux_",
            "sockstat_",
            "softnet_",
            "systemd_",
            "tcp_",
            "textfile_",
            "thermal_",
            "time",
            "timex_",
            "udp_",
            "uname_",
            "vmstat_",
            "watchdog_",
            "xfs_",
            "zfs_",
            "zoneinfo_",
        ],
    ),
];

/// Reads the metrics that begin with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    if let Some((metrics, taken)) = dcgmi::as_metrics(lines, context.command) {
        let scrapes = scrapes(&metrics, context.command)?;
        return Some(Block { lines: taken, scene: scene(&scrapes), remarks: Vec::new() });
    }
    let mut scrapes = scrapes(lines, context.command)?;
    let remarks = std::mem::take(&mut scrapes.remarks);
    Some(Block { lines: scrapes.lines, scene: scene(&scrapes), remarks })
}

/// Returns whether a name is surely one of a metric, so that it needs no labels to be known.
fn known(name: &str) -> bool {
    let is_behind = |(begin, ends): &(&str, &[&str])| {
        name.strip_prefix(begin).is_some_and(|rest| ends.iter().any(|end| rest.starts_with(end)))
    };
    KNOWN.iter().any(|begin| name.starts_with(begin))
        || KNOWN_BEHIND.iter().any(is_behind)
        || serving_metrics().any(|metric| metric.metric == name)
}

fn scene(scrapes: &Scrapes) -> Scene {
    let reads: Vec<(ReadTime, CardsOfScrape)> = times(scrapes)
        .into_iter()
        .zip(&scrapes.list)
        .map(|(taken, scrape)| (taken, cards::cards(&scrape.values, scrapes)))
        .filter(|(_, read)| !read.cards.is_empty())
        .collect();
    let mut scene = of_cards(&reads);
    of_node(scrapes, &mut scene);
    scene.serving = serving::servers(scrapes);
    let has_times = scrapes.list.iter().all(|scrape| scrape.since_s.is_some());
    let span_s = scrapes.list.last().and_then(|last| last.since_s);
    scene.window.span_s = span_s.unwrap_or(0.0);
    scene.window.samples = scrapes.list.len();
    scene.window.end_boot_ns = None;
    let at = scrapes.list.last().and_then(|last| last.at_s).and_then(serving::timestamp);
    scene.window.taken_at = at.filter(|_| has_times).unwrap_or(Timestamp::UNIX_EPOCH);
    scene.provenance = Provenance { source: SourceKind::Text, inputs: vec![Format::Prometheus.to_string()] };
    scene
}

/// Returns when each answer was taken. Where that is not known, they only stand in their order: too close for any rate.
fn times(scrapes: &Scrapes) -> Vec<ReadTime> {
    let time = |(scrape, place): (&Scrape, u32)| {
        let since_s = scrape.since_s.unwrap_or(f64::from(place) * 1e-6);
        let at_s = scrape.at_s.filter(|_| scrape.since_s.is_some()).unwrap_or(since_s);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        let (boot_ns, micros) = ((since_s * 1e9) as u64, (at_s * 1e6) as i64);
        ReadTime { boot_ns, wall: Timestamp::from_microsecond(micros).unwrap_or_default() }
    };
    scrapes.list.iter().zip(0..).map(time).collect()
}

fn of_cards(reads: &[(ReadTime, CardsOfScrape)]) -> Scene {
    let Some((_, newest)) = reads.last() else {
        return Scene::default();
    };
    let samples: Vec<Sample> = reads
        .iter()
        .map(|(taken, read)| {
            let mut sample = Sample::empty(*taken);
            let nvml = NvmlSample {
                driver_version: read.driver_version.clone().into(),
                cards: read.cards.clone(),
                ..NvmlSample::default()
            };
            sample.nvml = Section { read: *taken, value: Reading::Known(nvml) };
            sample
        })
        .collect();
    let mut scene = window(&samples);
    // Metrics tell neither how long the library took to start nor whether it answers us.
    scene.machine.driver.init_ms = Reading::default();
    scene.machine.driver.library = Reading::default();
    let all: Vec<&CardsOfScrape> = reads.iter().map(|(_, read)| read).collect();
    let events = cards::errors(&all);
    if !events.is_empty() {
        scene.machine.driver.xid_events = Reading::Known(events);
    }
    // In a cluster the exporter bears the name of its own pod.
    if let [host] = newest.hosts.as_slice()
        && !host.contains("dcgm-exporter")
    {
        scene.machine.hostname = Reading::Known(host.clone());
    }
    for card in &mut scene.cards {
        card.is_unnumbered = card.parent.is_none() && newest.unnumbered.contains(&card.index);
        let place = newest.cards.iter().position(|own| own.index == card.index && own.parent == card.parent);
        if let Some(owner) = place.and_then(|place| newest.owners.get(&place)) {
            card.given_to = Reading::Known(owner.clone());
        }
    }
    scene.cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent, card.index));
    scene
}

fn of_node(scrapes: &Scrapes, scene: &mut Scene) {
    let samples: Vec<Sample> = times(scrapes)
        .into_iter()
        .zip(&scrapes.list)
        .filter_map(|(taken, scrape)| {
            let node = node::node(&scrape.values)?;
            let mut sample = Sample::empty(taken);
            sample.machine = Section { read: taken, value: Reading::Known(node.machine) };
            sample.host = Section { read: taken, value: Reading::Known(node.host) };
            sample.mounts = Section { read: taken, value: node.mounts };
            Some(sample)
        })
        .collect();
    if samples.is_empty() {
        return;
    }
    let of_node = window(&samples);
    scene.host = of_node.host;
    scene.network = of_node.network;
    scene.mounts = of_node.mounts;
    scene.machine.kernel = of_node.machine.kernel;
    if of_node.machine.hostname.is_known() {
        scene.machine.hostname = of_node.machine.hostname;
    }
}
