//! Output of `nvtop -s`: cards of any maker as JSON.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardClient, CardSample, ClientKind};
use gpuwhy_model::scene::Process;
use gpuwhy_model::units::{Celsius, Megahertz, Percent, Watts};
use serde_json::Value;

use super::json_document::{begins_with, document};
use super::looks::{Look, add_processes, memory, process, scene, vendor_of};
use super::nvidia_scene::container_of;
use super::value::{bytes, number, said};
use super::{Block, Context, Remark};
use crate::Format;
use crate::paste::Line;

/// Reads the document that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    if !begins_with(lines, &["\"device_name\""]) || !begins_with(lines, &["\"gpu_clock\"", "\"gpu_util\""]) {
        return None;
    }
    let read = document(lines)?;
    let devices = read.value.as_array()?;
    let mut processes = Vec::new();
    let cards: Vec<CardSample> =
        devices.iter().zip(0..).map(|(device, index)| card(device, index, &mut processes)).collect();
    let number = cards.len();
    let mut scene = scene(vec![Look { cards, ..Look::default() }], Format::Nvtop);
    add_processes(&mut scene, processes);
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    let last = lines.get(read.lines.saturating_sub(1)).map_or(0, |line| line.number);
    let remarks = if read.is_cut { vec![Remark::Cut { line: last, cards: number }] } else { Vec::new() };
    Some(Block { lines: read.lines, scene, remarks })
}

/// Returns a value as text: numbers stand in quote marks with their unit, or plain.
fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => Some("N/A".to_owned()),
        _ => None,
    }
}

fn card(device: &Value, index: u32, processes: &mut Vec<Process>) -> CardSample {
    let read = |key: &str, units: &[&str]| {
        text(device, key).map_or_else(Reading::default, |text| number(&text, units))
    };
    let amount = |key: &str| text(device, key).map_or_else(Reading::default, |text| bytes(&text, 0));
    let name = text(device, "device_name").unwrap_or_default();
    let mut card = CardSample {
        index,
        vendor: vendor_of(&name),
        handle: Reading::Known(()),
        name: said(&name).map(masked_text),
        temperature: read("temp", &["C", "°C"]).map(Celsius),
        fan: read("fan_speed", &["%"]).map(Percent),
        power: read("power_draw", &["W"]).map(Watts),
        busy: read("gpu_util", &["%"]).map(Percent),
        encoder: read("encode", &["%"]).map(Percent),
        decoder: read("decode", &["%"]).map(Percent),
        memory: memory(&amount("mem_used"), &amount("mem_total")),
        ..CardSample::default()
    };
    card.clocks.sm = read("gpu_clock", &["MHz"]).map(Megahertz);
    card.clocks.memory = read("mem_clock", &["MHz"]).map(Megahertz);
    if let Some(list) = device.get("processes").and_then(Value::as_array) {
        let clients = list.iter().filter_map(|entry| client(entry, processes)).collect();
        card.clients = Reading::Known(clients);
    }
    card
}

fn client(entry: &Value, processes: &mut Vec<Process>) -> Option<CardClient> {
    let pid = Pid(text(entry, "pid")?.parse().ok()?);
    let command = text(entry, "cmdline").unwrap_or_default();
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let user = text(entry, "user");
    processes.push(process(pid, user.as_deref(), &arguments, None));
    let is_graphic = text(entry, "kind").is_some_and(|kind| kind.to_ascii_lowercase().contains("graphic"));
    Some(CardClient {
        pid,
        kind: if is_graphic { ClientKind::Graphics } else { ClientKind::Compute },
        memory: text(entry, "gpu_mem_bytes_alloc").map_or_else(Reading::default, |text| bytes(&text, 0)),
        name: if command.is_empty() { Reading::default() } else { Reading::Known(masked_text(&command)) },
    })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::Vendor;
    use gpuwhy_model::units::{Bytes, Megahertz, Percent, Watts};

    use super::super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    const SNAPSHOT: &str = r#"[
  {
   "device_name": "AMD Radeon RX 9070 XT",
   "gpu_clock": "2165MHz",
   "mem_clock": "2500MHz",
   "temp": "72C",
   "fan_speed": "30%",
   "power_draw": "303W",
   "gpu_util": "92%",
   "mem_util": "76%",
   "mem_total": "17095983104",
   "mem_used": "13000000000",
   "processes": [{"pid": "77", "cmdline": "python x.py", "kind": "compute", "user": "alice", "gpu_mem_bytes_alloc": "1048576"}]
  },
  {
   "device_name": "NVIDIA GeForce RTX 3050",
   "gpu_clock": "210MHz",
   "mem_clock": "405MHz",
   "temp": null,
   "fan_speed": "CPU Fan",
   "power_draw": "7W",
   "gpu_util": "0%",
   "mem_util": "5%"
  }
]
"#;

    #[test]
    fn cards_of_any_maker_are_read() {
        let block = block(SNAPSHOT).unwrap();
        assert_eq!(block.lines, 25);
        let [amd, nvidia] = block.scene.cards.as_slice() else { panic!("two cards") };
        assert_eq!((amd.vendor, amd.index, nvidia.vendor, nvidia.index), (Vendor::Amd, 0, Vendor::Nvidia, 1));
        assert_eq!(
            (amd.busy.known().unwrap().last, amd.power.known().unwrap().last),
            (Percent(92.0), Watts(303.0))
        );
        assert_eq!(
            (&amd.clocks.sm, &amd.fan),
            (&Reading::Known(Megahertz(2165.0)), &Reading::Known(Percent(30.0)))
        );
        assert_eq!(amd.memory.known().unwrap().used, Bytes(13_000_000_000));
        assert_eq!(amd.known_clients()[0].memory, Reading::Known(Bytes(1 << 20)));
        assert_eq!(block.scene.processes[0].user, Reading::Known("alice".into()));
        assert_eq!((&nvidia.temperature, nvidia.fan.is_known()), (&Reading::Unsupported, false));
        assert!(nvidia.memory.is_not_in_source() && nvidia.clients.is_not_in_source());
    }

    #[test]
    fn a_cut_snapshot_gives_what_is_whole() {
        let cut = block(&SNAPSHOT[..SNAPSHOT.rfind("\"fan_speed\"").unwrap()]).unwrap();
        assert_eq!((cut.scene.cards.len(), cut.remarks.len()), (2, 1));
        assert!(block("[{\"device_name\": 1}]").is_none());
    }
}
