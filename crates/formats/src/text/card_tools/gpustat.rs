//! Output of `gpustat`: its lines in all their widths, and `gpustat --json`.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardClient, CardSample, ClientKind};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::json_document::{begins_with, document};
use super::looks::{Look, add_processes, memory, process, scene, time};
use super::nvidia_scene::container_of;
use super::value::{bytes, number, said};
use super::{Block, Context, Remark};
use crate::Format;
use crate::nvidia_cell::{UNKNOWN, error_code, failure};
use crate::paste::Line;

/// The highest number that a card can have.
const INDEX_MAX: u32 = 4096;
/// So many looks are kept.
const LOOKS_MAX: usize = 1024;
/// Units of temperatures.
const DEGREES: &[&str] = &["'C", "°C", "C", "ºC"];

/// Reads the output that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let mut block = text(lines).or_else(|| json(lines))?;
    block.scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    Some(block)
}

/// One line about a card, and the processes in it.
#[derive(Debug, Default)]
struct CardLine {
    card: CardSample,
    held: Held,
    processes: Vec<Process>,
}

/// What a line says of a card's processes.
#[derive(Debug, Default)]
enum Held {
    /// The line does not get so far.
    #[default]
    Unknown,
    Unsupported,
    /// Each with its number, where there is one, its name and what it holds.
    By(Vec<(Option<Pid>, Option<String>, Reading<Bytes>)>),
}

