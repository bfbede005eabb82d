//! Every package of the workspace takes the workspace's lints.

use anyhow::{Context as _, Result};

use crate::metadata::Metadata;

/// Returns the packages whose `Cargo.toml` does not say `[lints] workspace = true`.
pub(super) fn without_our_lints(metadata: &Metadata) -> Result<Vec<String>> {
    let mut without = Vec::new();
    for package in metadata.members() {
        let path = &package.manifest_path;
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if !takes_our_lints(&text).with_context(|| format!("`{}` is no TOML", path.display()))? {
            without.push(format!("{}: no `[lints] workspace = true`", package.name));
        }
    }
    Ok(without)
}

fn takes_our_lints(manifest: &str) -> Result<bool> {
    let table: toml::Table = toml::from_str(manifest)?;
    let workspace = table.get("lints").and_then(|lints| lints.get("workspace"));
    Ok(workspace.and_then(toml::Value::as_bool) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::takes_our_lints;

    #[test]
    fn own_or_missing_lints_are_noticed() {
        assert!(takes_our_lints("[lints]\nworkspace = true").unwrap());
        assert!(!takes_our_lints("[package]\nname = 'x'").unwrap());
        assert!(!takes_our_lints("[lints.rust]\nunsafe_code = 'allow'").unwrap());
    }
}
