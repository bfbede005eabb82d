use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardKind, ClientKind, ClockReasons, Fabric, FabricState};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Watts};

use super::super::{Block, Context, Remark};
use super::read;
use crate::paste::Paste;

fn block(text: &str, command: Option<&str>) -> Option<Block> {
    let paste = Paste::of(text);
    read(&paste.lines, &Context { command })
}

fn scene(text: &str) -> Scene {
    block(text, None).unwrap_or_else(|| panic!("not recognised: {text}")).scene
}

const WHOLE: &str = "
==============NVSMI LOG==============

Timestamp                                 : Mon Nov  2 08:05:09 2026
Driver Version                            : 580.1
CUDA Version                              : 13.0

Attached GPUs                             : 2
GPU 00000000:3B:00.0
    Product Name                          : Some Card 80GB
    Display Active                        : Disabled
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    GPU UUID                              : GPU-11111111-0000-0000-0000-000000000001
    Minor Number                          : 0
    Inforom Version
        Image Version                     : G000.0000.00.01
        ECC Object                        : 7.16
    Platform Info
        Module Id                         : 7
    PCI
        Bus Id                            : 00000000:3B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
                Device Current            : 4
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 21
        Tx Throughput                     : 300 KB/s
        Rx Throughput                     : 1200 KB/s
    Fan Speed                             : N/A
    Performance State                     : P2
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 500 us
        HW Power Braking                  : 70 us
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 551 MiB
        Used                              : 60000 MiB
        Free                              : 21007 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 3 MiB
        Free                              : 131069 MiB
    Compute Mode                          : Exclusive_Process
    Utilization
        GPU                               : 93 %
        Memory                            : 41 %
        Encoder                           : 5 %
        Decoder                           : 0 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 30
            DRAM Uncorrectable            : 4
        Aggregate
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 300
            DRAM Uncorrectable            : 40
            SRAM Threshold Exceeded       : Yes
        Aggregate Uncorrectable SRAM Sources
            SRAM L2                       : 2
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 3
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 2558 bank(s)
            High                          : 1 bank(s)
            Partial                       : 1 bank(s)
            Low                           : 0 bank(s)
            None                          : 0 bank(s)
    Temperature
        GPU Current Temp                  : 71 C
        GPU T.Limit Temp                  : 14 C
        GPU Shutdown T.Limit Temp         : -8 C
        Memory Current Temp               : 0 C
    GPU Power Readings
        Average Power Draw                : 500.00 W
        Instantaneous Power Draw          : 644.10 W
        Current Power Limit               : 700.00 W
        Max Power Limit                   : 700.00 W
    Module Power Readings
        Power Draw                        : 12.00 W
        Current Power Limit               : 9.00 W
    Clocks
        Graphics                          : 1200 MHz
        SM                                : 1305 MHz
        Memory                            : 2619 MHz
    Applications Clocks
        Graphics                          : 1 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 2620 MHz
    Fabric
        State                             : Completed
        Status                            : Success
        Health
            Bandwidth                     : Degraded
            Route Unhealthy               : False
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4100
            Type                          : C
            Name                          : python train.py --token=abcd1234efgh5678ijkl
            Used GPU Memory               : 59000 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4200
            Type                          : G
            Name                          : /usr/lib/xorg/Xorg
            Used GPU Memory               : 40 MiB
    Capabilities
        EGM                               : disabled

GPU 00000000:86:00.0
    Product Name                          : Some Card 80GB
    Minor Number                          : 1
    Utilization
        Gpu                               : Unknown Error
    FB Memory Usage                       : Insufficient Permissions
    Remapped Rows                         : N/A
    Processes                             : None

";

