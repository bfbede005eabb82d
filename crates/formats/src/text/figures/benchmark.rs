//! One measurement of each of several cards, ranks or nodes.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::{Benchmark, Figures, MemberFigure};

use super::table::{Table, has_word, number};

/// Names of the column that tells the members apart.
const MEMBERS: &[&str] = &[
    "gpu",
    "gpus",
    "gpu id",
    "gpu_id",
    "gpu index",
    "gpu_index",
    "gpu #",
    "card",
    "device",
    "device id",
    "rank",
    "local_rank",
    "node",
    "nodes",
    "host",
    "hostname",
    "worker",
    "machine",
    "server",
];
/// What says that a column is a speed.
const SPEEDS: &[&str] = &[
    "tflop",
    "gflop",
    "samples/s",
    "samples per second",
    "samples_per_s",
    "tokens/s",
    "tok/s",
    "tokens_per_s",
    "tokens per second",
    "images/s",
    "img/s",
    "images/sec",
    "it/s",
    "iter/s",
    "steps/s",
    "throughput",
];
/// What says that a column is the time that something took; the unit stands beside it.
const TIMES: &[&str] = &[
    "step time",
    "step_time",
    "iteration time",
    "iter time",
    "iter_time",
    "time per step",
    "time per iteration",
    "elapsed",
    "duration",
    "runtime",
    "benchmark time",
    "time",
];
const UNITS_OF_TIME: &[&str] = &["s", "sec", "seconds", "ms", "us"];
/// What says that members are not alike.
const KINDS: &[&str] = &["model", "product", "type", "name", "sku", "batch", "size", "precision", "dtype"];
/// Of fewer nobody knows which is the odd one.
const MEMBERS_MIN: usize = 3;

pub(super) fn may_begin(first: &str) -> bool {
    SPEEDS.iter().chain(TIMES).any(|name| first.contains(name))
}

pub(super) fn figures(table: &Table) -> Vec<Figures> {
    let names = table.names();
    let is_member = |place: &usize| MEMBERS.contains(&names[*place].as_str());
    let Some(of_members) = (0..names.len()).find(is_member) else {
        return Vec::new();
    };
    let mut members: Vec<&str> = table.column(of_members).collect();
    members.sort_unstable();
    members.dedup();
    let is_once_each = members.len() == table.rows.len() && members.len() >= MEMBERS_MIN;
    let differ = |place: usize| table.column(place).any(|cell| Some(cell) != table.column(place).next());
    let are_kinds = |place: usize| KINDS.iter().any(|word| has_word(&names[place], word));
    if !is_once_each || (0..names.len()).any(|place| place != of_members && are_kinds(place) && differ(place))
    {
        return Vec::new();
    }
    let column = |place: usize| column(table, of_members, place, &names[place]).map(Figures::Benchmark);
    (0..names.len()).filter(|place| *place != of_members).filter_map(column).collect()
}

fn column(table: &Table, of_members: usize, place: usize, name: &str) -> Option<Benchmark> {
    let is_speed = SPEEDS.iter().any(|word| name.contains(word));
    let has_unit = |text: &str| UNITS_OF_TIME.iter().any(|unit| has_word(text, unit));
    let mut members = Vec::new();
    let mut unit = None;
    for row in &table.rows {
        let (value, own) = number(&row[place])?;
        if *unit.get_or_insert(own) != own || value <= 0.0 {
            return None;
        }
        members.push(MemberFigure { name: masked_text(&row[of_members]), value });
    }
    let is_time = !is_speed
        && TIMES.iter().any(|word| has_word(name, word))
        && (has_unit(name) || has_unit(unit.unwrap_or_default()));
    (is_speed || is_time).then(|| Benchmark { column: table.heading[place].clone(), is_time, members })
}
