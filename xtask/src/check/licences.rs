//! Licences of everything that is built in, against the list of those that we accept; packages built twice.

use std::collections::BTreeMap;

use crate::metadata::Metadata;

/// The licences that we accept; the one place where they are listed.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Returns the packages whose licence is missing or not accepted.
pub(super) fn not_allowed(metadata: &Metadata) -> Vec<String> {
    let mut refused = Vec::new();
    for package in metadata.foreign() {
        let expression = package.license.as_deref().unwrap_or_default();
        if is_allowed(expression) != Some(true) {
            refused.push(format!("{} {}: licence `{expression}`", package.name, package.version));
        }
    }
    refused
}

/// Returns the packages that are built in several versions, with those versions.
pub(super) fn duplicates(metadata: &Metadata) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata.foreign() {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions.into_iter().map(|(name, versions)| format!("{name} {}", versions.join(", "))).collect()
}

/// Returns whether an SPDX expression can be met with accepted licences only; nothing if it cannot be understood.
fn is_allowed(expression: &str) -> Option<bool> {
    // Old manifests write `MIT/Apache-2.0`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let allowed = any_of(&mut rest)?;
    rest.is_empty().then_some(allowed)
}

/// `a OR b …`
fn any_of(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = all_of(words)?;
    while take(words, "OR") {
        allowed |= all_of(words)?;
    }
    Some(allowed)
}

/// `a AND b …`, which binds tighter.
fn all_of(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(words)?;
    while take(words, "AND") {
        allowed &= one(words)?;
    }
    Some(allowed)
}

/// One licence, with or without an exception, or an expression in brackets.
fn one(words: &mut &[&str]) -> Option<bool> {
    if take(words, "(") {
        let allowed = any_of(words)?;
        return take(words, ")").then_some(allowed);
    }
    let (licence, rest) = words.split_first()?;
    *words = rest;
    if take(words, "WITH") {
        // An exception only ever grants more.
        *words = words.get(1..)?;
    }
    Some(ALLOWED.contains(licence))
}

fn take(words: &mut &[&str], word: &str) -> bool {
    let is_next = words.first() == Some(&word);
    if is_next {
        *words = &words[1..];
    }
    is_next
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn a_choice_needs_one_accepted_licence() {
        assert_eq!(is_allowed("MIT OR GPL-3.0"), Some(true));
        assert_eq!(is_allowed("MIT/Apache-2.0"), Some(true));
        assert_eq!(is_allowed("Apache-2.0 WITH LLVM-exception OR MPL-2.0"), Some(true));
    }

    #[test]
    fn a_sum_needs_all_of_them() {
        assert_eq!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"), Some(true));
        assert_eq!(is_allowed("MIT AND GPL-2.0"), Some(false));
        assert_eq!(is_allowed("LGPL-2.1 OR MIT AND GPL-2.0"), Some(false));
    }

    #[test]
    fn what_cannot_be_understood_is_not_accepted() {
        assert_eq!(is_allowed(""), None);
        assert_eq!(is_allowed("(MIT"), None);
        assert_eq!(is_allowed("MIT Apache-2.0"), None);
    }
}
