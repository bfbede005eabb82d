//! Our own binary under the names that a person would see, and the library beside it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::BoxDirectory;
use super::plan::Plan;
use crate::board::{LibraryError, install_library};
use crate::stand_in;

/// The variable that tells a process of the box which specification it follows.
pub const SPECIFICATION_VARIABLE: &str = "LAB_SPECIFICATION";

/// Why programs or the library could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Something could not be copied or found.
    #[error("cannot install `{}`", path.display())]
    Io {
        /// The file that is being installed.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The library was not built.
    #[error("no `libnvidia_ml.so` beside `{}` (build the package gpuwhy-lab-nvml)", program.display())]
    NoLibrary {
        /// The program beside which it was looked for.
        program: PathBuf,
    },
    /// The library cannot be put into the box.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Other users cannot reach the box.
    #[error("the members cannot reach the box: `{}` is closed to others", .0.display())]
    Closed(PathBuf),
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { path, source }
}

/// Installs the programs that the members of `plan` run, and the driver's library if it has one.
///
/// # Errors
/// Fails when a file cannot be linked or copied, or the library was not built.
pub fn install(directory: &BoxDirectory, plan: &Plan) -> Result<(), InstallError> {
    let ourselves = std::env::current_exe().map_err(failed(Path::new("/proc/self/exe")))?;
    let names: BTreeSet<&str> = plan.members.iter().map(|member| member.program.as_str()).collect();
    for name in names {
        link_or_copy(&ourselves, &directory.programs().join(name))?;
    }
    for name in stand_in::names() {
        // A machine without the driver's library has none of its programs.
        if plan.library_installed || !name.starts_with("nvidia") {
            link_or_copy(&ourselves, &directory.tools().join(name))?;
        }
    }
    if plan.library_installed {
        let library = built_library(&ourselves)
            .ok_or_else(|| InstallError::NoLibrary { program: ourselves.clone() })?;
        install_library(&library, directory, &plan.board.driver.omitted_symbols)?;
    }
    Ok(())
}

/// Fails when a folder on the way to the box is closed to other users.
///
/// # Errors
/// Names the closed folder.
pub fn check_reachable(directory: &BoxDirectory) -> Result<(), InstallError> {
    const SEARCH_BY_OTHERS: u32 = 0o001;
    for folder in directory.path().ancestors() {
        let mode = fs::metadata(folder).map_err(failed(folder))?.permissions().mode();
        if mode & SEARCH_BY_OTHERS == 0 {
            return Err(InstallError::Closed(folder.to_owned()));
        }
    }
    Ok(())
}

/// A hard link keeps the name that a person sees in `/proc/PID/exe`; across file systems only a copy does.
fn link_or_copy(original: &Path, name: &Path) -> Result<(), InstallError> {
    match fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(name)(error)),
        _ => {}
    }
    if fs::hard_link(original, name).is_ok() {
        return Ok(());
    }
    fs::copy(original, name).map(|_| ()).map_err(failed(name))
}

/// The library as cargo built it: beside the program, in `deps`, or one folder up for a test. The newest counts.
fn built_library(program: &Path) -> Option<PathBuf> {
    const NAME: &str = "libnvidia_ml.so";
    let folder = program.parent()?;
    let mut folders = vec![folder.to_owned(), folder.join("deps")];
    if folder.file_name().is_some_and(|name| name == "deps") {
        folders.extend(folder.parent().map(Path::to_owned));
    }
    folders
        .into_iter()
        .map(|folder| folder.join(NAME))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .max()
        .map(|(_, path)| path)
}
