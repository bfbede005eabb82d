//! Pasted output of `nvidia-smi` of real machines, with values that were read by eye, and the same damaged.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::fs;

use gpuwhy_formats::Format;
use gpuwhy_formats::text::{Piece, understand};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardKind, ClientKind};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz, Percent, Watts};
use proptest::prelude::*;

use beside::beside;

/// Returns a text of the data beside this checkout.
fn text(path: &str) -> Option<String> {
    beside(path).map(|file| fs::read_to_string(file).unwrap())
}

fn pieces(text: &str, format: Format) -> Vec<Piece> {
    understand(text).pieces.into_iter().filter(|piece| piece.format == format).collect()
}

/// Returns the only piece of a format.
fn only(text: &str, format: Format) -> Scene {
    let mut pieces = pieces(text, format);
    assert_eq!(pieces.len(), 1);
    let piece = pieces.remove(0);
    assert!(piece.remarks.is_empty(), "{:?}", piece.remarks);
    piece.scene
}

fn mib(card: &Card) -> (u64, u64) {
    let memory = card.memory.known().unwrap();
    (memory.used.0 >> 20, memory.total.0 >> 20)
}

#[test]
fn tables_of_single_files_are_read() {
    for (file, driver, cuda, cards, name, address, used, total, watts, limit) in [
        (
            "thamada-gls__GTX680_smi.txt",
            "470.256.02",
            "11.4",
            1,
            "NVIDIA GeForce ...",
            "0000:08:00.0",
            0,
            2000,
            None,
            None,
        ),
        (
            "thamada-gls__H100NVLx2_smi.txt",
            "550.54.14",
            "12.4",
            2,
            "NVIDIA H100 NVL",
            "0000:ad:00.0",
            0,
            95830,
            Some(61.0),
            Some(310.0),
        ),
        (
            "thamada-gls__H200_smi.txt",
            "550.90.12",
            "12.4",
            1,
            "NVIDIA H200",
            "0000:03:00.0",
            1,
            143_771,
            Some(74.0),
            Some(700.0),
        ),
        (
            "thamada-gls__RTX5090_smi.txt",
            "570.124.06",
            "12.8",
            1,
            "NVIDIA GeForce RTX 5090",
            "0000:02:00.0",
            2,
            32607,
            Some(24.0),
            Some(575.0),
        ),
        (
            "thamada-gls__V100_x8_smi.txt",
            "550.127.05",
            "12.4",
            8,
            "Tesla V100-SXM2-16GB",
            "0000:00:04.0",
            1,
            16384,
            Some(45.0),
            Some(300.0),
        ),
        (
            "thamada-gls__RTX_A6000_x9_smi.txt",
            "550.127.05",
            "12.4",
            9,
            "NVIDIA RTX A6000",
            "0000:4f:00.0",
            1,
            46068,
            Some(24.0),
            Some(300.0),
        ),
        (
            "NVIDIA-cloud-native-docs__nvidia-smi.txt",
            "535.86.10",
            "12.2",
            1,
            "Tesla T4",
            "0000:00:1e.0",
            0,
            15109,
            Some(9.0),
            Some(70.0),
        ),
        (
            "leptonai-gpud__nvidia-smi.550.90.07.out.0.valid",
            "550.90.07",
            "12.4",
            8,
            "NVIDIA H100 80GB HBM3",
            "0000:19:00.0",
            1,
            81559,
            Some(72.0),
            Some(700.0),
        ),
    ] {
        let Some(text) = text(&format!("testdata/nvidia-smi/{file}")) else {
            return;
        };
        let scene = only(&text, Format::NvidiaSmi);
        let driver_words = &scene.machine.driver;
        assert_eq!(driver_words.version, Reading::Known(driver.into()), "{file}");
        assert_eq!(driver_words.cuda_version, Reading::Known(cuda.into()), "{file}");
        assert_eq!(driver_words.card_count, Reading::Known(cards), "{file}");
        assert_eq!(scene.cards.len(), cards as usize, "{file}");
        let card = &scene.cards[0];
        assert_eq!(card.name, Reading::Known(name.into()), "{file}");
        assert_eq!(card.pci_address, Reading::Known(address.into()), "{file}");
        assert_eq!(mib(card), (used, total), "{file}");
        assert_eq!(card.power.known().map(|power| power.last.0), watts, "{file}");
        assert_eq!(card.power_limits.enforced.known().map(|limit| limit.0), limit, "{file}");
        assert!(scene.cards.iter().all(|card| card.clients == Reading::Known(Vec::new())), "{file}");
    }
}

