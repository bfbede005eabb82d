//! Versions of drivers, compared number by number.

use std::cmp::Ordering;

/// Returns how one version stands to another: `570.124.06` after `570.124.04` after `570.26`.
pub(crate) fn compared(one: &str, other: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        version.split('.').map(|part| part.trim().parse().unwrap_or(0)).collect()
    };
    numbers(one).cmp(&numbers(other))
}

/// Returns whether a version is newer than another.
pub(crate) fn is_newer(version: &str, than: &str) -> bool {
    compared(version, than) == Ordering::Greater
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("570.124.06", "570.26") && is_newer("1000.1", "999.99"));
        assert!(is_newer("570.124.06", "570.124.04"));
        assert!(!is_newer("570.124.04", "570.124.04") && !is_newer("535.54.03", "550.54"));
    }
}
