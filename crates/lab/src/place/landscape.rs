//! The files that make a folder look like a machine with these cards: driver texts, PCI devices, kernel log, users.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::BoxDirectory;
use super::plan::{KernelLine, Plan};
use super::users;
use crate::board::{Board, Card, KernelModule};

/// A file or folder of the box could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`", path.display())]
pub struct LandscapeError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LandscapeError {
    let path = path.to_owned();
    move |source| LandscapeError { path, source }
}

/// Lays the folders and files of a box out, apart from programs and library.
///
/// # Errors
/// Fails when something cannot be written.
pub fn lay_out(directory: &BoxDirectory, plan: &Plan, board: &Board) -> Result<(), LandscapeError> {
    let everyone = 0o1777;
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).map_err(failed(directory.path()))?;
    for (folder, mode) in [
        (directory.library_directory(), 0o755),
        (directory.devices(), 0o755),
        (directory.proc_driver(), 0o755),
        (directory.pci_devices(), 0o755),
        (directory.programs(), 0o755),
        (directory.members(), 0o755),
        (directory.stores(), 0o755),
        (directory.data_set(), 0o755),
        (directory.logs(), everyone),
        (directory.checkpoints(), everyone),
    ] {
        // An earlier box may have lain here.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&folder)(error)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        fs::set_permissions(&folder, Permissions::from_mode(mode)).map_err(failed(&folder))?;
    }
    let truth = directory.truth();
    fs::set_permissions(&truth, Permissions::from_mode(everyone)).map_err(failed(&truth))?;
    let machine_users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let machine_modules = fs::read_to_string("/proc/modules").unwrap_or_default();
    write(&directory.passwd(), &users::passwd(&machine_users))?;
    write(&directory.kernel_log(), &kernel_log(&plan.kernel_log, seconds_since_boot()))?;
    write(&directory.proc_modules(), &format!("{}{machine_modules}", modules(board)))?;
    if is_driver_loaded(board) {
        lay_out_driver(&directory.proc_driver(), board)?;
    }
    lay_out_host_bridge(&directory.pci_devices())?;
    for card in &board.cards {
        lay_out_device(&directory.pci_devices(), board, card)?;
    }
    Ok(())
}

/// Whether NVIDIA's kernel module runs on this board.
pub fn is_driver_loaded(board: &Board) -> bool {
    board.driver.loaded && board.driver.module == KernelModule::Nvidia
}

/// The names below `/dev` that the driver makes.
pub fn driver_devices(board: &Board) -> Vec<String> {
    if !is_driver_loaded(board) {
        return Vec::new();
    }
    let mut names = vec!["nvidiactl".to_owned(), "nvidia-uvm".to_owned()];
    for card in board.cards.iter().filter(|card| !card.setting.missing) {
        names.push(format!("nvidia{}", card.index));
    }
    names
}

fn write(path: &Path, text: &str) -> Result<(), LandscapeError> {
    fs::write(path, text).map_err(failed(path))
}

fn seconds_since_boot() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The kernel log as `/dev/kmsg` gives it: `level,sequence,microseconds,-;text`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time since boot, never negative"
)]
fn kernel_log(lines: &[KernelLine], now_s: f64) -> String {
    let mut lines: Vec<&KernelLine> = lines.iter().collect();
    lines.sort_by(|one, other| other.seconds_ago.total_cmp(&one.seconds_ago));
    let mut text = String::new();
    for (sequence, line) in lines.iter().enumerate() {
        let microseconds = ((now_s - line.seconds_ago).max(0.0) * 1e6) as u64;
        let _ = writeln!(text, "{},{},{microseconds},-;{}", line.level, sequence + 1000, line.text);
    }
    text
}

fn modules(board: &Board) -> &'static str {
    match board.driver.module {
        KernelModule::Nvidia if board.driver.loaded => {
            "nvidia_uvm 4194304 0 - Live 0x0000000000000000 (POE)\n\
             nvidia_modeset 1634304 0 - Live 0x0000000000000000 (POE)\n\
             nvidia 104071168 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"
        }
        KernelModule::Nouveau => "nouveau 3600384 0 - Live 0x0000000000000000\n",
        KernelModule::VfioPci => "vfio_pci 16384 0 - Live 0x0000000000000000\n",
        KernelModule::Nvidia | KernelModule::None => "",
    }
}

