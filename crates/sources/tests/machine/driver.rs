//! The driver through its child, on the library of the emulated box.
//!
//! The child is the example `look`, which cargo builds together with the tests of this crate.

use std::time::{Duration, Instant};

use super::support::{TestBox, children_of, children_of_ours, descriptors_of, descriptors_of_ours};
use gpuwhy_lab::client::{Client, Kernel};
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::{CardSample, ClientKind, NvmlSample, Sample};
use gpuwhy_sources::Depth;

const GIB: u64 = 1 << 30;
const TWO_CARDS: &str = "[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n";

fn nvml(sample: &Sample) -> &NvmlSample {
    sample.nvml.value.known().unwrap_or_else(|| panic!("no library: {:?}", sample.nvml.value))
}

fn card(sample: &Sample, index: u32) -> &CardSample {
    nvml(sample).cards.iter().find(|card| card.index == index).expect("the board has this card")
}

/// Attaches this process to a card.
fn attach(test_box: &TestBox, card: usize, bytes: u64) -> Client {
    let client = Client::attach(&test_box.directory, card).unwrap();
    client.allocate(bytes).unwrap();
    client
}

#[test]
fn cards_and_their_clients_are_read() {
    let test_box = TestBox::up(TWO_CARDS);
    let client = attach(&test_box, 1, 3 * GIB);
    client.run_kernel(&Kernel::of_arithmetic(Duration::from_millis(900)));
    let mut observer = test_box.observer();
    let sample = observer.sample(Depth::Full);

    assert_eq!(nvml(&sample).card_count, Reading::Known(2));
    assert_eq!(nvml(&sample).driver_version, Reading::Known("580.95.05".to_owned()));
    assert_eq!(nvml(&sample).cuda_version, Reading::Known("13.0".to_owned()));
    let worked = card(&sample, 1);
    assert_eq!(worked.handle, Reading::Known(()));
    assert_eq!(worked.name, Reading::Known("NVIDIA A100-SXM4-80GB".to_owned()));
    assert!(worked.uuid.known().unwrap().starts_with("GPU-"));
    assert_eq!(worked.pci_address.known().unwrap().len(), "0000:65:00.0".len());
    assert_eq!(worked.minor, Reading::Known(1));
    let memory = worked.memory.known().unwrap();
    assert!(memory.reserved.is_known() && memory.used.0 >= 3 * GIB && memory.used.0 < 5 * GIB, "{memory:?}");
    let own = &worked.clients.known().unwrap()[0];
    assert_eq!((own.pid, own.kind), (Pid(std::process::id()), ClientKind::Compute));
    assert!(own.memory.known().unwrap().0 >= 3 * GIB);
    let samples = worked.busy_samples.known().unwrap();
    assert!(samples.iter().any(|timed| timed.value > 50.0), "{samples:?}");
    assert!(samples.windows(2).all(|pair| pair[0].time_us < pair[1].time_us));
    let work = worked.client_work.known().unwrap();
    assert!(work.iter().any(|row| row.pid == Pid(std::process::id()) && row.sm.0 > 50.0), "{work:?}");
    assert!(worked.power.known().unwrap().0 > 20.0);
    assert!(worked.power_limits.enforced.is_known() && worked.power_limits.default.is_known());
    assert!(worked.energy.known().unwrap().0 > 0.0);
    assert!(worked.temperature.is_known() && worked.temperature_limits.slowdown.is_known());
    assert!(worked.clocks.sm.known().unwrap().0 <= worked.clocks.sm_max.known().unwrap().0);
    assert!(worked.clock_reasons.is_known() && worked.reason_counters.software_power_cap_ns.is_known());
    assert!(worked.reason_counters.hardware_thermal_ns.is_known());
    assert_eq!(worked.pcie.width_max, Reading::Known(16));
    assert!(worked.pcie.to_card.is_known() && worked.pcie.replays.is_known());
    assert_eq!(worked.compute_mode, Reading::Known("default".to_owned()));
    assert_eq!(worked.persistence, Reading::Known(true));
    // A card of servers has no fan of its own.
    assert_eq!(worked.fan, Reading::Unsupported);
    let idle = card(&sample, 0);
    assert_eq!(idle.clients, Reading::Known(Vec::new()));
    assert_eq!(idle.client_work, Reading::Known(Vec::new()));

    // The next tick brings only what is new, and nothing that hardly changes.
    let newest_us = samples.last().unwrap().time_us;
    let calm = observer.sample(Depth::Calm);
    let again = card(&calm, 1);
    assert!(again.busy_samples.known().unwrap().iter().all(|timed| timed.time_us > newest_us));
    assert!(
        again.clients.is_known() && again.uuid.is_not_in_source() && again.pcie.to_card.is_not_in_source()
    );
    // This process is a GPU process, and its own tree stands around it.
    let table = calm.processes.value.known().unwrap();
    let own = table.processes.iter().find(|process| process.pid == Pid(std::process::id())).unwrap();
    assert!(table.processes.iter().any(|process| process.pid == own.parent));
}

