//! Patterns as the tables write them: a name, `*` at its end for "begins so"; for cards a small part of regular
//! expressions.

/// Returns whether a name is one of the patterns, or begins like one that ends in `*`.
pub(crate) fn is_one_of(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    })
}

/// Returns whether a pattern is found in a card's name. Patterns hold plain text, at most one choice `(a|b)`, and
/// perhaps `$` for the end.
pub(crate) fn is_found(pattern: &str, name: &str) -> bool {
    let (pattern, is_anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let holds = |text: &str| if is_anchored { name.ends_with(text) } else { name.contains(text) };
    let choice = pattern.split_once('(').and_then(|(before, rest)| Some((before, rest.split_once(')')?)));
    match choice {
        Some((before, (choices, after))) => {
            choices.split('|').any(|choice| holds(&[before, choice, after].concat()))
        }
        None => holds(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_found, is_one_of};

    #[test]
    fn a_star_means_begins_so() {
        let patterns = ["tmux*".to_owned(), "sh".to_owned()];
        assert!(is_one_of("tmux: server", &patterns));
        assert!(is_one_of("sh", &patterns));
        assert!(!is_one_of("zsh", &patterns));
        assert!(!is_one_of("shell", &patterns));
    }

    #[test]
    fn choices_and_ends_are_kept() {
        assert!(is_found("V100-PCIE-(16|32)GB", "Tesla V100-PCIE-32GB"));
        assert!(!is_found("V100-PCIE-(16|32)GB", "Tesla V100-PCIE-64GB"));
        assert!(is_found("NVIDIA L4$", "NVIDIA L4"));
        assert!(!is_found("NVIDIA L4$", "NVIDIA L40"));
    }
}
