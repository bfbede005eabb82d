//! Lines of `strace`: how high the limit of open files is, and what that costs.
//!
//! Libraries make tables with one entry for each file that a process may open, and old programs close every one of them
//! before they start another. Where a container's limit is a thousand million, both take seconds and gigabytes.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::{LimitHit, LogLine, ProgramFact, Provenance, Scene, SourceKind};

use super::super::block::{Block, Context};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// So many lines of a trace are read, and so many others may stand between two of them: notes, and what a program writes.
const LINES_MAX: usize = 200_000;
const BETWEEN_MAX: usize = 3;
/// One line alone may be quoted in a text.
const LINES_MIN: usize = 2;
/// Common limits reach a million: a table of that many entries costs nothing.
const LIMIT_HIGH: u64 = 1 << 24;
/// A table is worth naming from here on, in bytes.
const TABLE_MIN: u64 = 1 << 30;
/// No entry of such a table is larger, in bytes.
const ENTRY_MAX: u64 = 512;
/// Lengths are rounded up to whole pages; the largest usual ones have 64 KiB.
const PAGE_MAX: u64 = 64 << 10;
/// So many files that are not open are closed in a row: somebody goes through all the numbers.
const CLOSED_MIN: usize = 24;

/// One call into the kernel.
struct Call<'text> {
    name: &'text str,
    arguments: &'text str,
    result: &'text str,
}

/// What was seen so far.
#[derive(Default)]
struct Seen<'text> {
    /// The line that says the limit, and the limit.
    limit: Option<(&'text str, u64)>,
    /// A table that is as long as the limit is high.
    table: Option<&'text str>,
    /// Files in a row that were closed without being open, the last of them, and the last line.
    closed: (usize, u64),
    swept: Option<&'text str>,
}

/// Reads the calls that begin with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    call(&lines.first()?.text)?;
    let mut seen = Seen::default();
    let (mut taken, mut calls) = (0, 0);
    for (place, line) in lines.iter().enumerate().take(LINES_MAX) {
        if command_after_prompt(&line.text).is_some() || place > taken + BETWEEN_MAX {
            break;
        }
        let Some(call) = call(&line.text) else {
            continue;
        };
        seen.add(&line.text, &call);
        taken = place + 1;
        calls += 1;
    }
    (calls >= LINES_MIN).then(|| Block { lines: taken, scene: seen.scene(), remarks: Vec::new() })
}

impl<'text> Seen<'text> {
    fn add(&mut self, line: &'text str, call: &Call<'_>) {
        if let Some(limit) = limit(call) {
            self.limit = Some((line, limit));
        }
        if let (Some((_, limit)), Some(length)) = (self.limit, mapped(call))
            && is_table_of(limit, length)
        {
            self.table.get_or_insert(line);
        }
        self.closed = match (closed_in_vain(call), self.closed) {
            (Some(file), (number, last)) if number > 0 && file == last + 1 => (number + 1, file),
            (Some(file), _) => (1, file),
            (None, _) => (0, 0),
        };
        if self.closed.0 >= CLOSED_MIN {
            self.swept = Some(line);
        }
    }

    fn scene(self) -> Scene {
        let fact = |line: &str| LogLine {
            text: masked_text(line.trim()),
            fact: Some(ProgramFact::LimitHit(LimitHit::FilesTooHigh)),
            ..LogLine::default()
        };
        let limit = self.limit.map(|(line, _)| line).filter(|_| self.table.is_some());
        let program = limit.into_iter().chain(self.table).chain(self.swept).map(fact).collect();
        Scene {
            program,
            provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::Strace.to_string()] },
            ..Scene::default()
        }
    }
}

/// Splits `[pid 10] 12:00:01.5 close(7</dev/x>) = -1 EBADF (…)`; none for a line that is no call.
fn call(text: &str) -> Option<Call<'_>> {
    let text = text.trim();
    let (front, rest) = text.split_once('(')?;
    let name = front.rsplit([' ', '\t']).next()?;
    let is_name = name.len() >= 3
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let before = front[..front.len() - name.len()].trim();
    let (arguments, result) = rest.rsplit_once(") = ").or_else(|| {
        // The result stands in a column of its own.
        let (arguments, result) = rest.rsplit_once(" = ")?;
        Some((arguments.trim_end().strip_suffix(')')?, result))
    })?;
    let result = result.trim();
    let is_result = result.starts_with("0x")
        || result.starts_with('?')
        || result.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
    (is_name && is_result && is_front(before)).then_some(Call { name, arguments, result })
}

