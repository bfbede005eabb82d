//! Makes Rust constructors from a file of words, so that a missing key or argument does not compile.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::catalogue::Template;

/// Why no constructors could be made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The file is not TOML of the right shape.
    #[error("not a table of texts")]
    Syntax(#[from] Box<toml::de::Error>),
    /// A text's braces do not match, or its key is no Rust name.
    #[error("text `{key}`: {reason}")]
    Text {
        /// The text's key.
        key: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// Returns Rust source with one function for each text of a file: `pub fn key(argument: impl Into<Arg>, …) -> Text`.
///
/// For build scripts of the crates that own words. Arguments come in alphabetical order.
///
/// # Errors
/// Fails when the file cannot be parsed or a key is not `snake_case`.
pub fn constructors(prefix: &str, english: &str) -> Result<String, GenerateError> {
    let texts: BTreeMap<String, String> = toml::from_str(english).map_err(Box::new)?;
    let mut source = String::new();
    for (key, words) in &texts {
        let problem = |reason| GenerateError::Text { key: key.clone(), reason };
        if key.is_empty()
            || !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        {
            return Err(problem("keys are lower-case words joined by `_`"));
        }
        let template = Template::parse(words).ok_or_else(|| problem("braces do not match"))?;
        let arguments = template.arguments();
        let parameters: Vec<String> =
            arguments.iter().map(|name| format!("{name}: impl Into<::gpuwhy_model::text::Arg>")).collect();
        let calls = arguments.iter().fold(String::new(), |mut calls, name| {
            // Writing to a string cannot fail.
            let _ = write!(calls, ".with(\"{name}\", {name}.into())");
            calls
        });
        // Writing to a string cannot fail.
        let _ = writeln!(
            source,
            "/// `{words}`\n#[allow(dead_code, clippy::doc_markdown, reason = \"generated; not every text has a caller in every build\")]\npub(crate) fn {key}({}) -> ::gpuwhy_model::text::Text {{\n    ::gpuwhy_model::text::Text::plain(\"{prefix}.{key}\"){calls}\n}}\n",
            parameters.join(", "),
        );
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::constructors;

    #[test]
    fn every_text_gets_a_constructor() {
        let source = constructors("x", "summary = 'held: {bytes} for {idle}'\nplain = 'nothing'").unwrap();
        assert!(
            source.contains("pub(crate) fn summary(bytes: impl Into<::gpuwhy_model::text::Arg>, idle: impl")
        );
        assert!(source.contains("pub(crate) fn plain() -> "));
        assert!(source.contains(r#".with("idle", idle.into())"#));
    }

    #[test]
    fn bad_keys_are_refused() {
        assert!(constructors("x", "'Bad Key' = 'words'").is_err());
    }
}
