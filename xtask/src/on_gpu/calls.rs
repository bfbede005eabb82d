//! How long each call of the NVIDIA library takes on a real card, and what it answers.
#![expect(unsafe_code, reason = "calls the driver's C library by name")]

use std::ffi::{c_char, c_uint, c_void};
use std::fmt::Write as _;
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use libloading::Library;

/// How often each call is made; the middle of all is told.
const TIMES: usize = 7;

/// More bytes than any structure of the interface has.
const ROOM: usize = 64 << 10;

type Device = *mut c_void;

/// What a call takes besides the card.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// A place for its answer.
    Value,
    /// A choice, and a place for its answer.
    Choice(c_uint),
    /// Room for a text, and its length.
    Text,
    /// A place for a structure that begins with its version word: its form in the upper byte, its size in the others.
    Versioned(u32),
}

/// Calls whose answer fits into [`ROOM`] whatever the driver.
const CALLS: &[(&str, Shape)] = &[
    ("nvmlDeviceGetName", Shape::Text),
    ("nvmlDeviceGetUUID", Shape::Text),
    ("nvmlDeviceGetSerial", Shape::Text),
    ("nvmlDeviceGetVbiosVersion", Shape::Text),
    ("nvmlDeviceGetInforomImageVersion", Shape::Text),
    ("nvmlDeviceGetMinorNumber", Shape::Value),
    ("nvmlDeviceGetPciInfo_v3", Shape::Value),
    ("nvmlDeviceGetMemoryInfo", Shape::Value),
    ("nvmlDeviceGetMemoryInfo_v2", Shape::Versioned(0x0200_0028)),
    ("nvmlDeviceGetBAR1MemoryInfo", Shape::Value),
    ("nvmlDeviceGetUtilizationRates", Shape::Value),
    ("nvmlDeviceGetPowerUsage", Shape::Value),
    ("nvmlDeviceGetEnforcedPowerLimit", Shape::Value),
    ("nvmlDeviceGetPowerManagementLimit", Shape::Value),
    ("nvmlDeviceGetPowerManagementDefaultLimit", Shape::Value),
    ("nvmlDeviceGetTotalEnergyConsumption", Shape::Value),
    ("nvmlDeviceGetTemperature", Shape::Choice(0)),
    ("nvmlDeviceGetTemperatureThreshold", Shape::Choice(1)),
    ("nvmlDeviceGetMarginTemperature", Shape::Versioned(0x0100_0008)),
    ("nvmlDeviceGetFanSpeed", Shape::Value),
    ("nvmlDeviceGetClockInfo", Shape::Choice(1)),
    ("nvmlDeviceGetMaxClockInfo", Shape::Choice(1)),
    ("nvmlDeviceGetPerformanceState", Shape::Value),
    ("nvmlDeviceGetCurrentClocksEventReasons", Shape::Value),
    ("nvmlDeviceGetCurrentClocksThrottleReasons", Shape::Value),
    ("nvmlDeviceGetViolationStatus", Shape::Choice(0)),
    ("nvmlDeviceGetCurrPcieLinkGeneration", Shape::Value),
    ("nvmlDeviceGetCurrPcieLinkWidth", Shape::Value),
    ("nvmlDeviceGetMaxPcieLinkGeneration", Shape::Value),
    ("nvmlDeviceGetGpuMaxPcieLinkGeneration", Shape::Value),
    ("nvmlDeviceGetPcieReplayCounter", Shape::Value),
    ("nvmlDeviceGetPcieThroughput", Shape::Choice(0)),
    ("nvmlDeviceGetComputeMode", Shape::Value),
    ("nvmlDeviceGetPersistenceMode", Shape::Value),
    ("nvmlDeviceGetDisplayActive", Shape::Value),
    ("nvmlDeviceGetRetiredPagesPendingStatus", Shape::Value),
    ("nvmlDeviceGetNumFans", Shape::Value),
    ("nvmlDeviceGetMaxMigDeviceCount", Shape::Value),
    ("nvmlDeviceGetNvLinkState", Shape::Choice(0)),
    ("nvmlDeviceGetNvLinkVersion", Shape::Choice(0)),
    ("nvmlDeviceGetGpuFabricInfo", Shape::Value),
];

