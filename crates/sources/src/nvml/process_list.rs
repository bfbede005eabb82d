//! Process lists of the library, whose rows changed size without a change of name.
//!
//! The buffer is over-allocated and filled with a pattern; what was overwritten tells how large a row is.

use gpuwhy_model::process::Pid;

/// No library known writes larger rows.
const ROW_WORDS_MAX: usize = 5;

/// Fills what the library does not write. As a process number or an instance it is impossible.
const PATTERN: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The library's word for "not available".
const NOT_AVAILABLE: u64 = u64::MAX;

/// One row of a process list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: Pid,
    /// Bytes held; none where the driver does not tell.
    pub(super) memory: Option<u64>,
}

/// A buffer of words for the library to write rows into.
pub(super) struct RowsBuffer {
    words: Vec<u64>,
}

impl RowsBuffer {
    /// Makes a buffer with room for this number of rows of any known size.
    pub(super) fn with_room_for(rows: usize) -> Self {
        Self { words: vec![PATTERN; rows * ROW_WORDS_MAX] }
    }

    /// Returns where the library may write.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u64 {
        self.words.as_mut_ptr()
    }

    /// Takes what the library wrote.
    pub(super) fn into_rows(self, count: usize) -> Rows {
        Rows { words: self.words, count }
    }
}

/// Rows as the library wrote them, of a size that is still to be found out.
pub(super) struct Rows {
    words: Vec<u64>,
    count: usize,
}

impl Rows {
    /// Returns the list of nobody.
    pub(super) const fn none() -> Self {
        Self { words: Vec::new(), count: 0 }
    }

    /// Returns the rows, or what contradicts itself about them.
    pub(super) fn read(&self) -> Result<Vec<Row>, String> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let written = self.words.iter().rposition(|word| *word != PATTERN).map_or(0, |last| last + 1);
        let row_words = written / self.count;
        if !written.is_multiple_of(self.count) || !(2..=ROW_WORDS_MAX).contains(&row_words) {
            return Err(format!("{} rows in {} bytes", self.count, written * size_of::<u64>()));
        }
        self.words[..written].chunks_exact(row_words).map(row).collect()
    }
}

/// Reads one row: the process number in the first half of the first word, the memory in the second word.
fn row(words: &[u64]) -> Result<Row, String> {
    let bytes = words[0].to_ne_bytes();
    let pid = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    // Pids end at 2^22; these are rows of another layout than we think, and the pids in them nobody's.
    if pid == 0 || pid > 1 << 22 {
        return Err(format!("process number {pid}"));
    }
    let memory = (words[1] != NOT_AVAILABLE).then_some(words[1]);
    Ok(Row { pid: Pid(pid), memory })
}

#[cfg(test)]
mod tests {
    use super::{Row, RowsBuffer};
    use gpuwhy_model::process::Pid;

    /// Writes rows as a library with rows of this many words does.
    fn written(row_words: usize, rows: &[(u32, u64)], claimed: usize) -> Result<Vec<Row>, String> {
        let mut buffer = RowsBuffer::with_room_for(rows.len() + 16);
        for (place, (pid, memory)) in rows.iter().enumerate() {
            let row = &mut buffer.words[place * row_words..][..row_words];
            // The half behind the process number is padding, which no library writes.
            row[0] = (row[0] & !0xffff_ffff) | u64::from(*pid);
            row[1] = *memory;
            for rest in &mut row[2..] {
                *rest = u64::MAX;
            }
        }
        buffer.into_rows(claimed).read()
    }

    #[test]
    fn rows_of_every_size_are_read() {
        let expected = [
            Row { pid: Pid(4242), memory: Some(1 << 30) },
            Row { pid: Pid(17), memory: None },
            Row { pid: Pid(9), memory: Some(0) },
        ];
        for row_words in [2, 3, 4, 5] {
            let rows = written(row_words, &[(4242, 1 << 30), (17, u64::MAX), (9, 0)], 3);
            assert_eq!(rows.unwrap(), expected, "{row_words} words");
        }
        assert_eq!(written(3, &[(5, 7)], 1).unwrap(), [Row { pid: Pid(5), memory: Some(7) }]);
    }

    #[test]
    fn impossible_rows_are_no_processes() {
        assert!(written(3, &[(1, 2), (3, 4)], 4).is_err());
        assert!(written(2, &[(0, 2)], 1).is_err());
        assert!(written(2, &[(u32::MAX, 2)], 1).is_err());
        assert!(written(2, &[], 1).is_err());
        assert_eq!(written(2, &[], 0).unwrap(), []);
    }
}
