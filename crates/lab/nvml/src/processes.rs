//! Which processes use a card, and what each of them did lately.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::cards::{ClientView, ProcessSample};
use gpuwhy_lab::state::UsageKind;

use crate::Code;
use crate::abi::{
    NO_INSTANCE, NOT_AVAILABLE, ProcessDetail, ProcessDetailList, ProcessInfoV1, ProcessUtilizationInfo,
    ProcessUtilizationSample, ProcessesUtilizationInfo, version_word,
};
use crate::device::Device;
use crate::instances::refuse_cut;
use crate::pointer::{Out, Rows};
use crate::session::{Asked, any_call, card_call};

/// Version word of `nvmlProcessDetailList_v1_t`.
const DETAIL_LIST_V1: c_uint = version_word::<ProcessDetailList>(1);
/// Version word of `nvmlProcessesUtilizationInfo_v1_t`.
const UTILIZATION_INFO_V1: c_uint = version_word::<ProcessesUtilizationInfo>(1);

/// Memory under the protection of confidential computing, which no box uses.
const NONE_PROTECTED: u64 = 0;

/// A kind of process list.
#[derive(Clone, Copy)]
enum List {
    Compute,
    Graphics,
    /// Clients of an MPS server; no workload of a box uses one.
    Mps,
}

/// Compute processes, as rows of 16 bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    device: Device,
    count: Out<c_uint>,
    rows: Out<ProcessInfoV1>,
) -> Code {
    short_list("nvmlDeviceGetComputeRunningProcesses", device, List::Compute, count, rows)
}

/// Graphics processes, as rows of 16 bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGraphicsRunningProcesses(
    device: Device,
    count: Out<c_uint>,
    rows: Out<ProcessInfoV1>,
) -> Code {
    short_list("nvmlDeviceGetGraphicsRunningProcesses", device, List::Graphics, count, rows)
}

/// MPS clients, as rows of 16 bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses(
    device: Device,
    count: Out<c_uint>,
    rows: Out<ProcessInfoV1>,
) -> Code {
    short_list("nvmlDeviceGetMPSComputeRunningProcesses", device, List::Mps, count, rows)
}

/// Compute processes, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetComputeRunningProcesses_v2", device, List::Compute, count, rows)
}

/// Compute processes, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetComputeRunningProcesses_v3", device, List::Compute, count, rows)
}

/// Graphics processes, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v2(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetGraphicsRunningProcesses_v2", device, List::Graphics, count, rows)
}

/// Graphics processes, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetGraphicsRunningProcesses_v3", device, List::Graphics, count, rows)
}

/// MPS clients, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetMPSComputeRunningProcesses_v2", device, List::Mps, count, rows)
}