/// Asks the first card everything and returns a table in Markdown.
///
/// # Errors
/// Fails when the library cannot be loaded or started, or has no card.
pub(super) fn table(path: &Path) -> Result<String> {
    // SAFETY: the library runs its own initialisers, as in every program that uses it.
    let library = unsafe { Library::new(path) }
        .with_context(|| format!("cannot load the driver's library `{}`", path.display()))?;
    let (start, code) = start(&library)?;
    ensure!(code == 0, "nvmlInit_v2 ended with NVML error {code}");
    let device = first_card(&library)?;
    let mut text = format!(
        "| call | middle of {TIMES} | longest | code |\n|---|---|---|---|\n| nvmlInit_v2 | {} | | 0 |\n",
        milliseconds(start)
    );
    for (name, shape) in CALLS {
        let Some((times, code)) = measure(&library, device, name, *shape) else {
            let _ = writeln!(text, "| {name} | not there | | |");
            continue;
        };
        let (middle, longest) = (times[times.len() / 2], times[times.len() - 1]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {} | {} | {code} |", milliseconds(middle), milliseconds(longest));
    }
    Ok(text)
}

fn milliseconds(length: Duration) -> String {
    format!("{:.3} ms", length.as_secs_f64() * 1000.0)
}

fn start(library: &Library) -> Result<(Duration, u32)> {
    // SAFETY: the signature is that of the published interface.
    let init = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"nvmlInit_v2") }
        .context("the library has no nvmlInit_v2")?;
    let begun = Instant::now();
    // SAFETY: the call takes nothing and may be made at any time.
    let code = unsafe { init() };
    Ok((begun.elapsed(), code))
}

fn first_card(library: &Library) -> Result<Device> {
    let mut device: Device = ptr::null_mut();
    // SAFETY: the signature is that of the published interface; the call writes one handle.
    let code = unsafe {
        let get = library
            .get::<unsafe extern "C" fn(c_uint, *mut Device) -> u32>(b"nvmlDeviceGetHandleByIndex_v2")
            .context("the library has no nvmlDeviceGetHandleByIndex_v2")?;
        get(0, &raw mut device)
    };
    ensure!(code == 0, "nvmlDeviceGetHandleByIndex_v2 ended with NVML error {code}");
    Ok(device)
}

/// Makes one call several times; returns the times in rising order and the last code, nothing without the function.
fn measure(library: &Library, device: Device, name: &str, shape: Shape) -> Option<(Vec<Duration>, u32)> {
    let mut room = vec![0_u64; ROOM / 8];
    let mut times = Vec::with_capacity(TIMES);
    let mut code = 0;
    for _ in 0..TIMES {
        if let Shape::Versioned(version) = shape {
            room[0] = u64::from(version);
        }
        let begun = Instant::now();
        code = call(library, device, name, shape, &mut room)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Some((times, code))
}

fn call(library: &Library, device: Device, name: &str, shape: Shape, room: &mut [u64]) -> Option<u32> {
    let place: *mut c_void = room.as_mut_ptr().cast();
    let length = c_uint::try_from(ROOM).unwrap_or(0);
    // SAFETY: the list pairs each function with its published signature, and what it writes fits into the room, which is
    // aligned for any of its structures.
    unsafe {
        match shape {
            Shape::Value | Shape::Versioned(_) => {
                let function =
                    library.get::<unsafe extern "C" fn(Device, *mut c_void) -> u32>(name.as_bytes());
                function.ok().map(|function| function(device, place))
            }
            Shape::Choice(choice) => {
                let function =
                    library.get::<unsafe extern "C" fn(Device, c_uint, *mut c_void) -> u32>(name.as_bytes());
                function.ok().map(|function| function(device, choice, place))
            }
            Shape::Text => {
                let function =
                    library.get::<unsafe extern "C" fn(Device, *mut c_char, c_uint) -> u32>(name.as_bytes());
                function.ok().map(|function| function(device, place.cast(), length))
            }
        }
    }
}
