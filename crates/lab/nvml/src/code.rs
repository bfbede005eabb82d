//! Return codes of NVML.

use std::ffi::{CStr, c_uint};

/// What an NVML function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) c_uint);

/// What the body of an NVML function comes to.
pub(crate) type Answer = Result<(), Code>;

impl Code {
    /// The call worked.
    pub(crate) const SUCCESS: Self = Self(0);
    /// `nvmlInit` was not called.
    pub(crate) const UNINITIALIZED: Self = Self(1);
    /// An argument is not valid.
    pub(crate) const INVALID_ARGUMENT: Self = Self(2);
    /// This card or driver has no such thing.
    pub(crate) const NOT_SUPPORTED: Self = Self(3);
    /// The caller may not do this.
    pub(crate) const NO_PERMISSION: Self = Self(4);
    /// There is no such object.
    pub(crate) const NOT_FOUND: Self = Self(6);
    /// The buffer is too small.
    pub(crate) const INSUFFICIENT_SIZE: Self = Self(7);
    /// The kernel module is not loaded.
    pub(crate) const DRIVER_NOT_LOADED: Self = Self(9);
    /// Nothing happened in time.
    pub(crate) const TIMEOUT: Self = Self(10);
    /// The checksum of the `InfoROM` is wrong.
    pub(crate) const CORRUPTED_INFOROM: Self = Self(14);
    /// The card fell off the bus.
    pub(crate) const GPU_IS_LOST: Self = Self(15);
    /// Somebody else uses the card.
    pub(crate) const IN_USE: Self = Self(19);
    /// There are no data yet.
    pub(crate) const NO_DATA: Self = Self(21);
    /// The version word of a structure is not known.
    pub(crate) const ARGUMENT_VERSION_MISMATCH: Self = Self(25);
    /// Anything else.
    pub(crate) const UNKNOWN: Self = Self(999);

    /// Makes the return value of a function from what its body came to.
    pub(crate) fn of(answer: Answer) -> Self {
        answer.err().unwrap_or(Self::SUCCESS)
    }

    /// The text of a code, as NVML words it.
    pub(crate) fn text(self) -> &'static CStr {
        match self.0 {
            0 => c"Success",
            1 => c"Uninitialized",
            2 => c"Invalid Argument",
            3 => c"Not Supported",
            4 => c"Insufficient Permissions",
            5 => c"Already Initialized",
            6 => c"Not Found",
            7 => c"Insufficient Size",
            8 => c"Insufficient External Power",
            9 => c"Driver Not Loaded",
            10 => c"Timeout",
            11 => c"Interrupt Request Issue",
            12 => c"NVML Shared Library Not Found",
            13 => c"Function Not Found",
            14 => c"Corrupted infoROM",
            15 => c"GPU is lost",
            16 => c"GPU requires reset",
            17 => c"The operating system has blocked the request",
            18 => c"Driver/library version mismatch",
            19 => c"In use by another client",
            20 => c"Insufficient Memory",
            21 => c"No data",
            22 => c"vGPU ECC Not Supported",
            23 => c"Insufficient Resources",
            24 => c"Frequency Not Supported",
            25 => c"Argument Version Mismatch",
            26 => c"Deprecated",
            27 => c"Not Ready",
            28 => c"GPU Not Found",
            29 => c"Invalid State",
            30 => c"Reset Type Not Supported",
            _ => c"Unknown Error",
        }
    }
}
