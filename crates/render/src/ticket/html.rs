//! A document as HTML that loads nothing and runs nothing; every foreign character is escaped.

use gpuwhy_model::text::Language;

use super::outline::{Part, Piece};

/// A browser is told to load and run nothing, whatever the text holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#1b1f24;background:#fff}h1{font-size:1.5rem}h2{font-size:1.2rem;border-bottom:1px solid #d0d7de}\
h3{font-size:1.05rem}code,pre{font-family:ui-monospace,monospace;background:#f3f4f6;border-radius:4px}\
code{padding:.1em .3em}pre{padding:.7em;overflow:auto}table{border-collapse:collapse}\
th,td{border:1px solid #d0d7de;padding:.3em .6em;text-align:left}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}code,pre{background:#1f2630}\
h2,th,td{border-color:#3d444d}}";

/// Writes a document.
pub(super) fn written(parts: &[Part], language: Language) -> String {
    let title = parts.iter().find_map(|part| match part {
        Part::Heading(1, pieces) => Some(pieces.iter().map(words).collect::<String>()),
        _ => None,
    });
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n",
        language.tag(),
        escaped(&title.unwrap_or_default()),
    );
    for part in parts {
        text.push_str(&of_part(part));
        text.push('\n');
    }
    text.push_str("</body>\n</html>\n");
    text
}

fn of_part(part: &Part) -> String {
    match part {
        Part::Heading(level, pieces) => format!("<h{level}>{}</h{level}>", inline(pieces)),
        Part::Paragraph(pieces) => format!("<p>{}</p>", inline(pieces)),
        Part::List(items) => {
            let items: Vec<String> =
                items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
            let items = items.concat();
            format!("<ul>\n{items}</ul>")
        }
        Part::Command(command) => format!("<pre>{}</pre>", escaped(command)),
        Part::Table(rows) => {
            let row = |(place, row): (usize, &Vec<String>)| {
                let tag = if place == 0 { "th" } else { "td" };
                let cells: Vec<String> =
                    row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
                format!("<tr>{}</tr>\n", cells.concat())
            };
            format!("<table>\n{}</table>", rows.iter().enumerate().map(row).collect::<String>())
        }
    }
}

fn inline(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(text) => escaped(text),
            Piece::Strong(text) => format!("<strong>{}</strong>", escaped(text)),
            Piece::Code(text) => format!("<code>{}</code>", escaped(text)),
        })
        .collect()
}

fn words(piece: &Piece) -> &str {
    match piece {
        Piece::Plain(text) | Piece::Strong(text) | Piece::Code(text) => text,
    }
}

fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            plain => written.push(plain),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::text::Language;

    use super::super::outline::{Part, Piece, plain};
    use super::written;

    #[test]
    fn foreign_names_stay_names() {
        let evil = "</p><script>alert('x')</script>\"&";
        let text = written(
            &[
                Part::Heading(1, plain(evil)),
                Part::Paragraph(plain(evil)),
                Part::List(vec![vec![Piece::Code(evil.to_owned()), Piece::Strong(evil.to_owned())]]),
                Part::Command(evil.to_owned()),
                Part::Table(vec![vec![evil.to_owned()], vec![evil.to_owned()]]),
            ],
            Language::SimplifiedChinese,
        );
        assert!(!text.contains("<script") && !text.contains("alert('"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 8, "{text}");
        assert!(text.starts_with("<!DOCTYPE html>\n<html lang=\"zh-CN\">"), "{text}");
    }
}
