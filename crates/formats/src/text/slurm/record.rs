//! One row, block or object of an output: values by what they are about.

use super::field::Field;
use super::words::said;

/// Values by what they are about, in the order in which they stood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Record(Vec<(Field, String)>);

impl Record {
    pub(super) fn push(&mut self, field: Field, value: impl Into<String>) {
        self.0.push((field, value.into()));
    }

    /// Adds a value that counts before others about the same.
    pub(super) fn put_first(&mut self, field: Field, value: &str) {
        self.0.insert(0, (field, value.to_owned()));
    }

    /// Returns the first value about something that says anything.
    pub(super) fn get(&self, field: Field) -> Option<&str> {
        self.all(field).find_map(said)
    }

    /// Returns the first value about something as it stood, even if it says that there is nothing.
    pub(super) fn raw(&self, field: Field) -> Option<&str> {
        self.all(field).next()
    }

    /// Returns every value about something, as it stood.
    pub(super) fn all(&self, field: Field) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(about, _)| *about == field).map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.raw(field).is_some()
    }

    /// Returns the parts of a priority, by name.
    pub(super) fn factors(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().filter_map(|(field, value)| match field {
            Field::Factor(name) => Some((*name, value.as_str())),
            _ => None,
        })
    }
}
