//! Command lines that can be kept: secret-looking values are masked when the value is made, so no
//! sample, recording, report or log can hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What stands in the place of a masked value.
pub const MASK: &str = "***";

/// The shortest random-looking word that is taken for a secret.
const RANDOM_WORD_LENGTH: usize = 20;

/// Names whose value is a secret wherever they stand before `=`, `:` or as an option.
const SECRET_NAMES: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "api-key",
    "api_key",
    "accesskey",
    "access-key",
    "access_key",
    "auth",
    "authorization",
    "bearer",
    "credential",
    "credentials",
    "private-key",
    "private_key",
    "session-key",
    "session_key",
    "signature",
    "cookie",
    "pwd",
    "key",
];

/// The arguments of a process, with secret-looking values masked.
///
/// Masked are the values of `key=`, `token=`, `--password …` and their like, credentials in URLs, and long random
/// words: 20 or more of `[A-Za-z0-9_+/=-]` that mix letters and digits and are no path, UUID or container id.
/// There is no way to make one that holds the plain secret; reading one back masks again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Makes a command line from the arguments of a process.
    pub fn masked<I, S>(arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut kept = Vec::new();
        let mut value_is_secret = false;
        for argument in arguments {
            let argument = argument.as_ref();
            if value_is_secret && !argument.starts_with('-') {
                kept.push(MASK.to_owned());
                value_is_secret = false;
                continue;
            }
            value_is_secret = names_a_secret_option(argument);
            // One argument may be a whole shell command or header: each word is looked at.
            kept.push(masked_text(argument));
        }
        Self(kept)
    }

    /// Makes a command line that shows only the program, for people who may not see another user's arguments.
    pub fn program_only(executable: &str) -> Self {
        Self(vec![masked_text(executable)])
    }

    /// Returns the arguments, masked, the program first.
    pub fn arguments(&self) -> &[String] {
        &self.0
    }

    /// Returns the arguments as one line; control characters are shown escaped.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for argument in &self.0 {
            if !line.is_empty() {
                line.push(' ');
            }
            for character in argument.chars() {
                if character.is_control() {
                    line.extend(character.escape_default());
                } else {
                    line.push(character);
                }
            }
        }
        line
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::masked(Vec::<String>::deserialize(deserializer)?))
    }
}

/// Returns the text with every secret-looking value in it masked.
///
/// For log lines and other free text; command lines have [`CommandLine`].
pub fn masked_text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut value_is_secret = false;
    for piece in text.split_inclusive([' ', '\t', '\n', '"', '\'', ',', ';']) {
        let word = piece.trim_end_matches([' ', '\t', '\n', '"', '\'', ',', ';']);
        let end = &piece[word.len()..];
        if word.is_empty() {
            masked.push_str(end);
            continue;
        }
        if value_is_secret && !word.starts_with('-') {
            // `Authorization: Bearer VALUE` names the secret twice before it comes.
            value_is_secret = is_secret_name(word.trim_end_matches(':'));
            masked.push_str(if value_is_secret { word } else { MASK });
        } else {
            value_is_secret = names_a_secret_option(word);
            masked.push_str(&masked_word(word));
        }
        masked.push_str(end);
    }
    masked
}

/// Returns whether the next word is the value of a secret: `--token`, `-password`, `Authorization:`, `Bearer`.
fn names_a_secret_option(word: &str) -> bool {
    let is_option = word.starts_with('-') || word.ends_with(':') || word.eq_ignore_ascii_case("bearer");
    is_option && !word.contains('=') && is_secret_name(word.trim_end_matches(':'))
}

/// Returns whether a name ends in a word that stands for a secret (`HF_TOKEN`, `--wandb-api-key`, `dbPassword`).
fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| {
        let Some(start) = name.strip_suffix(secret) else {
            return false;
        };
        // `key` alone is too common an ending (`--monkey`): it must be a word of its own.
        *secret != "key" && *secret != "pwd" && *secret != "auth"
            || start.is_empty()
            || start.ends_with(['-', '_', '.'])
    })
}

/// Returns one word with the secret in it masked.
fn masked_word(word: &str) -> String {
    if let Some(masked) = masked_url(word) {
        return masked;
    }
    if let Some((name, value)) = word.split_once(['=', ':'])
        && !value.is_empty()
        && is_secret_name(name)
    {
        let separator = &word[name.len()..=name.len()];
        return format!("{name}{separator}{MASK}");
    }
    let (start, value) = match word.split_once('=') {
        Some((name, value)) if !value.is_empty() && !name.is_empty() && !value.starts_with('=') => {
            (&word[..=name.len()], value)
        }
        _ => ("", word),
    };
    if let Some(masked) = masked_url(value) {
        return format!("{start}{masked}");
    }
    // A list of values behind one name: each is looked at for itself.
    let parts: Vec<&str> =
        value.split(':').map(|part| if is_random_word(part) { MASK } else { part }).collect();
    format!("{start}{}", parts.join(":"))
}

