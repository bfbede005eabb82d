//! One value read from somewhere, or the exact reason why there is none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One value read from one device or file, or the reason there is none.
///
/// There is no sentinel number anywhere: a value that could not be read is never a zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading<T> {
    /// The value.
    Known(T),
    /// This device, driver or kernel has no such value; it never will.
    Unsupported,
    /// We may not read it; the data say what would let us.
    Denied(Access),
    /// It should be there, and reading it failed this time.
    Failed(Failure),
}

/// What would let us read a value that was denied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Running as root.
    Root,
    /// Running as root or as the user who owns the process.
    RootOrOwner,
    /// A `/proc` that shows the processes of other users (no `hidepid`, the host's pid namespace).
    VisibleProcesses,
    /// A `/sys` that is there and readable.
    MountedSys,
    /// The named device file, readable and writable.
    DeviceFile(String),
    /// Reading the kernel log (root, or `kernel.dmesg_restrict=0`).
    KernelLog,
    /// A rule of the box's `[privacy]` settings that allows it.
    PrivacySetting,
}

/// Why a value that should be there could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// This input does not carry the value.
    NotInSource,
    /// The file is not there.
    Missing {
        /// The file that was looked for.
        path: String,
    },
    /// The operating system refused or failed.
    Io {
        /// The file that was read.
        path: String,
        /// What the system said.
        error: String,
    },
    /// The text was not what it should be.
    Syntax {
        /// The file or input that was read.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What should have stood there.
        expected: String,
    },
    /// An NVML call answered with an error.
    Nvml {
        /// The C name of the call.
        call: String,
        /// The `nvmlReturn_t`.
        code: u32,
    },
    /// The NVML library could not be loaded.
    LibraryNotLoaded {
        /// What the loader said.
        error: String,
    },
    /// A call did not return in time.
    TimedOut {
        /// The call.
        call: String,
        /// How long it was waited for, in milliseconds.
        after_ms: u64,
    },
    /// Not asked for, because an earlier call did not return.
    NotReached,
    /// The process ended while it was read.
    Vanished,
    /// A difference or trend needs more samples, or more time between them.
    TooFewSamples,
    /// The value contradicts itself or what is physically possible.
    Implausible {
        /// The value as read.
        value: String,
    },
}

impl Failure {
    /// Returns the reading without a value that this failure makes.
    pub fn into_reading<T>(self) -> Reading<T> {
        Reading::Failed(self)
    }
}

impl<T> Default for Reading<T> {
    /// Returns the reading of an input that does not carry the value.
    fn default() -> Self {
        Self::Failed(Failure::NotInSource)
    }
}

impl<T> Reading<T> {
    /// Returns the value, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unsupported | Self::Denied(_) | Self::Failed(_) => None,
        }
    }

    /// Returns the value itself, if there is one.
    pub fn into_known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unsupported | Self::Denied(_) | Self::Failed(_) => None,
        }
    }

    /// Returns whether there is a value.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// Returns whether the input simply does not carry the value.
    pub fn is_not_in_source(&self) -> bool {
        matches!(self, Self::Failed(Failure::NotInSource))
    }

    /// Returns a reading of the borrowed value.
    pub fn as_ref(&self) -> Reading<&T> {
        match self {
            Self::Known(value) => Reading::Known(value),
            Self::Unsupported => Reading::Unsupported,
            Self::Denied(access) => Reading::Denied(access.clone()),
            Self::Failed(failure) => Reading::Failed(failure.clone()),
        }
    }

    /// Changes the value, keeps the reason.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Reading::Known(change(value)))
    }

    /// Takes a further reading from the value, keeps the reason.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Self::Known(value) => next(value),
            Self::Unsupported => Reading::Unsupported,
            Self::Denied(access) => Reading::Denied(access),
            Self::Failed(failure) => Reading::Failed(failure),
        }
    }

    /// Returns this reading if it has a value, else the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.is_known() { self } else { other }
    }

    /// Returns why there is no value.
    pub fn absence(&self) -> Option<Absence> {
        match self {
            Self::Known(_) => None,
            Self::Unsupported => Some(Absence::Unsupported),
            Self::Denied(access) => Some(Absence::Denied(access.clone())),
            Self::Failed(failure) => Some(Absence::Failed(failure.clone())),
        }
    }
}

impl<T: Copy> Reading<&T> {
    /// Returns a reading of the value itself.
    pub fn copied(self) -> Reading<T> {
        self.map(|value| *value)
    }
}

impl<T> From<Option<T>> for Reading<T> {
    /// Takes `None` as "this input does not carry the value".
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::default, Self::Known)
    }
}

/// The reason why a reading has no value, without the value's type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// This device, driver or kernel has no such value.
    Unsupported,
    /// We may not read it.
    Denied(Access),
    /// Reading it failed.
    Failed(Failure),
}

impl Absence {
    /// Returns the reading without a value that this reason makes.
    pub fn reading<T>(self) -> Reading<T> {
        match self {
            Self::Unsupported => Reading::Unsupported,
            Self::Denied(access) => Reading::Denied(access),
            Self::Failed(failure) => Reading::Failed(failure),
        }
    }

    /// Returns the id of the reason's kind, as the report gives it.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Denied(_) => "denied",
            Self::Failed(_) => "failed",
        }
    }
}
