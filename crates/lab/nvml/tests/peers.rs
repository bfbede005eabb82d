//! Other people's programs on the library of a box, unchanged: NVIDIA's Python bindings, gpustat, nvitop, nvsonar,
//! nvtop and all-smi.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
// One `json!` holds everything that a card should answer.
#![recursion_limit = "256"]

mod support;
mod tools;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use gpuwhy_lab::board::{Architecture, Board, Brand, Card, Ecc};
use gpuwhy_lab::cards::Machine;
use gpuwhy_lab::state::Clock;
use serde_json::{Value, json};
use support::{Member, TestBox, be_a_member};
use tools::{python_tool, text_of};

const MIB: u64 = 1 << 20;

const BOARD: &str = r#"
[driver]
accounting = true

[[card]]
profile = "h100-sxm5-80gb"
numa_node = 0
power_limit_w = 500.0
enforced_power_limit_w = 450.0
pcie_current_width = 8
pcie_replays_per_s = 50.0
pcie_errors = { correctable = 5 }
nvlink = { down = [2], checksum_errors = 9 }
ecc = { corrected = { dram = 7, sram = 4 }, uncorrected = { dram = 2 }, earlier_uncorrected = { dram = 5, sram = 1 }, sram_threshold_exceeded = true }
repair = { corrected = 1, uncorrected = 3, pending = true }

[[card]]
profile = "rtx-3090"
numa_node = 0
display = true

[[card]]
profile = "t4"
numa_node = 1
compute_mode = 3
ecc = { corrected = { sram = 3 } }
repair = { corrected = 1, uncorrected = 2, pending = true }

[[card]]
profile = "a100-sxm4-40gb"
numa_node = 1
inforom_corrupt = true
repair = { pending = true }

[[card]]
profile = "a100-sxm4-80gb"
numa_node = 1
mig = { enabled = true, instances = ["3g.40gb", "1g.10gb"] }
repair = { pending = true }
"#;

/// Time in which a program that starts now has surely asked for its events, in seconds.
const UNTIL_EVENT_S: f64 = 10.0;

/// Cards of the board whose links need no bridge.
const LINKED: [usize; 3] = [0, 3, 4];

#[test]
#[ignore = "a member of a box, started by the other tests"]
fn member() {
    be_a_member();
}

/// A box with a busy card, two held ones, a free one, and one that is cut.
struct Scene {
    test_box: TestBox,
    busy: Member,
    notebook: Member,
    holder: Member,
    /// On the first instance of the card that is cut.
    tenant: Member,
}

impl Scene {
    fn up() -> Self {
        Self::up_with(BOARD)
    }

    fn up_with(board: &str) -> Self {
        let test_box = TestBox::up(board);
        let busy = test_box.member(0, 30_000 * MIB, true);
        let notebook = test_box.member(1, 2_000 * MIB, false);
        let holder = test_box.member(2, 500 * MIB, false);
        let tenant = test_box.member(4, 1_000 * MIB, false);
        Self { test_box, busy, notebook, holder, tenant }
    }

    /// Writes into the board that a card reports `xid` soon. Bringing the box up takes longer on a slow machine, so
    /// the board cannot say it from the start.
    fn plan_event(&self, card: usize, xid: u32) {
        let directory = &self.test_box.directory;
        let since_start = Machine::open(directory).unwrap().since_start(Clock::now());
        let at_s = since_start + UNTIL_EVENT_S;
        let board = fs::read_to_string(directory.board_file()).unwrap();
        let event = format!("[[event]]\nat_s = {at_s:.1}\ncard = {card}\nxid = {xid}\n");
        fs::write(directory.board_file(), format!("{board}\n{event}")).unwrap();
    }

