//! Accounting: what each process did over its life, also after its end.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::c_uint;

use gpuwhy_lab::state::Clock;

use crate::Code;
use crate::abi::AccountingStats;
use crate::code::Answer;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// Processes that a driver remembers by default.
const BUFFER_SIZE: c_uint = 4000;

/// Whether accounting is on.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetAccountingMode(device: Device, mode: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetAccountingMode", device, |asked| {
        mode.put(c_uint::from(asked.machine.board().driver.accounting))
    })
}

/// How many processes the driver remembers.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetAccountingBufferSize(device: Device, size: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetAccountingBufferSize", device, |_| size.put(BUFFER_SIZE))
}

/// Processes that are accounted for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetAccountingPids(
    device: Device,
    count: Out<c_uint>,
    pids: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetAccountingPids", device, |asked| {
        require_accounting(asked)?;
        let mut found: Vec<c_uint> =
            asked.machine.clients(asked.card).iter().map(|client| client.host_pid).collect();
        for gone in asked.machine.ended(asked.card) {
            if !found.contains(&gone.host_pid) {
                found.push(gone.host_pid);
            }
        }
        pids.put_list(count, &found)
    })
}

/// What one process did since it attached; its running time is told only after its end.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetAccountingStats(
    device: Device,
    pid: c_uint,
    stats: Out<AccountingStats>,
) -> Code {
    card_call("nvmlDeviceGetAccountingStats", device, |asked| {
        require_accounting(asked)?;
        let clients = asked.machine.clients(asked.card);
        let Some(client) = clients.iter().find(|client| client.host_pid == pid) else {
            return stats.put(stats_of_gone(asked, pid)?);
        };
        let lifetime_ms = Clock::now().saturating_sub(client.attached_at) / 1_000_000;
        stats.put(AccountingStats {
            gpu_utilization: client.gpu_percent,
            memory_utilization: client.memory_percent,
            max_memory_usage: client.most_bytes,
            time: if client.is_residue { lifetime_ms } else { 0 },
            start_time: asked.machine.clock().stamp_us(client.attached_at),
            is_running: c_uint::from(!client.is_residue),
            reserved: [0; 5],
        })
    })
}

/// What a process did that has gone; of several with the same pid the last one counts.
fn stats_of_gone(asked: &Asked, pid: c_uint) -> Result<AccountingStats, Code> {
    let ended = asked.machine.ended(asked.card);
    let gone = ended.iter().find(|gone| gone.host_pid == pid).ok_or(Code::NOT_FOUND)?;
    Ok(AccountingStats {
        gpu_utilization: gone.gpu_percent,
        memory_utilization: gone.memory_percent,
        max_memory_usage: gone.most_bytes,
        time: gone.ended_at.saturating_sub(gone.attached_at) / 1_000_000,
        start_time: asked.machine.clock().stamp_us(gone.attached_at),
        is_running: 0,
        reserved: [0; 5],
    })
}

fn require_accounting(asked: &Asked) -> Answer {
    if asked.machine.board().driver.accounting { Ok(()) } else { Err(Code::NOT_SUPPORTED) }
}
