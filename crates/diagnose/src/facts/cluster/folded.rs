//! Names of nodes in few signs: `g[01-04,07],login1`.

/// Returns names folded as schedulers do: those that differ in their last number alone stand together.
pub(crate) fn folded<'name>(names: impl IntoIterator<Item = &'name str>) -> String {
    let mut groups: Vec<(&str, usize, Vec<u64>)> = Vec::new();
    let mut parts: Vec<(&str, Option<(usize, u64)>)> = names.into_iter().map(split).collect();
    parts.sort_unstable();
    parts.dedup();
    for (start, number) in parts {
        match (groups.last_mut(), number) {
            (Some((known, width, numbers)), Some((own, number)))
                if *known == start && *width == own && !numbers.is_empty() =>
            {
                numbers.push(number);
            }
            (_, Some((width, number))) => groups.push((start, width, vec![number])),
            (_, None) => groups.push((start, 0, Vec::new())),
        }
    }
    let words: Vec<String> =
        groups.into_iter().map(|(start, width, numbers)| group(start, width, &numbers)).collect();
    words.join(",")
}

/// Returns a name without the number at its end, the width of the number, and the number.
fn split(name: &str) -> (&str, Option<(usize, u64)>) {
    let start = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let digits = &name[start.len()..];
    match digits.parse() {
        Ok(number) if !start.is_empty() => (start, Some((digits.len(), number))),
        _ => (name, None),
    }
}

fn group(start: &str, width: usize, numbers: &[u64]) -> String {
    match numbers {
        [] => start.to_owned(),
        [only] => format!("{start}{only:0width$}"),
        _ => {
            let mut runs: Vec<(u64, u64)> = Vec::new();
            for number in numbers {
                match runs.last_mut() {
                    Some((_, last)) if *last + 1 == *number => *last = *number,
                    _ => runs.push((*number, *number)),
                }
            }
            let runs: Vec<String> = runs
                .into_iter()
                .map(|(first, last)| {
                    if first == last {
                        format!("{first:0width$}")
                    } else {
                        format!("{first:0width$}-{last:0width$}")
                    }
                })
                .collect();
            format!("{start}[{}]", runs.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn names_are_folded() {
        assert_eq!(folded(["g02", "g01", "g03", "g07"]), "g[01-03,07]");
        assert_eq!(folded(["g9", "g10", "login"]), "g9,g10,login");
        assert_eq!(folded(["n1", "n1"]), "n1");
        assert_eq!(folded(["a-1.example", "12"]), "12,a-1.example");
        assert_eq!(folded([]), "");
    }
}
