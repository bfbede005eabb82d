//! What Slurm counts: GRES (`gpu:a100:4(S:0-1)`) and TRES (`cpu=8,mem=64G,gres/gpu:a100=2`).

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Resources;
use gpuwhy_model::units::{Cores, Quantity as _};

use super::words::{between_commas, count, memory};

/// Returns the names and values of a list of TRES; none when the text is no such list.
pub(super) fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let text = text.trim().trim_matches('"');
    let pairs: Vec<(&str, &str)> = between_commas(text)
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| part.trim().split_once('='))
        .collect::<Option<_>>()?;
    let is_known = |name: &str| {
        matches!(name, "cpu" | "mem" | "node" | "billing" | "energy" | "pages" | "vmem")
            || ["gres/", "license/", "fs/", "bb/", "ic/"].iter().any(|kind| name.starts_with(kind))
    };
    (!pairs.is_empty() && pairs.iter().all(|(name, _)| is_known(name))).then_some(pairs)
}

/// Returns the amounts of a list of TRES; none when the text is no such list. `N` stands for no limit.
pub(super) fn resources(text: &str) -> Option<Resources> {
    let mut resources = Resources::default();
    for (name, value) in pairs(text)? {
        // `scontrol show assoc_mgr` writes what is used behind what is allowed.
        set(&mut resources, name, value.split('(').next().unwrap_or(value));
    }
    settle_kinds(&mut resources);
    Some(resources)
}

/// Returns what is used in a list of TRES of the form `gres/gpu=16(12)`.
pub(super) fn used(text: &str) -> Resources {
    let mut resources = Resources::default();
    for (name, value) in pairs(text).unwrap_or_default() {
        if let Some(used) = value.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')) {
            set(&mut resources, name, used);
        }
    }
    settle_kinds(&mut resources);
    resources
}

fn set(resources: &mut Resources, name: &str, value: &str) {
    if value.eq_ignore_ascii_case("N") {
        match name {
            "cpu" => resources.cpus = Reading::Unsupported,
            "mem" => resources.memory = Reading::Unsupported,
            "node" => resources.nodes = Reading::Unsupported,
            "gres/gpu" => resources.cards = Reading::Unsupported,
            _ => {}
        }
        return;
    }
    match name {
        "cpu" => resources.cpus = count(value).map(cores).into(),
        "mem" => resources.memory = memory(value).map(|(bytes, _)| bytes).into(),
        "node" => resources.nodes = count(value).into(),
        "gres/gpu" => resources.cards = count(value).into(),
        _ => {
            if let (Some(kind), Some(number)) = (name.strip_prefix("gres/gpu:"), count(value)) {
                resources.card_kinds.insert(kind.to_ascii_lowercase(), number);
            }
        }
    }
}

/// Counts cards by their kinds where they are not counted together.
fn settle_kinds(resources: &mut Resources) {
    if !resources.card_kinds.is_empty() && resources.cards.is_not_in_source() {
        resources.cards = Reading::Known(resources.card_kinds.values().sum());
    }
}

pub(super) fn cores(number: u64) -> Cores {
    Cores::from_number(number as f64)
}

/// Returns the cards of a list of GRES; none when no card is in it.
pub(super) fn gres(text: &str) -> Option<Resources> {
    let mut resources = Resources::default();
    let mut cards = None;
    for item in between_commas(text.trim().trim_matches('"')) {
        let Some((kind, number)) = cards_of(item.trim()) else {
            continue;
        };
        cards = Some(cards.unwrap_or(0) + number);
        if let Some(kind) = kind {
            *resources.card_kinds.entry(kind).or_default() += number;
        }
    }
    resources.cards = Reading::Known(cards?);
    Some(resources)
}

