//! The pages of all causes as files, with an index in each language.

use std::fmt::Write as _;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::text::Language;

use super::Generated;

/// Where the pages stand.
pub(super) const FOLDER: &str = "docs/rules";

/// Returns one file for each page, and one index for each language.
pub(super) fn files() -> Vec<Generated> {
    let mut files = Vec::new();
    for language in Language::ALL {
        let mut index = format!("{}\n\n", index_title(*language));
        for cause in Cause::ALL {
            let Some(page) = gpuwhy_diagnose::page(*cause, *language) else {
                continue;
            };
            let name = format!("{cause}.{}.md", language.tag());
            // Writing to a string cannot fail.
            let _ = writeln!(index, "- [`{cause}`]({name}): {}", title_of(page));
            files.push(Generated { path: format!("{FOLDER}/{name}"), text: page.to_owned() });
        }
        files.push(Generated { path: format!("{FOLDER}/index.{}.md", language.tag()), text: index });
    }
    files
}

fn index_title(language: Language) -> &'static str {
    match language {
        Language::English => "# Causes that this version names",
        Language::SimplifiedChinese => "# 本版本能给出的原因",
    }
}

/// The words of the page's first heading.
fn title_of(page: &str) -> &str {
    let first = page.lines().find(|line| line.starts_with("# ")).unwrap_or_default();
    first.trim_start_matches("# ")
}
