//! Which sockets are connections of the network, looked up once for all processes that share a network.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_formats::proc::{connected_sockets, namespace_number};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};

use super::files::reading;
use super::root::ProcRoot;
use crate::file::ReadError;

/// Networks whose connections are listed at one look: each list costs the kernel a walk over all of them.
const NETWORKS_MAX: usize = 2;

/// The connections of the networks that were asked for at one look, by the number of the namespace.
#[derive(Debug, Default)]
pub(crate) struct Connections(BTreeMap<u64, Reading<BTreeSet<u64>>>);

impl Connections {
    /// Returns how many of the sockets of a process are open connections.
    pub(crate) fn count(&mut self, proc: &mut ProcRoot, pid: Pid, sockets: &[u64]) -> Reading<u64> {
        if sockets.is_empty() {
            return Reading::Known(0);
        }
        let namespace = match proc.link(&format!("{pid}/ns/net")) {
            Ok(link) => Reading::from(namespace_number(&link)),
            Err(error) => error.reading_with(Access::RootOrOwner),
        };
        namespace.and_then(|namespace| {
            if !self.0.contains_key(&namespace) && self.0.len() == NETWORKS_MAX {
                return Reading::default();
            }
            let listed = self.0.entry(namespace).or_insert_with(|| reading(listed(proc, pid)));
            listed
                .as_ref()
                .map(|listed| sockets.iter().filter(|socket| listed.contains(socket)).count() as u64)
        })
    }
}

fn listed(proc: &mut ProcRoot, pid: Pid) -> Result<BTreeSet<u64>, ReadError> {
    let mut sockets = connected_sockets(proc.read_of_many(pid, "net/tcp")?);
    // A kernel without the sixth version has no such file.
    sockets.extend(proc.read_of_many(pid, "net/tcp6").map(connected_sockets).unwrap_or_default());
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    use super::Connections;
    use crate::proc::ProcRoot;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use std::os::unix::fs::symlink;

    #[test]
    fn sockets_of_this_machine_alone_are_no_connections() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["7/ns", "7/net"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        symlink("net:[4026531840]", root.path().join("7/ns/net")).unwrap();
        let line = "heading\n 1: 0100007F:1F90 0100007F:D2A4 01 0:0 0:0 0 1000 0 7002 1\n";
        std::fs::write(root.path().join("7/net/tcp"), line).unwrap();
        let mut proc = ProcRoot::open(root.path()).unwrap();
        let mut connections = Connections::default();
        assert_eq!(connections.count(&mut proc, Pid(7), &[7001, 7002]), Reading::Known(1));
        assert_eq!(connections.count(&mut proc, Pid(8), &[]), Reading::Known(0));
        assert!(!connections.count(&mut proc, Pid(8), &[7002]).is_known(), "it is gone");
    }
}
