//! Every capture beside this checkout is recognised as what it is, or as nothing: a table by eye says which.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use beside::beside;
use gpuwhy_formats::text::{Met, understand_paste};
use gpuwhy_formats::unpack::{Content, Limits, Unpacked, Unpacker};

const TABLE: &str = include_str!("captures/formats.txt");

/// What lies beside the captures and is none.
const NO_CAPTURES: &[&str] = &["LICENSES", "README.md"];

/// The folders, as far apart as they take time: each group is a test of its own.
const GROUPS: [&[&str]; 4] = [
    &["amd", "ascend", "cluster-samples", "dcgm", "drm-fdinfo"],
    &["host-pressure", "infiniband", "intel", "kernel-log", "kubernetes"],
    &["nvidia-smi"],
    &["pytorch-trace", "serving-metrics", "slurm", "vendor-dumps"],
];

/// One row of the table.
struct Row {
    place: &'static str,
    /// Formats that must be found.
    needed: BTreeSet<&'static str>,
    /// Formats that may be found too.
    allowed: BTreeSet<&'static str>,
}

fn rows() -> Vec<Row> {
    let names = |cell: &'static str| -> BTreeSet<&'static str> {
        cell.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
    };
    TABLE
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let cells: Vec<&'static str> = line.split('|').collect();
            let [place, needed, allowed] = cells[..] else { panic!("{line}: three cells") };
            Row { place: place.trim(), needed: names(needed), allowed: names(allowed) }
        })
        .collect()
}

/// Returns whether a path fits a place in which stars stand for anything.
fn fits(path: &str, place: &str) -> bool {
    let parts: Vec<&str> = place.split('*').collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return path == place;
    };
    let Some(mut rest) = path.strip_prefix(*first).and_then(|rest| rest.strip_suffix(*last)) else {
        return false;
    };
    for part in between {
        let Some((_, behind)) = rest.split_once(*part) else {
            return false;
        };
        rest = behind;
    }
    true
}

/// Returns the formats in a file, archives opened; what is no text stands among them.
fn formats(path: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut take = |unpacked: Unpacked| match unpacked.content {
        Content::Text(captured) => captured.with_paste(|paste| {
            understand_paste(paste, &mut |met| {
                if let Met::Piece(piece) = met {
                    found.insert(piece.format.to_string());
                }
            });
        }),
        other => {
            found.insert(format!("no text: {other:?} ({})", unpacked.name));
        }
    };
    let mut unpacker = Unpacker::new(Limits::default(), &mut take);
    unpacker.file(&path.display().to_string(), File::open(path).unwrap());
    found
}

/// Returns what lies in a folder, by name.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !NO_CAPTURES.contains(&name.as_str()));
    names.sort();
    names
}

#[expect(clippy::print_stdout, reason = "where a capture breaks the reader, its name stands last")]
fn judge(group: &[&str]) {
    let Some(all) = beside("testdata") else { return };
    let rows = rows();
    let mut wrong = Vec::new();
    for folder in group {
        for name in names_in(&all.join(folder)) {
            let path = format!("{folder}/{name}");
            println!("{path}");
            let Some(row) = rows.iter().find(|row| fits(&path, row.place)) else {
                wrong.push(format!("{path}: no row of the table"));
                continue;
            };
            let found = formats(&all.join(&path));
            let is_missing = row.needed.iter().any(|needed| !found.contains(*needed));
            let is_known =
                |name: &String| row.needed.contains(name.as_str()) || row.allowed.contains(name.as_str());
            if is_missing || !found.iter().all(is_known) {
                wrong.push(format!("{path}: found {found:?}, not {:?} (or {:?})", row.needed, row.allowed));
            }
        }
    }
    assert!(wrong.is_empty(), "{} captures are taken for something else:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn captures_of_other_vendors_and_clusters() {
    judge(GROUPS[0]);
}

#[test]
fn captures_of_hosts_networks_and_kubernetes() {
    judge(GROUPS[1]);
}

#[test]
fn captures_of_nvidia_smi() {
    judge(GROUPS[2]);
}

#[test]
fn captures_of_programs_and_slurm() {
    judge(GROUPS[3]);
}

#[test]
fn every_folder_is_judged_and_every_row_is_of_use() {
    let Some(all) = beside("testdata") else { return };
    let folders = names_in(&all);
    let mut judged: Vec<&str> = GROUPS.concat();
    judged.sort_unstable();
    assert_eq!(judged, folders);
    let rows = rows();
    let mut used = BTreeSet::new();
    for folder in &folders {
        for name in names_in(&all.join(folder)) {
            let path = format!("{folder}/{name}");
            used.extend(rows.iter().position(|row| fits(&path, row.place)));
        }
    }
    let idle: Vec<&str> =
        rows.iter().enumerate().filter(|(row, _)| !used.contains(row)).map(|(_, row)| row.place).collect();
    assert!(idle.is_empty(), "no capture lies at {idle:?}");
}

#[test]
fn stars_stand_for_anything() {
    for (path, place) in [("a/b.txt", "a/*"), ("a/b.txt", "a/*.txt"), ("a/b-c.txt", "a/*-c*"), ("a/b", "a/b")]
    {
        assert!(fits(path, place), "{path} {place}");
    }
    for (path, place) in [("a/b.txt", "b/*"), ("a/b.txt", "a/*.md"), ("a/b.txt", "a/*-c*"), ("a/b", "a/")] {
        assert!(!fits(path, place), "{path} {place}");
    }
}