/// MPS clients, as rows of the size that the driver has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: Device,
    count: Out<c_uint>,
    rows: Rows,
) -> Code {
    long_list("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, List::Mps, count, rows)
}

/// Processes with the memory that they hold under protection; the caller chooses the list.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetRunningProcessDetailList(
    device: Device,
    list: Out<ProcessDetailList>,
) -> Code {
    any_call("nvmlDeviceGetRunningProcessDetailList", device, |asked| {
        let question = list.get()?;
        if question.version != DETAIL_LIST_V1 {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let which = match question.mode {
            0 => List::Compute,
            1 => List::Graphics,
            2 => List::Mps,
            _ => return Err(Code::INVALID_ARGUMENT),
        };
        let details: Vec<ProcessDetail> = processes(asked, which)
            .iter()
            .map(|client| ProcessDetail {
                pid: client.host_pid,
                used_gpu_memory: memory(asked, client),
                gpu_instance_id: instance_ids(asked, client)[0],
                compute_instance_id: instance_ids(asked, client)[1],
                used_gpu_cc_protected_memory: NONE_PROTECTED,
            })
            .collect();
        let needed = length(&details);
        list.put(ProcessDetailList { num_proc_array_entries: needed, ..question })?;
        if needed > 0 && (question.proc_array.is_null() || question.num_proc_array_entries < needed) {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        question.proc_array.put_array(&details)
    })
}

fn short_list(
    function: &'static str,
    device: Device,
    list: List,
    count: Out<c_uint>,
    rows: Out<ProcessInfoV1>,
) -> Code {
    any_call(function, device, |asked| {
        let found: Vec<ProcessInfoV1> = processes(asked, list)
            .iter()
            .map(|client| ProcessInfoV1 { pid: client.host_pid, used_gpu_memory: memory(asked, client) })
            .collect();
        rows.put_list(count, &found)
    })
}

fn long_list(function: &'static str, device: Device, list: List, count: Out<c_uint>, rows: Rows) -> Code {
    any_call(function, device, |asked| {
        let words = asked.machine.board().driver.process_row_bytes / size_of::<u64>();
        let found: Vec<Vec<u64>> = processes(asked, list)
            .iter()
            .map(|client| {
                let [gpu_instance, compute_instance] = instance_ids(asked, client);
                let instances = (u64::from(compute_instance) << 32) | u64::from(gpu_instance);
                let row = [u64::from(client.host_pid), memory(asked, client), instances, NONE_PROTECTED];
                row[..words.min(row.len())].to_vec()
            })
            .collect();
        let room = count.get()?;
        let needed = length(&found);
        count.put(needed)?;
        if needed > 0 && (rows.is_null() || room < needed) {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        rows.put(&found);
        Ok(())
    })
}

fn processes(asked: &Asked, list: List) -> Vec<ClientView> {
    let mut clients = asked.machine.clients(asked.card);
    clients.retain(|client| asked.instance.is_none() || client.instance == asked.instance);
    clients.retain(|client| match list {
        List::Compute => client.kind == UsageKind::Compute,
        List::Graphics => client.kind == UsageKind::Graphics,
        List::Mps => false,
    });
    clients
}

/// Ids of the GPU instance and the compute instance that a client uses.
fn instance_ids(asked: &Asked, client: &ClientView) -> [c_uint; 2] {
    let cut = client.instance.and_then(|position| asked.card.instances.get(position));
    cut.map_or([NO_INSTANCE; 2], |cut| [cut.gpu_instance, 0])
}

fn memory(asked: &Asked, client: &ClientView) -> u64 {
    if asked.machine.board().driver.knows_process_memory { client.bytes } else { NOT_AVAILABLE }
}

/// One sample per process that did anything since a time stamp.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetProcessUtilization(
    device: Device,
    samples: Out<ProcessUtilizationSample>,
    count: Out<c_uint>,
    last_seen_us: c_ulonglong,
) -> Code {
    card_call("nvmlDeviceGetProcessUtilization", device, |asked| {
        let clock = asked.machine.clock();
        let found: Vec<ProcessUtilizationSample> = newer_samples(asked, last_seen_us)?
            .iter()
            .map(|sample| ProcessUtilizationSample {
                pid: sample.host_pid,
                time_stamp: clock.stamp_us(sample.at),
                sm_util: sample.sm_percent,
                mem_util: sample.memory_percent,
                enc_util: 0,
                dec_util: 0,
            })
            .collect();
        samples.put_list(count, &found)
    })
}

/// One sample per process that did anything since a time stamp, all engines.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetProcessesUtilizationInfo(
    device: Device,
    info: Out<ProcessesUtilizationInfo>,
) -> Code {
    card_call("nvmlDeviceGetProcessesUtilizationInfo", device, |asked| {
        let question = info.get()?;
        if question.version != UTILIZATION_INFO_V1 {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let clock = asked.machine.clock();
        let found: Vec<ProcessUtilizationInfo> = newer_samples(asked, question.last_seen_time_stamp)?
            .iter()
            .map(|sample| ProcessUtilizationInfo {
                time_stamp: clock.stamp_us(sample.at),
                pid: sample.host_pid,
                sm_util: sample.sm_percent,
                mem_util: sample.memory_percent,
                ..ProcessUtilizationInfo::default()
            })
            .collect();
        let needed = length(&found);
        info.put(ProcessesUtilizationInfo { process_samples_count: needed, ..question })?;
        if question.proc_util_array.is_null() || question.process_samples_count < needed {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        question.proc_util_array.put_array(&found)
    })
}

fn newer_samples(asked: &Asked, last_seen_us: u64) -> Result<Vec<ProcessSample>, Code> {
    refuse_cut(asked)?;
    let clock = asked.machine.clock();
    let found = asked.machine.process_samples(asked.card, clock.of_stamp_us(last_seen_us));
    if found.is_empty() { Err(Code::NOT_FOUND) } else { Ok(found) }
}

fn length<T>(rows: &[T]) -> c_uint {
    c_uint::try_from(rows.len()).unwrap_or(c_uint::MAX)
}
