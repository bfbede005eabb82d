//! Which devices the processes of a control group may use, as its first version lists them (`devices.list`), or as
//! somebody traced them.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Cgroup, Provenance, Scene, SourceKind};

use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads the list that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let is_cut = is_gap(first)
        && lines.get(1).is_some_and(|line| rule(&line.text).is_some_and(|(_, around)| around.is_empty()));
    if !is_cut && rule(first).is_none() {
        return None;
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut taken = 0;
    for (place, line) in lines.iter().enumerate() {
        match rule(&line.text) {
            Some((rule, group)) => match groups.iter_mut().find(|(own, _)| own == group) {
                Some((_, rules)) => rules.push(rule.to_owned()),
                None => groups.push((group.to_owned(), vec![rule.to_owned()])),
            },
            None if is_gap(&line.text) => {}
            None => break,
        }
        taken = place + 1;
    }
    let scene = Scene {
        cgroups: groups
            .into_iter()
            .map(|(path, rules)| Cgroup { path, device_rules: Reading::Known(rules), ..Cgroup::default() })
            .collect(),
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::DeviceRules.to_string()] },
        ..Scene::default()
    };
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn is_gap(text: &str) -> bool {
    matches!(text.trim(), "..." | "…" | "[...]")
}

/// Splits a line into its rule, `c 195:* rwm`, and the control group that stands behind it.
fn rule(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if text.len() > 300 {
        return None;
    }
    // Alone, or with other fields around it.
    let begin = ["c ", "b ", "a "].iter().filter_map(|kind| {
        let place = text.find(&format!(", {kind}")).map(|place| place + 2);
        if text.starts_with(kind) { Some(0) } else { place }
    });
    let rule_at = |begin: usize| {
        let mut words = text[begin..].split([' ', ',']).filter(|word| !word.is_empty());
        let (kind, numbers, rights) = (words.next()?, words.next()?, words.next()?);
        let (major, minor) = numbers.split_once(':')?;
        let is_number =
            |part: &str| part == "*" || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let are_rights = rights.len() <= 3 && rights.bytes().all(|byte| b"rwm".contains(&byte));
        (is_number(major) && is_number(minor) && are_rights).then_some(())?;
        let end = text[begin..].find(rights)? + begin + rights.len();
        // `c`, one blank, the numbers, one blank, the rights.
        (text[begin..end].len() == kind.len() + numbers.len() + rights.len() + 2).then_some(end)
    };
    begin.into_iter().find_map(|begin| {
        let end = rule_at(begin)?;
        let behind = text[end..].trim_start_matches([',', ' ']).trim();
        (begin > 0 || behind.is_empty())
            .then(|| (&text[begin..end], behind.rsplit([',', ' ']).next().unwrap_or("")))
    })
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn rules_are_read_alone_and_traced() {
        assert_eq!(rule("c 195:* m"), Some(("c 195:* m", "")));
        assert_eq!(rule("  a *:* rwm"), Some(("a *:* rwm", "")));
        assert_eq!(
            rule("runc, 1, c 195:254 rw, cri-containerd-abc.scope"),
            Some(("c 195:254 rw", "cri-containerd-abc.scope"))
        );
        for text in [
            "",
            "c 195",
            "c 195:0",
            "c 195:0 x",
            "c 195:0 rw and more",
            "abc 1:2 r",
            "a b c",
            "c 1.5:2 rw",
            "c 195:m rw",
        ] {
            assert_eq!(rule(text), None, "{text}");
        }
    }
}
