//! Frame buffer and BAR1.
#![expect(unsafe_code, reason = "exports the C ABI")]

use gpuwhy_lab::board::Architecture;

use crate::Code;
use crate::abi::{Bar1Memory, ConfComputeMemSizeInfo, Memory, MemoryV2, version_word};
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, any_call, card_call};

/// BAR1 that the driver maps for itself, in bytes.
const BAR1_OF_DRIVER: u64 = 1 << 20;
/// BAR1 that one context maps, in bytes.
const BAR1_OF_CONTEXT: u64 = 2 << 20;

/// Memory; what the driver reserves counts as used.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryInfo(device: Device, memory: Out<Memory>) -> Code {
    any_call("nvmlDeviceGetMemoryInfo", device, |asked| {
        let Room { total, free, .. } = room(asked);
        memory.put(Memory { total, free, used: total - free })
    })
}

/// Memory; what the driver reserves stands apart.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Device, memory: Out<MemoryV2>) -> Code {
    any_call("nvmlDeviceGetMemoryInfo_v2", device, |asked| {
        let version = version_word::<MemoryV2>(2);
        if memory.get()?.version != version {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let Room { total, reserved, free, used } = room(asked);
        memory.put(MemoryV2 { version, total, reserved, free, used })
    })
}

/// Memory of a card or of an instance, in bytes.
struct Room {
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

fn room(asked: &Asked) -> Room {
    let Some(cut) = asked.cut() else {
        let view = asked.look();
        let card = asked.card;
        return Room {
            total: card.memory_bytes,
            reserved: card.reserved_bytes,
            free: view.free_bytes,
            used: view.used_bytes,
        };
    };
    let clients = asked.machine.clients(asked.card);
    let own = clients.iter().filter(|client| client.instance == asked.instance);
    let used = own.map(|client| client.bytes).sum::<u64>().min(cut.memory_bytes);
    Room { total: cut.memory_bytes, reserved: 0, free: cut.memory_bytes - used, used }
}

/// The aperture through which the host sees the card's memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetBAR1MemoryInfo(device: Device, memory: Out<Bar1Memory>) -> Code {
    any_call("nvmlDeviceGetBAR1MemoryInfo", device, |asked| {
        let clients = asked.machine.clients(asked.card);
        let (total, mapped) = match asked.cut() {
            Some(cut) => (asked.card.bar1_bytes / 8 * u64::from(cut.memory_slices), 0),
            None => (asked.card.bar1_bytes, BAR1_OF_DRIVER + (asked.card.setting.bar1_used_mib << 20)),
        };
        let own =
            clients.iter().filter(|client| asked.instance.is_none() || client.instance == asked.instance);
        let used = (BAR1_OF_CONTEXT * own.count() as u64 + mapped).min(total);
        memory.put(Bar1Memory { total, free: total - used, used })
    })
}

/// Memory for confidential computing, which no box uses: all of it is unprotected. Older cards have no such
/// thing.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetConfComputeMemSizeInfo(
    device: Device,
    memory: Out<ConfComputeMemSizeInfo>,
) -> Code {
    card_call("nvmlDeviceGetConfComputeMemSizeInfo", device, |asked| {
        if asked.card.profile.architecture < Architecture::Hopper {
            return Err(Code::NOT_SUPPORTED);
        }
        memory.put(ConfComputeMemSizeInfo {
            protected_mem_size_kib: 0,
            unprotected_mem_size_kib: asked.card.memory_bytes >> 10,
        })
    })
}
