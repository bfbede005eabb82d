//! The peers, unchanged, and gpuwhy on one box: every number that both show must be the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use gpuwhy_lab::place::plan::Plan;
use serde_json::Value;

use super::ledger::Ledger;
use crate::boxes::EmulatedBox;
use crate::prerequisites;
use crate::workspace::{Profile, Workspace, output_of};

/// A card that works without a gap, one that is held, one that nobody uses: numbers that stand still.
const BOX: &str = r#"
name = "peers"
board = { card = [{ profile = "h100-sxm5-80gb" }, { profile = "rtx-3090" }, { profile = "t4" }] }

[[members]]
name = "work"
user = "serving"
command = ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/m", "--port", "8000"]
cards = [0]

[members.work.serve]
requests_per_s = 200.0
kernel_ms = 20.0
memory_share = 0.5

[[members]]
name = "notebook"
user = "alice"
command = ["/usr/bin/python3", "/usr/local/bin/jupyter-lab"]
cards = [1]

[members.work.hold]
memory_share = 0.25
"#;

/// nvitop through its own Python interface: its screen shows rounded figures only.
const NVITOP: &str = r#"
import json
from nvitop import Device
cards = []
for card in Device.all():
    cards.append({
        "uuid": card.uuid(), "busy": card.gpu_utilization(), "used": card.memory_used(), "total": card.memory_total(),
        "heat": card.temperature(), "power": card.power_usage() / 1000, "limit": card.power_limit() / 1000,
        "sm": card.clock_infos().sm, "processes": {pid: process.gpu_memory() for pid, process in card.processes().items()},
    })
print(json.dumps(cards))
"#;

/// Each look takes a second.
const STILL_WITHIN_LOOKS: usize = 30;

const MIB: f64 = 1024.0 * 1024.0;

/// A number of one card, by the name that gpuwhy's recording has for it.
#[derive(Debug, Clone, PartialEq)]
struct Claim {
    uuid: String,
    what: What,
    value: f64,
}

/// What a number is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Busy,
    UsedMib,
    TotalMib,
    Celsius,
    Watts,
    LimitWatts,
    SmMegahertz,
    LinkWidth,
    /// Memory that a process holds, in MiB.
    HeldMib(u32),
}

impl What {
    /// How far two readings of the same thing may lie apart: power and heat move, tools round.
    fn tolerance(self, value: f64) -> f64 {
        match self {
            Self::Busy => 5.0,
            Self::UsedMib | Self::TotalMib | Self::HeldMib(_) | Self::LimitWatts | Self::LinkWidth => 1.0,
            Self::Celsius => 2.0,
            Self::Watts => (value * 0.05).max(5.0),
            Self::SmMegahertz => 45.0,
        }
    }
}

/// Lets every peer look, and compares what it says with a recording of the same moment.
pub(super) fn run(workspace: &Workspace, ledger: &mut Ledger) {
    let up = toml::from_str(BOX)
        .context("no plan of a box")
        .and_then(|plan: Plan| EmulatedBox::up(workspace, Profile::Development, &plan));
    let inside = match up {
        Ok(inside) => inside,
        Err(error) => return ledger.judge("a box for the peers", || Err(error)),
    };
    let tools = prerequisites::python_tools(workspace);
    ledger.judge("power and heat of the peers' box stand still", || stands_still(workspace, &inside));
    let mut compare = |name: &'static str, ask: fn(&EmulatedBox, &Path) -> Result<Vec<Claim>>| {
        ledger.judge(&format!("{name} shows the same numbers"), || {
            let tools = tools.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            let claims = ask(&inside, tools)?;
            agreement(&claims, &recorded(workspace, &inside)?)
        });
    };
    compare("gpustat", gpustat);
    compare("nvitop", nvitop);
    compare("nvsonar", nvsonar);
    let all_smi = workspace.target().join("all-smi/bin/all-smi");
    if all_smi.exists() {
        ledger.judge("all-smi shows the same numbers", || {
            agreement(&all_smi_claims(&inside, &all_smi)?, &recorded(workspace, &inside)?)
        });
    } else {
        println!("skipped: all-smi is built by its own test first");
    }
    ledger.judge("nvtop shows the same numbers", || nvtop(workspace, &inside));
    ledger.judge("the box of the peers goes down", || inside.down().map(|()| "nothing is left".to_owned()));
}

