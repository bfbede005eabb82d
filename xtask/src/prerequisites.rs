//! What tests and measurements need besides Rust, installed where it is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{Workspace, succeed};

/// The folder of Python tools, below the build folder.
const PYTHON_TOOLS: &str = "python-tools";

/// Which Python tools, each with its version.
const PYTHON_TOOLS_WANTED: &str = include_str!("../python-tools.txt");

/// Debian's packages for a Python that can make a folder of tools.
const PYTHON_PACKAGES: &[&str] = &["python3", "python3-venv"];

/// Returns the folder with the programs of the Python tools, installing what is missing.
///
/// # Errors
/// Fails when there is no Python and it cannot be installed, or when the registry cannot be reached.
pub(crate) fn python_tools(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target().join(PYTHON_TOOLS);
    let programs = folder.join("bin");
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == PYTHON_TOOLS_WANTED) {
        return Ok(programs);
    }
    if !can_make_folder() {
        install_packages(PYTHON_PACKAGES)?;
    }
    println!("installing gpustat, nvitop and nvidia-ml-py into {}", workspace.relative(&folder).display());
    succeed(workspace.command("python3").args(["-m", "venv"]).arg(&folder))?;
    let arguments =
        ["install", "--quiet", "--disable-pip-version-check", "--requirement", "xtask/python-tools.txt"];
    succeed(workspace.command(programs.join("pip")).args(arguments))
        .context("cannot install the Python tools")?;
    std::fs::write(&receipt, PYTHON_TOOLS_WANTED)
        .with_context(|| format!("cannot write `{}`", receipt.display()))?;
    Ok(programs)
}

/// Returns the path of strace, installing it where it is missing.
///
/// # Errors
/// Fails when it cannot be installed.
pub(crate) fn strace() -> Result<PathBuf> {
    let path = Path::new("/usr/bin/strace");
    if !path.exists() {
        install_packages(&["strace"])?;
    }
    Ok(path.to_owned())
}

/// Returns the path of ripgrep, installing it where it is missing.
///
/// # Errors
/// Fails when it cannot be installed.
pub(crate) fn ripgrep() -> Result<PathBuf> {
    let path = Path::new("/usr/bin/rg");
    if !path.exists() {
        install_packages(&["ripgrep"])?;
    }
    Ok(path.to_owned())
}

/// Sees to it that there is a compiler for C++, in which the library of the fuzzers is written.
///
/// # Errors
/// Fails when there is none and it cannot be installed.
pub(crate) fn cpp_compiler() -> Result<()> {
    if Path::new("/usr/bin/c++").exists() { Ok(()) } else { install_packages(&["g++"]) }
}

/// Whether there is a Python that can make a folder of tools.
fn can_make_folder() -> bool {
    let mut command = Command::new("python3");
    command.args(["-c", "import venv, ensurepip"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn install_packages(packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    ensure!(
        Path::new("/usr/bin/apt-get").exists(),
        "{names} are missing, and there is no apt-get to install them"
    );
    println!("installing {names} by apt-get");
    succeed(Command::new("apt-get").args(["update", "-qq"])).context("is this root?")?;
    let mut install = Command::new("apt-get");
    install.args(["install", "-qq", "--yes", "--no-install-recommends"]).args(packages);
    succeed(install.env("DEBIAN_FRONTEND", "noninteractive"))
        .with_context(|| format!("cannot install {names}: is this root?"))
}
