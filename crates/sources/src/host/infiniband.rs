//! Ports of `InfiniBand` and `RoCE` adapters.

use std::path::Path;

use gpuwhy_formats::proc::whole_number;
use gpuwhy_formats::sys;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{InterfaceKind, InterfaceSample};

use crate::file::{names_in, read_and_parse};

/// The data counters count words of this many bytes.
const WORD: u64 = 4;

/// Reads the ports of all adapters; a machine without any has none.
pub(super) fn ports(sys: &Path, buffer: &mut Vec<u8>) -> Vec<InterfaceSample> {
    let class = sys.join("class/infiniband");
    let mut found = Vec::new();
    for adapter in names_in(&class).unwrap_or_default() {
        let ports = class.join(&adapter).join("ports");
        for number in names_in(&ports).unwrap_or_default() {
            found.push(port(&ports.join(&number), format!("{adapter}/{number}"), buffer));
        }
    }
    found
}

fn port(place: &Path, name: String, buffer: &mut Vec<u8>) -> InterfaceSample {
    let up = read_and_parse(&place.join("state"), buffer, Access::MountedSys, sys::port_is_active);
    let speed = read_and_parse(&place.join("rate"), buffer, Access::MountedSys, sys::port_rate);
    let mut counter =
        |file: &str| match read_and_parse(&place.join(file), buffer, Access::MountedSys, whole_number) {
            // A port whose hardware does not count says so in words, or has no such file.
            Reading::Failed(Failure::Missing { .. } | Failure::Syntax { .. } | Failure::Io { .. }) => {
                Reading::Unsupported
            }
            reading => reading,
        };
    let received = counter("counters/port_rcv_data");
    let sent = counter("counters/port_xmit_data");
    let damaged = counter("counters/port_rcv_errors");
    let discarded = counter("counters/port_xmit_discards");
    // RoCE packets whose checksum was wrong.
    let encapsulated = counter("hw_counters/rx_icrc_encapsulated").into_known().unwrap_or(0);
    InterfaceSample {
        name,
        kind: InterfaceKind::Infiniband,
        up,
        speed,
        received_bytes: received.map(|words: u64| words.saturating_mul(WORD)),
        sent_bytes: sent.map(|words: u64| words.saturating_mul(WORD)),
        errors: damaged.and_then(|damaged: u64| {
            discarded.map(|discarded: u64| damaged.saturating_add(discarded).saturating_add(encapsulated))
        }),
        downs: counter("counters/link_downed"),
        congestion: counter("counters/port_xmit_wait"),
    }
}
