//! Tests of the window on small hand-made samples.

use jiff::Timestamp;

use super::window;
use crate::process::Pid;
use crate::reading::{Failure, Reading};
use crate::sample::{
    CardClient, CardMemory, CardSample, ClientKind, HostSample, KernelLine, MachineSample, NvmlSample,
    Pressure, PressureLine, ProcessRole, ProcessSample, ProcessState, ProcessTable, ProcessUtilization,
    ReadTime, Sample, Section, TimedValue, Viewer,
};
use crate::units::{Bytes, Joules, Percent, Watts};

const TICKS: u64 = 100;
const START_US: u64 = 1_700_000_000_000_000;

fn at(seconds: f64) -> ReadTime {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive test times")]
    let micros = (seconds * 1e6) as u64;
    let wall = Timestamp::from_microsecond(i64::try_from(START_US + micros).unwrap()).unwrap();
    ReadTime { boot_ns: 1_000_000_000_000 + micros * 1000, wall }
}

fn section<T>(seconds: f64, value: T) -> Section<T> {
    Section { read: at(seconds), value: Reading::Known(value) }
}

fn sample(seconds: f64, cards: Vec<CardSample>, processes: Vec<ProcessSample>) -> Sample {
    let machine = MachineSample {
        ticks_per_second: TICKS,
        viewer: Viewer { initial_pid_namespace: Reading::Known(true), ..Viewer::default() },
        ..MachineSample::default()
    };
    Sample {
        machine: section(seconds, machine),
        nvml: section(seconds, NvmlSample { cards, ..NvmlSample::default() }),
        processes: section(seconds, ProcessTable { processes, ..ProcessTable::default() }),
        ..Sample::empty(at(seconds))
    }
}

fn card(busy: &[(f64, f64)]) -> CardSample {
    let buffer = busy
        .iter()
        .map(|(seconds, value)| TimedValue { time_us: time_us(*seconds), value: *value })
        .collect();
    CardSample { handle: Reading::Known(()), busy_samples: Reading::Known(buffer), ..CardSample::default() }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "wrapping is meant: times before the start are negative"
)]
fn time_us(seconds: f64) -> u64 {
    START_US.wrapping_add((seconds * 1e6) as i64 as u64)
}

fn process(pid: u32, parent: u32, cpu_ticks: u64) -> ProcessSample {
    ProcessSample {
        pid: Pid(pid),
        parent: Pid(parent),
        session: Pid(pid),
        start_ticks: 1000,
        cpu_ticks,
        ..ProcessSample::default()
    }
}

fn client(pid: u32, mebibytes: u64) -> CardClient {
    CardClient {
        pid: Pid(pid),
        kind: ClientKind::Compute,
        memory: Reading::Known(Bytes::from_mebibytes(mebibytes)),
        name: Reading::default(),
    }
}

#[test]
fn no_sample_gives_an_empty_scene() {
    assert_eq!(window(&[]).window.samples, 0);
}

#[test]
fn one_sample_gives_states_but_no_rates() {
    let scene = window(&[sample(0.0, vec![card(&[])], vec![process(7, 1, 50)])]);
    assert_eq!(scene.processes[0].cores, Failure::TooFewSamples.into_reading());
    assert_eq!(scene.cards[0].mean_power_by_energy, Reading::default());
    assert_eq!(scene.host.cores_used, Reading::default());
}

#[test]
fn counters_become_rates_of_the_same_process_only() {
    let mut recycled = process(8, 1, 5);
    recycled.start_ticks = 2000;
    let scene = window(&[
        sample(0.0, vec![], vec![process(7, 1, 50), process(8, 1, 900)]),
        sample(2.0, vec![], vec![process(7, 1, 150), recycled]),
    ]);
    assert!((scene.process(Pid(7)).unwrap().cores.known().unwrap().0 - 0.5).abs() < 1e-9);
    assert_eq!(scene.process(Pid(8)).unwrap().cores, Failure::TooFewSamples.into_reading());
}

#[test]
fn a_counter_that_falls_is_not_believed() {
    let scene =
        window(&[sample(0.0, vec![], vec![process(7, 1, 50)]), sample(1.0, vec![], vec![process(7, 1, 40)])]);
    assert!(matches!(scene.processes[0].cores, Reading::Failed(Failure::Implausible { .. })));
}

#[test]
fn a_single_look_uses_the_buffer_of_the_past() {
    let scene =
        window(&[sample(0.0, vec![card(&[(-60.0, 90.0), (-4.0, 0.0), (-2.0, 0.0), (-0.1, 0.0)])], vec![])]);
    let card = &scene.cards[0];
    let busy = card.busy.known().unwrap();
    assert_eq!(busy.n, 3);
    assert!(busy.mean.0.abs() < 1e-9);
    assert!((card.idle_for.known().unwrap().0 - 59.9).abs() < 0.01);
    assert!(card.seen_working);
}

