use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardKind, CardMemory, ClientKind};
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};

use super::super::{Block, Context, Remark};
use super::read;
use crate::nvidia_cell::failure;
use crate::paste::Paste;

fn block_of(text: &str, command: Option<&str>) -> Block {
    let paste = Paste::of(text);
    read(&paste.lines, &Context { command }).unwrap_or_else(|| panic!("not recognised:\n{text}"))
}

fn block(text: &str) -> Block {
    block_of(text, None)
}

fn scene(text: &str) -> Scene {
    block(text).scene
}

fn mib(number: u64) -> Bytes {
    Bytes(number << 20)
}

fn memory(used: u64, total: u64) -> Reading<CardMemory> {
    Reading::Known(CardMemory {
        total: mib(total),
        reserved: Reading::default(),
        used: mib(used),
        free: mib(total - used),
    })
}

/// Rows of two lines, short addresses, processes without instances: 2014 to 2020.
const OLD: &str = "\
Tue Mar  3 04:05:06 2015
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 367.57                 Driver Version: 367.57                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX TIT...  Off  | 0000:03:00.0      On |                  N/A |
| 22%   61C    P2   140W / 250W |   9000MiB / 12206MiB |     97%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla K40m          On   | 0000:04:00.0     Off |                   12 |
| N/A   35C    P8    20W / 235W |     22MiB / 11439MiB |      0%   E. Process |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      1044      G   /usr/bin/X                                     120MiB |
|    0      7001      C   /home/x/bin/train                             8870MiB |
+-----------------------------------------------------------------------------+
";

