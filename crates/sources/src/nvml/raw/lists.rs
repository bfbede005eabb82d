//! Lists: buffers of samples, fields, processes and their work.

use std::ffi::c_uint;
use std::mem::MaybeUninit;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t, nvmlProcessUtilizationSample_t, nvmlReturn_t, nvmlSample_t,
};

use super::{Answer, Device, Function, Library, Refusal, accepted, found, number};
use crate::nvml::process_list::{Rows, RowsBuffer};

/// More rows than a list may hold: a count above it is nonsense, not memory to be reserved.
const ROWS_MAX: u32 = 65_536;

/// `nvmlValueType_t` of numbers of 32 bits and fewer.
const NARROW_TYPES: [u32; 3] = [1, 5, 6];

/// A function that fills rows of a process list.
type ProcessFunction<T> = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut T) -> nvmlReturn_t;

/// A value with the driver's time stamp.
pub(in crate::nvml) struct Stamped {
    pub(in crate::nvml) time_us: u64,
    pub(in crate::nvml) value: f64,
}

/// A field to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::nvml) struct Field {
    pub(in crate::nvml) id: u32,
    /// What it is about: for fields of links the link.
    pub(in crate::nvml) scope: u32,
}

impl Field {
    /// Stands for all links together.
    pub(in crate::nvml) const ALL_LINKS: u32 = u32::MAX;

    /// Makes a field of the whole card.
    pub(in crate::nvml) const fn of_card(id: u32) -> Self {
        Self { id, scope: 0 }
    }
}

/// The number in a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::nvml) struct FieldNumber {
    pub(in crate::nvml) value: f64,
    /// Whether the library gave no more than 32 bits, so that a counter begins anew after 2^32.
    pub(in crate::nvml) is_narrow: bool,
}

/// What one field of `nvmlDeviceGetFieldValues` gave.
type FieldAnswer = Answer<FieldNumber>;

/// Which of the three kinds of process lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nvml) enum ListKind {
    Compute,
    Graphics,
    Mps,
}

/// Forms of the process lists, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nvml) enum ListForm {
    V3,
    V2,
    V1,
}
impl Library {
    /// Returns the values of a sample buffer that are newer than a time stamp, oldest first as the driver has them.
    pub(in crate::nvml) fn samples(&self, device: Device, buffer: u32, seen_us: u64) -> Answer<Vec<Stamped>> {
        let function = found(&self.functions.nvmlDeviceGetSamples)?;
        let (mut value_type, mut count) = (0, 0);
        // SAFETY: without a buffer the call only writes the type and the number of values.
        accepted(unsafe {
            function(device.0, buffer, seen_us, &raw mut value_type, &raw mut count, std::ptr::null_mut())
        })?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut samples = zeroed_rows::<nvmlSample_t>(count)?;
        // SAFETY: the buffer holds as many values as the count says.
        accepted(unsafe {
            function(device.0, buffer, seen_us, &raw mut value_type, &raw mut count, samples.as_mut_ptr())
        })?;
        samples.truncate(count as usize);
        samples
            .iter()
            .map(|sample| {
                let value = number(sample.sampleValue, value_type)?;
                Ok(Stamped { time_us: sample.timeStamp, value })
            })
            .collect()
    }

