//! Other people's programs, installed where they are missing. None of them is changed.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the tests install from the Python package index.
const PACKAGES: [&str; 4] = ["nvidia-ml-py==13.615.71", "gpustat==1.1.1", "nvitop==1.7.2", "nvsonar==2.4.0"];
/// The version of all-smi, from the Rust registry.
const ALL_SMI: &str = "0.22.0";
/// What all-smi needs of Debian to be built.
const ALL_SMI_NEEDS: [&str; 5] =
    ["protobuf-compiler", "libprotobuf-dev", "libdrm-dev", "libssl-dev", "pkg-config"];

/// A program of the tools' own Python environment, which is made when it is absent.
pub(crate) fn python_tool(name: &str) -> PathBuf {
    python_tools().join("bin").join(name)
}

/// Makes `target/python-tools` unless it is there and complete. Tests are processes of their own, so a lock keeps
/// them from making it twice.
fn python_tools() -> PathBuf {
    let environment = build_folder().join("python-tools");
    let _alone = lock("python-tools.lock");
    let complete = environment.join("complete");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&complete).is_ok_and(|installed| installed == wanted) {
        return environment;
    }
    install(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
    let python = environment.join("bin/python3");
    install(Command::new(python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES));
    fs::write(complete, wanted).unwrap();
    environment
}

/// nvtop of this machine, or of Debian's section contrib, which apt-get is told about for this one call.
///
/// # Errors
/// Says why it cannot be had.
pub(crate) fn nvtop() -> Result<PathBuf, String> {
    let program = PathBuf::from("/usr/bin/nvtop");
    let _alone = lock("nvtop.lock");
    if program.exists() {
        return Ok(program);
    }
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim_matches('"').to_owned())
    };
    let (Some("debian"), Some(codename)) = (field("ID=").as_deref(), field("VERSION_CODENAME=")) else {
        return Err("nvtop is tried as Debian packs it, and this is no Debian".to_owned());
    };
    // apt-get empties its folder of lists of everything else.
    let folder = build_folder().join("nvtop");
    let lists = folder.join("lists");
    fs::create_dir_all(lists.join("partial")).unwrap();
    let sources = folder.join("contrib.list");
    let line = format!("deb http://deb.debian.org/debian {codename} main contrib\n");
    fs::write(&sources, line).unwrap();
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command.args(["-o", &format!("Dir::Etc::sourcelist={}", sources.display())]);
        command.args(["-o", "Dir::Etc::sourceparts=-"]);
        command.args(["-o", &format!("Dir::State::lists={}", lists.display())]);
        command.args(arguments);
        run(&mut command)
    };
    apt_get(&["update", "-qq"]).map_err(|why| format!("nvtop cannot be installed: {why}"))?;
    apt_get(&["install", "-qq", "--yes", "--no-install-recommends", "nvtop"])
        .map_err(|why| format!("nvtop cannot be installed: {why}"))?;
    Ok(program)
}

/// all-smi, built once into a folder of its own.
///
/// # Errors
/// Says why it cannot be built.
pub(crate) fn all_smi() -> Result<PathBuf, String> {
    let folder = build_folder().join("all-smi");
    let program = folder.join("bin/all-smi");
    let _alone = lock("all-smi.lock");
    let complete = folder.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|installed| installed == ALL_SMI) && program.exists() {
        return Ok(program);
    }
    let mut needs = Command::new("apt-get");
    needs.env("DEBIAN_FRONTEND", "noninteractive").args([
        "install",
        "-qq",
        "--yes",
        "--no-install-recommends",
    ]);
    // Where they are there already, a build without them is tried all the same.
    let needed = run(needs.args(ALL_SMI_NEEDS));
    let mut build = Command::new("cargo");
    build.args(["install", "--quiet", "--locked", "--debug", "--version", ALL_SMI, "all-smi", "--root"]);
    build.arg(&folder).env("CARGO_TARGET_DIR", folder.join("build")).env("CARGO_PROFILE_DEV_DEBUG", "false");
    run(&mut build).map_err(|why| format!("all-smi cannot be built ({:?}): {why}", needed.err()))?;
    // A gigabyte that nobody needs any more.
    fs::remove_dir_all(folder.join("build")).unwrap();
    fs::write(complete, ALL_SMI).unwrap();
    Ok(program)
}

fn build_folder() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target");
    fs::create_dir_all(&target).unwrap();
    target.canonicalize().unwrap()
}

/// Waits until nobody else installs the same.
fn lock(name: &str) -> File {
    let file = File::create(build_folder().join(name)).unwrap();
    file.lock().unwrap();
    file
}

fn install(command: &mut Command) {
    run(command).unwrap_or_else(|why| {
        panic!("the tests of other people's programs need python3 with venv, and PyPI: {why}")
    });
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}\n{}", text_of(&output))) }
}

/// Everything that a program said.
pub(crate) fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
