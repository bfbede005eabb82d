//! JSON, whole or cut at either end.

use super::{DEPTH_MAX, Tree};

/// What was read of a text that begins with JSON.
pub(crate) struct Read {
    /// What it says.
    pub(crate) tree: Tree,
    /// How many bytes it took.
    pub(crate) bytes: usize,
    /// Whether it came to its own end.
    pub(crate) is_whole: bool,
}

/// Reads JSON that begins the text: one value, or members of an object whose begin is cut off.
///
/// Where it is cut or damaged, what is whole before that counts.
pub(crate) fn json(text: &str) -> Read {
    let mut reader = Reader { text, place: 0, is_damaged: false };
    reader.blanks();
    if matches!(reader.next(), Some('{' | '[')) {
        let tree = reader.value(0);
        return Read { tree, bytes: reader.place, is_whole: !reader.is_damaged };
    }
    let tree = reader.loose_members();
    Read { tree, bytes: reader.place, is_whole: false }
}

/// Returns over how many lines a value goes that the first of them begins: to its closing bracket, or to the last line.
pub(crate) fn lines_of_json<'line>(lines: impl Iterator<Item = &'line str>) -> usize {
    let mut depth = 0_usize;
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut number = 0;
    for line in lines {
        number += 1;
        for byte in line.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_quoted => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                b'{' | b'[' if !is_quoted => depth += 1,
                b'}' | b']' if !is_quoted => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return number;
                    }
                }
                _ => {}
            }
        }
    }
    number
}

struct Reader<'text> {
    text: &'text str,
    place: usize,
    /// Whether something was not as it should be: the rest is left alone.
    is_damaged: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.place += rest.len() - rest.trim_start().len();
    }

    /// Takes a mark, if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        self.blanks();
        let comes = self.next() == Some(mark);
        if comes {
            self.place += mark.len_utf8();
        }
        comes
    }

    fn value(&mut self, depth: usize) -> Tree {
        self.blanks();
        match self.next() {
            _ if depth > DEPTH_MAX => self.damaged(),
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string().map_or(Tree::Nothing, Tree::Text),
            Some(first) if first.is_ascii_alphanumeric() || first == '-' => self.word(),
            _ => self.damaged(),
        }
    }

    fn damaged(&mut self) -> Tree {
        self.is_damaged = true;
        Tree::Nothing
    }

    fn object(&mut self, depth: usize) -> Tree {
        self.takes('{');
        let mut entries = Vec::new();
        while !self.is_damaged && !self.takes('}') {
            let Some(entry) = self.member(depth) else {
                self.is_damaged = true;
                break;
            };
            entries.push(entry);
            if !self.takes(',') {
                self.is_damaged |= !self.takes('}');
                break;
            }
        }
        Tree::Map(entries)
    }

    fn member(&mut self, depth: usize) -> Option<(String, Tree)> {
        self.blanks();
        let name = (self.next() == Some('"')).then(|| self.string())??;
        self.takes(':').then(|| (name, self.value(depth + 1)))
    }

    fn array(&mut self, depth: usize) -> Tree {
        self.takes('[');
        let mut values = Vec::new();
        while !self.is_damaged && !self.takes(']') {
            let value = self.value(depth + 1);
            if !self.is_damaged || value != Tree::Nothing {
                values.push(value);
            }
            if self.is_damaged {
                break;
            }
            if !self.takes(',') {
                self.is_damaged |= !self.takes(']');
                break;
            }
        }
        Tree::List(values)
    }

    /// Reads a string; a line break inside is the terminal's.
    fn string(&mut self) -> Option<String> {
        self.takes('"');
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        let mut end = None;
        while let Some((place, character)) = characters.next() {
            match character {
                '"' => {
                    end = Some(place + 1);
                    break;
                }
                '\\' => text.push(escaped(&mut characters)?),
                '\n' | '\r' => {}
                other => text.push(other),
            }
        }
        if end.is_none() {
            self.is_damaged = true;
        }
        self.place += end?;
        Some(text)
    }

    /// Reads a number, true, false or null.
    fn word(&mut self) -> Tree {
        let rest = self.rest();
        let is_of_word = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
        let length = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
        let word = rest[..length].to_owned();
        self.place += length;
        match word.as_str() {
            "null" => Tree::Nothing,
            "true" | "false" => Tree::Text(word),
            _ if word.parse::<f64>().is_ok() => Tree::Text(word),
            _ => self.damaged(),
        }
    }

    /// Reads members whose object begins above the text; ends of objects that are not there are passed over.
    fn loose_members(&mut self) -> Tree {
        let mut entries = Vec::new();
        loop {
            while ['}', ']', ','].into_iter().any(|mark| self.takes(mark)) {}
            let begin = self.place;
            let is_damaged = std::mem::take(&mut self.is_damaged);
            let Some(entry) = (!is_damaged).then(|| self.member(0)).flatten() else {
                self.place = begin;
                break;
            };
            entries.push(entry);
        }
        let taken = self.text.get(..self.place).unwrap_or_default().trim_end().len();
        self.place = taken;
        if entries.is_empty() { Tree::Nothing } else { Tree::Map(entries) }
    }
}

