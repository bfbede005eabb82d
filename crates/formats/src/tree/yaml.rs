//! The part of YAML that tools write: maps and rows by indentation, quoted, folded and block texts, small flow values.

use super::json::json;
use super::yaml_words::{
    is_head_of_block, key_and_value, plain_flow, unquoted, without_comment, without_tag,
};
use super::{DEPTH_MAX, Tree};

/// Reads lines of YAML; several documents and parts of documents become one value: maps are joined, and documents that
/// have a kind of their own stand in a row.
pub(crate) fn yaml<'line>(lines: impl IntoIterator<Item = &'line str>) -> Tree {
    let mut documents: Vec<Tree> = Vec::new();
    let mut own: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        let text = line.trim_end();
        if text == "---" || text == "..." || text.starts_with("--- ") {
            documents.extend(document(std::mem::take(&mut own)));
            continue;
        }
        let begin = text.trim_start();
        own.push((text.len() - begin.len(), begin));
    }
    documents.extend(document(own));
    if documents.len() > 1 {
        return Tree::List(documents);
    }
    documents.pop().unwrap_or_default()
}

fn document(lines: Vec<(usize, &str)>) -> Option<Tree> {
    let mut reader = Reader { lines, next: 0 };
    let mut tree = Tree::Nothing;
    while let Some((indent, _)) = reader.peek() {
        let before = reader.next;
        tree.absorb(reader.block(indent, 0));
        // What is no YAML is passed over.
        if reader.next == before {
            reader.next += 1;
        }
    }
    (tree != Tree::Nothing).then_some(tree)
}

struct Reader<'line> {
    /// Indentation and text of each line; blank lines have no text.
    lines: Vec<(usize, &'line str)>,
    next: usize,
}

impl<'line> Reader<'line> {
    /// Returns the next line that says something.
    fn peek(&mut self) -> Option<(usize, &'line str)> {
        while let Some((indent, text)) = self.lines.get(self.next).copied() {
            if !text.is_empty() && !text.starts_with('#') {
                return Some((indent, text));
            }
            self.next += 1;
        }
        None
    }

    /// Reads the map or row whose lines are indented so far.
    fn block(&mut self, indent: usize, depth: usize) -> Tree {
        if depth > DEPTH_MAX {
            return Tree::Nothing;
        }
        match self.peek() {
            Some((own, text)) if own == indent && is_entry_of_row(text) => self.row(indent, depth),
            Some((own, _)) if own == indent => self.map(indent, depth),
            _ => Tree::Nothing,
        }
    }

    fn row(&mut self, indent: usize, depth: usize) -> Tree {
        let mut values = Vec::new();
        while let Some((own, text)) = self.peek() {
            if own != indent || !is_entry_of_row(text) {
                break;
            }
            let inside = text[1..].trim_start();
            let deeper = indent + (text.len() - inside.len());
            if inside.is_empty() {
                self.next += 1;
                let value = match self.peek() {
                    Some((own, _)) if own > indent => self.block(own, depth + 1),
                    _ => Tree::Nothing,
                };
                values.push(value);
            } else if is_entry_of_row(inside) || key_and_value(inside).is_some() {
                // The entry goes on as if it stood alone, further to the right.
                self.lines[self.next] = (deeper, inside);
                let before = self.next;
                values.push(self.block(deeper, depth + 1));
                if self.next == before {
                    self.next += 1;
                }
            } else {
                self.next += 1;
                values.push(self.scalar(inside, indent));
            }
        }
        Tree::List(values)
    }

    fn map(&mut self, indent: usize, depth: usize) -> Tree {
        let mut entries = Vec::new();
        while let Some((own, text)) = self.peek() {
            if own != indent || is_entry_of_row(text) {
                break;
            }
            let Some((key, value)) = key_and_value(text) else {
                break;
            };
            self.next += 1;
            let value = if value.is_empty() { self.below(indent, depth) } else { self.scalar(value, indent) };
            entries.push((key, value));
        }
        if entries.is_empty() { Tree::Nothing } else { Tree::Map(entries) }
    }

    /// Reads what stands below a key without a value of its own.
    fn below(&mut self, indent: usize, depth: usize) -> Tree {
        match self.peek() {
            Some((own, _)) if own > indent => self.block(own, depth + 1),
            // A row may stand as far to the left as its key.
            Some((own, text)) if own == indent && is_entry_of_row(text) => self.row(indent, depth + 1),
            _ => Tree::Nothing,
        }
    }

    /// Reads a text that begins behind a key or dash; what is indented further belongs to it.
    fn scalar(&mut self, begin: &'line str, indent: usize) -> Tree {
        let begin = without_tag(begin);
        match begin.chars().next() {
            Some('|' | '>') if is_head_of_block(begin) => self.block_text(begin.starts_with('>'), indent),
            Some(quote @ ('"' | '\'')) => self.quoted(begin, quote, indent),
            Some('{' | '[') => self.flow(begin, indent),
            Some('*') => {
                self.skip_deeper(indent);
                Tree::Nothing
            }
            _ => {
                let mut text = without_comment(begin).to_owned();
                while let Some((own, more)) = self.peek() {
                    if own <= indent {
                        break;
                    }
                    self.next += 1;
                    text.push(' ');
                    text.push_str(more);
                }
                match text.as_str() {
                    "null" | "~" | "<nil>" => Tree::Nothing,
                    _ => Tree::Text(text),
                }
            }
        }
    }

    fn skip_deeper(&mut self, indent: usize) {
        while self.peek().is_some_and(|(own, _)| own > indent) {
            self.next += 1;
        }
    }

