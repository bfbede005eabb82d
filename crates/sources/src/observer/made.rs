//! Whether numbers of processes may have been given away again.

use gpuwhy_formats::proc::whole_number;
use gpuwhy_model::reading::Access;

use crate::file::read_and_parse;
use crate::roots::Roots;

/// Numbers are given away in turn: before one is given away again, at least this part of all has been.
const TURN_PART: u64 = 4;

/// How many processes and threads were made since boot, and how many numbers there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) number: u64,
    numbers: u64,
}

impl Made {
    /// Returns whether numbers may have been given away again since as many processes as `before` were made.
    pub(super) fn may_have_turned(self, before: Option<u64>) -> bool {
        before.is_none_or(|before| self.number.saturating_sub(before) >= self.numbers / TURN_PART)
    }
}

/// Reads how many numbers there are for the processes and threads that were made; none where the kernel does not say.
pub(super) fn processes_made(number: u64, roots: &Roots, buffer: &mut Vec<u8>) -> Option<Made> {
    let most = roots.proc.join("sys/kernel/pid_max");
    let numbers = read_and_parse(&most, buffer, Access::VisibleProcesses, whole_number).into_known()?;
    Some(Made { number, numbers })
}

#[cfg(test)]
mod tests {
    use super::Made;

    #[test]
    fn numbers_are_not_given_away_again_before_their_turn() {
        let made = Made { number: 50_000, numbers: 32_768 };
        assert!(!made.may_have_turned(Some(49_000)));
        assert!(made.may_have_turned(Some(40_000)));
        assert!(made.may_have_turned(None));
    }
}
