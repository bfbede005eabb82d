//! The page of a cause for a terminal: headings stand out, paragraphs and lists are broken to the width.

use super::page::Page;
use super::{Layout, WIDTH_MIN};

/// Longer lines are hard to read.
const WIDTH_MAX: usize = 100;

/// Returns a page, which is Markdown of headings, paragraphs and flat lists, for a person at a terminal.
pub fn explanation(markdown: &str, layout: &Layout) -> String {
    let mut page = Page::new(layout.width.clamp(WIDTH_MIN, WIDTH_MAX), layout.colour);
    for line in markdown.lines() {
        if let Some(item) = line.strip_prefix("- ") {
            page.labelled(0, "- ", item);
        } else if line.starts_with('#') {
            let heading = page.paint.strong(line.trim_start_matches('#').trim_start());
            page.line(&heading);
        } else if line.trim().is_empty() {
            page.gap();
        } else {
            page.paragraph(0, line);
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::{Layout, explanation};

    #[test]
    fn pages_are_broken_to_the_width() {
        let long = "word ".repeat(30);
        let markdown = format!("# a-cause\n\n## What you see\n{long}\n\n- {long}\n- short\n");
        let shown = explanation(&markdown, &Layout { width: 80, colour: false });
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..3], ["a-cause", "", "What you see"]);
        assert!(lines.iter().all(|line| line.len() <= 80), "{shown}");
        assert!(shown.contains("\n- word word"), "{shown}");
        assert!(shown.contains("\n  word word"), "further lines of an item stand below its text: {shown}");
        assert!(shown.ends_with("\n- short\n"), "{shown}");
    }
}
