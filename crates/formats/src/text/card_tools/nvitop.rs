//! What `nvitop -1` prints: a table with drawn frames, and the processes below it.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardClient, CardSample, ClientKind, ProcessUtilization};
use gpuwhy_model::scene::Process;
use gpuwhy_model::units::{Celsius, Cores, Percent, Watts};
use jiff::Timestamp;

use super::looks::{Look, add_processes, memory, process, scene, time};
use super::nvidia_scene::container_of;
use super::value::{bytes, number, said};
use super::{Block, Context, Remark};
use crate::Format;
use crate::kernel_log::pci_address;
use crate::nvidia_cell::{self, compute_mode};
use crate::paste::Line;

/// The highest number that a card can have.
const INDEX_MAX: u32 = 4096;
/// Its heading stands so many lines below the first one at most.
const HEAD_LINES: usize = 4;

/// What one output says, while it is read.
#[derive(Debug, Default)]
struct Output {
    at: Option<Timestamp>,
    driver_version: Reading<String>,
    cuda_version: Reading<String>,
    hostname: Option<String>,
    cards: Vec<CardSample>,
    is_in_processes: bool,
    /// Names of the process panel's columns.
    columns: Vec<String>,
    clients: Vec<(u32, CardClient, Reading<f64>, Reading<f64>)>,
    processes: Vec<Process>,
    says_none: bool,
    /// The line below the processes was seen.
    is_whole: bool,
    remarks: Vec<Remark>,
}

/// Reads the output that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    if !begins(lines) {
        return None;
    }
    let mut output = Output::default();
    let mut taken = 0;
    for (line, place) in lines.iter().zip(1..) {
        let text = line.text.trim();
        if text.is_empty() {
            // Between the cards and the processes.
            if output.is_whole || !lines.get(place).is_some_and(|next| is_own(next.text.trim())) {
                break;
            }
            continue;
        }
        if place > 1 && text.contains("NVITOP ") && !output.driver_version.is_not_in_source() {
            break;
        }
        if taken == 0 && output.at.is_none() && time(text).is_some() {
            output.at = time(text);
        } else if !is_own(text) || output.is_whole {
            break;
        } else {
            output.take(text, line.number);
        }
        taken = place;
    }
    let mut block = output.finish(taken);
    block.scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    Some(block)
}

