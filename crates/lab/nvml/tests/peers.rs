//! Other people's programs on the library of a box: NVIDIA's Python bindings, gpustat and nvitop, unchanged.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
// One `json!` holds everything that a card should answer.
#![recursion_limit = "256"]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use gpuwhy_lab::board::{Architecture, Board, Brand, Card, Ecc};
use serde_json::{Value, json};
use support::{Member, TestBox, be_a_member};

/// What the tests install from the Python package index.
const PACKAGES: [&str; 3] = ["nvidia-ml-py==13.615.71", "gpustat==1.1.1", "nvitop==1.7.2"];
const MIB: u64 = 1 << 20;

const BOARD: &str = r#"
[driver]
accounting = true

[[card]]
profile = "h100-sxm5-80gb"
power_limit_w = 500.0
enforced_power_limit_w = 450.0
pcie_current_width = 8
pcie_replays_per_s = 50.0
ecc_correctable = 7
ecc_uncorrectable = 2
remapped_rows = 3
remap_pending = true

[[card]]
profile = "rtx-3090"
display = true

[[card]]
profile = "t4"
compute_mode = 3
remapped_rows = 2
remap_pending = true

[[card]]
profile = "a100-sxm4-40gb"
remap_pending = true
"#;

#[test]
#[ignore = "a member of a box, started by the other tests"]
fn member() {
    be_a_member();
}

/// A box with a busy card, two held ones and a free one.
struct Scene {
    test_box: TestBox,
    busy: Member,
    notebook: Member,
    holder: Member,
}

impl Scene {
    fn up() -> Self {
        let test_box = TestBox::up(BOARD);
        let busy = test_box.member(0, 30_000 * MIB, true);
        let notebook = test_box.member(1, 2_000 * MIB, false);
        let holder = test_box.member(2, 500 * MIB, false);
        Self { test_box, busy, notebook, holder }
    }

    fn clients(&self, card: usize) -> Vec<(u32, u64)> {
        match card {
            0 => vec![(self.busy.pid(), 30_000 * MIB)],
            1 => vec![(self.notebook.pid(), 2_000 * MIB)],
            2 => vec![(self.holder.pid(), 500 * MIB)],
            _ => Vec::new(),
        }
    }

    /// Runs a tool with the library of the box in its search path.
    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        Command::new(program)
            .args(arguments)
            .env("LD_LIBRARY_PATH", self.test_box.directory.library_directory())
            .env("COLUMNS", "120")
            .env("LINES", "60")
            .output()
            .unwrap()
    }
}

