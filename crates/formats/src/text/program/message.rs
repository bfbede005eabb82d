//! From a message, on one line, to what it says.

use gpuwhy_knowledge::{
    CudaErrorFact, ErrorRole, NvmlErrorFact, Phrase, Sign, SignKind, Squeezed, cuda_error,
    cuda_error_in_words, cuda_error_named, error_class, error_role, program_sign,
};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{
    ArchUnsupported, CollectiveTimeout, CudaError, Exception, LimitHit, NcclWay, Preallocation, ProcessEnd,
    ProgramFact, ServerState, TooManyWorkers,
};
use gpuwhy_model::units::{Bytes, Seconds};

use super::{figures, progress, server, system};

/// What a message says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// The fact.
    pub(super) fact: ProgramFact,
    /// What it says of others, where it does not stand for itself.
    pub(super) role: Option<ErrorRole>,
}

/// What a message of the driver's library says: a code of it.
pub(super) fn library_code(text: &str) -> Option<u32> {
    let codes: &[(&str, u32)] = &[
        ("NVMLError_LibRmVersionMismatch", NvmlErrorFact::VERSION_MISMATCH),
        ("RM has detected an NVML/RM version mismatch", NvmlErrorFact::VERSION_MISMATCH),
        ("Driver/library version mismatch", NvmlErrorFact::VERSION_MISMATCH),
        ("driver/library version mismatch", NvmlErrorFact::VERSION_MISMATCH),
        ("NVMLError_DriverNotLoaded", NvmlErrorFact::DRIVER_NOT_LOADED),
        ("NVMLError_GpuIsLost", NvmlErrorFact::GPU_IS_LOST),
    ];
    codes.iter().find(|(words, _)| text.contains(words)).map(|(_, code)| *code)
}

/// Returns what an exception says; one always says something.
pub(super) fn of_exception(name: &str, message: &str) -> Said {
    // Some names say more than their message.
    let text = format!("{name}: {message}");
    let message = Squeezed::of(&text);
    if let Some(fact) = of_machine(&text, &message) {
        return Said { role: role_of(&fact, name, &message), fact };
    }
    let short = name.rsplit('.').next().unwrap_or(name).to_owned();
    let class = error_class(name, &message);
    let fact = ProgramFact::Exception(Exception { name: short, class });
    Said { role: role_of(&fact, name, &message), fact }
}

/// Returns what a line says that is no exception, if it says anything.
pub(super) fn of_line(text: &str) -> Option<Said> {
    if let Some(state) = server::state(text) {
        return Some(Said { fact: ProgramFact::ServerState(state), role: None });
    }
    if !is_alarming(text) {
        return progress::step(text).map(|fact| Said { fact, role: None });
    }
    let message = Squeezed::of(text);
    if figures::is_harmless(&message) {
        return None;
    }
    let fact = of_machine(text, &message)
        .or_else(|| progress::loss_not_a_number(text).then_some(ProgramFact::LossNotANumber))
        .or_else(|| progress::step(text))?;
    Some(Said { role: role_of(&fact, "", &message), fact })
}

/// Returns what a message says of the machine, the build, the exchange or how a process ended.
fn of_machine(text: &str, message: &Squeezed) -> Option<ProgramFact> {
    figures::memory(message)
        .or_else(|| cuda(text, message))
        .or_else(|| program_sign(message).and_then(|sign| of_sign(sign, text, message)))
        .or_else(|| system::end(text, message))
}

