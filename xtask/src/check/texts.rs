//! The words of all packages together: complete in every language, and no id given twice.

use anyhow::{Context as _, Result};
use gpuwhy_model::text::Catalogue;

/// Joins the words of `render` and `diagnose` as the program does.
pub(super) fn complete() -> Result<()> {
    let files = gpuwhy_render::TEXTS.iter().chain(gpuwhy_diagnose::TEXTS).copied();
    let catalogue = Catalogue::join(files).context("the words do not fit together")?;
    anyhow::ensure!(catalogue.ids().next().is_some(), "there are no words at all");
    Ok(())
}