/// Returns a URL with its credentials and secret parameters masked, if the word is a URL that has some.
fn masked_url(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    if scheme.contains('=') {
        return None;
    }
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let parameters: Vec<String> = query.split('&').map(masked_word).collect();
            format!("{}?{}", masked_path(path), parameters.join("&"))
        }
        None => masked_path(path),
    };
    Some(format!("{scheme}://{authority}{path}"))
}

/// Returns the path of a URL with random-looking segments masked (webhook addresses carry their secret there).
fn masked_path(path: &str) -> String {
    let segments: Vec<&str> =
        path.split('/').map(|segment| if is_random_word(segment) { MASK } else { segment }).collect();
    segments.join("/")
}

/// Returns whether a word looks like a key: long, letters mixed with digits, no path, no id.
fn is_random_word(word: &str) -> bool {
    if word.len() < RANDOM_WORD_LENGTH
        || !word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+/=-".contains(&byte))
    {
        return false;
    }
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_letter
        && has_digit
        && !looks_like_path(word)
        && !is_uuid(word)
        && !is_hexadecimal_id(word)
        && !is_words_with_numbers(word)
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
    let is_plain = |segment: &str| {
        is_words_with_numbers(segment) || !segment.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    (is_absolute || word.contains('/'))
        && relative.split('/').all(|segment| is_short(segment) && (is_absolute || is_plain(segment)))
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
        let longest_allowed = if changes == 0 { usize::MAX } else { RANDOM_WORD_LENGTH - 1 };
        changes <= 1 && part.len() <= longest_allowed && case_changes(part) <= 2
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

#[cfg(test)]
mod tests {
    use super::{CommandLine, masked_text};

    fn line(arguments: &[&str]) -> String {
        CommandLine::masked(arguments).line()
    }

    #[test]
    fn secrets_are_masked() {
        for (arguments, shown) in [
            (&["python", "train.py", "--api-key=abc"][..], "python train.py --api-key=***"),
            (&["run", "--token", "abc", "--lr", "3"], "run --token *** --lr 3"),
            (&["env", "HF_TOKEN=hf_aB3dE5gH7jK9mN1pQ3"], "env HF_TOKEN=***"),
            (&["psql", "postgres://bob:hunter2@db/x"], "psql postgres://***@db/x"),
            (&["curl", "-H", "Authorization: Bearer abc.def"], "curl -H Authorization: Bearer ***"),
            (&["x", "sk-proj-4f9Gk2Lm8Qr1Tz6Wv3Xy"], "x ***"),
            (&["x", "--seedphrase=AKIA4f9gk2lm8qr1tz6w"], "x --seedphrase=***"),
            (&["wget", "https://h.example/a?sig=1&key=s3"], "wget https://h.example/a?sig=1&key=***"),
            (&["sh", "-c", "export WANDB_API_KEY=77aa; go"], "sh -c export WANDB_API_KEY=***; go"),
            (
                &["notify", "https://hooks.example/services/T0/B0/a8Kd02mZp4Wq9Lr7Xc1v"],
                "notify https://hooks.example/services/T0/B0/***",
            ),
            (&["mysql", "-password", "x"], "mysql -password ***"),
            (&["x", "wJalrXUtnF3MI/K7MDENG/bPxRfiCYEXAMPLEK1Y"], "x ***"),
            (&["x", "dGhpc2lzYXNlY3JldDEyMzQ1Njc4OTA="], "x ***"),
        ] {
            assert_eq!(line(arguments), shown);
        }
    }

    #[test]
    fn ordinary_arguments_stay_readable() {
        for arguments in [
            &["python", "train.py", "--model", "resnet50-imagenet-run-12", "--workers", "12"][..],
            &["python", "/home/alice/projects/vision2024/train_v3.py", "--data", "/data/imagenet1k/train"],
            &["vllm", "serve", "meta-llama/Llama-3.1-70B-Instruct", "--tensor-parallel-size", "4"],
            &["x", "GPU-8f6a1c3e-1111-2222-3333-444455556666"],
            &["y", "123e4567-e89b-12d3-a456-426614174000"],
            &["z", &"0123456789abcdef".repeat(4)],
            &["--out", "outputs/exp3b2/checkpoint", "/mnt/Data2024/Run7b3/a1b2c3d4"],
            &["--monkey", "banana", "--keyframes", "12"],
            &["python", "-m", "torch.distributed.run", "--nproc_per_node=8"],
            &["--rdzv_endpoint=node-017.cluster.local:29500"],
        ] {
            assert_eq!(line(arguments), arguments.join(" "));
        }
    }

    #[test]
    fn masking_twice_changes_nothing() {
        for text in ["a --token b", "postgres://u:p@h/d?password=1", "Authorization: Bearer q"] {
            assert_eq!(masked_text(&masked_text(text)), masked_text(text));
        }
    }

    #[test]
    fn control_characters_cannot_reach_a_terminal() {
        assert_eq!(line(&["a\u{1b}[31m", "b\nc"]), "a\\u{1b}[31m b\\nc");
    }

    #[test]
    fn reading_back_masks() {
        let read: CommandLine = serde_json::from_str(r#"["x","--password=abc"]"#).unwrap();
        assert_eq!(read.line(), "x --password=***");
    }
}