    /// Reads the lines of a block text.
    fn block_text(&mut self, is_folded: bool, indent: usize) -> Tree {
        let mut lines: Vec<&str> = Vec::new();
        while let Some((own, text)) = self.lines.get(self.next).copied() {
            if own <= indent && !text.is_empty() {
                break;
            }
            lines.push(text);
            self.next += 1;
        }
        Tree::Text(lines.join(if is_folded { " " } else { "\n" }).trim_end().to_owned())
    }

    /// Reads a text in quotes, over several lines if need be; one that is never closed ends with its first line.
    fn quoted(&mut self, begin: &'line str, quote: char, indent: usize) -> Tree {
        let mut whole = begin[1..].to_owned();
        let first = self.next;
        loop {
            if let Some(text) = unquoted(&whole, quote) {
                return Tree::Text(text);
            }
            match self.lines.get(self.next).copied() {
                Some((own, text)) if own > indent || text.is_empty() => {
                    // An escaped line end leaves no blank.
                    if quote == '"' && whole.ends_with('\\') {
                        whole.pop();
                    } else {
                        whole.push(' ');
                    }
                    whole.push_str(text);
                    self.next += 1;
                }
                _ => break,
            }
        }
        self.next = first;
        self.skip_deeper(indent);
        Tree::Text(begin[1..].to_owned())
    }

    /// Reads `{…}` or `[…]`: JSON, or the same with plain words.
    fn flow(&mut self, begin: &'line str, indent: usize) -> Tree {
        let mut whole = begin.to_owned();
        while let Some((own, more)) = self.peek() {
            if own <= indent {
                break;
            }
            whole.push(' ');
            whole.push_str(more);
            self.next += 1;
        }
        let read = json(&whole);
        if read.is_whole {
            return read.tree;
        }
        plain_flow(&whole).unwrap_or(Tree::Text(whole))
    }
}

fn is_entry_of_row(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::yaml;

    fn read(text: &str) -> Tree {
        yaml(text.lines())
    }

    #[test]
    fn what_tools_write_is_read() {
        let tree = read(
            "# edited\napiVersion: v1\nitems:\n- kind: Pod\n  spec:\n    args:\n    - --a\n    - 'it''s'\n    nodeSelector: {}\n  \
             status:\n    conditions:\n    - message: '0/3 nodes are available: 1 node(s) had taint {a:\n        }, that the \
             pod didn''t tolerate.'\n      type: PodScheduled\n    empty:\n    plain: a text that goes\n      on here: and \
             there\n    block: |\n      one\n        two\n\n      three\n- kind: Node\n  metadata: {name: n1, x: \"2\"}\nlast: \"a\\tb\"\n",
        );
        assert_eq!(tree.get("apiVersion").text(), Some("v1"));
        let items = tree.get("items").list();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].at(&["spec", "args"]).list()[1].text(), Some("it's"));
        let status = items[0].get("status");
        let condition = &status.get("conditions").list()[0];
        assert_eq!(
            condition.get("message").text(),
            Some("0/3 nodes are available: 1 node(s) had taint {a: }, that the pod didn't tolerate.")
        );
        assert_eq!(condition.get("type").text(), Some("PodScheduled"));
        assert_eq!(status.get("empty"), &Tree::Nothing);
        assert_eq!(status.get("plain").text(), Some("a text that goes on here: and there"));
        assert_eq!(status.get("block").text(), Some("one\ntwo\n\nthree"));
        assert_eq!(items[1].at(&["metadata", "name"]).text(), Some("n1"));
        assert_eq!(tree.get("last").text(), Some("a\tb"));
    }

    #[test]
    fn parts_are_joined() {
        let tree = read(
            "    resources:\n      limits:\n        nvidia.com/gpu: \"1\"\n    restartCount: 0\n  qosClass: Burstable\n",
        );
        assert_eq!(tree.at(&["resources", "limits", "nvidia.com/gpu"]).whole(), Some(1));
        assert_eq!(tree.get("qosClass").text(), Some("Burstable"));
    }

    #[test]
    fn rows_of_rows_and_documents() {
        let tree = read("a: 1\n---\n- - x\n  - y\n-\n  b: 2\n- \n");
        let documents = tree.list();
        assert_eq!(documents[0].get("a").whole(), Some(1));
        let rows = documents[1].list();
        assert_eq!(rows[0].list().len(), 2);
        assert_eq!(rows[1].get("b").whole(), Some(2));
        assert_eq!(rows[2], Tree::Nothing);
    }

    #[test]
    fn odd_keys_and_marks() {
        let tree = read(
            "f:status:\n  k:{\"type\":\"Ready\"}:\n    .: {}\n\"quoted: key\": v # note\nalias: *x\ntagged: !!str 5\nopen: 'never closed\nnext: 1\n",
        );
        assert_eq!(tree.at(&["f:status", "k:{\"type\":\"Ready\"}", "."]), &Tree::Map(Vec::new()));
        assert_eq!(tree.get("quoted: key").text(), Some("v"));
        assert_eq!((tree.get("alias"), tree.get("tagged").whole()), (&Tree::Nothing, Some(5)));
        assert_eq!((tree.get("open").text(), tree.get("next").whole()), (Some("never closed"), Some(1)));
    }

    #[test]
    fn depth_is_limited_and_nothing_loops() {
        let deep: Vec<String> = (0..5000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let deep = deep.concat();
        read(&deep);
        read(&"- ".repeat(20_000));
        read(":\n::\n - \n- :\n  - - -\n\"\n'\n{\n[\n|\n>\n");
    }
}
