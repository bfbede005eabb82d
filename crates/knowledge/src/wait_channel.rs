//! What a thread waits for, by the kernel function in which it waits.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::pattern::is_one_of;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Data of a file system: `nfs`, `fuse`, `ceph`, `lustre`, `gpfs`, `smb`, `9p`, `network`, `block`, `page-cache`
    /// (any file system through the kernel's own cache).
    Storage(&'static str),
    /// The NVIDIA driver.
    Driver,
    /// Data of the network, from a connection that the program itself keeps.
    Network,
    /// Memory of the machine or of a control group: reclaim, the end of an out-of-memory state.
    Memory,
    /// Somebody else's data or orders: a queue, a pipe, a lock, a timer.
    Queue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Channels {
    exceptions: List,
    storage: Vec<Storage>,
    driver: List,
    network: List,
    memory: List,
    queue: List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    file_system: String,
    names: Vec<String>,
}

fn channels() -> &'static Channels {
    static CHANNELS: OnceLock<Channels> = OnceLock::new();
    CHANNELS.get_or_init(|| {
        toml::from_str(include_str!("../data/wait_channels.toml"))
            .expect("the built-in wait channels are read by a test")
    })
}

/// Returns what a thread waits for that waits in this kernel function; none where that says nothing.
pub fn wait(function: &str) -> Option<Wait> {
    let channels = channels();
    if is_one_of(function, &channels.exceptions.names) {
        return None;
    }
    if let Some(storage) = channels.storage.iter().find(|storage| is_one_of(function, &storage.names)) {
        return Some(Wait::Storage(&storage.file_system));
    }
    if is_one_of(function, &channels.driver.names) {
        return Some(Wait::Driver);
    }
    if is_one_of(function, &channels.network.names) {
        return Some(Wait::Network);
    }
    if is_one_of(function, &channels.memory.names) {
        return Some(Wait::Memory);
    }
    is_one_of(function, &channels.queue.names).then_some(Wait::Queue)
}

#[cfg(test)]
mod tests {
    use super::{Wait, channels, wait};

    #[test]
    fn every_pattern_is_reached() {
        let channels = channels();
        let plain = |pattern: &String| pattern.trim_end_matches('*').to_owned();
        for storage in &channels.storage {
            for pattern in &storage.names {
                assert_eq!(wait(&plain(pattern)), Some(Wait::Storage(&storage.file_system)), "{pattern}");
            }
        }
        for pattern in &channels.driver.names {
            assert_eq!(wait(&plain(pattern)), Some(Wait::Driver), "{pattern}");
        }
        for pattern in &channels.network.names {
            assert_eq!(wait(&plain(pattern)), Some(Wait::Network), "{pattern}");
        }
        for pattern in &channels.memory.names {
            assert_eq!(wait(&plain(pattern)), Some(Wait::Memory), "{pattern}");
        }
        for pattern in &channels.queue.names {
            assert_eq!(wait(&plain(pattern)), Some(Wait::Queue), "{pattern}");
        }
    }

    #[test]
    fn functions_say_what_is_waited_for() {
        for (function, expected) in [
            ("request_wait_answer", Some(Wait::Storage("fuse"))),
            ("folio_wait_bit_common", Some(Wait::Storage("page-cache"))),
            ("io_schedule", Some(Wait::Storage("block"))),
            ("rpc_wait_bit_killable", Some(Wait::Storage("nfs"))),
            ("nvme_submit_sync_cmd", Some(Wait::Storage("block"))),
            ("os_acquire_rwlock_write", Some(Wait::Driver)),
            ("_nv043706rm", Some(Wait::Driver)),
            ("nvidia_ioctl", Some(Wait::Driver)),
            ("uvm_va_space_mm_shutdown", Some(Wait::Driver)),
            ("wait_woken", Some(Wait::Network)),
            ("tcp_recvmsg_locked", Some(Wait::Network)),
            ("reclaim_throttle", Some(Wait::Memory)),
            ("inet_csk_accept", Some(Wait::Queue)),
            ("futex_wait_queue", Some(Wait::Queue)),
            ("pipe_read", Some(Wait::Queue)),
            ("do_poll.constprop.0", Some(Wait::Queue)),
            ("fuse_dev_do_read", None),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(wait(function), expected, "{function}");
        }
    }
}