#[test]
fn every_value_of_a_card_is_read() {
    let block = block(WHOLE.trim_start(), None).unwrap();
    assert_eq!((block.lines, block.remarks.len()), (WHOLE.trim().lines().count(), 0));
    let scene = block.scene;
    assert_eq!(scene.provenance.inputs, ["nvidia-smi -q"]);
    assert_eq!(scene.window.taken_at.to_string(), "2026-11-02T08:05:09Z");
    assert_eq!(scene.machine.driver.version, Reading::Known("580.1".into()));
    assert_eq!(scene.machine.driver.cuda_version, Reading::Known("13.0".into()));
    assert_eq!(scene.machine.driver.card_count, Reading::Known(2));
    let card = &scene.cards[0];
    assert_eq!((card.index, card.minor.clone()), (0, Reading::Known(0)));
    assert_eq!(card.name, Reading::Known("Some Card 80GB".into()));
    assert_eq!(card.pci_address, Reading::Known("0000:3b:00.0".into()));
    assert_eq!(card.uuid, Reading::Known("GPU-11111111-0000-0000-0000-000000000001".into()));
    assert_eq!((&card.persistence, &card.display_active), (&Reading::Known(true), &Reading::Known(false)));
    assert_eq!((&card.mig_enabled, &card.mig_pending), (&Reading::Known(false), &Reading::Known(true)));
    assert_eq!(card.inforom, Reading::Known("G000.0000.00.01".into()));
    let pcie = &card.pcie;
    assert_eq!((&pcie.generation, &pcie.generation_max), (&Reading::Known(4), &Reading::Known(5)));
    assert_eq!((&pcie.width, &pcie.width_max), (&Reading::Known(8), &Reading::Known(16)));
    assert_eq!((&pcie.card_generation_max, &pcie.replays), (&Reading::Known(5), &Reading::Known(21)));
    assert_eq!(pcie.to_card, Reading::Known(BytesPerSecond(1.2e6)));
    assert_eq!((&card.fan, &card.performance_state), (&Reading::Unsupported, &Reading::Known(2)));
    let reasons =
        ClockReasons::SOFTWARE_POWER_CAP | ClockReasons::HARDWARE_SLOWDOWN | ClockReasons::POWER_BRAKE;
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(reasons)));
    let memory = card.memory.known().unwrap();
    assert_eq!((memory.used.0 >> 20, memory.reserved.known().unwrap().0 >> 20), (60000, 551));
    assert_eq!(card.bar1.known().unwrap().free, Bytes(131_069 << 20));
    assert_eq!(card.compute_mode, Reading::Known("exclusive_process".into()));
    assert_eq!(card.busy.known().unwrap().last, Percent(93.0));
    assert_eq!(card.encoder.known().unwrap().last, Percent(5.0));
    let ecc = &card.ecc;
    assert_eq!(
        (&ecc.volatile.corrected, &ecc.volatile.uncorrected),
        (&Reading::Known(31), &Reading::Known(6))
    );
    assert_eq!(
        (&ecc.aggregate.corrected, &ecc.aggregate.uncorrected),
        (&Reading::Known(301), &Reading::Known(42))
    );
    assert_eq!(ecc.sram_threshold_exceeded, Reading::Known(true));
    let rows = card.remapped_rows.known().unwrap();
    assert_eq!((rows.corrected, rows.uncorrected, rows.pending, rows.failed), (3, 1, true, false));
    assert_eq!(rows.spare_rows.unwrap().all, 2558);
    assert_eq!(card.retired_pages, Reading::Unsupported);
    assert_eq!(card.temperature.known().unwrap().last, Celsius(71.0));
    assert_eq!(
        (&card.temperature_limits.margin, &card.memory_temperature),
        (&Reading::Known(Celsius(14.0)), &Reading::Unsupported)
    );
    assert!(card.temperature_limits.shutdown.is_not_in_source());
    assert_eq!(card.power.known().unwrap().last, Watts(500.0));
    assert_eq!(card.power_limits.enforced, Reading::Known(Watts(700.0)));
    assert_eq!(
        (&card.clocks.sm, &card.clocks.sm_max),
        (&Reading::Known(Megahertz(1305.0)), &Reading::Known(Megahertz(1980.0)))
    );
    let fabric = Fabric { state: FabricState::Completed, status: 0, health: 1 | 2 << 4 };
    assert_eq!(card.fabric, Reading::Known(fabric));
    let clients = card.known_clients();
    assert_eq!((clients.len(), clients[0].pid.0, clients[1].kind), (2, 4100, ClientKind::Graphics));
    assert_eq!(clients[0].name, Reading::Known("python train.py --token=***".into()));
    assert_eq!(card.unexplained, Reading::Known(Bytes((60000 - 59040) << 20)));
}

