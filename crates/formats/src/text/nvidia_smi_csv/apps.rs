//! Rows about processes: `--query-compute-apps`, and what accounting and page retirement say.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ClientKind, TimedValue};
use gpuwhy_model::scene::{Client, UnplacedClient};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::Bytes;

use super::cells::{Row, amount};
use super::columns::{Column, Value};
use super::times::{Moment, moment};
use crate::kernel_log::pci_address;

/// One row: a process on a card.
#[derive(Debug, Clone)]
pub(super) struct AppRow {
    moment: Option<Moment>,
    unplaced: UnplacedClient,
}

/// Reads a row; none when it names no process.
pub(super) fn app(row: &Row<'_, '_>) -> Option<AppRow> {
    let pid = row.whole(Column::Pid)?;
    let mut client = Client::of(Pid(pid), ClientKind::Compute);
    // In a list of processes `name` is theirs.
    let name = row.text(Column::ProcessName).or(row.text(Column::Name));
    client.name = name.map(masked_text);
    for (column, unit, reading) in row.readings() {
        if column == Column::Card(Value::MemoryUsed) {
            client.memory = reading.and_then(|text| amount(text, unit).into());
        }
    }
    let text = |column| row.text(column).known().copied();
    Some(AppRow {
        moment: text(Column::Time).and_then(moment),
        unplaced: UnplacedClient {
            card_uuid: text(Column::Uuid).map(str::to_owned),
            card_address: text(Column::Address).and_then(pci_address),
            client,
        },
    })
}

/// Returns the processes of the newest look, with what each held over all looks.
pub(super) fn newest(rows: &[AppRow]) -> Vec<UnplacedClient> {
    let key = |row: &AppRow| {
        (row.unplaced.card_uuid.clone(), row.unplaced.card_address.clone(), row.unplaced.client.pid)
    };
    let mut held: BTreeMap<_, Vec<TimedValue>> = BTreeMap::new();
    let mut look: Vec<&AppRow> = Vec::new();
    let first = rows.iter().find_map(|row| row.moment);
    for row in rows {
        // A process that was seen begins the next look.
        if look.iter().any(|other| key(other) == key(row)) {
            look.clear();
        }
        look.push(row);
        let since = row.moment.zip(first).and_then(|(moment, first)| moment.since(first));
        if let (Some(since), Reading::Known(Bytes(bytes))) =
            (since.filter(|since| *since >= 0.0), &row.unplaced.client.memory)
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative; saturates"
            )]
            let time_us = (since * 1e6) as u64;
            held.entry(key(row)).or_default().push(TimedValue { time_us, value: *bytes as f64 });
        }
    }
    look.into_iter()
        .map(|row| {
            let mut unplaced = row.unplaced.clone();
            let trend =
                held.get(&key(row)).filter(|values| values.len() > 1).and_then(|values| Trend::of(values));
            unplaced.client.memory_trend = trend.into();
            unplaced
        })
        .collect()
}
