//! `cargo xtask check`: everything that can be judged without running the product.

mod edges;
mod licences;
mod manifests;
mod purity;
mod texts;
mod unsafe_code;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::generate;
use crate::metadata::Metadata;
use crate::tally::Tally;
use crate::workspace::{Workspace, succeed};

/// One check: its name on the command line and what it does.
struct Check {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

/// Every check; the quick ones stand first.
const CHECKS: &[Check] = &[
    Check { name: "fmt", run: formatting },
    Check { name: "edges", run: |workspace| refuse(&edges::wrong_edges(&Metadata::read(workspace)?)) },
    Check {
        name: "lints",
        run: |workspace| refuse(&manifests::without_our_lints(&Metadata::read(workspace)?)?),
    },
    Check { name: "licences", run: |workspace| refuse(&licences::not_allowed(&Metadata::read(workspace)?)) },
    Check { name: "duplicates", run: duplicates },
    Check { name: "purity", run: |workspace| refuse(&purity::impurities(workspace)?) },
    Check { name: "unsafe", run: |workspace| refuse(&unsafe_code::misplaced(workspace)?) },
    Check { name: "texts", run: |_| texts::complete() },
    Check { name: "generated", run: |workspace| refuse(&generate::stale(workspace)?) },
    Check { name: "clippy", run: clippy },
    Check { name: "doc", run: documentation },
];

/// Runs the named checks, or all of them where none is named; a failed one does not stop the others.
///
/// # Errors
/// Fails when a name is not that of a check.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<Tally> {
    if let Some(unknown) = names.iter().find(|name| !CHECKS.iter().any(|check| check.name == *name)) {
        let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        bail!("there is no check `{unknown}`; there are: {}", known.join(", "));
    }
    let mut tally = Tally::default();
    for check in CHECKS {
        if !names.is_empty() && !names.iter().any(|name| name == check.name) {
            continue;
        }
        let outcome = (check.run)(workspace);
        tally.count(outcome.is_ok());
        match outcome {
            Ok(()) => println!("ok      {}", check.name),
            Err(error) => println!("FAILED  {}: {error:#}", check.name),
        }
    }
    Ok(tally)
}

/// Turns a list of what is wrong into an error, one line for each.
fn refuse(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{} wrong\n        {}", wrong.len(), wrong.join("\n        "))
}

fn formatting(workspace: &Workspace) -> Result<()> {
    succeed(workspace.cargo().args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<()> {
    let arguments = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    succeed(workspace.cargo().args(arguments))
}

fn documentation(workspace: &Workspace) -> Result<()> {
    let arguments = ["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"];
    succeed(workspace.cargo().args(arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Prints packages that are built in several versions. They cost build time and fail nothing.
fn duplicates(workspace: &Workspace) -> Result<()> {
    for duplicate in licences::duplicates(&Metadata::read(workspace)?) {
        println!("        twice: {duplicate}");
    }
    Ok(())
}

/// Returns the Rust files below a folder, sorted.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().with_context(|| format!("cannot list `{}`", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a source file.
fn source_of(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Returns the code of a line, without a `//` comment.
fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _comment)| code)
}
