//! `cargo xtask fuzz`: inputs that are led by which code they reach, for everything that reads what others wrote.
//!
//! The programs are those of `fuzz/`, each one line over a function of `crates/formats/tests/entries`. What is kept in
//! `fuzz/corpus` is where they begin, and is read again by the ordinary tests; what they find on the way stays in the
//! build folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::prerequisites;
use crate::tally::Tally;
use crate::workspace::{Workspace, succeed};

/// The package that fuzzes.
const FOLDER: &str = "fuzz";

/// So much memory means that a limit does not hold.
const MEMORY_MAX_MEBIBYTES: u32 = 2048;

/// An input that takes so many seconds is as good as one that never ends.
const SECONDS_FOR_ONE_MAX: u32 = 20;

/// Lets every target, or only the one that is named, read inputs for so many seconds each.
///
/// # Errors
/// Fails when cargo-fuzz cannot be installed, or a target is not there or does not compile.
pub(crate) fn run(workspace: &Workspace, seconds: u64, only: Option<&str>) -> Result<Tally> {
    let targets = targets(&workspace.path(FOLDER), only)?;
    prerequisites::cpp_compiler()?;
    if !has_cargo_fuzz(workspace) {
        println!("installing cargo-fuzz");
        succeed(workspace.cargo().args(["install", "--locked", "cargo-fuzz"]))
            .context("cannot install cargo-fuzz")?;
    }
    let mut tally = Tally::default();
    for target in targets {
        succeed(cargo_fuzz(workspace, "build").arg(&target))
            .with_context(|| format!("`{target}` does not compile"))?;
        let found = found(workspace, &target);
        std::fs::create_dir_all(&found).with_context(|| format!("cannot make `{}`", found.display()))?;
        let outcome = succeed(
            cargo_fuzz(workspace, "run")
                .arg(&target)
                // What is new goes into the first folder.
                .arg(&found)
                .arg(workspace.path(FOLDER).join("corpus").join(&target))
                .arg("--")
                .args(options(seconds)),
        );
        tally.count(outcome.is_ok());
        match outcome {
            Ok(()) => println!("ok      {target}: nothing in {seconds} s"),
            Err(error) => println!(
                "FAILED  {target}: {error:#}; keep its input of {FOLDER}/artifacts/{target} in {FOLDER}/corpus/{target}"
            ),
        }
    }
    Ok(tally)
}

/// Returns the names of the targets, sorted: all of them, or the one that is wanted.
fn targets(folder: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let sources = folder.join("fuzz_targets");
    let entries = sources.read_dir().with_context(|| format!("cannot list `{}`", sources.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list `{}`", sources.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    let Some(only) = only else {
        return Ok(names);
    };
    if !names.iter().any(|name| name == only) {
        bail!("there is no target `{only}`; there are: {}", names.join(", "));
    }
    Ok(vec![only.to_owned()])
}

fn has_cargo_fuzz(workspace: &Workspace) -> bool {
    let mut command = workspace.cargo();
    command.args(["fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns a command of cargo-fuzz, with the compiler's flags that only an unfinished compiler takes without being asked.
fn cargo_fuzz(workspace: &Workspace, what: &str) -> std::process::Command {
    let mut command = workspace.cargo();
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(["fuzz", what, "--fuzz-dir"]).arg(workspace.path(FOLDER));
    command.arg("--target-dir").arg(workspace.target().join("fuzz"));
    command
}

/// Returns where inputs are kept that reached something new.
fn found(workspace: &Workspace, target: &str) -> PathBuf {
    workspace.target().join("fuzz-corpus").join(target)
}

/// Returns the options of libFuzzer.
fn options(seconds: u64) -> [String; 5] {
    [
        format!("-max_total_time={seconds}"),
        format!("-timeout={SECONDS_FOR_ONE_MAX}"),
        format!("-rss_limit_mb={MEMORY_MAX_MEBIBYTES}"),
        // A line for every new input hides those that matter.
        "-verbosity=0".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::{FOLDER, targets};
    use crate::workspace::Workspace;

    #[test]
    fn every_target_or_the_one_that_is_wanted() {
        let folder = Workspace::of_this_tool().unwrap().path(FOLDER);
        let all = targets(&folder, None).unwrap();
        assert!(all.len() >= 12 && all.is_sorted(), "{all:?}");
        assert_eq!(targets(&folder, Some("kernel_log")).unwrap(), ["kernel_log"]);
        let error = targets(&folder, Some("nothing")).unwrap_err().to_string();
        assert!(error.contains("there is no target `nothing`; there are: any_text, "), "{error}");
    }
}