#[test]
fn every_size_of_rows_gives_the_same_clients() {
    for driver in [
        "[driver]\nprocess_row_bytes = 24\n",
        "[driver]\nprocess_row_bytes = 32\n",
        "[driver]\nprocess_row_bytes = 16\n",
        // What a driver of 2021 does not export.
        "[driver]\nversion = \"470.57.02\"\nomitted_symbols = [\"nvmlDeviceGetComputeRunningProcesses_v3\", \
         \"nvmlDeviceGetGraphicsRunningProcesses_v3\", \"nvmlDeviceGetMPSComputeRunningProcesses_v3\", \
         \"nvmlDeviceGetMemoryInfo_v2\", \"nvmlDeviceGetCurrentClocksEventReasons\", \"nvmlDeviceGetMarginTemperature\"]\n",
        "[driver]\nomitted_symbols = [\"nvmlDeviceGetComputeRunningProcesses_v3\", \
         \"nvmlDeviceGetComputeRunningProcesses_v2\"]\n",
    ] {
        let test_box = TestBox::up(&format!("{driver}{TWO_CARDS}"));
        let _client = attach(&test_box, 0, GIB);
        let sample = test_box.observer().sample(Depth::Full);
        let clients = card(&sample, 0).clients.known().unwrap_or_else(|| panic!("{driver}"));
        assert_eq!(clients.len(), 1, "{driver}");
        assert_eq!(clients[0].pid, Pid(std::process::id()), "{driver}");
        assert!(clients[0].memory.known().unwrap().0 >= GIB, "{driver}");
        assert!(card(&sample, 0).memory.is_known() && card(&sample, 0).clock_reasons.is_known(), "{driver}");
    }
}

#[test]
fn a_lost_card_does_not_hide_the_others() {
    let test_box = TestBox::up(&format!(
        "{TWO_CARDS}[[fault]]\nfunction = \"nvmlDeviceGetPowerUsage\"\ncard = 0\ncode = 15\n"
    ));
    let sample = test_box.observer().sample(Depth::Full);
    let lost = Failure::Nvml { call: "nvmlDeviceGetPowerUsage".to_owned(), code: 15 };
    assert_eq!(card(&sample, 0).handle, Reading::Failed(lost));
    assert!(card(&sample, 0).uuid.is_known(), "asked before the card was lost");
    assert!(!card(&sample, 0).temperature.is_known());
    assert_eq!(card(&sample, 1).handle, Reading::Known(()));
    assert!(sample.stuck_calls.is_empty());
}

