//! What sysfs shows of the cards while the box is up, as the board's events and the links' states change.

use std::io;
use std::time::Duration;

use super::BoxDirectory;
use super::pci;
use crate::cards::Machine;
use crate::state::Clock;

/// Cards are looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Follows the cards of the box in `directory` until the process ends.
///
/// # Errors
/// Fails when no thread can be started.
pub(super) fn follow(directory: &BoxDirectory) -> io::Result<()> {
    let directory = directory.clone();
    std::thread::Builder::new().name("timeline".to_owned()).spawn(move || {
        let Ok(machine) = Machine::open(&directory) else { return };
        loop {
            show_cards(&directory, &machine);
            std::thread::sleep(LOOK_EVERY);
        }
    })?;
    Ok(())
}

fn show_cards(directory: &BoxDirectory, machine: &Machine) {
    let now_s = machine.since_start(Clock::now());
    for index in 0..machine.board().cards.len() {
        let Some(card) = machine.card(index) else { continue };
        let is_gone = card.setting.missing || card.is_lost(now_s);
        let generation = machine.look(&card).link_generation;
        let counters = machine.pcie_counters(&card);
        // A box that is being taken down has no such files any more; nobody reads them then.
        let _ = pci::show_state(&directory.pci_devices(), &card, generation, is_gone, &counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardFile;
    use crate::state::State;

    #[test]
    fn a_link_that_rests_and_errors_that_grow_are_shown() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        let file: BoardFile = toml::from_str(
            "[[card]]\nprofile = \"rtx-3090\"\npcie_errors = { correctable = 3 }\n\n\
             [[card]]\nprofile = \"t4\"\nlost = true\n",
        )
        .unwrap();
        std::fs::write(directory.board_file(), file.to_toml().unwrap()).unwrap();
        State::create(&directory).unwrap();
        std::fs::create_dir(directory.pci_devices()).unwrap();
        pci::lay_out(&directory.pci_devices(), &file.resolve().unwrap()).unwrap();
        let read = |path: &str| std::fs::read_to_string(directory.pci_devices().join(path)).unwrap();
        assert_eq!(read("0000:0f:00.0/current_link_speed"), "16.0 GT/s PCIe\n");
        show_cards(&directory, &Machine::open(&directory).unwrap());
        assert_eq!(read("0000:0f:00.0/current_link_speed"), "2.5 GT/s PCIe\n");
        assert!(read("0000:0f:00.0/aer_dev_correctable").ends_with("TOTAL_ERR_COR 3\n"));
        assert_eq!(read("0000:1d:00.0/revision"), "0xff\n");
        State::remove(&directory).unwrap();
    }
}
