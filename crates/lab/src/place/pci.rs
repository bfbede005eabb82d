//! What sysfs shows of the PCI devices of a box: cards, switches and a host bridge.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::landscape::{LandscapeError, failed, write};
use crate::board::{Board, Card, KernelModule};
use crate::cards::PcieCounters;

/// PCI vendor NVIDIA.
const NVIDIA: u16 = 0x10DE;
/// PCI device of a switch.
const SWITCH: u16 = 0x22A3;
/// Class of a switch: a bridge of no other kind.
const SWITCH_CLASS: u32 = 0x06_8000;

/// Lays out all devices of a board.
pub(super) fn lay_out(pci_devices: &Path, board: &Board) -> Result<(), LandscapeError> {
    lay_out_host_bridge(pci_devices)?;
    for bus in board.switch_buses() {
        lay_out_switch(pci_devices, board, bus)?;
    }
    for card in &board.cards {
        lay_out_card(pci_devices, board, card)?;
    }
    Ok(())
}

fn lay_out_host_bridge(pci_devices: &Path) -> Result<(), LandscapeError> {
    let folder = pci_devices.join("0000:00:00.0");
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for (file, text) in [("vendor", "0x8086\n"), ("device", "0x3456\n"), ("class", "0x060000\n")] {
        write(&folder.join(file), text)?;
    }
    Ok(())
}

fn lay_out_switch(pci_devices: &Path, board: &Board, bus: u8) -> Result<(), LandscapeError> {
    let address = format!("0000:{bus:02x}:00.0");
    let folder = pci_devices.join(&address);
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let driver = (driver(board) == Some("nvidia")).then_some("nvidia-nvswitch");
    bind_driver(&folder, driver)?;
    let files = [
        ("vendor", format!("{NVIDIA:#06x}")),
        ("device", format!("{SWITCH:#06x}")),
        ("class", format!("{SWITCH_CLASS:#08x}")),
        ("revision", "0xa1".to_owned()),
        ("numa_node", "-1".to_owned()),
    ];
    for (file, text) in files {
        write(&folder.join(file), &format!("{text}\n"))?;
    }
    let event = event_text(driver, SWITCH_CLASS, SWITCH, 0, &address);
    write(&folder.join("uevent"), &event)
}

/// Lays out a card as it is when the box comes up.
fn lay_out_card(pci_devices: &Path, board: &Board, card: &Card) -> Result<(), LandscapeError> {
    let folder = pci_devices.join(card.pci_address());
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let driver = driver(board);
    bind_driver(&folder, driver)?;
    let numa_node = card.setting.numa_node.map_or("-1".to_owned(), |node| node.to_string());
    let files = [
        ("vendor", format!("{NVIDIA:#06x}")),
        ("device", format!("{:#06x}", card.profile.pci_device)),
        ("subsystem_vendor", format!("{NVIDIA:#06x}")),
        ("subsystem_device", format!("{:#06x}", card.profile.pci_subsystem)),
        ("class", format!("{:#08x}", class(card))),
        ("enable", if driver.is_some() { "1" } else { "0" }.to_owned()),
        ("numa_node", numa_node),
        ("reset_method", "flr bus".to_owned()),
        ("max_link_speed", link_speed(card.pcie_generation).to_owned()),
        ("max_link_width", card.pcie_width.to_string()),
    ];
    for (file, text) in files {
        write(&folder.join(file), &format!("{text}\n"))?;
    }
    let event = event_text(
        driver,
        class(card),
        card.profile.pci_device,
        card.profile.pci_subsystem,
        &card.pci_address(),
    );
    write(&folder.join("uevent"), &event)?;
    let is_gone = card.setting.missing || card.is_lost(0.0);
    let errors = &card.setting.pcie_errors;
    let counters = PcieCounters {
        correctable: errors.correctable,
        bad_packets: errors.correctable.div_ceil(2),
        bad_link_packets: errors.correctable / 2,
        non_fatal: errors.non_fatal,
        fatal: errors.fatal,
        ..PcieCounters::default()
    };
    show_state(pci_devices, card, card.pcie_current_generation, is_gone, &counters)
}

/// Shows what changes on a card while the box is up. Files are replaced, so that nobody reads half of one.
pub(super) fn show_state(
    pci_devices: &Path,
    card: &Card,
    generation: u32,
    is_gone: bool,
    counters: &PcieCounters,
) -> Result<(), LandscapeError> {
    let folder = pci_devices.join(card.pci_address());
    let texts = [
        ("revision", format!("{}\n", if is_gone { "0xff" } else { "0xa1" })),
        ("current_link_speed", format!("{}\n", if is_gone { "Unknown" } else { link_speed(generation) })),
        ("current_link_width", format!("{}\n", if is_gone { 63 } else { card.pcie_current_width })),
        ("aer_dev_correctable", correctable_text(counters)),
        ("aer_dev_nonfatal", uncorrectable_text("NONFATAL", counters.non_fatal)),
        ("aer_dev_fatal", uncorrectable_text("FATAL", counters.fatal)),
    ];
    for (file, text) in texts {
        replace(&folder.join(file), text.as_bytes())?;
    }
    replace(&folder.join("config"), &configuration_header(card, is_gone))
}

/// Writes a file that others may be reading, unless it says that already.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), LandscapeError> {
    if fs::read(path).is_ok_and(|now| now == bytes) {
        return Ok(());
    }
    let draft = path.with_extension("draft");
    fs::write(&draft, bytes).map_err(failed(&draft))?;
    fs::rename(&draft, path).map_err(failed(path))
}

