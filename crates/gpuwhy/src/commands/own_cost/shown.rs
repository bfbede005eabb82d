//! The figures of `gpuwhy self`, as people read them.

use gpuwhy_model::text::{Arg, Text};
use gpuwhy_render::{Words, message, table};
use gpuwhy_sources::Part;

use super::report::{CostReport, PartCost, SampleCost};

/// Returns the table and the lines below it.
pub(super) fn text(report: &CostReport, words: &Words<'_>) -> String {
    let word = |text: Text| words.sentence(&text);
    let (calm, full) = (&report.calm_tick, &report.full_look);
    let columns = [message::cost_processor(), message::cost_wall(), message::cost_files()].map(word);
    let mut rows = vec![
        [String::new(), word(message::cost_calm()), String::new(), String::new(), word(message::cost_full())]
            .to_vec(),
        [String::new()].into_iter().chain(columns.clone()).chain(columns).collect(),
    ];
    let all = |name: Text, ms: fn(&SampleCost) -> f64, files: Option<fn(&SampleCost) -> u64>| {
        let cells = |cost: &SampleCost| {
            [figure(ms(cost)), String::new(), files.map_or_else(String::new, |files| files(cost).to_string())]
        };
        [word(name)].into_iter().chain(cells(calm)).chain(cells(full)).collect::<Vec<String>>()
    };
    for part in Part::ALL {
        let parts = [calm.part(*part), full.part(*part)];
        if parts.iter().flatten().all(|cost| cost.processor_ms < 0.05 && cost.files == 0) {
            continue;
        }
        let cells = |cost: Option<&PartCost>| match cost {
            Some(cost) => [figure(cost.processor_ms), figure(cost.wall_ms), cost.files.to_string()],
            None => [const { String::new() }; 3],
        };
        rows.push([word(name(*part))].into_iter().chain(parts.into_iter().flat_map(cells)).collect());
    }
    rows.push(all(message::cost_child(), |cost| cost.child_ms, None));
    rows.push(all(message::cost_library(), |cost| cost.library_ms, None));
    rows.push(all(message::cost_all(), |cost| cost.processor_ms, Some(|cost| cost.files)));
    let mut lines = vec![message::cost_calls(calm.library_calls, full.library_calls)];
    let memory = &report.memory;
    if let Some(own) = memory.own_bytes {
        let child = memory.child_bytes.unwrap_or(0);
        lines.push(message::cost_memory(Arg::Bytes(own + child), Arg::Bytes(child), Arg::Bytes(own)));
    }
    lines.push(message::cost_ticks(report.calm_ticks, report.full_looks));
    let lines: Vec<String> = lines.into_iter().map(word).collect();
    format!("{}\n{}\n", table(&rows), lines.join("\n"))
}

fn figure(milliseconds: f64) -> String {
    format!("{milliseconds:.1}")
}

/// Returns what a source is called.
fn name(part: Part) -> Text {
    match part {
        Part::Host => message::cost_host(),
        Part::KernelLog => message::cost_kernel_log(),
        Part::Machine => message::cost_machine(),
        Part::ProcessList => message::cost_process_list(),
        Part::Cards => message::cost_cards(),
        Part::Descriptors => message::cost_descriptors(),
        Part::ProcessStates => message::cost_process_states(),
        Part::Descriptions => message::cost_descriptions(),
        Part::ProcessDetails => message::cost_process_details(),
        Part::ControlGroups => message::cost_control_groups(),
        Part::OtherCards => message::cost_other_cards(),
    }
}
