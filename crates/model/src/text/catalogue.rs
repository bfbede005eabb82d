//! The words of every language by text id, parsed from TOML and checked against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A language that every text exists in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// Simplified Chinese.
    #[serde(rename = "zh-CN")]
    SimplifiedChinese,
}

impl Language {
    /// Every language.
    pub const ALL: &[Self] = &[Self::English, Self::SimplifiedChinese];

    /// Returns the tag as in `--lang` and in file names.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::SimplifiedChinese => "zh-CN",
        }
    }

    /// Returns the language of a tag or locale (`zh-CN`, `zh_CN.UTF-8`, `zh`, `en_US.UTF-8`, `C`), if we speak it.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let main = tag.split(['-', '_', '.', '@']).next().unwrap_or(tag).to_ascii_lowercase();
        match main.as_str() {
            "zh" => Some(Self::SimplifiedChinese),
            "en" | "c" | "posix" => Some(Self::English),
            _ => None,
        }
    }
}

/// One file of words: TOML with `key = "words with {argument}"`, all in one language under one prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFile {
    /// What stands before the key in the text's id: `starved-by-storage`.
    pub prefix: &'static str,
    /// Language of the words.
    pub language: Language,
    /// The TOML text.
    pub toml: &'static str,
}

/// What is wrong with files of words.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A file is not TOML of the right shape.
    #[error("words of `{prefix}` in {language}: not a table of texts")]
    Syntax {
        /// The file's prefix.
        prefix: String,
        /// The file's language tag.
        language: &'static str,
        /// What the parser said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A text's braces do not match.
    #[error("text `{id}` in {language}: braces do not match in `{words}`")]
    Braces {
        /// The text's id.
        id: String,
        /// The language tag.
        language: &'static str,
        /// The words.
        words: String,
    },
    /// A text is missing in a language.
    #[error("text `{id}` has no words in {language}")]
    Missing {
        /// The text's id.
        id: String,
        /// The language tag.
        language: &'static str,
    },
    /// A text uses other arguments in one language than in English.
    #[error("text `{id}` in {language} uses {used:?}, in English {english:?}")]
    Arguments {
        /// The text's id.
        id: String,
        /// The language tag.
        language: &'static str,
        /// Arguments used.
        used: Vec<String>,
        /// Arguments used in English.
        english: Vec<String>,
    },
    /// Two files give words under one prefix.
    #[error("words of `{prefix}` in {language} are given twice")]
    Twice {
        /// The files' prefix.
        prefix: String,
        /// The language tag.
        language: &'static str,
    },
}

/// The words of one text in one language: literal parts and arguments in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// The parts.
    pub parts: Vec<Part>,
}

/// One part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Words(String),
    /// The place of an argument.
    Argument(String),
}

impl Template {
    /// Parses words with `{argument}` places; `{{` and `}}` stand for braces. Returns nothing if braces do not match.
    pub fn parse(words: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = words;
        while let Some(place) = rest.find(['{', '}']) {
            literal.push_str(&rest[..place]);
            let brace = &rest[place..=place];
            let after = &rest[place + 1..];
            if let Some(after) = after.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return None;
            }
            let (name, after) = after.split_once('}')?;
            let is_name =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if !is_name {
                return None;
            }
            if !literal.is_empty() {
                parts.push(Part::Words(std::mem::take(&mut literal)));
            }
            parts.push(Part::Argument(name.to_owned()));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Words(literal));
        }
        Some(Self { parts })
    }

    /// Returns the names of the arguments, each once, sorted.
    pub fn arguments(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Argument(name) => Some(name),
                Part::Words(_) => None,
            })
            .collect();
        names.into_iter().cloned().collect()
    }
}

/// The words of every text in every language.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By language, then by prefix.
    words: BTreeMap<Language, BTreeMap<&'static str, FileWords>>,
}

/// The words of one file, by key, parsed when one of them is first wanted: an answer needs few of the files.
#[derive(Debug, Clone)]
struct FileWords {
    file: TextFile,
    templates: OnceLock<BTreeMap<String, Template>>,
}