    fn clients(&self, card: usize) -> Vec<(u32, u64)> {
        match card {
            0 => vec![(self.busy.pid(), 30_000 * MIB)],
            1 => vec![(self.notebook.pid(), 2_000 * MIB)],
            2 => vec![(self.holder.pid(), 500 * MIB)],
            4 => vec![(self.tenant.pid(), 1_000 * MIB)],
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
    // Installing it may take longer than the event waits.
    let python = python_tool("python3");
    let scene = Scene::up();
    let board = Board::of(&scene.test_box.directory).unwrap();
    let cards: Vec<Value> = board.cards.iter().map(|card| expectation(&scene, card)).collect();
    let xid = json!({ "card": 2, "xid": 13 });
    let expected = json!({ "driver_version": board.driver.version, "cards": cards, "xid": xid });
    let file = scene.test_box.directory.path().join("expected.json");
    fs::write(&file, expected.to_string()).unwrap();
    scene.plan_event(2, 13);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
    let arguments = [script, scene.test_box.directory.library(), file];
    let arguments = arguments.each_ref().map(|argument| argument.to_str().unwrap());
    let output = scene.run(&python, &arguments);
    assert!(output.status.success(), "{}", text_of(&output));
}

#[test]
fn gpustat_lists_the_members() {
    let scene = Scene::up();
    let output = scene.run(&python_tool("gpustat"), &["--json"]);
    assert!(output.status.success(), "{}", text_of(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cards = report["gpus"].as_array().unwrap();
    assert_eq!(cards.len(), 5);
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
    let output = scene.run(&python_tool("nvitop"), &["-1", "--ascii"]);
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

#[test]
fn nvsonar_reports_every_card() {
    // It cannot compare cards of which one does not tell its utilization, as a card that is cut does not.
    let scene = Scene::up_with(&BOARD.replace("mig = {", "# mig = {"));
    let output = scene.run(&python_tool("nvsonar"), &["report", "--json"]);
    let said = text_of(&output);
    // Its exit code tells of findings, so only what it prints counts.
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{said}"));
    let listed = report.to_string();
    let board = Board::of(&scene.test_box.directory).unwrap();
    for card in &board.cards {
        assert!(listed.contains(&card.profile.name), "{} is missing\n{said}", card.profile.name);
        assert!(listed.contains(&card.uuid), "{} is missing\n{said}", card.uuid);
    }
}

#[test]
fn nvtop_shows_every_card_and_the_busy_process() {
    let nvtop = match tools::nvtop() {
        Ok(nvtop) => nvtop,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let scene = Scene::up();
    let board = Board::of(&scene.test_box.directory).unwrap();
    let mut words: Vec<String> = board.cards.iter().map(|card| card.profile.name.clone()).collect();
    words.extend([scene.busy.pid(), scene.notebook.pid(), scene.holder.pid()].map(|pid| pid.to_string()));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal.py");
    let words = json!(words).to_string();
    let arguments = [script.to_str().unwrap(), "30", &words, nvtop.to_str().unwrap()];
    let output = scene.run(&python_tool("python3"), &arguments);
    assert!(output.status.success(), "{}", text_of(&output));
}

#[test]
#[ignore = "builds all-smi for several minutes: part of the full test"]
fn all_smi_lists_every_card() {
    let all_smi = match tools::all_smi() {
        Ok(all_smi) => all_smi,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let scene = Scene::up();
    // It looks for an NVIDIA controller on the PCI bus first.
    let tools = scene.test_box.directory.path().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let lspci = tools.join("lspci");
    fs::write(&lspci, "#!/bin/sh\necho '0f:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)'\n")
        .unwrap();
    fs::set_permissions(&lspci, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let output = Command::new(all_smi)
        .args(["snapshot", "--format", "json", "--include", "gpu,process"])
        .env("LD_LIBRARY_PATH", scene.test_box.directory.library_directory())
        .env("PATH", path)
        .output()
        .unwrap();
    let said = text_of(&output);
    assert!(output.status.success(), "{said}");
    let board = Board::of(&scene.test_box.directory).unwrap();
    for card in &board.cards {
        assert!(said.contains(&card.uuid), "{} is missing\n{said}", card.uuid);
    }
    for (pid, _) in scene.clients(0) {
        assert!(said.contains(&pid.to_string()), "process {pid} is missing\n{said}");
    }
}

/// What NVML should answer about `card`, from the board and from what the members were told to do.
fn expectation(scene: &Scene, card: &Card) -> Value {
    let mut all = plain_expectation(scene, card);
    let more = [health_expectation(card), link_expectation(card), instance_expectation(scene, card)];
    for part in more {
        if let (Some(all), Value::Object(part)) = (all.as_object_mut(), part) {
            all.extend(part);
        }
    }
    all
}

fn health_expectation(card: &Card) -> Value {
    let (ecc, repair) = (&card.setting.ecc, &card.setting.repair);
    let uncorrected_ever = ecc.uncorrected.plus(ecc.earlier_uncorrected);
    json!({
        "corrected": [ecc.corrected.dram, ecc.corrected.sram],
        "uncorrected": [ecc.uncorrected.dram, ecc.uncorrected.sram],
        "uncorrected_ever": [uncorrected_ever.dram, uncorrected_ever.sram],
        "threshold_exceeded": u32::from(ecc.sram_threshold_exceeded),
        "rows": [repair.corrected, repair.uncorrected],
        "memory_banks": card.memory_banks(),
        "inforom_corrupt": card.setting.inforom_corrupt,
        "link_errors": card.setting.pcie_errors.correctable,
    })
}

fn link_expectation(card: &Card) -> Value {
    let links = card.profile.nvlink.map_or(0, |nvlink| nvlink.links);
    let is_linked = LINKED.contains(&card.index);
    let peers: Vec<usize> = LINKED.into_iter().filter(|other| *other != card.index).collect();
    let is_up = |link: &u32| is_linked && !card.setting.nvlink.down.contains(link);
    json!({
        "links": links,
        "links_up": (0..links).filter(is_up).collect::<Vec<_>>(),
        "link_peers": (0..links as usize).map(|link| peers[link % peers.len()]).collect::<Vec<_>>(),
        "link_version": card.profile.nvlink.map_or(0, |nvlink| nvlink.version),
        "link_speed": card.profile.nvlink.map_or(0, |nvlink| nvlink.mb_per_s),
        "checksum_errors": card.setting.nvlink.checksum_errors,
    })
}

fn instance_expectation(scene: &Scene, card: &Card) -> Value {
    let clients = scene.clients(card.index);
    let instances: Vec<Value> = card
        .instances
        .iter()
        .enumerate()
        .map(|(position, cut)| {
            let own = if position == 0 { clients.as_slice() } else { &[] };
            json!({
                "profile": cut.profile,
                "uuid": cut.uuid,
                "gpu_instance": cut.gpu_instance,
                "slices": cut.slices,
                "multiprocessors": cut.multiprocessors,
                "memory_bytes": cut.memory_bytes,
                "held_bytes": own.iter().map(|(_, bytes)| bytes + card.context_bytes).sum::<u64>(),
                "pids": own.iter().map(|(pid, _)| pid).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "instances": instances })
}

fn plain_expectation(scene: &Scene, card: &Card) -> Value {
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
        "driver_version": "580.95.05",
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
