//! Whatever is seen, a verdict comes out, holds to its contract, and comes out the same again.

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{
    CardMemory, ClientKind, DeviceHolder, Fabric, FabricState, KernelFact, KernelLine, PciDevice,
    PowerLimits, ProcessState, Service, StuckCall, TimedValue,
};
use gpuwhy_model::scene::{
    Card, Client, PcieTraffic, Process, Scene, StateShares, WaitChannel, Window, Workload,
};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, BytesPerSecond, Cores, Percent, Seconds, Watts};
use gpuwhy_model::verdict::Severity;
use proptest::collection::vec;
use proptest::prelude::*;

/// A reading of a value, or any reason for having none.
fn reading<T: std::fmt::Debug + Clone + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Reading<T>> {
    prop_oneof![
        6 => value.prop_map(Reading::Known),
        1 => Just(Reading::Unsupported),
        1 => Just(Reading::Denied(Access::RootOrOwner)),
        1 => Just(Reading::Failed(Failure::TooFewSamples)),
        1 => prop_oneof![Just(15_u32), Just(9), Just(999)]
            .prop_map(|code| Reading::Failed(Failure::Nvml { call: "nvmlCall".to_owned(), code })),
    ]
}

fn trend(values: Vec<f64>) -> Trend<Percent> {
    let series: Vec<TimedValue> = values
        .into_iter()
        .zip(0..)
        .map(|(value, place)| TimedValue { time_us: place * 250_000, value })
        .collect();
    Trend::of(&series).unwrap_or_default()
}

fn percent_trend() -> impl Strategy<Value = Trend<Percent>> {
    vec(prop_oneof![Just(0.0), Just(100.0), 0.0..100.0_f64], 1..30).prop_map(trend)
}

/// What a client held, looked at every 20 s.
fn held_over_time(bytes: &[u64]) -> Trend<Bytes> {
    let series: Vec<TimedValue> = bytes
        .iter()
        .zip(0..)
        .map(|(bytes, place)| TimedValue { time_us: place * 20_000_000, value: *bytes as f64 })
        .collect();
    Trend::of(&series).unwrap_or_default()
}

fn client() -> BoxedStrategy<Client> {
    let kind = prop_oneof![Just(ClientKind::Compute), Just(ClientKind::Graphics), Just(ClientKind::Mps)];
    (
        90_u32..110,
        kind,
        reading(0_u64..90 << 30),
        reading(percent_trend()),
        reading(0.0..2000.0_f64),
        any::<bool>(),
        reading(vec(0_u64..90 << 30, 1..40)),
    )
        .prop_map(|(pid, kind, bytes, sm, idle, seen_working, grown)| Client {
            pid: Pid(pid),
            kind,
            memory_trend: grown.map(|values| held_over_time(&values)),
            memory: bytes.map(Bytes),
            name: Reading::Known("python3".to_owned()),
            sm,
            idle_for: idle.map(Seconds),
            seen_working,
        })
        .boxed()
}

/// A card with any settings.
fn card(index: u32) -> BoxedStrategy<Card> {
    let mode = prop_oneof![Just("default"), Just("exclusive_process"), Just("prohibited")];
    let state = prop_oneof![
        Just(FabricState::NotSupported),
        Just(FabricState::NotStarted),
        Just(FabricState::InProgress),
        Just(FabricState::Completed)
    ];
    let fabric = (state, prop_oneof![Just(0_u32), Just(999)]).prop_map(|(state, status)| Fabric {
        state,
        status,
        health: 0,
    });
    let window = (0_u64..2 << 30, 0_u64..2 << 30).prop_map(|(total, used)| CardMemory {
        total: Bytes(total),
        used: Bytes(used.min(total)),
        ..CardMemory::default()
    });
    let switches =
        (reading(any::<bool>()), reading(any::<bool>()), reading(any::<bool>()), reading(any::<bool>()));
    (plain_card(index), reading(mode), reading(fabric), reading(window), switches)
        .prop_map(
            move |(card, mode, fabric, bar1, (mig_enabled, mig_pending, persistence, display_active))| Card {
                minor: Reading::Known(index),
                compute_mode: mode.map(str::to_owned),
                fabric,
                bar1,
                mig_enabled,
                mig_pending,
                persistence,
                display_active,
                ..card
            },
        )
        .boxed()
}

