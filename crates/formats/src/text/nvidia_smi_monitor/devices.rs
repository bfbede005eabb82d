//! Output of `nvidia-smi dmon`, in every selection of columns.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvmlSample, Sample, Section, TimedValue};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{BytesPerSecond, Celsius, Megahertz, Percent, Share, Watts};

use super::columns::{Columns, Row};
use super::looks::Look;
use super::nvidia_scene::scene_of;
use super::{Block, Context, Line, Output};
use crate::Format;

/// Columns of which one at least is in every selection.
const KNOWN: &[&str] = &[
    "pwr", "gtemp", "mtemp", "sm", "mem", "enc", "dec", "jpg", "ofa", "mclk", "pclk", "pviol", "tviol", "fb",
    "bar1", "ccpm", "sbecc", "dbecc", "pci", "rxpci", "txpci", "gract", "smutil",
];

/// One row.
#[derive(Debug)]
struct Device {
    card: CardSample,
    /// Used frame buffer in bytes; its size is in no column.
    used_bytes: Reading<f64>,
    /// Share of the time since the look before that power held the card back, in hundredths.
    power_percent: Reading<f64>,
    /// Whether heat held it back.
    is_hot: Reading<f64>,
}

/// Reads the output that begins with the first of these lines.
pub(crate) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let output = Output {
        heading,
        row: |row| Some(device(row, row.card()?)),
        begins_another: |look, device| look.rows.iter().any(|other| other.card.index == device.card.index),
        scene,
    };
    output.read(lines, context)
}

fn heading(text: &str) -> Option<Columns> {
    let columns = Columns::heading(text)?;
    (!columns.has("pid") && columns.are_mostly(KNOWN)).then_some(columns)
}

fn device(row: &Row<'_, '_>, index: u32) -> Device {
    let percent = |name| row.number(name).map(Percent);
    let rate = |name| row.number(name).map(|megabytes| BytesPerSecond(megabytes * 1e6));
    let mut card = CardSample {
        index,
        handle: Reading::Known(()),
        busy: percent("sm"),
        memory_busy: percent("mem"),
        encoder: percent("enc"),
        decoder: percent("dec"),
        power: row.number("pwr").map(Watts),
        temperature: row.number("gtemp").map(Celsius),
        // A card without a sensor there shows 0 on some drivers.
        memory_temperature: row
            .number("mtemp")
            .and_then(|heat| if heat > 0.0 { Reading::Known(Celsius(heat)) } else { Reading::Unsupported }),
        ..CardSample::default()
    };
    card.clocks.sm = row.number("pclk").map(Megahertz);
    card.clocks.memory = row.number("mclk").map(Megahertz);
    card.ecc.aggregate.corrected = row.whole("sbecc");
    card.ecc.aggregate.uncorrected = row.whole("dbecc");
    card.pcie.replays = row.whole("pci");
    // It counts from the card: what it receives comes from the host.
    card.pcie.to_card = rate("rxpci");
    card.pcie.to_host = rate("txpci");
    card.activity.sm_active = percent("smutil");
    card.activity.sm_occupancy = percent("smoccu").or(percent("smocc"));
    card.activity.dram_active = percent("dram");
    Device {
        card,
        used_bytes: row.number("fb").map(|mebibytes| mebibytes * f64::from(1 << 20)),
        power_percent: row.number("pviol"),
        is_hot: row.number("tviol"),
    }
}

fn scene(looks: &[Look<Device>]) -> Scene {
    let samples: Vec<Sample> = looks
        .iter()
        .map(|look| {
            let taken = look.read_time();
            let cards = look.rows.iter().map(|device| device.card.clone()).collect();
            let mut sample = Sample::empty(taken);
            let value = Reading::Known(NvmlSample { cards, ..NvmlSample::default() });
            sample.nvml = Section { read: taken, value };
            sample
        })
        .collect();
    let has_time = looks.last().is_some_and(|look| look.wall.is_some());
    let mut scene = scene_of(&samples, Format::NvidiaSmiDmon, has_time);
    let used = series(looks, |device| &device.used_bytes);
    let power = series(looks, |device| &device.power_percent);
    let heat = series(looks, |device| &device.is_hot);
    for card in &mut scene.cards {
        if let Some(trend) = used.get(&card.index).and_then(|values| Trend::of(values)) {
            card.memory_used = Reading::Known(trend);
        }
        if let Some(share) = power.get(&card.index).and_then(|values| mean(values)) {
            card.violation_shares.power = Reading::Known(Share((share / 100.0).clamp(0.0, 1.0)));
        }
        if let Some(share) = heat.get(&card.index).and_then(|values| mean(values)) {
            card.violation_shares.thermal = Reading::Known(Share(share.clamp(0.0, 1.0)));
        }
    }
    scene
}

/// Returns the known values of each card, oldest first.
fn series(looks: &[Look<Device>], pick: fn(&Device) -> &Reading<f64>) -> BTreeMap<u32, Vec<TimedValue>> {
    let mut series: BTreeMap<u32, Vec<TimedValue>> = BTreeMap::new();
    for look in looks {
        let time_us = u64::try_from(look.read_time().wall.as_microsecond()).unwrap_or_default();
        for device in &look.rows {
            if let Reading::Known(value) = *pick(device) {
                series.entry(device.card.index).or_default().push(TimedValue { time_us, value });
            }
        }
    }
    series
}

fn mean(values: &[TimedValue]) -> Option<f64> {
    let sum: f64 = values.iter().map(|timed| timed.value).sum();
    (!values.is_empty()).then_some(sum / values.len() as f64)
}