impl Catalogue {
    /// Joins files of words into one catalogue.
    ///
    /// # Errors
    /// Fails when a file cannot be parsed, a text is given twice or is missing in a language, or when its arguments
    /// differ between languages.
    pub fn join(files: impl IntoIterator<Item = TextFile>) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::default();
        for file in files {
            let templates = OnceLock::from(file.templates()?);
            let words = catalogue.words.entry(file.language).or_default();
            if words.insert(file.prefix, FileWords { file, templates }).is_some() {
                let language = file.language.tag();
                return Err(CatalogueError::Twice { prefix: file.prefix.to_owned(), language });
            }
        }
        catalogue.check()?;
        Ok(catalogue)
    }

    /// Takes the words of one language alone, for who speaks no other in this run. What [`Catalogue::join`] refuses
    /// should be found by a test, since nothing is compared here: a file that cannot be parsed has no texts.
    pub fn of_language(language: Language, files: impl IntoIterator<Item = TextFile>) -> Self {
        let files = files.into_iter().filter(|file| file.language == language);
        let unread = |file: TextFile| (file.prefix, FileWords { file, templates: OnceLock::new() });
        Self { words: BTreeMap::from([(language, files.map(unread).collect())]) }
    }

    /// Returns the words of a text in a language.
    pub fn template(&self, language: Language, id: &str) -> Option<&Template> {
        let (prefix, key) = id.split_once('.')?;
        self.words.get(&language)?.get(prefix)?.templates().get(key)
    }

    /// Returns every text id.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.words.get(&Language::English).into_iter().flat_map(BTreeMap::values).flat_map(FileWords::ids)
    }

    fn check(&self) -> Result<(), CatalogueError> {
        let all: BTreeSet<String> =
            self.words.values().flat_map(BTreeMap::values).flat_map(FileWords::ids).collect();
        for id in all {
            let missing =
                |language: Language| CatalogueError::Missing { id: id.clone(), language: language.tag() };
            let english =
                self.template(Language::English, &id).ok_or_else(|| missing(Language::English))?.arguments();
            for language in Language::ALL {
                let used = self.template(*language, &id).ok_or_else(|| missing(*language))?.arguments();
                if used != english {
                    return Err(CatalogueError::Arguments { id, language: language.tag(), used, english });
                }
            }
        }
        Ok(())
    }
}

impl FileWords {
    fn templates(&self) -> &BTreeMap<String, Template> {
        self.templates.get_or_init(|| self.file.templates().unwrap_or_default())
    }

    fn ids(&self) -> impl Iterator<Item = String> {
        self.templates().keys().map(|key| format!("{}.{key}", self.file.prefix))
    }
}

impl TextFile {
    /// Parses the words.
    fn templates(&self) -> Result<BTreeMap<String, Template>, CatalogueError> {
        let language = self.language.tag();
        let texts: BTreeMap<String, String> = toml::from_str(self.toml).map_err(|source| {
            CatalogueError::Syntax { prefix: self.prefix.to_owned(), language, source: Box::new(source) }
        })?;
        let parse = |(key, words): (String, String)| match Template::parse(&words) {
            Some(template) => Ok((key, template)),
            None => Err(CatalogueError::Braces { id: format!("{}.{key}", self.prefix), language, words }),
        };
        texts.into_iter().map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalogue, CatalogueError, Language, Template, TextFile};

    const ENGLISH: TextFile = TextFile {
        prefix: "x",
        language: Language::English,
        toml: "held = 'held: {bytes}, {{since}} {idle}'",
    };

    fn chinese(toml: &'static str) -> TextFile {
        TextFile { prefix: "x", language: Language::SimplifiedChinese, toml }
    }

    #[test]
    fn complete_words_are_joined() {
        let catalogue = Catalogue::join([ENGLISH, chinese("held = '占用 {bytes},{idle}'")]).unwrap();
        assert_eq!(catalogue.template(Language::English, "x.held").unwrap().arguments(), ["bytes", "idle"]);
    }

    #[test]
    fn one_language_can_be_taken_alone() {
        let files = [ENGLISH, chinese("held = '")];
        let catalogue = Catalogue::of_language(Language::English, files);
        assert!(catalogue.template(Language::English, "x.held").is_some());
        assert!(catalogue.template(Language::SimplifiedChinese, "x.held").is_none());
    }

    #[test]
    fn incomplete_words_are_refused() {
        assert!(matches!(Catalogue::join([ENGLISH]), Err(CatalogueError::Missing { .. })));
        assert!(matches!(
            Catalogue::join([ENGLISH, chinese("held = '占用 {bytes}'")]),
            Err(CatalogueError::Arguments { .. })
        ));
        assert!(matches!(Catalogue::join([ENGLISH, ENGLISH]), Err(CatalogueError::Twice { .. })));
        assert!(matches!(Catalogue::join([chinese("held = '{'")]), Err(CatalogueError::Braces { .. })));
    }

    #[test]
    fn braces_must_match() {
        assert!(Template::parse("a } b").is_none());
        assert!(Template::parse("a {b c} d").is_none());
        assert_eq!(Template::parse("{{a}}").unwrap().arguments().len(), 0);
    }

    #[test]
    fn locales_are_understood() {
        assert_eq!(Language::from_tag("zh_CN.UTF-8"), Some(Language::SimplifiedChinese));
        assert_eq!(Language::from_tag("en_GB"), Some(Language::English));
        assert_eq!(Language::from_tag("fr_FR"), None);
    }
}