#[test]
fn a_window_leaves_the_past_out() {
    let scene = window(&[
        sample(0.0, vec![card(&[(-60.0, 90.0), (-1.0, 90.0)])], vec![]),
        sample(5.0, vec![card(&[(1.0, 0.0), (4.0, 50.0)])], vec![]),
    ]);
    assert_eq!(scene.cards[0].busy.known().unwrap().n, 2);
    assert!(scene.cards[0].idle_for.known().unwrap().0.abs() < 1e-9);
}

#[test]
fn a_buffer_that_ends_before_the_window_says_nothing_about_it() {
    let old = card(&[(-60.0, 90.0), (-50.0, 90.0)]);
    let scene = window(&[sample(0.0, vec![old.clone()], vec![]), sample(5.0, vec![old], vec![])]);
    assert_eq!(scene.cards[0].busy, Failure::TooFewSamples.into_reading());
}

#[test]
fn a_card_that_stops_answering_is_lost_now() {
    let lost: Reading<()> =
        Failure::Nvml { call: "nvmlDeviceGetMemoryInfo_v2".into(), code: 15 }.into_reading();
    let gone = CardSample { handle: lost.clone(), ..CardSample::default() };
    let scene = window(&[sample(0.0, vec![card(&[(0.0, 10.0)])], vec![]), sample(5.0, vec![gone], vec![])]);
    assert_eq!(scene.cards[0].handle, lost);
}

#[test]
fn cards_of_a_driver_that_hangs_stay_listed() {
    let mut hung = sample(5.0, vec![], vec![]);
    hung.nvml.value =
        Failure::TimedOut { call: "nvmlDeviceGetCount_v2".into(), after_ms: 2000 }.into_reading();
    let scene = window(&[sample(0.0, vec![card(&[(0.0, 10.0), (1.0, 0.0)])], vec![]), hung]);
    assert_eq!(scene.cards.len(), 1);
    assert!(matches!(scene.cards[0].handle, Reading::Failed(Failure::TimedOut { .. })));
    assert!(!scene.machine.driver.library.is_known());
}

#[test]
fn memory_that_nobody_holds_is_unexplained() {
    let memory = CardMemory {
        total: Bytes::from_mebibytes(100),
        used: Bytes::from_mebibytes(60),
        ..CardMemory::default()
    };
    let mut with_clients = CardSample {
        memory: Reading::Known(memory),
        clients: Reading::Known(vec![client(7, 40)]),
        ..card(&[])
    };
    let scene = window(&[sample(0.0, vec![with_clients.clone()], vec![])]);
    assert_eq!(scene.cards[0].unexplained, Reading::Known(Bytes::from_mebibytes(20)));

    with_clients.clients = Reading::Known(vec![CardClient { memory: Reading::Unsupported, ..client(7, 0) }]);
    let scene = window(&[sample(0.0, vec![with_clients], vec![])]);
    assert_eq!(scene.cards[0].unexplained, Reading::Unsupported);
}

#[test]
fn clients_that_the_driver_does_not_name_did_not_work() {
    let row = |seconds: f64, sm: f64| ProcessUtilization {
        pid: Pid(7),
        time_us: time_us(seconds),
        sm: Percent(sm),
        memory: Percent(0.0),
    };
    let with_work = |rows: Vec<ProcessUtilization>| CardSample {
        clients: Reading::Known(vec![client(7, 10), client(8, 10)]),
        client_work: Reading::Known(rows),
        ..card(&[])
    };
    let scene = window(&[
        sample(0.0, vec![with_work(vec![])], vec![]),
        sample(4.0, vec![with_work(vec![row(1.0, 80.0), row(2.0, 60.0)])], vec![]),
    ]);
    let clients = scene.cards[0].known_clients();
    assert!((clients[0].sm.known().unwrap().mean.0 - 70.0).abs() < 1e-9);
    assert!((clients[0].idle_for.known().unwrap().0 - 2.0).abs() < 1e-9);
    assert!(clients[1].sm.known().unwrap().mean.0.abs() < 1e-9);
    assert!((clients[1].idle_for.known().unwrap().0 - 4.0).abs() < 1e-9);
    assert!(clients[0].seen_working && !clients[1].seen_working);
}

