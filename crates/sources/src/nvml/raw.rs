//! The NVIDIA library by its C interface: every call, as a function that cannot be misused.
//!
//! A symbol that the library lacks is [`Refusal::Missing`]; nothing here judges or keeps anything.
#![expect(unsafe_code, reason = "the library is C, loaded at run time")]

use std::ffi::{CStr, c_char, c_uint};
use std::mem::MaybeUninit;
use std::path::Path;

use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlBAR1Memory_t, nvmlDevice_t, nvmlFieldValue_t, nvmlMarginTemperature_t, nvmlMemory_t,
    nvmlMemory_v2_t, nvmlPciInfo_t, nvmlProcessUtilizationSample_t, nvmlReturn_t, nvmlSample_t,
    nvmlTemperature_t, nvmlUtilization_t, nvmlValue_t,
};

use super::process_list::{Rows, RowsBuffer};

/// The name by which the loader finds the library of the installed driver.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Long enough for every name and version; the library cuts what is longer.
const TEXT_LENGTH: usize = 96;

/// More rows than a list may hold: a count above it is nonsense, not memory to be reserved.
const ROWS_MAX: u32 = 65_536;

/// Why a call gave no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The library has no such function.
    Missing,
    /// It answered with this `nvmlReturn_t`.
    Code(u32),
    /// It answered with something that cannot be.
    Nonsense,
}

impl Refusal {
    pub(super) const NOT_SUPPORTED: u32 = 3;
    pub(super) const NO_PERMISSION: u32 = 4;
    pub(super) const NOT_FOUND: u32 = 6;
    const INSUFFICIENT_SIZE: u32 = 7;
    pub(super) const FUNCTION_NOT_FOUND: u32 = 13;
    pub(super) const GPU_IS_LOST: u32 = 15;
    const VERSION_MISMATCH: u32 = 25;
    const UNKNOWN: u32 = 999;

    /// Returns the `nvmlReturn_t` that says the same.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Missing => Self::FUNCTION_NOT_FOUND,
            Self::Code(code) => code,
            Self::Nonsense => Self::UNKNOWN,
        }
    }

    /// Returns whether the library has no such function, or not in this form.
    pub(super) const fn is_unknown_function(self) -> bool {
        matches!(self, Self::Missing | Self::Code(Self::FUNCTION_NOT_FOUND | Self::VERSION_MISMATCH))
    }
}

/// What a call gave.
pub(super) type Answer<T> = Result<T, Refusal>;

/// A function of the library, or the loader's word that it is not there.
type Function<F> = Result<F, libloading::Error>;

/// A function that gives one value of a card.
type CardFunction<T> = unsafe extern "C" fn(nvmlDevice_t, *mut T) -> nvmlReturn_t;

/// A function that gives one text of a card.
type CardText = unsafe extern "C" fn(nvmlDevice_t, *mut c_char, c_uint) -> nvmlReturn_t;

/// A function that gives one value of a card by a selector.
type CardChoice<T> = unsafe extern "C" fn(nvmlDevice_t, c_uint, *mut T) -> nvmlReturn_t;

/// A function that fills rows of a process list.
type ProcessFunction<T> = unsafe extern "C" fn(nvmlDevice_t, *mut c_uint, *mut T) -> nvmlReturn_t;

/// One card, as the library knows it; only valid with the library that gave it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Device(nvmlDevice_t);

/// Values with the driver's time stamps.
pub(super) struct Stamped {
    pub(super) time_us: u64,
    pub(super) value: f64,
}

/// What one field of `nvmlDeviceGetFieldValues` gave.
pub(super) type FieldAnswer = Answer<f64>;

/// Which of the three kinds of process lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Compute,
    Graphics,
    Mps,
}

/// Forms of the process lists, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListForm {
    V3,
    V2,
    V1,
}

/// The loaded library.
pub(super) struct Library {
    functions: NvmlLib,
}