/// Reads what stands behind a backslash.
fn escaped(characters: &mut std::str::CharIndices<'_>) -> Option<char> {
    let (_, character) = characters.next()?;
    Some(match character {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' | 'f' => ' ',
        'u' => {
            let code = characters.by_ref().take(4).map(|(_, digit)| digit).collect::<String>();
            u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::{json, lines_of_json};

    fn text(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }

    #[test]
    fn whole_documents_are_read() {
        let read = json(r#"{"a": {"b": [1, -2.5e3, true, null, "x\"\u00e9\n"]}, "c": ""} and more"#);
        assert!(read.is_whole);
        assert_eq!(
            &r#"{"a": {"b": [1, -2.5e3, true, null, "x\"\u00e9\n"]}, "c": ""} and more"#[read.bytes..],
            " and more"
        );
        let values = [text("1"), text("-2.5e3"), text("true"), Tree::Nothing, text("x\"é\n")];
        assert_eq!(read.tree.at(&["a", "b"]).list(), values);
        assert_eq!(read.tree.get("c").text(), None);
    }

    #[test]
    fn what_is_whole_before_a_cut_counts() {
        let read = json("{\"a\": 1, \"b\": {\"c\": \"2\", \"d\": \"unfin");
        assert!(!read.is_whole);
        assert_eq!((read.tree.get("a").whole(), read.tree.at(&["b", "c"]).whole()), (Some(1), Some(2)));
        let read = json("[{\"a\": 1}, {\"b\": 2,\n!");
        assert_eq!(read.tree.list().len(), 2);
        assert_eq!(read.tree.list()[1].get("b").whole(), Some(2));
    }

    #[test]
    fn members_without_their_begin_are_read() {
        let lines = "\"a\": 1,\n   \"b\": { \"c\": [1] }\n  },\n \"d\": \"x\"\n }\n]\nbash$ ";
        let read = json(lines);
        assert_eq!(read.tree.at(&["b", "c"]).list(), [text("1")]);
        assert_eq!((read.tree.get("d").text(), &lines[read.bytes..]), (Some("x"), "\nbash$ "));
        assert_eq!(json("hello").tree, Tree::Nothing);
        assert_eq!(json("\"hello\" said").bytes, 0);
    }

    #[test]
    fn the_end_of_a_value_is_found() {
        let lines = ["{\"a\": \"}\\\"\",", " \"b\": [", "]", "}", "more"];
        assert_eq!(lines_of_json(lines.into_iter()), 4);
        assert_eq!(lines_of_json(["[{", "}"].into_iter()), 2);
        assert_eq!(lines_of_json(["}", "}"].into_iter()), 1);
    }

    #[test]
    fn depth_is_limited() {
        let deep = "[".repeat(100_000);
        assert!(!json(&deep).is_whole);
    }
}