/// Returns whether the words of a line can be about anything that is looked for here: most lines are not.
fn is_alarming(text: &str) -> bool {
    const STEMS: &[&str] = &[
        "error",
        "fail",
        "memory",
        "kill",
        "nan",
        "abort",
        "fault",
        "signal",
        "exception",
        "warn",
        "nccl",
        "cuda",
        "hip",
        "oom",
        "denied",
        "no such",
        "not found",
        "worker",
        "exhaust",
        "capability",
        "exit",
        "driver",
        "too many",
        "thread",
        "reqs",
        "preempt",
        "limit",
        "socket",
        "p2p",
        "device",
        "watchdog",
        "timed out",
        "failed",
        "broken",
        "read",
        "req:",
        "free():",
        "malloc",
        "smash",
        "unable",
        "exceed",
        "allocat",
        "cannot",
        "can't",
        "ptxas",
        "arch",
        "enqueued",
        "retract",
        "illegal",
    ];
    let lower = text.to_ascii_lowercase();
    STEMS.iter().any(|stem| lower.contains(stem))
}

fn role_of(fact: &ProgramFact, name: &str, message: &Squeezed) -> Option<ErrorRole> {
    match fact {
        // Who is told to end, or aborts, says nothing of why.
        ProgramFact::ProcessEnd(ProcessEnd { signal: Some(6 | 15), .. }) => Some(ErrorRole::Echo),
        ProgramFact::ProcessEnd(ProcessEnd { signal: None, .. }) => Some(ErrorRole::Relay),
        ProgramFact::Exception(_) | ProgramFact::Nccl { .. } => error_role(name, message),
        ProgramFact::Cuda(CudaError { code: 4 }) => Some(ErrorRole::CleanUp),
        _ => None,
    }
}

/// Returns the error code of CUDA that a message gives by name, by its words, or by number.
fn cuda(text: &str, message: &Squeezed) -> Option<ProgramFact> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let by_name = words
        .filter(|word| word.starts_with("cudaError") || word.starts_with("CUDA_ERROR_"))
        .find_map(cuda_error_named);
    let fact = by_name
        .or_else(|| cuda_error_in_words(message, speaks_of_cuda(message)))
        .or_else(|| by_number(message))?;
    Some(match fact.code {
        CudaErrorFact::OUT_OF_MEMORY => figures::memory(message)?,
        CudaErrorFact::NO_KERNEL_IMAGE | CudaErrorFact::INVALID_DEVICE_FUNCTION => {
            ProgramFact::ArchUnsupported(
                program_sign(message).map(|sign| arch(sign, text, message)).unwrap_or_default(),
            )
        }
        CudaErrorFact::INSUFFICIENT_DRIVER | CudaErrorFact::UNSUPPORTED_PTX | 36 => too_old(message),
        code => ProgramFact::Cuda(CudaError { code }),
    })
}

/// Returns whether words that others use too are CUDA's here.
fn speaks_of_cuda(message: &Squeezed) -> bool {
    const MARKS: &[&str] = &[
        "CUDA error",
        "CUDA failure",
        "CUDA runtime error",
        "failed to initialize CUDA",
        "CUDA unknown",
        "CUDA call failed",
        "AcceleratorError",
        "CUDA driver error",
        "cudaGetDeviceCount",
        "CUDA kernel",
        "CUDA failed",
    ];
    MARKS.iter().filter_map(|mark| Phrase::parse(mark)).any(|phrase| phrase.is_in(message))
}

fn by_number(message: &Squeezed) -> Option<&'static CudaErrorFact> {
    const FORMS: &[&str] = &[
        "CUDA error {count}",
        "CUDA failure {count}",
        "CUDA error ({count})",
        "CUDA error: {count}",
        "CUDA error code={count}",
        "CUDA error code: {count}",
        "cudaSuccess ({count} vs. 0)",
        "CUDA driver error {count}",
        "cudaGetDeviceCount returned {count}",
        "cuInit returned {count}",
    ];
    let number =
        FORMS.iter().find_map(|form| Phrase::parse(form)?.values(message)?.first()?.parse::<u32>().ok())?;
    cuda_error(number)
}