fn plain_card(index: u32) -> BoxedStrategy<Card> {
    let memory = (1_u64..90 << 30, 0.0..=1.0_f64).prop_map(|(total, share)| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a small number"
        )]
        let used = (total as f64 * share) as u64;
        CardMemory {
            total: Bytes(total),
            reserved: Reading::Unsupported,
            used: Bytes(used),
            free: Bytes(total - used),
        }
    });
    let watts = percent_trend().prop_map(|trend| Trend {
        mean: Watts(trend.mean.0 * 4.0),
        n: trend.n,
        ..Trend::default()
    });
    (
        (
            reading(Just(())),
            reading(memory),
            reading(percent_trend()),
            reading(0.0..2000.0_f64),
            any::<bool>(),
        ),
        (reading(watts), reading(vec(client(), 0..4)), reading(0_u64..20 << 30), 0_u32..2),
    )
        .prop_map(move |((handle, memory, busy, idle, seen_working), (power, clients, unexplained, part))| {
            Card {
                index,
                parent: (part == 1 && index > 0).then_some(0),
                handle,
                uuid: Reading::Known(format!("GPU-{index}")),
                pci_address: Reading::Known(format!("0000:{index:02x}:00.0")),
                memory,
                busy,
                seen_working,
                power,
                power_limits: PowerLimits {
                    enforced: Reading::Known(Watts(400.0)),
                    ..PowerLimits::default()
                },
                unexplained: unexplained.map(Bytes),
                clients,
                nvlink_received: idle.clone().map(|rate| BytesPerSecond(rate * 1e8)),
                pcie_traffic: PcieTraffic {
                    to_card: idle.clone().map(|rate| BytesPerSecond(rate * 1e7)),
                    to_host: idle.clone().map(|rate| BytesPerSecond(rate * 1e6)),
                    is_by_counters: seen_working,
                },
                idle_for: idle.map(Seconds),
                ..Card::default()
            }
        })
        .boxed()
}

fn process(pid: u32) -> BoxedStrategy<Process> {
    let state = prop_oneof![
        Just(ProcessState::Running),
        Just(ProcessState::Sleeping),
        Just(ProcessState::Blocked),
        Just(ProcessState::Zombie)
    ];
    let channel = prop_oneof![
        Just("folio_wait_bit_common"),
        Just("request_wait_answer"),
        Just("uvm_va_space_down"),
        Just("pipe_read")
    ];
    let variable = prop_oneof![Just(None), Just(Some("RANK")), Just(Some("LOCAL_RANK"))];
    (
        (prop_oneof![Just(1_u32), 85..110_u32], reading(state), reading(variable), reading(0.0..9000.0_f64)),
        (
            reading(0.0..4.0_f64),
            0_usize..12,
            0.0..=1.0_f64,
            channel,
            prop_oneof![Just("python3"), Just("pt_data_worker")],
        ),
    )
        .prop_map(move |((parent, state, variable, age), (cores, looks, share, channel, name))| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a few looks"
            )]
            let seen = (share * looks as f64) as usize;
            Process {
                key: ProcessKey { pid: Pid(pid), ..ProcessKey::default() },
                parent: Pid(parent),
                group: Pid(parent),
                session: Pid(parent),
                state,
                role: gpuwhy_knowledge::role(name),
                name: name.to_owned(),
                command: Reading::Known(CommandLine::masked(["python3", "train.py"])),
                libraries: variable
                    .clone()
                    .map(|_| vec!["libcudart.so.13".to_owned(), "libtensorflow_cc.so.2".to_owned()]),
                environment: variable.map(|variable| {
                    let number = (pid % 3).to_string();
                    let of_a_job =
                        [("RANK", number.as_str()), ("WORLD_SIZE", "3"), ("CUDA_VISIBLE_DEVICES", "0,1,2")];
                    let variables = match variable {
                        Some("RANK") => &of_a_job[..],
                        Some(name) => &[(name, "0")][..],
                        None => &[],
                    };
                    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
                }),
                age: age.clone().map(Seconds),
                cpu_time: age.map(|age| Seconds(age * share)),
                cores: cores.map(Cores),
                thread_count: 1,
                states: StateShares {
                    n: looks,
                    running: (1.0 - share) / 2.0,
                    blocked: share,
                    sleeping: (1.0 - share) / 2.0,
                },
                wait_channels: vec![WaitChannel { name: channel.to_owned(), seen }],
                ..Process::default()
            }
        })
        .boxed()
}

