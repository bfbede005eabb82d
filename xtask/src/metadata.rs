//! What `cargo metadata` says about the workspace and everything it is built from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::workspace::{Workspace, output_of};

/// Every package of the build, with the members of the workspace named.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// All packages, ours and others'.
    pub(crate) packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// SPDX expression, where given.
    pub(crate) license: Option<String>,
    /// Its `Cargo.toml`.
    pub(crate) manifest_path: PathBuf,
    /// What it depends on, as its `Cargo.toml` says.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a `[dependencies]` table.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// Name of the package that is depended on.
    pub(crate) name: String,
    /// In which table it stands.
    pub(crate) kind: Option<DependencyKind>,
}

/// A `[dependencies]` table that is not the plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    /// `[dev-dependencies]`
    Dev,
    /// `[build-dependencies]`
    Build,
}

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let text = output_of(workspace.cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
        serde_json::from_str(&text).context("`cargo metadata` wrote something unexpected")
    }

    /// Returns our own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns the packages that come from elsewhere.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !self.workspace_members.contains(&package.id))
    }
}
