//! Room in `/dev/shm`, through which loaders hand over what they have read.

use std::path::Path;

use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::Space;
use rustix::fs::statvfs;
use rustix::io::Errno;

use super::mounts::Mounts;

/// Where shared memory is mounted.
const TARGET: &str = "/dev/shm";

/// Reads the room. Only a file system in memory is asked: any other could keep us waiting.
pub(super) fn room(dev: &Path, mounts: &Mounts) -> Reading<Space> {
    let mounted = mounts.all.as_ref().map(|mounts| {
        // Of mounts at the same place the later one hides the earlier.
        mounts.iter().rev().find(|mount| mount.point.target == TARGET)
    });
    mounted.and_then(|mount| match mount {
        Some(mount) if mount.point.file_system == "tmpfs" => room_in(&dev.join("shm")),
        Some(_) | None => Reading::Unsupported,
    })
}

fn room_in(path: &Path) -> Reading<Space> {
    match statvfs(path) {
        // A file system without a limit of its own counts no blocks.
        Ok(status) if status.f_blocks == 0 => Reading::Unsupported,
        Ok(status) => Reading::Known(Space {
            total: status.f_blocks.saturating_mul(status.f_frsize),
            available: status.f_bavail.saturating_mul(status.f_frsize),
        }),
        Err(Errno::ACCESS) => Reading::Denied(Access::Root),
        Err(errno) => {
            Reading::Failed(Failure::Io { path: path.display().to_string(), error: errno.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::room;
    use crate::host::Mounts;
    use gpuwhy_model::reading::Reading;
    use std::path::Path;

    fn mounts(lines: &str) -> Mounts {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("self")).unwrap();
        std::fs::write(root.path().join("self/mountinfo"), lines).unwrap();
        let mut mounts = Mounts::default();
        mounts.refresh(root.path(), &mut Vec::new());
        mounts
    }

    #[test]
    fn only_memory_is_asked_for_its_room() {
        let dev = tempfile::tempdir().unwrap();
        std::fs::create_dir(dev.path().join("shm")).unwrap();
        let network =
            mounts("1 0 0:9 / /dev/shm rw - tmpfs tmpfs rw\n2 1 0:50 / /dev/shm rw - nfs4 s:/d rw\n");
        assert_eq!(room(dev.path(), &network), Reading::Unsupported, "the later mount hides the earlier");
        assert_eq!(room(dev.path(), &mounts("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")), Reading::Unsupported);
        let memory = mounts("1 0 0:9 / /dev/shm rw - tmpfs tmpfs rw\n");
        let space = room(dev.path(), &memory).into_known().unwrap();
        assert!(space.total >= space.available && space.total > 0);
        assert!(!room(Path::new("/nowhere"), &memory).is_known());
        assert!(!room(dev.path(), &Mounts::default()).is_known());
    }
}