fn stuck_call() -> impl Strategy<Value = StuckCall> {
    (any::<bool>(), any::<bool>(), prop::option::of(0_u32..4)).prop_map(|(has_name, survived_kill, card)| {
        StuckCall {
            pid: Pid(500),
            start_ticks: 1,
            call: has_name.then(|| "nvmlInit_v2".to_owned()),
            card,
            for_s: 3.0,
            from_earlier_run: !has_name,
            survived_kill,
            has_returned: false,
            may_be_waking: false,
            state: Reading::Known(ProcessState::Blocked),
            wait_channel: Reading::Unsupported,
        }
    })
}

/// A machine with any driver, services and holders around the cards.
fn scene() -> BoxedStrategy<Scene> {
    let codes = prop_oneof![Just(4_u32), Just(9), Just(17), Just(18), Just(999)];
    let library = prop_oneof![
        3 => Just(Reading::Known(())),
        1 => codes.prop_map(|code| Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code })),
    ];
    let holders = vec((90_u32..110, 0_u32..4), 0..4).prop_map(|holders| {
        let holder = |(pid, card): (u32, u32)| DeviceHolder {
            pid: Pid(pid),
            start_ticks: 1,
            devices: vec![format!("/dev/nvidia{card}"), "/dev/nvidia-uvm".to_owned()],
        };
        holders.into_iter().map(holder).collect::<Vec<_>>()
    });
    let services = (reading(any::<bool>()), reading(any::<bool>())).prop_map(|(installed, running)| {
        let named = |name: &str| Service {
            name: name.to_owned(),
            installed: installed.clone(),
            running: running.clone(),
            version: Reading::Known("570.124.06".to_owned()),
            failed: false,
        };
        vec![named("nvidia-fabricmanager"), named("nvidia-persistenced")]
    });
    (
        plain_scene(),
        (library, reading(Just("docker".to_owned())), reading(holders), reading(services)),
        (reading(0_u64..20_000), reading(0_u64..3), reading(Just("12.4".to_owned())), any::<bool>()),
    )
        .prop_map(|(mut scene, (library, container, holders, services), (init, switches, cuda, is_root))| {
            scene.device_holders = holders;
            let machine = &mut scene.machine;
            machine.driver.library = library;
            machine.driver.init_ms = init;
            machine.driver.cuda_version = cuda;
            machine.driver.module = Reading::Known("570.124.04".to_owned());
            machine.driver.library_files = Reading::Known(vec!["libcuda.so.570.124.06".to_owned()]);
            machine.container = container;
            machine.device_files = Reading::Known(vec!["nvidia0".to_owned()]);
            machine.services = services;
            machine.nvswitches = switches;
            machine.viewer.uid = Reading::Known(if is_root { 0 } else { 1000 });
            scene
        })
        .boxed()
}

fn plain_scene() -> BoxedStrategy<Scene> {
    let cards = (0_u32..5).prop_flat_map(|number| (0..number).map(card).collect::<Vec<_>>());
    let processes = (90_u32..106).prop_flat_map(|end| (90..end).map(process).collect::<Vec<_>>());
    let xid = |pci_address: &str, number| {
        let pci_address = pci_address.to_owned();
        let (pid, name, caused_by, is_fatal, recovery) = (None, None, None, None, None);
        Just(Some(KernelFact::Xid { pci_address, number, pid, name, caused_by, is_fatal, recovery }))
    };
    let fact = prop_oneof![xid("0000:01:00.0", 79), xid("0000:02:00.0", 119), Just(None)];
    (
        (cards, processes, reading(vec(fact, 0..3)), vec(stuck_call(), 0..2)),
        (
            prop_oneof![Just(0.0_f64), Just(5.0), Just(60.0)],
            reading(Just(())),
            reading(vec(0_u32..4, 0..4)),
            any::<bool>(),
        ),
    )
        .prop_map(|((cards, processes, facts, stuck), (span_s, library, bus, initial))| {
            let mut scene = Scene {
                window: Window { span_s, samples: if span_s > 0.0 { 11 } else { 1 }, ..Window::default() },
                workloads: workloads(&cards, &processes),
                cards,
                processes,
                events: facts.map(|facts| {
                    facts.into_iter().map(|fact| KernelLine { fact, ..KernelLine::default() }).collect()
                }),
                ..Scene::default()
            };
            scene.machine.driver.library = library;
            scene.machine.driver.stuck_calls = stuck;
            scene.machine.driver.card_count = Reading::Known(1);
            scene.machine.viewer.initial_pid_namespace = Reading::Known(initial);
            scene.machine.pci_cards = bus.map(|places| {
                let device = |place: u32| PciDevice {
                    address: format!("0000:{place:02x}:00.0"),
                    vendor: PciDevice::NVIDIA,
                    class: 0x03_0200,
                    driver: Reading::Known("nvidia".to_owned()),
                    answers: Reading::Known(place.is_multiple_of(2)),
                    ..PciDevice::default()
                };
                places.into_iter().map(device).collect()
            });
            scene
        })
        .boxed()
}

