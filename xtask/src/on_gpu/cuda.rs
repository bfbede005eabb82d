//! The few calls of the CUDA driver that a known load needs, through `libcuda.so.1`.
#![expect(unsafe_code, reason = "calls the CUDA driver's C library")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use anyhow::{Context as _, Result, ensure};
use libloading::Library;

/// The kernels, compiled by the driver when they are loaded; C wants a zero at the end.
const KERNELS: &str = concat!(include_str!("kernels.ptx"), "\0");

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSOR_COUNT: c_int = 16;

type Handle = *mut c_void;
type Code = c_int;
type LaunchKernel = unsafe extern "C" fn(
    Handle,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Handle,
    *mut *mut c_void,
    *mut *mut c_void,
) -> Code;

/// A context on the first card, with the kernels loaded.
pub(super) struct Card {
    library: Library,
    compute: Handle,
    bandwidth: Handle,
    /// Number of multiprocessors.
    pub(super) multiprocessors: u32,
}

/// Memory of the card; it is given back when the process ends.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    address: u64,
    bytes: usize,
}

impl Card {
    /// Takes the first card.
    ///
    /// # Errors
    /// Fails without the library, without a card, or when the driver refuses the kernels.
    pub(super) fn take() -> Result<Self> {
        // SAFETY: the driver's library runs its own initialisers, as in every CUDA program.
        let library = unsafe { Library::new("libcuda.so.1") }.context("there is no CUDA driver")?;
        let mut card =
            Self { library, compute: ptr::null_mut(), bandwidth: ptr::null_mut(), multiprocessors: 0 };
        let (mut device, mut multiprocessors): (c_int, c_int) = (0, 0);
        let (mut context, mut module): (Handle, Handle) = (ptr::null_mut(), ptr::null_mut());
        let kernels = CStr::from_bytes_with_nul(KERNELS.as_bytes()).context("the kernels hold a zero")?;
        // SAFETY: each call has the signature of the driver's interface, and every pointer is to a value of the type
        // that it writes or reads, alive for the call.
        unsafe {
            card.call::<unsafe extern "C" fn(c_uint) -> Code>("cuInit", |init| init(0))?;
            card.call::<unsafe extern "C" fn(*mut c_int, c_int) -> Code>("cuDeviceGet", |get| {
                get(&raw mut device, 0)
            })?;
            card.call::<unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code>(
                "cuDeviceGetAttribute",
                |get| get(&raw mut multiprocessors, MULTIPROCESSOR_COUNT, device),
            )?;
            card.call::<unsafe extern "C" fn(*mut Handle, c_uint, c_int) -> Code>(
                "cuCtxCreate_v2",
                |create| create(&raw mut context, 0, device),
            )?;
            card.call::<unsafe extern "C" fn(*mut Handle, *const c_char) -> Code>(
                "cuModuleLoadData",
                |load| load(&raw mut module, kernels.as_ptr()),
            )?;
        }
        card.compute = card.kernel(module, c"compute")?;
        card.bandwidth = card.kernel(module, c"bandwidth")?;
        card.multiprocessors = u32::try_from(multiprocessors).context("a negative number of processors")?;
        Ok(card)
    }

    /// Takes memory.
    ///
    /// # Errors
    /// Fails when there is not enough.
    pub(super) fn allocate(&self, bytes: usize) -> Result<Buffer> {
        let mut address: u64 = 0;
        // SAFETY: the call writes one address.
        unsafe {
            self.call::<unsafe extern "C" fn(*mut u64, usize) -> Code>("cuMemAlloc_v2", |allocate| {
                allocate(&raw mut address, bytes)
            })?;
        }
        Ok(Buffer { address, bytes })
    }

    /// Computes in so many blocks for so many rounds, and waits until it is done.
    ///
    /// # Errors
    /// Fails when the kernel does.
    pub(super) fn compute(&self, result: Buffer, blocks: u32, mut rounds: u32) -> Result<()> {
        let mut place = result.address;
        let mut arguments: [*mut c_void; 2] = [(&raw mut place).cast(), (&raw mut rounds).cast()];
        self.launch(self.compute, blocks, &mut arguments)
    }

    /// Reads a buffer so many times, and waits until it is done.
    ///
    /// # Errors
    /// Fails when the kernel does.
    pub(super) fn read(&self, buffer: Buffer, mut rounds: u32) -> Result<()> {
        let (mut place, mut elements) = (buffer.address, (buffer.bytes / 16) as u64);
        let mut arguments: [*mut c_void; 3] =
            [(&raw mut place).cast(), (&raw mut elements).cast(), (&raw mut rounds).cast()];
        self.launch(self.bandwidth, self.multiprocessors * 8, &mut arguments)
    }

    fn kernel(&self, module: Handle, name: &CStr) -> Result<Handle> {
        let mut kernel: Handle = ptr::null_mut();
        // SAFETY: the call writes one handle and reads a text that ends with a zero.
        unsafe {
            self.call::<unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Code>(
                "cuModuleGetFunction",
                |get| get(&raw mut kernel, module, name.as_ptr()),
            )?;
        }
        Ok(kernel)
    }

    fn launch(&self, kernel: Handle, blocks: u32, arguments: &mut [*mut c_void]) -> Result<()> {
        // SAFETY: the arguments point to values of the types that the kernel declares, alive until the call returns,
        // which is when the driver has copied them.
        unsafe {
            self.call::<LaunchKernel>("cuLaunchKernel", |launch| {
                launch(
                    kernel,
                    blocks,
                    1,
                    1,
                    256,
                    1,
                    1,
                    0,
                    ptr::null_mut(),
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            })?;
            self.call::<unsafe extern "C" fn() -> Code>("cuCtxSynchronize", |wait| wait())
        }
    }

    /// Calls a function of the library.
    ///
    /// # Safety
    /// `F` must be the function's signature, and the call must keep its rules.
    unsafe fn call<F: Copy>(&self, name: &str, call: impl FnOnce(F) -> Code) -> Result<()> {
        // SAFETY: the caller says that this is the function's signature.
        let function = unsafe { self.library.get::<F>(name.as_bytes()) };
        let function = function.with_context(|| format!("the CUDA driver has no {name}"))?;
        let code = call(*function);
        ensure!(code == 0, "{name} ended with CUDA error {code}");
        Ok(())
    }
}
