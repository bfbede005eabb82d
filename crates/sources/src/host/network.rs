//! Network links: the interfaces of the kernel, and the ports of `InfiniBand` adapters.

use std::collections::BTreeMap;
use std::path::Path;

use gpuwhy_formats::proc::{self, InterfaceCounters};
use gpuwhy_formats::sys;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{InterfaceKind, InterfaceSample};

use super::infiniband;
use crate::file::{names_in, read_and_parse};
use crate::roots::Roots;

/// A node with many containers has as many interfaces without hardware; no more of them are looked at.
const VIRTUAL_MAX: usize = 32;

/// Reads the links, by name: hardware first.
pub(super) fn interfaces(roots: &Roots, buffer: &mut Vec<u8>) -> Reading<Vec<InterfaceSample>> {
    let path = roots.proc.join("net/dev");
    let counters = read_and_parse(&path, buffer, Access::VisibleProcesses, proc::interface_counters);
    let class = roots.sys.join("class/net");
    let mut links: Vec<InterfaceSample> = match names_in(&class) {
        Ok(names) => kernel_interfaces(&class, names, &counters, buffer),
        Err(_) if counters.is_known() => Vec::new(),
        Err(error) => return error.reading_with(Access::MountedSys),
    };
    links.extend(infiniband::ports(&roots.sys, buffer));
    links.sort_by(|one, other| {
        let rank = |link: &InterfaceSample| link.kind == InterfaceKind::Virtual;
        (rank(one), &one.name).cmp(&(rank(other), &other.name))
    });
    let is_hardware = |link: &&InterfaceSample| link.kind != InterfaceKind::Virtual;
    let hardware = links.iter().filter(is_hardware).count();
    links.truncate(hardware + VIRTUAL_MAX);
    Reading::Known(links)
}

fn kernel_interfaces(
    class: &Path,
    mut names: Vec<String>,
    counters: &Reading<BTreeMap<String, InterfaceCounters>>,
    buffer: &mut Vec<u8>,
) -> Vec<InterfaceSample> {
    names.sort_unstable();
    let mut virtual_ones = 0;
    let mut links = Vec::new();
    for name in names {
        let place = class.join(&name);
        // What has hardware behind it has a link to it.
        let is_hardware = place.join("device").symlink_metadata().is_ok();
        if !is_hardware {
            virtual_ones += 1;
            if virtual_ones > VIRTUAL_MAX {
                continue;
            }
        }
        links.push(interface(&place, name, is_hardware, counters, buffer));
    }
    links
}

fn interface(
    place: &Path,
    name: String,
    is_hardware: bool,
    counters: &Reading<BTreeMap<String, InterfaceCounters>>,
    buffer: &mut Vec<u8>,
) -> InterfaceSample {
    let own = counters.as_ref().and_then(|counters| Reading::from(counters.get(&name).copied()));
    let parse_state = |bytes: &[u8]| Ok(sys::interface_is_up(bytes));
    let up = read_and_parse(&place.join("operstate"), buffer, Access::MountedSys, parse_state)
        .and_then(|up| up.map_or(Reading::Unsupported, Reading::Known));
    let mut link = InterfaceSample {
        name,
        kind: if is_hardware { InterfaceKind::Network } else { InterfaceKind::Virtual },
        up,
        speed: Reading::Unsupported,
        received_bytes: own.as_ref().map(|own| own.received_bytes),
        sent_bytes: own.as_ref().map(|own| own.sent_bytes),
        errors: own.map(|own| own.errors),
        downs: Reading::Unsupported,
        congestion: Reading::Unsupported,
    };
    if is_hardware {
        link.speed =
            match read_and_parse(&place.join("speed"), buffer, Access::MountedSys, sys::interface_speed) {
                // A link that is down has no speed, and some drivers never have one.
                Reading::Failed(Failure::Io { .. } | Failure::Missing { .. }) => Reading::Unsupported,
                reading => reading.and_then(|speed| speed.map_or(Reading::Unsupported, Reading::Known)),
            };
        let downs = place.join("carrier_down_count");
        link.downs = match read_and_parse(&downs, buffer, Access::MountedSys, proc::whole_number) {
            // Kernels before 4.16.
            Reading::Failed(Failure::Missing { .. }) => Reading::Unsupported,
            reading => reading,
        };
    }
    link
}

