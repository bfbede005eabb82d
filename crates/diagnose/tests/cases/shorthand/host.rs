//! The machine around the cards in few words.

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{HostMemory, Space};
use gpuwhy_model::scene::{Host, Paging, Pressures, Scene};
use gpuwhy_model::units::{Cores, Share};
use serde::Deserialize;

use super::values::gibibytes;

/// Memory, paging and shared memory of the machine.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HostFile {
    memory: Option<RoomFile>,
    shm: Option<RoomFile>,
    memory_full: f64,
    memory_some: f64,
    memory_pressure_is_unseen: bool,
    swapped_in: f64,
    swapped_out: f64,
    steal: f64,
    cores_used: Option<f64>,
    network_is_unseen: bool,
}

/// How much there is and how much is left, in GiB.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoomFile {
    total: f64,
    available: f64,
}

impl HostFile {
    /// Writes the host into a scene; what a case does not mention stays as it is.
    pub(super) fn fill(&self, scene: &mut Scene) {
        let host = &mut scene.host;
        *host = Host {
            memory: self.memory.as_ref().map_or_else(Reading::default, |room| {
                Reading::Known(HostMemory {
                    total: gibibytes(room.total).0,
                    available: gibibytes(room.available).0,
                    ..HostMemory::default()
                })
            }),
            shared_memory: self.shm.as_ref().map_or_else(Reading::default, |room| {
                Reading::Known(Space {
                    total: gibibytes(room.total).0,
                    available: gibibytes(room.available).0,
                })
            }),
            pressure: Pressures {
                memory_full: self.pressure(self.memory_full),
                memory_some: self.pressure(self.memory_some),
                ..host.pressure.clone()
            },
            paging: Paging {
                swapped_in_per_s: Reading::Known(self.swapped_in),
                swapped_out_per_s: Reading::Known(self.swapped_out),
                ..Paging::default()
            },
            steal: Reading::Known(Share(self.steal)),
            cores_used: self.cores_used.map_or_else(Reading::default, |cores| Reading::Known(Cores(cores))),
            ..host.clone()
        };
        if self.network_is_unseen {
            scene.network = Failure::Missing { path: "/sys/class/net".to_owned() }.into_reading();
        }
    }

    fn pressure(&self, share: f64) -> Reading<Share> {
        if self.memory_pressure_is_unseen { Reading::Unsupported } else { Reading::Known(Share(share)) }
    }
}
