//! The mounts, and which of them hold files.

use std::path::Path;

use gpuwhy_formats::proc::{self, Mount};
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{MountPoint, Section};

use crate::clock;
use crate::file::read_and_parse;

/// The mounts, as our own process sees them.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) all: Reading<Vec<Mount>>,
    /// The file that they were read from: mounts seldom change, and hosts of containers have thousands.
    text: Vec<u8>,
}

impl Mounts {
    /// Reads the mounts anew.
    pub(crate) fn refresh(&mut self, proc_root: &Path, buffer: &mut Vec<u8>) {
        let path = proc_root.join("self/mountinfo");
        let Self { all, text } = self;
        let read = read_and_parse(&path, buffer, Access::VisibleProcesses, |file| {
            if all.is_known() && file == text.as_slice() {
                return Ok(None);
            }
            let mounts = proc::mounts(file)?;
            file.clone_into(text);
            Ok(Some(mounts))
        });
        match read {
            Reading::Known(None) => {}
            changed => *all = changed.map(Option::unwrap_or_default),
        }
    }

    /// Returns the section of a sample: what is mounted, the kernel's own file systems left out.
    pub(crate) fn section(&self) -> Section<Vec<MountPoint>> {
        let points = self.all.as_ref().map(|mounts| {
            let stores = mounts.iter().filter(|mount| !is_kernel_view(&mount.point.file_system));
            stores.map(|mount| mount.point.clone()).collect()
        });
        Section { read: clock::now(), value: points }
    }

    /// Returns the mounts, innermost places last.
    pub(crate) fn known(&self) -> &[Mount] {
        self.all.known().map_or(&[], Vec::as_slice)
    }

    /// Returns where the file system is mounted that holds a path.
    pub(crate) fn target_of(&self, path: &str) -> Option<&Mount> {
        let holds = |mount: &&Mount| {
            let target = mount.point.target.as_str();
            target == "/"
                || path.strip_prefix(target).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Of mounts at the same place the later one hides the earlier.
        self.known().iter().filter(holds).max_by_key(|mount| mount.point.target.len())
    }
}

/// Returns whether a file system shows the kernel's own state and stores nothing.
pub(crate) fn is_kernel_view(file_system: &str) -> bool {
    matches!(
        file_system,
        "autofs"
            | "binfmt_misc"
            | "bpf"
            | "cgroup"
            | "cgroup2"
            | "configfs"
            | "debugfs"
            | "devpts"
            | "devtmpfs"
            | "efivarfs"
            | "fusectl"
            | "hugetlbfs"
            | "mqueue"
            | "nsfs"
            | "proc"
            | "pstore"
            | "securityfs"
            | "sysfs"
            | "tracefs"
    )
}

#[cfg(test)]
mod tests {
    use super::Mounts;

    #[test]
    fn a_path_belongs_to_the_innermost_mount() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("self")).unwrap();
        let lines = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /data rw - nfs4 store:/d rw\n\
                     3 1 0:5 / /proc rw - proc proc rw\n";
        std::fs::write(root.path().join("self/mountinfo"), lines).unwrap();
        let mut mounts = Mounts::default();
        mounts.refresh(root.path(), &mut Vec::new());
        let target = |path| mounts.target_of(path).map(|mount| mount.point.target.as_str());
        assert_eq!(target("/data/set/1.tar"), Some("/data"));
        assert_eq!(target("/database"), Some("/"));
        assert_eq!(mounts.section().value.into_known().unwrap().len(), 2);
    }

    #[test]
    fn what_is_mounted_later_is_seen() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("self")).unwrap();
        let file = root.path().join("self/mountinfo");
        let mut mounts = Mounts::default();
        let mut count = |text: &str| {
            std::fs::write(&file, text).unwrap();
            mounts.refresh(root.path(), &mut Vec::new());
            mounts.all.known().map(Vec::len)
        };
        let one = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let two = format!("{one}2 1 0:50 / /data rw - nfs4 store:/d rw\n");
        assert_eq!(
            [count(one), count(one), count(&two), count("what?\n"), count(&two)],
            [Some(1), Some(1), Some(2), None, Some(2)]
        );
    }
}
