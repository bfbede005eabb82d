//! Turns texts (ids with values) into words of one language.

use gpuwhy_model::cause::Cause;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::{Catalogue, Language, Part, Text};
use unicode_width::UnicodeWidthChar as _;

use crate::safe::safe;
use crate::texts::value;
use crate::values::{NO_BREAK, Written, written};

/// The words of one language.
#[derive(Debug, Clone, Copy)]
pub struct Words<'catalogue> {
    /// The words of every text.
    pub catalogue: &'catalogue Catalogue,
    /// The language to speak.
    pub language: Language,
}

impl Words<'_> {
    /// Returns a text as one line of plain words.
    ///
    /// Raw data in it cannot steer a terminal. A text that the catalogue lacks is shown by its id.
    pub fn sentence(&self, text: &Text) -> String {
        self.flowing(text).replace(NO_BREAK, " ")
    }

    /// Returns the short name of a cause.
    pub fn cause(&self, cause: Cause) -> String {
        self.sentence(&cause_text(cause))
    }

    /// Returns a text as one line in which values hold together by [`NO_BREAK`].
    pub(crate) fn flowing(&self, text: &Text) -> String {
        let template = self
            .catalogue
            .template(self.language, &text.id)
            .or_else(|| self.catalogue.template(Language::English, &text.id));
        let Some(template) = template else {
            return safe(&text.id).into_owned();
        };
        let mut words = String::new();
        for part in &template.parts {
            match part {
                Part::Words(literal) => push_words(&mut words, literal),
                Part::Argument(name) => match text.args.get(name) {
                    Some(arg) => words.push_str(&self.value(written(arg))),
                    None => words.push('?'),
                },
            }
        }
        words
    }

    fn value(&self, value: Written) -> String {
        match value {
            Written::Plain(plain) => plain,
            // A foreign NO_BREAK would come out as a space; so it may as well be one.
            Written::Raw(raw) => safe(&raw).replace(NO_BREAK, " "),
            Written::Unit(text) => self.flowing(&text).replace(' ', NO_BREAK.encode_utf8(&mut [0; 4])),
            Written::Text(text) => self.flowing(&text),
            Written::List(list, in_all) => {
                let list = self.joined(list.iter().map(|member| safe(member).replace(NO_BREAK, " ")));
                match in_all {
                    Some(count) => self.flowing(&value::list_long(count, list)),
                    None => list,
                }
            }
        }
    }

    /// Returns the members as the language lists them.
    pub(crate) fn joined(&self, members: impl IntoIterator<Item = String>) -> String {
        let comma = self.flowing(&value::list_comma());
        members.into_iter().collect::<Vec<String>>().join(&comma)
    }
}

/// Adds words of a text. Chinese has no space between two characters, also where a value ends in one (`5 秒`).
fn push_words(words: &mut String, literal: &str) {
    let is_wide = |character: char| character.width() == Some(2);
    let ends_wide = words.chars().next_back().is_some_and(is_wide);
    match literal.strip_prefix(' ') {
        Some(rest) if ends_wide && rest.chars().next().is_some_and(is_wide) => words.push_str(rest),
        _ => words.push_str(literal),
    }
}

/// Returns the text that names a cause.
pub(crate) fn cause_text(cause: Cause) -> Text {
    Text::plain(&format!("cause.{}", cause.id()))
}

/// Returns the text that names a signal.
pub(crate) fn signal_text(signal: Signal) -> Text {
    Text::plain(&format!("signal.{}", signal.id()))
}

/// Returns the text that names a reader.
pub(crate) fn reader_text(reader: Reader) -> Text {
    Text::plain(&format!("reader.{}", reader.id()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gpuwhy_model::cause::Cause;
    use gpuwhy_model::signal::{Reader, Signal};
    use gpuwhy_model::text::{Arg, Catalogue, Language, Text};
    use gpuwhy_model::verdict::CardState;

    use super::Words;

    #[test]
    fn every_member_of_the_closed_lists_has_a_name_and_no_name_is_left_over() {
        let catalogue = Catalogue::join(crate::TEXTS.iter().copied()).unwrap();
        let mut wanted = BTreeSet::new();
        wanted.extend(Cause::ALL.iter().map(|cause| format!("cause.{cause}")));
        wanted.extend(Signal::ALL.iter().map(|signal| format!("signal.{signal}")));
        wanted.extend(Reader::ALL.iter().map(|reader| format!("reader.{reader}")));
        wanted.extend(CardState::ALL.iter().map(|state| format!("state.{state}")));
        let prefixes = ["cause.", "signal.", "reader.", "state."];
        let named: BTreeSet<String> =
            catalogue.ids().filter(|id| prefixes.iter().any(|prefix| id.starts_with(prefix))).collect();
        assert_eq!(named, wanted);
    }

    #[test]
    fn chinese_has_no_space_between_characters() {
        let words = |before: &str, literal: &str| {
            let mut words = before.to_owned();
            super::push_words(&mut words, literal);
            words
        };
        assert_eq!(words("5 秒", " 内"), "5 秒内");
        assert_eq!(words("31 GiB", " 显存"), "31 GiB 显存");
        assert_eq!(words("5 秒", " GPU"), "5 秒 GPU");
        assert_eq!(words("5 秒", "   \u{ff08}x"), "5 秒   \u{ff08}x");
    }

    #[test]
    fn raw_data_cannot_steer_the_terminal() {
        let catalogue = Catalogue::join(crate::TEXTS.iter().copied()).unwrap();
        let words = Words { catalogue: &catalogue, language: Language::English };
        let text = Text::plain("answer.unit").with("name", Arg::Raw("a\u{1b}]0;x\u{7}\u{202e}".into()));
        assert_eq!(words.sentence(&text), "a\\u{1b}]0;x\\u{7}\\u{202e}");
    }
}
