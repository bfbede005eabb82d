//! What the pass over all processes has seen of each one in passing: for a look that stays alone nobody reads it again.

use gpuwhy_formats::proc::Stat;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessSample, ProcessState};

use super::index::Row;

/// The changing part of a stat file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    state: Option<ProcessState>,
    group: Pid,
    session: Pid,
    terminal: i64,
    name: Box<str>,
    cpu_ticks: u64,
    thread_count: u64,
    major_faults: u64,
    pub(super) block_delay_ticks: Option<u64>,
}

impl Seen {
    pub(super) fn of(stat: &Stat<'_>) -> Self {
        Self {
            state: stat.state,
            group: stat.group,
            session: stat.session,
            terminal: stat.terminal,
            name: stat.name().into_boxed_str(),
            cpu_ticks: stat.cpu_ticks,
            thread_count: stat.thread_count,
            major_faults: stat.major_faults,
            block_delay_ticks: stat.block_delay_ticks,
        }
    }

    /// Returns the sample of the process that was seen; delays are left to those who know whether they are counted.
    pub(super) fn sample(&self, row: &Row) -> ProcessSample {
        ProcessSample {
            pid: row.pid,
            start_ticks: row.start_ticks,
            parent: row.parent,
            group: self.group,
            session: self.session,
            terminal: self.terminal,
            state: self.state.map_or_else(Reading::default, Reading::Known),
            name: self.name.to_string(),
            cpu_ticks: self.cpu_ticks,
            thread_count: self.thread_count,
            major_faults: Reading::Known(self.major_faults),
            ..ProcessSample::default()
        }
    }
}
