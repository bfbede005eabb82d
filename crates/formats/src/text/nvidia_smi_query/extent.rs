//! Where an output begins, and how its lines stand to each other.

use super::line::{Shape, indentation, shape};
use super::names::{CARD, ROOT, is_known, is_telling, name_within, only_section};
use crate::paste::{Line, command_after_prompt};

/// So many lines of an output show whether indentation was lost, and how wide it is.
const LINES_LOOKED_AT: usize = 400;

/// The cards begin so many lines below the heading of an output at most.
const HEAD_LINES: usize = 12;

/// So many headings stand above a value.
const HEADINGS_MAX: usize = 3;

/// How an output begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// With its heading.
    Heading,
    /// With a card or a section: what stands above is missing.
    Inside,
    /// With single values that somebody picked out.
    Values,
}

/// Returns how an output begins at the first of these lines; none where none does.
pub(super) fn begin(lines: &[Line<'_>], is_commanded: bool) -> Option<Begin> {
    let first = lines.first()?;
    match shape(&first.text) {
        Shape::Banner => Some(Begin::Heading),
        Shape::Card(_) => {
            let below = lines.iter().skip(1).take(HEADINGS_MAX).map(|line| shape(&line.text));
            below.into_iter().any(|shape| is_of_card(&shape)).then_some(Begin::Inside)
        }
        Shape::Value { plain, value, is_aligned, .. } => {
            if name_within(ROOT, &plain).is_some() && (is_aligned || is_commanded) && has_cards(&lines[1..]) {
                return Some(Begin::Heading);
            }
            let is_own = is_telling(&plain) && is_aligned || is_commanded && is_known(&plain);
            (is_own && only_section(&plain, value).is_some()).then_some(Begin::Values)
        }
        Shape::Heading(plain) => is_section_of_values(&plain, &lines[1..]).then_some(Begin::Inside),
        Shape::Blank | Shape::Other => None,
    }
}

fn is_of_card(shape: &Shape<'_>) -> bool {
    match shape {
        Shape::Value { plain, .. } | Shape::Heading(plain) => name_within(CARD, plain).is_some(),
        _ => false,
    }
}

/// Returns whether cards begin within the next lines.
fn has_cards(lines: &[Line<'_>]) -> bool {
    lines.iter().take(HEAD_LINES).any(|line| match shape(&line.text) {
        Shape::Card(_) => true,
        Shape::Value { plain, .. } => plain == "attached_gpus" || plain == "attached_units",
        _ => false,
    })
}

/// Returns whether values of a section stand below its heading.
fn is_section_of_values(heading: &str, below: &[Line<'_>]) -> bool {
    let Some(mut name) = only_section(heading, "").and_then(|section| name_within(section, heading)) else {
        return false;
    };
    for line in below.iter().take(HEADINGS_MAX) {
        match shape(&line.text) {
            Shape::Value { plain, is_aligned, .. } => {
                return name_within(name, &plain).is_some() && (is_aligned || is_telling(&plain));
            }
            Shape::Heading(plain) => match name_within(name, &plain) {
                Some(inner) => name = inner,
                None => return false,
            },
            _ => return false,
        }
    }
    false
}

/// Returns whether a line ends every output: it belongs to a shell or to another tool.
pub(super) fn is_foreign(text: &str) -> bool {
    let inside = text.trim_start();
    inside.starts_with(['|', '+', '<', '#', '{', '╒'])
        || inside.contains("Unable to determine the device handle")
        || inside.contains("NVRM")
        || inside.starts_with("[ ")
        || command_after_prompt(text).is_some()
}

/// Returns whether indentation tells what stands in what: it may have been lost on the way.
pub(super) fn is_indented(lines: &[Line<'_>]) -> bool {
    let looked_at = &lines[..lines.len().min(LINES_LOOKED_AT)];
    looked_at.windows(2).any(|pair| {
        let opens = matches!(shape(&pair[0].text), Shape::Heading(_) | Shape::Card(_));
        let holds = matches!(shape(&pair[1].text), Shape::Value { .. } | Shape::Heading(_));
        opens && holds && indentation(&pair[1].text) > indentation(&pair[0].text)
    })
}

/// Returns how wide the longest line is: there lines may have been wrapped.
pub(super) fn width(lines: &[Line<'_>]) -> usize {
    lines.iter().take(LINES_LOOKED_AT).map(|line| line.text.chars().count()).max().unwrap_or(0)
}
