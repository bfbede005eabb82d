//! The pure packages reach for nothing outside: no file, no network, no environment, no clock, no chance.

use std::path::Path;

use anyhow::Result;

use super::{rust_files, source_of, without_comment};
use crate::workspace::Workspace;

/// Folders of the packages that are pure; those that do not exist yet are listed all the same.
const PURE: &[&str] = &[
    "crates/model",
    "crates/knowledge",
    "crates/formats",
    "crates/diagnose",
    "crates/render",
    "crates/queue",
    "crates/planner",
];

/// What a pure package may not name.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::os",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "fs::File",
    "fs::read",
    "tokio",
    "rustix::",
    "libc::",
    "rand::",
];

/// Returns every line of a pure package that reaches outside.
pub(super) fn impurities(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in PURE {
        let sources = workspace.path(folder).join("src");
        if !sources.is_dir() {
            continue;
        }
        for file in rust_files(&sources)? {
            if is_test_file(&file) {
                continue;
            }
            let name = workspace.relative(&file).display().to_string();
            found.extend(
                impurities_of(&source_of(&file)?).map(|(line, what)| format!("{name}:{line}: {what}")),
            );
        }
    }
    Ok(found)
}

/// Returns line number and name of everything outside that a source names before its tests.
fn impurities_of(source: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = source.lines().take_while(|line| line.trim() != "#[cfg(test)]").map(without_comment);
    code.enumerate().flat_map(|(position, line)| {
        OUTSIDE.iter().filter(move |what| line.contains(**what)).map(move |what| (position + 1, *what))
    })
}

/// Tests may read files; they stand in modules of their own called `tests`.
fn is_test_file(file: &Path) -> bool {
    file.components().any(|part| {
        let name = part.as_os_str();
        name == "tests" || name == "tests.rs"
    })
}

#[cfg(test)]
mod tests {
    use super::impurities_of;

    #[test]
    fn reaching_outside_is_noticed() {
        let found: Vec<_> = impurities_of("use std::fmt;\nlet now = Timestamp::now();\n").collect();
        assert_eq!(found, [(2, "Timestamp::now")]);
    }

    #[test]
    fn words_and_tests_are_free() {
        let source = "// std::fs is not for us\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(impurities_of(source).count(), 0);
    }
}
