use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{ClockReasons, FabricState};
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz, Percent, Watts};

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

#[test]
fn cards_are_read_row_by_row() {
    let text = "\
index, name, uuid, pci.bus_id, driver_version, pstate, utilization.gpu [%], memory.total [MiB], memory.used [MiB], \
memory.free [MiB], temperature.gpu, power.draw [W], enforced.power.limit [W], clocks.sm [MHz], clocks.max.sm [MHz], \
clocks_throttle_reasons.active, persistence_mode, compute_mode, fan.speed [%]
0, Some Card, GPU-a, 00000000:3B:00.0, 550.1, P0, 97 %, 81559 MiB, 70000 MiB, 11000 MiB, 71, 644.10 W, 700.00 W, 1305 MHz, \
1980 MHz, 0x0000000000000004, Enabled, Exclusive_Process, [N/A]
1, Some Card, GPU-b, 00000000:86:00.0, 550.1, P8, [Unknown Error], 81559 MiB, 3 MiB, 81000 MiB, 30, [Insufficient Permissions], \
700.00 W, 210 MHz, 1980 MHz, 0x0000000000000001, Disabled, Default, 30 %

more
";
    let block = block(text, None).unwrap();
    assert_eq!((block.lines, block.remarks.len(), block.scene.cards.len()), (3, 0, 2));
    let scene = block.scene;
    assert_eq!(scene.provenance.inputs, ["nvidia-smi --query"]);
    assert_eq!(scene.machine.driver.version, Reading::Known("550.1".into()));
    assert!(scene.machine.driver.card_count.is_not_in_source());
    let card = &scene.cards[0];
    assert_eq!((card.index, &card.uuid), (0, &Reading::Known("GPU-a".into())));
    assert_eq!(card.pci_address, Reading::Known("0000:3b:00.0".into()));
    let memory = card.memory.known().unwrap();
    assert_eq!((memory.total.0 >> 20, memory.used.0 >> 20, memory.free.0 >> 20), (81559, 70000, 11000));
    assert_eq!(card.busy.known().unwrap().last, Percent(97.0));
    assert_eq!(card.temperature.known().unwrap().last, Celsius(71.0));
    assert_eq!(
        (card.power.known().unwrap().last, &card.power_limits.enforced),
        (Watts(644.1), &Reading::Known(Watts(700.0)))
    );
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(ClockReasons::SOFTWARE_POWER_CAP)));
    assert_eq!((&card.persistence, &card.fan), (&Reading::Known(true), &Reading::Unsupported));
    assert_eq!(card.compute_mode, Reading::Known("exclusive_process".into()));
    assert_eq!(
        (&card.performance_state, &card.clocks.sm_max),
        (&Reading::Known(0), &Reading::Known(Megahertz(1980.0)))
    );
    let other = &scene.cards[1];
    assert!(matches!(other.busy, Reading::Failed(Failure::Nvml { code: 999, .. })));
    assert_eq!(other.power, Reading::Denied(Access::Root));
    assert_eq!((&other.fan, &other.handle), (&Reading::Known(Percent(30.0)), &Reading::Known(())));
}

