//! The direction of dependencies between our own packages: the exact edges that are allowed, and no other.

use crate::metadata::{DependencyKind, Metadata, Package};

/// Packages that stand at the top and may use any of ours, but for the emulated box.
const TOP: &[&str] = &["gpuwhy", "gpuwhy-server", "xtask"];

/// From which package to which; every package may use `gpuwhy-model`.
const EDGES: &[(&str, &str)] = &[
    ("gpuwhy-formats", "gpuwhy-knowledge"),
    ("gpuwhy-render", "gpuwhy-knowledge"),
    ("gpuwhy-diagnose", "gpuwhy-knowledge"),
    ("gpuwhy-act", "gpuwhy-knowledge"),
    ("gpuwhy-launch", "gpuwhy-knowledge"),
    ("gpuwhy-queue", "gpuwhy-knowledge"),
    ("gpuwhy-planner", "gpuwhy-knowledge"),
    ("gpuwhy-sources", "gpuwhy-formats"),
    ("gpuwhy-planner", "gpuwhy-queue"),
    ("gpuwhy-lab-nvml", "gpuwhy-lab"),
    ("xtask", "gpuwhy-lab"),
];

/// The same for `[dev-dependencies]`, besides the edges above.
const DEV_EDGES: &[(&str, &str)] = &[
    ("gpuwhy-sources", "gpuwhy-lab"),
    ("gpuwhy", "gpuwhy-lab"),
    // Only so that cargo builds the emulated library before the tests that load it.
    ("gpuwhy-sources", "gpuwhy-lab-nvml"),
    ("gpuwhy", "gpuwhy-lab-nvml"),
    ("gpuwhy-lab", "gpuwhy-lab-nvml"),
];

/// Returns every edge between our packages that is not allowed.
pub(super) fn wrong_edges(metadata: &Metadata) -> Vec<String> {
    let is_ours = |name: &str| metadata.members().any(|member| member.name == name);
    let mut wrong: Vec<String> = metadata
        .members()
        .flat_map(|package| wrong_edges_of(package).into_iter())
        .filter(|(_, to)| is_ours(to))
        .map(|(from, to)| format!("{from} may not depend on {to}"))
        .collect();
    wrong.sort();
    wrong
}

fn wrong_edges_of(package: &Package) -> Vec<(&str, &str)> {
    let edges = package.dependencies.iter().map(|dependency| (dependency.name.as_str(), dependency.kind));
    edges
        .filter(|(to, kind)| !may_depend(&package.name, to, *kind))
        .map(|(to, _)| (package.name.as_str(), to))
        .collect()
}

/// Returns whether one package may have another in a `[dependencies]` table.
fn may_depend(from: &str, to: &str, kind: Option<DependencyKind>) -> bool {
    let is_lab = |name: &str| name == "gpuwhy-lab" || name == "gpuwhy-lab-nvml";
    if kind == Some(DependencyKind::Dev) && DEV_EDGES.contains(&(from, to)) {
        return true;
    }
    if is_lab(from) || is_lab(to) {
        return EDGES.contains(&(from, to));
    }
    to == "gpuwhy-model" || TOP.contains(&from) || EDGES.contains(&(from, to))
}

#[cfg(test)]
mod tests {
    use super::may_depend;
    use crate::metadata::DependencyKind;

    #[test]
    fn the_house_stands_as_drawn() {
        assert!(may_depend("gpuwhy-sources", "gpuwhy-formats", None));
        assert!(may_depend("gpuwhy", "gpuwhy-render", None));
        assert!(may_depend("gpuwhy-diagnose", "gpuwhy-model", Some(DependencyKind::Build)));
        assert!(may_depend("gpuwhy", "gpuwhy-lab", Some(DependencyKind::Dev)));
    }

    #[test]
    fn shortcuts_are_refused() {
        assert!(!may_depend("gpuwhy-diagnose", "gpuwhy-sources", None));
        assert!(!may_depend("gpuwhy-sources", "gpuwhy-knowledge", None));
        assert!(!may_depend("gpuwhy-render", "gpuwhy-diagnose", Some(DependencyKind::Dev)));
    }

    #[test]
    fn the_emulated_box_stays_outside_the_product() {
        assert!(!may_depend("gpuwhy", "gpuwhy-lab", None));
        assert!(!may_depend("gpuwhy-diagnose", "gpuwhy-lab", Some(DependencyKind::Dev)));
        assert!(!may_depend("gpuwhy-lab", "gpuwhy-model", None));
    }
}
