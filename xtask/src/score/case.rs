//! A labelled incident: a folder with texts and `case.toml`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use gpuwhy_model::cause::Cause;
use serde::Deserialize;

/// The file that describes an incident.
const DESCRIPTION: &str = "case.toml";

/// An incident of which the cause is known.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    /// Its name.
    pub(super) id: String,
    /// The texts, by their names in the folder.
    pub(super) inputs: Vec<String>,
    /// The right first answer.
    pub(super) cause: String,
    /// Answers that are as right.
    #[serde(default)]
    pub(super) accept: Vec<String>,
    /// Causes that are true too, but not the first.
    #[serde(default)]
    pub(super) secondary: Vec<String>,
    /// Processes, cards and jobs that are healthy.
    #[serde(default)]
    pub(super) must_not_touch: Vec<String>,
    /// Whether the texts alone prove the cause (`A`) or not (`B`).
    #[serde(default = "proved")]
    grade: String,
    /// What kind of texts they are.
    #[serde(default)]
    inputs_kind: String,
    /// Where it lies.
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

fn proved() -> String {
    "A".to_owned()
}

impl Case {
    /// Returns whether it counts: the texts prove the cause, and were written by tools.
    pub(super) fn counts(&self) -> bool {
        self.grade == "A" && self.inputs_kind != "prose"
    }
}

/// Reads every incident below a folder, in the order of their names. Folders without a description are passed over.
///
/// # Errors
/// Fails when there is none, or one is described in a way that cannot be understood.
pub(super) fn cases(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let entries = folder.read_dir().with_context(|| format!("cannot list `{}`", folder.display()))?;
    for entry in entries {
        let folder = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        if folder.join(DESCRIPTION).is_file() {
            cases.push(case(&folder)?);
        }
    }
    if cases.is_empty() {
        bail!("no folder with a `{DESCRIPTION}` in `{}`", folder.display());
    }
    cases.sort_by(|one, other| one.folder.cmp(&other.folder));
    Ok(cases)
}

fn case(folder: &Path) -> Result<Case> {
    let path = folder.join(DESCRIPTION);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut case: Case = toml::from_str(&text).with_context(|| format!("cannot use `{}`", path.display()))?;
    case.folder = std::path::absolute(folder).with_context(|| format!("where is `{}`", folder.display()))?;
    let causes = case.accept.iter().chain(&case.secondary).chain([&case.cause]);
    for cause in causes {
        if Cause::from_id(cause).is_none() {
            bail!("`{}`: `{cause}` is no cause", path.display());
        }
    }
    for input in &case.inputs {
        if !case.folder.join(input).exists() {
            bail!("`{}`: there is no `{input}`", path.display());
        }
    }
    Ok(case)
}