/// Returns kind and number of one entry: `gpu:4`, `gpu:a100:4(S:0-1)`, `gres/gpu:h100=2`, `gpu:(null):0(IDX:N/A)`, `gpu`.
fn cards_of(item: &str) -> Option<(Option<String>, u64)> {
    let item = item.strip_prefix("gres/").or_else(|| item.strip_prefix("gres:")).unwrap_or(item);
    let rest = item.strip_prefix("gpu")?;
    let rest = rest.replace("(null)", "");
    let rest = rest.split('(').next().unwrap_or_default();
    if !rest.is_empty() && !rest.starts_with([':', '=']) {
        return None;
    }
    let parts: Vec<&str> =
        rest.split([':', '=']).filter(|part| !part.is_empty() && *part != "no_consume").collect();
    match parts.as_slice() {
        [] => Some((None, 1)),
        [one] => match count(one) {
            Some(number) => Some((None, number)),
            None => is_kind(one).then(|| (Some(one.to_ascii_lowercase()), 1)),
        },
        [kind, number] if is_kind(kind) => Some((Some(kind.to_ascii_lowercase()), count(number)?)),
        _ => None,
    }
}

fn is_kind(word: &str) -> bool {
    word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
}

/// Returns whether a cell is surely a list of GRES with a card in it.
pub(super) fn is_gres(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with("gpu:") || text.starts_with("gres/gpu") || text.starts_with("gres:gpu"))
        && gres(text).is_some()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::units::{Bytes, Cores};

    use super::{gres, is_gres, resources, used};

    fn cards(text: &str) -> Option<(u64, Vec<(String, u64)>)> {
        let resources = gres(text)?;
        Some((*resources.cards.known()?, resources.card_kinds.into_iter().collect()))
    }

    #[test]
    fn cards_are_counted_in_every_spelling() {
        let kind = |kind: &str, number| vec![(kind.to_owned(), number)];
        for (text, expected) in [
            ("gpu:4", Some((4, vec![]))),
            ("gpu:a100:4(S:0-1)", Some((4, kind("a100", 4)))),
            ("gpu:A100:2(IDX:0,3)", Some((2, kind("a100", 2)))),
            ("gres/gpu:h100=2", Some((2, kind("h100", 2)))),
            ("gres:gpu:v100:1", Some((1, kind("v100", 1)))),
            ("gres/gpu:8", Some((8, vec![]))),
            ("gpu:(null):0(IDX:N/A)", Some((0, vec![]))),
            ("gpu", Some((1, vec![]))),
            ("gpu:a100", Some((1, kind("a100", 1)))),
            ("gpu:no_consume:4", Some((4, vec![]))),
            ("gpu:a100_3g.20gb:2,shard:16", Some((2, kind("a100_3g.20gb", 2)))),
            ("gpu:t4:1,gpu:a100:3(S:0)", Some((4, vec![("a100".to_owned(), 3), ("t4".to_owned(), 1)]))),
            ("shard:16", None),
            ("(null)", None),
            ("gpu-node-3", None),
            ("gpu:a:b:c", None),
        ] {
            assert_eq!(cards(text), expected, "{text}");
        }
        assert!(is_gres("gpu:2") && !is_gres("gpu") && !is_gres("gpu-1"));
    }

    #[test]
    fn lists_of_tres_are_read() {
        let asked = resources("cpu=8,mem=64G,node=2,billing=8,gres/gpu=4,gres/gpu:a100=4").unwrap();
        assert_eq!((asked.cards, asked.nodes), (Reading::Known(4), Reading::Known(2)));
        assert_eq!((asked.cpus, asked.memory), (Reading::Known(Cores(8.0)), Reading::Known(Bytes(64 << 30))));
        assert_eq!(asked.card_kinds, BTreeMap::from([("a100".to_owned(), 4)]));
        assert_eq!(resources("gres/gpu:h100=2").unwrap().cards, Reading::Known(2));
        assert!(resources("a=b").is_none() && resources("").is_none() && resources("cpu").is_none());
    }

    #[test]
    fn limits_with_their_use_are_read() {
        let text = "cpu=N(24),mem=N(1024),gres/gpu=16(12)";
        let most = resources(text).unwrap();
        assert_eq!((most.cards, most.cpus), (Reading::Known(16), Reading::Unsupported));
        let used = used(text);
        assert_eq!((used.cards, used.cpus), (Reading::Known(12), Reading::Known(Cores(24.0))));
    }
}
