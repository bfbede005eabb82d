//! Whether somebody must hold memory of a card without being named.

use std::collections::BTreeMap;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::NvmlSample;

/// Memory of a card that nobody accounts for is looked into from here on: bytes, and hundredths of the card.
const UNEXPLAINED_BYTES: u64 = 1 << 30;
const UNEXPLAINED_PERCENT: u64 = 3;

/// Returns whether the memory of some card is held by somebody whom the driver does not name.
pub(super) fn does_not_add_up(nvml: &Reading<NvmlSample>) -> bool {
    let Some(nvml) = nvml.known() else {
        // Nobody is named at all: with device files there may be holders.
        return true;
    };
    nvml.cards.iter().any(|card| {
        let Some(memory) = card.memory.known() else {
            return !card.handle.is_known();
        };
        let Some(clients) = card.clients.known() else {
            return memory.used.0 > UNEXPLAINED_BYTES;
        };
        let mut by_process: BTreeMap<Pid, u64> = BTreeMap::new();
        for client in clients {
            let Some(bytes) = client.memory.known() else {
                // The driver names them without saying what they hold.
                return false;
            };
            let held = by_process.entry(client.pid).or_default();
            *held = (*held).max(bytes.0);
        }
        let explained: u64 = by_process.values().sum();
        let tolerated = UNEXPLAINED_BYTES.max(memory.total.0 / 100 * UNEXPLAINED_PERCENT);
        memory.used.0.saturating_sub(explained) > tolerated
    })
}

#[cfg(test)]
mod tests {
    use super::does_not_add_up;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::sample::{CardClient, CardMemory, CardSample, ClientKind, NvmlSample};
    use gpuwhy_model::units::Bytes;

    #[test]
    fn descriptors_are_swept_when_memory_does_not_add_up() {
        let card = |used: u64, clients: Reading<Vec<CardClient>>| {
            let memory = CardMemory { total: Bytes(80 << 30), used: Bytes(used), ..CardMemory::default() };
            let card = CardSample {
                memory: Reading::Known(memory),
                clients,
                handle: Reading::Known(()),
                ..CardSample::default()
            };
            Reading::Known(NvmlSample { cards: vec![card], ..NvmlSample::default() })
        };
        let client = |bytes: u64, kind| CardClient {
            pid: Pid(7),
            kind,
            memory: Reading::Known(Bytes(bytes)),
            name: Reading::Unsupported,
        };
        let both = vec![client(30 << 30, ClientKind::Compute), client(30 << 30, ClientKind::Graphics)];
        assert!(!does_not_add_up(&card(31 << 30, Reading::Known(both.clone()))));
        assert!(does_not_add_up(&card(40 << 30, Reading::Known(both))));
        assert!(does_not_add_up(&card(40 << 30, Reading::Unsupported)));
        assert!(!does_not_add_up(&card(0, Reading::Known(Vec::new()))));
        assert!(does_not_add_up(&Reading::Failed(Failure::NotReached)));
    }
}
