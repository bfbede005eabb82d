//! Goes through a text word by word.

use super::kind::Kind;
use super::{CONTAINER_ID_DIGITS, Redactor, log_line, shape};

/// Marks between words.
const DELIMITERS: &str =
    "\"'`()[]{}<>,;|=\u{ff0c}\u{3002}\u{ff1a}\u{ff1b}\u{ff08}\u{ff09}\u{3001}\u{300c}\u{300d}";
/// Marks that stand behind a word and do not belong to it.
const ENDS: [char; 8] = ['.', ':', '!', '?', '*', '$', '#', '\u{2026}'];

/// What a word before a value says of it.
const USER_KEYS: &[&str] = &["user", "username", "userid", "owner", "login", "uname", "logname"];
const HOST_KEYS: &[&str] = &[
    "host",
    "hostname",
    "node",
    "nodename",
    "nodelist",
    "reqnodelist",
    "excnodelist",
    "nodeaddr",
    "nodehostname",
    "batchhost",
    "master_addr",
];
const JOB_KEYS: &[&str] = &[
    "job",
    "jobname",
    "job-name",
    "job_name",
    "run-name",
    "run_name",
    "experiment",
    "exp-name",
    "exp_name",
    "wandb-name",
];
const ACCOUNT_KEYS: &[&str] = &["account", "project"];
const SERIAL_KEYS: &[&str] = &["serial", "serialnumber", "serial_number", "sn"];

/// What stands before a value.
#[derive(Debug, Clone, Copy, Default)]
struct Before<'text> {
    word: &'text str,
    /// Whether the value is bound to it: by `=`, or as that of an option.
    is_bound: bool,
}

impl Redactor {
    /// Replaces the names in a text.
    pub fn text(&mut self, text: &str) -> String {
        self.words(text, false)
    }

    /// Replaces the names in an argument of a command.
    pub(super) fn argument(&mut self, argument: &str, before: &str) -> String {
        let option = Before { word: before, is_bound: before.starts_with('-') };
        if let Some(kind) = kind_by_key(option).filter(|_| !argument.starts_with('-')) {
            return self.word_for(kind, argument);
        }
        self.words(argument, true)
    }

    fn words(&mut self, text: &str, is_argument: bool) -> String {
        if self.knows(text) {
            return self.word_for(Kind::Input, text);
        }
        if let Some(host) = log_line::host(text) {
            self.learn(Kind::Host, host);
        }
        let mut written = String::with_capacity(text.len());
        let mut before = Before::default();
        let mut rest = text;
        while !rest.is_empty() {
            let gap = rest.find(|character| !is_delimiter(character)).unwrap_or(rest.len());
            let (between, behind) = rest.split_at(gap);
            written.push_str(between);
            let (word, behind) = behind.split_at(word_length(behind));
            rest = behind;
            if word == ":" {
                // As in `"user": "alice"`.
                written.push_str(word);
                before.is_bound = true;
                continue;
            }
            before.is_bound |= between == "="
                || before.word.ends_with(':')
                || before.word.starts_with('-') && between.trim().is_empty();
            written.push_str(&self.word(word, before, is_argument));
            before = Before { word, is_bound: false };
        }
        written
    }

    fn word(&mut self, word: &str, before: Before<'_>, is_argument: bool) -> String {
        let bare = word.trim_end_matches(ENDS);
        if bare.is_empty() {
            return word.to_owned();
        }
        let end = &word[bare.len()..];
        match kind_by_key(before) {
            Some(kind) if !self.knows(bare) => self.word_for(kind, bare) + end,
            _ => self.bare_word(bare, is_argument) + end,
        }
    }

    fn bare_word(&mut self, word: &str, is_argument: bool) -> String {
        if self.knows(word) {
            // It is known as what it is.
            return self.word_for(Kind::Input, word);
        }
        if let Some((begin, _)) = word.split_once('[')
            && self.is_begin_of_host(begin)
        {
            return self.word_for(Kind::Host, word);
        }
        if let Some((scheme, place)) = word.split_once("://") {
            return if shape::is_public(place) {
                word.to_owned()
            } else {
                format!("{scheme}://{}", self.word_for(Kind::Url, word))
            };
        }
        if let Some((start, end)) = shape::uuid(word) {
            let uuid = self.word_for(Kind::Uuid, &word[start..end].to_ascii_lowercase());
            return format!("{}{uuid}{}", self.parts(&word[..start]), self.parts(&word[end..]));
        }
        if let Some(address) = shape::address(word) {
            let rest = &word[address.len()..];
            return self.word_for(Kind::Address, address) + rest;
        }
        if let Some((user, rest)) = user_at_host(word) {
            return format!("{}@{}", self.word_for(Kind::User, user), self.place(rest));
        }
        if let Some((host, path)) = word.split_once(":/")
            && is_name(host)
            && host.len() > 1
        {
            return format!("{}:{}", self.host(host), self.word_for(Kind::Path, &format!("/{path}")));
        }
        if shape::is_path(word, is_argument) {
            // A line number may stand behind it.
            let length = word.rfind(':').filter(|colon| is_number(&word[colon + 1..])).unwrap_or(word.len());
            return self.word_for(Kind::Path, &word[..length]) + &word[length..];
        }
        if shape::is_domain(word.split(':').next().unwrap_or_default()) {
            return self.place(word);
        }
        if word.len() == 64
            && let Some(begin) = word.get(..CONTAINER_ID_DIGITS)
            && self.knows(begin)
        {
            return self.word_for(Kind::Container, begin);
        }
        self.parts(word)
    }

