//! What programs themselves say: their logs, their last words, what launchers say of their end.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Figures;
use crate::closed_list::closed_list;
use crate::process::Pid;
use crate::units::{Bytes, Seconds};

/// Something that a program wrote: one line, or several that belong together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogLine {
    /// When, where it says so with a time zone.
    pub at: Option<Timestamp>,
    /// The member of a job that wrote it, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The text, secrets masked, on one line.
    pub text: String,
    /// What it says, where that is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact: Option<ProgramFact>,
    /// What an error is to the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

closed_list! {
    /// What an error is to the run that printed it.
    pub enum Standing {
        /// It ended a program, as far as the text shows.
        Final = "final",
        /// The same program went on after it.
        Handled = "handled",
        /// A later error of the same chain came of it.
        Earlier = "earlier",
        /// It only says that something else failed: another member, a child, a remote part.
        Echo = "echo",
        /// It happened while a program that was ending anyway was cleaned up.
        CleanUp = "clean-up",
    }
}

closed_list! {
    /// What kind of error a program of its own making died of. The ids are a contract (design §6).
    pub enum ErrorClass {
        /// A file that is not there.
        MissingFile = "missing-file",
        /// A file or operation that is not allowed.
        Permission = "permission",
        /// A module or library that cannot be loaded.
        MissingModule = "missing-module",
        /// A condition that the program checks itself.
        Assertion = "assertion",
        /// A division by zero.
        DivisionByZero = "division-by-zero",
        /// Tensors or modules on different devices.
        DeviceMismatch = "device-mismatch",
        /// A loss that is not a number.
        NanLoss = "nan-loss",
        /// An access to memory that is not the program's, or a broken heap.
        Segfault = "segfault",
        /// The machine's memory was refused.
        HostMemoryError = "host-memory-error",
        /// Ended from outside with `SIGKILL`, as for want of memory.
        OomKiller = "oom-killer",
        /// An error of CUDA that is the program's own.
        CudaError = "cuda-error",
        /// An error of the exchange between cards.
        NcclError = "nccl-error",
        /// A `RuntimeError`.
        RuntimeError = "runtime-error",
        /// Any other exception that nobody caught.
        UncaughtException = "uncaught-exception",
    }
}

/// What a line of a program says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramFact {
    /// A column of a table of figures.
    Figures(Figures),
    /// A card's memory did not suffice.
    OutOfCardMemory(OutOfCardMemory),
    /// What a framework's allocator holds of a card.
    AllocatorState(AllocatorState),
    /// A model server has too little memory for its share or its cache.
    ServerMemory(ServerMemory),
    /// A framework takes nearly all of a card at its start.
    Preallocation(Preallocation),
    /// The machine's memory was refused.
    OutOfHostMemory {
        /// How much was asked for.
        requested: Option<Bytes>,
    },
    /// An error code of CUDA.
    Cuda(CudaError),
    /// An error of the exchange between cards.
    Nccl {
        /// What failed, in its own words.
        what: String,
    },
    /// An exchange between cards that did not end in time.
    CollectiveTimeout(CollectiveTimeout),
    /// Which way the exchange between cards takes, where it is not the best.
    NcclWay(NcclWay),
    /// The build has no code for the card.
    ArchUnsupported(ArchUnsupported),
    /// The driver is older than the build needs.
    DriverTooOld {
        /// The highest CUDA that the driver runs: `12.0`.
        supports: Option<String>,
        /// The CUDA that the build is for.
        needs: Option<String>,
    },
    /// There is no driver where the program runs.
    NoDriver,
    /// A process ended by a signal or with a code.
    ProcessEnd(ProcessEnd),
    /// More loaders than the processors that the process may use.
    TooManyWorkers(TooManyWorkers),
    /// Shared memory did not suffice.
    SharedMemoryShort {
        /// Whether that is sure: a bus error may have other reasons.
        is_sure: bool,
    },
    /// A limit of the process or its group was hit.
    LimitHit(LimitHit),
    /// An exception or other error of the program.
    Exception(Exception),
    /// A loss that is not a number.
    LossNotANumber,
    /// What a model server says of its requests.
    ServerState(ServerState),
    /// How long a step took.
    Step(Step),
    /// Data that came over the network broke off.
    InputBrokeOff,
    /// What the part of a cluster that offers the cards of a node says of them.
    Plugin(PluginReport),
    /// A container could not be started for want of its cards.
    ContainerNotStarted(ContainerNotStarted),
}

/// Memory of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOfProcess {
    /// The process, in the pid namespace of the driver.
    pub pid: Pid,
    /// What it holds, in bytes.
    pub bytes: Bytes,
}

