//! The private mount namespace of a box: made by the anchor process, entered by members and by `lab shell`.
#![expect(
    unsafe_code,
    reason = "rustix marks unshare unsafe because of file tables, which stay shared here; fork has no safe form"
)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::{BoxDirectory, shortage};

/// Why the namespace of a box could not be made or entered.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel refuses a namespace.
    #[error("cannot make a namespace (an ordinary user needs user namespaces to be allowed)")]
    Refused(#[source] io::Error),
    /// Something cannot be put in its place.
    #[error("cannot put `{}` in place", path.display())]
    Place {
        /// What cannot be put in place.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The namespace of the box cannot be entered.
    #[error("cannot enter the namespace of process {anchor}")]
    Enter {
        /// The process that holds the namespace open.
        anchor: u32,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

fn place(path: &Path) -> impl FnOnce(io::Error) -> NamespaceError {
    let path = path.to_owned();
    move |source| NamespaceError::Place { path, source }
}

/// Files of the machine that the box's `/dev` shows as they are.
const SHARED_DEVICES: [&str; 8] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "fuse"];
const SHARED_FOLDERS: [&str; 2] = ["pts", "shm"];

/// Moves the calling process into a new mount namespace and makes it the place described by `directory`.
///
/// The process must have a single thread. Without root, a user namespace with only the caller's own id is made first.
///
/// # Errors
/// Fails when namespaces are refused or a mount is.
pub fn create(
    directory: &BoxDirectory,
    driver_devices: &[String],
    mount_points: &[String],
    shared_memory_bytes: Option<u64>,
) -> Result<(), NamespaceError> {
    unshare()?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(io::Error::from)
        .map_err(place(Path::new("/")))?;
    build_devices(directory, driver_devices, shared_memory_bytes)?;
    bind_kernel_files(directory)?;
    for (source, target) in
        [(directory.pci_devices(), "/sys/bus/pci/devices"), (directory.passwd(), "/etc/passwd")]
    {
        // A machine may lack one of them, such as the PCI bus; then nobody looks for it there.
        if Path::new(target).exists() {
            bind(&source, Path::new(target))?;
        }
    }
    let devices = directory.devices();
    rustix::mount::mount_bind_recursive(&devices, "/dev")
        .map_err(io::Error::from)
        .map_err(place(&devices))?;
    build_mount_points(directory, mount_points)
}

/// Puts the box's own files below `/proc`.
fn bind_kernel_files(directory: &BoxDirectory) -> Result<(), NamespaceError> {
    let files = [(directory.proc_driver(), "/proc/driver"), (directory.proc_modules(), "/proc/modules")];
    for (source, target) in files.into_iter().chain(shortage::views(directory)) {
        if source.exists() && Path::new(target).exists() {
            bind(&source, Path::new(target))?;
        }
    }
    Ok(())
}

/// Makes room for the stores, and shows the data set on the real disk beside them.
fn build_mount_points(directory: &BoxDirectory, names: &[String]) -> Result<(), NamespaceError> {
    let data = BoxDirectory::mount_point("data");
    let Some(folder) = data.parent() else { return Ok(()) };
    rustix::mount::mount(
        "none",
        folder,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=755,size=1m",
    )
    .map_err(io::Error::from)
    .map_err(place(folder))?;
    for name in names {
        let point = BoxDirectory::mount_point(name);
        fs::create_dir(&point).map_err(place(&point))?;
    }
    fs::create_dir(&data).map_err(place(&data))?;
    bind(&directory.data_set(), &data)
}

fn unshare() -> Result<(), NamespaceError> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut wanted = UnshareFlags::NEWNS;
    if !user.is_root() {
        wanted |= UnshareFlags::NEWUSER;
    }
    // SAFETY: only `UnshareFlags::FILES` can take descriptors away from other threads, and it is not asked for.
    unsafe { rustix::thread::unshare_unsafe(wanted) }
        .map_err(io::Error::from)
        .map_err(NamespaceError::Refused)?;
    if user.is_root() {
        return Ok(());
    }
    let (user, group) = (user.as_raw(), group.as_raw());
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(file, text).map_err(NamespaceError::Refused)?;
    }
    Ok(())
}

fn bind(source: &Path, target: &Path) -> Result<(), NamespaceError> {
    rustix::mount::mount_bind(source, target).map_err(io::Error::from).map_err(place(target))
}

