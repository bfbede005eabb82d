//! Lines of the kernel log that say a card is lost or the driver is stuck.

use gpuwhy_knowledge::{FirstAction, Severity};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::{KernelFact, KernelLine, LogClock};
use gpuwhy_model::scene::Scene;

/// Numbers of driver errors after which calls hang.
const HANGING_XIDS: &[u32] = &[46, 62, 109, 110, 119, 120, 143, 158, 167, 175];

/// The driver error that means a card has fallen off the bus.
const FALLEN_OFF: u32 = 79;

/// Returns the address of the card that a line reports as fallen off the bus.
pub(crate) fn fallen_off(line: &KernelLine) -> Option<&str> {
    match line.fact.as_ref()? {
        KernelFact::Xid { pci_address, number: FALLEN_OFF, .. }
        | KernelFact::FallenOffTheBus { pci_address } => Some(pci_address),
        _ => None,
    }
}

/// Returns whether a line reports an error that no program caused, and that is more than book-keeping.
pub(crate) fn is_fault(line: &KernelLine) -> bool {
    match line.fact {
        Some(KernelFact::Xid { is_fatal: Some(false), .. }) => false,
        Some(KernelFact::Xid { number, .. }) => !is_harmless(number),
        Some(KernelFact::FallenOffTheBus { .. }) => true,
        _ => false,
    }
}

fn is_harmless(xid: u32) -> bool {
    gpuwhy_knowledge::xid(xid).is_some_and(|fact| {
        // The vendor ignores some warnings unless they come again and again.
        matches!(fact.severity, Severity::None | Severity::Info | Severity::Meta | Severity::App)
            || fact.severity == Severity::Warn && fact.first_action == FirstAction::None
    })
}

/// Returns whether a line shows that calls into the driver hang.
pub(crate) fn shows_a_hang(line: &KernelLine) -> bool {
    match line.fact {
        Some(KernelFact::Xid { number, .. }) => HANGING_XIDS.contains(&number),
        // A task that waits for I/O hangs for its storage.
        Some(KernelFact::HungTask { waits_for_io, .. }) => !waits_for_io,
        Some(KernelFact::RpcTimeout) => true,
        _ => false,
    }
}

/// Returns whether a line says that the kernel refused the driver's module for its signature.
pub(crate) fn is_module_refusal(line: &KernelLine) -> bool {
    line.fact == Some(KernelFact::ModuleRefused)
}

/// Returns the lines that were read; none when the log could not be read.
pub(crate) fn lines(scene: &Scene) -> &[KernelLine] {
    scene.events.known().map_or(&[], Vec::as_slice)
}

/// Returns whether a line is young enough to speak of now; without a clock, every line since the last boot is.
pub(crate) fn is_fresh(scene: &Scene, line: &KernelLine, limits: &Limits) -> bool {
    !line.before_boot && age_s(scene, line).is_none_or(|age_s| age_s <= limits.kernel_log_fresh_s)
}

/// Returns how long before the end of the window a line was written, in seconds; none without a clock.
pub(crate) fn age_s(scene: &Scene, line: &KernelLine) -> Option<f64> {
    let end_ns = scene.window.end_boot_ns.filter(|_| line.clock == LogClock::Boot)?;
    Some((end_ns / 1000).saturating_sub(line.boot_us) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::{KernelFact, KernelLine};

    use super::{fallen_off, is_fault, shows_a_hang};

    fn line(fact: KernelFact) -> KernelLine {
        KernelLine { fact: Some(fact), ..KernelLine::default() }
    }

    fn xid(number: u32) -> KernelLine {
        line(KernelFact::Xid {
            pci_address: "0000:65:00.0".to_owned(),
            number,
            pid: None,
            name: None,
            caused_by: None,
            is_fatal: None,
            recovery: None,
        })
    }

    #[test]
    fn a_card_is_lost_with_and_without_a_number() {
        assert_eq!(fallen_off(&xid(79)), Some("0000:65:00.0"));
        assert_eq!(fallen_off(&xid(31)), None);
        let without = line(KernelFact::FallenOffTheBus { pci_address: "0000:c1:00.0".to_owned() });
        assert_eq!(fallen_off(&without), Some("0000:c1:00.0"));
        assert!(is_fault(&without) && is_fault(&xid(79)) && !is_fault(&xid(31)));
    }

    #[test]
    fn hangs_are_told_from_errors_of_programs_and_from_slow_storage() {
        let task = |waits_for_io: bool| {
            line(KernelFact::HungTask { name: "python".to_owned(), pid: Pid(7), seconds: 120, waits_for_io })
        };
        assert!(shows_a_hang(&xid(119)) && shows_a_hang(&line(KernelFact::RpcTimeout)));
        assert!(shows_a_hang(&task(false)) && !shows_a_hang(&task(true)));
        assert!(!shows_a_hang(&xid(31)) && !shows_a_hang(&KernelLine::default()));
    }
}
