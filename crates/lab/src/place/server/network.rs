//! The cable between a box and its server, laid with `ip` of iproute2.

use std::io;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use super::{ends, interface};
use crate::place::namespace;

/// The server's end of the cable, as the server sees it.
const SERVER_INTERFACE: &str = "eth0";

/// Why the server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A network of its own is refused.
    #[error("cannot leave the network of the machine")]
    Refused(#[source] io::Error),
    /// `ip` is missing or does not do it.
    #[error("`ip {arguments}` failed: {said}")]
    Ip {
        /// What it was asked.
        arguments: String,
        /// What it said.
        said: String,
    },
    /// The server cannot listen or speak.
    #[error("cannot serve")]
    Serve(#[source] io::Error),
}

/// Whether this machine can lay a cable, as far as can be told without trying.
pub fn can_lay_cable() -> bool {
    rustix::process::geteuid().is_root()
        && Command::new("ip").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Lays the cable and runs `serve` at its far end, in a thread that has left the machine's network.
///
/// # Errors
/// Fails when the cable cannot be laid, and as `serve` does.
pub(super) fn at_the_far_end(serve: impl FnOnce() -> io::Result<()> + Send) -> Result<(), NetworkError> {
    let (box_end, server_end) = ends(std::process::id());
    let near = interface(std::process::id());
    let (left, has_left) = mpsc::channel();
    let (lay, is_laid) = mpsc::channel();
    // Ends of channels go with this closure, so that neither thread waits for one that has given up.
    std::thread::scope(move |scope| {
        let far = scope.spawn(move || {
            let gone = namespace::leave_network().map_err(NetworkError::Refused);
            let is_gone = gone.is_ok();
            // The other thread hears of a failure by the end of this one.
            let _ = left.send(is_gone.then(rustix::thread::gettid));
            gone?;
            if is_laid.recv().is_err() {
                return Ok(());
            }
            let address = format!("{}/30", server_end.ip());
            ip(&["address", "add", &address, "dev", SERVER_INTERFACE])?;
            ip(&["link", "set", SERVER_INTERFACE, "up"])?;
            serve().map_err(NetworkError::Serve)
        });
        if let Ok(Some(thread)) = has_left.recv() {
            let thread = thread.as_raw_nonzero().to_string();
            let pair =
                ["link", "add", &near, "type", "veth", "peer", "name", SERVER_INTERFACE, "netns", &thread];
            ip(&pair)?;
            ip(&["address", "add", &format!("{}/30", box_end.ip()), "dev", &near])?;
            ip(&["link", "set", &near, "up"])?;
            // A far end that is gone has its own error.
            let _ = lay.send(());
        }
        drop(lay);
        far.join().unwrap_or_else(|_| Err(NetworkError::Serve(io::ErrorKind::Other.into())))
    })
}

fn ip(arguments: &[&str]) -> Result<(), NetworkError> {
    let failed = |said: String| NetworkError::Ip { arguments: arguments.join(" "), said };
    let output = Command::new("ip").args(arguments).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
