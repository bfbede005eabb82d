//! `/proc/diskstats`.

use gpuwhy_model::sample::DiskSample;

use super::bytes::{number, numbered_lines, printable, words};
use crate::Malformed;

/// The kernel counts in sectors of this size, whatever those of the disk are.
const SECTOR: u64 = 512;

/// Reads the disks that are wanted by name: the file lists partitions too, and does not say which lines those are.
///
/// # Errors
/// Fails when a line has not the kernel's form.
pub fn disks(file: &[u8], is_wanted: impl Fn(&str) -> bool) -> Result<Vec<DiskSample>, Malformed> {
    let mut disks = Vec::new();
    for (line_number, line) in numbered_lines(file) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let expected = "`MAJOR MINOR NAME READS MERGED SECTORS MS WRITES MERGED SECTORS MS NOW MS MS`";
        let disk = disk(line).ok_or(Malformed { line: line_number, expected })?;
        if is_wanted(&disk.name) {
            disks.push(disk);
        }
    }
    Ok(disks)
}

fn disk(line: &[u8]) -> Option<DiskSample> {
    let mut fields = words(line);
    let major = fields.next().and_then(number)?;
    let minor = fields.next().and_then(number)?;
    let name = printable(fields.next()?);
    let mut counters = [0; 11];
    for counter in &mut counters {
        *counter = fields.next().and_then(number)?;
    }
    let [_, _, read, _, _, _, written, _, _, busy_ms, waited_ms] = counters;
    Some(DiskSample {
        name,
        device: format!("{major}:{minor}"),
        read_bytes: read.saturating_mul(SECTOR),
        written_bytes: written.saturating_mul(SECTOR),
        busy_ms,
        waited_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::disks;

    const FILE: &[u8] = b"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
        \x20259       0 nvme0n1 1000 5 8000 700 20 1 160 30 2 650 730 0 0 0 0 4 9\n\
        \x20259       1 nvme0n1p1 1000 5 8000 700 20 1 160 30 0 650 730\n";

    #[test]
    fn sectors_are_512_bytes_and_times_are_milliseconds() {
        let disks = disks(FILE, |name| name == "nvme0n1").unwrap();
        assert_eq!(disks.len(), 1);
        assert_eq!(disks[0].device, "259:0");
        assert_eq!((disks[0].read_bytes, disks[0].written_bytes), (4_096_000, 81_920));
        assert_eq!((disks[0].busy_ms, disks[0].waited_ms), (650, 730));
    }

    #[test]
    fn a_cut_line_is_named_and_is_no_quiet_disk() {
        let cut = b"   8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8 16 sdb 1 2 3\n";
        assert_eq!(disks(cut, |_| true).unwrap_err().line, 2);
        assert!(disks(b"", |_| true).unwrap().is_empty());
    }
}
