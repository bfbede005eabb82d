//! Lines of the kernel log that say a card is lost or the driver is stuck.

use gpuwhy_knowledge::Severity;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::sample::KernelLine;
use gpuwhy_model::scene::Scene;

use super::cards::slot;

/// Numbers of driver errors after which calls hang.
const HANGING_XIDS: &[u32] = &[46, 62, 109, 110, 119, 120, 143, 158, 167, 175];

/// The driver error that means a card has fallen off the bus.
pub(crate) const FALLEN_OFF: u32 = 79;

/// A driver error of the kernel log: `NVRM: Xid (PCI:0000:65:00): 79, …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Xid {
    pub(crate) slot: String,
    pub(crate) number: u32,
}

impl Xid {
    /// Returns whether a program caused it, or it only keeps the books.
    pub(crate) fn is_harmless(&self) -> bool {
        gpuwhy_knowledge::xid(self.number).is_some_and(|fact| {
            matches!(fact.severity, Severity::None | Severity::Info | Severity::Meta | Severity::App)
        })
    }
}

/// Returns the driver error that a line reports.
pub(crate) fn xid(text: &str) -> Option<Xid> {
    let (_, after) = text.split_once("NVRM: Xid (")?;
    let (place, after) = after.split_once("): ")?;
    let address = place.trim_start_matches("PCI:").split(' ').next()?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    Some(Xid { slot: slot(address), number: digits.parse().ok()? })
}

/// Returns the place of the card that a line reports as fallen off the bus.
pub(crate) fn fallen_off(text: &str) -> Option<String> {
    if let Some(xid) = xid(text) {
        return (xid.number == FALLEN_OFF).then_some(xid.slot);
    }
    if !text.contains("fallen off the bus") {
        return None;
    }
    let (_, after) = text.split_once("GPU ")?;
    let address = after.split_whitespace().next()?.trim_end_matches(':');
    address.contains(':').then(|| slot(address))
}

/// Returns whether a line shows that calls into the driver hang.
pub(crate) fn shows_a_hang(text: &str) -> bool {
    if let Some(xid) = xid(text) {
        return HANGING_XIDS.contains(&xid.number);
    }
    let lower = text.to_ascii_lowercase();
    let is_hung_task = lower.contains("blocked for more than") && lower.contains("task");
    let is_remote_call =
        lower.contains("nvrm") && (lower.contains("rpc") || lower.contains("gsp")) && lower.contains("time");
    is_hung_task || is_remote_call
}

/// Returns the lines that a test picks; none when the log could not be read.
pub(crate) fn lines(scene: &Scene) -> &[KernelLine] {
    scene.events.known().map_or(&[], Vec::as_slice)
}

/// Returns whether a line is young enough to speak of now; without a clock, every line is.
pub(crate) fn is_fresh(scene: &Scene, line: &KernelLine, limits: &Limits) -> bool {
    let Some(end_ns) = scene.window.end_boot_ns else {
        return true;
    };
    let age_s = (end_ns / 1000).saturating_sub(line.boot_us) as f64 / 1e6;
    age_s <= limits.kernel_log_fresh_s
}

#[cfg(test)]
mod tests {
    use super::{Xid, fallen_off, shows_a_hang, xid};

    #[test]
    fn driver_errors_are_read() {
        let line =
            "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
        assert_eq!(xid(line), Some(Xid { slot: "0000:65:00".to_owned(), number: 79 }));
        assert_eq!(fallen_off(line).as_deref(), Some("0000:65:00"));
        let mig = "NVRM: Xid (PCI:0000:3B:00 GPU-I:02): 94, pid=1234, name=python, Contained";
        assert_eq!(xid(mig).unwrap().number, 94);
    }

    #[test]
    fn falling_off_without_a_number_is_read() {
        assert_eq!(
            fallen_off("NVRM: GPU 0000:C1:00.0: GPU has fallen off the bus.").as_deref(),
            Some("0000:c1:00")
        );
        assert_eq!(fallen_off("fallen off the bus and is not responding to commands."), None);
    }

    #[test]
    fn hangs_are_recognised() {
        assert!(shows_a_hang("INFO: task python:4242 blocked for more than 120 seconds."));
        assert!(shows_a_hang(
            "NVRM: Xid (PCI:0000:65:00): 119, pid=4242, Timeout after 6s of waiting for RPC response"
        ));
        assert!(!shows_a_hang("NVRM: Xid (PCI:0000:65:00): 31, pid=4242, MMU fault"));
    }
}