#[test]
fn the_capture_of_an_h100_with_instances_is_read() {
    let Some(text) = text(
        "testdata/nvidia-smi/utkuozdemir-nvidia_gpu_exporter__linux-x86_64__nvidia-h100-mig__590.48.01.txt",
    ) else {
        return;
    };
    let tables = pieces(&text, Format::NvidiaSmi);
    assert_eq!(tables.len(), 2);
    let [idle, load] = [&tables[0].scene, &tables[1].scene];
    assert_eq!((idle.cards.len(), load.cards.len()), (5, 5));
    assert_eq!(idle.window.taken_at.to_string(), "2026-07-14T09:00:26Z");
    assert_eq!(mib(&idle.cards[0]), (59, 81559));
    assert_eq!((idle.cards[0].busy.is_known(), &idle.cards[0].mig_enabled), (false, &Reading::Known(true)));
    let parts: Vec<_> = idle.cards[1..].iter().map(|card| (card.index, mib(card))).collect();
    assert_eq!(parts, [(0, (26, 40448)), (1, (17, 20096)), (2, (9, 9984)), (3, (9, 9984))]);
    assert_eq!(idle.cards[1].bar1.known().unwrap().total, Bytes(24739 << 20));
    assert_eq!(load.cards[0].power.known().unwrap().last, Watts(432.0));
    let held: Vec<_> = load.cards[1].known_clients().iter().map(|client| client.pid.0).collect();
    assert_eq!(held, [21180, 21181, 21198]);
    assert_eq!(load.cards[0].known_clients().len(), 3);
    assert_eq!(load.cards[2].clients, Reading::Known(Vec::new()));
    let list = only(&text, Format::NvidiaSmiList);
    assert_eq!(list.cards.len(), 5);
    assert_eq!((list.cards[2].kind, list.cards[2].parent), (CardKind::MigInstance, Some(0)));
    assert_eq!(list.cards[2].name, Reading::Known("MIG 2g.20gb".into()));
    let monitors = pieces(&text, Format::NvidiaSmiDmon);
    let heat = monitors[1].scene.cards[0].temperature.known().unwrap();
    assert_eq!((heat.n, heat.last, heat.min), (5, Celsius(56.0), Celsius(55.0)));
    assert_eq!(monitors[0].scene.cards[0].busy, Reading::Unsupported);
    assert_eq!(monitors[1].scene.cards[0].clocks.sm, Reading::Known(Megahertz(1980.0)));
    let monitors = pieces(&text, Format::NvidiaSmiPmon);
    assert_eq!(monitors[0].scene.cards[0].clients, Reading::Known(Vec::new()));
    let clients = monitors[1].scene.cards[0].known_clients();
    assert_eq!((clients.len(), clients[2].name.known().unwrap().as_str()), (3, "gpu_burn"));
    // In multi-instance mode the driver tells no work of processes.
    assert!(clients.iter().all(|client| client.sm.is_not_in_source()));
}

#[test]
fn the_capture_of_an_h200_is_read() {
    let Some(text) =
        text("testdata/nvidia-smi/utkuozdemir-nvidia_gpu_exporter__linux-x86_64__nvidia-h200__590.48.01.txt")
    else {
        return;
    };
    let tables = pieces(&text, Format::NvidiaSmi);
    let idle = &tables[0].scene.cards[0];
    assert_eq!((idle.name.known().unwrap().as_str(), mib(idle)), ("NVIDIA H200", (0, 143_771)));
    assert_eq!(idle.temperature.known().unwrap().last, Celsius(28.0));
    assert_eq!(idle.clients, Reading::Known(Vec::new()));
    assert_eq!(tables[1].scene.cards[0].busy.known().unwrap().last, Percent(100.0));
    assert_eq!(pieces(&text, Format::NvidiaSmiDmon).len(), 2);
}