/// Returns what a sign says.
fn of_sign(sign: &Sign, text: &str, message: &Squeezed) -> Option<ProgramFact> {
    let count = |name| sign.count(name, message);
    let loader = |signal: Option<u32>| {
        let pid = count("pid").and_then(|pid| u32::try_from(pid).ok()).map(Pid);
        ProgramFact::ProcessEnd(ProcessEnd { pid, is_loader: true, signal, ..ProcessEnd::default() })
    };
    Some(match sign.kind {
        SignKind::CollectiveTimeout | SignKind::CollectiveProgress => {
            ProgramFact::CollectiveTimeout(CollectiveTimeout {
                rank: count("rank").and_then(|rank| u32::try_from(rank).ok()),
                sequence: count("sequence"),
                operation: sign.text("operation", message).map(str::to_owned),
                waited: count("waited_ms").map(|milliseconds| Seconds(milliseconds as f64 / 1000.0)),
                last_enqueued: count("last_enqueued"),
                last_completed: count("last_completed"),
            })
        }
        SignKind::NcclSharedMemory => ProgramFact::SharedMemoryShort { is_sure: true },
        SignKind::SharedMemoryFull => {
            let is_sure = !text.contains("might be caused") && !text.contains("It is possible");
            ProgramFact::SharedMemoryShort { is_sure }
        }
        SignKind::LoaderBusError => loader(Some(7)),
        SignKind::NcclDeviceNotOpened => ProgramFact::NcclWay(NcclWay::DeviceNotOpened),
        SignKind::NcclNoFastNetwork => ProgramFact::NcclWay(NcclWay::NoFastNetwork),
        SignKind::NcclNoPeerAccess => ProgramFact::NcclWay(NcclWay::NoPeerAccess),
        SignKind::NcclSocket => ProgramFact::NcclWay(NcclWay::Socket),
        SignKind::NcclError => ProgramFact::Nccl { what: nccl_words(text) },
        SignKind::ArchUnsupported | SignKind::ArchWarning => {
            ProgramFact::ArchUnsupported(arch(sign, text, message))
        }
        SignKind::DriverTooOld => too_old(message),
        SignKind::NoDriver => ProgramFact::NoDriver,
        SignKind::TooManyWorkers => ProgramFact::TooManyWorkers(TooManyWorkers {
            wanted: count("wanted").unwrap_or(0),
            suggested: count("suggested")?,
        }),
        SignKind::LoaderKilled => loader(Some(9)),
        SignKind::LoaderSegfault => loader(Some(11)),
        SignKind::LoaderEnded => loader(None),
        SignKind::JobMemoryLimit => ProgramFact::LimitHit(LimitHit::Memory),
        SignKind::MachineMemory => {
            ProgramFact::ProcessEnd(ProcessEnd { signal: Some(9), is_loader: true, ..ProcessEnd::default() })
        }
        SignKind::FilesLimit => ProgramFact::LimitHit(LimitHit::Files),
        SignKind::TasksLimit => ProgramFact::LimitHit(LimitHit::Tasks),
        SignKind::LockedMemoryLimit => ProgramFact::LimitHit(LimitHit::LockedMemory),
        SignKind::Preempted => {
            ProgramFact::ServerState(ServerState { is_preempted: true, ..ServerState::default() })
        }
        SignKind::ServerLoad => ProgramFact::ServerState(ServerState {
            software: None,
            running: count("running"),
            waiting: count("waiting"),
            cache_percent: sign
                .real("cache_percent", message)
                .or_else(|| sign.real("cache_share", message).map(|share| share * 100.0)),
            ..ServerState::default()
        }),
        SignKind::TensorflowTook => ProgramFact::Preallocation(Preallocation {
            framework: "TensorFlow".to_owned(),
            card: count("card").and_then(|card| u32::try_from(card).ok()),
            refused: None,
            taken: count("taken_mb").and_then(|mebibytes| mebibytes.checked_mul(1 << 20)).map(Bytes),
        }),
        SignKind::JaxPreallocates => ProgramFact::Preallocation(Preallocation {
            framework: "JAX".to_owned(),
            card: count("card").and_then(|card| u32::try_from(card).ok()),
            refused: None,
            taken: count("taken").map(Bytes),
        }),
        SignKind::InputBrokeOff => ProgramFact::InputBrokeOff,
    })
}

