//! What cards say of their health, links, parts and instances, on the library of the emulated box.

use std::time::{Duration, Instant};

use super::support::{TestBox, wait_for};
use gpuwhy_lab::client::{Client, Kernel};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardKind, CardSample, FabricState, NvLink, NvmlSample, Sample, XidEvent};
use gpuwhy_sources::{Depth, Observer};

const GIB: u64 = 1 << 30;
const TWO_H100: &str = "[[card]]\nprofile = \"h100-sxm5-80gb\"\ncount = 2\n";

/// Cards of such a board hang on switches.
const EIGHT_H100: &str = "[[card]]\nprofile = \"h100-sxm5-80gb\"\ncount = 8\n";

/// Samples of the counters of a card's parts must lie this far apart.
const APART: Duration = Duration::from_millis(120);

fn nvml(sample: &Sample) -> &NvmlSample {
    sample.nvml.value.known().unwrap_or_else(|| panic!("no library: {:?}", sample.nvml.value))
}

fn card(sample: &Sample, index: u32) -> &CardSample {
    let whole = |card: &&CardSample| card.parent.is_none() && card.index == index;
    nvml(sample).cards.iter().find(whole).expect("the board has this card")
}

fn links(card: &CardSample) -> &[NvLink] {
    card.nvlinks.known().unwrap_or_else(|| panic!("no links: {:?}", card.nvlinks))
}

/// Takes a sample once the one before is old enough for counters of parts.
fn next(observer: &mut Observer, depth: Depth) -> Sample {
    let due = Instant::now() + APART;
    wait_for("the counters move on", || Instant::now() >= due);
    observer.sample(depth)
}

#[test]
fn a_healthy_card_says_all_that_it_can() {
    let test_box = TestBox::up(EIGHT_H100);
    let client = Client::attach(&test_box.directory, 0).unwrap();
    client.allocate(GIB).unwrap();
    let mut observer = test_box.observer();
    let first = observer.sample(Depth::Full);
    client.run_kernel(&Kernel::of_arithmetic(Duration::from_millis(300)));
    let second = observer.sample(Depth::Full);

    let said = card(&first, 0);
    assert_eq!(said.compute_capability, Reading::Known("9.0".to_owned()));
    assert_eq!(said.display_active, Reading::Known(false));
    assert!(said.inforom.is_known(), "{:?}", said.inforom);
    assert_eq!(said.ecc.enabled, Reading::Known(true));
    for counts in [&said.ecc.volatile, &said.ecc.aggregate] {
        for count in
            [&counts.corrected, &counts.uncorrected, &counts.dram_uncorrected, &counts.sram_uncorrected]
        {
            assert_eq!(*count, Reading::Known(0), "{:?}", said.ecc);
        }
    }
    assert_eq!(said.ecc.sram_threshold_exceeded, Reading::Known(false));
    let rows = said.remapped_rows.known().unwrap();
    assert!(!rows.pending && !rows.failed && rows.spare_rows.unwrap().all > 0, "{rows:?}");
    assert_eq!(said.retired_pages, Reading::Unsupported, "Hopper replaces rows");
    let violations = &said.violations;
    assert!(violations.power_ns.is_known() && violations.thermal_ns.is_known(), "{violations:?}");
    assert!(said.memory_temperature.is_known());
    let limits = &said.temperature_limits;
    let degrees = |limit: &Reading<gpuwhy_model::units::Celsius>| limit.known().unwrap().0;
    // The card only tells distances.
    assert!((degrees(&limits.operating_maximum) - 87.0).abs() <= 2.0, "{limits:?}");
    assert!(degrees(&limits.shutdown) > degrees(&limits.slowdown), "{limits:?}");
    assert!(said.power_limits.requested.is_known() && said.encoder.is_known() && said.decoder.is_known());
    assert_eq!(said.pcie.card_generation_max, Reading::Known(5));
    assert_eq!(said.pcie.errors.fatal, Reading::Known(0));
    assert_eq!((&said.mig_enabled, &said.mig_pending), (&Reading::Known(false), &Reading::Known(false)));
    let link = &links(said)[0];
    assert_eq!(links(said).len(), 18);
    assert_eq!((&link.active, &link.version), (&Reading::Known(true), &Reading::Known(4)));
    assert_eq!(link.remote, Reading::Known("switch".to_owned()));
    assert_eq!(link.crc_errors, Reading::Known(0));
    assert_eq!(said.fabric.known().unwrap().state, FabricState::Completed);
    let pairs = nvml(&first).pairs.known().unwrap();
    assert_eq!(pairs.len(), 8 * 7 / 2);
    assert_eq!((pairs[0].one, pairs[0].other, pairs[0].peer_to_peer), (0, 1, Some(true)));
    assert_eq!(nvml(&first).xid_events, Reading::Known(Vec::new()));

    // What parts did needs a time before; what cannot change is said again without asking.
    assert_eq!(said.activity.sm_active, Reading::Failed(Failure::TooFewSamples));
    let worked = card(&second, 0);
    assert!(worked.activity.sm_active.known().unwrap().0 > 10.0, "{:?}", worked.activity);
    assert!(worked.activity.tensor_active.is_known() && worked.activity.dram_active.is_known());
    assert!(worked.pcie.to_card.is_known() && worked.pcie.to_card_bytes.is_known());
    assert!(worked.nvlink_traffic.sent_bytes.is_known(), "{:?}", worked.nvlink_traffic);
    assert!(card(&second, 1).activity.sm_active.known().unwrap().0 < 1.0);
    assert_eq!(
        (&worked.compute_capability, &worked.uuid, &worked.pcie.width_max),
        (&said.compute_capability, &said.uuid, &said.pcie.width_max)
    );
    assert!(nvml(&second).pairs.is_not_in_source(), "said once");

    // A calm tick brings only what changes quickly.
    let calm = next(&mut observer, Depth::Calm);
    let quick = card(&calm, 0);
    assert!(quick.activity.sm_active.is_known() && quick.memory_temperature.is_known());
    assert!(quick.pcie.to_card_bytes.is_known() && nvml(&calm).xid_events.is_known());
    assert!(quick.ecc.enabled.is_not_in_source() && quick.nvlinks.is_not_in_source());
    let effort = observer.driver_effort();
    assert!(effort.calls > 200 && effort.library_ns > 0 && effort.library_ns < effort.child_ns, "{effort:?}");
}

