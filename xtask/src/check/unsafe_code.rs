//! `unsafe` stands only where the C ABI, shared memory or a system call leaves no other way.

use anyhow::Result;

use super::{rust_files, source_of};
use crate::workspace::Workspace;

/// Files and folders that may hold `unsafe`, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/sources/src/nvml/raw", "calls the driver's C library"),
    ("crates/sources/src/nvml/descriptors.rs", "closes descriptors that the child has inherited"),
    (
        "crates/lab/src/place/namespace.rs",
        "leaves the namespaces of the machine and forks into one of its own",
    ),
    ("crates/lab/src/stand_in/library.rs", "calls the library of the box as a program does"),
    ("crates/lab/src/state/lock.rs", "locks open file descriptions"),
    ("crates/lab/src/state/map.rs", "maps memory that processes of a box share"),
    ("crates/lab/src/workloads/zombie.rs", "ends one thread and not the process"),
    ("crates/lab/nvml/src", "is the driver's C library of an emulated box"),
    ("crates/lab/nvml/tests", "calls that library as C callers do"),
    ("xtask/src/on_gpu/calls.rs", "times calls of the driver's C library"),
    ("xtask/src/on_gpu/cuda.rs", "calls the CUDA driver's C library"),
    ("xtask/src/bench/usage.rs", "asks the kernel what the measured program used"),
];

/// Returns every file that may hold `unsafe` outside the list, and every entry of the list without any.
///
/// The workspace denies `unsafe_code`, so only a file that lifts this can hold any.
pub(super) fn misplaced(workspace: &Workspace) -> Result<Vec<String>> {
    let mut files = rust_files(&workspace.path("crates"))?;
    files.extend(rust_files(&workspace.path("xtask"))?);
    let mut holders = Vec::new();
    for file in files {
        if lifts_denial(&source_of(&file)?) {
            holders.push(workspace.relative(&file).display().to_string());
        }
    }
    let is_under = |holder: &str, allowed: &str| {
        holder.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut wrong = Vec::new();
    for holder in &holders {
        if !ALLOWED.iter().any(|(allowed, _)| is_under(holder, allowed)) {
            wrong.push(format!("{holder}: `unsafe` outside the listed places"));
        }
    }
    for (allowed, why) in ALLOWED {
        if !holders.iter().any(|holder| is_under(holder, allowed)) {
            wrong.push(format!("{allowed}: listed ({why}), but holds no `unsafe`"));
        }
    }
    Ok(wrong)
}

/// Returns whether a source has an attribute about the lint that denies `unsafe`, on one line or on several.
fn lifts_denial(source: &str) -> bool {
    let mut lines = source.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        let goes_on = line.starts_with('#') && line.trim_end().ends_with('(');
        let is_named_next = goes_on && lines.peek().is_some_and(|next| next.starts_with("unsafe_code"));
        if is_named_next || line.starts_with('#') && line.contains("(unsafe_code") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::lifts_denial;

    #[test]
    fn code_is_told_from_words() {
        assert!(lifts_denial("#![expect(unsafe_code, reason = \"x\")]"));
        assert!(lifts_denial("    #[allow(unsafe_code)]"));
        assert!(lifts_denial("#![expect(\n    unsafe_code,\n    reason = \"x\"\n)]"));
        assert!(!lifts_denial("#![expect(\n    dead_code,\n    reason = \"x\"\n)]"));
        assert!(!lifts_denial("// lifts #[expect(unsafe_code)]"));
        assert!(!lifts_denial("let is_unsafe = true;"));
    }
}