#[test]
fn words_instead_of_values_say_why() {
    let card = &scene(WHOLE.trim_start()).cards[1];
    assert!(matches!(card.busy, Reading::Failed(Failure::Nvml { code: 999, .. })));
    assert_eq!(card.memory, Reading::Denied(Access::Root));
    assert_eq!((&card.remapped_rows, &card.clients), (&Reading::Unsupported, &Reading::Known(Vec::new())));
    assert!(card.temperature.is_not_in_source() && card.fabric.is_not_in_source());
}

#[test]
fn lost_indentation_is_no_loss() {
    let flat: String =
        WHOLE.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    let (flat, whole) = (scene(flat.trim_start()), scene(WHOLE.trim_start()));
    assert_eq!(flat.cards, whole.cards);
    let tabs = WHOLE.replace("        ", "\t");
    assert_eq!(scene(tabs.trim_start()).cards, whole.cards);
}

#[test]
fn instances_and_their_processes_are_read() {
    let text = "\
==============NVSMI LOG==============
Attached GPUs                             : 1
GPU 00000000:09:00.0
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 2
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 60
        ECC Errors
            Volatile
                SRAM Uncorrectable        : 0
        Shared FB Memory Usage
            Total                         : 40448 MiB
            Reserved                      : 0 MiB
            Used                          : 11091 MiB
            Free                          : 29357 MiB
        Shared BAR1 Memory
            Total                         : 24739 MiB
            Used                          : 0 MiB
            Free                          : 24739 MiB
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 3
        Compute Instance ID               : 0
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 11125 MiB
        Free                              : 69956 MiB
    Processes
        GPU instance ID                   : 2
        Compute instance ID               : 0
        Process ID                        : 21180
            Type                          : C
            Name                          : ./burn
            Used GPU Memory               : 7484 MiB

";
    let scene = scene(text);
    let kinds: Vec<_> = scene.cards.iter().map(|card| (card.kind, card.parent, card.index)).collect();
    assert_eq!(
        kinds,
        [(CardKind::Card, None, 0), (CardKind::MigInstance, Some(0), 0), (CardKind::MigInstance, Some(0), 1)]
    );
    assert_eq!(scene.cards[1].memory.known().unwrap().used, Bytes(11091 << 20));
    assert_eq!(scene.cards[1].bar1.known().unwrap().total, Bytes(24739 << 20));
    assert_eq!(scene.cards[1].known_clients()[0].pid.0, 21180);
    assert_eq!(scene.cards[2].clients, Reading::Known(Vec::new()));
    assert_eq!(scene.cards[0].memory.known().unwrap().used, Bytes(11125 << 20));
}

