//! `cargo xtask generate`: files of the repository that are made from the code, and whether they are up to date.

mod rules;
mod schema;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// One generated file.
struct Generated {
    /// Path from the root of the workspace.
    path: String,
    /// What it must hold.
    text: String,
}

/// Writes every generated file, and removes those that are no longer made.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    for file in all()? {
        let path = workspace.path(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        std::fs::write(&path, &file.text).with_context(|| format!("cannot write `{}`", path.display()))?;
        println!("wrote {}", file.path);
    }
    for path in left_over(workspace)? {
        std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        println!("removed {}", workspace.relative(&path).display());
    }
    Ok(())
}

/// Returns what is wrong with the generated files: missing, different from the code, or no longer made.
pub(crate) fn stale(workspace: &Workspace) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for file in all()? {
        let found = std::fs::read_to_string(workspace.path(&file.path)).ok();
        if found.as_deref() != Some(file.text.as_str()) {
            stale.push(format!("{} is not up to date: run `cargo xtask generate`", file.path));
        }
    }
    for path in left_over(workspace)? {
        stale.push(format!("{} is no longer generated", workspace.relative(&path).display()));
    }
    Ok(stale)
}

fn all() -> Result<Vec<Generated>> {
    let mut files = schema::files()?;
    files.extend(rules::files());
    Ok(files)
}

/// Files in the generated folders that nothing generates.
fn left_over(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let made: Vec<PathBuf> = all()?.iter().map(|file| workspace.path(&file.path)).collect();
    let mut left_over = Vec::new();
    for folder in [schema::FOLDER, rules::FOLDER] {
        let Ok(entries) = workspace.path(folder).read_dir() else {
            // Nothing was ever generated; the missing files are reported one by one.
            continue;
        };
        for entry in entries {
            let path = entry.with_context(|| format!("cannot list `{folder}`"))?.path();
            if !made.contains(&path) {
                left_over.push(path);
            }
        }
    }
    left_over.sort();
    Ok(left_over)
}
