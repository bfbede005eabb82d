//! `unsafe` stands only where the C ABI, shared memory or a system call leaves no other way.

use anyhow::Result;

use super::{rust_files, source_of, without_comment};
use crate::workspace::Workspace;

/// Files and folders that may hold `unsafe`, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/sources/src/nvml/raw.rs", "calls the driver's C library"),
    ("crates/lab/nvml/src", "is the driver's C library of the emulated box"),
    ("xtask/src/bench/usage.rs", "asks the kernel what the measured program used"),
];

/// Returns every file with `unsafe` outside the list, and every entry of the list without any.
pub(super) fn misplaced(workspace: &Workspace) -> Result<Vec<String>> {
    let mut files = rust_files(&workspace.path("crates"))?;
    files.extend(rust_files(&workspace.path("xtask"))?);
    let mut holders = Vec::new();
    for file in files {
        if has_unsafe(&source_of(&file)?) {
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

/// Returns whether a source has an `unsafe` block, function, implementation or attribute.
fn has_unsafe(source: &str) -> bool {
    source.lines().map(without_comment).any(|code| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe(", "unsafe trait"]
            .iter()
            .any(|form| code.split('"').step_by(2).any(|outside_strings| outside_strings.contains(form)))
    })
}

#[cfg(test)]
mod tests {
    use super::has_unsafe;

    #[test]
    fn code_is_told_from_words() {
        assert!(has_unsafe("let x = unsafe { *pointer };"));
        assert!(has_unsafe("#[unsafe(no_mangle)]"));
        assert!(!has_unsafe("// unsafe { } is not used here"));
        assert!(!has_unsafe("#![expect(unsafe_code, reason = \"x\")]"));
        assert!(!has_unsafe("let text = \"unsafe { }\";"));
    }
}