fn text(lines: &[Line<'_>]) -> Option<Block> {
    let first = lines.first()?;
    // Every line of a paste is asked: the next one tells soonest.
    let is_own = card_line(&first.text).is_some()
        || lines
            .get(1)
            .is_some_and(|next| next.text.trim_start().starts_with('[') && card_line(&next.text).is_some())
            && heading(&first.text).is_some();
    if !is_own {
        return None;
    }
    let mut looks: Vec<(Look, Vec<CardLine>)> = Vec::new();
    let mut hostname = None;
    let mut taken = 0;
    for (line, place) in lines.iter().zip(1..) {
        if let Some(card) = card_line(&line.text) {
            // A number that is not higher begins another look.
            let begins = looks
                .last()
                .is_none_or(|(_, cards)| cards.last().is_some_and(|last| card.card.index <= last.card.index));
            if begins {
                looks.push((Look::default(), Vec::new()));
            }
            if let Some((_, cards)) = looks.last_mut() {
                cards.push(card);
            }
        } else if let Some((pid, command)) = command_line(&line.text)
            && let Some(card) = looks.last_mut().and_then(|(_, cards)| cards.last_mut())
        {
            let words: Vec<&str> = command.split_whitespace().collect();
            card.processes.push(process(pid, None, &words, None));
        } else if let Some((host, at, driver)) = heading(&line.text)
            && lines.get(place).is_some_and(|next| card_line(&next.text).is_some())
        {
            hostname = Some(host.to_owned());
            let driver_version = driver.map(str::to_owned).into();
            looks.push((Look { at, driver_version, ..Look::default() }, Vec::new()));
        } else {
            break;
        }
        taken = place;
    }
    if looks.len() > LOOKS_MAX {
        looks.drain(..looks.len() - LOOKS_MAX);
    }
    // Looks of which one has no time, or that are out of order, are told apart by their order only.
    let is_dated = looks.windows(2).all(|pair| pair[0].0.at.is_some() && pair[0].0.at < pair[1].0.at);
    if !is_dated {
        looks.drain(..looks.len() - 1);
    }
    let (scene, hostname) = (scene_of_lines(looks), hostname);
    let mut scene = scene;
    scene.machine.hostname = hostname.into();
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn scene_of_lines(mut looks: Vec<(Look, Vec<CardLine>)>) -> Scene {
    let newest = looks.last_mut().map(|(_, cards)| std::mem::take(cards)).unwrap_or_default();
    let mut processes = Vec::new();
    let mut sums: Vec<(u32, Reading<Bytes>)> = Vec::new();
    let last = looks.len().saturating_sub(1);
    let mut newest: Vec<CardSample> = newest
        .into_iter()
        .map(|mut line| {
            let sum = line.give_clients();
            sums.push((line.card.index, sum));
            processes.append(&mut line.processes);
            line.card
        })
        .collect();
    let looks = looks
        .into_iter()
        .enumerate()
        .map(|(place, (mut look, cards))| {
            look.cards = if place == last {
                std::mem::take(&mut newest)
            } else {
                cards.into_iter().map(|line| line.card).collect()
            };
            look
        })
        .collect();
    let mut scene = scene(looks, Format::Gpustat);
    for card in &mut scene.cards {
        // Users without process numbers still say how much is explained.
        if let Some((_, Reading::Known(sum))) = sums.iter().find(|(index, _)| *index == card.index)
            && !card.clients.is_known()
        {
            card.unexplained = card.memory.as_ref().map(|memory| Bytes(memory.used.0.saturating_sub(sum.0)));
        }
    }
    add_processes(&mut scene, processes);
    scene
}

impl CardLine {
    /// Gives the card its clients where they have numbers; returns what all of them hold together.
    fn give_clients(&mut self) -> Reading<Bytes> {
        let held = match std::mem::take(&mut self.held) {
            Held::Unknown => return Reading::default(),
            Held::Unsupported => {
                self.card.clients = Reading::Unsupported;
                return Reading::Unsupported;
            }
            Held::By(held) => held,
        };
        let mut sum = 0_u64;
        for (.., memory) in &held {
            match memory {
                Reading::Known(bytes) => sum = sum.saturating_add(bytes.0),
                absent => return absent.clone(),
            }
        }
        // With full commands the numbers stand below the line, in the same order.
        let below = self.processes.iter().map(|process| (process.key.pid, process.name.clone()));
        let below: Vec<(Pid, String)> = below.collect();
        let has_all_below = below.len() == held.len();
        let clients: Option<Vec<CardClient>> = held
            .into_iter()
            .enumerate()
            .map(|(place, (pid, name, memory))| {
                let (pid_below, name_below) =
                    if has_all_below { below.get(place).cloned().unzip() } else { (None, None) };
                Some(CardClient {
                    pid: pid.or(pid_below)?,
                    kind: ClientKind::Compute,
                    memory,
                    name: name.or(name_below).into(),
                })
            })
            .collect();
        self.card.clients = clients.into();
        Reading::Known(Bytes(sum))
    }
}

/// Reads `host  Thu Nov  5 10:11:12 2020  450.80.02`.
fn heading(text: &str) -> Option<(&str, Option<Timestamp>, Option<&str>)> {
    let text = text.trim();
    if text.len() > 200 || !text.contains(':') || text.contains('|') {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (host, rest) = words.split_first()?;
    let (driver, date) = match rest.split_last() {
        Some((last, date))
            if last.contains('.') && last.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            (Some(*last), date)
        }
        _ => (None, rest),
    };
    let at = time(&date.join(" "));
    // Other languages write their dates otherwise, with a year in them all the same.
    let is_date = at.is_some() || date.iter().any(|word| word.contains("20") && word.len() >= 4);
    (is_date && date.len() >= 2).then_some((*host, at, driver))
}

/// Reads `[0] Some Card | 45'C,  33 %,   0 %,  125 / 250 W |  8000 / 12287 MB | user(4000M)`.
fn card_line(text: &str) -> Option<CardLine> {
    let (index, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let index: u32 = index.trim().parse().ok().filter(|index| *index < INDEX_MAX)?;
    let mut parts = rest.split('|').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty()).or_else(|| parts.next())?;
    let mut stats = Vec::new();
    let mut amounts = None;
    for part in parts.by_ref() {
        if let Some(found) = used_of_total(part) {
            amounts = Some(found);
            break;
        }
        stats.push(part);
    }
    let (used, total) = amounts?;
    let mut card = CardSample {
        index,
        handle: Reading::Known(()),
        memory: memory(&used, &total),
        ..CardSample::default()
    };
    take_name(name, &mut card);
    let stats = stats.join(",");
    if !stats.is_empty() && !take_stats(&stats, &mut card) {
        return None;
    }
    let held = parts.next().map_or(Held::Unknown, held);
    Some(CardLine { card, held, processes: Vec::new() })
}

/// A card that does not answer has words in brackets for a name.
fn take_name(name: &str, card: &mut CardSample) {
    let words = name.strip_prefix("((").and_then(|rest| rest.strip_suffix("))"));
    match words {
        Some(words) => {
            card.handle = Reading::Failed(failure(error_code(words).unwrap_or(UNKNOWN)));
            card.name = card.handle.clone().and_then(|()| Reading::default());
        }
        None => card.name = said(name).map(masked_text),
    }
}

fn used_of_total(text: &str) -> Option<(Reading<Bytes>, Reading<Bytes>)> {
    let inside = text.strip_suffix("MB").or_else(|| text.strip_suffix("MiB"))?;
    let (used, total) = inside.split_once('/')?;
    Some((bytes(used, 20), bytes(total, 20)))
}

/// Reads temperature, fan, use, codec and power; returns whether it could be one of these.
fn take_stats(text: &str, card: &mut CardSample) -> bool {
    let (text, codec) = match text.split_once('(') {
        Some((before, rest)) => match rest.split_once(')') {
            Some((codec, behind)) => (format!("{before}{behind}"), Some(codec)),
            None => (before.to_owned(), None),
        },
        None => (text.to_owned(), None),
    };
    let mut shares = Vec::new();
    let mut has_heat = false;
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if DEGREES.iter().any(|unit| part.ends_with(unit)) {
            card.temperature = number(part, DEGREES).map(Celsius);
            has_heat = true;
        } else if let Some(power) = part.strip_suffix('W') {
            let (drawn, limit) = power.split_once('/').unwrap_or((power, ""));
            card.power = number(drawn, &[""]).map(Watts);
            card.power_limits.enforced = number(limit, &[""]).map(Watts);
        } else if part.ends_with('%') {
            shares.push(number(part, &["%"]).map(Percent));
        }
    }
    // The fan comes before the use of the card.
    if let Some(busy) = shares.pop() {
        card.busy = busy;
    }
    if let Some(fan) = shares.pop() {
        card.fan = fan;
    }
    if let Some(codec) = codec {
        let share = |letter: &str| {
            let behind = codec.split_once(letter).map(|(_, behind)| behind);
            behind.map_or_else(Reading::default, |behind| {
                number(behind.split('%').next().unwrap_or_default().trim(), &[""]).map(Percent)
            })
        };
        card.encoder = share("E:");
        card.decoder = share("D:");
    }
    has_heat
}

/// Reads `user1:python/48448(4000M) user2(300M)`.
fn held(text: &str) -> Held {
    if text.eq_ignore_ascii_case("(not supported)") {
        return Held::Unsupported;
    }
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((who, behind)) = rest.split_once('(') {
        let Some((amount, next)) = behind.split_once(')') else {
            return Held::Unknown;
        };
        let who = who.trim();
        let (who, pid) = match who.rsplit_once('/') {
            Some((before, pid)) if pid.parse::<u32>().is_ok() => (before, pid.parse().ok().map(Pid)),
            _ => (who, who.parse().ok().map(Pid)),
        };
        let name = who.split_once(':').map(|(_, name)| masked_text(name));
        all.push((pid, name, bytes(amount, 20)));
        rest = next;
    }
    if rest.trim().is_empty() { Held::By(all) } else { Held::Unknown }
}

/// Reads `├─ 48448 ( 110%,  4.5GB): python train.py`.
fn command_line(text: &str) -> Option<(Pid, &str)> {
    let text = text.trim_start();
    let rest = text.strip_prefix('├').or_else(|| text.strip_prefix('└'))?;
    let rest = rest.trim_start_matches(['─', ' ']);
    let (pid, rest) = rest.split_once('(')?;
    let (_, command) = rest.split_once("):")?;
    Some((Pid(pid.trim().parse().ok()?), command.trim()))
}

fn json(lines: &[Line<'_>]) -> Option<Block> {
    if !begins_with(lines, &["\"query_time\"", "\"utilization.gpu\"", "\"temperature.gpu\""]) {
        return None;
    }
    let read = document(lines)?;
    let gpus = read.value.get("gpus")?.as_array()?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut processes = Vec::new();
    let cards: Vec<CardSample> = gpus.iter().filter_map(|gpu| card_of_json(gpu, &mut processes)).collect();
    let number = cards.len();
    let at = text(&read.value, "query_time").and_then(|time| {
        let local = DateTime::strptime("%Y-%m-%dT%H:%M:%S%.f", &time).ok()?;
        TimeZone::UTC.to_timestamp(local).ok()
    });
    let look =
        Look { at, driver_version: text(&read.value, "driver_version").into(), cards, ..Look::default() };
    let mut scene = scene(vec![look], Format::Gpustat);
    scene.machine.hostname = text(&read.value, "hostname").into();
    add_processes(&mut scene, processes);
    let last = lines.get(read.lines.saturating_sub(1)).map_or(0, |line| line.number);
    let remarks = if read.is_cut { vec![Remark::Cut { line: last, cards: number }] } else { Vec::new() };
    Some(Block { lines: read.lines, scene, remarks })
}

fn card_of_json(gpu: &Value, processes: &mut Vec<Process>) -> Option<CardSample> {
    let index = u32::try_from(gpu.get("index")?.as_u64()?).ok().filter(|index| *index < INDEX_MAX)?;
    let number = |key: &str| of_json(gpu.get(key), Value::as_f64);
    let text = |key: &str| of_json(gpu.get(key), Value::as_str).map(str::to_owned);
    let mebibytes = |key: &str| {
        of_json(gpu.get(key), Value::as_u64).and_then(|number| number.checked_mul(1 << 20).map(Bytes).into())
    };
    let mut card = CardSample {
        index,
        handle: Reading::Known(()),
        uuid: text("uuid"),
        temperature: number("temperature.gpu").map(Celsius),
        fan: number("fan.speed").map(Percent),
        busy: number("utilization.gpu").map(Percent),
        encoder: number("utilization.enc").map(Percent),
        decoder: number("utilization.dec").map(Percent),
        power: number("power.draw").map(Watts),
        memory: memory(&mebibytes("memory.used"), &mebibytes("memory.total")),
        ..CardSample::default()
    };
    card.power_limits.enforced = number("enforced.power.limit").map(Watts);
    if let Some(name) = gpu.get("name").and_then(Value::as_str) {
        take_name(name, &mut card);
    }
    card.clients = of_json(gpu.get("processes"), Value::as_array)
        .map(|list| list.iter().filter_map(|entry| client(entry, processes)).collect());
    Some(card)
}

/// Returns a value; `null` says that the card has none.
fn of_json<'value, T>(value: Option<&'value Value>, read: impl Fn(&'value Value) -> Option<T>) -> Reading<T> {
    match value {
        None => Reading::default(),
        Some(Value::Null) => Reading::Unsupported,
        Some(value) => read(value).map_or_else(
            || {
                let expected = "a number or a text".to_owned();
                Failure::Syntax { path: Format::Gpustat.to_string(), line: 0, expected }.into_reading()
            },
            Reading::Known,
        ),
    }
}

fn client(entry: &Value, processes: &mut Vec<Process>) -> Option<CardClient> {
    let pid = Pid(u32::try_from(entry.get("pid")?.as_u64()?).ok()?);
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let arguments: Vec<&str> = entry
        .get("full_command")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut process = process(pid, text("username"), &arguments, text("command"));
    let resident = entry.get("cpu_memory_usage").and_then(Value::as_u64);
    process.resident = resident.map(Bytes).into();
    processes.push(process);
    Some(CardClient {
        pid,
        kind: ClientKind::Compute,
        memory: of_json(entry.get("gpu_memory_usage"), Value::as_u64)
            .and_then(|number| number.checked_mul(1 << 20).map(Bytes).into()),
        name: text("command").map(masked_text).into(),
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::{Failure, Reading};
    use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};

    use super::super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    #[test]
    fn lines_of_every_width_are_read() {
        let text = "\
node-1                          Thu Nov  5 10:11:12 2020  450.80.02
\u{1b}[36m[0]\u{1b}[m \u{1b}[34mSome Card\u{1b}[m | 45'C,  33 %,   7 % (E:   5 %  D:   0 %),  125 / 250 W |  8000 / 12287 MB | alice:python/48448(4000M) bob/77(300M)
[1] Other Card | ??'C, ?? %, ?? / 250 W | 9000 / 12189 MB | carol(3000M) dave(2500M)
[2] Old Card  | 71°C,  ?? % |     0 / 12189 MB | (Not Supported)
[3] ((GPU is lost)) | ??°C, ?? % | ?? / ?? MB | (Not Supported)
[4] Idle Card | 30°C, 0 % | 3 / 100 MB |

more
";
        let block = block(text).unwrap();
        assert_eq!(block.lines, 6);
        let scene = block.scene;
        assert_eq!(scene.window.taken_at.to_string(), "2020-11-05T10:11:12Z");
        assert_eq!(scene.machine.hostname, Reading::Known("node-1".into()));
        assert_eq!(scene.machine.driver.version, Reading::Known("450.80.02".into()));
        let card = &scene.cards[0];
        assert_eq!(card.temperature.known().unwrap().last, Celsius(45.0));
        assert_eq!(
            (&card.fan, card.busy.known().unwrap().last),
            (&Reading::Known(Percent(33.0)), Percent(7.0))
        );
        assert_eq!(
            (card.power.known().unwrap().last, card.encoder.known().unwrap().last),
            (Watts(125.0), Percent(5.0))
        );
        assert_eq!(card.power_limits.enforced, Reading::Known(Watts(250.0)));
        let clients = card.known_clients();
        assert_eq!(
            (clients[0].pid.0, clients[1].pid.0, &clients[1].name),
            (77, 48448, &Reading::Known("python".into()))
        );
        assert_eq!(card.unexplained, Reading::Known(Bytes((8000 - 4300) << 20)));
        let named = &scene.cards[1];
        assert_eq!((&named.busy, &named.temperature), (&Reading::Unsupported, &Reading::Unsupported));
        assert!(named.clients.is_not_in_source(), "users have no numbers");
        assert_eq!(named.unexplained, Reading::Known(Bytes((9000 - 5500) << 20)));
        assert_eq!(scene.cards[2].clients, Reading::Unsupported);
        assert!(matches!(scene.cards[3].handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
        assert_eq!(scene.cards[4].clients, Reading::Known(Vec::new()));
    }

    #[test]
    fn full_commands_stand_below_their_card() {
        let text = "\
[0] Some Card | 45'C, 7 % | 8000 / 12287 MB | alice(4000M) bob(300M)
 ├─ 48448 ( 110%,  4.5GB): python train.py --api-key=abcdefgh12345678
 └─    77 (   0%, 530MB): /usr/bin/jupyter lab
[1] | Rust Card | 30'C | 75 % | 33409 / 40536 MB | along(33407M)
";
        let scene = block(text).unwrap().scene;
        let clients = scene.cards[0].known_clients();
        assert_eq!((clients[1].pid.0, &clients[1].memory), (48448, &Reading::Known(Bytes(4000 << 20))));
        assert_eq!(scene.processes.len(), 2);
        assert_eq!(scene.processes[1].command.known().unwrap().line(), "python train.py --api-key=***");
        assert_eq!(scene.cards[1].busy.known().unwrap().last, Percent(75.0));
    }

    #[test]
    fn outputs_in_a_row_are_looks() {
        let look = |second, busy| {
            format!(
                "h  Thu Nov  5 10:11:{second:02} 2020  450.1\n[0] Some Card | 45'C, {busy} % | 1 / 9 MB | a(1M)\n"
            )
        };
        let block = block(&format!("{}{}{}", look(1, 10), look(3, 20), look(5, 60))).unwrap();
        assert_eq!((block.lines, block.scene.window.samples, block.scene.window.span_s), (6, 3, 4.0));
        assert_eq!(block.scene.cards[0].busy.known().unwrap().n, 3);
        let undated = "[0] Some Card | 45'C, 1 % | 1 / 9 MB |\n[0] Some Card | 45'C, 9 % | 1 / 9 MB |\n";
        let newest = self::block(undated).unwrap().scene;
        assert_eq!((newest.window.samples, newest.cards[0].busy.known().unwrap().last), (1, Percent(9.0)));
    }

    #[test]
    fn json_is_read() {
        let text = r#"{
    "hostname": "node-1", "driver_version": "550.1", "query_time": "2026-01-02T10:00:00.5",
    "gpus": [
        {"index": 0, "uuid": "GPU-a", "name": "Some Card", "temperature.gpu": 76, "fan.speed": null,
         "utilization.gpu": 99, "power.draw": 125.5, "enforced.power.limit": 250, "memory.used": 8000, "memory.total": 12189,
         "processes": [{"username": "alice", "command": "python", "full_command": ["python", "train.py"],
                        "cpu_memory_usage": 1048576, "gpu_memory_usage": 4000, "pid": 48448}]},
        {"index": 1, "uuid": "GPU-b", "name": "Some Card", "processes": null}
    ]
}
"#;
        let block = block(text).unwrap();
        assert_eq!((block.lines, block.remarks.len()), (10, 0));
        let card = &block.scene.cards[0];
        assert_eq!((&card.fan, card.power.known().unwrap().last), (&Reading::Unsupported, Watts(125.5)));
        assert_eq!(card.known_clients()[0].memory, Reading::Known(Bytes(4000 << 20)));
        assert_eq!(block.scene.cards[1].clients, Reading::Unsupported);
        assert_eq!(block.scene.processes[0].user, Reading::Known("alice".into()));
        let cut = self::block(&text[..text.find("{\"index\": 1").unwrap()]).unwrap();
        assert_eq!((cut.scene.cards.len(), cut.remarks.len()), (1, 1));
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in [
            "[0] hello | world\n",
            "[12] Fri Nov 5 10:11:12 2020 done\n",
            "host Thu Nov  5 10:11:12 2020\nhello\n",
            "[0] a | b | 5 / 7 MB | x\n",
            "{\"gpus\": 1}\n",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
