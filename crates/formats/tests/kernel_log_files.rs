//! Kernel logs of real machines, with counts that were taken by other means.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;
use std::path::Path;

use beside::beside;
use gpuwhy_formats::kernel_log::{fallen_off_the_bus, is_about_cards, kmsg_records, xid};

fn lines(folder: &Path, name: &str) -> Vec<String> {
    let bytes = fs::read(folder.join(name)).unwrap();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[test]
fn every_xid_line_is_read() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    for (name, number) in [
        ("leptonai-gpud__dmesg-time-format-iso.log", 11),
        ("leptonai-gpud__dmesg-with-xid-119.log", 5),
        ("leptonai-gpud__dmesg.decode.iso.log.0", 636),
        ("leptonai-gpud__memory_dmesg.decode.iso.log", 17),
        ("leptonai-gpud__xid-lines-from-tests.txt", 75),
        // Three more name no number, or are cut behind it.
        ("rupalis-nv-NVSentinel__xid-sxid-lines-from-tests.txt", 24),
    ] {
        let lines = lines(&folder, name);
        let read: Vec<_> = lines.iter().filter_map(|line| xid(line)).collect();
        assert_eq!(read.len(), number, "{name}");
        assert!(lines.iter().filter(|line| xid(line).is_some()).all(|line| is_about_cards(line)), "{name}");
        assert!(read.iter().all(|xid| xid.pci_address.len() == "0000:65:00.0".len()), "{name}");
    }
}

#[test]
fn cards_that_fell_off_are_named_by_their_own_message() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    let mut fell: Vec<String> =
        ["leptonai-gpud__xid-lines-from-tests.txt", "rupalis-nv-NVSentinel__xid-sxid-lines-from-tests.txt"]
            .iter()
            .flat_map(|name| lines(&folder, name))
            .filter_map(|line| fallen_off_the_bus(&line))
            .collect();
    fell.sort();
    assert_eq!(fell, ["0000:18:00.0", "0000:29:00.0", "0000:b3:00.0", "0000:b4:00.0"]);
}

#[test]
fn records_of_a_real_ring_are_whole() {
    let Some(folder) = beside("testdata/kernel-log") else { return };
    let bytes = fs::read(folder.join("leptonai-gpud__kmsg.1.log")).unwrap();
    let records: Vec<_> = kmsg_records(&bytes).collect::<Result<_, _>>().unwrap();
    assert_eq!(records.len(), 47);
    assert!(records.is_sorted_by_key(|record| record.boot_us));
    assert_eq!(records[0].boot_us, 206_764_307);
    assert_eq!(records.iter().filter(|record| is_about_cards(&record.text)).count(), 13);
}