#[test]
fn sections_without_their_card_are_read() {
    let bar1 = "    BAR1 Memory Usage
        Total                                          : 256 MiB
        Used                                           : 250 MiB
        Free                                           : 6 MiB
    Conf Compute Protected Memory Usage
        Total                                          : 0 MiB
";
    let block = block(bar1, None).unwrap();
    assert_eq!((block.lines, block.remarks), (6, vec![Remark::HasNoBegin { line: 1 }]));
    let card = &block.scene.cards[0];
    assert_eq!((card.index, card.bar1.known().unwrap().free), (0, Bytes(6 << 20)));
    assert!(card.memory.is_not_in_source() && block.scene.machine.driver.card_count.is_not_in_source());

    let clocks = "Clocks Throttle Reasons
    Idle                              : Not Active
    HW Slowdown                       : Active
        HW Thermal Slowdown           : Not Active
        HW Power Brake Slowdown       : Active

Clocks
    SM                                : 405 MHz
    Memory                            : 877 MHz
";
    let card = &scene(clocks).cards[0];
    let reasons = ClockReasons::HARDWARE_SLOWDOWN | ClockReasons::POWER_BRAKE;
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(reasons)));
    assert_eq!(card.clocks.sm, Reading::Known(Megahertz(405.0)));

    let inner = "        Aggregate
            SRAM Uncorrectable            : 5
            DRAM Uncorrectable            : 0
    Fan Speed                             : 30 %
";
    let card = &scene(inner).cards[0];
    assert_eq!(
        (&card.ecc.aggregate.uncorrected, &card.fan),
        (&Reading::Known(5), &Reading::Known(Percent(30.0)))
    );
}

#[test]
fn a_section_of_several_cards_gives_several_cards() {
    let text = "    FB Memory Usage
        Total                             : 100 MiB
        Used                              : 10 MiB
        Free                              : 90 MiB
--
    FB Memory Usage
        Total                             : 100 MiB
        Used                              : 20 MiB
        Free                              : 80 MiB
";
    let used: Vec<u64> =
        scene(text).cards.iter().map(|card| card.memory.known().unwrap().used.0 >> 20).collect();
    assert_eq!(used, [10, 20]);
}

#[test]
fn values_that_were_picked_out_are_read() {
    let slowdown = "    HW Slowdown                       : Active
        HW Thermal Slowdown           : Active
        HW Power Brake Slowdown       : Not Active
    SW Thermal Slowdown               : Not Active
    SW Thermal Slowdown               : 17 us
    GPU Slowdown Temp                 : 98 C
    HW Slowdown                       : Not Active
        HW Thermal Slowdown           : Not Active
        HW Power Brake Slowdown       : Not Active
    SW Thermal Slowdown               : Not Active
";
    let scene = scene(slowdown);
    let reasons = ClockReasons::HARDWARE_SLOWDOWN | ClockReasons::HARDWARE_THERMAL;
    assert_eq!(scene.cards.len(), 2);
    assert_eq!(scene.cards[0].clock_reasons, Reading::Known(ClockReasons(reasons)));
    assert_eq!(scene.cards[0].temperature_limits.slowdown, Reading::Known(Celsius(98.0)));
    assert_eq!(scene.cards[1].clock_reasons, Reading::Known(ClockReasons(0)));
    let names = "Product Name : A\nProduct Name : B\n";
    assert!(block(names, None).is_none(), "other tools say that too");
    let picked = block(names, Some("nvidia-smi -q | grep Name")).unwrap().scene;
    assert_eq!(picked.cards[1].name, Reading::Known("B".into()));
}

#[test]
fn some_of_the_cards_are_named_as_they_were_asked_for() {
    let text = "Attached GPUs                             : 8
GPU 00000000:3B:00.0
    Minor Number                          : 5
    Compute Mode                          : Default

";
    let indices = |command| {
        let scene = block(text, command).unwrap().scene;
        scene.cards.iter().map(|card| card.index).collect::<Vec<_>>()
    };
    assert_eq!(indices(Some("nvidia-smi -q -i 3")), [3]);
    assert_eq!(indices(None), [5]);
    let cut = block(text.trim_end(), None).unwrap();
    assert_eq!(cut.remarks, [Remark::Cut { line: 4, cards: 1 }]);
    let tail = "    Temperature
        GPU Current Temp                  : 40 C

GPU 00000000:5E:00.0
    Minor Number                          : 3
    Temperature
        GPU Current Temp                  : 44 C
";
    let cards = scene(tail).cards;
    assert_eq!((cards[0].index, cards[1].index), (2, 3));
}