#[test]
fn the_capture_of_windows_is_read() {
    let Some(text) = text(
        "testdata/nvidia-smi/utkuozdemir-nvidia_gpu_exporter__windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt",
    ) else {
        return;
    };
    let tables = pieces(&text, Format::NvidiaSmi);
    let scene = &tables[0].scene;
    assert_eq!(scene.machine.driver.version, Reading::Known("610.62".into()));
    assert_eq!(scene.machine.driver.cuda_version, Reading::Known("13.3".into()));
    let card = &scene.cards[0];
    assert_eq!(
        (card.persistence.clone(), card.display_active.clone()),
        (Reading::Unsupported, Reading::Known(true))
    );
    assert_eq!((card.fan.clone(), mib(card)), (Reading::Known(Percent(38.0)), (797, 8192)));
    let clients = card.known_clients();
    assert_eq!((clients.len(), clients[0].pid, clients[0].kind), (19, Pid(2140), ClientKind::Graphics));
    assert_eq!(clients[0].memory, Reading::Unsupported);
    assert_eq!(clients[8].name, Reading::Known("...IA App\\CEF\\NVIDIA Overlay.exe".into()));
    let busy = &tables[1].scene.cards[0];
    assert_eq!((mib(busy).0, busy.known_clients().len()), (1366, 21));
    assert_eq!(busy.known_clients()[2].kind, ClientKind::Compute);
}

#[test]
fn work_of_processes_is_read() {
    let Some(text) = text(
        "testdata/nvidia-smi/utkuozdemir-nvidia_gpu_exporter__linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt",
    ) else {
        return;
    };
    let monitors = pieces(&text, Format::NvidiaSmiPmon);
    let clients = monitors[1].scene.cards[0].known_clients();
    let work: Vec<_> =
        clients.iter().map(|client| client.sm.known().map(|work| (work.n, work.mean.0))).collect();
    assert_eq!(work, [Some((5, 0.0)), Some((5, 0.0)), Some((5, 99.0))]);
    let load = &pieces(&text, Format::NvidiaSmiDmon)[1].scene.cards[0];
    let power = load.power.known().unwrap();
    assert_eq!((power.n, power.min, power.max), (5, Watts(631.0), Watts(636.0)));
    assert_eq!(load.memory_temperature.known().unwrap().last, Celsius(59.0));
    let loaded = &pieces(&text, Format::NvidiaSmi)[1].scene.cards[0];
    assert_eq!((mib(loaded), loaded.unexplained.known().unwrap().0 >> 20), ((19818, 81559), 20));
}

