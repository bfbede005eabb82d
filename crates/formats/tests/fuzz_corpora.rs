//! Inputs that fuzzing keeps (`cargo xtask fuzz`), read again by the same functions. One that once broke something stays
//! there for good.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod entries;

use std::path::{Path, PathBuf};

/// Returns a file or folder of the package that fuzzes.
fn fuzz(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(below)
}

/// Returns what lies in a folder, by name.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns the names of what lies in a folder, without what stands behind the dot.
fn names_in(folder: &str) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries_of(&fuzz(folder)).iter().map(stem).collect()
}

#[test]
fn kept_inputs_are_survived() {
    for (target, _) in entries::TARGETS {
        let inputs = entries_of(&fuzz("corpus").join(target));
        assert!(inputs.len() >= 2, "{target} has {} inputs", inputs.len());
        for input in inputs {
            println!("{}", input.display());
            entries::read(target, &std::fs::read(&input).unwrap());
        }
    }
}

#[test]
fn every_target_stands_in_every_list() {
    let targets: Vec<&str> = entries::TARGETS.iter().map(|(name, _)| *name).collect();
    assert!(targets.is_sorted(), "{targets:?}");
    assert_eq!(names_in("fuzz_targets"), targets);
    assert_eq!(names_in("corpus"), targets);
    let manifest = std::fs::read_to_string(fuzz("Cargo.toml")).unwrap();
    assert_eq!(manifest.matches("[[bin]]").count(), targets.len());
    for target in targets {
        let program = format!("name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"\n");
        assert!(manifest.contains(&program), "{target} is no program of the manifest");
        let source = std::fs::read_to_string(fuzz("fuzz_targets").join(target).with_extension("rs")).unwrap();
        assert!(source.contains(&format!("entries::read(\"{target}\", input)")), "{target}: {source}");
    }
}
