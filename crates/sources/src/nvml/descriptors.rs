//! What the child inherits: nothing but the two descriptors that it talks over.
#![expect(unsafe_code, reason = "descriptors that nobody owns can only be closed by their number")]

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, dup2_stdout, stdin, stdout};

/// The lowest descriptor that is not one of the standard three.
const FIRST_OTHER: i32 = 3;

/// The connection to the parent, and the file for the heartbeat.
pub(super) struct Inherited {
    pub(super) connection: OwnedFd,
    pub(super) heartbeat: OwnedFd,
}

/// Closes all that was left open, and takes standard input and output away from the library, which may print.
///
/// # Errors
/// Fails when a descriptor cannot be had.
pub(super) fn take() -> io::Result<Inherited> {
    close_all_others();
    let connection = fcntl_dupfd_cloexec(stdin(), FIRST_OTHER)?;
    let heartbeat = fcntl_dupfd_cloexec(stdout(), FIRST_OTHER)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(Inherited { connection, heartbeat })
}

/// Closes every descriptor but the standard three.
fn close_all_others() {
    let last = c_long::from(u32::MAX);
    // SAFETY: this runs first in a process that has opened nothing itself, so nobody owns what is closed here.
    // Kernels before 5.9 lack the call; there the descriptors stay, which costs nothing but tidiness.
    unsafe {
        libc::syscall(libc::SYS_close_range, c_long::from(FIRST_OTHER), last, 0 as c_long);
    }
}
