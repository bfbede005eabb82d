//! Which formats are known, by what they begin with, and why one could not be read.

use std::fmt;

use crate::decoding::decoded;
use crate::recording::{SAMPLE_START, ZSTD_MAGIC};

/// How far into an input the root of an XML document is looked for: a prompt or a warning may come first.
const LOOKED_AT: usize = 64 << 10;

/// A format that is read as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A recording of samples.
    Recording,
    /// Output of `nvidia-smi -q -x`.
    NvidiaSmiXml,
    /// The table of `nvidia-smi`, and what it says instead of one.
    NvidiaSmi,
    /// Output of `nvidia-smi -L`.
    NvidiaSmiList,
    /// Output of `nvidia-smi dmon`.
    NvidiaSmiDmon,
    /// Output of `nvidia-smi pmon`.
    NvidiaSmiPmon,
    /// Output of `nvidia-smi -q` as text.
    NvidiaSmiQuery,
    /// Output of `nvidia-smi --query-gpu` and its like, and other tables of cards with commas.
    NvidiaSmiCsv,
    /// Output of `nvidia-smi topo -m`.
    NvidiaSmiTopology,
    /// Output of `nvidia-smi nvlink`.
    NvidiaSmiNvlink,
    /// Output of `nvidia-smi mig`.
    NvidiaSmiMig,
    /// Output of `nvidia-smi --version`.
    NvidiaSmiVersion,
    /// The parts of an `nvidia-bug-report.log` that belong to no other tool.
    NvidiaBugReport,
    /// Output of `gpustat`.
    Gpustat,
    /// Output of `nvitop -1`.
    Nvitop,
    /// Output of `nvtop -s`.
    Nvtop,
    /// Output of `rocm-smi`.
    RocmSmi,
    /// Output of `amd-smi`.
    AmdSmi,
    /// Output of `npu-smi`.
    NpuSmi,
    /// Output of `xpu-smi`.
    XpuSmi,
    /// Lines of the kernel log, as any tool shows them.
    KernelLog,
    /// Lines of services in the journal or a log of the system, without one of the kernel.
    SystemLog,
    /// The log of NVIDIA's fabric manager.
    FabricManagerLog,
    /// Output of `top`.
    Top,
    /// The window of `htop`.
    Htop,
    /// Output of `ps`.
    Ps,
    /// Output of `free`.
    Free,
    /// Output of `df`.
    Df,
    /// Mounted file systems.
    Mounts,
    /// Output of `iostat`.
    Iostat,
    /// Output of `mpstat`.
    Mpstat,
    /// Output of `vmstat`.
    Vmstat,
    /// Output of `uptime`.
    Uptime,
    /// A file of `/proc`.
    ProcFile,
    /// Output of `lspci`.
    Lspci,
    /// Output of `lsmod`.
    Lsmod,
    /// Output of `modinfo`.
    Modinfo,
    /// Output of `dkms status`.
    DkmsStatus,
    /// What `modprobe` says.
    Modprobe,
    /// Output of `systemctl`.
    Systemctl,
    /// Output of `uname`.
    Uname,
    /// Output of `mokutil --sb-state`.
    Mokutil,
    /// Output of `ulimit`, and limits of a process.
    Ulimit,
    /// Output of `fuser` and `lsof` about cards.
    Openers,
    /// Tracebacks, training and serving logs, and what is said of a program's end.
    ProgramLog,
    /// Objects of Kubernetes as YAML or JSON.
    KubernetesObject,
    /// Tables of `kubectl get`.
    KubectlGet,
    /// Output of `kubectl describe`, and rows of events.
    KubectlDescribe,
    /// Logs of what offers cards to a cluster, and sentences of schedulers.
    KubernetesLog,
    /// Why a runtime refuses to start a container.
    ContainerError,
    /// Output of `docker inspect` and its like.
    ContainerInspect,
    /// Output of `docker ps` and `docker stats`.
    ContainerTable,
    /// Output of `docker info`.
    ContainerInformation,
    /// Devices that a control group may use.
    DeviceRules,
    /// Output of `squeue`.
    Squeue,
    /// Output of `sinfo`.
    Sinfo,
    /// Output of `scontrol show`.
    Scontrol,
    /// Output of `sacct`.
    Sacct,
    /// Output of `sprio`.
    Sprio,
    /// Output of `sshare`.
    Sshare,
    /// Output of `sacctmgr show`.
    Sacctmgr,
    /// Output of `sdiag`.
    Sdiag,
    /// JSON of a tool of Slurm, or of its REST daemon.
    SlurmJson,
    /// Messages of `sbatch`, `srun` and `salloc`.
    SlurmMessages,
    /// What `seff` and its like say of one job.
    JobEfficiency,
    /// The `#SBATCH` lines of a batch script.
    JobScript,
    /// A table of jobs or queues that somebody made.
    JobTable,
    /// Metrics in the text form of Prometheus.
    Prometheus,
    /// Stacks of threads: of `py-spy dump`, of `faulthandler`, of a debugger.
    Stacks,
    /// Output of `py-spy top`.
    PySpyTop,
    /// Output of `strace -c`.
    StraceSummary,
    /// Lines of `strace`.
    Strace,
    /// Lists of processes that a session of Python got from the driver's library.
    NvmlSession,
    /// What a test moved between cards.
    BandwidthTest,
    /// Rows about cards that somebody took out of a table.
    CardRows,
    /// A table of figures that somebody measured.
    Figures,
    /// Output of `perf_analyzer`.
    PerfAnalyzer,
    /// Result of a load test on a model server.
    LoadTest,
    /// Trace of a profiler in Chrome's JSON.
    Trace,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Recording => "recording of gpuwhy",
            Self::NvidiaSmiXml => "nvidia-smi -q -x",
            Self::NvidiaSmi => "nvidia-smi",
            Self::NvidiaSmiList => "nvidia-smi -L",
            Self::NvidiaSmiDmon => "nvidia-smi dmon",
            Self::NvidiaSmiPmon => "nvidia-smi pmon",
            Self::NvidiaSmiQuery => "nvidia-smi -q",
            Self::NvidiaSmiCsv => "nvidia-smi --query",
            Self::NvidiaSmiTopology => "nvidia-smi topo -m",
            Self::NvidiaSmiNvlink => "nvidia-smi nvlink",
            Self::NvidiaSmiMig => "nvidia-smi mig",
            Self::NvidiaSmiVersion => "nvidia-smi --version",
            Self::NvidiaBugReport => "nvidia-bug-report.log",
            Self::Gpustat => "gpustat",
            Self::Nvitop => "nvitop",
            Self::Nvtop => "nvtop",
            Self::RocmSmi => "rocm-smi",
            Self::AmdSmi => "amd-smi",
            Self::NpuSmi => "npu-smi",
            Self::XpuSmi => "xpu-smi",
            Self::KernelLog => "kernel log",
            Self::SystemLog => "log of services",
            Self::FabricManagerLog => "fabricmanager.log",
            Self::Top => "top",
            Self::Htop => "htop",
            Self::Ps => "ps",
            Self::Free => "free",
            Self::Df => "df",
            Self::Mounts => "mount",
            Self::Iostat => "iostat",
            Self::Mpstat => "mpstat",
            Self::Vmstat => "vmstat",
            Self::Uptime => "uptime",
            Self::ProcFile => "file of /proc",
            Self::Lspci => "lspci",
            Self::Lsmod => "lsmod",
            Self::Modinfo => "modinfo",
            Self::DkmsStatus => "dkms status",
            Self::Modprobe => "modprobe",
            Self::Systemctl => "systemctl",
            Self::Uname => "uname",
            Self::Mokutil => "mokutil --sb-state",
            Self::Ulimit => "ulimit",
            Self::Openers => "fuser or lsof",
            Self::ProgramLog => "log of a program",
            Self::KubernetesObject => "object of Kubernetes",
            Self::KubectlGet => "kubectl get",
            Self::KubectlDescribe => "kubectl describe",
            Self::KubernetesLog => "log of Kubernetes",
            Self::ContainerError => "error of a container runtime",
            Self::ContainerInspect => "docker inspect",
            Self::ContainerTable => "docker ps",
            Self::ContainerInformation => "docker info",
            Self::DeviceRules => "devices of a control group",
            Self::Squeue => "squeue",
            Self::Sinfo => "sinfo",
            Self::Scontrol => "scontrol show",
            Self::Sacct => "sacct",
            Self::Sprio => "sprio",
            Self::Sshare => "sshare",
            Self::Sacctmgr => "sacctmgr show",
            Self::Sdiag => "sdiag",
            Self::SlurmJson => "Slurm JSON",
            Self::SlurmMessages => "messages of sbatch, srun or salloc",
            Self::JobEfficiency => "seff or jobstats",
            Self::JobScript => "#SBATCH lines",
            Self::JobTable => "table of jobs",
            Self::Prometheus => "Prometheus metrics",
            Self::Stacks => "stacks of threads",
            Self::PySpyTop => "py-spy top",
            Self::StraceSummary => "strace -c",
            Self::Strace => "strace",
            Self::NvmlSession => "pynvml",
            Self::BandwidthTest => "bandwidth between cards",
            Self::CardRows => "rows about cards",
            Self::Figures => "table of figures",
            Self::PerfAnalyzer => "perf_analyzer",
            Self::LoadTest => "result of a load test",
            Self::Trace => "profiler trace",
        })
    }
}