#[test]
fn calls_in_a_row_are_one_window() {
    let call = |second: u32, busy: u32| {
        format!(
            "==============NVSMI LOG==============\n\nTimestamp      : Mon Nov  2 08:05:{second:02} 2026\n\
             Driver Version : 580.1\n\nAttached GPUs  : 1\nGPU 00000000:3B:00.0\n    Utilization\n        \
             Gpu        : {busy} %\n        Memory     : 1 %\n\n"
        )
    };
    let block = block(&format!("{}{}{}$ free\n", call(1, 10), call(2, 20), call(5, 60)), None).unwrap();
    assert_eq!((block.scene.window.samples, block.scene.window.span_s), (3, 4.0));
    assert_eq!(block.scene.cards[0].busy.known().unwrap().n, 3);
    let again = self::block(&format!("{}{}", call(2, 10), call(1, 20)), None).unwrap();
    assert_eq!(again.scene.window.samples, 1);
}

#[test]
fn what_stands_inside_and_is_not_understood_is_said() {
    let text = "GPU 00000000:10:1C.0
    Product Name                          : Some Card
    [...]
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 0
        Pending                           : Yes
        Remapping Failure Occurred        : No
[...]
that was all
";
    let block = block(text, None).unwrap();
    assert_eq!(block.lines, 8);
    assert_eq!(block.remarks, [Remark::HasNoBegin { line: 1 }, Remark::NotUnderstood { line: 3 }]);
    assert!(block.scene.cards[0].remapped_rows.known().unwrap().pending);
}

#[test]
fn an_output_ends_where_another_tool_begins() {
    for after in
        ["$ free -g\n", "+-----+\n", "Unable to determine the device handle for GPU1: 0000:86:00.0: x\n"]
    {
        let text = format!(
            "{}{after}GPU 00000000:86:00.0\n",
            &WHOLE.trim_start()[..WHOLE.rfind("\nGPU 0").unwrap()]
        );
        assert_eq!(block(&text, None).unwrap().scene.cards.len(), 1, "{after}");
    }
}

#[test]
fn wrapped_values_are_put_together() {
    let text = "GPU 00000000:10:1C.0
    Product Name                          : Some Card
    GPU UUID                              : GPU-11111111-000
0-0000-0000-000000000001
    Compute Mode                          : Default
";
    let block = block(text, None).unwrap();
    assert_eq!(block.scene.cards[0].uuid, Reading::Known("GPU-11111111-0000-0000-0000-000000000001".into()));
    assert_eq!(block.lines, 5);
}

#[test]
fn the_last_number_of_a_text_may_be_cut() {
    let text = "GPU 00000000:10:1C.0\n    Product Name      : Some Card\n    ECC Errors\n        Volatile\n            \
                DRAM Uncorrectable : 17";
    let cut = scene(text);
    assert!(!cut.cards[0].ecc.volatile.uncorrected.is_known());
    assert_eq!(scene(&format!("{text}\n")).cards[0].ecc.volatile.uncorrected, Reading::Known(17));
}

