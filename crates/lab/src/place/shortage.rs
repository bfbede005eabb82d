//! A machine short of memory: what the kernel would say, kept up to date while the box is up.
//!
//! Really taking the machine's memory would harm whoever else works on it, so these few files of the kernel are written.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::BoxDirectory;

/// How short of memory the machine is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortage {
    /// Memory of the machine in bytes.
    pub total_bytes: u64,
    /// What could still be had of it, in bytes.
    pub available_bytes: u64,
    /// Share of the time in which somebody waits for memory.
    pub some_share: f64,
    /// Share of the time in which all wait for it.
    pub full_share: f64,
    /// Pages per second that come back from the swap, and as many that go there.
    #[serde(default)]
    pub swapped_per_s: f64,
}

/// The files of a shortage, moved on by the keeper.
pub(super) struct Shortness {
    shortage: Shortage,
    directory: BoxDirectory,
    began: Instant,
    /// `/proc/vmstat` as it was, without the figures that are ours.
    counters: Vec<(String, u64)>,
}

impl Shortness {
    /// Writes the files for the first time; removes those of an earlier box where `shortage` is none.
    pub(super) fn begin(directory: &BoxDirectory, shortage: Option<Shortage>) -> io::Result<Option<Self>> {
        let Some(shortage) = shortage else {
            for (file, _) in views(directory) {
                match fs::remove_file(&file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            return Ok(None);
        };
        let text = fs::read_to_string("/proc/vmstat")?;
        let counters = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect();
        let shortness = Self { shortage, directory: directory.clone(), began: Instant::now(), counters };
        fs::write(directory.proc_meminfo(), memory_figures(shortage))?;
        fs::write(directory.proc_pressure_memory(), shortness.pressure(0.0))?;
        fs::write(directory.proc_vmstat(), shortness.paging(0.0))?;
        Ok(Some(shortness))
    }

    /// Moves the counters on to now. The files stay the same ones, as they are bound into the box.
    pub(super) fn advance(&self) -> io::Result<()> {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        rewrite(&self.directory.proc_pressure_memory(), &self.pressure(elapsed_s))?;
        rewrite(&self.directory.proc_vmstat(), &self.paging(elapsed_s))
    }

    fn pressure(&self, elapsed_s: f64) -> String {
        let line = |kind: &str, share: f64| {
            let percent = share * 100.0;
            let total = whole(share * elapsed_s * 1e6);
            format!("{kind} avg10={percent:.2} avg60={percent:.2} avg300={percent:.2} total={total}\n")
        };
        line("some", self.shortage.some_share) + &line("full", self.shortage.full_share)
    }

    fn paging(&self, elapsed_s: f64) -> String {
        let pages = whole(self.shortage.swapped_per_s * elapsed_s);
        let mut text = String::new();
        for (name, value) in &self.counters {
            let more = match name.as_str() {
                "pswpin" | "pswpout" | "pgmajfault" | "allocstall_normal" => pages,
                _ => 0,
            };
            let _ = writeln!(text, "{name} {}", value + more);
        }
        text
    }
}

/// The files of a shortage, and what they stand for in the box.
pub(super) fn views(directory: &BoxDirectory) -> [(PathBuf, &'static str); 3] {
    [
        (directory.proc_meminfo(), "/proc/meminfo"),
        (directory.proc_pressure_memory(), "/proc/pressure/memory"),
        (directory.proc_vmstat(), "/proc/vmstat"),
    ]
}

fn memory_figures(shortage: Shortage) -> String {
    let kib = |bytes: u64| bytes / 1024;
    let free = shortage.available_bytes / 2;
    let swap = shortage.total_bytes / 4;
    let used = shortage.total_bytes - shortage.available_bytes;
    format!(
        "MemTotal:       {:8} kB\nMemFree:        {:8} kB\nMemAvailable:   {:8} kB\nBuffers:        {:8} kB\n\
         Cached:         {:8} kB\nSwapCached:     {:8} kB\nActive:         {:8} kB\nInactive:       {:8} kB\n\
         SwapTotal:      {:8} kB\nSwapFree:       {:8} kB\nDirty:          {:8} kB\nWriteback:      {:8} kB\n\
         AnonPages:      {:8} kB\nMapped:         {:8} kB\nShmem:          {:8} kB\nSlab:           {:8} kB\n\
         SReclaimable:   {:8} kB\n",
        kib(shortage.total_bytes),
        kib(free),
        kib(shortage.available_bytes),
        kib(free / 64),
        kib(free),
        kib(swap / 16),
        kib(used / 2),
        kib(used / 2),
        kib(swap),
        kib(swap / 20),
        kib(1 << 20),
        0,
        kib(used - used / 8),
        kib(used / 16),
        kib(used / 64),
        kib(used / 32),
        kib(used / 64),
    )
}

/// Replaces the text of a file without making another file of it; the new text is at least as long.
fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all_at(text.as_bytes(), 0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a short time, never negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTAGE: Shortage = Shortage {
        total_bytes: 64 << 30,
        available_bytes: 1 << 30,
        some_share: 0.5,
        full_share: 0.2,
        swapped_per_s: 100.0,
    };

    #[test]
    fn counters_only_grow_and_the_text_never_shrinks() {
        let shortness = Shortness {
            shortage: SHORTAGE,
            directory: BoxDirectory::new("/nowhere"),
            began: Instant::now(),
            counters: vec![("pswpin".to_owned(), 7), ("pgfault".to_owned(), 9)],
        };
        assert_eq!(shortness.paging(2.0), "pswpin 207\npgfault 9\n");
        assert!(
            shortness.pressure(2.0).contains("some avg10=50.00 avg60=50.00 avg300=50.00 total=1000000\n")
        );
        assert!(shortness.pressure(2.0).len() >= shortness.pressure(0.0).len());
    }

    #[test]
    fn the_memory_figures_add_up() {
        let text = memory_figures(SHORTAGE);
        assert!(text.starts_with("MemTotal:       67108864 kB\n"), "{text}");
        assert!(text.contains("MemAvailable:    1048576 kB\n"), "{text}");
    }
}