/// Figures of a message that a card's memory did not suffice; each is there only where the message has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutOfCardMemory {
    /// Whose message it is: `pytorch`, `tensorflow`, `xla` …
    pub software: Option<String>,
    /// The card's number, as the program counts.
    pub card: Option<u32>,
    /// How much was asked for.
    pub requested: Option<Bytes>,
    /// The card's memory.
    pub total: Option<Bytes>,
    /// What the driver had left.
    pub free: Option<Bytes>,
    /// What tensors of this process hold; pools of graphs included.
    pub allocated: Option<Bytes>,
    /// What the allocator of this process has taken from the driver, in use or not.
    pub reserved: Option<Bytes>,
    /// What of it nothing uses.
    pub unallocated: Option<Bytes>,
    /// The most that this process may take, where it was told so.
    pub allowed: Option<Bytes>,
    /// What this process holds in all, its context included.
    pub this_process: Option<Bytes>,
    /// What other processes hold.
    pub others: Vec<MemoryOfProcess>,
}

/// What a framework's allocator holds of a card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllocatorState {
    /// The card's number, as the program counts.
    pub card: Option<u32>,
    /// What is in use.
    pub allocated: Option<Bytes>,
    /// What was taken from the driver.
    pub reserved: Option<Bytes>,
    /// The most that it may take.
    pub limit: Option<Bytes>,
    /// How often memory did not suffice.
    pub failures: Option<u64>,
}

/// A model server that has too little memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerMemory {
    /// Whose message it is: `vllm`, `sglang` …
    pub software: Option<String>,
    /// What the card has left at its start.
    pub free: Option<Bytes>,
    /// The card's memory.
    pub total: Option<Bytes>,
    /// What it was told to take.
    pub wanted: Option<Bytes>,
    /// What it lacks memory for.
    pub wanted_for: Wanted,
}

closed_list! {
    /// What a model server lacks memory for.
    #[derive(Default)]
    pub enum Wanted {
        /// The share of the card that it was told to take.
        #[default]
        Share = "share",
        /// Its cache of keys and values, behind the weights.
        Cache = "cache",
    }
}

/// A framework that takes nearly all of a card at its start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preallocation {
    /// Which: `TensorFlow`, `JAX`.
    pub framework: String,
    /// The card's number, as the program counts.
    pub card: Option<u32>,
    /// What it wanted and was refused.
    pub refused: Option<Bytes>,
    /// What it took.
    pub taken: Option<Bytes>,
}

/// An error code of CUDA.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CudaError {
    /// The code (`cudaError_t`).
    pub code: u32,
}

/// An exchange between cards that did not end in time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectiveTimeout {
    /// The member that waited.
    pub rank: Option<u32>,
    /// Its number in the order of exchanges.
    pub sequence: Option<u64>,
    /// What it was: `ALLREDUCE` …
    pub operation: Option<String>,
    /// How long it was waited for.
    pub waited: Option<Seconds>,
    /// The last exchange that this member had handed over.
    pub last_enqueued: Option<u64>,
    /// The last one that ended.
    pub last_completed: Option<u64>,
}

closed_list! {
    /// Which way the exchange between cards takes.
    pub enum NcclWay {
        /// Over TCP, where a faster network was looked for.
        Socket = "socket",
        /// A device of the fast network could not be opened.
        DeviceNotOpened = "device-not-opened",
        /// No device of a fast network was found.
        NoFastNetwork = "no-fast-network",
        /// Cards do not reach each other directly.
        NoPeerAccess = "no-peer-access",
    }
}

/// A build without code for the card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchUnsupported {
    /// The card's name.
    pub card: Option<String>,
    /// The card's compute capability: `12.0`.
    pub capability: Option<String>,
    /// Those that the build has code for.
    pub built_for: Vec<String>,
    /// Whether this was only a warning so far.
    pub is_warning: bool,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessEnd {
    /// The process.
    pub pid: Option<Pid>,
    /// Whether it loaded data for another.
    pub is_loader: bool,
    /// The signal that ended it.
    pub signal: Option<u32>,
    /// Its exit code, where no signal ended it.
    pub exit_code: Option<i64>,
    /// Whether the line says that it was for want of memory in its group.
    pub for_memory_of_group: bool,
}

/// More loaders than processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TooManyWorkers {
    /// How many loaders are made.
    pub wanted: u64,
    /// How many the process may have: its processors.
    pub suggested: u64,
}