#[test]
fn what_is_wrong_with_a_card_is_read() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"a100-sxm4-80gb\"\nmemory_hotter_c = 20.0\ninforom_corrupt = true\n\
         ecc = { uncorrected = { dram = 2, sram = 1 }, corrected = { dram = 40 }, sram_threshold_exceeded = true }\n\
         repair = { corrected = 1, uncorrected = 2, pending = true, failed = true, banks_without_spares = 3 }\n\
         nvlink = { down = [3], faulty_link = 1, checksum_errors = 7, replays = 8, recoveries = 9 }\n\
         pcie_errors = { correctable = 5, non_fatal = 4, fatal = 3 }\n\
         [[card]]\nprofile = \"rtx-4090\"\nfan_failed = true\n\
         [[card]]\nprofile = \"rtx-4090\"\nfan_failed = true\nfan_says = \"error\"\n\
         [[card]]\nprofile = \"v100-sxm2-32gb\"\nrepair = { corrected = 5, uncorrected = 6, pending = true }\n",
    );
    let sample = test_box.observer().sample(Depth::Full);
    let worn = card(&sample, 0);
    assert_eq!(worn.ecc.volatile.uncorrected, Reading::Known(3));
    assert_eq!(worn.ecc.volatile.corrected, Reading::Known(40));
    assert_eq!(worn.ecc.volatile.dram_uncorrected, Reading::Known(2));
    assert_eq!(worn.ecc.volatile.sram_uncorrected, Reading::Known(1));
    assert_eq!(worn.ecc.sram_threshold_exceeded, Reading::Known(true));
    let rows = worn.remapped_rows.known().unwrap();
    assert_eq!((rows.corrected, rows.uncorrected, rows.pending, rows.failed), (1, 2, true, true));
    assert_eq!(rows.spare_rows.unwrap().none, 3);
    let corrupt = Failure::Nvml { call: "nvmlDeviceGetInforomImageVersion".to_owned(), code: 14 };
    assert_eq!(worn.inforom, Reading::Failed(corrupt));
    let active: Vec<bool> = links(worn).iter().map(|link| link.active == Reading::Known(true)).collect();
    assert_eq!(active.iter().filter(|active| !**active).count(), 1);
    assert!(!active[3]);
    let faulty = &links(worn)[1];
    assert_eq!(faulty.crc_errors, Reading::Known(7));
    assert_eq!(faulty.replays, Reading::Known(8));
    assert_eq!(faulty.recoveries, Reading::Known(9));
    let errors = &worn.pcie.errors;
    assert_eq!(
        (&errors.corrected, &errors.non_fatal, &errors.fatal),
        (&Reading::Known(5), &Reading::Known(4), &Reading::Known(3))
    );
    assert_eq!(worn.fabric, Reading::Unsupported, "it needs no joining");
    assert!(worn.memory_temperature.known().unwrap().0 > worn.temperature.known().unwrap().0 + 10.0);

    let still = &card(&sample, 1).fans.known().unwrap()[0];
    assert_eq!(still.rpm, Reading::Known(0));
    assert!(still.target.is_known(), "{still:?}");
    let silent = &card(&sample, 2).fans.known().unwrap()[0];
    assert!(matches!(silent.speed, Reading::Failed(Failure::Nvml { code: 999, .. })), "{silent:?}");
    assert_eq!(card(&sample, 2).nvlinks, Reading::Unsupported);

    let old = card(&sample, 3);
    let pages = old.retired_pages.known().unwrap();
    assert_eq!((pages.single_bit, pages.double_bit, pages.pending), (5, 6, true));
    assert_eq!(old.remapped_rows, Reading::Unsupported);
    assert_eq!(old.activity.sm_active, Reading::Unsupported, "only Hopper and later count");
}