fn nccl_words(text: &str) -> String {
    let start = text.find("NCCL").unwrap_or(0);
    text[start..].chars().take(160).collect()
}

/// Returns which CUDA the driver runs and which one the build needs, as far as the message says.
fn too_old(message: &Squeezed) -> ProgramFact {
    let sign = program_sign(message).filter(|sign| sign.kind == SignKind::DriverTooOld);
    // 12000 is CUDA 12.0.
    let found = sign.and_then(|sign| sign.count("found", message));
    let supports =
        found.filter(|found| *found >= 1000).map(|found| format!("{}.{}", found / 1000, found % 1000 / 10));
    let needs = sign.and_then(|sign| sign.text("needs", message)).map(str::to_owned);
    ProgramFact::DriverTooOld { supports, needs }
}

fn arch(sign: &Sign, text: &str, message: &Squeezed) -> ArchUnsupported {
    let built_for = sign.text("built_for", message).map(capabilities).unwrap_or_default();
    ArchUnsupported {
        card: card_name(text),
        capability: sign.text("capability", message).and_then(capability),
        built_for,
        is_warning: sign.kind == SignKind::ArchWarning,
    }
}

/// Returns the card that a warning names before its capability.
fn card_name(text: &str) -> Option<String> {
    let (before, _) = text.split_once(" with CUDA capability sm_")?;
    let name = before.rsplit([':', '.', '\n']).next()?.trim();
    (!name.is_empty() && name.len() <= 80).then(|| name.to_owned())
}