/// Waits until two recordings in a row show the same.
///
/// # Errors
/// Fails when they never do.
fn stands_still(workspace: &Workspace, inside: &EmulatedBox) -> Result<String> {
    let mut before = recorded(workspace, inside)?;
    for looks in 2..=STILL_WITHIN_LOOKS {
        let now = recorded(workspace, inside)?;
        let is_still = now.iter().all(|(what, value)| {
            before.get(what).is_some_and(|earlier| (earlier - value).abs() <= what.1.tolerance(*value))
        });
        if is_still && now.len() == before.len() {
            return Ok(format!("after {looks} looks"));
        }
        before = now;
    }
    anyhow::bail!("they still move after {STILL_WITHIN_LOOKS} looks")
}

/// Returns how many numbers agree.
///
/// # Errors
/// Fails and names every number that does not.
fn agreement(claims: &[Claim], ours: &BTreeMap<(String, What), f64>) -> Result<String> {
    ensure!(!claims.is_empty(), "it shows no number");
    let mut wrong = Vec::new();
    let mut compared = 0;
    for claim in claims {
        let Some(own) = ours.get(&(claim.uuid.clone(), claim.what)) else {
            wrong.push(format!("{claim:?}: gpuwhy has no such number"));
            continue;
        };
        compared += 1;
        if (own - claim.value).abs() > claim.what.tolerance(*own) {
            wrong.push(format!("{claim:?}: gpuwhy says {own}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    Ok(format!("{compared} numbers"))
}

/// Records the box and returns every number of the last sample.
fn recorded(workspace: &Workspace, inside: &EmulatedBox) -> Result<BTreeMap<(String, What), f64>> {
    let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
    let mut command = inside.command(None, gpuwhy);
    let output = command.args(["record", "-", "--for", "1s"]).output().context("cannot record")?;
    let lines = zstd::decode_all(output.stdout.as_slice()).context("the recording is damaged")?;
    let text = String::from_utf8(lines).context("the recording is no text")?;
    let last = text.lines().last().context("the recording is empty")?;
    let sample: Value = serde_json::from_str(last).context("the recording is no JSON")?;
    numbers_of(&sample)
}

/// Returns the numbers of a sample.
fn numbers_of(sample: &Value) -> Result<BTreeMap<(String, What), f64>> {
    let cards = sample["nvml"]["value"]["known"]["cards"].as_array().context("the sample has no cards")?;
    let mut numbers = BTreeMap::new();
    for card in cards {
        let uuid = card["uuid"]["known"].as_str().context("a card has no UUID")?.to_owned();
        let memory = &card["memory"]["known"];
        let mebibytes = |value: &Value| value.as_f64().map(|bytes| bytes / MIB);
        let mut all = vec![
            (What::Busy, card["busy"]["known"].as_f64()),
            (What::UsedMib, mebibytes(&memory["used"])),
            (What::TotalMib, mebibytes(&memory["total"])),
            (What::Celsius, card["temperature"]["known"].as_f64()),
            (What::Watts, card["power"]["known"].as_f64()),
            (What::LimitWatts, card["power_limits"]["enforced"]["known"].as_f64()),
            (What::SmMegahertz, card["clocks"]["sm"]["known"].as_f64()),
            (What::LinkWidth, card["pcie"]["width"]["known"].as_f64()),
        ];
        for client in card["clients"]["known"].as_array().into_iter().flatten() {
            let pid = client["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
            let pid = pid.context("a client has no process number")?;
            all.push((What::HeldMib(pid), mebibytes(&client["memory"]["known"])));
        }
        for (what, value) in all {
            if let Some(value) = value {
                numbers.insert((uuid.clone(), what), value);
            }
        }
    }
    Ok(numbers)
}

/// Collects what a peer says of one card; what it does not say is left out.
fn claims(uuid: &Value, said: Vec<(What, Option<f64>)>) -> Vec<Claim> {
    let uuid = uuid.as_str().unwrap_or_default();
    said.into_iter()
        .filter_map(|(what, value)| Some(Claim { uuid: uuid.to_owned(), what, value: value? }))
        .collect()
}

fn json_of(command: &mut Command) -> Result<Value> {
    serde_json::from_str(&output_of(command)?).context("it prints no JSON")
}

fn number(pid: &Value) -> u32 {
    pid.as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default()
}

fn gpustat(inside: &EmulatedBox, tools: &Path) -> Result<Vec<Claim>> {
    let said = json_of(inside.command(None, tools.join("gpustat")).args(["--json", "--show-pid"]))?;
    let cards = said["gpus"].as_array().context("it lists no cards")?;
    let of_card = |card: &Value| {
        let mut all = vec![
            (What::Busy, card["utilization.gpu"].as_f64()),
            (What::UsedMib, card["memory.used"].as_f64()),
            (What::TotalMib, card["memory.total"].as_f64()),
            (What::Celsius, card["temperature.gpu"].as_f64()),
            (What::Watts, card["power.draw"].as_f64()),
            (What::LimitWatts, card["enforced.power.limit"].as_f64()),
        ];
        for process in card["processes"].as_array().into_iter().flatten() {
            all.push((What::HeldMib(number(&process["pid"])), process["gpu_memory_usage"].as_f64()));
        }
        claims(&card["uuid"], all)
    };
    Ok(cards.iter().flat_map(of_card).collect())
}

fn nvitop(inside: &EmulatedBox, tools: &Path) -> Result<Vec<Claim>> {
    let said = json_of(inside.command(None, tools.join("python3")).args(["-c", NVITOP]))?;
    let cards = said.as_array().context("it lists no cards")?;
    let mebibytes = |value: &Value| value.as_f64().map(|bytes| bytes / MIB);
    let of_card = |card: &Value| {
        let mut all = vec![
            (What::Busy, card["busy"].as_f64()),
            (What::UsedMib, mebibytes(&card["used"])),
            (What::TotalMib, mebibytes(&card["total"])),
            (What::Celsius, card["heat"].as_f64()),
            (What::Watts, card["power"].as_f64()),
            (What::LimitWatts, card["limit"].as_f64()),
            (What::SmMegahertz, card["sm"].as_f64()),
        ];
        for (pid, held) in card["processes"].as_object().into_iter().flatten() {
            all.push((What::HeldMib(pid.parse().unwrap_or_default()), mebibytes(held)));
        }
        claims(&card["uuid"], all)
    };
    Ok(cards.iter().flat_map(of_card).collect())
}

fn nvsonar(inside: &EmulatedBox, tools: &Path) -> Result<Vec<Claim>> {
    // It keeps a history in its user's home.
    let home = format!("HOME={}", inside.path().display());
    let mut command = inside.command(None, "env");
    command.arg(home).arg(tools.join("nvsonar")).args(["report", "--json"]);
    // Its exit code tells of findings.
    let output = command.output().context("cannot run it")?;
    let said: Value = serde_json::from_slice(&output.stdout).context("it prints no JSON")?;
    let cards = said.as_array().context("it lists no cards")?;
    let of_card = |card: &Value| {
        let metrics = &card["metrics"];
        let mut all = vec![
            (What::Busy, metrics["gpu_utilization"].as_f64()),
            (What::TotalMib, metrics["memory_total_mb"].as_f64()),
            (What::Celsius, metrics["temperature_c"].as_f64()),
            (What::Watts, metrics["power_usage_w"].as_f64()),
            (What::LimitWatts, metrics["power_limit_w"].as_f64()),
            (What::SmMegahertz, metrics["gpu_clock_mhz"].as_f64()),
            (What::LinkWidth, card["pcie"]["current_width"].as_f64()),
        ];
        // Its used memory is that of the old call, which counts the driver's own; ours is told apart.
        for process in card["processes"].as_array().into_iter().flatten() {
            all.push((What::HeldMib(number(&process["pid"])), process["used_memory_mb"].as_f64()));
        }
        claims(&card["gpu"]["uuid"], all)
    };
    Ok(cards.iter().flat_map(of_card).collect())
}

fn all_smi_claims(inside: &EmulatedBox, program: &Path) -> Result<Vec<Claim>> {
    let mut command = inside.command(None, program);
    let said = json_of(command.args(["snapshot", "--format", "json", "--include", "gpu"]))?;
    let cards = said["gpus"].as_array().context("it lists no cards")?;
    let of_card = |card: &Value| {
        claims(
            &card["uuid"],
            vec![
                (What::Busy, card["utilization"].as_f64()),
                (What::TotalMib, card["total_memory"].as_f64().map(|bytes| bytes / MIB)),
                (What::Celsius, card["temperature"].as_f64()),
                (What::Watts, card["power_consumption"].as_f64()),
            ],
        )
    };
    Ok(cards.iter().flat_map(of_card).collect())
}

/// nvtop has only a screen: the numbers of our recording that stand still must appear on it.
fn nvtop(workspace: &Workspace, inside: &EmulatedBox) -> Result<String> {
    let program = PathBuf::from("/usr/bin/nvtop");
    if !program.exists() {
        return Ok("skipped: it is installed by its own test first".to_owned());
    }
    let ours = recorded(workspace, inside)?;
    let words: Vec<String> = ours
        .iter()
        .filter_map(|((_, what), value)| match what {
            What::HeldMib(pid) => Some(vec![pid.to_string(), format!("{:.0}MiB", value.floor())]),
            What::LimitWatts => Some(vec![format!("/ {value:3.0} W")]),
            _ => None,
        })
        .flatten()
        .collect();
    let words = serde_json::to_string(&words)?;
    let script = workspace.path("crates/lab/nvml/tests/terminal.py");
    // A box has no terminals of its own; the library finds its box from outside too.
    let mut command = workspace.command("python3");
    command.env("LD_LIBRARY_PATH", inside.path().join("lib"));
    let output = command.arg(script).args(["30", &words]).arg(program).output().context("cannot run it")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{}",
        said.split_once(']').map_or(&*said, |(never_shown, _)| never_shown)
    );
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpuwhy_lab::place::plan::Plan;
    use serde_json::json;

    use super::{BOX, Claim, What, agreement, numbers_of};

    fn claim(what: What, value: f64) -> Claim {
        Claim { uuid: "GPU-a".to_owned(), what, value }
    }

    #[test]
    fn the_box_is_a_plan() {
        let plan: Plan = toml::from_str(BOX).unwrap();
        assert_eq!(plan.board.resolve().unwrap().cards.len(), 3);
    }

    #[test]
    fn another_number_is_named() {
        let ours = BTreeMap::from([
            (("GPU-a".to_owned(), What::UsedMib), 40_000.0),
            (("GPU-a".to_owned(), What::Celsius), 61.0),
        ]);
        assert_eq!(
            agreement(&[claim(What::UsedMib, 40_000.4), claim(What::Celsius, 62.0)], &ours).unwrap(),
            "2 numbers"
        );
        assert!(agreement(&[claim(What::UsedMib, 41_000.0)], &ours).is_err());
        assert!(agreement(&[claim(What::HeldMib(7), 1.0)], &ours).is_err(), "gpuwhy misses a process");
        assert!(agreement(&[], &ours).is_err());
    }

    #[test]
    fn a_sample_gives_its_numbers() {
        let card = json!({
            "uuid": { "known": "GPU-a" }, "busy": { "known": 99.0 },
            "memory": { "known": { "used": 1_048_576, "total": 2_097_152 } },
            "clients": { "known": [{ "pid": 7, "memory": { "known": 524_288 } }] },
            "power": "unsupported",
        });
        let numbers = numbers_of(&json!({ "nvml": { "value": { "known": { "cards": [card] } } } })).unwrap();
        let of = |what| numbers.get(&("GPU-a".to_owned(), what)).copied();
        assert_eq!(
            (of(What::Busy), of(What::UsedMib), of(What::HeldMib(7))),
            (Some(99.0), Some(1.0), Some(0.5))
        );
        assert_eq!(of(What::Watts), None);
    }
}
