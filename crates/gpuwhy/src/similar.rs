//! Finds what somebody may have meant who mistyped a name.

/// Most names that are suggested.
const SUGGESTIONS_MAX: usize = 3;

/// Returns the candidates that are most like a name, the nearest first: those that contain it or are contained in
/// it, and those that differ in few letters.
pub(crate) fn similar<'name>(name: &str, candidates: impl Iterator<Item = &'name str>) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut near: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let is_part = name.len() > 2 && (candidate.contains(&name) || name.contains(candidate));
        let distance = distance(&name, candidate);
        if is_part || distance <= candidate.len().min(name.len()) / 3 {
            near.push((distance, candidate));
        }
    }
    near.sort_unstable();
    near.into_iter().take(SUGGESTIONS_MAX).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// Returns how many letters must be added, removed or changed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (place, to) in other.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, similar};

    #[test]
    fn near_names_are_found() {
        let names = ["starved-by-storage", "starved-by-cpu", "vram-full", "gpu-lost"];
        let similar = |name| similar(name, names.iter().copied());
        assert_eq!(similar("starved-by-storge"), ["starved-by-storage"]);
        assert_eq!(similar("vram"), ["vram-full"]);
        assert_eq!(similar("starved"), ["starved-by-cpu", "starved-by-storage"]);
        assert!(similar("coffee").is_empty());
    }

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
