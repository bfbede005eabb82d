//! Whether we look from inside a container, and which cards were promised to it.

use gpuwhy_formats::proc;
use gpuwhy_model::reading::{Access, Reading};

use crate::file::{read_and_parse, read_path};
use crate::roots::Roots;

/// Words in a control-group path, and the container that they stand for.
const GROUPS: &[(&str, &str)] = &[
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
];

/// Returns the kind of container that we are in; unsupported: in none that we can tell.
pub(super) fn container(roots: &Roots, buffer: &mut Vec<u8>) -> Reading<String> {
    let known = |kind: &str| Reading::Known(kind.to_owned());
    // The first process of the namespace is told by the container's runtime what it is.
    if let Ok(bytes) = read_path(&roots.proc.join("1/environ"), buffer)
        && let Some(kind) =
            bytes.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"container="))
        && !kind.is_empty()
    {
        return Reading::Known(proc::single_line(kind));
    }
    let groups = read_and_parse(&roots.proc.join("1/cgroup"), buffer, Access::Root, proc::cgroup_paths);
    let paths = groups.into_known().unwrap_or_default();
    for (word, kind) in GROUPS {
        if paths.values().any(|path| path.contains(word)) {
            return known(kind);
        }
    }
    // The marks that docker and podman leave in the root of a container.
    let root = roots.proc.join("self/root");
    if root.join(".dockerenv").exists() {
        return known("docker");
    }
    if root.join("run/.containerenv").exists() {
        return known("podman");
    }
    Reading::Unsupported
}

/// Returns the cards that were promised to our container.
pub(super) fn promised_cards(
    container: &Reading<String>,
    roots: &Roots,
    buffer: &mut Vec<u8>,
) -> Reading<String> {
    if !container.is_known() {
        return Reading::Unsupported;
    }
    let parse = |bytes: &[u8]| Ok(proc::environment(bytes));
    let environment = read_and_parse(&roots.proc.join("self/environ"), buffer, Access::RootOrOwner, parse);
    environment.and_then(|variables| {
        let promised = variables
            .get("NVIDIA_VISIBLE_DEVICES")
            .filter(|cards| !matches!(cards.as_str(), "" | "void" | "none"));
        promised.map_or(Reading::Unsupported, |cards| Reading::Known(cards.clone()))
    })
}
