//! Captures of real machines against a list of values that a person read in them before any parser was opened.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;

use beside::beside;
use gpuwhy_formats::text::understand;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardMemory, ClientKind, ClockReasons, KernelFact};
use gpuwhy_model::scene::{Card, Client, Scene};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, Quantity};
use gpuwhy_model::window::merge;

const LIST: &str = include_str!("captures/by_eye.txt");

/// What stands for a value that must stay unknown.
const UNKNOWN: &str = "-";

/// So many values are compared at least: fewer would mean that the list was not understood.
const VALUES_MIN: usize = 150;

/// Reasons for lower clocks, and how the list calls them.
const REASONS: &[(u64, &str)] = &[
    (ClockReasons::IDLE, "idle"),
    (ClockReasons::APPLICATION_CLOCKS, "application clocks"),
    (ClockReasons::SOFTWARE_POWER_CAP, "software power cap"),
    (ClockReasons::HARDWARE_SLOWDOWN, "hardware slowdown"),
    (ClockReasons::SYNC_BOOST, "sync boost"),
    (ClockReasons::SOFTWARE_THERMAL, "software thermal"),
    (ClockReasons::HARDWARE_THERMAL, "hardware thermal"),
    (ClockReasons::POWER_BRAKE, "power brake"),
];

/// One capture, or one section of it, with the lines of the list about it.
struct Capture<'list> {
    file: &'list str,
    section: Option<&'list str>,
    values: Vec<[&'list str; 3]>,
}

fn captures() -> Vec<Capture<'static>> {
    let mut captures: Vec<Capture<'static>> = Vec::new();
    for line in LIST.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(place) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (file, section) =
                place.split_once(" § ").map_or((place, None), |(file, section)| (file, Some(section)));
            captures.push(Capture { file, section, values: Vec::new() });
            continue;
        }
        let mut parts = line.split('|').map(str::trim);
        let value = [parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap()];
        assert!(parts.next().is_none(), "{line}");
        captures.last_mut().unwrap().values.push(value);
    }
    captures
}

/// Returns one section of a bundle, with the command that made it above.
fn section(text: &str, wanted: &str) -> String {
    let is_ruler = |line: &str| line.len() > 40 && line.bytes().all(|byte| byte == b'#');
    let title = format!("# {wanted}");
    let behind = text.lines().skip_while(|line| line.trim_end() != title).skip(1);
    let mut lines: Vec<&str> = Vec::new();
    let mut has_head_ended = false;
    for line in behind {
        if is_ruler(line.trim_end()) {
            if has_head_ended {
                break;
            }
            has_head_ended = true;
            continue;
        }
        lines.push(if has_head_ended { line } else { line.trim_start_matches("# ") });
    }
    assert!(!lines.is_empty(), "no section `{wanted}`");
    lines.join("\n")
}

/// Returns all that is understood in a text, as `gpuwhy read` puts it together.
fn scene(text: &str) -> Scene {
    merge(understand(text).pieces.into_iter().map(|piece| piece.scene)).scene
}

#[test]
fn captures_say_what_a_person_reads_in_them() {
    let Some(folder) = beside("testdata") else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for capture in captures() {
        let bytes =
            fs::read(folder.join(capture.file)).unwrap_or_else(|error| panic!("{}: {error}", capture.file));
        let whole = String::from_utf8_lossy(&bytes);
        let text = capture.section.map_or_else(|| whole.clone().into_owned(), |name| section(&whole, name));
        let scene = scene(&text);
        for [who, field, expected] in &capture.values {
            let found = value(&scene, who, field).unwrap_or_else(|| UNKNOWN.to_owned());
            compared += 1;
            if found != *expected {
                let place = capture.section.unwrap_or("whole");
                wrong.push(format!("{} ({place}): {who}, {field}: {found}, not {expected}", capture.file));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} values are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= VALUES_MIN, "only {compared} values");
}

/// Returns a value of the scene as the list writes it; none where it is not known.
fn value(scene: &Scene, who: &str, field: &str) -> Option<String> {
    if who == "host" {
        let driver = &scene.machine.driver;
        return match field {
            "driver" => driver.version.known().cloned(),
            "cuda" => driver.cuda_version.known().cloned(),
            other => panic!("nobody knows `{other}` of a host"),
        };
    }
    if let Some(address) = who.strip_prefix("bus ") {
        assert_eq!(field, "xids", "{who}");
        return xids(scene, address);
    }
    if let Some(pid) = who.strip_prefix("process ") {
        return value_of_process(scene, pid.parse().unwrap(), field);
    }
    // A value may stay unknown, its card may not.
    card(scene, who).map_or_else(|| Some(format!("no {who}")), |card| value_of_card(card, field))
}

/// Returns the numbers of the errors of a card in the kernel log, each once.
fn xids(scene: &Scene, address: &str) -> Option<String> {
    let mut numbers: Vec<u32> = Vec::new();
    for line in scene.events.known()? {
        let Some(KernelFact::Xid { pci_address, number, .. }) = &line.fact else {
            continue;
        };
        if pci_address.starts_with(address) && !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    (!numbers.is_empty()).then(|| numbers.join(", "))
}

/// Returns `card N`, or `card N / mig M`.
fn card<'scene>(scene: &'scene Scene, who: &str) -> Option<&'scene Card> {
    let (whole, instance) = who.split_once(" / ").map_or((who, None), |(whole, part)| (whole, Some(part)));
    let place: usize = whole.strip_prefix("card ").unwrap().parse().unwrap();
    let whole = scene.cards.iter().filter(|card| card.kind == CardKind::Card).nth(place)?;
    let Some(instance) = instance else {
        return Some(whole);
    };
    let index: u32 = instance.strip_prefix("mig ").unwrap().parse().unwrap();
    scene.cards.iter().find(|card| {
        card.kind == CardKind::MigInstance && card.parent == Some(whole.index) && card.index == index
    })
}