#[cfg(test)]
mod tests {
    use super::interfaces;
    use crate::roots::Roots;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::InterfaceKind;
    use gpuwhy_model::units::BytesPerSecond;
    use std::path::Path;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn hardware_is_told_from_what_only_the_kernel_has() {
        let root = tempfile::tempdir().unwrap();
        let roots =
            Roots { proc: root.path().join("proc"), sys: root.path().join("sys"), ..Roots::default() };
        let dev = "Inter-|   Receive                    |  Transmit\n face |bytes packets errs drop fifo frame \
                   compressed multicast|bytes packets errs drop fifo colls carrier compressed\n\
                   \x20 eth0: 1000 5 2 9 1 0 0 0 2000 6 3 4 0 0 0 0\n    lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
        write(root.path(), "proc/net/dev", dev);
        write(root.path(), "sys/class/net/eth0/operstate", "up\n");
        write(root.path(), "sys/class/net/eth0/speed", "100000\n");
        write(root.path(), "sys/class/net/eth0/carrier_down_count", "3\n");
        write(root.path(), "sys/class/net/eth0/device/vendor", "0x15b3\n");
        write(root.path(), "sys/class/net/lo/operstate", "unknown\n");
        for number in 0..100 {
            write(root.path(), &format!("sys/class/net/veth{number}/operstate"), "up\n");
        }
        let port = "sys/class/infiniband/mlx5_0/ports/1";
        for (file, text) in [
            ("state", "4: ACTIVE\n"),
            ("rate", "400 Gb/sec (4X NDR)\n"),
            ("counters/port_rcv_data", "250\n"),
            ("counters/port_xmit_data", "500\n"),
            ("counters/port_rcv_errors", "14\n"),
            ("counters/port_xmit_discards", "1\n"),
            ("counters/link_downed", "2\n"),
            ("counters/port_xmit_wait", "99\n"),
        ] {
            write(root.path(), &format!("{port}/{file}"), text);
        }
        let links = interfaces(&roots, &mut Vec::new()).into_known().unwrap();
        assert_eq!(links.len(), 2 + 32);
        let ethernet = &links[0];
        assert_eq!((ethernet.name.as_str(), ethernet.kind), ("eth0", InterfaceKind::Network));
        assert_eq!((&ethernet.up, &ethernet.downs), (&Reading::Known(true), &Reading::Known(3)));
        assert_eq!(ethernet.speed, Reading::Known(BytesPerSecond(1.25e10)));
        assert_eq!(ethernet.received_bytes, Reading::Known(1000));
        assert_eq!(ethernet.sent_bytes, Reading::Known(2000));
        let port = &links[1];
        assert_eq!((port.name.as_str(), port.kind), ("mlx5_0/1", InterfaceKind::Infiniband));
        assert_eq!(port.received_bytes, Reading::Known(1000), "words of four bytes");
        assert_eq!(port.sent_bytes, Reading::Known(2000));
        assert_eq!((&port.errors, &port.downs), (&Reading::Known(15), &Reading::Known(2)));
        assert_eq!(port.congestion, Reading::Known(99));
        let loopback = links.iter().find(|link| link.name == "lo").unwrap();
        assert_eq!((loopback.kind, &loopback.up), (InterfaceKind::Virtual, &Reading::Unsupported));
    }

    #[test]
    fn a_link_without_files_has_reasons() {
        let root = tempfile::tempdir().unwrap();
        let roots =
            Roots { proc: root.path().join("proc"), sys: root.path().join("sys"), ..Roots::default() };
        assert!(!interfaces(&roots, &mut Vec::new()).is_known());
        write(root.path(), "sys/class/net/eth0/device/vendor", "0x15b3\n");
        let links = interfaces(&roots, &mut Vec::new()).into_known().unwrap();
        assert!(!links[0].received_bytes.is_known() && !links[0].up.is_known());
        assert_eq!(links[0].speed, Reading::Unsupported);
    }
}