    /// Returns the work of processes in the driver's periods that are newer than a time stamp.
    pub(in crate::nvml) fn process_utilization(
        &self,
        device: Device,
        seen_us: u64,
    ) -> Answer<Vec<nvmlProcessUtilizationSample_t>> {
        let function = found(&self.functions.nvmlDeviceGetProcessUtilization)?;
        let mut count = 0;
        // SAFETY: without a buffer the call only writes the number of rows.
        let size = accepted(unsafe { function(device.0, std::ptr::null_mut(), &raw mut count, seen_us) });
        match size {
            Ok(()) | Err(Refusal::Code(Refusal::INSUFFICIENT_SIZE)) => {}
            Err(refusal) => return Err(refusal),
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut rows = zeroed_rows::<nvmlProcessUtilizationSample_t>(count)?;
        // SAFETY: the buffer holds as many rows as the count says.
        accepted(unsafe { function(device.0, rows.as_mut_ptr(), &raw mut count, seen_us) })?;
        rows.truncate(count as usize);
        // The library leaves rows without a process empty.
        rows.retain(|row| row.timeStamp != 0);
        Ok(rows)
    }

    /// Returns the values of fields, in their order.
    pub(in crate::nvml) fn fields(&self, device: Device, fields: &[Field]) -> Answer<Vec<FieldAnswer>> {
        let function = found(&self.functions.nvmlDeviceGetFieldValues)?;
        let mut values = zeroed_rows::<nvmlFieldValue_t>(u32::try_from(fields.len()).unwrap_or(u32::MAX))?;
        for (value, field) in values.iter_mut().zip(fields) {
            value.fieldId = field.id;
            value.scopeId = field.scope;
            // A field that the library skips keeps this code.
            value.nvmlReturn = Refusal::NOT_SUPPORTED;
        }
        let count = i32::try_from(fields.len()).map_err(|_| Refusal::Nonsense)?;
        // SAFETY: the buffer holds as many fields as the count says.
        accepted(unsafe { function(device.0, count, values.as_mut_ptr()) })?;
        let answer = |field: &nvmlFieldValue_t| {
            accepted(field.nvmlReturn)?;
            let value = number(field.value, field.valueType)?;
            Ok(FieldNumber { value, is_narrow: NARROW_TYPES.contains(&field.valueType) })
        };
        Ok(values.iter().map(answer).collect())
    }

    /// Returns the rows of a process list as the library wrote them.
    pub(in crate::nvml) fn process_rows(
        &self,
        device: Device,
        kind: ListKind,
        form: ListForm,
    ) -> Answer<Rows> {
        let functions = &self.functions;
        match (kind, form) {
            (ListKind::Compute, ListForm::V3) => {
                rows(&functions.nvmlDeviceGetComputeRunningProcesses_v3, device)
            }
            (ListKind::Compute, ListForm::V2) => {
                rows(&functions.nvmlDeviceGetComputeRunningProcesses_v2, device)
            }
            (ListKind::Compute, ListForm::V1) => {
                rows(&functions.nvmlDeviceGetComputeRunningProcesses, device)
            }
            (ListKind::Graphics, ListForm::V3) => {
                rows(&functions.nvmlDeviceGetGraphicsRunningProcesses_v3, device)
            }
            (ListKind::Graphics, ListForm::V2) => {
                rows(&functions.nvmlDeviceGetGraphicsRunningProcesses_v2, device)
            }
            (ListKind::Graphics, ListForm::V1) => {
                rows(&functions.nvmlDeviceGetGraphicsRunningProcesses, device)
            }
            (ListKind::Mps, ListForm::V3) => {
                rows(&functions.nvmlDeviceGetMPSComputeRunningProcesses_v3, device)
            }
            (ListKind::Mps, ListForm::V2) => {
                rows(&functions.nvmlDeviceGetMPSComputeRunningProcesses_v2, device)
            }
            (ListKind::Mps, ListForm::V1) => rows(&functions.nvmlDeviceGetMPSComputeRunningProcesses, device),
        }
    }
}

/// Asks for the number of rows, then for the rows, into a buffer with room for rows of any size that was ever used.
fn rows<T>(function: &Function<ProcessFunction<T>>, device: Device) -> Answer<Rows> {
    let function = found(function)?;
    let mut count: c_uint = 0;
    // SAFETY: without a buffer the call only writes the number of rows.
    match accepted(unsafe { function(device.0, &raw mut count, std::ptr::null_mut()) }) {
        Ok(()) if count == 0 => return Ok(Rows::none()),
        Ok(()) | Err(Refusal::Code(Refusal::INSUFFICIENT_SIZE)) => {}
        Err(refusal) => return Err(refusal),
    }
    if count > ROWS_MAX {
        return Err(Refusal::Nonsense);
    }
    // Processes may have started since.
    let mut count = count.saturating_add(16);
    let mut buffer = RowsBuffer::with_room_for(count as usize);
    // SAFETY: the buffer is aligned for every row form and has room for the largest row form times the count.
    accepted(unsafe { function(device.0, &raw mut count, buffer.as_mut_ptr().cast()) })?;
    Ok(buffer.into_rows(count as usize))
}

/// Returns a list of plain C structures for the library to fill.
fn zeroed_rows<T: Copy>(count: u32) -> Answer<Vec<T>> {
    if count > ROWS_MAX {
        return Err(Refusal::Nonsense);
    }
    // SAFETY: `T` is a C structure of numbers (all callers are in this folder): all zeroes is a value of it.
    let empty: T = unsafe { MaybeUninit::zeroed().assume_init() };
    Ok(vec![empty; count as usize])
}