fn lay_out_driver(proc_driver: &Path, board: &Board) -> Result<(), LandscapeError> {
    let folder = proc_driver.join("nvidia");
    fs::create_dir_all(folder.join("gpus")).map_err(failed(&folder))?;
    write(
        &folder.join("version"),
        &format!(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build\n\
             GCC version:  gcc version 12.3.0\n",
            board.driver.version
        ),
    )?;
    write(&folder.join("params"), "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\n")?;
    for card in board.cards.iter().filter(|card| !card.setting.missing) {
        let gpu = folder.join("gpus").join(card.pci_address());
        fs::create_dir_all(&gpu).map_err(failed(&gpu))?;
        write(
            &gpu.join("information"),
            &format!(
                "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nBus Type: \t PCIe\nBus Location: \t {}\n\
                 Device Minor: \t {}\nGPU Firmware: \t {}\nGPU Excluded:\t No\n",
                card.profile.name,
                120 + card.index,
                card.uuid,
                card.pci_address(),
                card.index,
                board.driver.version
            ),
        )?;
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

fn lay_out_device(pci_devices: &Path, board: &Board, card: &Card) -> Result<(), LandscapeError> {
    let folder = pci_devices.join(card.pci_address());
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let class = if card.setting.display { 0x03_0000 } else { 0x03_0200 };
    let is_gone = card.setting.missing || card.setting.lost_after_s.is_some_and(|after| after <= 0.0);
    let driver = match board.driver.module {
        KernelModule::Nvidia if board.driver.loaded => Some("nvidia"),
        KernelModule::Nouveau => Some("nouveau"),
        KernelModule::VfioPci => Some("vfio-pci"),
        KernelModule::Nvidia | KernelModule::None => None,
    };
    let mut event = String::new();
    if let Some(driver) = driver {
        let _ = writeln!(event, "DRIVER={driver}");
        let target = format!("../../../../bus/pci/drivers/{driver}");
        match symlink(target, folder.join("driver")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&folder)(error));
            }
            _ => {}
        }
    }
    let _ = write!(
        event,
        "PCI_CLASS={class:X}\nPCI_ID=10DE:{:04X}\nPCI_SUBSYS_ID=10DE:{:04X}\nPCI_SLOT_NAME={}\n",
        card.profile.pci_device,
        card.profile.pci_subsystem,
        card.pci_address()
    );
    let files = [
        ("vendor", "0x10de".to_owned()),
        ("device", format!("{:#06x}", card.profile.pci_device)),
        ("subsystem_vendor", "0x10de".to_owned()),
        ("subsystem_device", format!("{:#06x}", card.profile.pci_subsystem)),
        ("class", format!("{class:#08x}")),
        ("revision", if is_gone { "0xff" } else { "0xa1" }.to_owned()),
        ("enable", if driver.is_some() { "1" } else { "0" }.to_owned()),
        ("numa_node", "-1".to_owned()),
        ("max_link_speed", link_speed(card.pcie_generation).to_owned()),
        ("max_link_width", card.pcie_width.to_string()),
        ("current_link_speed", link_speed(card.pcie_current_generation).to_owned()),
        ("current_link_width", card.pcie_current_width.to_string()),
    ];
    for (file, text) in files {
        write(&folder.join(file), &format!("{text}\n"))?;
    }
    write(&folder.join("uevent"), &event)?;
    let configuration = folder.join("config");
    fs::write(&configuration, configuration_header(card, class, is_gone)).map_err(failed(&configuration))
}

/// The first 64 bytes of a device's PCI configuration; a card that is gone reads as all ones.
fn configuration_header(card: &Card, class: u32, is_gone: bool) -> [u8; 64] {
    const NVIDIA: u16 = 0x10DE;
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
    put(0x09, &class.to_le_bytes()[..3]);
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

    #[test]
    fn a_card_that_is_gone_reads_as_all_ones() {
        let setting = crate::board::CardSetting { profile: "t4".into(), ..Default::default() };
        let card = Card::resolve(0, &setting).unwrap();
        let header = configuration_header(&card, 0x03_0200, false);
        assert_eq!(header[..4], [0xDE, 0x10, 0xB8, 0x1E]);
        assert_eq!(header[9..12], [0x00, 0x02, 0x03]);
        assert_eq!(configuration_header(&card, 0x03_0200, true), [0xFF; 64]);
    }

    #[test]
    fn the_kernel_log_is_in_order_of_time() {
        let line = |seconds_ago, text: &str| KernelLine { seconds_ago, level: 4, text: text.to_owned() };
        let text = kernel_log(&[line(1.0, "later"), line(5.5, "earlier")], 10.0);
        assert_eq!(text, "4,1000,4500000,-;earlier\n4,1001,9000000,-;later\n");
    }
}