#[test]
fn a_call_that_never_returns_is_named_in_time() {
    let fault = "[[fault]]\nfunction = \"nvmlDeviceGetTemperature\"\ncard = 1\nhang = \"sleep\"\n";
    let test_box = TestBox::up(&format!("[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 3\n{fault}"));
    let mut observer = test_box.observer();
    let begun = Instant::now();
    let sample = observer.sample(Depth::Full);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let stuck = &sample.stuck_calls[0];
    assert_eq!((stuck.call.as_deref(), stuck.card), (Some("nvmlDeviceGetTemperature"), Some(1)));
    assert!(stuck.for_s >= 2.0 && !stuck.from_earlier_run && !stuck.survived_kill, "{stuck:?}");
    assert!(stuck.state.is_known() && stuck.start_ticks > 0);
    assert_eq!(card(&sample, 0).handle, Reading::Known(()));
    assert!(card(&sample, 0).temperature.is_known());
    assert!(matches!(card(&sample, 1).handle, Reading::Failed(Failure::TimedOut { .. })));
    assert!(card(&sample, 1).uuid.is_known());
    assert_eq!(card(&sample, 2).handle, Reading::Failed(Failure::NotReached));
    assert!(sample.host.value.is_known() && sample.processes.value.is_known());

    // No second child is started: the next sample is there at once and says the same.
    let begun = Instant::now();
    let next = observer.sample(Depth::Full);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(next.stuck_calls, sample.stuck_calls);
    assert!(matches!(next.nvml.value, Reading::Failed(Failure::TimedOut { .. })));
    assert_eq!(children_of_ours(), 0);
}

#[test]
fn a_call_about_the_driver_itself_has_the_same_limit() {
    let fault = "[[fault]]\nfunction = \"nvmlSystemGetDriverVersion\"\nhang = \"sleep\"\n";
    let test_box = TestBox::up(&format!("{TWO_CARDS}{fault}"));
    let sample = test_box.observer().sample(Depth::Full);
    let stuck = &sample.stuck_calls[0];
    assert_eq!((stuck.call.as_deref(), stuck.card), (Some("nvmlSystemGetDriverVersion"), None));
    assert!(stuck.for_s < 30.0, "the limit of a start is a minute: {stuck:?}");
    assert_eq!(children_of_ours(), 0);
}

#[test]
fn calls_that_crawl_are_no_sign_of_a_driver_that_answers() {
    let fault = "[[fault]]\nfunction = \"nvmlDeviceGetPowerUsage\"\nlatency_ms = 1900\n";
    let test_box = TestBox::up(&format!("[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 4\n{fault}"));
    let mut observer = test_box.observer();
    while !observer.wait_for_driver(Duration::from_millis(100)) {}
    let sample = observer.sample(Depth::Full);
    let crawls = &sample.stuck_calls[0];
    assert_eq!(crawls.call.as_deref(), Some("nvmlDeviceGetPowerUsage"));
    assert!(crawls.has_returned, "each call comes back: {crawls:?}");
    assert!((1.0..3.0).contains(&crawls.for_s) && !crawls.survived_kill, "{crawls:?}");
    assert!(sample.nvml.value.is_known(), "what came stays");
}

#[test]
fn a_sweep_that_takes_long_is_answered_in_parts() {
    let fault = "[[fault]]\nfunction = \"*\"\nlatency_ms = 60\n";
    let test_box = TestBox::up(&format!("{TWO_CARDS}{fault}"));
    let mut observer = test_box.observer();
    while !observer.wait_for_driver(Duration::from_millis(100)) {}
    let begun = Instant::now();
    let sample = observer.sample(Depth::Full);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(sample.stuck_calls.is_empty());
    assert_eq!(card(&sample, 1).handle, Reading::Failed(Failure::NotReached));
    // The next samples go on with the same sweep, until all is there.
    let mut next = sample;
    while card(&next, 1).memory.known().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        next = observer.sample(Depth::Calm);
    }
    assert!(card(&next, 1).uuid.is_known(), "it was a full sweep");
    assert_eq!(card(&next, 0).handle, Reading::Known(()));
    assert!(next.stuck_calls.is_empty());
}

#[test]
fn a_slow_start_is_waited_for() {
    let test_box = TestBox::up(&format!("[driver]\ninit_ms = 1200\n{TWO_CARDS}"));
    let mut observer = test_box.observer();
    let mut waits = 0;
    while !observer.wait_for_driver(Duration::from_millis(100)) {
        waits += 1;
    }
    assert!(waits >= 5, "{waits}");
    let sample = observer.sample(Depth::Full);
    assert!(nvml(&sample).init_ms >= 1200);
    assert_eq!(nvml(&sample).cards.len(), 2);
}