#[test]
fn every_function_agrees_with_the_board() {
    let scene = Scene::up();
    let board = Board::of(&scene.test_box.directory).unwrap();
    let cards: Vec<Value> = board.cards.iter().map(|card| expectation(&scene, card)).collect();
    let expected = json!({ "driver_version": board.driver.version, "cards": cards });
    let file = scene.test_box.directory.path().join("expected.json");
    fs::write(&file, expected.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
    let arguments = [script, scene.test_box.directory.library(), file];
    let arguments = arguments.each_ref().map(|argument| argument.to_str().unwrap());
    let output = scene.run(&tool("python3"), &arguments);
    assert!(output.status.success(), "{}", text_of(&output));
}

#[test]
fn gpustat_lists_the_members() {
    let scene = Scene::up();
    let output = scene.run(&tool("gpustat"), &["--json"]);
    assert!(output.status.success(), "{}", text_of(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cards = report["gpus"].as_array().unwrap();
    assert_eq!(cards.len(), 4);
    for (index, card) in cards.iter().enumerate() {
        let processes = card["processes"].as_array().unwrap();
        let listed: Vec<u64> = processes.iter().map(|process| process["pid"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = scene.clients(index).iter().map(|(pid, _)| u64::from(*pid)).collect();
        assert_eq!(listed, expected, "card {index}");
    }
    assert_eq!(cards[0]["name"], "NVIDIA H100 80GB HBM3");
    assert_eq!(cards[0]["enforced.power.limit"], 450);
    assert_eq!(cards[0]["processes"][0]["gpu_memory_usage"], 30_530);
    assert_eq!(cards[3]["memory.used"], 0);
}

#[test]
fn nvitop_lists_the_members() {
    let scene = Scene::up();
    let output = scene.run(&tool("nvitop"), &["-1", "--ascii"]);
    let page = text_of(&output);
    assert!(output.status.success(), "{page}");
    assert!(page.contains("580.95.05") && page.contains("Tesla T4"), "{page}");
    for card in 0..3 {
        let pid = scene.clients(card)[0].0.to_string();
        let is_listed = page.lines().any(|line| {
            let mut words = line.split_whitespace().filter(|word| *word != "|");
            words.next() == Some(card.to_string().as_str()) && words.next() == Some(pid.as_str())
        });
        assert!(is_listed, "no process {pid} on card {card}\n{page}");
    }
}

/// What NVML should answer about `card`, from the board and from what the members were told to do.
fn expectation(scene: &Scene, card: &Card) -> Value {
    let profile = card.profile;
    let clients = scene.clients(card.index);
    let is_busy = card.index == 0;
    let held_state = if clients.is_empty() { profile.states.idle } else { profile.states.context };
    let rest_w = if clients.is_empty() { profile.power.idle } else { profile.power.context };
    let is_asleep = held_state >= 5;
    json!({
        "name": profile.name,
        "uuid": card.uuid,
        "serial": card.serial,
        "bus": card.pci_bus,
        "bus_id": card.pci_bus_id(),
        "pci_device": profile.pci_device,
        "pci_subsystem": profile.pci_subsystem,
        "brand": match profile.brand {
            Brand::Tesla => 2,
            Brand::Geforce => 5,
            Brand::NvidiaRtx => 13,
            Brand::Nvidia => 14,
        },
        "architecture": match profile.architecture {
            Architecture::Volta => 5,
            Architecture::Turing => 6,
            Architecture::Ampere => 7,
            Architecture::Ada => 8,
            Architecture::Hopper => 9,
            Architecture::Blackwell => 10,
        },
        "compute_capability": profile.compute_capability,
        "cores": profile.cores,
        "memory_bus_bits": profile.memory_bus_bits,
        "memory_bytes": card.memory_bytes,
        "reserved_bytes": card.reserved_bytes,
        "bar1_bytes": card.bar1_bytes,
        "held_bytes": clients.iter().map(|(_, bytes)| bytes + card.context_bytes).sum::<u64>(),
        "clients": clients
            .iter()
            .map(|(pid, bytes)| json!({ "pid": pid, "bytes": bytes + card.context_bytes }))
            .collect::<Vec<_>>(),
        "busy_pid": is_busy.then(|| scene.busy.pid()),
        "utilization_period_ms": profile.utilization_period_ms,
        "rest_milliwatts": [rest_w * 990.0, rest_w * 1010.0],
        "maximum_operating": profile.heat.maximum_operating,
        "slowdown": profile.heat.slowdown,
        "shutdown": profile.heat.shutdown,
        "margin": profile.heat.margin,
        "fans": profile.fans,
        "limit_milliwatts": card.power_limit_w * 1000.0,
        "enforced_milliwatts": card.enforced_power_limit_w * 1000.0,
        "default_milliwatts": profile.power.default * 1000.0,
        "limit_range_milliwatts": [profile.power.minimum * 1000.0, profile.power.maximum * 1000.0],
        "sm_mhz": profile.clocks.maximum,
        "memory_mhz": profile.clocks.memory,
        "idle_mhz": profile.clocks.idle,
        "busy_state": profile.states.busy,
        "held_state": held_state,
        "ecc": match profile.ecc {
            Ecc::None => "none",
            Ecc::PageRetirement => "page-retirement",
            Ecc::RowRemapping => "row-remapping",
        },
        "ecc_correctable": card.setting.ecc_correctable,
        "ecc_uncorrectable": card.setting.ecc_uncorrectable,
        "remapped_rows": card.setting.remapped_rows,
        "generation": card.pcie_generation,
        "resting_generation": if is_asleep { profile.pcie.idle_generation } else { card.pcie_generation },
        "width": card.pcie_width,
        "current_width": card.pcie_current_width,
        "replays_per_s": card.setting.pcie_replays_per_s,
        "compute_mode": card.setting.compute_mode,
        "display": u32::from(card.setting.display),
        "mig_devices": profile.mig_devices,
    })
}

/// A program of the tools' own Python environment, which is made when it is absent.
fn tool(name: &str) -> PathBuf {
    static ENVIRONMENT: OnceLock<PathBuf> = OnceLock::new();
    ENVIRONMENT.get_or_init(python_tools).join("bin").join(name)
}

/// Makes `target/python-tools` unless it is there and complete.
fn python_tools() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target");
    fs::create_dir_all(&target).unwrap();
    let environment = target.canonicalize().unwrap().join("python-tools");
    let complete = environment.join("complete");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&complete).is_ok_and(|installed| installed == wanted) {
        return environment;
    }
    install(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
    let python = environment.join("bin/python3");
    install(Command::new(python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES));
    fs::write(complete, wanted).unwrap();
    environment
}

fn install(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(
        output.status.success(),
        "the tests of other people's programs need python3 with venv, and PyPI: {command:?}\n{}",
        text_of(&output)
    );
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