#[test]
fn energy_gives_mean_power() {
    let with_energy = |joules: f64| CardSample {
        energy: Reading::Known(Joules(joules)),
        power: Reading::Known(Watts(joules)),
        ..card(&[])
    };
    let scene = window(&[
        sample(0.0, vec![with_energy(100.0)], vec![]),
        sample(5.0, vec![with_energy(1100.0)], vec![]),
    ]);
    assert!((scene.cards[0].mean_power_by_energy.known().unwrap().0 - 200.0).abs() < 1e-9);
    assert_eq!(scene.cards[0].power.known().unwrap().n, 2);
}

#[test]
fn states_and_wait_channels_are_counted() {
    let blocked = ProcessSample {
        state: Reading::Known(ProcessState::Blocked),
        wait_channel: Reading::Known("folio_wait_bit_common".into()),
        ..process(7, 1, 0)
    };
    let asleep = ProcessSample { state: Reading::Known(ProcessState::Sleeping), ..process(7, 1, 0) };
    let scene = window(&[
        sample(0.0, vec![], vec![blocked.clone()]),
        sample(1.0, vec![], vec![blocked]),
        sample(2.0, vec![], vec![asleep.clone()]),
        sample(3.0, vec![], vec![asleep]),
    ]);
    let process = &scene.processes[0];
    assert_eq!(process.states.n, 4);
    assert!((process.states.blocked - 0.5).abs() < 1e-9);
    assert_eq!(process.wait_channels[0].seen, 2);
}

#[test]
fn pressure_is_differenced() {
    let with_pressure = |seconds: f64, total_us: u64| {
        let pressure = Pressure { some: PressureLine { total_us }, full: None };
        let host = HostSample { io_pressure: Reading::Known(pressure), ..HostSample::default() };
        Sample { host: section(seconds, host), ..sample(seconds, vec![], vec![]) }
    };
    let scene = window(&[with_pressure(0.0, 1_000_000), with_pressure(4.0, 3_000_000)]);
    assert!((scene.host.pressure.io_some.known().unwrap().0 - 0.5).abs() < 1e-9);
    assert_eq!(scene.host.pressure.memory_full, Reading::default());
}

#[test]
fn kernel_lines_are_kept_once() {
    let with_line = |seconds: f64| {
        let line = KernelLine { boot_us: 5, text: "NVRM: Xid".into(), ..KernelLine::default() };
        Sample { kernel_log: section(seconds, vec![line]), ..sample(seconds, vec![], vec![]) }
    };
    assert_eq!(window(&[with_line(0.0), with_line(1.0)]).events.known().unwrap().len(), 1);
}

/// shell 10 → launcher 20 → ranks 30 and 31, each with a loader; and a run of its own, 50, under the same shell.
#[test]
fn a_run_with_its_launcher_is_one_workload() {
    let with_role =
        |pid: u32, parent: u32, role| ProcessSample { role: Some(role), ..process(pid, parent, 0) };
    let processes = vec![
        with_role(10, 1, ProcessRole::Shell),
        with_role(20, 10, ProcessRole::Launcher),
        with_role(30, 20, ProcessRole::Interpreter),
        with_role(31, 20, ProcessRole::Interpreter),
        with_role(40, 30, ProcessRole::Loader),
        with_role(41, 31, ProcessRole::Loader),
        with_role(50, 10, ProcessRole::Interpreter),
    ];
    let on = |index: u32, pid: u32| CardSample {
        index,
        clients: Reading::Known(vec![client(pid, 100)]),
        ..card(&[])
    };
    let scene = window(&[sample(0.0, vec![on(0, 30), on(1, 31), on(2, 50)], processes)]);
    assert_eq!(scene.workloads.len(), 2);
    let run = scene.workload_of(Pid(41)).unwrap();
    assert_eq!(run.root, Pid(20));
    assert_eq!(run.cards, [0, 1]);
    assert_eq!(run.processes, [20, 30, 31, 40, 41].map(Pid));
    assert_eq!(scene.workload_of(Pid(50)).unwrap().root, Pid(50));
    assert!(scene.workload_of(Pid(10)).is_none());
}

#[test]
fn numbers_of_another_pid_namespace_name_nobody() {
    let mut inside = sample(
        0.0,
        vec![CardSample { clients: Reading::Known(vec![client(30, 100)]), ..card(&[]) }],
        vec![process(30, 1, 0)],
    );
    if let Reading::Known(machine) = &mut inside.machine.value {
        machine.viewer.initial_pid_namespace = Reading::Known(false);
    }
    assert!(window(&[inside]).workloads.is_empty());
}

#[test]
fn a_torn_table_with_a_loop_ends() {
    let looped = vec![process(30, 31, 0), process(31, 30, 0)];
    let on = CardSample { clients: Reading::Known(vec![client(30, 100)]), ..card(&[]) };
    assert_eq!(window(&[sample(0.0, vec![on], looped)]).workloads.len(), 1);
}
