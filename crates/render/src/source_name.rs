//! Who delivered a value, in words: of a text not the reader that a live look would have had, but the tool whose
//! output was pasted.

use gpuwhy_model::input::TextRead;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::verdict::Verdict;

use crate::format_name::format_name;
use crate::texts::answer;
use crate::words::{Words, reader_text};

/// So many tools are named; of more, only that it was the text.
const TOOLS_MAX: usize = 2;

/// Tools that show cards.
const OF_CARDS: &[&str] = &[
    "nvidia-smi",
    "gpustat",
    "nvitop",
    "nvtop",
    "rocm-smi",
    "amd-smi",
    "npu-smi",
    "xpu-smi",
    "pynvml",
    "Prometheus metrics",
    "rows about cards",
    "table of figures",
    "bandwidth between cards",
    "nvidia-bug-report.log",
];
/// What repeats an answer of the driver's library.
const OF_MESSAGES: &[&str] = &["log of a program", "error of a container runtime", "log of Kubernetes"];
const OF_PROCESSES: &[&str] = &["ps", "top", "htop", "fuser or lsof", "file of /proc"];
const OF_STACKS: &[&str] = &["stacks of threads", "py-spy top", "docker ps"];
const OF_CONTAINERS: &[&str] = &[
    "object of Kubernetes",
    "kubectl get",
    "kubectl describe",
    "docker inspect",
    "docker ps",
    "docker info",
    "error of a container runtime",
];
const OF_LIMITS: &[&str] =
    &["devices of a control group", "docker inspect", "object of Kubernetes", "docker ps"];
const OF_MEMORY: &[&str] = &["free", "top", "htop", "vmstat", "file of /proc", "Prometheus metrics"];
const OF_PROCESSORS: &[&str] =
    &["mpstat", "top", "htop", "vmstat", "uptime", "file of /proc", "Prometheus metrics"];
const OF_SERVICES: &[&str] = &["systemctl", "log of services", "fabricmanager.log"];
const OF_KERNEL: &[&str] = &["kernel log", "nvidia-bug-report.log", "modprobe", "mokutil --sb-state"];

/// Returns who delivered a value.
pub(crate) fn source_name(verdict: &Verdict, signal: Signal, reader: Reader, words: &Words<'_>) -> String {
    if verdict.source != SourceKind::Text || is_true_of_a_text(reader) {
        return words.sentence(&reader_text(reader));
    }
    let read = tools(&verdict.inputs);
    for wanted in carriers(signal, reader) {
        let found: Vec<&str> = read.iter().copied().filter(|tool| wanted.contains(tool)).collect();
        match found.len() {
            0 => {}
            few if few <= TOOLS_MAX => return words.joined(names(&found, words)),
            _ => return words.sentence(&answer::the_text()),
        }
    }
    match (read.as_slice(), reader) {
        ([only], _) => names(&[only], words).concat(),
        ([], Reader::NvidiaSmi) => words.sentence(&reader_text(reader)),
        _ => words.sentence(&answer::the_text()),
    }
}

/// Returns whether the name of a reader says no more than what the text shows.
fn is_true_of_a_text(reader: Reader) -> bool {
    matches!(
        reader,
        Reader::Slurm
            | Reader::Kubernetes
            | Reader::ProgramLog
            | Reader::Metrics
            | Reader::LoadTest
            | Reader::Strace
            | Reader::Profiler
    )
}