/// Why a text could not be read: in what, where, what was expected and what stood there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{format}, line {line}: expected {expected}, found {found}")]
pub struct FormatError {
    /// The format that the text has or should have.
    pub format: Format,
    /// The line, from 1.
    pub line: u64,
    /// What should have stood there.
    pub expected: String,
    /// What stood there.
    pub found: String,
}

/// Returns the format of an input by its first bytes; none when it is not known.
pub fn recognise(input: &[u8]) -> Option<Format> {
    let start = input.trim_ascii_start();
    if input.starts_with(ZSTD_MAGIC) || start.starts_with(SAMPLE_START) {
        return Some(Format::Recording);
    }
    let looked_at = decoded(&input[..input.len().min(LOOKED_AT)]);
    looked_at.contains("<nvidia_smi_log").then_some(Format::NvidiaSmiXml)
}

#[cfg(test)]
mod tests {
    use super::{Format, recognise};

    #[test]
    fn formats_are_known_by_their_begin() {
        for (input, format) in [
            (&b"\x28\xb5\x2f\xfd\x04"[..], Some(Format::Recording)),
            (b"{\"schema\":\"gpuwhy.sample/1\",\"taken\":", Some(Format::Recording)),
            (b"\n {\"schema\":\"gpuwhy.sample/1\"", Some(Format::Recording)),
            (b"{\"schema\":\"gpuwhy.report/1\"", None),
            (
                b"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"x.dtd\">\n<nvidia_smi_log>",
                Some(Format::NvidiaSmiXml),
            ),
            (b"\xff\xfe<\0n\0v\0i\0d\0i\0a\0_\0s\0m\0i\0_\0l\0o\0g\0>\0", Some(Format::NvidiaSmiXml)),
            (b"$ nvidia-smi -q -x\n<nvidia_smi_log>", Some(Format::NvidiaSmiXml)),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(recognise(input), format);
        }
    }
}
