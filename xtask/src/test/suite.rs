//! The unit and integration tests of all packages, counted.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::tally::Tally;
use crate::workspace::Workspace;

/// Runs every test of the workspace.
///
/// # Errors
/// Fails when the tests cannot be built or started.
pub(super) fn run(workspace: &Workspace) -> Result<Tally> {
    let mut command = workspace.cargo();
    let runner = if has_nextest(workspace) { Runner::Nextest } else { Runner::Cargo };
    if runner == Runner::Nextest {
        command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--success-output", "immediate"]);
    } else {
        command.args(["test", "--workspace", "--all-targets", "--no-fail-fast", "--", "--nocapture"]);
    }
    counted(command.env("RUST_BACKTRACE", "0"), runner)
}

/// What runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// `cargo test`: what tests say stands between the names of others.
    Cargo,
    /// `cargo nextest run`: what a test says follows its verdict.
    Nextest,
}

fn has_nextest(workspace: &Workspace) -> bool {
    workspace.cargo().args(["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
}

/// Runs a command of tests, shows what matters of its output and counts.
fn counted(command: &mut Command, runner: Runner) -> Result<Tally> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let also_writer = writer.try_clone().context("cannot make a pipe")?;
    let mut tests = command.stdout(writer).stderr(also_writer).spawn().context("cannot start the tests")?;
    // The command keeps its ends of the pipe open; without this the reading would never end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut count = Count::of(runner);
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.context("cannot read what the tests say")?;
        let line = String::from_utf8_lossy(&line);
        if count.read(&line) {
            println!("{line}");
        }
    }
    let status = tests.wait().context("cannot wait for the tests")?;
    let mut tally = count.tally();
    if !status.success() && tally.failed == 0 {
        println!("the tests ended with {status} and named no failed test");
        tally.failed = 1;
    }
    Ok(tally)
}

/// What the lines of `cargo test` or `cargo nextest run` add up to.
#[derive(Debug)]
struct Count {
    runner: Runner,
    passed: usize,
    failed: usize,
    ignored: usize,
    said_skipped: usize,
    is_inside_success: bool,
}

impl Count {
    fn of(runner: Runner) -> Self {
        Self { runner, passed: 0, failed: 0, ignored: 0, said_skipped: 0, is_inside_success: false }
    }

    /// Takes one line and returns whether it is worth showing.
    fn read(&mut self, line: &str) -> bool {
        let words = line.trim_start();
        if let Some(result) = words.strip_prefix("test result: ") {
            self.passed += number_before(result, "passed");
            self.failed += number_before(result, "failed");
            self.ignored += number_before(result, "ignored");
            return !result.starts_with("ok");
        }
        if let Some(summary) = words.strip_prefix("Summary [") {
            // Each test was a run of its own, with a result that is counted already.
            self.passed = number_before(summary, "passed");
            self.failed = number_before(summary, "failed") + number_before(summary, "timed");
            self.ignored = number_before(summary, "skipped");
            return true;
        }
        if is_skip(words) {
            self.said_skipped += 1;
            return true;
        }
        if is_noise(words) {
            self.is_inside_success = true;
            return false;
        }
        let verdicts = ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV [", "SLOW [", "error", "warning"];
        let is_verdict = verdicts.iter().any(|start| words.starts_with(start));
        // A test that passes may panic on purpose; only a run of one test tells whose words these are.
        let is_panic = self.runner == Runner::Cargo && words.starts_with("thread '");
        if is_verdict || is_panic {
            self.is_inside_success = false;
        }
        !self.is_inside_success
    }

    /// A test that says that it skipped has passed for the runner, but not for us.
    fn tally(&self) -> Tally {
        let passed = self.passed.saturating_sub(self.said_skipped);
        Tally { passed, failed: self.failed, skipped: self.ignored + self.said_skipped }
    }
}

/// Whether a test says here that it could not look.
fn is_skip(words: &str) -> bool {
    let said = words.rsplit_once(" ... ").map_or(words, |(_test, said)| said);
    said.starts_with("skipped:") || said.starts_with("skipped ")
}

/// Whether what follows belongs to tests that passed.
fn is_noise(words: &str) -> bool {
    words.starts_with("PASS ") || words.starts_with("running ") || words.ends_with(" ... ok")
}

/// Returns the number that stands right before a word.
fn number_before(text: &str, word: &str) -> usize {
    let words: Vec<&str> = text.split([' ', ';', ',', '.']).filter(|word| !word.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == word);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Count, Runner};
    use crate::tally::Tally;

    fn tally_of(runner: Runner, output: &str) -> Tally {
        let mut count = Count::of(runner);
        for line in output.lines() {
            count.read(line);
        }
        count.tally()
    }

    #[test]
    fn the_plain_runner_is_understood() {
        let output = "running 3 tests\ntest a ... ok\ntest b ... skipped: needs root\nok\ntest c ... FAILED\n\
                      test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n\
                      test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(tally_of(Runner::Cargo, output), Tally { passed: 5, failed: 1, skipped: 2 });
    }

    #[test]
    fn the_quick_runner_is_understood() {
        let output = "        PASS [   0.010s] gpuwhy-model trend::tests::x\n  stdout ───\n    skipped: no files\n\
                      test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n\
                           Summary [   9.182s] 29 tests run: 27 passed (1 slow), 1 failed, 1 timed out, 0 skipped\n";
        assert_eq!(tally_of(Runner::Nextest, output), Tally { passed: 26, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_line_of_a_failed_test_is_shown() {
        let mut count = Count::of(Runner::Nextest);
        assert!(!count.read("        PASS [   0.010s] a b"));
        assert!(!count.read("    thread 'b' panicked on purpose"));
        assert!(count.read("        FAIL [   0.010s] a c"));
        assert!(count.read("    assertion failed"));
    }
}
