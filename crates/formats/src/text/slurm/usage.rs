//! What a job made of what it was given, as far as accounting says it.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Job, JobUsage};
use gpuwhy_model::units::{Percent, Seconds, Share};

use super::field::Field;
use super::record::Record;
use super::tres;
use super::words::{memory, time};

/// Returns the usage that a record of accounting says.
pub(super) fn of_record(record: &Record, job: &Job) -> JobUsage {
    let mut usage = JobUsage {
        memory: record.get(Field::MemoryUsed).and_then(memory).map(|(bytes, _)| bytes).into(),
        cpu_time: record.get(Field::CpuTime).and_then(|text| time(text, 1.0)).unwrap_or_default(),
        ..JobUsage::default()
    };
    let mean = record.get(Field::UsedTresMean).and_then(tres::pairs);
    let all = record.get(Field::UsedTres).and_then(tres::pairs);
    for (name, value) in mean.into_iter().chain(all).flatten() {
        add(&mut usage, name, value, job);
    }
    settle_shares(&mut usage, job);
    usage
}

/// Adds what one entry of a list of used TRES says.
pub(super) fn add(usage: &mut JobUsage, name: &str, value: &str, job: &Job) {
    match name {
        "gres/gpuutil" => {
            let busy = value.parse::<f64>().ok().and_then(|sum| mean_of_cards(sum, job));
            usage.gpu_busy = usage.gpu_busy.clone().or(busy.map(Percent).into());
        }
        "gres/gpumem" => {
            let held = memory(value).map(|(bytes, _)| bytes);
            usage.gpu_memory = usage.gpu_memory.clone().or(held.into());
        }
        "mem" => {
            let used = memory(value).map(|(bytes, _)| bytes);
            usage.memory = usage.memory.clone().or(used.into());
        }
        "cpu" => {
            let used = time(value, 1.0).unwrap_or_default();
            usage.cpu_time = usage.cpu_time.clone().or(used);
        }
        _ => {}
    }
}

/// Returns the mean utilization of a job's cards: accounting adds them up.
fn mean_of_cards(sum: f64, job: &Job) -> Option<f64> {
    let cards = job.given.cards.clone().or(job.asked.cards.clone()).into_known().unwrap_or(1).max(1);
    let mean = if sum > 100.0 { sum / cards as f64 } else { sum };
    (0.0..=100.0).contains(&mean).then_some(mean)
}

/// Works out shares of what was given, where they are not said themselves.
pub(super) fn settle_shares(usage: &mut JobUsage, job: &Job) {
    let cpus = job.given.cpus.clone().or(job.asked.cpus.clone());
    if let (Reading::Known(Seconds(used)), Reading::Known(cpus), Reading::Known(Seconds(elapsed))) =
        (&usage.cpu_time, &cpus, &job.elapsed)
        && cpus.0 * elapsed > 0.0
    {
        usage.cpu_share = usage.cpu_share.clone().or(Reading::Known(Share(used / (cpus.0 * elapsed))));
    }
    let given = job.given.memory.clone().or(job.asked.memory.clone());
    if let (Reading::Known(used), Reading::Known(given)) = (&usage.memory, &given)
        && given.0 > 0
    {
        let share = Share(used.0 as f64 / given.0 as f64);
        usage.memory_share = usage.memory_share.clone().or(Reading::Known(share));
    }
}
