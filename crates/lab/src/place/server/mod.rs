//! A server of files at the other end of a network cable: an object store, slow on purpose.
//!
//! The cable is a pair of network interfaces of the kernel. One end is in the box, so that bytes are counted there as on a real
//! card; the other end belongs to the server's own network. Both vanish with the server.

mod download;
mod network;
mod serve;

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::BoxDirectory;
pub use download::Download;
pub use network::{NetworkError, can_lay_cable};
pub use serve::serve;

/// A server and how fast it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// What members call it.
    pub name: String,
    /// Bytes per second over all its readers.
    pub bytes_per_second: u64,
    /// How long it thinks about each request, in milliseconds.
    #[serde(default)]
    pub latency_ms: u64,
}

/// The file that says where a server is.
fn address_file(directory: &BoxDirectory, name: &str) -> PathBuf {
    directory.stores().join(format!("{name}.address"))
}

/// The two ends of the cable of the server that runs as process `pid`: the box's, and the server's.
fn ends(pid: u32) -> (SocketAddrV4, SocketAddrV4) {
    const PORT: u16 = 80;
    let [_, _, high, low] = (pid << 2).to_be_bytes();
    let address = |last: u8| SocketAddrV4::new([10, 213, high, low | last].into(), PORT);
    (address(1), address(2))
}

/// The name of the box's end.
fn interface(pid: u32) -> String {
    format!("ens{}f1", pid % 10_000)
}

#[cfg(test)]
mod tests {
    use super::{ends, interface};

    #[test]
    fn both_ends_are_in_one_small_network() {
        let (box_end, server_end) = ends(4242);
        let (box_octets, server_octets) = (box_end.ip().octets(), server_end.ip().octets());
        assert_eq!(box_octets[..3], server_octets[..3]);
        assert_eq!(box_octets[3] & !3, server_octets[3] & !3);
        assert_eq!((box_octets[3] & 3, server_octets[3] & 3), (1, 2));
        assert_ne!(ends(4243).0, box_end);
        assert!(interface(u32::MAX).len() < 16);
    }
}
