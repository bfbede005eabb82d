//! The files that make a folder look like a machine with these cards: driver texts, PCI devices, kernel log, users.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::BoxDirectory;
use super::plan::{KernelLine, Plan};
use super::{pci, users};
use crate::board::{Board, KernelModule};
use crate::workloads::truth::seconds_since_boot;

/// A file or folder of the box could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`", path.display())]
pub struct LandscapeError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> LandscapeError {
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
        (directory.tools(), 0o755),
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
    directory.begin_calls().map_err(failed(directory.path()))?;
    pci::lay_out(&directory.pci_devices(), board)
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
    names.extend(board.switch_buses().enumerate().map(|(number, _)| format!("nvidia-nvswitch{number}")));
    names
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), LandscapeError> {
    fs::write(path, text).map_err(failed(path))
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
            board.driver.module_version.as_ref().unwrap_or(&board.driver.version)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_log_is_in_order_of_time() {
        let line = |seconds_ago, text: &str| KernelLine { seconds_ago, level: 4, text: text.to_owned() };
        let text = kernel_log(&[line(1.0, "later"), line(5.5, "earlier")], 10.0);
        assert_eq!(text, "4,1000,4500000,-;earlier\n4,1001,9000000,-;later\n");
    }
}
