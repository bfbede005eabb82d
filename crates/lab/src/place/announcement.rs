//! What the kernel says while a box is up: the lines of the board's timeline, each at its moment.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use super::BoxDirectory;
use super::plan::Plan;
use crate::board::Board;
use crate::workloads::truth::seconds_since_boot;

/// The sequence number of the first line of a box's kernel log.
const FIRST_SEQUENCE: usize = 1000;
/// Syslog level of errors.
const ERROR: u8 = 3;

/// The lines that are still to come.
pub(super) struct Announcements {
    log: PathBuf,
    came_up: Instant,
    sequence: usize,
    /// Seconds after the box came up, and the text; in order of time, the next one last.
    left: Vec<(f64, String)>,
}

impl Announcements {
    /// The lines of `board`, whose box comes up now.
    pub(super) fn of(directory: &BoxDirectory, plan: &Plan, board: &Board) -> Self {
        let mut left = lines(board);
        left.reverse();
        let sequence = FIRST_SEQUENCE + plan.kernel_log.len();
        Self { log: directory.kernel_log(), came_up: Instant::now(), sequence, left }
    }

    /// Writes the lines whose moment has come.
    pub(super) fn advance(&mut self) -> io::Result<()> {
        let elapsed_s = self.came_up.elapsed().as_secs_f64();
        while let Some((_, text)) = self.left.pop_if(|(at_s, _)| *at_s <= elapsed_s) {
            let microseconds = (seconds_since_boot() * 1e6).round();
            let line = format!("{ERROR},{},{microseconds:.0},-;{text}\n", self.sequence);
            File::options().append(true).open(&self.log)?.write_all(line.as_bytes())?;
            self.sequence += 1;
        }
        Ok(())
    }
}

/// Every line of a board's timeline, in order of time.
fn lines(board: &Board) -> Vec<(f64, String)> {
    let mut lines = Vec::new();
    for event in &board.events {
        let concerned = board.cards.iter().filter(|card| event.concerns(card.index));
        lines.extend(concerned.filter_map(|card| Some((event.at_s, event.xid_line(&card.pci_address())?))));
        lines.extend(event.kernel_line.clone().map(|line| (event.at_s, line)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::board::BoardFile;

    #[test]
    fn an_xid_of_one_card_and_a_line_of_its_own_are_said_in_order() {
        let file: BoardFile = toml::from_str(
            "[[card]]\nprofile = \"t4\"\ncount = 2\n\n[[event]]\nat_s = 3.0\nkernel_line = \"later\"\n\n\
             [[event]]\nat_s = 1.0\ncard = 1\nxid = 79\n",
        )
        .unwrap();
        let lines = lines(&file.resolve().unwrap());
        assert_eq!(lines.len(), 2);
        assert!(lines[0].1.starts_with("NVRM: Xid (PCI:0000:1d:00): 79"), "{lines:?}");
        assert_eq!(lines[1], (3.0, "later".to_owned()));
    }
}