#[test]
fn the_old_table_is_read() {
    let scene = scene(OLD);
    assert_eq!(scene.provenance.source, SourceKind::Text);
    assert_eq!(scene.provenance.inputs, ["nvidia-smi"]);
    assert_eq!(scene.window.taken_at.to_string(), "2015-03-03T04:05:06Z");
    assert_eq!((scene.window.samples, scene.window.end_boot_ns), (1, None));
    let driver = &scene.machine.driver;
    assert_eq!(driver.library, Reading::Known(()));
    assert_eq!(driver.version, Reading::Known("367.57".into()));
    assert!(driver.cuda_version.is_not_in_source() && driver.init_ms.is_not_in_source());
    assert_eq!(driver.card_count, Reading::Known(2));

    let first = &scene.cards[0];
    assert_eq!(first.name, Reading::Known("GeForce GTX TIT...".into()));
    assert_eq!(first.pci_address, Reading::Known("0000:03:00.0".into()));
    assert_eq!((&first.persistence, &first.display_active), (&Reading::Known(false), &Reading::Known(true)));
    assert_eq!(
        (&first.ecc.enabled, &first.ecc.volatile.uncorrected),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert_eq!(first.fan, Reading::Known(Percent(22.0)));
    assert_eq!(first.temperature.known().unwrap().last, Celsius(61.0));
    assert_eq!(first.performance_state, Reading::Known(2));
    assert_eq!(first.power.known().unwrap().last, Watts(140.0));
    assert_eq!(first.power_limits.enforced, Reading::Known(Watts(250.0)));
    assert_eq!(first.memory, memory(9000, 12206));
    assert_eq!(first.busy.known().unwrap().last, Percent(97.0));
    assert_eq!(first.compute_mode, Reading::Known("default".into()));
    assert!(first.mig_enabled.is_not_in_source() && first.uuid.is_not_in_source());
    assert_eq!(first.unexplained, Reading::Known(mib(10)));
    let clients = first.known_clients();
    assert_eq!((clients[0].pid, clients[0].kind), (Pid(1044), ClientKind::Graphics));
    assert_eq!(clients[1].memory, Reading::Known(mib(8870)));
    assert_eq!(clients[1].name, Reading::Known("/home/x/bin/train".into()));

    let second = &scene.cards[1];
    assert_eq!(second.fan, Reading::Unsupported);
    assert_eq!(second.compute_mode, Reading::Known("exclusive_process".into()));
    assert_eq!(second.ecc.volatile.uncorrected, Reading::Known(12));
    assert_eq!(second.clients, Reading::Known(Vec::new()));
}

/// Rows of three lines, multi-instance devices, processes with instances.
const NEW: &str = "\
Wed Nov  4 10:11:12 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.11                 KMD Version: 610.12        CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:65:00.0 Off |                   On |
| N/A   42C    P0             98W /  400W |    5052MiB /  40960MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A100-SXM4-40GB          On  |   00000001:66:00.0 Off |                    0 |
| N/A   40C    P0             60W /  400W |       0MiB /  40960MiB |      0%   Prohibited |
|                                         |                        |            Disabled* |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    2   0   0  |            5010MiB / 20096MiB    | 42      3 |  3   0    2    0    0 |
|                  |               2MiB / 32767MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    9   0   1  |              13MiB /  4864MiB    | 14      0 |  1   0    0    0    0 |
|                  |               0MiB /  8191MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0    2    0            31180      C   python3 serve.py                       4980MiB |
+-----------------------------------------------------------------------------------------+
";

#[test]
fn the_new_table_with_instances_is_read() {
    let block = block(NEW);
    assert_eq!((block.lines, block.remarks.len()), (NEW.lines().count(), 0));
    let scene = block.scene;
    assert_eq!(scene.machine.driver.version, Reading::Known("610.12".into()));
    assert_eq!(scene.machine.driver.cuda_version, Reading::Known("13.3".into()));
    assert_eq!(scene.machine.driver.card_count, Reading::Known(2));
    let [whole, large, small, other] = &scene.cards[..] else {
        panic!("{} cards", scene.cards.len());
    };
    assert_eq!((&whole.mig_enabled, &whole.mig_pending), (&Reading::Known(true), &Reading::Known(true)));
    assert_eq!((&whole.ecc.enabled, whole.busy.is_known()), (&Reading::Known(true), false));
    assert_eq!(whole.busy, Reading::Unsupported);
    assert_eq!((large.kind, large.parent, large.index), (CardKind::MigInstance, Some(0), 0));
    assert_eq!((&large.memory, &large.bar1), (&memory(5010, 20096), &memory(2, 32767)));
    assert_eq!(large.ecc.volatile.uncorrected, Reading::Known(3));
    assert_eq!(large.handle, Reading::Known(()));
    assert_eq!((small.index, small.memory.known().unwrap().total), (1, mib(4864)));
    for card in [whole, large] {
        assert_eq!(card.known_clients()[0].name, Reading::Known("python3 serve.py".into()));
    }
    assert_eq!(small.clients, Reading::Known(Vec::new()));
    assert_eq!((&other.mig_enabled, &other.mig_pending), (&Reading::Known(false), &Reading::Known(true)));
    assert_eq!(other.pci_address, Reading::Known("0001:66:00.0".into()));
    assert_eq!(other.compute_mode, Reading::Known("prohibited".into()));
    assert_eq!(other.clients, Reading::Known(Vec::new()));
}

const BEFORE_ROWS: &str = "\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.1                  Driver Version: 580.1          CUDA Version: N/A      |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
";

const RULE: &str =
    "+-----------------------------------------+------------------------+----------------------+\n";

fn panel(rows: &str) -> String {
    format!(
        "\n+-----------------------------------------------------------------------------------------+\n\
         | Processes:                                                                              |\n\
         |  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n\
         |        ID   ID                                                               Usage      |\n\
         |=========================================================================================|\n{rows}\
         +-----------------------------------------------------------------------------------------+\n"
    )
}

const ROW: &str = "\
|   0  Some Card                      On  |   00000000:65:00.0 Off |                    0 |
| N/A   42C    P0             98W /  400W |    5052MiB /  40960MiB |     50%      Default |
|                                         |                        |             Disabled |
";

fn card_of(rows: &str) -> Card {
    scene(&format!("{BEFORE_ROWS}{rows}{RULE}")).cards.remove(0)
}

#[test]
fn integrated_cards_have_no_memory_of_their_own() {
    let card = card_of(
        "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n\
         | N/A   56C    P0             13W /  N/A  | Not Supported          |      0%      Default |\n\
         |                                         |                        |                  N/A |\n",
    );
    assert_eq!(card.memory, Reading::Unsupported);
    assert_eq!(card.power_limits.enforced, Reading::Unsupported);
    assert_eq!(card.pci_address, Reading::Known("000f:01:00.0".into()));
    assert_eq!((card.mig_enabled, card.mig_pending), (Reading::Unsupported, Reading::Unsupported));
    let card = card_of(
        "|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |\n\
         | N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |\n",
    );
    assert_eq!(card.name, Reading::Known("Orin (nvgpu)".into()));
    assert_eq!((card.pci_address, card.persistence), (Reading::Unsupported, Reading::Unsupported));
    assert_eq!((card.compute_mode, card.handle), (Reading::Unsupported, Reading::Known(())));
}

#[test]
fn windows_has_driver_models_and_no_amounts() {
    let text = format!(
        "{BEFORE_ROWS}\
         |   0  NVIDIA GeForce RTX 2080 ...  WDDM  |   00000000:0C:00.0  On |                  N/A |\n\
         | 38%   39C    P8             37W /  250W |     797MiB /   8192MiB |      0%      Default |\n{RULE}{}",
        panel(
            "|    0   N/A  N/A            2140    C+G   C:\\Windows\\System32\\dwm.exe           N/A      |\n\
             |    0   N/A  N/A            9964    C+G   ...CEF\\An Overlay.exe                 N/A      |\n\
             |    0   N/A  N/A            4000      C   Insufficient Permissions            N/A      |\n"
        )
    );
    let card = scene(&text).cards.remove(0);
    assert_eq!(card.persistence, Reading::Unsupported);
    let clients = card.known_clients();
    assert_eq!(clients[0].memory, Reading::Unsupported);
    assert_eq!(clients[1].name, Reading::Denied(Access::Root));
    assert_eq!(clients[2].name, Reading::Known("...CEF\\An Overlay.exe".into()));
    assert_eq!(card.unexplained, Reading::Unsupported);
}

#[test]
fn one_failed_cell_is_no_zero_and_all_failed_cells_are_a_silent_card() {
    let card = card_of(
        "|   0  Tesla T4                       On  | 00000000:00:03.0 Off |                    0 |\n\
         | N/A   ERR!   P0              ERR! / ERR!|  10457MiB / 15360MiB |      0%      Default |\n",
    );
    assert_eq!(card.handle, Reading::Known(()));
    assert_eq!(card.temperature, Reading::Failed(failure(999)));
    assert_eq!(card.power, Reading::Failed(failure(999)));
    assert_eq!(card.busy.known().unwrap().last, Percent(0.0));
    let card = card_of(
        "|   0  ERR!                On   | 00000000:83:00.0 Off |                 ERR! |\n\
         |ERR!  ERR! ERR!    ERR! / ERR! |      0MiB / 46068MiB |    ERR!      Default |\n\
         |                               |                      |                 ERR! |\n",
    );
    assert_eq!(card.handle, Reading::Failed(failure(999)));
    assert_eq!((&card.name, &card.fan), (&Reading::Failed(failure(999)), &Reading::Failed(failure(999))));
    assert_eq!(card.ecc.volatile.uncorrected, Reading::Failed(failure(999)));
    assert_eq!(card.memory, memory(0, 46068));
    let card = card_of(
        "|   0  ERR!                On   | 00000000:83:00.0 Off |                 ERR! |\n\
         |ERR!  ERR! ERR!    ERR! / ERR! | GPU is lost          |    ERR!         ERR! |\n",
    );
    assert_eq!(card.handle, Reading::Failed(failure(15)));
}

#[test]
fn an_empty_panel_is_not_one_without_processes() {
    let with = |rows: &str| scene(&format!("{BEFORE_ROWS}{ROW}{RULE}{}", panel(rows))).cards.remove(0);
    let none =
        with("|  No running processes found                                                             |\n");
    assert_eq!((none.clients, none.unexplained), (Reading::Known(Vec::new()), Reading::Known(mib(5052))));
    let empty = with("");
    assert_eq!(empty.clients, Reading::Denied(Access::VisibleProcesses));
    assert_eq!(empty.unexplained, Reading::Known(mib(5052)), "nobody who is listed holds it");
    let cut = format!("{BEFORE_ROWS}{ROW}{RULE}{}", panel(""));
    let cut = cut.trim_end().rsplit_once('\n').unwrap().0;
    assert!(scene(cut).cards[0].clients.is_not_in_source());
    assert!(card_of(ROW).clients.is_not_in_source());
}

#[test]
fn impossible_numbers_of_processes_are_kept_for_the_rules() {
    let text = format!(
        "{BEFORE_ROWS}{ROW}{RULE}{}",
        panel(
            "|    0   N/A  N/A               0      C   N/A                                 4980MiB |\n\
             |    0   N/A  N/A      4294967295      C   [Not Found]                         N/A      |\n"
        )
    );
    let card = scene(&text).cards.remove(0);
    let pids: Vec<u32> = card.known_clients().iter().map(|client| client.pid.0).collect();
    assert_eq!(pids, [0, u32::MAX]);
    assert_eq!(card.known_clients()[0].name, Reading::Unsupported);
}

#[test]
fn the_last_list_of_a_cut_panel_may_go_on() {
    let text = format!(
        "{BEFORE_ROWS}{ROW}{RULE}{}",
        panel("|    0   N/A  N/A            7000      C   python                               100MiB |\n")
    );
    let whole = scene(&text).cards.remove(0);
    assert_eq!(whole.unexplained, Reading::Known(mib(4952)));
    let cut = scene(text.trim_end().rsplit_once('\n').unwrap().0).cards.remove(0);
    assert_eq!(cut.known_clients().len(), 1);
    assert!(matches!(cut.unexplained, Reading::Failed(Failure::Syntax { .. })));
}

#[test]
fn old_drivers_say_that_they_list_nothing() {
    let text = format!(
        "{BEFORE_ROWS}{ROW}{RULE}\
         +-----------------------------------------------------------------------------+\n\
         | Compute processes:                                               GPU Memory |\n\
         |  GPU       PID  Process name                                     Usage      |\n\
         |=============================================================================|\n\
         |    0            Not Supported                                               |\n\
         +-----------------------------------------------------------------------------+\n"
    );
    assert_eq!(scene(&text).cards[0].clients, Reading::Unsupported);
}

#[test]
fn a_card_that_does_not_answer_stands_beside_the_table() {
    let text = format!(
        "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n{BEFORE_ROWS}{ROW}{RULE}\
         {}{RULE}{}",
        ROW.replace("|   0 ", "|   2 ").replace("00000000:65", "00000000:66"),
        panel("|    2   N/A  N/A            7000      C   python                               100MiB |\n")
    );
    let scene = scene(&text);
    assert_eq!(scene.machine.driver.card_count, Reading::Known(3));
    let lost = &scene.cards[1];
    assert_eq!((lost.index, &lost.pci_address), (1, &Reading::Known("0000:34:00.0".into())));
    assert!(matches!(lost.handle, Reading::Failed(Failure::Nvml { code: 999, .. })));
    assert!(lost.memory.is_not_in_source() && lost.name.is_not_in_source());
    assert_eq!(scene.cards[2].handle, Reading::Known(()));
    let alone =
        self::scene("Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot");
    assert!(matches!(alone.cards[0].handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert_eq!(alone.cards[0].pci_address, Reading::Known("0000:05:00.0".into()));
    assert!(alone.machine.driver.card_count.is_not_in_source());
}

#[test]
fn a_warning_below_the_table_is_about_its_card() {
    let text = format!(
        "{BEFORE_ROWS}{ROW}{RULE}{}WARNING: infoROM is corrupted at gpu 0000:65:00.0\n",
        panel(
            "|  No running processes found                                                             |\n"
        )
    );
    let block = block(&text);
    assert_eq!((block.lines, block.remarks.len()), (text.lines().count(), 0));
    assert_eq!(block.scene.cards.len(), 1);
    assert_eq!(block.scene.cards[0].inforom, Reading::Failed(failure(14)));
    let alone = scene("WARNING: infoROM is corrupted at gpu 0008:00:00.0");
    assert_eq!(alone.cards[0].pci_address, Reading::Known("0008:00:00.0".into()));
    assert_eq!(alone.cards[0].handle, Reading::Known(()));
    let other = self::block(&text.replace("infoROM is corrupted", "power cap is too low"));
    assert_eq!(other.remarks, [Remark::NotUnderstood { line: text.lines().count() as u64 }]);
}

#[test]
fn what_is_said_instead_of_a_table_is_why_there_is_none() {
    let library = |text: &str| scene(text).machine.driver.library;
    let init = |code| Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code });
    assert_eq!(
        library("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make"),
        init(9)
    );
    let mismatch =
        scene("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n");
    assert_eq!(mismatch.machine.driver.library, init(18));
    assert_eq!(mismatch.machine.driver.library_version, Reading::Known("535.183".into()));
    assert!(mismatch.cards.is_empty());
    assert_eq!(
        library("bash: nvidia-smi: command not found"),
        Reading::Failed(Failure::Missing { path: "nvidia-smi".to_owned() })
    );
    let none = scene("No devices were found");
    assert_eq!(
        (none.machine.driver.library, none.machine.driver.card_count),
        (Reading::Known(()), Reading::Known(0))
    );
    let inside =
        block_of("Failed to initialize NVML: Unknown Error", Some("kubectl exec -it p -- nvidia-smi")).scene;
    assert_eq!(
        (inside.machine.driver.library, inside.machine.container),
        (init(999), Reading::Known("kubernetes".into()))
    );
    let ended = block("Failed to initialize NVML: Unknown Error\ncommand terminated with exit code 255");
    assert_eq!(ended.lines, 1);
}

#[test]
fn several_tables_of_one_machine_are_looks_over_time() {
    let later = OLD.replace("04:05:06", "04:05:16").replace("97%", " 3%").replace("9000MiB", "9100MiB");
    let block = block(&format!("{OLD}\n{later}"));
    let card = &block.scene.cards[0];
    assert_eq!((block.scene.window.samples, block.scene.window.span_s), (2, 10.0));
    assert_eq!(card.busy.known().map(|busy| (busy.n, busy.mean)), Some((2, Percent(50.0))));
    assert_eq!(card.memory, memory(9100, 12206));
    // The same time, another machine, or no time: another output.
    for other in [
        OLD.to_owned(),
        later.replace("0000:04:00.0", "0000:05:00.0"),
        later.split_once('\n').unwrap().1.to_owned(),
    ] {
        let block = self::block(&format!("{OLD}\n{other}"));
        assert_eq!((block.lines, block.scene.window.samples), (OLD.lines().count(), 1));
    }
}

#[test]
fn some_cards_only_are_not_all() {
    let text = format!(
        "{BEFORE_ROWS}{ROW}{RULE}{}",
        panel(
            "|  No running processes found                                                             |\n"
        )
    );
    assert_eq!(scene(&text).machine.driver.card_count, Reading::Known(1));
    let asked = block_of(&text, Some("nvidia-smi -i 0")).scene;
    assert!(asked.machine.driver.card_count.is_not_in_source());
    assert!(scene(&text.replace("|   0 ", "|   3 ")).machine.driver.card_count.is_not_in_source());
    assert!(scene(&format!("{BEFORE_ROWS}{ROW}{RULE}")).machine.driver.card_count.is_not_in_source());
}

#[test]
fn a_table_cut_at_its_top_is_read_from_its_first_sure_row() {
    let whole = format!(
        "{BEFORE_ROWS}{}{RULE}{ROW}{RULE}{}",
        ROW.replace("|   0 ", "|   4 ").replace(":65:", ":64:"),
        panel(
            "|  No running processes found                                                             |\n"
        )
    )
    .replace("|   0 ", "|   5 ");
    let lines: Vec<&str> = whole.lines().collect();
    // From the first row of values on: they are of the card before the next.
    let scene = scene(&lines[8..].join("\n"));
    let named: Vec<(u32, bool)> = scene.cards.iter().map(|card| (card.index, card.name.is_known())).collect();
    assert_eq!(named, [(4, false), (5, true)]);
    assert_eq!(scene.cards[0].memory, memory(5052, 40960));
    assert!(
        scene.machine.driver.version.is_not_in_source() && scene.machine.driver.card_count.is_not_in_source()
    );
    let rows = self::scene(&format!("{RULE}{ROW}{RULE}"));
    assert_eq!(rows.cards.len(), 1);
    let process = self::scene("|    3   N/A  N/A            7000      C   python                 100MiB |");
    assert_eq!((process.cards[0].index, process.cards[0].known_clients().len()), (3, 1));
}

#[test]
fn wrapped_lines_give_the_same() {
    let wrapped = |text: &str, width: usize| -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let characters: Vec<char> = line.chars().collect();
            let parts =
                characters.chunks(width).map(|part| part.iter().collect::<String>().trim_end().to_owned());
            lines.extend(parts.filter(|part| !part.is_empty()));
            if line.is_empty() {
                lines.push(String::new());
            }
        }
        lines.join("\n") + "\n"
    };
    for text in [OLD, NEW] {
        let whole = scene(text);
        for width in [60, 70, 78, 80, 90] {
            let wrapped = block(&wrapped(text, width));
            assert_eq!(
                (wrapped.remarks, wrapped.scene.cards.len()),
                (Vec::new(), whole.cards.len()),
                "{width}"
            );
            assert!(wrapped.scene == whole, "{width}");
        }
    }
}

