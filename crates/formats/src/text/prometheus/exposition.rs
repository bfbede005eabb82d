//! One line of metrics in the text form of Prometheus and OpenMetrics.

use super::dcgm_names::noted;

/// What one line is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written<'line> {
    /// `# HELP name text`
    Help { name: &'line str, text: &'line str },
    /// `# TYPE name kind`
    Type { name: &'line str, kind: &'line str },
    /// `# UNIT …`, `# EOF`, or any other comment.
    Comment,
    /// One value.
    Value(Value),
}

/// One value with its name and labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) number: f64,
    /// Its own time, in seconds since 1970.
    pub(super) at_s: Option<f64>,
}

/// No metric has more labels.
const LABELS_MAX: usize = 64;

/// No time of a metric lies before 1973.
const TIMES_FROM: f64 = 1e8;
/// Times of today in milliseconds are larger; in seconds they are not.
const MILLISECONDS_FROM: f64 = 1e11;

impl Value {
    /// Returns a label that is not empty.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let labels = self.labels.iter();
        labels.filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).find(|value| !value.is_empty())
    }

    /// Returns the first of these labels that is there and not empty.
    pub(super) fn any_label(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.label(name))
    }

    /// Returns what tells this series from others.
    pub(super) fn key(&self) -> String {
        let mut labels: Vec<&(String, String)> = self.labels.iter().collect();
        labels.sort();
        let mut key = self.name.clone();
        for (name, value) in labels {
            key.push('\u{1}');
            key.push_str(name);
            key.push('\u{2}');
            key.push_str(value);
        }
        key
    }
}

/// Reads a line; none when it is no line of metrics.
pub(super) fn written(text: &str) -> Option<Written<'_>> {
    let text = text.trim();
    // Some pages write a backslash before what would be a heading.
    let text = text.strip_prefix('\\').filter(|rest| rest.starts_with('#')).unwrap_or(text);
    if let Some(comment) = text.strip_prefix('#') {
        return Some(comment_of(comment.trim_start()));
    }
    value(text).or_else(|| noted(text)).map(Written::Value)
}

fn comment_of(comment: &str) -> Written<'_> {
    let named = |keyword: &str| {
        let rest = comment.strip_prefix(keyword)?.strip_prefix([' ', '\t'])?.trim_start();
        let (name, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        is_name(name).then_some((name, rest.trim()))
    };
    if let Some((name, text)) = named("HELP") {
        return Written::Help { name, text };
    }
    match named("TYPE") {
        Some((name, kind)) => Written::Type { name, kind },
        None => Written::Comment,
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == ':')
        && name.bytes().all(is_part)
        && !name.ends_with(':')
}

fn value(text: &str) -> Option<Value> {
    let end = text.find(|part: char| part == '{' || part.is_whitespace())?;
    let name = &text[..end];
    if !is_name(name) {
        return None;
    }
    let rest = text[end..].trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    // `promtool query` writes an arrow before the value, and `@[…]` behind it.
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("=>").unwrap_or(rest).trim_start();
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    let at_s = match words.next() {
        None => None,
        // An example value follows.
        Some(word) if word.starts_with('#') => None,
        Some(word) => Some(time_s(word)?),
    };
    if words.next().is_some_and(|word| !word.starts_with('#')) && at_s.is_some() {
        return None;
    }
    Some(Value { name: name.to_owned(), labels, number: value, at_s })
}

fn time_s(word: &str) -> Option<f64> {
    let word = word.strip_prefix("@[").and_then(|word| word.strip_suffix(']')).unwrap_or(word);
    let time: f64 = word.parse().ok().filter(|time: &f64| time.is_finite() && *time >= TIMES_FROM)?;
    Some(if time >= MILLISECONDS_FROM { time / 1000.0 } else { time })
}

/// Reads a number; thousands may be set apart in what people copied from a table.
pub(super) fn number(word: &str) -> Option<f64> {
    match word {
        "NaN" | "Nan" | "nan" => return Some(f64::NAN),
        "+Inf" | "Inf" | "+inf" | "inf" => return Some(f64::INFINITY),
        "-Inf" | "-inf" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let begins = word.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let word = word.strip_suffix(',').unwrap_or(word);
    let is_grouped = word.contains(',')
        && word
            .split(',')
            .skip(1)
            .all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    if is_grouped {
        return word.replace(',', "").parse().ok().filter(|_| begins);
    }
    word.parse().ok().filter(|number: &f64| begins && number.is_finite())
}

/// Reads labels up to the closing brace; returns them with what follows.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        if !is_name(name) || labels.len() >= LABELS_MAX {
            return None;
        }
        let (value, after) = quoted(after.trim_start())?;
        labels.push((name.to_owned(), value));
        rest = after;
    }
}

/// Reads a text in quotes; returns it with what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = inside.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &inside[place + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            plain => value.push(plain),
        }
    }
    None
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers, and figures as they were written, are kept exactly")]
mod tests {
    use super::{Value, Written, written};

    fn value(text: &str) -> Value {
        match written(text) {
            Some(Written::Value(value)) => value,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn values_are_read_in_all_their_forms() {
        let plain = value("vllm:num_requests_running 2.0");
        assert_eq!((plain.name.as_str(), plain.number, plain.at_s), ("vllm:num_requests_running", 2.0, None));
        let labelled = value(r#"a_b{x="1", y="say \"hi\"\n", } 1.5e+03 1700000000123"#);
        assert_eq!(
            labelled.labels,
            [("x".to_owned(), "1".to_owned()), ("y".to_owned(), "say \"hi\"\n".to_owned())]
        );
        assert_eq!((labelled.number, labelled.at_s), (1500.0, Some(1_700_000_000.123)));
        let example = value(r#"h_bucket{le="0.1"} 8 # {trace_id="7"} 0.05 1700000000.1"#);
        assert_eq!((example.number, example.at_s), (8.0, None));
        let asked = value(r#"up{job="x"} => 1 @[1700000000.5]"#);
        assert_eq!((asked.number, asked.at_s), (1.0, Some(1_700_000_000.5)));
        assert_eq!(value(r#"nv_x{model="m",version="1", le="+Inf"} 37"#).label("le"), Some("+Inf"));
        assert!(value("a NaN").number.is_nan());
        assert_eq!(value("DCGM_FI_DEV_X    54,731,746").number, 54_731_746.0);
    }

    #[test]
    fn comments_are_told_apart() {
        assert_eq!(
            written("# HELP a_b What it is."),
            Some(Written::Help { name: "a_b", text: "What it is." })
        );
        assert_eq!(written(r"\# TYPE a_b gauge"), Some(Written::Type { name: "a_b", kind: "gauge" }));
        assert_eq!(written("# EOF"), Some(Written::Comment));
        assert_eq!(written("# HELP"), Some(Written::Comment));
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "hello world",
            "a{x=1} 3",
            "a{x=\"1} 3",
            "a 3 b",
            "a",
            "a{} x",
            "3 a",
            "a: 3",
            "a-b 3",
            "eth0 1 2 3",
        ] {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