fn begins(lines: &[Line<'_>]) -> bool {
    let Some(first) = lines.first().map(|line| line.text.trim()) else {
        return false;
    };
    let may_begin = first.starts_with(['╒', '│', '┌', '╭']) || first.len() == 24 && time(first).is_some();
    may_begin
        && lines.iter().take(HEAD_LINES).any(|line| {
            let text = line.text.trim();
            text.starts_with('│') && text.contains("NVITOP ") && text.contains("Version")
        })
}

/// Returns whether a line can belong to the output.
fn is_own(text: &str) -> bool {
    let is_frame = text.starts_with(['╒', '│', '├', '╞', '╘', '└', '╪', '┼', '╧', '╤']);
    is_frame || text.starts_with("[ CPU:") || text.starts_with("[ MEM:") || text.starts_with("[ SWP:")
}

impl Output {
    fn take(&mut self, text: &str, line: u64) {
        if !text.starts_with('│') {
            self.is_whole |= self.is_in_processes && text.starts_with('╘');
            return;
        }
        let cells: Vec<&str> = text.trim_matches('│').split('│').map(str::trim).collect();
        let first = cells.first().copied().unwrap_or_default();
        if first.starts_with("NVITOP ") {
            let version = |label: &str| -> Reading<String> {
                let behind = first.split_once(label).map(|(_, behind)| behind);
                behind.and_then(|behind| behind.split_whitespace().next()).map(str::to_owned).into()
            };
            self.driver_version = version("Driver Version:");
            self.cuda_version = version("CUDA Version:").or(version("CUDA Driver Version:"));
        } else if let Some(rest) = first.strip_prefix("Processes:") {
            self.is_in_processes = true;
            self.hostname = rest.trim().split_once('@').map(|(_, host)| host.to_owned());
        } else if self.is_in_processes {
            // A command may hold the frame's stroke.
            self.take_process(text.trim_matches('│').trim(), line);
        } else if !first.starts_with("GPU ") && !first.starts_with("Fan ") {
            self.take_card(&cells, line);
        }
    }

    fn take_card(&mut self, cells: &[&str], line: u64) {
        let words: Vec<&str> = cells.first().copied().unwrap_or_default().split_whitespace().collect();
        let index = words.first().and_then(|word| word.parse().ok()).filter(|index: &u32| *index < INDEX_MAX);
        let is_heat = |words: &[&str]| words.len() >= 3 && (words[1].ends_with('C') || words[1] == "N/A");
        match (index, &words[..]) {
            // Everything in one row.
            (Some(index), [_, rest @ ..]) if is_heat(rest) && rest[1].ends_with('C') => {
                self.cards.push(CardSample { index, handle: Reading::Known(()), ..CardSample::default() });
                self.take_values(rest, cells);
            }
            (Some(index), [_, name @ .., persistence]) if !name.is_empty() => {
                let address =
                    cells.get(1).and_then(|cell| cell.split_whitespace().next()).and_then(pci_address);
                let mut card = CardSample {
                    index,
                    handle: Reading::Known(()),
                    name: Reading::Known(masked_text(&name.join(" "))),
                    pci_address: address.into(),
                    ..CardSample::default()
                };
                card.persistence = on_or_off(persistence);
                card.display_active = cells
                    .get(1)
                    .and_then(|cell| cell.split_whitespace().nth(1))
                    .map_or_else(Reading::default, on_or_off);
                take_errors(cells.get(2).copied().unwrap_or_default(), &mut card);
                self.cards.push(card);
            }
            (None, words) if is_heat(words) && !self.cards.is_empty() => self.take_values(words, cells),
            _ => self.remarks.push(Remark::NotUnderstood { line }),
        }
    }

    /// Reads fan, temperature, state and power, the memory, the use and the mode.
    fn take_values(&mut self, words: &[&str], cells: &[&str]) {
        let Some(card) = self.cards.last_mut() else {
            return;
        };
        card.fan = match words.first().copied().unwrap_or_default() {
            "MAX" => Reading::Known(Percent(100.0)),
            word => number(word, &["%"]).map(Percent),
        };
        card.temperature = number(words[1], &["C"]).map(Celsius);
        card.performance_state = said(words[2])
            .and_then(|state| state.strip_prefix('P').and_then(|number| number.parse().ok()).into());
        let power = words[3..].join(" ");
        let (drawn, limit) = power.split_once('/').unwrap_or((&power, ""));
        card.power = number(drawn.trim(), &["W"]).map(Watts);
        card.power_limits.enforced = number(limit.trim(), &["W"]).map(Watts);
        if let Some((used, total)) = cells.get(1).and_then(|cell| cell.split_once('/')) {
            card.memory = memory(&bytes(used, 20), &bytes(total, 20));
        }
        let mut work = cells.get(2).copied().unwrap_or_default().splitn(2, char::is_whitespace);
        card.busy = number(work.next().unwrap_or_default(), &["%"]).map(Percent);
        card.compute_mode = work.next().map_or_else(Reading::default, |mode| said(mode).map(compute_mode));
    }

    fn take_process(&mut self, text: &str, line: u64) {
        if text.starts_with("No running") {
            self.says_none = true;
            return;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.contains(&"PID") && words.contains(&"COMMAND") {
            self.columns = words.iter().map(|word| (*word).to_owned()).collect();
            return;
        }
        match self.client(text, &words) {
            Some(()) => {}
            None => self.remarks.push(Remark::NotUnderstood { line }),
        }
    }

    /// Reads `0  123456 C  root  10.5GiB  98  50  100.1  2.3  1:23:45  python train.py`.
    fn client(&mut self, text: &str, words: &[&str]) -> Option<()> {
        let place = |name: &str| self.columns.iter().position(|column| column == name);
        // Rows have the kind of the context behind the number, headings have no word for it.
        let at = |name: &str| Some(place(name)? + 1);
        let index: u32 = words.first()?.split(':').next()?.parse().ok().filter(|index| *index < INDEX_MAX)?;
        let pid = Pid(words.get(1)?.parse().ok()?);
        let kind = match *words.get(2)? {
            letters if letters.contains('G') => ClientKind::Graphics,
            "X" | "C" => ClientKind::Compute,
            _ => return None,
        };
        let value = |name: &str, units: &[&str]| -> Reading<f64> {
            let word = at(name).and_then(|place| words.get(place));
            word.map_or_else(Reading::default, |word| number(word, units))
        };
        let user = at("USER").and_then(|place| words.get(place)).copied();
        let held = at("GPU-MEM")
            .and_then(|place| words.get(place))
            .map_or_else(Reading::default, |word| bytes(word, 20));
        let (sm, dram) = (value("%SM", &["", "%"]), value("%GMBW", &["", "%"]));
        let cores = value("%CPU", &["", "%"]);
        let mut behind = at("TIME")? + 1;
        // `2.5 days`
        if words.get(behind).is_some_and(|word| word.starts_with("day")) {
            behind += 1;
        }
        let start = words.get(behind).map(|word| word.as_ptr() as usize - text.as_ptr() as usize);
        let command = start.and_then(|start| text.get(start..)).unwrap_or_default();
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let mut process = process(pid, user, &arguments, None);
        process.cores = cores.map(|share| Cores(share / 100.0));
        let client = CardClient { pid, kind, memory: held, name: Reading::Known(masked_text(command)) };
        self.clients.push((index, client, sm, dram));
        self.processes.push(process);
        Some(())
    }

    fn finish(mut self, lines: usize) -> Block {
        let time_us = self.at.map_or(0, |at| u64::try_from(at.as_microsecond()).unwrap_or_default());
        let last = self.clients.iter().map(|(index, ..)| *index).max();
        for card in &mut self.cards {
            let own: Vec<_> = self.clients.iter().filter(|(index, ..)| *index == card.index).collect();
            let is_known = self.is_in_processes
                && (!own.is_empty()
                    || self.says_none
                    || self.is_whole && last.is_some()
                    || last.is_some_and(|last| card.index < last));
            if !is_known {
                continue;
            }
            card.clients = Reading::Known(own.iter().map(|(_, client, ..)| client.clone()).collect());
            let work: Option<Vec<ProcessUtilization>> = own
                .iter()
                .map(|(_, client, sm, dram)| {
                    let memory = Percent(dram.known().copied().unwrap_or_default());
                    Some(ProcessUtilization { pid: client.pid, time_us, sm: Percent(*sm.known()?), memory })
                })
                .collect();
            card.client_work = work.into();
        }
        let look = Look {
            at: self.at,
            driver_version: self.driver_version,
            cuda_version: self.cuda_version,
            cards: self.cards,
            ..Look::default()
        };
        let mut scene = scene(vec![look], Format::Nvitop);
        scene.machine.hostname = self.hostname.into();
        add_processes(&mut scene, self.processes);
        Block { lines, scene, remarks: self.remarks }
    }
}

fn on_or_off(word: &str) -> Reading<bool> {
    said(word).and_then(|word| match word {
        "On" => Reading::Known(true),
        "Off" => Reading::Known(false),
        _ => Reading::default(),
    })
}

/// Reads `Disabled  0`: the multi-instance mode, in later versions, and the errors that were not corrected.
fn take_errors(text: &str, card: &mut CardSample) {
    let mut words = text.split_whitespace().rev();
    let errors = words.next().unwrap_or_default();
    match nvidia_cell::said(errors) {
        Reading::Known(word) => {
            if let Ok(errors) = word.parse() {
                card.ecc.enabled = Reading::Known(true);
                card.ecc.volatile.uncorrected = Reading::Known(errors);
            }
        }
        absent => card.ecc.volatile.uncorrected = absent.and_then(|_| Reading::default()),
    }
    card.mig_enabled = match words.next() {
        Some("Enabled") => Reading::Known(true),
        Some("Disabled") => Reading::Known(false),
        Some(_) => Reading::Unsupported,
        None => Reading::default(),
    };
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::ClientKind;
    use gpuwhy_model::units::{Bytes, Celsius, Cores, Percent, Watts};

    use super::super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    const FULL: &str = "\
Wed Feb 19 11:44:37 2025
╒═════════════════════════════════════════════════════════════════════════════╕
│ NVITOP 1.4.2       Driver Version: 550.90.12      CUDA Driver Version: 12.4 │
├───────────────────────────────┬──────────────────────┬──────────────────────┤
│ GPU  Name        Persistence-M│ Bus-Id        Disp.A │ MIG M.   Uncorr. ECC │
│ Fan  Temp  Perf  Pwr:Usage/Cap│         Memory-Usage │ GPU-Util  Compute M. │
╞═══════════════════════════════╪══════════════════════╪══════════════════════╪════════════════════╕
│   0  Some Card           Off  │ 00000000:18:00.0 Off │ Disabled           2 │ MEM: ▏ 0.0%        │
│ N/A   36C    P0    85W / 700W │   3.50MiB / 79.65GiB │      0%      Default │ UTL: ▏ 0%          │
├───────────────────────────────┼──────────────────────┼──────────────────────┼────────────────────┤
│   1  Some Card           On   │ 00000000:3A:00.0 On  │ N/A              N/A │ MEM: ███ 95%       │
│ MAX   81C    P2   690W / 700W │  75.67GiB / 79.65GiB │    100%   E. Process │ UTL: MAX           │
╘═══════════════════════════════╧══════════════════════╧══════════════════════╧════════════════════╛
[ CPU: █▏ 1.3%                       UPTIME: 12.3 days ]  ( Load Average:  1.30  2.12  2.22 )
[ MEM: ██ 7.0%                       USED: 71.03GiB ]  [ SWP: ▏ 0.0% ]

╒══════════════════════════════════════════════════════════════════════════════════════════════════╕
│ Processes:                                                                          root@node-7 │
│ GPU     PID      USER  GPU-MEM %SM %GMBW  %CPU  %MEM      TIME  COMMAND                          │
╞══════════════════════════════════════════════════════════════════════════════════════════════════╡
│   1  123456 C   alice 75.50GiB  98    50 350.0   2.3   1:23:45  python train.py --token=abcd1234 │
│   1     777 G    root  10.0MiB N/A   N/A   0.0   0.1  2.5 days  /usr/lib/xorg/Xorg               │
╘══════════════════════════════════════════════════════════════════════════════════════════════════╛
more
";

    #[test]
    fn the_full_table_is_read() {
        let block = block(FULL).unwrap();
        assert_eq!((block.lines, block.remarks.len()), (23, 0));
        let scene = block.scene;
        assert_eq!(scene.window.taken_at.to_string(), "2025-02-19T11:44:37Z");
        assert_eq!(scene.machine.driver.version, Reading::Known("550.90.12".into()));
        assert_eq!(scene.machine.driver.cuda_version, Reading::Known("12.4".into()));
        assert_eq!(scene.machine.hostname, Reading::Known("node-7".into()));
        let [idle, busy] = scene.cards.as_slice() else { panic!("two cards") };
        assert_eq!(
            (&idle.name, &idle.pci_address),
            (&Reading::Known("Some Card".into()), &Reading::Known("0000:18:00.0".into()))
        );
        assert_eq!((&idle.persistence, &idle.fan), (&Reading::Known(false), &Reading::Unsupported));
        assert_eq!(
            (&idle.ecc.volatile.uncorrected, &idle.mig_enabled),
            (&Reading::Known(2), &Reading::Known(false))
        );
        assert_eq!(idle.clients, Reading::Known(Vec::new()));
        assert_eq!(busy.temperature.known().unwrap().last, Celsius(81.0));
        assert_eq!(
            (busy.power.known().unwrap().last, busy.busy.known().unwrap().last),
            (Watts(690.0), Percent(100.0))
        );
        assert_eq!(
            (&busy.fan, &busy.compute_mode),
            (&Reading::Known(Percent(100.0)), &Reading::Known("exclusive_process".into()))
        );
        assert_eq!(busy.display_active, Reading::Known(true));
        let clients = busy.known_clients();
        assert_eq!((clients[0].pid.0, clients[0].kind), (777, ClientKind::Graphics));
        assert_eq!(clients[1].memory, Reading::Known(Bytes(75 * (1 << 30) + (1 << 29))));
        let process = &scene.processes[1];
        assert_eq!(
            (&process.user, &process.cores),
            (&Reading::Known("alice".into()), &Reading::Known(Cores(3.5)))
        );
        assert_eq!(process.command.known().unwrap().line(), "python train.py --token=***");
        assert_eq!(scene.processes[0].command.known().unwrap().line(), "/usr/lib/xorg/Xorg");
    }

    #[test]
    fn the_narrow_table_is_read() {
        let text = "\
╒═════════════════════════════════════════════════════════════════════════════╕
│ NVITOP 1.3.2        Driver Version: 570.144       CUDA Driver Version: 12.8 │
├───────────────────────────────┬──────────────────────┬──────────────────────┤
│ GPU Fan Temp Perf Pwr:Usg/Cap │         Memory-Usage │ GPU-Util  Compute M. │
╞═══════════════════════════════╪══════════════════════╪══════════════════════╪═════════════════════╕
│   0 30%  35C  P8   14W / 300W │  22.69MiB / 47.99GiB │      0%      Default │ MEM: ▏ 0.0%         │
├───────────────────────────────┼──────────────────────┼──────────────────────┼─────────────────────┤
│   1 30%  36C  P8   11W / 300W │  17.38MiB / 47.99GiB │      7%      Default │ MEM: ▏ 0.0%         │
╘═══════════════════════════════╧══════════════════════╧══════════════════════╧═════════════════════╛
";
        let block = block(text).unwrap();
        assert_eq!((block.lines, block.scene.cards.len(), block.remarks.len()), (9, 2, 0));
        let card = &block.scene.cards[1];
        assert_eq!(
            (card.index, card.busy.known().unwrap().last, &card.performance_state),
            (1, Percent(7.0), &Reading::Known(8))
        );
        assert!(card.clients.is_not_in_source());
    }

    #[test]
    fn a_panel_without_processes_says_so() {
        let start = FULL.find("│   1  123456").unwrap();
        let end = FULL.rfind('╘').unwrap();
        let none = format!("{}│  No running processes found        │\n{}", &FULL[..start], &FULL[end..]);
        assert_eq!(block(&none).unwrap().scene.cards[1].clients, Reading::Known(Vec::new()));
        let cut = block(&FULL[..start]).unwrap();
        assert!(cut.scene.cards[1].clients.is_not_in_source());
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in ["│ NVITOP │\n", "╒══╕\n│ a │\n", "Wed Feb 19 11:44:37 2025\nhello\n"] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