#[test]
fn blanks_that_a_page_collapsed_change_nothing() {
    let collapse = |text: &str| -> String {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
    };
    for text in [OLD, NEW] {
        assert!(scene(&collapse(text)) == scene(text));
    }
}

#[test]
fn what_stands_behind_a_table_is_another_text() {
    for behind in
        ["$ free -g", "+----+\n| x  |\n+----+", "| a | b |", "Filesystem  Size", "", "\n\n\n\n| x |"]
    {
        let block = block(&format!("{OLD}{behind}\n"));
        assert_eq!(block.lines, OLD.lines().count(), "{behind}");
        assert!(block.remarks.is_empty());
    }
    let inside = OLD.replace("|   1  Tesla", "| what is this |\n|   1  Tesla");
    let block = block(&inside);
    assert_eq!(block.remarks, [Remark::NotUnderstood { line: 11 }]);
    assert_eq!(block.scene.cards.len(), 2);
}

#[test]
fn other_tables_are_none_of_this() {
    for text in [
        "+----+\n| x  |\n+----+",
        "| GPU | Name |\n|-----|------|\n| 0   | A100 |",
        "+-----+\n| HL-SMI Version:   hl-1.9 |\n| AIP  Name             Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|",
        "|   5  HL-225              N/A  | 0000:0d:00.0     N/A |                   0  |",
        "| 6       310       | OK              | 12.8              73             0       / 970   |\n\
         | 0       3         | 0000:89:00.0    | 0                 2703 / 8192                    |\n\
         +===================+=================+==================================================+",
        "| Processes:                                                                   |\n|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |",
        "Fri Jun  8 07:42:08 2018",
        "Fri Jun  8 07:42:08 2018\nsomething",
        "| 1 | 2 | 3 |",
        "GPU 0: Some Card (UUID: GPU-0)",
        "",
    ] {
        let paste = Paste::of(text);
        for place in 0..paste.lines.len() {
            let block = read(&paste.lines[place..], &Context::default());
            assert!(block.is_none(), "{text} at {place}");
        }
    }
}

