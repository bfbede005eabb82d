//! Which facts are errors of a program's own making, of what kind, and how sure that is.

use gpuwhy_knowledge::{CudaErrorClass, CudaErrorFact, cuda_error};
use gpuwhy_model::scene::{ErrorClass, ProcessEnd, ProgramFact};

/// What kind of error a fact is, and how sure it is that the program made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judged {
    pub(super) class: ErrorClass,
    /// 0 to 1.
    pub(super) strength: f64,
}

/// Codes of CUDA that speak of card, driver or machine: other causes have them.
const OF_OTHER_CAUSES: &[u32] = &[
    CudaErrorFact::OUT_OF_MEMORY,
    CudaErrorFact::INSUFFICIENT_DRIVER,
    CudaErrorFact::DEVICES_UNAVAILABLE,
    CudaErrorFact::INVALID_DEVICE_FUNCTION,
    CudaErrorFact::NO_DEVICE,
    CudaErrorFact::NO_KERNEL_IMAGE,
    CudaErrorFact::ECC_UNCORRECTABLE,
    CudaErrorFact::NVLINK_UNCORRECTABLE,
    CudaErrorFact::UNSUPPORTED_PTX,
    CudaErrorFact::CONTAINED,
    CudaErrorFact::SYSTEM_NOT_READY,
    CudaErrorFact::DRIVER_MISMATCH,
    CudaErrorFact::COMPAT_NOT_SUPPORTED,
];

/// A launch that failed without saying why: often the program, sometimes the card.
const LAUNCH_FAILED: u32 = 719;

/// Returns what kind of error a fact is; none where it is no error of the program's own making.
pub(super) fn judged(fact: &ProgramFact) -> Option<Judged> {
    let (class, strength) = match fact {
        ProgramFact::Exception(exception) => {
            // A type alone says little, a message of a known kind much.
            let strength = match exception.class {
                ErrorClass::RuntimeError | ErrorClass::UncaughtException => 0.93,
                // A library of the card that failed: why, it does not say.
                ErrorClass::CudaError => 0.5,
                _ => 0.97,
            };
            (exception.class, strength)
        }
        ProgramFact::OutOfHostMemory { .. } => (ErrorClass::HostMemoryError, 0.92),
        ProgramFact::LossNotANumber => (ErrorClass::NanLoss, 0.65),
        ProgramFact::Cuda(error) => (ErrorClass::CudaError, cuda_strength(error.code)?),
        ProgramFact::Nccl { .. } => (ErrorClass::NcclError, 0.85),
        ProgramFact::ProcessEnd(end) => of_end(end)?,
        _ => return None,
    };
    Some(Judged { class, strength })
}

fn cuda_strength(code: u32) -> Option<f64> {
    if OF_OTHER_CAUSES.contains(&code) {
        return None;
    }
    Some(match cuda_error(code).map(|fact| fact.class) {
        _ if code == LAUNCH_FAILED => 0.7,
        Some(CudaErrorClass::App) => 0.95,
        Some(CudaErrorClass::Config | CudaErrorClass::Compat | CudaErrorClass::Topology) => 0.7,
        _ => 0.45,
    })
}

/// Judges how a process ended: some signals are errors of the program.
fn of_end(end: &ProcessEnd) -> Option<(ErrorClass, f64)> {
    match end.signal? {
        4 => Some((ErrorClass::UncaughtException, 0.7)),
        8 => Some((ErrorClass::DivisionByZero, 0.9)),
        // A loader that is killed is judged with the machine's memory.
        9 if !end.is_loader => Some((ErrorClass::OomKiller, 0.55)),
        11 => Some((ErrorClass::Segfault, 0.95)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{CudaError, ErrorClass, OutOfCardMemory, ProcessEnd, ProgramFact};

    use super::judged;

    #[test]
    fn what_other_causes_have_is_no_error_of_the_program() {
        let class = |fact: &ProgramFact| judged(fact).map(|judged| judged.class);
        let cuda = |code| ProgramFact::Cuda(CudaError { code });
        assert_eq!(class(&cuda(700)), Some(ErrorClass::CudaError));
        assert_eq!(class(&cuda(802)), None);
        assert_eq!(class(&ProgramFact::OutOfCardMemory(OutOfCardMemory::default())), None);
        let end = |signal, is_loader| {
            ProgramFact::ProcessEnd(ProcessEnd { signal: Some(signal), is_loader, ..ProcessEnd::default() })
        };
        assert_eq!(class(&end(9, false)), Some(ErrorClass::OomKiller));
        assert_eq!(class(&end(9, true)), None);
        assert_eq!(class(&end(11, true)), Some(ErrorClass::Segfault));
        assert_eq!(class(&end(15, false)), None);
    }
}