/// Builds the box's `/dev` below its directory, while the machine's own is still in sight.
fn build_devices(
    directory: &BoxDirectory,
    driver_devices: &[String],
    shared_memory_bytes: Option<u64>,
) -> Result<(), NamespaceError> {
    let devices = directory.devices();
    rustix::mount::mount("none", &devices, "tmpfs", MountFlags::NOSUID, c"mode=755,size=1m")
        .map_err(io::Error::from)
        .map_err(place(&devices))?;
    for name in SHARED_DEVICES {
        let original = Path::new("/dev").join(name);
        if original.exists() {
            bind_onto_new_file(&original, &devices.join(name))?;
        }
    }
    for name in SHARED_FOLDERS {
        let (original, copy) = (Path::new("/dev").join(name), devices.join(name));
        if !original.exists() {
            continue;
        }
        fs::create_dir(&copy).map_err(place(&copy))?;
        match shared_memory_bytes {
            Some(bytes) if name == "shm" => build_shared_memory(directory, &copy, bytes)?,
            _ => rustix::mount::mount_bind_recursive(&original, &copy)
                .map_err(io::Error::from)
                .map_err(place(&copy))?,
        }
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        symlink(target, devices.join(name)).map_err(place(&devices.join(name)))?;
    }
    for name in driver_devices {
        bind_onto_new_file(Path::new("/dev/null"), &devices.join(name))?;
    }
    bind_onto_new_file(&directory.kernel_log(), &devices.join("kmsg"))
}

/// Makes a `/dev/shm` of its own size; what the box itself keeps there is bound into it.
fn build_shared_memory(directory: &BoxDirectory, copy: &Path, bytes: u64) -> Result<(), NamespaceError> {
    let options = CString::new(format!("mode=1777,size={bytes}"))
        .map_err(|_| place(copy)(io::ErrorKind::InvalidInput.into()))?;
    rustix::mount::mount("shm", copy, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(io::Error::from)
        .map_err(place(copy))?;
    for link in [directory.truth(), directory.state_file()] {
        let Ok(target) = fs::read_link(&link) else { continue };
        let Some(name) = target.file_name() else { continue };
        let point = copy.join(name);
        if target.is_dir() {
            fs::create_dir(&point).map_err(place(&point))?;
            bind(&target, &point)?;
        } else {
            bind_onto_new_file(&target, &point)?;
        }
    }
    Ok(())
}

fn bind_onto_new_file(original: &Path, copy: &Path) -> Result<(), NamespaceError> {
    File::create(copy).map_err(place(copy))?;
    bind(original, copy)
}

/// Moves the calling thread into a network of its own, without any interface but a loopback that is down.
///
/// # Errors
/// Fails without root.
pub(super) fn leave_network() -> io::Result<()> {
    // SAFETY: only `UnshareFlags::FILES` can take descriptors away from other threads, and it is not asked for.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}

/// Continues as the first process of a pid namespace of its own, with a `/proc` that shows no other; the calling process, which
/// must have a single thread, waits for it and ends as it ends.
///
/// # Errors
/// Fails without root, and when the kernel refuses a namespace, a process or the mount.
pub(super) fn leave_processes(directory: &BoxDirectory) -> Result<(), NamespaceError> {
    // SAFETY: as above.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWPID) }
        .map_err(io::Error::from)
        .map_err(NamespaceError::Refused)?;
    continue_as_child().map_err(NamespaceError::Refused)?;
    let proc = Path::new("/proc");
    rustix::mount::mount(
        "proc",
        proc,
        "proc",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )
    .map_err(io::Error::from)
    .map_err(place(proc))?;
    bind_kernel_files(directory)
}

/// Returns in a new child; the parent waits for it and ends with its exit code, or as one that was killed.
#[expect(clippy::exit, reason = "the parent has nothing to do but to end as its child did")]
fn continue_as_child() -> io::Result<()> {
    const KILLED: i32 = 128;
    // SAFETY: the process has a single thread, so that no lock is held by a thread that the child lacks.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(child) = rustix::process::Pid::from_raw(child) else {
        return rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(io::Error::from);
    };
    loop {
        match rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()) {
            Ok(Some((_, status))) => {
                let code = status.exit_status().or(status.terminating_signal().map(|signal| KILLED + signal));
                std::process::exit(code.unwrap_or(KILLED));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Moves the calling process, which must have a single thread, to the place that `anchor` holds open.
///
/// The working directory stays the same by name, or becomes `/` where the box has no such folder.
///
/// # Errors
/// Fails when the anchor is gone or belongs to somebody else.
pub fn enter(anchor: u32) -> Result<(), NamespaceError> {
    let failed = |source: io::Error| NamespaceError::Enter { anchor, source };
    let working_directory = std::env::current_dir();
    if fs::read_link(format!("/proc/{anchor}/ns/user")).map_err(failed)?
        != fs::read_link("/proc/self/ns/user").map_err(failed)?
    {
        join(anchor, "user", LinkNameSpaceType::User).map_err(failed)?;
    }
    join(anchor, "mnt", LinkNameSpaceType::Mount).map_err(failed)?;
    let stayed = working_directory.and_then(std::env::set_current_dir);
    if stayed.is_err() {
        std::env::set_current_dir("/").map_err(failed)?;
    }
    Ok(())
}

fn join(anchor: u32, file: &str, kind: LinkNameSpaceType) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{anchor}/ns/{file}"))?;
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(kind)).map_err(io::Error::from)
}
