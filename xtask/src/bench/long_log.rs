//! A kernel log of any length, the same every time: lines of everyday things, and every now and then one of the driver.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result};

/// What machines write all day; none of it holds what is searched for.
const EVERYDAY: &[&str] = &[
    "kernel: [@] usb 1-4: new high-speed USB device number 7 using xhci_hcd",
    "systemd[1]: Started Session 4412 of User alice.",
    "kernel: [@] docker0: port 2(veth3f1c22a) entered forwarding state",
    "kernel: [@] IPv6: ADDRCONF(NETDEV_CHANGE): veth3f1c22a: link becomes ready",
    "sshd[20417]: Accepted publickey for bob from 10.4.0.17 port 50122 ssh2: ED25519 SHA256:c2hhcGVzIG9ubHk",
    "kernel: [@] EXT4-fs (nvme1n1p1): mounted filesystem with ordered data mode. Quota mode: none.",
    "kernel: [@] perf: interrupt took too long (2512 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
    "kernel: [@] nfs: server nas3 not responding, still trying",
    "kernel: [@] nfs: server nas3 OK",
    "kernel: [@] audit: type=1400 audit(1731502800.107:88): apparmor=\"ALLOWED\" operation=\"open\" profile=\"snap.x\" pid=911",
    "CRON[33120]: (root) CMD (run-parts --report /etc/cron.hourly)",
    "kernel: [@] TCP: request_sock_TCP: Possible SYN flooding on port 8080. Sending cookies.  Check SNMP counters.",
    "containerd[1804]: time=\"2026-11-05T14:00:07Z\" level=info msg=\"shim disconnected\" id=4f1d77c0",
    "kernel: [@] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0",
    "kernel: [@] mlx5_core 0000:17:00.0 ens1f0np0: Link up",
];

/// What the driver writes about errors that programs cause.
const OF_THE_DRIVER: &[&str] = &[
    "kernel: [@] NVRM: Xid (PCI:0000:65:00): 31, pid=4242, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f1c_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    "kernel: [@] NVRM: Xid (PCI:0000:65:00): 13, pid=4242, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address",
    "kernel: [@] NVRM: Xid (PCI:0000:ca:00): 43, pid=5117, name=python, Ch 00000018",
    "kernel: [@] NVRM: Xid (PCI:0000:ca:00): 45, pid=5117, name=python, Ch 00000018",
];

/// So many lines share one second.
const LINES_A_SECOND: u64 = 40;

/// Writes a log of at least so many bytes to a file, so many lines of the driver spread over it.
///
/// # Errors
/// Fails when the file cannot be written.
pub(super) fn write_to(path: &Path, bytes: u64, driver_lines: u64) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let written = write(&mut writer, bytes, driver_lines);
    written.with_context(|| format!("cannot write `{}`", path.display()))?;
    // What waits to be written would disturb what is measured.
    let file = writer.into_inner().with_context(|| format!("cannot write `{}`", path.display()))?;
    file.sync_all().with_context(|| format!("cannot write `{}`", path.display()))
}

fn write(writer: &mut impl Write, bytes: u64, driver_lines: u64) -> std::io::Result<()> {
    let mut written = 0;
    let mut lines = 0;
    let mut of_driver = 0;
    let (mut everyday, mut driver) = (EVERYDAY.iter().cycle(), OF_THE_DRIVER.iter().cycle());
    while written < bytes || of_driver < driver_lines {
        // The first and the last part of a text are read whole: most lines of the driver must stand between them.
        let is_of_driver =
            of_driver < driver_lines && written >= (2 * of_driver + 1) * (bytes / (2 * driver_lines).max(1));
        of_driver += u64::from(is_of_driver);
        let words = if is_of_driver { driver.next() } else { everyday.next() };
        let line = line(lines, words.copied().unwrap_or_default());
        writer.write_all(line.as_bytes())?;
        written += line.len() as u64;
        lines += 1;
    }
    Ok(())
}

/// Returns a line with its time, by its number.
fn line(number: u64, words: &str) -> String {
    let seconds = number / LINES_A_SECOND;
    let (day, hour, minute, second) =
        (1 + seconds / 86_400 % 28, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let head = format!("Nov {day:2} {hour:02}:{minute:02}:{second:02} n1 ");
    let stamp = format!("{seconds}.{:06}", number % LINES_A_SECOND * 20_011);
    format!("{head}{}\n", words.replacen('@', &stamp, 1))
}

#[cfg(test)]
mod tests {
    use gpuwhy_formats::unpack::marks;

    use super::{EVERYDAY, OF_THE_DRIVER, line, write};

    fn log(bytes: u64, driver_lines: u64) -> String {
        let mut log = Vec::new();
        write(&mut log, bytes, driver_lines).unwrap();
        String::from_utf8(log).unwrap()
    }

    #[test]
    fn everyday_lines_are_not_searched_for_and_those_of_the_driver_are() {
        let has_mark = |words: &&&str| marks().any(|mark| words.contains(mark));
        assert_eq!(EVERYDAY.iter().find(has_mark), None);
        assert_eq!(OF_THE_DRIVER.iter().filter(has_mark).count(), OF_THE_DRIVER.len());
    }

    #[test]
    fn a_log_is_as_long_as_wanted_and_always_the_same() {
        let first = log(300_000, 20);
        assert!((300_000..301_000).contains(&first.len()), "{}", first.len());
        assert_eq!(first.matches("Xid (").count(), 20);
        assert_eq!(first, log(300_000, 20));
        let place = first.rfind("Xid (").unwrap();
        assert!(place > 250_000 && place < 299_000, "{place}");
    }

    #[test]
    fn a_line_has_its_time_twice() {
        assert_eq!(line(40 * 3_661 + 3, "kernel: [@] x @"), "Nov  1 01:01:01 n1 kernel: [3661.060033] x @\n");
    }
}