/// The kernel module that is bound to the cards.
fn driver(board: &Board) -> Option<&'static str> {
    match board.driver.module {
        KernelModule::Nvidia if board.driver.loaded => Some("nvidia"),
        KernelModule::Nouveau => Some("nouveau"),
        KernelModule::VfioPci => Some("vfio-pci"),
        KernelModule::Nvidia | KernelModule::None => None,
    }
}

fn bind_driver(folder: &Path, driver: Option<&str>) -> Result<(), LandscapeError> {
    let Some(driver) = driver else { return Ok(()) };
    let target = format!("../../../../bus/pci/drivers/{driver}");
    match symlink(target, folder.join("driver")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(folder)(error)),
        _ => Ok(()),
    }
}

fn event_text(driver: Option<&str>, class: u32, device: u16, subsystem: u16, address: &str) -> String {
    let mut event = String::new();
    if let Some(driver) = driver {
        let _ = writeln!(event, "DRIVER={driver}");
    }
    let _ = write!(
        event,
        "PCI_CLASS={class:X}\nPCI_ID={NVIDIA:04X}:{device:04X}\nPCI_SUBSYS_ID={NVIDIA:04X}:{subsystem:04X}\n\
         PCI_SLOT_NAME={address}\n"
    );
    event
}

fn class(card: &Card) -> u32 {
    if card.setting.display { 0x03_0000 } else { 0x03_0200 }
}

/// The kernel's list of corrected errors.
fn correctable_text(counters: &PcieCounters) -> String {
    format!(
        "RxErr 0\nBadTLP {}\nBadDLLP {}\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\n\
         TOTAL_ERR_COR {}\n",
        counters.bad_packets, counters.bad_link_packets, counters.correctable
    )
}

/// The kernel's list of uncorrected errors; those of a box are completions that never came.
fn uncorrectable_text(kind: &str, count: u64) -> String {
    format!(
        "Undefined 0\nDLP 0\nSDES 0\nTLP 0\nFCP 0\nCmpltTO {count}\nCmpltAbrt 0\nUnxCmplt 0\nRxOF 0\nMalfTLP 0\n\
         ECRC 0\nUnsupReq 0\nACSViol 0\nUncorrIntErr 0\nBlockedTLP 0\nAtomicOpBlocked 0\nTLPBlockedErr 0\n\
         PoisonTLPBlocked 0\nTOTAL_ERR_{kind} {count}\n"
    )
}

/// The first 64 bytes of a device's PCI configuration; a card that is gone reads as all ones.
fn configuration_header(card: &Card, is_gone: bool) -> [u8; 64] {
    if is_gone {
        return [0xFF; 64];
    }
    let mut header = [0; 64];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x00, &NVIDIA.to_le_bytes());
    put(0x02, &card.profile.pci_device.to_le_bytes());
    // Memory and bus mastering on, a list of capabilities, revision a1.
    put(0x04, &0x0406_u16.to_le_bytes());
    put(0x06, &0x0010_u16.to_le_bytes());
    put(0x08, &[0xA1]);
    put(0x09, &class(card).to_le_bytes()[..3]);
    put(0x2C, &NVIDIA.to_le_bytes());
    put(0x2E, &card.profile.pci_subsystem.to_le_bytes());
    header
}

fn link_speed(generation: u32) -> &'static str {
    match generation {
        0 | 1 => "2.5 GT/s PCIe",
        2 => "5.0 GT/s PCIe",
        3 => "8.0 GT/s PCIe",
        4 => "16.0 GT/s PCIe",
        5 => "32.0 GT/s PCIe",
        _ => "64.0 GT/s PCIe",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BoardFile;

    fn board(text: &str) -> Board {
        toml::from_str::<BoardFile>(text).unwrap().resolve().unwrap()
    }

    #[test]
    fn a_card_that_is_gone_reads_as_all_ones() {
        let board = board("[[card]]\nprofile = \"t4\"\n");
        let header = configuration_header(&board.cards[0], false);
        assert_eq!(header[..4], [0xDE, 0x10, 0xB8, 0x1E]);
        assert_eq!(header[9..12], [0x00, 0x02, 0x03]);
        assert_eq!(configuration_header(&board.cards[0], true), [0xFF; 64]);
    }

    #[test]
    fn a_switched_board_shows_its_switches_and_errors_add_up() {
        let temporary = tempfile::tempdir().unwrap();
        let board = board(
            "[[card]]\nprofile = \"h100-sxm5-80gb\"\ncount = 8\nnuma_node = 1\n\
             pcie_errors = { correctable = 7, fatal = 1 }\n",
        );
        lay_out(temporary.path(), &board).unwrap();
        let read = |path: &str| fs::read_to_string(temporary.path().join(path)).unwrap();
        assert_eq!(read("0000:04:00.0/class"), "0x068000\n");
        assert_eq!(read("0000:0f:00.0/numa_node"), "1\n");
        let errors = read("0000:0f:00.0/aer_dev_correctable");
        assert!(
            errors.contains("BadTLP 4\nBadDLLP 3\n") && errors.ends_with("TOTAL_ERR_COR 7\n"),
            "{errors}"
        );
        assert!(read("0000:0f:00.0/aer_dev_fatal").ends_with("TOTAL_ERR_FATAL 1\n"));
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1 + 4 + 8);
    }
}