impl Library {
    /// Loads the library from a path, or as the loader finds it.
    pub(super) fn load(path: Option<&Path>) -> Result<Self, String> {
        let name = path.unwrap_or(Path::new(LIBRARY));
        // SAFETY: loading runs the library's own constructors; the driver's library is made to be loaded so, and this
        // process exists for nothing else.
        let functions = unsafe { NvmlLib::new(name) };
        functions.map(|functions| Self { functions }).map_err(|error| error.to_string())
    }

    pub(super) fn init(&self) -> Answer<()> {
        let function = found(&self.functions.nvmlInit_v2)?;
        // SAFETY: takes nothing and may be called at any time.
        accepted(unsafe { function() })
    }

    pub(super) fn driver_version(&self) -> Answer<String> {
        let function = found(&self.functions.nvmlSystemGetDriverVersion)?;
        // SAFETY: the library writes at most the given number of bytes, its end mark included.
        text(|buffer, length| unsafe { function(buffer, length) })
    }

    pub(super) fn library_version(&self) -> Answer<String> {
        let function = found(&self.functions.nvmlSystemGetNVMLVersion)?;
        // SAFETY: the library writes at most the given number of bytes, its end mark included.
        text(|buffer, length| unsafe { function(buffer, length) })
    }

    pub(super) fn cuda_version(&self) -> Answer<i32> {
        let function = found(&self.functions.nvmlSystemGetCudaDriverVersion_v2)?;
        // SAFETY: writes one int.
        filled(|value| unsafe { function(value) })
    }

