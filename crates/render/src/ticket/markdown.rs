//! A document as Markdown, in which no foreign name can become markup.

use std::fmt::Write as _;

use super::outline::{Part, Piece};

/// Characters that mean something inside a line.
const SPECIAL: &str = "\\`*_[]<>|~#&$";

/// Writes a document. Writing to a string cannot fail.
pub(super) fn written(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        match part {
            Part::Heading(level, pieces) => {
                let _ = writeln!(text, "{} {}", "#".repeat(usize::from(*level)), inline(pieces));
            }
            Part::Paragraph(pieces) => {
                let _ = writeln!(text, "{}", at_start(&inline(pieces)));
            }
            Part::List(items) => {
                for item in items {
                    let _ = writeln!(text, "- {}", at_start(&inline(item)));
                }
            }
            Part::Command(command) => {
                let fence = "`".repeat(3.max(longest_run(command) + 1));
                let _ = writeln!(text, "{fence}sh\n{command}\n{fence}");
            }
            Part::Table(rows) => text.push_str(&table(rows)),
        }
    }
    text
}

fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().map(|cell| if cell.is_empty() { "-".to_owned() } else { escaped(cell) }).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if place == 0 {
            let _ = writeln!(text, "|{}", " --- |".repeat(row.len()));
        }
    }
    text
}

fn inline(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(text) => escaped(text),
            Piece::Strong(text) => format!("**{}**", escaped(text)),
            Piece::Code(text) => code(text),
        })
        .collect()
}

fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        if SPECIAL.contains(character) {
            written.push('\\');
        }
        written.push(character);
    }
    written
}

/// Returns a name between more marks than it holds.
fn code(text: &str) -> String {
    let marks = "`".repeat(longest_run(text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{marks}{blank}{text}{blank}{marks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Keeps a line from becoming an item of a list.
fn at_start(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = digits > 0 && line[digits..].starts_with(['.', ')']);
    if line.starts_with(['-', '+', '=']) {
        format!("\\{line}")
    } else if is_number {
        format!("{}\\{}", &line[..digits], &line[digits..])
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{Part, Piece, plain};
    use super::written;

    #[test]
    fn foreign_names_stay_names() {
        let text = written(&[
            Part::Heading(2, plain("a #b *c*")),
            Part::Paragraph(plain("1. <script>x</script> [l](http://x)")),
            Part::List(vec![
                vec![Piece::Code("a`b".to_owned()), Piece::Plain(" - c_d_".to_owned())],
                plain("- x"),
            ]),
            Part::Command("echo ```".to_owned()),
            Part::Table(vec![vec!["a".to_owned(), "b".to_owned()], vec!["x|y".to_owned(), String::new()]]),
        ]);
        assert_eq!(
            text,
            "## a \\#b \\*c\\*\n\n1\\. \\<script\\>x\\</script\\> \\[l\\](http://x)\n\n\
             - ``a`b`` - c\\_d\\_\n- \\- x\n\n````sh\necho ```\n````\n\n| a | b |\n| --- | --- |\n| x\\|y | - |\n"
        );
    }
}
