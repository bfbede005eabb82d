//! What lines of programs say beside memory and exceptions: exchange, builds, drivers, loaders, limits, servers.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::phrase::{Phrase, Squeezed};

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignKind {
    /// An exchange did not end in time.
    CollectiveTimeout,
    /// How far a member had come with its exchanges.
    CollectiveProgress,
    /// The exchange found no shared memory.
    NcclSharedMemory,
    /// A device of the fast network could not be opened.
    NcclDeviceNotOpened,
    /// No device of a fast network was found.
    NcclNoFastNetwork,
    /// Cards do not reach each other directly.
    NcclNoPeerAccess,
    /// The exchange goes over TCP.
    NcclSocket,
    /// The exchange failed.
    NcclError,
    /// The build has no code for the card.
    ArchUnsupported,
    /// The build warns that it has none.
    ArchWarning,
    /// The driver is older than the build needs.
    DriverTooOld,
    /// There is no driver.
    NoDriver,
    /// More loaders than processors.
    TooManyWorkers,
    /// A loader met a bus error.
    LoaderBusError,
    /// Shared memory is full.
    SharedMemoryFull,
    /// A loader was killed.
    LoaderKilled,
    /// A loader touched memory that is not its.
    LoaderSegfault,
    /// A loader ended in some other way.
    LoaderEnded,
    /// The job's limit of memory was hit.
    JobMemoryLimit,
    /// The machine was short of memory.
    MachineMemory,
    /// Too many open files.
    FilesLimit,
    /// Too many processes or threads.
    TasksLimit,
    /// Too much locked memory.
    LockedMemoryLimit,
    /// A request was put back for want of cache.
    Preempted,
    /// How many requests run and wait.
    ServerLoad,
    /// TensorFlow took memory at its start.
    TensorflowTook,
    /// JAX took memory at its start.
    JaxPreallocates,
    /// Data over the network broke off.
    InputBrokeOff,
}

/// One entry of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// What it says.
    pub kind: SignKind,
    any: Vec<Phrase>,
    #[serde(default)]
    not: Vec<Phrase>,
    #[serde(default)]
    values: BTreeMap<String, Vec<Phrase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    sign: Vec<Sign>,
}

fn signs() -> &'static [Sign] {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        toml::from_str(include_str!("../data/program_signs.toml"))
            .expect("the built-in signs are read by a test")
    });
    &table.sign
}

/// Returns what a message says, if it is one of these.
pub fn program_sign(message: &Squeezed) -> Option<&'static Sign> {
    let has = |phrases: &[Phrase]| phrases.iter().any(|phrase| phrase.is_in(message));
    signs().iter().find(|sign| has(&sign.any) && !has(&sign.not))
}

impl Sign {
    /// Returns a value of the message, without its blanks.
    pub fn text<'message>(&self, name: &str, message: &'message Squeezed) -> Option<&'message str> {
        let phrases = self.values.get(name)?;
        phrases.iter().find_map(|phrase| phrase.values(message))?.pop()
    }

    /// Returns a whole number of the message.
    pub fn count(&self, name: &str, message: &Squeezed) -> Option<u64> {
        self.text(name, message)?.parse().ok()
    }

    /// Returns a number of the message.
    pub fn real(&self, name: &str, message: &Squeezed) -> Option<f64> {
        self.text(name, message)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{SignKind, program_sign};
    use crate::phrase::Squeezed;

    #[test]
    fn signs_and_their_values_are_read() {
        let message = Squeezed::of(
            "[Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4, \
             NumelOut=4, Timeout(ms)=600000) ran for 600071 milliseconds before timing out.",
        );
        let sign = program_sign(&message).unwrap();
        assert_eq!(sign.kind, SignKind::CollectiveTimeout);
        assert_eq!(sign.count("sequence", &message), Some(17));
        assert_eq!(sign.text("operation", &message), Some("ALLREDUCE"));
        assert_eq!(sign.count("waited_ms", &message), Some(600_071));
        assert_eq!(sign.count("rank", &message), Some(5));
        let message = Squeezed::of(
            "NVIDIA GeForce RTX 9999 with CUDA capability sm_120 is not compatible with the current PyTorch \
             installation. The current PyTorch install supports CUDA capabilities sm_80 sm_90. If you want to use",
        );
        let sign = program_sign(&message).unwrap();
        assert_eq!(sign.kind, SignKind::ArchWarning);
        assert_eq!(sign.count("capability", &message), Some(120));
        assert_eq!(sign.text("built_for", &message), Some("sm_80sm_90"));
    }

    #[test]
    fn neighbours_are_told_apart() {
        for (text, kind) in [
            ("DataLoader worker (pid 7) is killed by signal: Killed.", Some(SignKind::LoaderKilled)),
            (
                "DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are \
                 out of shared memory.",
                Some(SignKind::LoaderBusError),
            ),
            ("DataLoader worker (pid(s) 7, 8) exited unexpectedly", Some(SignKind::LoaderEnded)),
            ("OSError: [Errno 24] Too many open files: 'a'", Some(SignKind::FilesLimit)),
            ("NCCL INFO Using network Socket", Some(SignKind::NcclSocket)),
            ("NCCL WARN NET/IB : Unable to open device mlx5_9", Some(SignKind::NcclDeviceNotOpened)),
            ("Running: 3 reqs, Waiting: 9 reqs, GPU KV cache usage: 91.5%", Some(SignKind::ServerLoad)),
            ("triton: out of resource: shared memory, Required: 9, Hardware limit: 8", None),
            ("hello", None),
        ] {
            assert_eq!(program_sign(&Squeezed::of(text)).map(|sign| sign.kind), kind, "{text}");
        }
    }
}
