//! The NVIDIA library by its C interface: every call, as a function that cannot be misused.
//!
//! A symbol that the library lacks is [`Refusal::Missing`]; nothing here judges or keeps anything.
#![expect(unsafe_code, reason = "the library is C, loaded at run time")]

use std::ffi::{CStr, c_char, c_uint};
use std::mem::MaybeUninit;
use std::path::Path;

use nvml_wrapper_sys::bindings::{NvmlLib, nvmlDevice_t, nvmlReturn_t, nvmlValue_t};

mod activity;
mod card;
mod events;
mod health;
mod instances;
mod link;
mod lists;
mod system;

pub(super) use activity::GpmSample;
pub(super) use events::EventSet;
pub(super) use health::{RowsOfSpares, RowsReplaced};
pub(super) use link::FabricAnswer;
pub(super) use lists::{Field, FieldNumber, ListForm, ListKind};

/// The name by which the loader finds the library of the installed driver.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Long enough for every name and version; the library cuts what is longer.
const TEXT_LENGTH: usize = 96;

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
    pub(super) const INVALID_ARGUMENT: u32 = 2;
    const NOT_SUPPORTED: u32 = 3;
    pub(super) const NO_PERMISSION: u32 = 4;
    pub(super) const NOT_FOUND: u32 = 6;
    const INSUFFICIENT_SIZE: u32 = 7;
    const TIMEOUT: u32 = 10;
    const FUNCTION_NOT_FOUND: u32 = 13;
    pub(super) const GPU_IS_LOST: u32 = 15;
    const VERSION_MISMATCH: u32 = 25;
    const DEPRECATED: u32 = 26;
    const UNKNOWN: u32 = 999;

    /// Returns the `nvmlReturn_t` that says the same.
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Missing => Self::FUNCTION_NOT_FOUND,
            Self::Code(code) => code,
            Self::Nonsense => Self::UNKNOWN,
        }
    }

    /// Returns whether this library will never give the value of this card.
    pub(super) const fn is_lasting(self) -> bool {
        self.is_unknown_function() || matches!(self, Self::Code(Self::NOT_SUPPORTED | Self::DEPRECATED))
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

/// One card, as the library knows it; only valid with the library that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Device(nvmlDevice_t);

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
    // SAFETY: `T` is an integer or a C structure of integers (all callers are in this folder): all zeroes is a
    // value of it, so it is one whether or not the library wrote every byte.
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
