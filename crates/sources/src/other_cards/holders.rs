//! Who holds a card: descriptors of its files, and what the kernel says of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuwhy_formats::sys::{DrmClient, drm_client};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{CardClient, ClientKind};
use gpuwhy_model::units::Bytes;

use super::device::Device;
use super::kfd;
use crate::proc::{Aside, ProcRoot, files_below};
use crate::roots::Roots;

/// Of one process no more descriptors of cards are looked at.
const DESCRIPTORS_MAX: usize = 64;

/// What the engines of a card have worked for each of its clients, in nanoseconds.
pub(super) type EngineTimes = BTreeMap<(Pid, u64), BTreeMap<String, u64>>;

/// Who holds one card.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) clients: Reading<Vec<CardClient>>,
    pub(super) worked: EngineTimes,
}

/// Finds holders. A description of a descriptor is made by the card's driver, which may hang: it is read aside.
#[derive(Debug)]
pub(super) struct Holders {
    reader: Aside<(Pid, u32), Option<DrmClient>>,
}

impl Holders {
    pub(super) fn new(proc_root: &Path) -> Self {
        Self { reader: Aside::new(proc_root, described) }
    }

    /// Returns the holders of each card, in the order of the cards.
    pub(super) fn find(
        &mut self,
        proc: &mut ProcRoot,
        roots: &Roots,
        processes: &[Pid],
        devices: &[Device],
        buffer: &mut Vec<u8>,
    ) -> Vec<Held> {
        let prefix = format!("{}/", roots.dev.display());
        let mut wishes = Vec::new();
        let mut closed = 0;
        // Which processes hold which card, whatever the kernel says of them.
        let mut holders: BTreeMap<&str, BTreeSet<Pid>> = BTreeMap::new();
        for pid in processes {
            match files_below(proc, *pid, &prefix, "dri/") {
                Ok(files) => {
                    for (descriptor, file) in files.into_iter().take(DESCRIPTORS_MAX) {
                        let node = file.trim_start_matches("dri/");
                        let is_node = |device: &&Device| device.nodes.iter().any(|known| known == node);
                        if let Some(device) = devices.iter().find(is_node) {
                            holders.entry(&device.address).or_default().insert(*pid);
                            wishes.push((*pid, descriptor));
                        }
                    }
                }
                Err(error) => closed += usize::from(error.is_denied()),
            }
        }
        let answers = if wishes.is_empty() { Vec::new() } else { self.reader.read(&wishes) };
        let described: Vec<(Pid, DrmClient)> =
            wishes.iter().zip(answers).filter_map(|((pid, _), answer)| Some((*pid, answer.ok()??))).collect();
        let compute = kfd::memory(&roots.sys, buffer);
        let is_partial = closed > processes.len() / 100 + 1;
        let of_card = |device: &Device| {
            if is_partial {
                // A list with gaps would read as "nobody else".
                return Held { clients: Reading::Denied(Access::Root), worked: EngineTimes::new() };
            }
            let holders = holders.get(device.address.as_str()).cloned().unwrap_or_default();
            held(device, &holders, &described, &compute)
        };
        devices.iter().map(of_card).collect()
    }
}

/// Returns who holds a card, and how much of its memory.
fn held(
    device: &Device,
    holders: &BTreeSet<Pid>,
    described: &[(Pid, DrmClient)],
    compute: &BTreeMap<(Pid, String), u64>,
) -> Held {
    let mut worked = EngineTimes::new();
    let mut memory: BTreeMap<Pid, u64> = BTreeMap::new();
    let mut counted: BTreeSet<(Pid, u64)> = BTreeSet::new();
    let mut computes: BTreeSet<Pid> = BTreeSet::new();
    for (pid, client) in described {
        let is_of_card = client.pci_address.as_ref().is_none_or(|address| *address == device.address);
        let id = client.id.unwrap_or(0);
        // Several descriptors may be one client.
        if !is_of_card || !holders.contains(pid) || !counted.insert((*pid, id)) {
            continue;
        }
        // What has no memory of its own uses the machine's.
        if let Some(bytes) = client.device_memory.or(client.system_memory) {
            *memory.entry(*pid).or_default() += bytes;
        }
        if client.engine_ns.iter().any(|(engine, worked)| engine.starts_with("comp") && *worked > 0) {
            computes.insert(*pid);
        }
        worked.insert((*pid, id), client.engine_ns.clone());
    }
    for ((pid, node), bytes) in compute {
        if device.nodes.contains(node) {
            let held = memory.entry(*pid).or_default();
            *held = (*held).max(*bytes);
            computes.insert(*pid);
        }
    }
    let all: BTreeSet<Pid> = holders.iter().chain(memory.keys()).copied().collect();
    let client = |pid: Pid| CardClient {
        pid,
        kind: if computes.contains(&pid) { ClientKind::Compute } else { ClientKind::Graphics },
        memory: Reading::from(memory.get(&pid).map(|bytes| Bytes(*bytes))),
        name: Reading::default(),
    };
    Held { clients: Reading::Known(all.into_iter().map(client).collect()), worked }
}

/// Called in a thread of its own: it may never return.
fn described(proc: &mut ProcRoot, (pid, descriptor): (Pid, u32)) -> Option<DrmClient> {
    drm_client(proc.read_of_many(pid, &format!("fdinfo/{descriptor}")).ok()?)
}