#[test]
fn incidents_with_a_table_are_read() {
    let Some(ended) = text("corpus/A-74-inforom-warning-after-table/nvidia-smi.txt") else {
        return;
    };
    let scene = only(&ended, Format::NvidiaSmi);
    assert_eq!((scene.cards.len(), scene.machine.driver.card_count.clone()), (8, Reading::Known(8)));
    let damaged: Vec<_> =
        scene.cards.iter().filter(|card| !card.inforom.is_not_in_source()).map(|card| card.index).collect();
    assert_eq!(damaged, [7]);

    let lost = only(
        &text("corpus/A-49-one-blackwell-lost-driver-poisoned/nvidia-smi.txt").unwrap(),
        Format::NvidiaSmi,
    );
    assert_eq!(lost.cards.iter().map(|card| card.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(matches!(lost.cards[1].handle, Reading::Failed(Failure::Nvml { code: 999, .. })));
    assert_eq!(lost.cards[1].pci_address, Reading::Known("0000:34:00.0".into()));
    assert_eq!(lost.cards[2].known_clients()[0].name, Reading::Known("VLLM::Worker_TP0".into()));
    assert_eq!(lost.cards[3].clients, Reading::Known(Vec::new()));

    let cut = only(&text("corpus/A-08-process-hidden-from-ps/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    assert!(cut.cards[0].clients.is_not_in_source());
    let one = only(&text("corpus/A-09-k80-tf-grabs-rest/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    assert_eq!(one.cards[0].known_clients()[0].memory, Reading::Known(Bytes(8107 << 20)));
    assert!(!one.cards[0].unexplained.is_known());
    let row = only(
        &text("corpus/A-21-notebook-disconnected-8gib-p8/nvidia-smi-row.txt").unwrap(),
        Format::NvidiaSmi,
    );
    assert_eq!((row.cards[0].index, mib(&row.cards[0])), (7, (8525, 11019)));
    let other =
        only(&text("corpus/A-07-two-m40-78-percent-no-process/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    assert_eq!(other.machine.driver.version, Reading::Known("390.59".into()));
    assert!(other.machine.driver.card_count.is_not_in_source());
    let shared =
        only(&text("corpus/B-27-mps-exclusive-process-is-fine/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    let kinds: Vec<_> = shared.cards[0].known_clients().iter().map(|client| client.kind).collect();
    assert_eq!(kinds, [ClientKind::Compute, ClientKind::Mps]);
    assert_eq!(shared.cards[0].compute_mode, Reading::Known("exclusive_process".into()));
    let broken = only(&text("corpus/A-40-k40-exclusive-process/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    assert_eq!(mib(&broken.cards[0]), (74, 11439));
    let taken =
        only(&text("corpus/B-60-all-gpus-exclusive-one-taken/nvidia-smi.txt").unwrap(), Format::NvidiaSmi);
    assert_eq!(taken.cards.len(), 3);
    assert!(taken.cards[2].memory.is_not_in_source());
}

#[test]
fn incidents_with_a_message_are_read() {
    let library = |path: &str| -> Option<Reading<()>> {
        Some(only(&text(path)?, Format::NvidiaSmi).machine.driver.library)
    };
    let init = |code| Some(Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code }));
    let Some(first) = library("corpus/A-22-unattended-upgrade-mismatch/nvidia-smi.txt") else {
        return;
    };
    assert_eq!(Some(first), init(18));
    assert_eq!(library("corpus/A-28-nouveau-owns-three-gpus/nvidia-smi.txt"), init(9));
    assert_eq!(library("corpus/A-29-secure-boot-key-rejected/nvidia-smi.txt"), init(9));
    assert_eq!(library("corpus/A-33-in-place-resize-loses-gpu/exec.txt"), init(999));
}

const PASTE: &str = "\
$ docker exec -it job nvidia-smi
Mon Mar  2 08:05:09 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.1                  Driver Version: 580.1          CUDA Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  Some Card 80GB                 On  |   00000000:65:00.0 Off |                    0 |
| N/A   42C    P0             98W /  400W |    5052MiB /  40960MiB |     50%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   0   0  |              26MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|=========================================================================================|
|    0    2    0            7000    C+G   python train.py                       100MiB    |
+-----------------------------------------------------------------------------------------+
WARNING: infoROM is corrupted at gpu 0000:65:00.0
$ nvidia-smi -L
GPU 0: Some Card 80GB (UUID: GPU-0)
  MIG 3g.40gb     Device  0: (UUID: MIG-1)
$ nvidia-smi dmon -s pucm -o DT
#Date       Time        gpu    pwr  gtemp     sm    mem   pclk     fb
#YYYYMMDD   HH:MM:SS    Idx      W      C      %      %    MHz     MB
 20260302   08:05:09      0     98     42     50     10   1410   5052
 20260302   08:05:10      0     99     43     51     11   1410   5052
$ nvidia-smi pmon
# gpu         pid   type     sm    mem    fb    command
# Idx           #    C/G      %      %    MB    name
    0       7000     C     50     10    100    python
$ nvidia-smi
Unable to determine the device handle for GPU1: 0000:66:00.0: Unknown Error
Failed to initialize NVML: Driver/library version mismatch
NVML library version: 580.1
";

#[test]
fn a_paste_of_everything_is_read_in_pieces() {
    let understood = understand(PASTE);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    let expected = [
        Format::NvidiaSmi,
        Format::NvidiaSmiList,
        Format::NvidiaSmiDmon,
        Format::NvidiaSmiPmon,
        Format::NvidiaSmi,
    ];
    assert_eq!(formats, expected);
    assert_eq!(understood.unknown_lines, [0; 0]);
    assert_eq!(understood.pieces[0].scene.machine.container, Reading::Known("docker".into()));
    assert_eq!(understood.pieces[2].scene.window.samples, 2);
}

#[test]
fn a_cut_at_any_byte_is_survived() {
    for end in (0..PASTE.len()).filter(|end| PASTE.is_char_boundary(*end)) {
        for part in [&PASTE[..end], &PASTE[end..]] {
            for piece in understand(part).pieces {
                assert!(piece.first_line > 0 && piece.last_line >= piece.first_line);
            }
        }
    }
}

proptest! {
    #[test]
    fn damage_is_survived(
        changes in prop::collection::vec((0..PASTE.len(), any::<u8>()), 1..12),
        start in 0..PASTE.len(),
    ) {
        let mut bytes = PASTE.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        understand(&String::from_utf8_lossy(&bytes[start..]));
    }

    #[test]
    fn lines_in_any_order_are_survived(order in prop::collection::vec(0_usize..60, 0..60)) {
        let lines: Vec<&str> = PASTE.lines().collect();
        let mixed: Vec<&str> = order.iter().map(|place| lines[place % lines.len()]).collect();
        understand(&mixed.join("\n"));
    }
}
