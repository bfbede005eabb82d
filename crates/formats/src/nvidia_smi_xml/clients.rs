//! Processes that the output lists for a card.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardClient, ClientKind};

use super::element::Element;
use super::value::{memory, small, text};

/// Returns the processes of a card, those of its instances included.
pub(super) fn clients(gpu: &Element) -> Reading<Vec<CardClient>> {
    listed(gpu, |_| true)
}

/// Returns the processes of one instance of a card.
pub(super) fn clients_of_instance(gpu: &Element, device: &Element) -> Reading<Vec<CardClient>> {
    listed(gpu, |process| {
        ["gpu_instance_id", "compute_instance_id"]
            .iter()
            .all(|id| same_text(process.child(&[id]), device.child(&[id])))
    })
}

fn same_text(one: Option<&Element>, other: Option<&Element>) -> bool {
    one.is_some_and(|one| other.is_some_and(|other| one.text == other.text))
}

fn listed(gpu: &Element, belongs: impl Fn(&Element) -> bool) -> Reading<Vec<CardClient>> {
    // Drivers before 340 list compute processes only.
    let Some(section) = gpu.child(&["processes", "compute_processes"]) else {
        return Reading::default();
    };
    if section.children.is_empty()
        && !section.text.is_empty()
        && let Some(absence) = text(Some(section)).absence()
    {
        return absence.reading();
    }
    // An entry without a number cannot be named; its memory shows up as held by nobody.
    let processes = section.children("process_info").filter(|process| belongs(process));
    Reading::Known(processes.filter_map(client).collect())
}

fn client(process: &Element) -> Option<CardClient> {
    let pid = small(process.child(&["pid"]), "", "").into_known()?;
    Some(CardClient {
        pid: Pid(pid),
        kind: kind(process.child(&["type"])),
        memory: memory(process.child(&["used_memory"])),
        name: text(process.child(&["process_name"])).map(masked_text),
    })
}

/// Returns the kind of a process that may have several contexts: a screen's is the one that must not be touched.
fn kind(element: Option<&Element>) -> ClientKind {
    let letters = element.map_or("", |element| element.text.as_str());
    if letters.contains('G') {
        ClientKind::Graphics
    } else if letters.contains('M') {
        ClientKind::Mps
    } else {
        ClientKind::Compute
    }
}
