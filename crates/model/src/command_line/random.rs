//! Tells keys from words: what was made by chance looks like no path, no id and no name that a person gives.

/// The shortest random-looking word that is taken for a secret.
const RANDOM_WORD_LENGTH: usize = 20;

/// In words that people write together a capital stands at every sixth letter or so; by chance at every fourth.
const LETTERS_PER_CAPITAL: usize = 5;

/// Returns whether a word looks like a key: long, letters mixed with digits or cases, no path, no id.
pub(super) fn is_random_word(word: &str) -> bool {
    if word.len() < RANDOM_WORD_LENGTH
        || !word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+/=-".contains(&byte))
    {
        return false;
    }
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let mixes = (has_letter && has_digit) || longest_part(word) >= RANDOM_WORD_LENGTH && mixes_cases(word);
    mixes
        && !looks_like_path(word)
        && !is_uuid(word)
        && !is_hexadecimal_id(word)
        && !is_words_with_numbers(word)
}

/// Returns the length of the longest part between separators.
fn longest_part(word: &str) -> usize {
    word.split(['-', '_', '+', '=', '/']).map(str::len).max().unwrap_or(0)
}

/// Returns whether upper and lower case follow each other as by chance.
fn mixes_cases(word: &str) -> bool {
    case_changes(word) * LETTERS_PER_CAPITAL >= word.len()
}

/// Returns whether a word with slashes is a path (`outputs/exp3b2/step-0001`) and not base64.
///
/// A relative path whose parts mix case in the way of a key (`wJalr/K7MD`) is taken for a key.
fn looks_like_path(word: &str) -> bool {
    let (is_absolute, relative) = match word.strip_prefix('/') {
        Some(relative) => (true, relative),
        None => (false, word),
    };
    let is_short = |segment: &str| segment.len() < RANDOM_WORD_LENGTH || !is_random_word(segment);
    (is_absolute || word.contains('/'))
        && relative.split('/').all(|segment| is_short(segment) && (is_absolute || is_plain_word(segment)))
}

/// Returns whether a part of a path looks as people name folders: words and numbers, or small letters only.
pub(super) fn is_plain_word(part: &str) -> bool {
    is_words_with_numbers(part) || !part.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns whether a word is made of ordinary words and numbers joined by `-` or `_` (`resnet50-imagenet-run-12`).
///
/// Each part is all letters, all digits, letters then digits, or digits then letters; a key has parts that change
/// between letters and digits several times, or mix upper and lower case inside.
fn is_words_with_numbers(word: &str) -> bool {
    word.split(['-', '_', '+', '=', '/']).filter(|part| !part.is_empty()).all(|part| {
        let changes = part
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count();
        let is_short = changes == 0 || part.len() < RANDOM_WORD_LENGTH;
        let is_camel = case_changes(part) <= 2 || (changes == 0 && !mixes_cases(part));
        changes <= 1 && is_short && is_camel
    })
}

/// Returns how often a part goes from lower to upper case inside.
fn case_changes(part: &str) -> usize {
    part.as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count()
}

/// Returns whether the word is a UUID, also with the `GPU-` or `MIG-` in front that cards have.
fn is_uuid(word: &str) -> bool {
    let word = word.strip_prefix("GPU-").or_else(|| word.strip_prefix("MIG-")).unwrap_or(word);
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Returns whether the word is a container id: 64 lower-case hexadecimal digits.
fn is_hexadecimal_id(word: &str) -> bool {
    word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