fn workloads(cards: &[Card], processes: &[Process]) -> Vec<Workload> {
    processes
        .iter()
        .filter_map(|process| {
            let pid = process.key.pid;
            let holds = |card: &&Card| card.known_clients().iter().any(|client| client.pid == pid);
            let cards: Vec<u32> = cards.iter().filter(holds).map(|card| card.index).collect();
            (!cards.is_empty()).then(|| Workload {
                root: pid,
                processes: vec![pid],
                gpu_processes: vec![pid],
                cards,
            })
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_verdict_keeps_its_contract(scene in scene()) {
        let limits = Limits::default();
        let verdict = diagnose(&scene, &limits);
        prop_assert_eq!(&verdict, &diagnose(&scene, &limits));
        prop_assert!(!verdict.notes.iter().any(|note| note.id == "diagnose.note_broken_rule"));

        prop_assert!(!verdict.findings.is_empty());
        for finding in verdict.findings.iter().chain(&verdict.candidates) {
            prop_assert!((0.0..=1.0).contains(&finding.confidence));
            prop_assert!(finding.cards.is_sorted());
        }
        for candidate in &verdict.candidates {
            prop_assert!(candidate.confidence < 0.5);
        }
        let alone = |cause: Cause| verdict.findings.iter().all(|finding| finding.cause != cause) || verdict.findings.len() == 1;
        prop_assert!(alone(Cause::NothingWrong) && alone(Cause::Undetermined));

        // Explained findings come last; before them faults come first.
        let explained: Vec<usize> = verdict.explained.iter().map(|pair| pair.finding).collect();
        let first_explained = explained.iter().copied().min().unwrap_or(verdict.findings.len());
        prop_assert_eq!(verdict.findings.len() - first_explained, explained.len());
        for pair in &verdict.explained {
            prop_assert!(pair.by < first_explained, "{:?}", verdict.explained);
        }
        let is_fault: Vec<bool> =
            verdict.findings[..first_explained].iter().map(|finding| finding.severity != Severity::Fault).collect();
        prop_assert!(is_fault.is_sorted());

        // Every whole card is listed, and its findings speak of it.
        let whole: Vec<u32> = scene.cards.iter().filter(|card| card.parent.is_none()).map(|card| card.index).collect();
        if !scene.cards.is_empty() {
            let listed: Vec<u32> = verdict.cards.iter().map(|card| card.index).collect();
            prop_assert_eq!(listed, whole);
        }
        for card in &verdict.cards {
            for place in &card.findings {
                prop_assert!(verdict.findings[*place].cards.contains(&card.index));
            }
        }
    }

    #[test]
    fn a_short_look_is_never_sure_of_a_rate(scene in scene()) {
        let once = Scene { window: Window { span_s: 0.0, samples: 1, ..scene.window }, ..scene };
        let verdict = diagnose(&once, &Limits::default());
        for finding in &verdict.findings {
            if matches!(
                finding.cause,
                Cause::StarvedByStorage
                    | Cause::StarvedByCpu
                    | Cause::LaunchBound
                    | Cause::LowSmOccupancy
                    | Cause::CommBound
                    | Cause::CollectiveHang
                    | Cause::SlowGpuOutlier
            ) {
                prop_assert!(finding.confidence <= 0.8);
            }
        }
    }
}
