//! Cards and their clients in few words.

use std::collections::BTreeMap;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardKind, CardMemory, ClientKind, ClockReasons, Fabric, PowerLimits};
use gpuwhy_model::scene::{Card, Client, ReasonShares, SourceKind};
use gpuwhy_model::trend::{Dips, Trend};
use gpuwhy_model::units::{Bytes, Megahertz, Percent, Seconds, Share, Watts};
use serde::Deserialize;

use super::health::{HealthFile, LinkFile, StateFile};
use super::parts::{LinksFile, PartsFile, clocks};
use super::process::ProcessFile;
use super::values::{gibibytes, memory_trend, trend};
use super::{LOOKS, SceneFile};

/// Power limit of a card that names none, in watts.
const POWER_LIMIT: f64 = 400.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that a case may set")]
pub(super) struct CardFile {
    pub(super) busy: f64,
    pub(super) busy_is_unsupported: bool,
    pub(super) n: Option<usize>,
    /// How far the driver's buffer reaches back, in seconds; the window without it.
    pub(super) span: Option<f64>,
    pub(super) zeros: f64,
    /// As a share of the limit.
    pub(super) power: f64,
    /// Power limit in watts.
    pub(super) limit: f64,
    pub(super) power_is_unsupported: bool,
    pub(super) memory_busy: f64,
    pub(super) total: f64,
    pub(super) used: Option<f64>,
    pub(super) idle: Option<f64>,
    pub(super) seen_working: bool,
    /// With which code the card gives no handle.
    pub(super) error: Option<u32>,
    /// With which code it answers every question, though it gives a handle.
    pub(super) refuses: Option<u32>,
    pub(super) heat: f64,
    pub(super) power_cap: f64,
    pub(super) reasons: u64,
    pub(super) brake: f64,
    /// Multiprocessor clock in MHz; the highest is 1410.
    pub(super) clock: Option<f64>,
    pub(super) parts: PartsFile,
    pub(super) links: LinksFile,
    pub(super) state: StateFile,
    pub(super) health: HealthFile,
    pub(super) link: LinkFile,
    pub(super) address: Option<String>,
    pub(super) dips: Dips,
    /// Product name; an A100 without it.
    pub(super) name: Option<String>,
    /// The whole card's index, for an instance.
    pub(super) parent: Option<u32>,
    pub(super) mig: Option<bool>,
    pub(super) mig_pending: Option<bool>,
    /// Size of the window into its memory and how much of it is used.
    pub(super) bar1: Option<(f64, f64)>,
    /// The most of it that was used in any text.
    pub(super) bar1_most: Option<f64>,
    pub(super) compute_mode: Option<String>,
    pub(super) display: Option<bool>,
    pub(super) fabric: Option<Fabric>,
    /// What of the list of processes cannot be.
    pub(super) clients_are_implausible: Option<String>,
    /// A text shows no list of processes.
    pub(super) clients_are_unseen: bool,
}

impl Default for CardFile {
    fn default() -> Self {
        Self {
            busy: 0.0,
            busy_is_unsupported: false,
            n: None,
            span: None,
            zeros: 0.0,
            power: 0.15,
            limit: POWER_LIMIT,
            power_is_unsupported: false,
            memory_busy: 0.0,
            total: 80.0,
            used: None,
            idle: None,
            seen_working: false,
            error: None,
            refuses: None,
            heat: 0.0,
            power_cap: 0.0,
            reasons: 0,
            brake: 0.0,
            clock: None,
            parts: PartsFile::default(),
            links: LinksFile::default(),
            state: StateFile::default(),
            health: HealthFile::default(),
            link: LinkFile::default(),
            address: None,
            dips: Dips::default(),
            name: None,
            parent: None,
            mig: None,
            mig_pending: None,
            bar1: None,
            bar1_most: None,
            compute_mode: None,
            display: None,
            fabric: None,
            clients_are_implausible: None,
            clients_are_unseen: false,
        }
    }
}

/// Lets every question about a card fail.
fn refuse(card: &mut Card, code: u32) {
    let failure = |call: &str| Failure::Nvml { call: call.to_owned(), code };
    card.memory = Reading::Failed(failure("nvmlDeviceGetMemoryInfo_v2"));
    card.busy = Reading::Failed(failure("nvmlDeviceGetUtilizationRates"));
    card.power = Reading::Failed(failure("nvmlDeviceGetPowerUsage"));
    card.clients = Reading::Failed(failure("nvmlDeviceGetComputeRunningProcesses_v3"));
    card.unexplained = Reading::Failed(failure("nvmlDeviceGetMemoryInfo_v2"));
    card.idle_for = Reading::default();
}

