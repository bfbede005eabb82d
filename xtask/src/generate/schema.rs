//! The JSON Schemas of what other programs read.

use anyhow::{Context as _, Result};
use gpuwhy_model::report::{report_schema, sample_schema};

use super::Generated;

/// Where the schemas stand.
pub(super) const FOLDER: &str = "docs/schema";

/// Returns the schema of the report and that of a recording's line.
pub(super) fn files() -> Result<Vec<Generated>> {
    let schemas = [("gpuwhy.report.1.json", report_schema()), ("gpuwhy.sample.1.json", sample_schema())];
    let mut files = Vec::new();
    for (name, schema) in schemas {
        let mut text = serde_json::to_string_pretty(&schema).context("a schema is no JSON")?;
        text.push('\n');
        files.push(Generated { path: format!("{FOLDER}/{name}"), text });
    }
    Ok(files)
}