/// Returns the tools whose output was recognised, each once.
fn tools(inputs: &[TextRead]) -> Vec<&str> {
    let mut tools: Vec<&str> = Vec::new();
    for format in inputs.iter().flat_map(|text| &text.formats) {
        let tool = tool(&format.format);
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    tools
}

/// Returns the tool of a format: one name for all that `nvidia-smi` prints.
fn tool(format: &str) -> &str {
    let is_of_nvidia_smi =
        format.strip_prefix("nvidia-smi").is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    if is_of_nvidia_smi { "nvidia-smi" } else { format }
}

/// Returns what tools are called, each name once.
fn names(tools: &[&str], words: &Words<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tool in tools {
        let name = match *tool {
            "object of Kubernetes" | "kubectl get" | "kubectl describe" => {
                words.sentence(&reader_text(Reader::Kubernetes))
            }
            other => format_name(other, words),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the tools in whose output such a value stands: the first group of which one was pasted has it.
fn carriers(signal: Signal, reader: Reader) -> &'static [&'static [&'static str]] {
    match (reader, signal) {
        (_, Signal::Container) => &[OF_CONTAINERS, OF_LIMITS],
        (_, Signal::DriverVersion) => {
            &[&["modinfo", "dkms status", "fabricmanager.log"], OF_CARDS, OF_SERVICES, OF_MESSAGES]
        }
        (
            Reader::Nvml
            | Reader::NvmlSamples
            | Reader::NvmlCounters
            | Reader::NvmlChild
            | Reader::NvmlGpm
            | Reader::NvmlEvents
            | Reader::NvidiaSmi,
            _,
        ) => &[OF_CARDS, OF_MESSAGES],
        (Reader::ProcPid | Reader::ProcTask, _) => {
            &[OF_PROCESSES, OF_STACKS, &["nvitop", "nvtop", "gpustat"], OF_MESSAGES, OF_CARDS, OF_CONTAINERS]
        }
        (Reader::ProcDriver, _) => &[
            &["lsmod", "file of /proc", "modprobe"],
            &["modinfo", "dkms status"],
            &["nvidia-smi", "nvidia-bug-report.log"],
        ],
        (Reader::ProcHost, Signal::HostMemory) => &[OF_MEMORY],
        (Reader::ProcHost, _) => &[OF_PROCESSORS],
        (Reader::ProcPressure | Reader::ProcVmstat, _) => &[&["file of /proc", "vmstat"]],
        (Reader::ProcDisks, _) => &[&["iostat"], &["vmstat", "file of /proc"]],
        (Reader::Cgroup, _) => &[OF_LIMITS, OF_CONTAINERS],
        (Reader::SysPci, _) => &[&["lspci"], OF_CARDS, OF_KERNEL],
        (Reader::Dev, _) => &[&["fuser or lsof"], OF_LIMITS, OF_MESSAGES],
        (Reader::FileSystem, _) => &[&["df", "mount"], OF_MESSAGES],
        (Reader::Services, _) => &[OF_SERVICES, OF_PROCESSES, OF_KERNEL],
        (Reader::KernelLog, _) => &[OF_KERNEL, OF_SERVICES, OF_MESSAGES],
        (Reader::Sampler, _) => &[OF_STACKS],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::signal::{Reader, Signal};
    use gpuwhy_model::text::{Catalogue, Language};

    use super::*;

    fn name(formats: &[&str], signal: Signal, reader: Reader, language: Language) -> String {
        let catalogue = Catalogue::join(crate::TEXTS.iter().copied()).unwrap();
        let mut text = TextRead::default();
        for format in formats {
            text.add_output(format, 1, 1);
        }
        let verdict = Verdict {
            source: SourceKind::Text,
            taken_at: jiff::Timestamp::UNIX_EPOCH,
            window_s: 0.0,
            findings: Vec::new(),
            candidates: Vec::new(),
            cards: Vec::new(),
            explained: Vec::new(),
            ruled_out: Vec::new(),
            blind_spots: Vec::new(),
            ask_next: None,
            limits_changed: Vec::new(),
            notes: Vec::new(),
            inputs: vec![text],
        };
        source_name(&verdict, signal, reader, &Words { catalogue: &catalogue, language })
    }

    #[test]
    fn of_a_text_the_tool_is_named_that_printed_it() {
        for (formats, signal, reader, wanted) in [
            (&["nvidia-smi -q", "squeue"][..], Signal::DriverLibrary, Reader::Nvml, "nvidia-smi"),
            (&["nvidia-smi", "nvidia-smi -q"], Signal::GpuBusy, Reader::NvidiaSmi, "nvidia-smi"),
            (&["rocm-smi"], Signal::GpuBusy, Reader::NvidiaSmi, "rocm-smi"),
            (&["nvidia-smi", "object of Kubernetes"], Signal::Container, Reader::ProcPid, "Kubernetes"),
            (&["lspci", "nvidia-smi"], Signal::PciCards, Reader::SysPci, "lspci"),
            (&["df"], Signal::SharedMemory, Reader::FileSystem, "df"),
            (&["dkms status", "modprobe"], Signal::KernelLog, Reader::KernelLog, "modprobe"),
            (&["log of a program", "ps"], Signal::ParentAlive, Reader::ProcPid, "ps"),
            // Nothing tells which of them had it.
            (&["uname", "mount"], Signal::ProcessState, Reader::ProcTask, "the pasted text"),
            (&["ps", "top", "htop"], Signal::ParentAlive, Reader::ProcPid, "the pasted text"),
            (&["table of jobs"], Signal::NodeState, Reader::SysNet, "table of jobs"),
            (&[], Signal::GpuBusy, Reader::NvidiaSmi, "nvidia-smi"),
            (&["squeue"], Signal::JobReason, Reader::Slurm, "Slurm"),
        ] {
            assert_eq!(name(formats, signal, reader, Language::English), wanted, "{formats:?}");
        }
        let chinese = name(&["kernel log"], Signal::PciCards, Reader::SysPci, Language::SimplifiedChinese);
        assert_eq!(chinese, "内核日志");
    }
}