impl SceneFile {
    pub(super) fn card(&self, index: u32, file: &CardFile, processes: &BTreeMap<u32, ProcessFile>) -> Card {
        let on_card = || processes.iter().filter(|(_, process)| process.has_context_on(index));
        let held: f64 = on_card().map(|(_, process)| process.held_on(index)).sum();
        let (total, used) = (gibibytes(file.total), gibibytes(file.used.unwrap_or(held)));
        let address = file.address.clone().unwrap_or_else(|| format!("0000:{:02x}:00.0", 0x10 + index));
        if let Some(code) = file.error {
            return Card {
                index,
                handle: Reading::Failed(Failure::Nvml {
                    call: "nvmlDeviceGetHandleByIndex_v2".to_owned(),
                    code,
                }),
                pci_address: Reading::Known(address),
                ..Card::default()
            };
        }
        let n = file.n.unwrap_or(if self.window > 0.0 { 30 } else { 1 });
        let busy = Trend {
            dips: file.dips,
            ..trend(file.busy, file.zeros, n, file.span.unwrap_or(self.window), Percent)
        };
        let past_s = file.idle.unwrap_or(if file.busy > 2.0 { 0.0 } else { self.window });
        let memory_of = |total: f64, used: f64| CardMemory {
            total: gibibytes(total),
            reserved: Reading::Unsupported,
            used: gibibytes(used),
            free: Bytes(gibibytes(total).0.saturating_sub(gibibytes(used).0)),
        };
        let mut card = Card {
            index,
            kind: if file.parent.is_some() { CardKind::MigInstance } else { CardKind::Card },
            parent: file.parent,
            handle: Reading::Known(()),
            uuid: Reading::Known(format!("GPU-{index}")),
            name: Reading::Known(file.name.clone().unwrap_or_else(|| "NVIDIA A100".to_owned())),
            bar1: file
                .bar1
                .map_or(Reading::Unsupported, |(total, used)| Reading::Known(memory_of(total, used))),
            mig_enabled: file.mig.map_or(Reading::Unsupported, Reading::Known),
            mig_pending: file.mig_pending.map_or(Reading::Unsupported, Reading::Known),
            compute_mode: Reading::Known(file.compute_mode.clone().unwrap_or_else(|| "default".to_owned())),
            display_active: file.display.map_or(Reading::Unsupported, Reading::Known),
            fabric: file.fabric.map_or(Reading::Unsupported, Reading::Known),
            pci_address: Reading::Known(address),
            minor: Reading::Known(index),
            memory: Reading::Known(CardMemory {
                total,
                reserved: Reading::Known(Bytes(0)),
                used,
                free: Bytes(total.0 - used.0),
            }),
            unexplained: Reading::Known(Bytes(used.0.saturating_sub(gibibytes(held).0))),
            busy: if file.busy_is_unsupported { Reading::Unsupported } else { Reading::Known(busy) },
            memory_busy: Reading::Known(trend(file.memory_busy, 0.0, n, self.window, Percent)),
            idle_for: if self.source == SourceKind::Text {
                Reading::default()
            } else {
                Reading::Known(Seconds(past_s))
            },
            seen_working: file.seen_working || file.busy > 2.0,
            power: if file.power_is_unsupported {
                Reading::Unsupported
            } else {
                Reading::Known(trend(file.power * file.limit, 0.0, LOOKS, self.window, Watts))
            },
            power_limits: PowerLimits {
                enforced: Reading::Known(Watts(file.limit)),
                ..PowerLimits::default()
            },
            clock_reasons: Reading::Known(ClockReasons(file.reasons)),
            reason_shares: if self.window > 0.0 {
                ReasonShares {
                    hardware_thermal: Reading::Known(Share(file.heat)),
                    software_power_cap: Reading::Known(Share(file.power_cap)),
                    power_brake: Reading::Known(Share(file.brake)),
                    ..ReasonShares::default()
                }
            } else {
                ReasonShares::default()
            },
            persistence: self.machine.persistence.map_or(Reading::Unsupported, Reading::Known),
            clients: match &file.clients_are_implausible {
                Some(value) => Reading::Failed(Failure::Implausible { value: value.clone() }),
                None if file.clients_are_unseen => Reading::default(),
                None => Reading::Known(
                    on_card().map(|(pid, process)| self.client(index, *pid, process, past_s)).collect(),
                ),
            },
            activity: file.parts.activity(self.window),
            ..Card::default()
        };
        if let Some(megahertz) = file.clock {
            card.clocks = clocks(megahertz);
            card.sm_clock = Reading::Known(trend(megahertz, 0.0, LOOKS, self.window, Megahertz));
        }
        file.links.fill(&mut card);
        file.state.fill(&mut card, self.window);
        file.health.fill(&mut card);
        file.link.fill(&mut card);
        if let (Some(used), Some(now)) = (file.bar1_most.map(gibibytes), card.bar1.known()) {
            card.bar1_most = Reading::Known(CardMemory { used, ..now.clone() });
        }
        if file.clients_are_unseen {
            card.unexplained = Reading::default();
        }
        if let Some(code) = file.refuses {
            refuse(&mut card, code);
        }
        card
    }

    /// A process of a list that does not say on which card it is.
    pub(super) fn unplaced_client(&self, pid: u32) -> Client {
        let mut client = Client::of(Pid(pid), ClientKind::Compute);
        if let Some(file) = self.process.get(&pid) {
            client.memory = Reading::Known(gibibytes(file.vram));
            client.name = Reading::Known(file.name.clone());
        }
        client
    }

    fn client(&self, card: u32, pid: u32, file: &ProcessFile, card_past_s: f64) -> Client {
        let is_text = self.source == SourceKind::Text;
        let is_at_work = file.gpu.contains(&card) && file.works_on.is_none_or(|only| only == card);
        let sm = if is_at_work { file.sm } else { 0.0 };
        let worked = sm > 0.0;
        Client {
            pid: Pid(pid),
            kind: match (file.graphics, file.mps) {
                (true, _) => ClientKind::Graphics,
                (false, true) => ClientKind::Mps,
                (false, false) => ClientKind::Compute,
            },
            memory: Reading::Known(gibibytes(file.held_on(card))),
            memory_trend: memory_trend(&file.grows, self.window),
            name: Reading::Known(file.name.clone()),
            sm: if is_text {
                Reading::default()
            } else if file.unseen.iter().any(|what| what == "sm") {
                Reading::Unsupported
            } else {
                Reading::Known(trend(sm, 0.0, LOOKS, self.window, Percent))
            },
            idle_for: if is_text {
                Reading::default()
            } else {
                Reading::Known(Seconds(file.idle.unwrap_or(if worked {
                    0.0
                } else {
                    card_past_s.max(self.window)
                })))
            },
            seen_working: file.seen_working || worked,
        }
    }
}