#[test]
fn instances_are_cards_with_a_parent() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"h100-sxm5-80gb\"\n\
         mig = { enabled = true, instances = [\"1g.10gb\", \"2g.20gb\"] }\n\
         [[card]]\nprofile = \"h100-sxm5-80gb\"\nmig = { enabled = true, pending = false }\n",
    );
    let client = Client::attach_to_instance(&test_box.directory, 0, 1).unwrap();
    client.allocate(3 * GIB).unwrap();
    let mut observer = test_box.observer();
    let first = observer.sample(Depth::Full);
    let seen: Vec<_> = nvml(&first).cards.iter().map(|card| (card.kind, card.parent, card.index)).collect();
    assert_eq!(
        seen,
        [
            (CardKind::Card, None, 0),
            (CardKind::MigInstance, Some(0), 0),
            (CardKind::MigInstance, Some(0), 1),
            (CardKind::Card, None, 1),
        ]
    );
    let whole = card(&first, 0);
    assert_eq!(whole.mig_enabled, Reading::Known(true));
    assert_eq!(whole.busy, Reading::Unsupported, "a card that is cut does not tell");
    assert_eq!(card(&first, 1).mig_pending, Reading::Known(false));
    let [_, empty, used, _] = &nvml(&first).cards[..] else { panic!("{seen:?}") };
    assert!(used.uuid.known().unwrap().starts_with("MIG-") && used.uuid != empty.uuid);
    assert!(used.memory.known().unwrap().total.0 > empty.memory.known().unwrap().total.0);
    assert!(used.memory.known().unwrap().used.0 >= 3 * GIB);
    assert_eq!(empty.clients, Reading::Known(Vec::new()));
    assert_eq!(used.clients.known().unwrap()[0].pid, Pid(std::process::id()));
    assert!(used.bar1.is_known() || used.bar1 == Reading::Unsupported, "{:?}", used.bar1);

    client.run_kernel(&Kernel::of_arithmetic(Duration::from_millis(300)));
    let calm = observer.sample(Depth::Calm);
    let again = &nvml(&calm).cards[2];
    assert_eq!(
        (&again.uuid, again.parent, again.index),
        (&used.uuid, Some(0), 1),
        "told apart at every depth"
    );
    assert!(again.activity.sm_active.known().unwrap().0 > 10.0, "{:?}", again.activity);
    assert!(nvml(&calm).cards[1].activity.sm_active.known().unwrap().0 < 10.0);
    assert_eq!(again.handle, Reading::Known(()));
}