#[test]
fn a_lost_card_is_lost() {
    let text = "index, temperature.gpu, utilization.gpu [%]\n0, 40, 5 %\n1, [GPU is lost], [GPU is lost]\n";
    let scene = scene(text);
    assert_eq!(scene.cards[0].handle, Reading::Known(()));
    assert!(matches!(scene.cards[1].handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
}

#[test]
fn errors_and_repairs_are_read() {
    let text = "\
gpu_bus_id, gpu_uuid, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure
00000000:07:00.0, GPU-a, 0, 4, Yes, No
";
    let rows = *scene(text).cards[0].remapped_rows.known().unwrap();
    assert_eq!((rows.corrected, rows.uncorrected, rows.pending, rows.failed), (0, 4, true, false));
    let text = "\
index, ecc.mode.current, ecc.errors.corrected.volatile.total, ecc.errors.uncorrected.volatile.dram, \
ecc.errors.uncorrected.volatile.sram, ecc.errors.uncorrected.aggregate.total, retired_pages.sbe, retired_pages.dbe, \
retired_pages.pending, inforom.checksum_validation, mig.mode.current, mig.mode.pending, fabric.state, fabric.status
0, Enabled, 5, 1, 2, 9, 3, 1, No, valid, Disabled, Enabled, In Progress, [N/A]
1, [N/A], [N/A], [N/A], [N/A], [N/A], 3, 1, [N/A], invalid, [N/A], [N/A], [N/A], [N/A]
";
    let cards = scene(text).cards;
    let ecc = &cards[0].ecc;
    assert_eq!((&ecc.enabled, &ecc.volatile.corrected), (&Reading::Known(true), &Reading::Known(5)));
    assert_eq!(
        (&ecc.volatile.uncorrected, &ecc.volatile.sram_uncorrected),
        (&Reading::Known(3), &Reading::Known(2))
    );
    assert_eq!(ecc.aggregate.uncorrected, Reading::Known(9));
    assert_eq!(cards[0].retired_pages.known().unwrap().double_bit, 1);
    assert_eq!(
        (&cards[0].mig_enabled, &cards[0].mig_pending),
        (&Reading::Known(false), &Reading::Known(true))
    );
    assert_eq!(cards[0].fabric.known().unwrap().state, FabricState::InProgress);
    assert_eq!(
        (&cards[1].retired_pages, &cards[1].ecc.volatile.uncorrected),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert!(matches!(cards[1].inforom, Reading::Failed(Failure::Nvml { code: 14, .. })));
}

#[test]
fn reasons_may_stand_alone_or_count() {
    let text = "\
index, clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_power_brake_slowdown, \
clocks_event_reasons_counters.sw_power_cap [us]
0, Not Active, Active, 250 us
";
    let card = &scene(text).cards[0];
    assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(ClockReasons::POWER_BRAKE)));
}

#[test]
fn rows_with_a_time_are_looks() {
    let text = "\
timestamp, name, utilization.gpu [%], memory.used [MiB]
2026/01/02 10:00:00.100, A, 10 %, 100 MiB
2026/01/02 10:00:00.103, A, 90 %, 900 MiB
2026/01/02 10:00:01.101, A, 20 %, 200 MiB
2026/01/02 10:00:01.104, A, 80 %, 800 MiB
2026/01/02 10:00:03.100, A, 60 %, 300 MiB
2026/01/02 10:00:03.104, A, 70 %, 700 MiB
";
    let scene = scene(text);
    assert_eq!((scene.cards.len(), scene.window.samples, scene.window.span_s), (2, 3, 3.0));
    assert_eq!(scene.window.taken_at.to_string(), "2026-01-02T10:00:03.1Z");
    let busy = scene.cards[0].busy.known().unwrap();
    assert_eq!((busy.n, busy.mean, busy.last), (3, Percent(30.0), Percent(60.0)));
    assert_eq!(scene.cards[1].memory_used.known().unwrap().min, Bytes(700 << 20));
    assert!(scene.cards[0].memory.is_not_in_source(), "the size is in no column");
    let one = "timestamp, utilization.gpu [%]\n2026/01/02 10:00:00.1, 1 %\n2026/01/02 10:00:00.2, 2 %\n\
               2026/01/02 10:00:00.3, 3 %\n";
    assert_eq!(self::scene(one).cards.len(), 1);
}

#[test]
fn what_people_record_is_read() {
    let text = "\
power_limit_w,timestamp,gpu_index,pstate,clk_sm_mhz,clk_mem_mhz,power_draw_w,temp_c
450,1777241194.700,8,P0,1762,12481,449.87,69
450,1777241195.700,8,P0,1897,12481,446.17,70
450,1777241196.700,8,P2,1700,12481,430.00,85
";
    let scene = scene(text);
    let [card] = scene.cards.as_slice() else { panic!("one card") };
    assert_eq!((card.index, scene.window.samples), (8, 3));
    assert_eq!(
        (card.sm_clock.known().unwrap().min, card.temperature.known().unwrap().max),
        (Megahertz(1700.0), Celsius(85.0))
    );
    assert_eq!(
        (&card.power_limits.enforced, &card.performance_state),
        (&Reading::Known(Watts(450.0)), &Reading::Known(2))
    );
    let summary = self::scene("index,util_pct,power_w\n0,82,195.04\n1,51,242.64\n");
    assert_eq!(summary.cards[1].busy.known().unwrap().last, Percent(51.0));
    let tabs = self::scene("t\tgpu\tutil (%)\tmem_used_gb\n0.0\t0\t50\t1.5\n2.5\t0\t60\t1.5\n");
    assert_eq!((tabs.window.span_s, tabs.cards[0].memory_used.known().unwrap().last), (2.5, Bytes(3 << 29)));
}

#[test]
fn rows_that_name_no_card_are_cards_only_if_that_is_sure() {
    let text = "name, utilization.gpu [%]\nA, 5 %\nB, 7 %\n";
    assert_eq!(scene(text).cards.len(), 2);
    let looped = block(text, Some("nvidia-smi --query-gpu=name,utilization.gpu --format=csv -l 1")).unwrap();
    assert_eq!((looped.lines, looped.scene.cards.len()), (3, 0));
    let many = format!("utilization.gpu [%], temperature.gpu\n{}", "5 %, 40\n".repeat(100));
    assert_eq!(scene(&many).cards.len(), 0);
    let counted = format!("count, utilization.gpu [%]\n{}", "2, 5 %\n2, 7 %\n".repeat(50));
    let scene = scene(&counted);
    assert_eq!((scene.cards.len(), scene.window.samples), (2, 50));
}

#[test]
fn a_command_names_the_columns_where_no_heading_does() {
    let command = Some(
        "watch -n 1 nvidia-smi --query-gpu=index,memory.used,memory.total,utilization.gpu --format=csv,noheader,nounits",
    );
    let text = "0, 1024, 16384, 37\n1, [N/A], 16384, 0\nend\n";
    let block = block(text, command).unwrap();
    assert_eq!((block.lines, block.scene.cards.len()), (2, 2));
    assert_eq!(block.scene.cards[0].memory.known().unwrap().used, Bytes(1024 << 20));
    assert_eq!(block.scene.cards[0].busy.known().unwrap().last, Percent(37.0));
    assert!(self::block(text, None).is_none());
    assert!(self::block(text, Some("nvidia-smi --query-gpu=index --format=csv")).is_none());
    let one = self::block("31\n35\n\n", Some("nvidia-smi --query-gpu=temperature.gpu --format=csv,noheader"))
        .unwrap();
    assert_eq!(one.scene.cards[1].temperature.known().unwrap().last, Celsius(35.0));
    assert!(
        self::block("hello\n", Some("nvidia-smi --query-gpu=temperature.gpu --format=csv,noheader"))
            .is_none()
    );
}

#[test]
fn processes_wait_for_their_card() {
    let text = "\
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-a, 4100, python train.py --token=abcd1234efgh5678ijkl, 2296 MiB
GPU-b, 4200, /opt/a, b/run, [N/A]
GPU-b, <gone>, x, 1 MiB
";
    let block = block(text, None).unwrap();
    assert_eq!((block.lines, block.remarks), (4, vec![Remark::NotUnderstood { line: 4 }]));
    let unplaced = &block.scene.unplaced_clients;
    assert_eq!((unplaced.len(), block.scene.cards.len()), (2, 0));
    assert_eq!(unplaced[0].card_uuid.as_deref(), Some("GPU-a"));
    assert_eq!(unplaced[0].client.memory, Reading::Known(Bytes(2296 << 20)));
    assert_eq!(unplaced[0].client.name, Reading::Known("python train.py --token=***".into()));
    assert_eq!(
        (&unplaced[1].client.name, &unplaced[1].client.memory),
        (&Reading::Known("/opt/a, b/run".into()), &Reading::Unsupported)
    );
    let none = self::block("pid, process_name, used_gpu_memory [MiB]\n\n", None).unwrap();
    assert_eq!((none.lines, none.scene.unplaced_clients.len()), (1, 0));
}

#[test]
fn of_processes_over_time_the_newest_look_counts() {
    let text = "\
timestamp, pid, used_memory [MiB]
2026/01/02 10:00:00.1, 7, 100 MiB
2026/01/02 10:00:00.1, 8, 500 MiB
2026/01/02 10:00:10.1, 7, 300 MiB
";
    let unplaced = scene(text).unplaced_clients;
    let [only] = unplaced.as_slice() else { panic!("8 is over: {unplaced:?}") };
    let trend = only.client.memory_trend.known().unwrap();
    assert_eq!((trend.n, trend.span_s, trend.last), (2, 10.0, Bytes(300 << 20)));
}

#[test]
fn what_is_over_holds_nothing() {
    let accounted = "gpu_uuid, pid, gpu_utilization [%], max_memory_usage [MiB], time [ms]\nGPU-a, 7, 50 %, 900 MiB, 5 ms\n";
    let block = block(accounted, None).unwrap();
    assert_eq!((block.lines, block.scene.unplaced_clients.len(), block.scene.cards.len()), (2, 0, 0));
}

#[test]
fn cut_and_wrapped_rows_are_borne() {
    let text = "index, memory.total [MiB], memory.used [MiB]\n0, 100 MiB, 51";
    let cut = block(text, None).unwrap();
    assert_eq!((cut.lines, cut.scene.cards.len()), (2, 1));
    assert!(cut.scene.cards[0].memory.is_not_in_source());
    let wrapped = "index, memory.total [MiB], memory.used [MiB]\n0, 100 M\niB, 51 MiB\n1, 100 MiB, 7 MiB\n";
    let block = block(wrapped, None).unwrap();
    assert_eq!((block.lines, block.scene.cards.len()), (4, 2));
    assert_eq!(block.scene.cards[1].memory.known().unwrap().used, Bytes(7 << 20));
}

#[test]
fn other_texts_are_none_of_these() {
    for text in [
        "job_id,state,reason\n1,PENDING,Priority\n",
        "In the index, the name, and the uuid of it we trust\n",
        "utilization\n5\n",
        "a.b\n",
        "memory.used\nmemory.free\n",
        "0, 5, 7\n",
        "power_limit_w,clk_sm_mhz,power_draw_w,temp_c\n300,1395,300.1,45.5\n",
    ] {
        assert!(block(text, None).is_none(), "{text}");
    }
    let sentence = "index, utilization.gpu [%]\n0, 5 %\nwell, that is all\n";
    assert_eq!(block(sentence, None).unwrap().lines, 2);
}

#[test]
fn places_of_rows_are_numbers_only_in_a_whole_list() {
    let called = |text: &str, command: Option<&str>| -> Vec<String> {
        block(text, command).unwrap().scene.cards.iter().map(Card::called).collect()
    };
    let one = "utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n5 %, 51 MiB, 100 MiB\n";
    let two = format!("{one}7 %, 52 MiB, 100 MiB\n");
    let query = "nvidia-smi --query-gpu=utilization.gpu,memory.used,memory.total --format=csv";
    assert_eq!(called(one, None), ["N"], "any card of a machine");
    assert_eq!(called(one, Some(query)), ["0"]);
    assert_eq!(called(&two, None), ["0", "1"]);
    assert_eq!(called(&two, Some(&format!("{query} -i 4,6"))), ["4", "6"]);
    assert_eq!(called(one, Some(&format!("{query} | tail -n 1"))), ["N"]);
}