#[test]
fn a_cut_anywhere_gives_only_what_is_whole() {
    for text in [OLD, NEW] {
        let whole = scene(text);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let paste = Paste::of(&text[..end]);
            let Some(block) = read(&paste.lines, &Context::default()) else {
                continue;
            };
            for card in &block.scene.cards {
                let same = |other: &&Card| (other.parent, other.index) == (card.parent, card.index);
                let full =
                    whole.cards.iter().find(same).unwrap_or_else(|| panic!("card {} at {end}", card.index));
                assert!(!card.memory.is_known() || card.memory == full.memory, "{end}");
                assert!(!card.bar1.is_known() || card.bar1 == full.bar1, "{end}");
                assert!(!card.busy.is_known() || card.busy == full.busy, "{end}");
                assert!(!card.name.is_known() || card.name == full.name, "{end}");
                assert!(!card.pci_address.is_known() || card.pci_address == full.pci_address, "{end}");
                assert!(!card.temperature.is_known() || card.temperature == full.temperature, "{end}");
                assert!(!card.power.is_known() || card.power == full.power, "{end}");
                assert!(!card.mig_enabled.is_known() || card.mig_enabled == full.mig_enabled, "{end}");
                assert!(!card.compute_mode.is_known() || card.compute_mode == full.compute_mode, "{end}");
                assert!(!card.ecc.volatile.uncorrected.is_known() || card.ecc == full.ecc, "{end}");
                for client in card.known_clients() {
                    let other = full.known_clients().iter().find(|other| other.pid == client.pid);
                    assert!(
                        other.is_some_and(|other| !client.memory.is_known() || client.memory == other.memory),
                        "{end}"
                    );
                }
            }
        }
    }
}
