//! Words as data: a text's id and its arguments, and the catalogue of words in each language.
//!
//! A rule says *which* text with *which* values; only `render` turns it into words.

mod catalogue;
mod generate;

pub use catalogue::{Catalogue, CatalogueError, Language, Part, Template, TextFile};
pub use generate::{GenerateError, constructors};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text for people: its id and the values that belong into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// Id in the catalogue, `starved-by-storage.summary`.
    pub id: String,
    /// Values by the names that the words use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, Arg>,
}

/// A value inside a text, with its unit; `render` writes it as the language and the reader need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// A number of things.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// Bytes per second.
    BytesPerSecond(f64),
    /// Seconds.
    Seconds(f64),
    /// Hundredths of a whole.
    Percent(f64),
    /// Watts.
    Watts(f64),
    /// Degrees Celsius.
    Celsius(f64),
    /// Megahertz.
    Megahertz(f64),
    /// A plain number with at most one decimal.
    Number(f64),
    /// Processor cores.
    Cores(f64),
    /// A name or other raw data, shown as it is.
    Raw(String),
    /// Several raw data, listed.
    List(Vec<String>),
    /// A text of the catalogue inside the text.
    Text(Box<Text>),
}

impl Text {
    /// Makes a text without values.
    pub fn plain(id: &str) -> Self {
        Self { id: id.to_owned(), args: BTreeMap::new() }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, arg: Arg) -> Self {
        self.args.insert(name.to_owned(), arg);
        self
    }
}

impl From<&str> for Arg {
    fn from(raw: &str) -> Self {
        Self::Raw(raw.to_owned())
    }
}

impl From<String> for Arg {
    fn from(raw: String) -> Self {
        Self::Raw(raw)
    }
}

impl From<crate::units::Bytes> for Arg {
    fn from(bytes: crate::units::Bytes) -> Self {
        Self::Bytes(bytes.0)
    }
}

impl From<crate::units::Seconds> for Arg {
    fn from(seconds: crate::units::Seconds) -> Self {
        Self::Seconds(seconds.0)
    }
}

impl From<crate::units::Percent> for Arg {
    fn from(percent: crate::units::Percent) -> Self {
        Self::Percent(percent.0)
    }
}

impl From<crate::units::Share> for Arg {
    fn from(share: crate::units::Share) -> Self {
        Self::Percent(share.0 * 100.0)
    }
}

impl From<crate::units::Watts> for Arg {
    fn from(watts: crate::units::Watts) -> Self {
        Self::Watts(watts.0)
    }
}

impl From<crate::units::Celsius> for Arg {
    fn from(celsius: crate::units::Celsius) -> Self {
        Self::Celsius(celsius.0)
    }
}

impl From<crate::units::Cores> for Arg {
    fn from(cores: crate::units::Cores) -> Self {
        Self::Cores(cores.0)
    }
}

impl From<crate::units::Megahertz> for Arg {
    fn from(clock: crate::units::Megahertz) -> Self {
        Self::Megahertz(clock.0)
    }
}

impl From<crate::units::BytesPerSecond> for Arg {
    fn from(rate: crate::units::BytesPerSecond) -> Self {
        Self::BytesPerSecond(rate.0)
    }
}

impl From<usize> for Arg {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<u64> for Arg {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Arg {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

impl From<Vec<String>> for Arg {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl From<Text> for Arg {
    fn from(text: Text) -> Self {
        Self::Text(Box::new(text))
    }
}
