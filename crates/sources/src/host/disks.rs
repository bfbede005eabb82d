//! Disks, and what they have done since boot.

use std::collections::BTreeSet;

use gpuwhy_formats::proc;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::DiskSample;

use crate::file::{names_in, read_and_parse};
use crate::roots::Roots;

/// Reads the disks that were ever used. Partitions are left out: they are counted in their disks.
pub(super) fn disks(roots: &Roots, buffer: &mut Vec<u8>) -> Reading<Vec<DiskSample>> {
    let listed = names_in(&roots.sys.join("block"));
    let whole: Option<BTreeSet<String>> = listed.ok().map(|names| names.into_iter().collect());
    let path = roots.proc.join("diskstats");
    let parse = |bytes: &[u8]| {
        proc::disks(bytes, |name| match &whole {
            // The kernel writes `!` where a name has a slash.
            Some(whole) => whole.contains(name) || whole.contains(&name.replace('/', "!")),
            None => !looks_like_a_partition(name),
        })
    };
    read_and_parse(&path, buffer, Access::VisibleProcesses, parse).map(|mut disks| {
        disks.retain(|disk| disk.busy_ms > 0 || disk.read_bytes > 0 || disk.written_bytes > 0);
        disks
    })
}

/// Returns whether a name is one that partitions get; asked only where sysfs does not say.
fn looks_like_a_partition(name: &str) -> bool {
    let without_number = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let has_number = without_number.len() < name.len();
    // `nvme0n1p1`, `mmcblk0p2`; and `sda1`, `vda2`, while `dm-0`, `md0` and `nvme0n1` are whole.
    let of_a_numbered_disk = without_number
        .strip_suffix('p')
        .is_some_and(|disk| disk.ends_with(|character: char| character.is_ascii_digit()));
    let of_a_lettered_disk = ["sd", "vd", "hd", "xvd"].iter().any(|kind| without_number.starts_with(kind));
    has_number && (of_a_numbered_disk || of_a_lettered_disk)
}

#[cfg(test)]
mod tests {
    use super::{disks, looks_like_a_partition};
    use crate::roots::Roots;

    #[test]
    fn partitions_and_idle_loops_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for name in ["sys/block/sda", "sys/block/loop0", "proc"] {
            std::fs::create_dir_all(root.path().join(name)).unwrap();
        }
        let lines = "8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n8 1 sda1 1 0 8 1 0 0 0 0 0 1 1\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n";
        std::fs::write(root.path().join("proc/diskstats"), lines).unwrap();
        let roots =
            Roots { proc: root.path().join("proc"), sys: root.path().join("sys"), ..Roots::default() };
        let names = |roots: &Roots| {
            let disks = disks(roots, &mut Vec::new()).into_known().unwrap();
            disks.into_iter().map(|disk| disk.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&roots), ["sda"]);
        std::fs::remove_dir_all(&roots.sys).unwrap();
        assert_eq!(names(&roots), ["sda"]);
    }

    #[test]
    fn partitions_are_told_by_their_names_where_nothing_else_tells() {
        for (name, expected) in
            [("sda1", true), ("nvme0n1p12", true), ("nvme0n1", false), ("dm-3", false), ("md127", false)]
        {
            assert_eq!(looks_like_a_partition(name), expected, "{name}");
        }
    }
}
