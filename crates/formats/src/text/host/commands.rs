//! The command that somebody typed before an output.

/// Programs behind a pipe that leave the lines as they are, though not all of them.
const KEEP_LINES: [&str; 12] =
    ["cat", "egrep", "fgrep", "grep", "head", "less", "more", "rg", "sort", "tail", "tee", "uniq"];

/// Returns the words behind a tool's name in a command, up to the next pipe; none when the command does not run it, or
/// when what it prints is made into something else (`| wc -l`, `| awk …`).
pub(super) fn words_of<'command>(command: &'command str, tool: &str) -> Option<Vec<&'command str>> {
    command.split([';', '&']).find_map(|pipeline| {
        let mut parts = pipeline.split('|').map(str::split_ascii_whitespace);
        let words = parts.find_map(|mut words| {
            words.by_ref().find(|word| word.rsplit('/').next() == Some(tool))?;
            Some(words.collect())
        })?;
        parts.all(|mut words| words.next().is_some_and(|name| KEEP_LINES.contains(&name))).then_some(words)
    })
}

/// Returns how many seconds apart a tool was told to look: the first number that is no value of an option, as `vmstat`,
/// `iostat` and `mpstat` take it.
pub(super) fn interval_s(command: Option<&str>, tool: &str) -> Option<f64> {
    let words = words_of(command?, tool)?;
    let number = |word: &&str| word.parse::<f64>().ok().filter(|seconds| *seconds >= 1.0 && *seconds < 1e5);
    let mut behind_option = false;
    for word in &words {
        let is_option = word.starts_with('-');
        if !is_option
            && !behind_option
            && let Some(seconds) = number(word)
        {
            return Some(seconds);
        }
        // These take a value; `-P ALL` is none that looks like a number.
        behind_option = is_option && matches!(*word, "-P" | "-p" | "-I" | "-j" | "-o" | "-S" | "-N");
    }
    None
}

/// Returns whether a tool was given an option: `-m` alone, or among other letters.
pub(super) fn has_option(command: Option<&str>, tool: &str, letter: char) -> bool {
    let words = command.and_then(|command| words_of(command, tool)).unwrap_or_default();
    words.iter().any(|word| {
        word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::{has_option, interval_s, words_of};

    #[test]
    fn options_and_numbers_are_found() {
        assert_eq!(words_of("sudo /usr/bin/free -h | head", "free"), Some(vec!["-h"]));
        assert_eq!(words_of("freeze -h", "free"), None);
        assert_eq!(words_of("ps aux | grep D | sort", "ps"), Some(vec!["aux"]));
        assert_eq!(words_of("ps aux | awk '{print $2}'", "ps"), None);
        assert!(has_option(Some("free -hw"), "free", 'h') && !has_option(Some("free --human"), "free", 'h'));
        assert_eq!(interval_s(Some("iostat -xz 2 5"), "iostat"), Some(2.0));
        assert_eq!(interval_s(Some("mpstat -P 0 1 3"), "mpstat"), Some(1.0));
        assert_eq!(interval_s(Some("vmstat"), "vmstat"), None);
    }
}