#[test]
fn a_start_that_never_ends_is_named() {
    let test_box = TestBox::up(&format!("{TWO_CARDS}[[fault]]\nfunction = \"nvmlInit\"\nhang = \"sleep\"\n"));
    let mut observer = test_box.observer_with_init_limit(Duration::from_millis(700));
    let begun = Instant::now();
    let sample = observer.sample(Depth::Full);
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_eq!(sample.stuck_calls[0].call.as_deref(), Some("nvmlInit_v2"));
    assert!(
        matches!(&sample.nvml.value, Reading::Failed(Failure::TimedOut { call, .. }) if call == "nvmlInit_v2")
    );
    assert!(sample.host.value.is_known());
    assert_eq!(children_of_ours(), 0);
}

#[test]
fn a_refused_start_says_why() {
    let test_box = TestBox::up(&format!("[driver]\nloaded = false\n{TWO_CARDS}"));
    let sample = test_box.observer().sample(Depth::Full);
    let refused = Failure::Nvml { call: "nvmlInit_v2".to_owned(), code: 9 };
    assert_eq!(sample.nvml.value, Reading::Failed(refused));

    std::fs::remove_file(test_box.directory.library()).unwrap();
    let sample = test_box.observer().sample(Depth::Full);
    assert!(
        matches!(sample.nvml.value, Reading::Failed(Failure::LibraryNotLoaded { .. })),
        "{:?}",
        sample.nvml
    );
}

#[test]
fn a_child_that_dies_is_not_replaced() {
    let test_box = TestBox::up(TWO_CARDS);
    let mut observer = test_box.observer();
    assert!(observer.sample(Depth::Full).nvml.value.is_known());
    super::support::kill_children();
    let sample = observer.sample(Depth::Calm);
    assert!(
        matches!(&sample.nvml.value, Reading::Failed(Failure::Io { error, .. }) if error.contains("signal"))
    );
    assert!(sample.host.value.is_known());
    assert_eq!(children_of_ours(), 0);
}

#[test]
fn many_sweeps_leave_nothing_behind() {
    // Cards whose parts count, one of them in instances: the library keeps something for each.
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"h100-sxm5-80gb\"\n[[card]]\nprofile = \"h100-sxm5-80gb\"\n\
         mig = { enabled = true, instances = [\"1g.10gb\", \"2g.20gb\"] }\n",
    );
    let _client = attach(&test_box, 0, GIB);
    let before = descriptors_of_ours();
    {
        let mut observer = test_box.observer();
        // The list of processes is read anew after some samples, and the child of this process stands in it then.
        for _ in 0..10 {
            observer.sample(Depth::Full);
        }
        let open = descriptors_of_ours();
        let child = children_of(std::process::id())[0];
        let childs_open = descriptors_of(child);
        for tick in 0..200 {
            let depth = if tick % 20 == 0 { Depth::Full } else { Depth::Calm };
            assert!(observer.sample(depth).nvml.value.is_known());
        }
        // The thread that read arguments may have held one more a moment ago.
        assert!(descriptors_of_ours() <= open, "{} of {open}", descriptors_of_ours());
        assert_eq!(children_of(std::process::id()), [child]);
        assert_eq!(descriptors_of(child), childs_open);
    }
    super::support::wait_for("the child is gone and its descriptors closed", || {
        children_of_ours() == 0 && descriptors_of_ours() <= before
    });
}

#[test]
fn a_killed_run_takes_its_child_along() {
    let test_box = TestBox::up(TWO_CARDS);
    let library = test_box.directory.library();
    let mut run = std::process::Command::new(super::support::child_program().path)
        .args(["--quiet", "--window", "600", "--nvml-lib"])
        .arg(library)
        .spawn()
        .unwrap();
    let pid = run.id();
    super::support::wait_for("the run has a child", || !children_of(pid).is_empty());
    let child = children_of(pid)[0];
    run.kill().unwrap();
    run.wait().unwrap();
    super::support::wait_for("the child has ended too", || !super::support::is_alive(child));
}
