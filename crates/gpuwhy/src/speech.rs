//! The language of this run, and its words once they are needed.

use std::cell::OnceCell;

use gpuwhy_model::text::{Catalogue, Language, TextFile};
use gpuwhy_render::{Words, message};

use crate::failure::Failure;

/// Variables that name the locale, the strongest first.
const LOCALE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The language of this run.
pub(crate) struct Speech {
    /// Language of what people read.
    pub(crate) language: Language,
    /// Whether the language was asked for on the command line.
    pub(crate) is_asked_for: bool,
    /// The words of the language, and of English where that is another one.
    words: OnceCell<Catalogue>,
    english: OnceCell<Catalogue>,
}

impl Speech {
    /// Takes the language of the locale, or English.
    pub(crate) fn of_locale() -> Self {
        Self::new(locale().unwrap_or_default(), false)
    }

    /// Takes the language that was asked for.
    ///
    /// # Errors
    /// Fails when we do not speak it.
    pub(crate) fn asked_for(tag: &str) -> Result<Self, Failure> {
        if let Some(language) = Language::from_tag(tag) {
            return Ok(Self::new(language, true));
        }
        let tags: Vec<String> = Language::ALL.iter().map(|language| language.tag().to_owned()).collect();
        Err(Failure::new(message::unknown_language(tag)).hint(message::hint_languages(tags)))
    }

    fn new(language: Language, is_asked_for: bool) -> Self {
        Self { language, is_asked_for, words: OnceCell::new(), english: OnceCell::new() }
    }

    /// Returns the words for people.
    pub(crate) fn words(&self) -> Words<'_> {
        self.words_in(self.language)
    }

    /// Returns the words for programs: English unless a language was asked for.
    pub(crate) fn words_of_report(&self) -> Words<'_> {
        self.words_in(if self.is_asked_for { self.language } else { Language::English })
    }

    fn words_in(&self, language: Language) -> Words<'_> {
        let words = if language == self.language { &self.words } else { &self.english };
        let catalogue = words.get_or_init(|| Catalogue::of_language(language, all_words()));
        Words { catalogue, language }
    }
}

/// Returns the words of all crates. A test joins them: what fails nevertheless is shown by its id.
fn all_words() -> impl Iterator<Item = TextFile> {
    gpuwhy_render::TEXTS.iter().chain(gpuwhy_diagnose::TEXTS).copied()
}

/// Returns the language of the locale, if one is set and we speak it.
fn locale() -> Option<Language> {
    let values = LOCALE_VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    let tag = values.into_iter().find(|value| !value.is_empty())?;
    Language::from_tag(&tag)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::text::Catalogue;

    #[test]
    fn the_words_of_all_crates_fit_together() {
        Catalogue::join(super::all_words()).unwrap();
    }
}