    pub(super) fn count(&self) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetCount_v2)?;
        // SAFETY: writes one unsigned int.
        filled(|value| unsafe { function(value) })
    }

    pub(super) fn device(&self, index: u32) -> Answer<Device> {
        let function = found(&self.functions.nvmlDeviceGetHandleByIndex_v2)?;
        let mut device: nvmlDevice_t = std::ptr::null_mut();
        // SAFETY: writes one handle.
        accepted(unsafe { function(index, &raw mut device) })?;
        Ok(Device(device))
    }

    pub(super) fn uuid(&self, device: Device) -> Answer<String> {
        card_text(&self.functions.nvmlDeviceGetUUID, device)
    }

    pub(super) fn name(&self, device: Device) -> Answer<String> {
        card_text(&self.functions.nvmlDeviceGetName, device)
    }

    pub(super) fn pci_info(&self, device: Device) -> Answer<nvmlPciInfo_t> {
        card_value(&self.functions.nvmlDeviceGetPciInfo_v3, device)
    }

    pub(super) fn minor_number(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMinorNumber, device)
    }

    pub(super) fn memory_v2(&self, device: Device) -> Answer<nvmlMemory_v2_t> {
        let function = found(&self.functions.nvmlDeviceGetMemoryInfo_v2)?;
        let mut memory = nvmlMemory_v2_t {
            version: version::<nvmlMemory_v2_t>(2),
            total: 0,
            reserved: 0,
            free: 0,
            used: 0,
        };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut memory) })?;
        Ok(memory)
    }

    pub(super) fn memory_v1(&self, device: Device) -> Answer<nvmlMemory_t> {
        card_value(&self.functions.nvmlDeviceGetMemoryInfo, device)
    }

    pub(super) fn bar1(&self, device: Device) -> Answer<nvmlBAR1Memory_t> {
        card_value(&self.functions.nvmlDeviceGetBAR1MemoryInfo, device)
    }

    pub(super) fn utilization(&self, device: Device) -> Answer<nvmlUtilization_t> {
        card_value(&self.functions.nvmlDeviceGetUtilizationRates, device)
    }

    pub(super) fn power(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPowerUsage, device)
    }

    pub(super) fn enforced_limit(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetEnforcedPowerLimit, device)
    }

    pub(super) fn default_limit(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPowerManagementDefaultLimit, device)
    }

    /// Returns the highest limit that can be set.
    pub(super) fn maximum_limit(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetPowerManagementLimitConstraints)?;
        let (mut minimum, mut maximum) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut minimum, &raw mut maximum) })?;
        Ok(maximum)
    }

    pub(super) fn energy(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetTotalEnergyConsumption, device)
    }

    pub(super) fn temperature(&self, device: Device) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetTemperature, device, 0)
    }

    pub(super) fn temperature_v(&self, device: Device) -> Answer<i32> {
        let function = found(&self.functions.nvmlDeviceGetTemperatureV)?;
        let mut temperature =
            nvmlTemperature_t { version: version::<nvmlTemperature_t>(1), sensorType: 0, temperature: 0 };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut temperature) })?;
        Ok(temperature.temperature)
    }

    pub(super) fn threshold(&self, device: Device, threshold: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetTemperatureThreshold, device, threshold)
    }

    pub(super) fn margin(&self, device: Device) -> Answer<i32> {
        let function = found(&self.functions.nvmlDeviceGetMarginTemperature)?;
        let mut margin =
            nvmlMarginTemperature_t { version: version::<nvmlMarginTemperature_t>(1), marginTemperature: 0 };
        // SAFETY: writes one structure, whose version word says its size.
        accepted(unsafe { function(device.0, &raw mut margin) })?;
        Ok(margin.marginTemperature)
    }

    pub(super) fn fan(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetFanSpeed, device)
    }

    pub(super) fn clock(&self, device: Device, clock: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetClockInfo, device, clock)
    }

    pub(super) fn maximum_clock(&self, device: Device, clock: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetMaxClockInfo, device, clock)
    }

    pub(super) fn performance_state(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPerformanceState, device)
    }

    pub(super) fn event_reasons(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetCurrentClocksEventReasons, device)
    }

    pub(super) fn throttle_reasons(&self, device: Device) -> Answer<u64> {
        card_value(&self.functions.nvmlDeviceGetCurrentClocksThrottleReasons, device)
    }

    pub(super) fn link_generation(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetCurrPcieLinkGeneration, device)
    }

    pub(super) fn link_width(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetCurrPcieLinkWidth, device)
    }

    pub(super) fn maximum_link_generation(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMaxPcieLinkGeneration, device)
    }

    pub(super) fn maximum_link_width(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetMaxPcieLinkWidth, device)
    }

    pub(super) fn replays(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPcieReplayCounter, device)
    }

    /// Returns kilobytes per second over 20 ms, for which it blocks.
    pub(super) fn throughput(&self, device: Device, counter: u32) -> Answer<u32> {
        card_choice(&self.functions.nvmlDeviceGetPcieThroughput, device, counter)
    }

    pub(super) fn compute_mode(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetComputeMode, device)
    }

    pub(super) fn persistence(&self, device: Device) -> Answer<u32> {
        card_value(&self.functions.nvmlDeviceGetPersistenceMode, device)
    }

    /// Returns the multi-instance mode in force.
    pub(super) fn mig_mode(&self, device: Device) -> Answer<u32> {
        let function = found(&self.functions.nvmlDeviceGetMigMode)?;
        let (mut current, mut pending) = (0, 0);
        // SAFETY: writes two unsigned ints.
        accepted(unsafe { function(device.0, &raw mut current, &raw mut pending) })?;
        Ok(current)
    }

    /// Returns the values of a sample buffer that are newer than a time stamp, oldest first as the driver has them.
    pub(super) fn samples(&self, device: Device, buffer: u32, seen_us: u64) -> Answer<Vec<Stamped>> {
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
    pub(super) fn process_utilization(
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

    /// Returns the values of fields, in the order of their ids.
    pub(super) fn fields(&self, device: Device, ids: &[u32]) -> Answer<Vec<FieldAnswer>> {
        let function = found(&self.functions.nvmlDeviceGetFieldValues)?;
        let mut values = zeroed_rows::<nvmlFieldValue_t>(u32::try_from(ids.len()).unwrap_or(u32::MAX))?;
        for (value, id) in values.iter_mut().zip(ids) {
            value.fieldId = *id;
            // A field that the library skips keeps this code.
            value.nvmlReturn = Refusal::NOT_SUPPORTED;
        }
        let count = i32::try_from(ids.len()).map_err(|_| Refusal::Nonsense)?;
        // SAFETY: the buffer holds as many fields as the count says.
        accepted(unsafe { function(device.0, count, values.as_mut_ptr()) })?;
        let answer = |field: &nvmlFieldValue_t| {
            accepted(field.nvmlReturn)?;
            number(field.value, field.valueType)
        };
        Ok(values.iter().map(answer).collect())
    }

    /// Returns the rows of a process list as the library wrote them.
    pub(super) fn process_rows(&self, device: Device, kind: ListKind, form: ListForm) -> Answer<Rows> {
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

/// Returns the function, if the library has it.
fn found<F: Copy>(function: &Function<F>) -> Answer<F> {
    function.as_ref().copied().map_err(|_| Refusal::Missing)
}

/// Returns what a return code says.
fn accepted(code: nvmlReturn_t) -> Answer<()> {
    if code == 0 { Ok(()) } else { Err(Refusal::Code(code)) }
}

/// Returns the version word of a structure: its size, and the number of its form.
fn version<T>(form: u32) -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(0) | (form << 24)
}

/// Returns a plain C value that a call has filled.
fn filled<T>(call: impl FnOnce(*mut T) -> nvmlReturn_t) -> Answer<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    accepted(call(value.as_mut_ptr()))?;
    // SAFETY: `T` is an integer or a C structure of integers (all callers are in this file): all zeroes is a value of
    // it, so it is one whether or not the library wrote every byte.
    Ok(unsafe { value.assume_init() })
}

fn card_value<T>(function: &Function<CardFunction<T>>, device: Device) -> Answer<T> {
    let function = found(function)?;
    // SAFETY: writes one value of the type that the function's own signature names.
    filled(|value| unsafe { function(device.0, value) })
}

fn card_choice<T>(function: &Function<CardChoice<T>>, device: Device, choice: c_uint) -> Answer<T> {
    let function = found(function)?;
    // SAFETY: writes one value of the type that the function's own signature names.
    filled(|value| unsafe { function(device.0, choice, value) })
}

fn card_text(function: &Function<CardText>, device: Device) -> Answer<String> {
    let function = found(function)?;
    // SAFETY: the library writes at most the given number of bytes, its end mark included.
    text(|buffer, length| unsafe { function(device.0, buffer, length) })
}

/// Returns a text that a call has written.
fn text(call: impl FnOnce(*mut c_char, c_uint) -> nvmlReturn_t) -> Answer<String> {
    let mut buffer = [0 as c_char; TEXT_LENGTH + 1];
    let length = c_uint::try_from(TEXT_LENGTH).unwrap_or(0);
    accepted(call(buffer.as_mut_ptr(), length))?;
    // SAFETY: the last byte lies behind what the library may write: the text ends inside the buffer.
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    Ok(text.to_string_lossy().chars().filter(|character| !character.is_control()).collect())
}

/// Returns a list of plain C structures for the library to fill.
fn zeroed_rows<T: Copy>(count: u32) -> Answer<Vec<T>> {
    if count > ROWS_MAX {
        return Err(Refusal::Nonsense);
    }
    // SAFETY: `T` is a C structure of numbers (all callers are in this file): all zeroes is a value of it.
    let empty: T = unsafe { MaybeUninit::zeroed().assume_init() };
    Ok(vec![empty; count as usize])
}

/// Returns the number in a value of the given `nvmlValueType_t`.
fn number(value: nvmlValue_t, value_type: u32) -> Answer<f64> {
    // SAFETY: every member is a plain number, and the library says which one it wrote; the others of its bytes are
    // the zeroes that the row was made of.
    Ok(unsafe {
        match value_type {
            0 => value.dVal,
            1 => f64::from(value.uiVal),
            2 => value.ulVal as f64,
            3 => value.ullVal as f64,
            4 => value.sllVal as f64,
            5 => f64::from(value.siVal),
            6 => f64::from(value.usVal),
            _ => return Err(Refusal::Nonsense),
        }
    })
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