    /// Replaces a machine, and leaves what stands behind a colon.
    fn place(&mut self, place: &str) -> String {
        match place.split_once(':') {
            Some((host, rest)) => format!("{}:{}", self.host(host), self.words(rest, true)),
            None => self.host(place),
        }
    }

    fn host(&mut self, host: &str) -> String {
        self.word_for(Kind::Host, host)
    }

    /// Returns whether the name of a known machine begins so.
    fn is_begin_of_host(&self, begin: &str) -> bool {
        let from = self.names.range(begin.to_owned()..);
        let is_host = |(name, place): (&String, &usize)| {
            name.starts_with(begin) && self.named[*place].kind == Kind::Host
        };
        begin.len() > 1 && from.take_while(|(name, _)| name.starts_with(begin)).any(is_host)
    }

    /// Replaces known names that are parts of a word.
    fn parts(&mut self, word: &str) -> String {
        let mut written = String::with_capacity(word.len());
        let mut rest = word;
        while !rest.is_empty() {
            let is_inside = written.chars().next_back().is_some_and(char::is_alphanumeric);
            let name = if is_inside { None } else { self.name_at(rest) };
            if let Some(name) = name {
                written.push_str(&self.word_for(Kind::Input, &name));
                rest = &rest[name.len()..];
                continue;
            }
            let next = rest.chars().next().map_or(0, char::len_utf8);
            written.push_str(&rest[..next]);
            rest = &rest[next..];
        }
        written
    }

    /// Returns the longest known name with which a text begins and that is no part of a longer word.
    fn name_at(&self, text: &str) -> Option<String> {
        let is_end = |name: &&String| !text[name.len()..].starts_with(char::is_alphanumeric);
        let first = text.chars().next()?;
        self.names
            .range(first.to_string()..)
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(first))
            .filter(|name| text.starts_with(name.as_str()))
            .filter(is_end)
            .max_by_key(|name| name.len())
            .cloned()
    }
}

fn is_delimiter(character: char) -> bool {
    character.is_whitespace() || DELIMITERS.contains(character)
}

/// Returns how long the word is with which a text begins. An address of the web ends at a blank only, and a list of
/// machines (`node[01-04]`) is one word.
fn word_length(text: &str) -> usize {
    let end = text.find(is_delimiter).unwrap_or(text.len());
    if text[..end].contains("://") {
        let ends = |character: char| character.is_whitespace() || "\"'`<>()".contains(character);
        return text.find(ends).unwrap_or(text.len());
    }
    let is_list = |inside: &str| {
        !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte))
    };
    match text[end..].strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) if end > 0 && is_list(inside) => end + inside.len() + 2,
        _ => end,
    }
}

/// Returns what a value names by the word before it.
fn kind_by_key(before: Before<'_>) -> Option<Kind> {
    if !before.is_bound {
        return None;
    }
    let key = before.word.trim_start_matches('-').trim_end_matches(':').to_ascii_lowercase();
    let is_one_of = |keys: &[&str]| keys.contains(&key.as_str());
    match () {
        () if is_one_of(USER_KEYS) => Some(Kind::User),
        () if is_one_of(HOST_KEYS) => Some(Kind::Host),
        () if is_one_of(JOB_KEYS) => Some(Kind::Job),
        () if is_one_of(ACCOUNT_KEYS) => Some(Kind::Account),
        () if is_one_of(SERIAL_KEYS) => Some(Kind::Serial),
        () => None,
    }
}

/// Returns both sides of `user@host`; a unit of systemd is none.
fn user_at_host(word: &str) -> Option<(&str, &str)> {
    const UNITS: [&str; 5] = [".service", ".slice", ".socket", ".timer", ".scope"];
    let (user, host) = word.split_once('@')?;
    let is_unit = UNITS.iter().any(|unit| host.ends_with(unit));
    let starts_as_host = host.starts_with(|first: char| first.is_ascii_alphanumeric());
    (is_name(user) && starts_as_host && !is_unit && !is_number(host)).then_some((user, host))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