/// Returns whether words can stand before a call: which thread makes it, and when.
fn is_front(before: &str) -> bool {
    before.len() <= 60
        && before.split_ascii_whitespace().all(|word| {
            let word = word.trim_matches(['[', ']']);
            ["", "pid", "(+"].contains(&word)
                || word.bytes().all(|byte| byte.is_ascii_digit() || b".:-+T".contains(&byte))
        })
}

/// Returns the limit of open files that a call asked for: `getrlimit(RLIMIT_NOFILE, {rlim_cur=1024, …})`, and `prlimit64`.
fn limit(call: &Call<'_>) -> Option<u64> {
    if !matches!(call.name, "getrlimit" | "ugetrlimit" | "prlimit64" | "setrlimit")
        || !call.arguments.contains("RLIMIT_NOFILE")
        || call.result.starts_with('-')
    {
        return None;
    }
    // `NULL` stands for what is not asked; 1073741816 is also written as 1024*1048576.
    let (_, value) = call.arguments.rsplit_once("rlim_cur=")?;
    let value = value.split([',', '}']).next()?.trim();
    if value == "RLIM64_INFINITY" || value == "RLIM_INFINITY" {
        return None;
    }
    value.split('*').try_fold(1_u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}

/// Returns how many bytes a call mapped for a program itself.
fn mapped(call: &Call<'_>) -> Option<u64> {
    if !matches!(call.name, "mmap" | "mmap2") || !call.arguments.contains("MAP_ANON") {
        return None;
    }
    call.arguments.split(',').nth(1)?.trim().parse().ok()
}

/// Returns whether a length is that of a table with one entry for each file that may be opened.
fn is_table_of(limit: u64, length: u64) -> bool {
    if limit < LIMIT_HIGH || length < TABLE_MIN {
        return false;
    }
    let entry = length / limit;
    // Rounded up to whole pages, a table is a little longer than its entries.
    (1..=ENTRY_MAX).contains(&entry) && length - entry * limit < PAGE_MAX
}

/// Returns the number of a file that was closed without being open.
fn closed_in_vain(call: &Call<'_>) -> Option<u64> {
    let is_vain = call.name == "close" && call.result.contains("EBADF");
    call.arguments.trim().parse().ok().filter(|_| is_vain)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{LimitHit, ProgramFact};

    use super::{call, is_table_of, limit, read};
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn facts(text: &str) -> usize {
        let block = block(text).unwrap();
        let is_fact =
            |fact: &Option<ProgramFact>| *fact == Some(ProgramFact::LimitHit(LimitHit::FilesTooHigh));
        block.scene.program.iter().filter(|line| is_fact(&line.fact)).count()
    }

    #[test]
    fn a_table_as_long_as_the_limit_is_found() {
        let text = "[pid 4711] 10:00:01.000100 prlimit64(0, RLIMIT_NOFILE, NULL, {rlim_cur=1024*1048576, rlim_max=1024*1048576}) = 0\n\
                    [pid 4711] 10:00:01.000200 mmap(NULL, 8589934592, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000 <9.1>\n\
                    slow!\n\
                    [pid 4711] 10:00:10.000200 close(3)                      = 0\n";
        assert_eq!((facts(text), block(text).unwrap().lines), (2, 4));
        assert!(is_table_of(1_073_741_816, 12 * 1_073_741_816 + 96));
    }

    #[test]
    fn usual_limits_and_other_memory_are_no_trouble() {
        let usual = "getrlimit(RLIMIT_NOFILE, {rlim_cur=1048576, rlim_max=1048576}) = 0\n\
                     mmap(NULL, 8589934592, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000\n";
        let other = "getrlimit(RLIMIT_NOFILE, {rlim_cur=1073741816, rlim_max=1073741816}) = 0\n\
                     mmap(NULL, 3000000000, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000\n";
        assert_eq!((facts(usual), facts(other)), (0, 0));
        assert!(
            limit(&call("getrlimit(RLIMIT_NOFILE, {rlim_cur=RLIM64_INFINITY, rlim_max=1}) = 0").unwrap())
                .is_none()
        );
    }

    #[test]
    fn who_closes_all_numbers_is_found() {
        let closed = |number: u64| format!("close({number}) = -1 EBADF (Bad file descriptor)\n");
        let many: String = (900..930).map(closed).collect();
        let few: String = (3..9).map(closed).collect();
        assert_eq!((facts(&many), facts(&few)), (1, 0));
    }

    #[test]
    fn other_lines_are_no_calls() {
        for text in [
            "f(x) = 3\ng(x) = 4",
            "the loss (mean) = 0.5\nthe loss (mean) = 0.4",
            "print(x)",
            "",
            "open(\"a\") = -1",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
