//! Finds the secrets in a text: by the name before them, by their place in an address, or by how random they look.

use super::random::{is_plain_word, is_random_word};

/// What stands in the place of a masked value.
pub const MASK: &str = "***";

/// Words that make a name a secret's, wherever they stand in it (`HF_TOKEN`, `--wandb-password`, `client_secret_id`).
const SECRET_WORDS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "credential",
    "credentials",
    "bearer",
    "authorization",
    "auth",
    "cookie",
    "pwd",
    "signature",
    "passcode",
];

/// Endings of words that were written together (`dbPassword`, `sshpass`, `authtoken`).
const SECRET_ENDINGS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "sshpass",
];

/// Words before `key` that make it a secret: a `key` alone is one too, a `primary-key` is not.
const KEY_OWNERS: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "session",
    "encryption",
    "signing",
    "account",
    "storage",
    "master",
    "license",
    "ssh",
    "auth",
    "app",
    "service",
];

/// Words that name a way of authorisation and stand before the secret itself.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "negotiate", "apikey"];

/// Returns the text with every secret-looking value in it masked.
///
/// For log lines and other free text; command lines have [`super::CommandLine`].
pub fn masked_text(text: &str) -> String {
    mask_random_words(&mask_named_values(&mask_addresses(text)))
}

/// Returns whether an argument is an option whose value is a secret and comes next (`--token`, `-password`, `Bearer`).
pub(super) fn names_a_secret_option(argument: &str) -> bool {
    let is_option =
        argument.starts_with('-') || argument.ends_with(':') || argument.eq_ignore_ascii_case("bearer");
    is_option && !argument.contains(['=', ' ']) && is_secret_name(argument.trim_end_matches(':'))
}

/// Returns whether a name stands for a secret.
fn is_secret_name(name: &str) -> bool {
    let words = words_of(name);
    let Some(last) = words.last() else {
        return false;
    };
    let is_key = last == "key"
        && words.len().checked_sub(2).is_none_or(|before| KEY_OWNERS.contains(&words[before].as_str()));
    let is_pass = last == "pass" && (words.len() == 1 || name.contains("_pass") || name.contains("_PASS"));
    let is_short = words.len() == 1 && matches!(last.as_str(), "sig" | "pin");
    let has_key_inside = words.windows(2).any(|pair| pair[0] == "secret" && pair[1] == "key");
    is_key
        || is_pass
        || is_short
        || has_key_inside
        || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || SECRET_ENDINGS.iter().any(|ending| last.ends_with(ending))
}

/// Returns the words of a name in lower case: parts between `-`, `_` and `.`, and parts of `camelCase`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in
        name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|part| !part.is_empty())
    {
        let mut before_is_lower = false;
        let mut word = String::new();
        for character in part.chars() {
            if before_is_lower && character.is_ascii_uppercase() {
                words.push(std::mem::take(&mut word));
            }
            before_is_lower = character.is_ascii_lowercase();
            word.push(character.to_ascii_lowercase());
        }
        words.push(word);
    }
    words
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// Characters that end an unquoted value.
fn ends_value(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, ',' | ';' | '&' | ')' | '}' | ']' | '"' | '\'' | '`' | '|' | '<' | '>')
}

/// Masks the values of names that stand for a secret: `name=value`, `name: value`, `"name": "value"`, `--name value`.
fn mask_named_values(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name_character) {
        masked.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|character| !is_name_character(character)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        masked.push_str(name);
        rest = after;
        let Some(value_start) = value_start(name, after) else {
            continue;
        };
        let (between, value) = after.split_at(value_start);
        masked.push_str(between);
        rest = mask_value(value, &mut masked);
    }
    masked.push_str(rest);
    masked
}

