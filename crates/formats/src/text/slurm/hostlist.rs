//! Lists of nodes as Slurm folds them: `n[01-04,7],login1`, `rack[1-2]n[1-8]`.

use super::words::between_commas;

/// No list is unfolded further: a longer one is no list of nodes.
const NAMES_MAX: usize = 16_384;

/// Returns the names of a folded list. What is cut off inside brackets is left out; what is no name, too.
pub(super) fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for item in between_commas(text.trim()) {
        let item = item.trim();
        if is_item(item) {
            unfold("", item, &mut names);
        }
    }
    names
}

/// Returns whether a text is a list of nodes, and no number or word with other signs.
pub(super) fn is_list(text: &str) -> bool {
    let items = between_commas(text.trim());
    items.len() <= 4096 && items.iter().all(|item| is_item(item.trim()))
}

/// Returns whether a text is surely a list of nodes: names with numbers in brackets.
pub(super) fn is_folded(text: &str) -> bool {
    is_list(text) && text.contains('[') && text.contains(']')
}

fn is_item(item: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[],".contains(&byte);
    let begins_well = item.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'[');
    begins_well && item.bytes().all(is_sign) && item.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Unfolds the first brackets of an item behind what stands before it, and what follows.
fn unfold(before: &str, item: &str, names: &mut Vec<String>) {
    if names.len() >= NAMES_MAX {
        return;
    }
    let Some((start, rest)) = item.split_once('[') else {
        let name = format!("{before}{item}");
        if !name.contains(']') {
            names.push(name);
        }
        return;
    };
    let (inside, after, is_cut) = match rest.split_once(']') {
        Some((inside, after)) => (inside, after, false),
        None => (rest, "", true),
    };
    let mut parts: Vec<&str> = inside.split(',').collect();
    if is_cut {
        // The last number may lack digits.
        parts.pop();
    }
    for part in parts {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (first.parse::<u64>(), last.parse::<u64>()) else {
            continue;
        };
        for number in from..=to {
            if names.len() >= NAMES_MAX {
                return;
            }
            let width = first.len();
            unfold(&format!("{before}{start}{number:0width$}"), after, names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES_MAX, is_folded, is_list, names};

    #[test]
    fn lists_are_unfolded() {
        assert_eq!(names("n[01-03,7],login1"), ["n01", "n02", "n03", "n7", "login1"]);
        assert_eq!(names("r[1-2]n[1-2]-ib"), ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]);
        assert_eq!(names("n[098-101]"), ["n098", "n099", "n100", "n101"]);
        assert_eq!(names("gpu-a.example.org"), ["gpu-a.example.org"]);
    }

    #[test]
    fn what_is_cut_or_no_list_gives_no_names() {
        assert_eq!(names("c[002,004,0"), ["c002", "c004"]);
        assert_eq!(names("d[001-0"), Vec::<String>::new());
        for text in ["", "(null)", "12", "(Resources)", "a b", "x]"] {
            assert_eq!(names(text), Vec::<String>::new(), "{text}");
        }
        assert!(is_folded("n[1-2]") && !is_folded("n1") && is_list("n1,n2") && !is_list("8:00"));
    }

    #[test]
    fn no_list_grows_without_bound() {
        assert_eq!(names("n[0-99999999999]").len(), NAMES_MAX);
        assert_eq!(names("n[0-999][0-999][0-999]").len(), NAMES_MAX);
        assert_eq!(names("n[9-1]"), Vec::<String>::new());
    }
}