/// Reads a compute capability: `120` is 12.0, `86` is 8.6, `610` is 6.1, `7,5` is 7.5, `3.0` is 3.0.
fn capability(written: &str) -> Option<String> {
    let parts: Vec<&str> = written.split(['.', ',']).collect();
    if let [major, minor] = parts.as_slice() {
        let is_number = |part: &str| {
            !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        return (is_number(major) && is_number(minor)).then(|| format!("{major}.{minor}"));
    }
    let number: u32 = written.parse().ok()?;
    match number {
        20..=129 => Some(format!("{}.{}", number / 10, number % 10)),
        200..=1299 => Some(format!("{}.{}", number / 100, number / 10 % 10)),
        _ => None,
    }
}

/// Reads a list of compute capabilities: `sm_80sm_90compute_90`, `520,610,700`.
fn capabilities(written: &str) -> Vec<String> {
    let numbers = written.split(|character: char| !character.is_ascii_digit());
    let mut all: Vec<String> = numbers.filter_map(capability).collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use gpuwhy_knowledge::ErrorRole;
    use gpuwhy_model::scene::{ErrorClass, LimitHit, NcclWay, ProgramFact};

    use super::{of_exception, of_line};

    fn fact(text: &str) -> Option<ProgramFact> {
        of_line(text).map(|said| said.fact)
    }

    fn code(text: &str) -> Option<u32> {
        match fact(text)? {
            ProgramFact::Cuda(error) => Some(error.code),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn codes_of_cuda_are_read_by_name_words_and_number() {
        for (text, expected) in [
            ("CUDA error: an illegal memory access was encountered", 700),
            ("Error 804: forward compatibility was attempted on non supported HW", 804),
            ("CUDA error 802: system not yet initialized", 802),
            ("cudaGetDeviceCount returned 802", 802),
            (
                "Check failed: error == cudaSuccess (46 vs. 0)  all CUDA-capable devices are busy or unavailable",
                46,
            ),
            ("E cuda_driver.cc:266] failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error", 999),
            ("transform: failed to synchronize: cudaErrorECCUncorrectable: uncorrectable ECC error", 214),
            ("ggml_cuda_init: failed to initialize CUDA: unknown error", 999),
            ("cuda runtime error (59) : device-side assert triggered at /x.cu:7", 710),
            ("CUDA failure 719 at line 5", 719),
        ] {
            assert_eq!(code(text), Some(expected), "{text}");
        }
        assert_eq!(fact("connection error: unknown error"), None);
    }

    #[test]
    fn builds_and_drivers_that_do_not_fit_are_told_apart() {
        let Some(ProgramFact::ArchUnsupported(arch)) = fact(
            "/x/torch/cuda/__init__.py:209: UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not \
             compatible with the current PyTorch installation. The current PyTorch install supports CUDA capabilities \
             sm_50 sm_80 sm_90. If you want to use the NVIDIA GeForce RTX 5090 GPU with PyTorch, please check",
        ) else {
            panic!()
        };
        assert_eq!(arch.card.as_deref(), Some("NVIDIA GeForce RTX 5090"));
        assert_eq!(arch.capability.as_deref(), Some("12.0"));
        assert_eq!(arch.built_for, ["5.0", "8.0", "9.0"]);
        assert!(arch.is_warning);
        let said = of_exception(
            "RuntimeError",
            "CUDA error: no kernel image is available for execution on the device",
        );
        assert!(matches!(said.fact, ProgramFact::ArchUnsupported(_)), "{said:?}");
        let Some(ProgramFact::ArchUnsupported(arch)) = fact(
            "ggml-cuda.cu: ERROR: CUDA kernel mul_mat_q has no device code compatible with CUDA arch 600. ggml-cuda.cu \
             was compiled for: 520,610,700",
        ) else {
            panic!()
        };
        assert_eq!((arch.capability.as_deref(), arch.built_for.len()), (Some("6.0"), 3));
        assert_eq!(
            fact(
                "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update"
            ),
            Some(ProgramFact::DriverTooOld { supports: Some("11.4".to_owned()), needs: None })
        );
        assert_eq!(
            fact("CUDA driver version is insufficient for CUDA runtime version"),
            Some(ProgramFact::DriverTooOld { supports: None, needs: None })
        );
    }

    #[test]
    fn exchange_loaders_and_limits_are_read() {
        let Some(ProgramFact::CollectiveTimeout(timeout)) = fact(
            "[PG ID 0 PG GUID 0(default_pg) Rank 3] Exception (either an error or timeout) detected by watchdog at work: \
             808, last enqueued NCCL work: 811, last completed NCCL work: 807.",
        ) else {
            panic!()
        };
        assert_eq!((timeout.rank, timeout.sequence), (Some(3), Some(808)));
        assert_eq!((timeout.last_enqueued, timeout.last_completed), (Some(811), Some(807)));
        assert_eq!(fact("NCCL INFO Using network Socket"), Some(ProgramFact::NcclWay(NcclWay::Socket)));
        assert_eq!(
            fact("OSError: [Errno 24] Too many open files"),
            Some(ProgramFact::LimitHit(LimitHit::Files))
        );
        let Some(ProgramFact::ProcessEnd(end)) =
            fact("DataLoader worker (pid 7) is killed by signal: Killed.")
        else {
            panic!()
        };
        assert_eq!((end.pid.map(|pid| pid.0), end.signal, end.is_loader), (Some(7), Some(9), true));
        let said = of_line("torch.distributed.DistBackendError: NCCL error in: /x.cpp:5, remote process exited or there was a network error").unwrap();
        assert_eq!(said.role, Some(ErrorRole::Echo));
    }

    #[test]
    fn an_exception_always_says_something() {
        let said = of_exception("KeyError", "'rank'");
        let ProgramFact::Exception(exception) = said.fact else { panic!() };
        assert_eq!((exception.name.as_str(), exception.class), ("KeyError", ErrorClass::UncaughtException));
        let said =
            of_exception("torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB");
        assert!(matches!(said.fact, ProgramFact::OutOfCardMemory(_)));
    }

    #[test]
    fn plain_lines_say_nothing() {
        for text in [
            "loading the model into memory",
            "no errors so far",
            "device: cuda:0",
            "NCCL version 2.18.1+cuda12.1",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB. The caller indicates that this is not a failure, but",
        ] {
            assert_eq!(of_line(text), None, "{text}");
        }
    }
}