fn value_of_process(scene: &Scene, pid: u32, field: &str) -> Option<String> {
    let on_cards = scene
        .cards
        .iter()
        .flat_map(|card| card.known_clients().iter().map(move |client| (Some(card), client)));
    let unplaced = scene.unplaced_clients.iter().map(|unplaced| (None::<&Card>, &unplaced.client));
    let found: Option<(Option<&Card>, &Client)> =
        on_cards.chain(unplaced).find(|(_, client)| client.pid.0 == pid);
    let Some((card, client)) = found else {
        return Some(format!("no process {pid}"));
    };
    match field {
        "card" => card.map(|card| card.index.to_string()),
        "name" => client.name.known().cloned(),
        "memory" => client.memory.known().map(|bytes| mebibytes(*bytes)),
        "sm" => last(&client.sm, "%"),
        "kind" => Some(
            match client.kind {
                ClientKind::Compute => "compute",
                ClientKind::Graphics => "graphics",
                ClientKind::Mps => "mps",
            }
            .to_owned(),
        ),
        other => panic!("nobody knows `{other}` of a process"),
    }
}

fn value_of_card(card: &Card, field: &str) -> Option<String> {
    match field {
        "uuid" => card.uuid.known().cloned(),
        "memory.total" => amount(&card.memory, |memory| memory.total),
        "memory.used" => amount(&card.memory, |memory| memory.used),
        "memory.free" => amount(&card.memory, |memory| memory.free),
        "bar1.total" => amount(&card.bar1, |memory| memory.total),
        "bar1.used" => amount(&card.bar1, |memory| memory.used),
        "util.gpu" => last(&card.busy, "%"),
        "util.memory" => last(&card.memory_busy, "%"),
        "dram active" => last(&card.activity.dram_active, "%"),
        "fan" => now(&card.fan, "%"),
        "temperature" => last(&card.temperature, "C"),
        "temperature.memory" => last(&card.memory_temperature, "C"),
        "power.draw" => last(&card.power, "W"),
        "power.least" => card.power.known().map(|power| figure(power.min.number(), "W")),
        "power.most" => card.power.known().map(|power| figure(power.max.number(), "W")),
        "power.limit" => now(&card.power_limits.enforced, "W"),
        "clock.sm" => now(&card.clocks.sm, "MHz"),
        "clock.sm.max" => now(&card.clocks.sm_max, "MHz"),
        "clock.memory" => now(&card.clocks.memory, "MHz"),
        "pcie.gen" => plain(&card.pcie.generation),
        "pcie.gen.max" => plain(&card.pcie.generation_max),
        "pcie.gen.card" => plain(&card.pcie.card_generation_max),
        "pcie.width" => plain(&card.pcie.width),
        "pcie.width.max" => plain(&card.pcie.width_max),
        "pcie.replays" => plain(&card.pcie.replays),
        "persistence" => card.persistence.known().map(|is_on| yes_or_no(*is_on)),
        "held back" => card.clock_reasons.known().map(|reasons| reasons_of(*reasons)),
        "processes" => card.clients.known().map(|clients| clients.len().to_string()),
        "ecc.volatile.dram.uncorrected" => plain(&card.ecc.volatile.dram_uncorrected),
        "ecc.aggregate.dram.uncorrected" => plain(&card.ecc.aggregate.dram_uncorrected),
        "ecc.aggregate.corrected" => plain(&card.ecc.aggregate.corrected),
        "remapped.uncorrected" => card.remapped_rows.known().map(|rows| rows.uncorrected.to_string()),
        "remapped.pending" => card.remapped_rows.known().map(|rows| yes_or_no(rows.pending)),
        "remapped.failed" => card.remapped_rows.known().map(|rows| yes_or_no(rows.failed)),
        "retired.single" => card.retired_pages.known().map(|pages| pages.single_bit.to_string()),
        "retired.double" => card.retired_pages.known().map(|pages| pages.double_bit.to_string()),
        "retired.pending" => card.retired_pages.known().map(|pages| yes_or_no(pages.pending)),
        other => panic!("nobody knows `{other}` of a card"),
    }
}

fn reasons_of(reasons: ClockReasons) -> String {
    let names: Vec<&str> =
        REASONS.iter().filter(|(bits, _)| reasons.has(*bits)).map(|(_, name)| *name).collect();
    names.join(", ")
}

fn amount(memory: &Reading<CardMemory>, of: impl Fn(&CardMemory) -> Bytes) -> Option<String> {
    memory.known().map(|memory| mebibytes(of(memory)))
}

fn mebibytes(bytes: Bytes) -> String {
    format!("{} MiB", bytes.0 >> 20)
}

fn last<T: Quantity>(trend: &Reading<Trend<T>>, unit: &str) -> Option<String> {
    trend.known().map(|trend| figure(trend.last.number(), unit))
}

fn now<T: Quantity>(reading: &Reading<T>, unit: &str) -> Option<String> {
    reading.known().map(|value| figure(value.number(), unit))
}

fn plain(reading: &Reading<impl ToString>) -> Option<String> {
    reading.known().map(ToString::to_string)
}

/// Returns a number without more places than a capture has.
fn figure(number: f64, unit: &str) -> String {
    format!("{} {unit}", (number * 1e4).round() / 1e4)
}

fn yes_or_no(is_so: bool) -> String {
    let word = if is_so { "yes" } else { "no" };
    word.to_owned()
}