closed_list! {
    /// A limit of a process or its group.
    pub enum LimitHit {
        /// Open files.
        Files = "files",
        /// Open files again, but so many are allowed that programs lose time and memory over them.
        FilesTooHigh = "files-too-high",
        /// Processes and threads.
        Tasks = "tasks",
        /// Memory that may be locked.
        LockedMemory = "locked-memory",
        /// Memory of the job or container.
        Memory = "memory",
    }
}

/// An exception or other error of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Its name: `FileNotFoundError`; or what the system calls it.
    pub name: String,
    /// What kind it is.
    pub class: ErrorClass,
}

/// What a model server says of its requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerState {
    /// Whose line it is: `vllm`, `sglang` …
    pub software: Option<String>,
    /// Requests that are worked on.
    pub running: Option<u64>,
    /// Requests that wait.
    pub waiting: Option<u64>,
    /// Requests whose cache was moved out to the machine's memory.
    pub swapped: Option<u64>,
    /// How much of the cache is used, in percent.
    pub cache_percent: Option<f64>,
    /// Tokens of prompts a second.
    pub prompt_tokens_per_s: Option<f64>,
    /// Tokens that were generated, a second.
    pub generated_tokens_per_s: Option<f64>,
    /// How long one request waited before anything was computed for it.
    pub queue_time: Option<Seconds>,
    /// How long that request took in all.
    pub request_time: Option<Seconds>,
    /// Whether a request was put back for want of cache.
    pub is_preempted: bool,
    /// How often that has happened since the server's start.
    pub preemptions_ever: Option<u64>,
    /// Whether a request was refused because too many wait.
    pub is_refused: bool,
}

closed_list! {
    /// What happened to the cards that a node offers.
    pub enum PluginEvent {
        /// A numbered error of the driver, for which it takes the card away.
        Error = "error",
        /// A numbered error of the driver, for which it does not.
        ErrorIgnored = "error-ignored",
        /// A card is not offered any more.
        Unhealthy = "unhealthy",
        /// No card is offered any more.
        AllUnhealthy = "all-unhealthy",
        /// A card is offered again.
        Healthy = "healthy",
        /// It found no card.
        NoDevices = "no-devices",
        /// It offers what it has, from the start.
        Registered = "registered",
        /// It is gone, and its cards with it.
        Withdrawn = "withdrawn",
        /// A pod came for more cards than are offered.
        TooFew = "too-few",
    }
}

/// What the part of a cluster that offers the cards of a node says of them: its device plugin, its kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginReport {
    /// What happened.
    pub event: PluginEvent,
    /// What the cards are offered as: `nvidia.com/gpu`.
    #[serde(default)]
    pub resource: Option<String>,
    /// The card, by its unique name; none: all, or it does not say.
    #[serde(default)]
    pub device: Option<String>,
    /// The number of the driver's error.
    #[serde(default)]
    pub xid: Option<u32>,
}

closed_list! {
    /// Why a container cannot be started with its cards.
    pub enum StartObstacle {
        /// The runtime was not told how to pass cards in.
        NotSetUp = "not-set-up",
        /// The driver's kernel module does not answer.
        DriverNotLoaded = "driver-not-loaded",
        /// The driver's library is not there.
        LibraryMissing = "library-missing",
        /// Library and module are of different versions.
        VersionMismatch = "version-mismatch",
        /// The driver did not answer in time.
        DriverTimedOut = "driver-timed-out",
        /// The driver answers with another error.
        DriverError = "driver-error",
        /// A card does not answer any more.
        CardLost = "card-lost",
        /// There is no such card as was asked for.
        DeviceUnknown = "device-unknown",
        /// A device file is not there.
        DeviceFileMissing = "device-file-missing",
        /// The description of the cards is not there, or does not have the one that was asked for.
        NotDescribed = "not-described",
        /// The description of the cards names files that are not there any more.
        DescriptionStale = "description-stale",
        /// Whoever starts it may not pass cards in.
        NotAllowed = "not-allowed",
        /// The image brings files along that the driver's own would replace.
        ImageHoldsDriver = "image-holds-driver",
        /// A multi-instance device cannot be used as it was asked for.
        MigDevice = "mig-device",
        /// Something else in the step that passes cards in.
        Other = "other",
    }
}

/// A container that could not be started for want of its cards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerNotStarted {
    /// Why.
    pub obstacle: StartObstacle,
    /// The card, device or file that it is about, where it names one.
    #[serde(default)]
    pub device: Option<String>,
}

/// How long a step took.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Its number in its epoch or in the run.
    pub number: Option<u64>,
    /// All of it.
    pub took: Option<Seconds>,
    /// What of it was waiting for data.
    pub waited_for_data: Option<Seconds>,
    /// Samples a second.
    pub samples_per_s: Option<f64>,
}
