//! An answer that can be shown to strangers: what names persons, machines and places is replaced, the same name always
//! by the same word, so that it still can be told who is who.

mod kind;
mod log_line;
mod scene;
mod shape;
mod verdict;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::scene::Scene;
use kind::Kind;

/// Names that stand for nobody in particular, or for everybody's own machine.
const NOBODYS: &[&str] = &[
    "root",
    "nobody",
    "daemon",
    "bin",
    "sys",
    "adm",
    "slurm",
    "munge",
    "gdm",
    "polkitd",
    "messagebus",
    "nvidia-persistenced",
    "localhost",
    "kernel",
    "default",
    "kube-system",
    "none",
    "null",
    "(null)",
    "n/a",
    "unknown",
    "stdin",
];

/// Digits of a container's id, as container tools show it.
const CONTAINER_ID_DIGITS: usize = 12;

/// Replaces names, in every text of one answer alike.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Every way to write a name, with the place of what it names.
    names: BTreeMap<String, usize>,
    named: Vec<Named>,
    counts: BTreeMap<Kind, u32>,
}

/// One person, machine or place.
#[derive(Debug, Clone, Copy)]
struct Named {
    kind: Kind,
    /// Given when it is met for the first time.
    number: Option<u32>,
}

impl Redactor {
    /// Learns the names that stand in a scene.
    pub fn of(scene: &Scene) -> Self {
        let mut redactor = Self::default();
        scene::learn(&mut redactor, scene);
        redactor
    }

    /// Learns the name of a text that was read.
    pub fn learn_input(&mut self, name: &str) {
        self.learn(Kind::Input, name);
    }

    /// Learns a name; numbers and names of nobody are left out.
    fn learn(&mut self, kind: Kind, name: &str) {
        if is_worth_hiding(kind, name) {
            self.place_of(kind, name);
        }
    }

    /// Returns the place of what a name names; a new one if nobody is known by it.
    fn place_of(&mut self, kind: Kind, name: &str) -> usize {
        let short = short_name(kind, name);
        if let Some(place) = self.names.get(name).or_else(|| self.names.get(short)) {
            return *place;
        }
        let place = self.named.len();
        self.named.push(Named { kind, number: None });
        self.names.insert(name.to_owned(), place);
        if is_worth_hiding(kind, short) {
            self.names.insert(short.to_owned(), place);
        }
        place
    }

    /// Returns whether a name is known.
    fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Returns the word for a name, which is learnt if it is new.
    fn word_for(&mut self, kind: Kind, name: &str) -> String {
        if !self.knows(name) && !is_worth_hiding(kind, name) {
            return name.to_owned();
        }
        let place = self.place_of(kind, name);
        let named = &mut self.named[place];
        let count = self.counts.entry(named.kind).or_default();
        let number = *named.number.get_or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{}-{number}", named.kind.word())
    }
}

/// Returns a shorter way to write a name: a machine without its domain, the begin of a container's id.
fn short_name(kind: Kind, name: &str) -> &str {
    match kind {
        Kind::Host => name.split('.').next().unwrap_or(name),
        Kind::Container if name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            &name[..CONTAINER_ID_DIGITS]
        }
        _ => name,
    }
}

/// Returns whether a name tells something: a number of a job or a single letter does not.
fn is_worth_hiding(kind: Kind, name: &str) -> bool {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit() || b"_.+-".contains(&byte));
    let may_be_number = matches!(kind, Kind::Address | Kind::Serial | Kind::Uuid | Kind::Input);
    let is_nobodys = NOBODYS.iter().any(|nobody| nobody.eq_ignore_ascii_case(name));
    let is_everybodys = kind == Kind::Path && !shape::is_path(name, true);
    name.chars().count() > 1
        && (may_be_number || !is_number)
        && !is_nobodys
        && !is_everybodys
        && !Kind::is_own_word(name)
}
