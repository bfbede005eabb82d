//! What a session of Python shows of the driver library's lists of processes: numbers, records, dictionaries.

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::{Client, Provenance, Scene, SourceKind, UnplacedClient};
use gpuwhy_model::units::Bytes;

use super::block::{Block, Context};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// A list has no more lines.
const LINES_MAX: usize = 4096;
/// What the library writes where it does not know how much a process holds.
const NO_AMOUNT: u64 = u64::MAX;

/// Reads the list that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let asked = context.command.filter(|command| command.contains("RunningProcesses"));
    let first = lines.first()?.text.as_ref();
    if !(is_record(first) || asked.is_some() && begins_list(first)) {
        return None;
    }
    let mut text = String::new();
    let mut taken = 0;
    for line in lines.iter().take(LINES_MAX) {
        if taken > 0 && (line.text.trim().is_empty() || command_after_prompt(&line.text).is_some()) {
            break;
        }
        let of_list = without_label(&line.text);
        let is_code = of_list.trim_start().starts_with("...");
        let goes_on = is_record(of_list) || asked.is_some() && is_plain(of_list) || is_code && taken == 0;
        if !goes_on && !of_list.trim().is_empty() {
            break;
        }
        taken += 1;
        if !is_code {
            text.push_str(of_list);
            text.push('\n');
        }
    }
    let kind = asked.map_or(ClientKind::Compute, kind);
    let clients = if is_record(&text) { records(&text, kind) } else { numbers(&text, kind, asked?) };
    if clients.is_empty() {
        return None;
    }
    let scene = Scene {
        unplaced_clients: clients
            .into_iter()
            .map(|client| UnplacedClient { card_uuid: None, card_address: None, client })
            .collect(),
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::NvmlSession.to_string()] },
        ..Scene::default()
    };
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn kind(command: &str) -> ClientKind {
    let has = |word| command.contains(word);
    if has("Graphics") && !has("Compute") { ClientKind::Graphics } else { ClientKind::Compute }
}

/// Takes `Out[4]:` off.
fn without_label(text: &str) -> &str {
    let label = text.trim_start().strip_prefix("Out[").and_then(|rest| rest.split_once("]:"));
    match label {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => text,
    }
}

/// Returns whether a record of the library stands in a text: `c_nvmlProcessInfo_t(pid: 7, …)`, `{'pid': 7, …}`.
fn is_record(text: &str) -> bool {
    text.contains("usedGpuMemory") && text.contains("pid")
}

/// Returns whether a list of numbers may begin with a line.
fn begins_list(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("Out[") || text.starts_with("...") || text.starts_with('[') || is_plain(text)
}

/// Returns whether a line holds only numbers and what stands between them.
fn is_plain(text: &str) -> bool {
    let text = text.trim();
    text.contains(|letter: char| letter.is_ascii_digit() || "[]".contains(letter))
        && text.replace("None", "").bytes().all(|byte| byte.is_ascii_digit() || b"[]() ,L\t".contains(&byte))
}

/// Reads the numbers behind `pid` and `usedGpuMemory` in each record.
fn records(text: &str, kind: ClientKind) -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = "";
    for word in words {
        match (name, word.parse::<u64>()) {
            ("pid", Ok(number)) => clients.extend(client(number, kind)),
            ("usedGpuMemory", Ok(number)) => {
                if let Some(last) = clients.last_mut() {
                    last.memory = amount(number);
                }
            }
            _ => {}
        }
        name = word;
    }
    clients
}

/// Reads a list of pids, or of pairs of a pid and an amount: the command says which.
fn numbers(text: &str, kind: ClientKind, command: &str) -> Vec<Client> {
    // What else may be asked of a process is no pid.
    if !command.contains(".pid") && !command.contains("print(") && !command.contains("for ") {
        return Vec::new();
    }
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let numbers: Vec<Option<u64>> = parts.map(|word| word.trim_end_matches('L').parse().ok()).collect();
    let has_amounts = text.contains('(') && command.contains("usedGpuMemory");
    if !has_amounts && (text.contains('(') || command.contains("usedGpuMemory")) {
        return Vec::new();
    }
    if !has_amounts {
        return numbers.into_iter().flatten().filter_map(|number| client(number, kind)).collect();
    }
    let pairs = numbers.chunks_exact(2);
    pairs
        .filter_map(|pair| {
            let mut client = client(pair[0]?, kind)?;
            client.memory = pair[1].map_or(Reading::Unsupported, amount);
            Some(client)
        })
        .collect()
}

fn client(pid: u64, kind: ClientKind) -> Option<Client> {
    u32::try_from(pid).ok().map(|pid| Client::of(Pid(pid), kind))
}

fn amount(bytes: u64) -> Reading<Bytes> {
    if bytes == NO_AMOUNT { Reading::Unsupported } else { Reading::Known(Bytes(bytes)) }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::units::Bytes;

    use crate::text::understand;

    fn clients(text: &str) -> Vec<(u32, Reading<Bytes>)> {
        let understood = understand(text);
        let pieces = understood.pieces.iter().flat_map(|piece| &piece.scene.unplaced_clients);
        pieces.map(|unplaced| (unplaced.client.pid.0, unplaced.client.memory.clone())).collect()
    }

    fn pids(text: &str) -> Vec<u32> {
        clients(text).into_iter().map(|(pid, _)| pid).collect()
    }

    #[test]
    fn lists_of_numbers_are_read_where_the_command_asks_for_pids() {
        let list = "In [2]: [p.pid for p in nv.nvmlDeviceGetComputeRunningProcesses(h)]\nOut[2]:\n[811,\n 0,\n 4294967295]\n\nIn [3]:";
        assert_eq!(pids(list), [811, 0, 4_294_967_295]);
        let line = ">>> [x.pid for x in nvmlDeviceGetComputeRunningProcesses_v3(h)]\n[811, 0]\n>>> 1\n";
        assert_eq!(pids(line), [811, 0]);
        let printed =
            ">>> for p in nvmlDeviceGetGraphicsRunningProcesses(h):\n...     print(p.pid)\n...\n811\n0\n";
        assert_eq!(pids(printed), [811, 0]);
        assert!(pids("[811, 0]\n").is_empty() && pids(">>> [1, 2]\n[1, 2]\n").is_empty());
    }

    #[test]
    fn records_are_read_wherever_they_stand() {
        let records = "[c_nvmlProcessInfo_t(pid: 811, usedGpuMemory: 1048576 B, gpuInstanceId: 4294967295, computeInstanceId: 4294967295)]\n";
        assert_eq!(clients(records), [(811, Reading::Known(Bytes(1 << 20)))]);
        let printed = "{'pid': 811, 'usedGpuMemory': 18446744073709551615, 'gpuInstanceId': 4294967295}\n{'pid': 812, 'usedGpuMemory': None}\n";
        assert_eq!(clients(printed), [(811, Reading::Unsupported), (812, Reading::default())]);
    }

    #[test]
    fn pairs_are_read() {
        let pairs = ">>> [(p.pid, p.usedGpuMemory) for p in nvmlDeviceGetComputeRunningProcesses(h)]\n[(811, 1048576), (0, None)]\n";
        assert_eq!(clients(pairs), [(811, Reading::Known(Bytes(1 << 20))), (0, Reading::Unsupported)]);
    }
}