#[test]
fn drivers_before_340_use_other_names() {
    let text = "\
==============NVSMI LOG==============

Driver Version                  : 304.125

Attached GPUs                   : 1
GPU 0000:02:00.0
    Product Name                : Tesla K20m
    Memory Usage
        Total                   : 4799 MB
        Used                    : 4788 MB
        Free                    : 11 MB
    Utilization
        Gpu                     : 99 %
    Clocks Throttle Reasons
        Idle                    : Not Active
        User Defined Clocks     : Active
        Unknown                 : Not Active
    Temperature
        Gpu                     : 65 C
    Power Readings
        Power Management        : Supported
        Power Draw              : 138.82 W
        Power Limit             : 225.00 W
    Clocks
        Graphics                : 705 MHz
        SM                      : 705 MHz
    Compute Processes
        Process ID              : 9918
            Name                : ./a.out
            Used GPU Memory     : 4774 MB
";
    let card = &scene(text).cards[0];
    assert_eq!(card.memory.known().unwrap().free, Bytes(11 << 20));
    assert_eq!(card.temperature.known().unwrap().last, Celsius(65.0));
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(ClockReasons::APPLICATION_CLOCKS)));
    assert_eq!(
        (card.power.known().unwrap().last, &card.power_limits.enforced),
        (Watts(138.82), &Reading::Known(Watts(225.0)))
    );
    let client = &card.known_clients()[0];
    assert_eq!((client.pid.0, client.memory.known().unwrap().0 >> 20), (9918, 4774));
}

#[test]
fn later_drivers_say_more() {
    let text = "\
==============NVSMI LOG==============

Driver Version                                         : 610.62 [Deprecated; use KMD Version instead]
CUDA Version                                           : 13.3 [Deprecated; use CUDA UMD Version instead]
KMD Version                                            : 610.62
CUDA UMD Version                                       : 13.3

Attached GPUs                                          : 1
GPU 00000000:0C:00.0
    Product Name                                       : Some Card
    Hologram Readings
        Depth                                          : 3 m
    GPU Power Readings
        Average Power Draw                             : N/A
        Instantaneous Power Draw                       : 97.99 W
        GPU Ceiling Power Limit
            Current Power Limit                        : 250.00 W
            Requested Power Limit                      : 260.00 W
        Max Power Limit                                : 350.00 W
    Processes                                          : None
";
    let block = block(text, None).unwrap();
    assert_eq!((block.lines, block.remarks.len()), (20, 0));
    let driver = &block.scene.machine.driver;
    assert_eq!(
        (&driver.version, &driver.cuda_version),
        (&Reading::Known("610.62".into()), &Reading::Known("13.3".into()))
    );
    let limits = &block.scene.cards[0].power_limits;
    assert_eq!(
        (&limits.enforced, &limits.requested),
        (&Reading::Known(Watts(250.0)), &Reading::Known(Watts(260.0)))
    );
    assert_eq!(limits.maximum, Reading::Known(Watts(350.0)));
    assert_eq!(block.scene.cards[0].power.known().unwrap().last, Watts(97.99));
}

#[test]
fn other_texts_are_none_of_these() {
    for text in [
        "GPU 00000000:3B:00.0: Detected Critical Xid Error\n",
        "Product Name          : PowerEdge\nSerial Number         : 1\n",
        "Temperature\n",
        "State   : running\n",
        "Driver Version : 5\nsomething\n",
        "Memory\n  Total: 5\n",
        "NVSMI LOG",
    ] {
        assert!(block(text, None).is_none(), "{text}");
    }
}

#[test]
fn numbers_are_only_those_that_the_text_gives() {
    let called = |text: &str, command| -> Vec<String> {
        block(text, command).unwrap().scene.cards.iter().map(Card::called).collect()
    };
    let rows = "    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
";
    let of_card = format!("GPU 00000000:A1:00.0\n{rows}");
    assert_eq!(called(&of_card, None), ["0000:a1:00.0"]);
    assert_eq!(called(rows, None), ["N"]);
    let with_head = |attached| {
        format!(
            "==============NVSMI LOG==============\n\nAttached GPUs                             : {attached}\n{of_card}"
        )
    };
    assert_eq!(called(&with_head(8), None), ["0000:a1:00.0"], "one of eight");
    assert_eq!(called(&with_head(1), None), ["0"]);
    assert_eq!(called(&with_head(8), Some("nvidia-smi -q -d ROW_REMAPPER -i 5")), ["5"]);
    assert_eq!(called(WHOLE.trim_start(), None), ["0", "1"]);
}