#[test]
fn a_library_without_any_of_it_says_that_there_is_none() {
    let omitted = [
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetPowerManagementLimit",
        "nvmlDeviceGetEncoderUtilization",
        "nvmlDeviceGetDecoderUtilization",
        "nvmlDeviceGetDisplayActive",
        "nvmlDeviceGetCudaComputeCapability",
        "nvmlDeviceGetInforomImageVersion",
        "nvmlDeviceGetEccMode",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetViolationStatus",
        "nvmlDeviceGetNumFans",
        "nvmlDeviceGetFanSpeed",
        "nvmlDeviceGetGpuMaxPcieLinkGeneration",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetGpuFabricInfo",
        "nvmlDeviceGetTopologyCommonAncestor",
        "nvmlDeviceGetMigMode",
        "nvmlGpmQueryDeviceSupport",
        "nvmlDeviceGetSupportedEventTypes",
    ];
    let omitted = omitted.map(|symbol| format!("\"{symbol}\"")).join(", ");
    let test_box = TestBox::up(&format!("[driver]\nomitted_symbols = [{omitted}]\n{TWO_H100}"));
    let sample = test_box.observer().sample(Depth::Full);
    let said = card(&sample, 0);
    assert!(said.memory.is_known() && said.power.is_known() && said.temperature.is_known());
    let absent = [
        said.power_limits.requested.absence(),
        said.encoder.absence(),
        said.display_active.absence(),
        said.compute_capability.absence(),
        said.inforom.absence(),
        said.ecc.enabled.absence(),
        said.ecc.volatile.corrected.absence(),
        said.remapped_rows.absence(),
        said.retired_pages.absence(),
        said.violations.power_ns.absence(),
        said.fan.absence(),
        said.fans.absence(),
        said.pcie.card_generation_max.absence(),
        said.pcie.errors.fatal.absence(),
        said.pcie.to_card_bytes.absence(),
        said.nvlinks.absence(),
        said.nvlink_traffic.sent_bytes.absence(),
        said.fabric.absence(),
        said.mig_enabled.absence(),
        said.mig_pending.absence(),
        said.activity.sm_active.absence(),
        said.memory_temperature.absence(),
        said.reason_counters.power_brake_ns.absence(),
        nvml(&sample).pairs.absence(),
        nvml(&sample).xid_events.absence(),
    ];
    for (place, absence) in absent.iter().enumerate() {
        assert_eq!(absence.as_ref().map(gpuwhy_model::reading::Absence::id), Some("unsupported"), "{place}");
    }
}

#[test]
fn structures_of_another_version_are_asked_for_in_an_older_form() {
    let test_box = TestBox::up(&format!(
        "{EIGHT_H100}fabric = {{ state = \"in-progress\" }}\n\
         [[fault]]\nfunction = \"nvmlDeviceGetGpuFabricInfoV\"\ncode = 25\n\
         [[fault]]\nfunction = \"nvmlDeviceGetSramEccErrorStatus\"\ncode = 25\n\
         [[fault]]\nfunction = \"nvmlGpmMetricsGet\"\ncode = 25\n\
         [[fault]]\nfunction = \"nvmlEventSetWait_v2\"\ncode = 999\n"
    ));
    let mut observer = test_box.observer();
    let sample = observer.sample(Depth::Full);
    let said = card(&sample, 0);
    assert_eq!(said.fabric.known().unwrap().state, FabricState::InProgress);
    assert_eq!(said.ecc.sram_threshold_exceeded, Reading::Unsupported);
    assert_eq!(said.ecc.volatile.sram_uncorrected, Reading::Known(0));
    let refused = Failure::Nvml { call: "nvmlEventSetWait_v2".to_owned(), code: 999 };
    assert_eq!(nvml(&sample).xid_events, Reading::Failed(refused));
    let later = next(&mut observer, Depth::Calm);
    assert_eq!(card(&later, 0).activity.sm_active, Reading::Unsupported);
    assert_eq!(card(&later, 0).handle, Reading::Known(()));
}

