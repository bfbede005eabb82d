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
            let _ = writeln!(index, "- [`{cause}`]({name}): {}", first_sentence(page));
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

/// The first sentence below the page's first section heading: what a person sees.
fn first_sentence(page: &str) -> &str {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("## ")).skip(1);
    let paragraph = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
    let end =
        [". ", "。"].iter().filter_map(|stop| Some(paragraph.find(stop)? + stop.trim_end().len())).min();
    &paragraph[..end.unwrap_or(paragraph.len())]
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_page_is_told_by_its_first_sentence() {
        assert_eq!(first_sentence("# x\n\n## What you see\n\nOne. Two.\n"), "One.");
        assert_eq!(first_sentence("# x\n## 现象\n一。二。\n"), "一。");
        assert_eq!(first_sentence("# x\n## What you see\nOnly one\n"), "Only one");
    }
}
