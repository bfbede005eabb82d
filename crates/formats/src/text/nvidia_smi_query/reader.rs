//! Goes through the lines of one output.

use gpuwhy_model::sample::NvmlSample;

use super::extent::{Begin, is_foreign, is_indented, width};
use super::line::{Shape, indentation, shape};
use super::names::{ROOT, is_telling, name_within};
use super::tree::{Label, Tree};
use crate::nvidia_smi_xml::Element;
use crate::paste::Line;
use crate::text::Remark;

/// So many lines that are not understood may stand inside an output.
const UNKNOWN_MAX: usize = 3;
/// So many blank lines.
const BLANK_MAX: usize = 3;
/// A narrower text was not wrapped by a terminal.
const WIDTH_MIN: usize = 40;
/// How the values that cannot be the begin of others end.
const WHOLE_ENDS: &[&str] = &[
    "N/A", "None", "Yes", "Enabled", "Disabled", "Active", " MiB", " W", " MHz", " C", " %", " KB/s", " us",
    " mV", "bank(s)", ".0",
];

/// What one output says.
pub(super) struct Output {
    pub(super) root: Element,
    pub(super) begin: Begin,
    /// How many lines it takes.
    pub(super) lines: usize,
    pub(super) remarks: Vec<Remark>,
    /// The text ends while processes of the last card are listed: there may be more.
    pub(super) has_open_list: bool,
    /// The text ends with it.
    pub(super) is_last: bool,
}

struct Reader {
    tree: Tree,
    taken: usize,
    unknown: Vec<u64>,
    blank: usize,
    /// The column of the newest colon.
    column: Option<usize>,
    width: usize,
    remarks: Vec<Remark>,
    is_commanded: bool,
}

/// Reads the output that begins with the first of these lines.
pub(super) fn output(lines: &[Line<'_>], begin: Begin, is_commanded: bool) -> Output {
    let first = lines.first().map_or(1, |line| line.number);
    let mut reader = Reader {
        tree: Tree::new(first, is_indented(lines)),
        taken: 0,
        unknown: Vec::new(),
        blank: 0,
        column: None,
        width: width(lines),
        remarks: Vec::new(),
        is_commanded,
    };
    for place in 0..lines.len() {
        if !reader.take(lines, place) {
            break;
        }
    }
    let is_last = reader.taken == lines.len();
    let mut has_open_list = false;
    if is_last && let Some(line) = lines.last() {
        has_open_list = reader.tree.is_in_processes();
        if let Shape::Value { value, .. } = shape(&line.text)
            && !WHOLE_ENDS.iter().any(|end| value.ends_with(end.trim_start()) && value.contains(end))
        {
            reader.tree.forget_newest();
        }
    }
    Output {
        root: reader.tree.finish(),
        begin,
        lines: reader.taken,
        remarks: reader.remarks,
        has_open_list,
        is_last,
    }
}

impl Reader {
    /// Takes a line; returns whether the output may go on behind it.
    fn take(&mut self, lines: &[Line<'_>], place: usize) -> bool {
        let line = &lines[place];
        if place > 0 && is_foreign(&line.text) {
            return false;
        }
        let indent = indentation(&line.text);
        match shape(&line.text) {
            Shape::Banner => {
                if place > 0 {
                    return false;
                }
                self.anchor(place);
            }
            Shape::Card(address) => {
                if self.tree.cards() >= NvmlSample::CARDS_MAX as usize {
                    return false;
                }
                self.tree.add_card(address, indent, line.number);
                self.anchor(place);
            }
            Shape::Value { plain, value, column, is_aligned } => {
                // The heading of the next output.
                if name_within(ROOT, &plain).is_some() && self.tree.cards() > 0 {
                    return false;
                }
                let is_trusted = is_aligned || self.is_commanded || is_telling(&plain);
                let label = Label { plain: &plain, value, indent, line: line.number };
                let is_known = self.tree.add_value(&label, is_trusted);
                let is_below = is_aligned && self.column == Some(column);
                if !is_known && !is_below {
                    return self.idle(line.number);
                }
                self.column = Some(column);
                self.anchor(place);
            }
            Shape::Heading(plain) if opens(lines, place) => {
                if self.tree.add_heading(&plain, indent, line.number) {
                    self.anchor(place);
                    return true;
                }
                // A section of a later driver: what stands in it belongs to it.
                self.blank += 1;
                return self.taken > 0 && self.blank <= BLANK_MAX;
            }
            Shape::Heading(_) | Shape::Other => {
                if line.text.trim() == "--" {
                    return self.blank();
                }
                if !self.goes_on(lines, place) {
                    return self.idle(line.number);
                }
                self.anchor(place);
            }
            Shape::Blank => return self.blank(),
        }
        true
    }

    /// Takes everything up to a line that belongs to the output.
    fn anchor(&mut self, place: usize) {
        let lines = std::mem::take(&mut self.unknown).into_iter();
        self.remarks.extend(lines.map(|line| Remark::NotUnderstood { line }));
        self.blank = 0;
        self.taken = place + 1;
    }

    fn idle(&mut self, line: u64) -> bool {
        self.unknown.push(line);
        self.unknown.len() <= UNKNOWN_MAX && self.taken > 0
    }

    fn blank(&mut self) -> bool {
        self.blank += 1;
        self.blank <= BLANK_MAX && self.taken > 0
    }

    /// Returns whether a line is the rest of a value that was wrapped at the line's end.
    fn goes_on(&mut self, lines: &[Line<'_>], place: usize) -> bool {
        let text = &lines[place].text;
        let is_behind_value = place > 0 && self.taken == place;
        let before = place.checked_sub(1).map_or(0, |before| lines[before].text.chars().count());
        let is_rest = before == self.width && self.width >= WIDTH_MIN && indentation(text) == 0;
        is_behind_value && is_rest && text.chars().count() < self.width && self.tree.go_on(text.trim())
    }
}

/// Returns whether a heading has something below it.
fn opens(lines: &[Line<'_>], place: usize) -> bool {
    lines
        .get(place + 1)
        .is_some_and(|next| matches!(shape(&next.text), Shape::Value { .. } | Shape::Heading(_)))
}
