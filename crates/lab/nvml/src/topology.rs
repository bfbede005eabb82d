//! How cards are placed: near which processors, and how far from each other.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_int, c_uint, c_ulong};

use gpuwhy_lab::board::{Architecture, Board, Brand, Card, LinkPeer};

use crate::Code;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, call, card_call, identity_call};

/// `nvmlGpuTopologyLevel_t` values that a box has.
mod level {
    use std::ffi::c_uint;

    pub(super) const SAME_CARD: c_uint = 0;
    pub(super) const SAME_SOCKET: c_uint = 40;
    pub(super) const OTHER_SOCKET: c_uint = 50;
}

/// How far two cards are apart: on two sockets by their NUMA nodes, else by the halves of the board.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    device: Device,
    other: Device,
    level: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetTopologyCommonAncestor", device, |asked| {
        level.put(distance(asked.machine.board(), asked.card.index, card_behind(asked, other)?))
    })
}

fn card_behind(asked: &Asked, device: Device) -> Result<usize, Code> {
    let cards = asked.machine.board().cards.len();
    device.card_index().filter(|index| *index < cards).ok_or(Code::INVALID_ARGUMENT)
}

fn distance(board: &Board, one: usize, other: usize) -> c_uint {
    if one == other {
        level::SAME_CARD
    } else if socket(board, one) == socket(board, other) {
        level::SAME_SOCKET
    } else {
        level::OTHER_SOCKET
    }
}

fn socket(board: &Board, index: usize) -> usize {
    let node = board.cards.get(index).and_then(|card| card.setting.numa_node);
    node.map_or(index * 2 / board.cards.len().max(1), |node| node as usize)
}

/// The cards at a distance from a card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetTopologyNearestGpus(
    device: Device,
    level: c_uint,
    count: Out<c_uint>,
    devices: Out<Device>,
) -> Code {
    card_call("nvmlDeviceGetTopologyNearestGpus", device, |asked| {
        let board = asked.machine.board();
        let others = (0..board.cards.len()).filter(|other| *other != asked.card.index);
        let found: Vec<Device> = others
            .filter(|other| distance(board, asked.card.index, *other) == level)
            .filter_map(Device::of)
            .collect();
        let needed = c_uint::try_from(found.len()).unwrap_or(c_uint::MAX);
        if devices.is_null() {
            return count.put(needed);
        }
        devices.put_list(count, &found)
    })
}

/// Whether two cards reach each other's memory directly.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetP2PStatus(
    device: Device,
    other: Device,
    capability: c_uint,
    status: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetP2PStatus", device, |asked| {
        const OK: c_uint = 0;
        const NOT_SUPPORTED: c_uint = 5;
        const NVLINK: c_uint = 2;
        const CAPABILITIES: c_uint = 6;
        if capability >= CAPABILITIES {
            return Err(Code::INVALID_ARGUMENT);
        }
        let other = card_behind(asked, other)?;
        let other = asked.machine.card(other).ok_or(Code::INVALID_ARGUMENT)?;
        let board = asked.machine.board();
        let reaches = if capability == NVLINK {
            are_linked(board, asked.card, &other)
        } else {
            allows_peers(asked.card) && allows_peers(&other)
        };
        status.put(if reaches { OK } else { NOT_SUPPORTED })
    })
}

/// The driver keeps newer consumer cards from each other's memory.
fn allows_peers(card: &Card) -> bool {
    card.profile.brand != Brand::Geforce || card.profile.architecture < Architecture::Ada
}

/// Whether a way over NVLink leads from one card to the other.
fn are_linked(board: &Board, card: &Card, other: &Card) -> bool {
    let links = card.profile.nvlink.as_ref().map_or(0, |nvlink| nvlink.links);
    (0..links).filter(|link| board.is_link_up(card, *link)).any(|link| match board.link_peer(card, link) {
        Some(LinkPeer::Card(peer)) => peer.index == other.index,
        Some(LinkPeer::Switch(_)) => board.links_up(other) > 0,
        None => false,
    })
}

/// Whether two handles mean cards on one printed board.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceOnSameBoard(device: Device, other: Device, same: Out<c_int>) -> Code {
    call("nvmlDeviceOnSameBoard", |session| {
        let (Some(one), Some(two)) = (device.card_index(), other.card_index()) else {
            return Err(Code::INVALID_ARGUMENT);
        };
        let cards = session.board().cards.len();
        if one >= cards || two >= cards {
            return Err(Code::INVALID_ARGUMENT);
        }
        same.put(c_int::from(one == two))
    })
}

/// NUMA node of the card's own memory, which is no part of the machine's memory here.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNumaNodeId(device: Device, _node: Out<c_uint>) -> Code {
    identity_call("nvmlDeviceGetNumaNodeId", device, |_| Err(Code::NOT_SUPPORTED))
}

/// Processors near the card: all that the machine has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCpuAffinity(device: Device, words: c_uint, set: Out<c_ulong>) -> Code {
    card_call("nvmlDeviceGetCpuAffinity", device, |_| {
        let processors = processor_count().ok_or(Code::UNKNOWN)?;
        let bits = c_ulong::BITS;
        if words == 0 || processors > words * bits {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for word in 0..words {
            let in_word = processors.saturating_sub(word * bits).min(bits);
            let mask = if in_word == bits { c_ulong::MAX } else { (1 << in_word) - 1 };
            set.at(word as usize).put(mask)?;
        }
        Ok(())
    })
}

/// One more than the highest processor number that the kernel lists as present.
fn processor_count() -> Option<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
    let highest: u32 = list.trim().rsplit([',', '-']).next()?.parse().ok()?;
    Some(highest + 1)
}

/// NUMA nodes near the card.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryAffinity(
    device: Device,
    words: c_uint,
    set: Out<c_ulong>,
    _scope: c_uint,
) -> Code {
    card_call("nvmlDeviceGetMemoryAffinity", device, |asked| {
        let node = asked.card.setting.numa_node.unwrap_or(0);
        if words == 0 || node >= words * c_ulong::BITS {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for word in 0..words {
            let is_here = node / c_ulong::BITS == word;
            set.at(word as usize).put(if is_here { 1 << (node % c_ulong::BITS) } else { 0 })?;
        }
        Ok(())
    })
}