#[test]
fn a_card_that_is_lost_and_comes_back_is_followed() {
    let test_box = TestBox::up(&format!(
        "{TWO_H100}[[event]]\nat_s = 1.5\ncard = 0\nset = {{ lost = true }}\n\
         [[event]]\nat_s = 3.0\ncard = 0\nset = {{ lost = false }}\n"
    ));
    let mut observer = test_box.observer();
    assert_eq!(card(&observer.sample(Depth::Full), 0).handle, Reading::Known(()));
    let mut lost = 0;
    wait_for("the card is lost", || {
        let sample = next(&mut observer, Depth::Calm);
        assert_eq!(card(&sample, 1).handle, Reading::Known(()));
        lost += u32::from(matches!(card(&sample, 0).handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
        lost >= 3
    });
    wait_for("the card is back", || card(&next(&mut observer, Depth::Calm), 0).handle == Reading::Known(()));
    let back = next(&mut observer, Depth::Full);
    assert!(card(&back, 0).uuid.is_known() && card(&back, 0).memory.is_known());
    assert!(back.stuck_calls.is_empty());
}

#[test]
fn error_events_are_delivered_once_and_nothing_waits_for_them() {
    let test_box = TestBox::up(&format!("{TWO_H100}[[event]]\nat_s = 1.5\ncard = 1\nxid = 63\n"));
    let mut observer = test_box.observer();
    let mut delivered: Vec<XidEvent> =
        nvml(&observer.sample(Depth::Full)).xid_events.known().unwrap().clone();
    wait_for("the event is delivered", || {
        let begun = Instant::now();
        let sample = observer.sample(Depth::Calm);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        delivered.extend(nvml(&sample).xid_events.known().unwrap());
        !delivered.is_empty()
    });
    delivered.extend(nvml(&observer.sample(Depth::Full)).xid_events.known().unwrap());
    assert_eq!(delivered, [XidEvent { card: 1, number: 63 }]);
}

#[test]
fn cards_that_sleep_are_waited_for_before_the_window() {
    let slow = "[[fault]]\nfunction = \"nvmlDeviceGetHandleByIndex\"\ncard = 1\nlatency_ms = 2600\n";
    let test_box = TestBox::up(&format!("{TWO_H100}{slow}"));
    let mut observer = test_box.observer();
    let mut waits = 0;
    while !observer.wait_for_driver(Duration::from_millis(100)) {
        waits += 1;
    }
    assert!(waits >= 15, "the start is still going on: {waits}");
    let begun = Instant::now();
    let sample = observer.sample(Depth::Full);
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert!(nvml(&sample).init_ms >= 2600);
    assert_eq!(card(&sample, 1).handle, Reading::Known(()));
    assert!(sample.stuck_calls.is_empty());
}

#[test]
fn a_card_that_never_wakes_is_named_after_the_time_that_waking_takes() {
    let hangs = "[[fault]]\nfunction = \"nvmlDeviceGetHandleByIndex\"\ncard = 1\nhang = \"sleep\"\n";
    let test_box = TestBox::up(&format!("{TWO_H100}{hangs}"));
    let mut observer = test_box.observer();
    let begun = Instant::now();
    let sample = observer.sample(Depth::Full);
    assert!((10.0..13.0).contains(&begun.elapsed().as_secs_f64()), "{:?}", begun.elapsed());
    let stuck = &sample.stuck_calls[0];
    assert_eq!((stuck.call.as_deref(), stuck.card), (Some("nvmlDeviceGetHandleByIndex_v2"), Some(1)));
    assert!(stuck.for_s >= 10.0 && !stuck.may_be_waking && !stuck.has_returned, "{stuck:?}");
    assert!(matches!(sample.nvml.value, Reading::Failed(Failure::TimedOut { .. })));
    assert!(sample.host.value.is_known());
}
