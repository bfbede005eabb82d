//! The library of the box as a program calls it, so that a stand-in meets the same faults as everybody else.
#![expect(unsafe_code, reason = "loads the library and calls its C interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

/// NVML's return code.
pub(super) type Code = u32;
/// The function is missing.
const FUNCTION_NOT_FOUND: Code = 13;
/// Longest text that is asked for.
const TEXT: usize = 96;

/// A loaded library.
pub(super) struct Library {
    handle: NonNull<c_void>,
}

/// A card's handle.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Device(*mut c_void);

impl Library {
    /// Loads the library at `path`; nothing when there is none.
    pub(super) fn load(path: &Path) -> Option<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: the path ends with NUL; the library is ours, and its initialisers do nothing.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(|handle| Self { handle })
    }

    fn symbol(&self, name: &str) -> Result<NonNull<c_void>, Code> {
        let name = CString::new(name).map_err(|_| FUNCTION_NOT_FOUND)?;
        // SAFETY: the library stays loaded for as long as the process lives, and the name ends with NUL.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) }).ok_or(FUNCTION_NOT_FOUND)
    }

    /// Initialises the library.
    pub(super) fn initialise(&self) -> Result<(), Code> {
        let symbol = self.symbol("nvmlInit_v2")?;
        // SAFETY: NVML declares this function without parameters, returning its code.
        let function: unsafe extern "C" fn() -> Code = unsafe { std::mem::transmute(symbol) };
        // SAFETY: no pointers are passed.
        check(unsafe { function() })
    }

    /// Number of cards.
    pub(super) fn count(&self) -> Result<u32, Code> {
        let symbol = self.symbol("nvmlDeviceGetCount_v2")?;
        // SAFETY: NVML declares this function with one pointer to a number.
        let function: unsafe extern "C" fn(*mut c_uint) -> Code = unsafe { std::mem::transmute(symbol) };
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(&raw mut count) })?;
        Ok(count)
    }

    /// Handle of a card, or of an instance of one.
    pub(super) fn handle(&self, index: u32) -> Result<Device, Code> {
        let symbol = self.symbol("nvmlDeviceGetHandleByIndex_v2")?;
        // SAFETY: NVML declares this function with an index and a pointer to a handle.
        let function: unsafe extern "C" fn(c_uint, *mut Device) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut device = Device(std::ptr::null_mut());
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(index, &raw mut device) })?;
        Ok(device)
    }

    /// Handle of an instance of a card.
    pub(super) fn instance(&self, card: Device, index: u32) -> Result<Device, Code> {
        let symbol = self.symbol("nvmlDeviceGetMigDeviceHandleByIndex")?;
        // SAFETY: NVML declares this function with a handle, an index and a pointer to a handle.
        let function: unsafe extern "C" fn(Device, c_uint, *mut Device) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut device = Device(std::ptr::null_mut());
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(card, index, &raw mut device) })?;
        Ok(device)
    }

    /// A text about the system: `nvmlSystemGet…`.
    pub(super) fn system_text(&self, name: &str) -> Result<String, Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a buffer and its length.
        let function: unsafe extern "C" fn(*mut c_char, c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut buffer = [0; TEXT];
        // SAFETY: the buffer is as long as it says.
        check(unsafe { function(buffer.as_mut_ptr(), length()) })?;
        Ok(text(&buffer))
    }

    /// A text about a card.
    pub(super) fn text(&self, name: &str, device: Device) -> Result<String, Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle, a buffer and its length.
        let function: unsafe extern "C" fn(Device, *mut c_char, c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut buffer = [0; TEXT];
        // SAFETY: the buffer is as long as it says.
        check(unsafe { function(device, buffer.as_mut_ptr(), length()) })?;
        Ok(text(&buffer))
    }

    /// A number about a card.
    pub(super) fn number(&self, name: &str, device: Device) -> Result<u32, Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle and a pointer to a number.
        let function: unsafe extern "C" fn(Device, *mut c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut number = 0;
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(device, &raw mut number) })?;
        Ok(number)
    }

    /// A number about one of a card's sensors, clocks or error types.
    pub(super) fn number_of(&self, name: &str, device: Device, which: u32) -> Result<u32, Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle, a choice and a pointer to a number.
        let function: unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut number = 0;
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(device, which, &raw mut number) })?;
        Ok(number)
    }

    /// Two numbers about a card that NVML hands over one after the other.
    pub(super) fn two_numbers(&self, name: &str, device: Device) -> Result<[u32; 2], Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle and two pointers to numbers.
        let function: unsafe extern "C" fn(Device, *mut c_uint, *mut c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut numbers = [0; 2];
        let [one, two] = &mut numbers;
        // SAFETY: the pointers are valid for the call.
        check(unsafe { function(device, one, two) })?;
        Ok(numbers)
    }

    /// Total, reserved, free and used bytes of a card.
    pub(super) fn memory(&self, device: Device) -> Result<[u64; 4], Code> {
        const VERSION: u64 = 0x0200_0028;
        let symbol = self.symbol("nvmlDeviceGetMemoryInfo_v2")?;
        // SAFETY: NVML declares this function with a handle and a structure of a version word and four numbers.
        let function: unsafe extern "C" fn(Device, *mut u64) -> Code = unsafe { std::mem::transmute(symbol) };
        let mut words = [VERSION, 0, 0, 0, 0];
        // SAFETY: five words are the structure; the version word is the first half of the first.
        check(unsafe { function(device, words.as_mut_ptr()) })?;
        let [_, total, reserved, free, used] = words;
        Ok([total, reserved, free, used])
    }

    /// Percent of the time with a kernel, and with memory traffic.
    pub(super) fn utilization(&self, device: Device) -> Result<[u32; 2], Code> {
        let symbol = self.symbol("nvmlDeviceGetUtilizationRates")?;
        // SAFETY: NVML declares this function with a handle and a structure of two numbers.
        let function: unsafe extern "C" fn(Device, *mut c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut numbers = [0; 2];
        // SAFETY: two numbers are the structure.
        check(unsafe { function(device, numbers.as_mut_ptr()) })?;
        Ok(numbers)
    }

    /// PCI address as NVML writes it.
    pub(super) fn pci_bus_id(&self, device: Device) -> Result<String, Code> {
        /// `nvmlPciInfo_t` is 68 bytes: the old address, five numbers, the address.
        const BUS_ID: usize = 36;
        let symbol = self.symbol("nvmlDeviceGetPciInfo_v3")?;
        // SAFETY: NVML declares this function with a handle and a structure of 68 bytes that are aligned to 4.
        let function: unsafe extern "C" fn(Device, *mut u32) -> Code = unsafe { std::mem::transmute(symbol) };
        let mut words = [0_u32; 17];
        // SAFETY: seventeen words are the structure.
        check(unsafe { function(device, words.as_mut_ptr()) })?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let letters = bytes[BUS_ID..].iter().take_while(|byte| **byte != 0).copied().collect();
        Ok(String::from_utf8(letters).unwrap_or_default())
    }

    /// Process ids and bytes of the compute processes of a card.
    pub(super) fn processes(&self, device: Device) -> Result<Vec<(u32, u64)>, Code> {
        /// More rows than a box has clients, in the form that every driver has.
        const ROWS: usize = 1024;
        let symbol = self.symbol("nvmlDeviceGetComputeRunningProcesses")?;
        // SAFETY: NVML declares this function with a handle, a count, and rows of a process id and a size in bytes.
        let function: unsafe extern "C" fn(Device, *mut c_uint, *mut [u64; 2]) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut rows = vec![[0_u64; 2]; ROWS];
        let mut count = c_uint::try_from(ROWS).unwrap_or(c_uint::MAX);
        // SAFETY: there are as many rows as the count says, and the process id is the first half of the first word.
        check(unsafe { function(device, &raw mut count, rows.as_mut_ptr()) })?;
        rows.truncate(count as usize);
        #[expect(clippy::cast_possible_truncation, reason = "the process id is the lower half")]
        let processes = rows.into_iter().map(|[pid, bytes]| (pid as u32, bytes)).collect();
        Ok(processes)
    }

    /// Errors of a card: corrected (0) or not (1), since the driver was loaded (0) or ever (1).
    pub(super) fn errors(&self, device: Device, error_type: u32, counter: u32) -> Result<u64, Code> {
        let symbol = self.symbol("nvmlDeviceGetTotalEccErrors")?;
        // SAFETY: NVML declares this function with a handle, two choices and a pointer to a number.
        let function: unsafe extern "C" fn(Device, c_uint, c_uint, *mut u64) -> Code =
            unsafe { std::mem::transmute(symbol) };
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        check(unsafe { function(device, error_type, counter, &raw mut count) })?;
        Ok(count)
    }

    /// Changes a card by a number.
    pub(super) fn set(&self, name: &str, device: Device, value: u32) -> Result<(), Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle and a number.
        let function: unsafe extern "C" fn(Device, c_uint) -> Code = unsafe { std::mem::transmute(symbol) };
        // SAFETY: no pointers are passed but the handle, which is the library's own.
        check(unsafe { function(device, value) })
    }

    /// Changes a card by two numbers.
    pub(super) fn set_two(&self, name: &str, device: Device, values: [u32; 2]) -> Result<(), Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle and two numbers.
        let function: unsafe extern "C" fn(Device, c_uint, c_uint) -> Code =
            unsafe { std::mem::transmute(symbol) };
        // SAFETY: no pointers are passed but the handle, which is the library's own.
        check(unsafe { function(device, values[0], values[1]) })
    }

    /// Puts something of a card back.
    pub(super) fn put_back(&self, name: &str, device: Device) -> Result<(), Code> {
        let symbol = self.symbol(name)?;
        // SAFETY: the callers name functions that NVML declares with a handle alone.
        let function: unsafe extern "C" fn(Device) -> Code = unsafe { std::mem::transmute(symbol) };
        // SAFETY: no pointers are passed but the handle, which is the library's own.
        check(unsafe { function(device) })
    }

    /// The text of a code.
    pub(super) fn words(&self, code: Code) -> String {
        let Ok(symbol) = self.symbol("nvmlErrorString") else { return "Unknown Error".to_owned() };
        // SAFETY: NVML declares this function with a code, returning a text of its own.
        let function: unsafe extern "C" fn(c_int) -> *const c_char = unsafe { std::mem::transmute(symbol) };
        // SAFETY: the text ends with NUL and lives as long as the library.
        let text = unsafe { CStr::from_ptr(function(code.cast_signed())) };
        text.to_string_lossy().into_owned()
    }
}

fn check(code: Code) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn length() -> c_uint {
    c_uint::try_from(TEXT).unwrap_or(c_uint::MAX)
}

/// The letters before the first NUL.
fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> =
        buffer.iter().take_while(|byte| **byte != 0).map(|byte| byte.cast_unsigned()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
