//! Values of JSON and YAML as far as they are there: whole documents, parts of them, and what is left where they were cut.
//!
//! Both readers take what people paste: a document without its begin or end, with lines of another text inside. They never
//! fail, never follow an alias, and go no deeper than [`DEPTH_MAX`].

mod json;
mod yaml;
mod yaml_words;

pub(crate) use json::{json, lines_of_json};
pub(crate) use yaml::yaml;

/// What lies deeper is left out.
const DEPTH_MAX: usize = 64;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Tree {
    /// Nothing stands there, or `null`.
    #[default]
    Nothing,
    /// A text, a number, true or false, as it was written.
    Text(String),
    /// Values in a row.
    List(Vec<Tree>),
    /// Values by name, in the order in which they were written.
    Map(Vec<(String, Tree)>),
}

static NOTHING: Tree = Tree::Nothing;

impl Tree {
    /// Returns the value of a name; nothing where there is none.
    pub(crate) fn get(&self, name: &str) -> &Self {
        self.entries().iter().find(|(own, _)| own == name).map_or(&NOTHING, |(_, value)| value)
    }

    /// Returns a value below names.
    pub(crate) fn at(&self, names: &[&str]) -> &Self {
        names.iter().fold(self, |value, name| value.get(name))
    }

    /// Returns whether a name has a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        *self.get(name) != Self::Nothing
    }

    /// Returns the text, if it is one and not empty.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// Returns the text as one of its own.
    pub(crate) fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// Returns a whole number.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.text()?.parse().ok()
    }

    /// Returns true or false.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        }
    }

    /// Returns the values of a row; of anything else none.
    pub(crate) fn list(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            _ => &[],
        }
    }

    /// Returns values with their names; of anything else none.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Adds what another map has.
    fn absorb(&mut self, other: Self) {
        match (&mut *self, other) {
            (_, Self::Nothing) => {}
            (Self::Map(own), Self::Map(entries)) => own.extend(entries),
            (Self::List(own), Self::List(values)) => own.extend(values),
            (own @ Self::Nothing, other) => *own = other,
            _ => {}
        }
    }
}