/// Returns where the value of a secret's name begins in what follows the name; nothing if the name is no secret's.
fn value_start(name: &str, after: &str) -> Option<usize> {
    let is_scheme = name.eq_ignore_ascii_case("bearer");
    if !is_scheme && !is_secret_name(name) {
        return None;
    }
    let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    if is_scheme || (name.starts_with('-') && after.starts_with([' ', '\t'])) {
        let skipped = spaces(after);
        // The next option is no value.
        return (skipped > 0 && !after[skipped..].starts_with('-')).then_some(skipped);
    }
    // A quoted name or an index (`environ["NAME"] = …`) closes before the separator.
    let closed = after.trim_start_matches(['"', '\'', ']', '\\']);
    let mut place = after.len() - closed.len();
    place += spaces(&after[place..]);
    let separator = after[place..].chars().next().filter(|character| matches!(character, '=' | ':'))?;
    place += separator.len_utf8();
    if after[place..].starts_with("//") || after[place..].starts_with('=') {
        // An address or a comparison.
        return None;
    }
    if after[place..].starts_with(['=', '>']) {
        place += 1;
    }
    place += spaces(&after[place..]);
    Some(place)
}

/// Masks the value at the start of a text; a scheme before it stays readable. Returns what follows the value.
fn mask_value<'text>(mut value: &'text str, masked: &mut String) -> &'text str {
    let opening = value.len() - value.trim_start_matches('\\').len();
    masked.push_str(&value[..opening]);
    value = &value[opening..];
    let quote = value.chars().next().filter(|character| matches!(character, '"' | '\''));
    if let Some(quote) = quote {
        masked.push(quote);
        value = &value[1..];
    }
    for scheme in SCHEMES {
        let Some((word, after)) = value.split_at_checked(scheme.len()) else {
            continue;
        };
        let secret = after.trim_start_matches(' ');
        if word.eq_ignore_ascii_case(scheme) && secret.len() < after.len() && !secret.is_empty() {
            masked.push_str(word);
            masked.push_str(&after[..after.len() - secret.len()]);
            value = secret;
            break;
        }
    }
    let length = match quote {
        Some(quote) => value.find(quote).unwrap_or(value.len()),
        None => value.find(ends_value).unwrap_or(value.len()),
    };
    if length > 0 {
        masked.push_str(MASK);
    }
    &value[length..]
}

/// Masks credentials in addresses: `scheme://user:password@host`, `user:password@host`.
fn mask_addresses(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for piece in text.split_inclusive(|character: char| {
        character.is_whitespace() || matches!(character, '"' | '\'' | ',' | '<' | '>')
    }) {
        masked.push_str(&mask_address(piece));
    }
    masked
}

fn mask_address(word: &str) -> String {
    let (start, rest) = match word.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), word),
    };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let Some((credentials, host)) = authority.rsplit_once('@') else {
        return word.to_owned();
    };
    if !start.is_empty() {
        return format!("{start}{MASK}@{host}{path}");
    }
    // Without a scheme only `user:password@host` is one; `image:tag@sha256:…` is not.
    match credentials.split_once(':') {
        Some((user, password)) if !password.is_empty() && !host.starts_with("sha") => {
            format!("{user}:{MASK}@{host}{path}")
        }
        _ => word.to_owned(),
    }
}

/// Masks words that look like keys, whatever stands before them.
fn mask_random_words(text: &str) -> String {
    let is_word_character = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '+' | '/' | '=' | '-')
    };
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word_character) {
        masked.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|character| !is_word_character(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        masked.push_str(&masked_word(word));
        rest = after;
    }
    masked.push_str(rest);
    masked
}

/// Returns a word masked if it looks random; of `name=value` the value alone.
fn masked_word(word: &str) -> String {
    let (start, value) = match word.split_once('=') {
        Some((name, value)) if !value.is_empty() && !name.is_empty() && !value.starts_with('=') => {
            (&word[..=name.len()], value)
        }
        _ => ("", word),
    };
    // An address or a path carries its secret in one part (a webhook's); the rest of it stays readable.
    let parts: Vec<&str> = value.split('/').collect();
    let (random, plain): (Vec<&str>, Vec<&str>) = parts.iter().partition(|part| is_random_word(part));
    if !random.is_empty() && !plain.is_empty() && plain.iter().all(|part| is_plain_word(part)) {
        let parts: Vec<&str> =
            parts.into_iter().map(|part| if is_random_word(part) { MASK } else { part }).collect();
        return format!("{start}{}", parts.join("/"));
    }
    if is_random_word(value) {
        return format!("{start}{MASK}");
    }
    word.to_owned()
}
