//! What transfers between cards moved, alone and several at once.

use gpuwhy_model::scene::{Figures, Flow};

use super::table::{Table, has_word, number};

/// Names of the column with the transfers.
const FLOWS: &[&str] = &[
    "flow",
    "flows",
    "transfer",
    "transfers",
    "pair",
    "pairs",
    "pattern",
    "path",
    "copy",
    "copies",
    "direction",
    "route",
    "traffic",
    "test",
];
/// What says that a column is a rate, whatever its unit.
const RATES: &[&str] =
    &["gbps", "gb/s", "gb_s", "gbs", "gib/s", "gib_s", "mb/s", "mib/s", "gbit/s", "bandwidth", "throughput"];
/// No machine has a card of a higher number.
const INDEX_MAX: u32 = 256;
/// More transfers at once are not told one by one.
const AT_ONCE_MAX: usize = 256;

pub(super) fn may_begin(first: &str) -> bool {
    RATES.iter().any(|rate| first.contains(rate))
}

pub(super) fn figures(table: &Table) -> Vec<Figures> {
    let names = table.names();
    let Some(of_flows) =
        (0..names.len()).find(|place| FLOWS.iter().any(|word| has_word(&names[*place], word)))
    else {
        return Vec::new();
    };
    let is_rate = |place: &usize| {
        *place != of_flows
            && RATES.iter().any(|rate| names[*place].contains(rate))
            && !names[*place].contains("latency")
    };
    (0..names.len())
        .filter(is_rate)
        .filter_map(|place| column(table, of_flows, place, &names[place]))
        .collect()
}

fn column(table: &Table, of_flows: usize, place: usize, name: &str) -> Option<Figures> {
    let is_total = ["total", "aggregate", "sum"].iter().any(|word| has_word(name, word));
    let mut flows: Vec<Flow> = Vec::new();
    let mut unit = None;
    for row in &table.rows {
        let (Some(at_once), Some((rate, own))) = (transfers(&row[of_flows]), number(&row[place])) else {
            continue;
        };
        // Cells of several units are not comparable.
        if *unit.get_or_insert(own) != own {
            return None;
        }
        flows.push(Flow { at_once, rate, is_total });
    }
    (flows.len() >= 2).then_some(Figures::Flows(flows))
}

/// Reads `GPU0->GPU4 + GPU1->GPU6`, `0,1 -> 4`.
fn transfers(cell: &str) -> Option<Vec<String>> {
    let plain = cell.to_ascii_uppercase().replace("GPU", "").replace('→', "->").replace("=>", "->");
    let mut all = Vec::new();
    for part in plain.split(['+', '&', ';']) {
        let (from, to) = part.split_once("->")?;
        let (from, to) = (cards(from)?, cards(to)?);
        if from.len() * to.len() > AT_ONCE_MAX {
            return None;
        }
        for one in &from {
            all.extend(to.iter().map(|other| format!("{one}->{other}")));
        }
    }
    (all.len() <= AT_ONCE_MAX).then_some(all)
}

fn cards(text: &str) -> Option<Vec<u32>> {
    let list = text.trim().trim_matches(['{', '}', '(', ')', '[', ']']);
    list.split(',').map(|card| card.trim().parse().ok().filter(|card| *card < INDEX_MAX)).collect()
}
