//! Verdicts of many kinds, written by hand.

use std::collections::BTreeMap;

use gpuwhy_model::action::{Action, Fix, FixClass, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::evidence::{Evidence, EvidenceSource};
use gpuwhy_model::input::TextRead;
use gpuwhy_model::limits::LimitChange;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Absence, Access, Failure};
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{
    AskNext, BlindSpot, CardState, CardVerdict, Culprit, Explained, Finding, Impact, RuledOut, Severity,
    Subject, Verdict,
};

const GIB: u64 = 1 << 30;

/// Returns every verdict with the name of its snapshot.
pub(crate) fn all() -> Vec<(&'static str, Verdict)> {
    vec![
        ("four_cards", four_cards()),
        ("nothing_wrong", nothing_wrong()),
        ("healthy_cards", healthy_cards()),
        ("no_gpu", no_gpu()),
        ("undetermined", undetermined()),
        ("lost_card_explains", lost_card_explains()),
        ("driver_hung", driver_hung()),
        ("driver_not_loaded", driver_not_loaded()),
        ("many_culprits", many_culprits()),
        ("hostile_names", hostile_names()),
        ("blind", blind()),
        ("recording", recording()),
        ("text_input", text_input()),
    ]
}

fn text(key: &str) -> Text {
    Text::plain(&format!("case.{key}"))
}

fn verdict(findings: Vec<Finding>, states: &[CardState]) -> Verdict {
    let card = |(index, state): (u32, &CardState)| CardVerdict {
        index,
        unnumbered: None,
        uuid: Some(format!("GPU-{index:08}-0000-0000-0000-000000000000")),
        name: Some("NVIDIA A100-SXM4-40GB".to_owned()),
        state: *state,
        holders: Vec::new(),
        is_undecided: false,
        findings: findings
            .iter()
            .enumerate()
            .filter(|(_, finding)| finding.cards.contains(&index))
            .map(|(place, _)| place)
            .collect(),
    };
    Verdict {
        source: SourceKind::Live,
        taken_at: "2026-11-30T10:00:05Z".parse().expect("written as RFC 3339"),
        window_s: 5.0,
        cards: (0..).zip(states).map(card).collect(),
        findings,
        candidates: Vec::new(),
        explained: Vec::new(),
        ruled_out: Vec::new(),
        blind_spots: Vec::new(),
        ask_next: None,
        limits_changed: Vec::new(),
        notes: Vec::new(),
        inputs: Vec::new(),
    }
}

fn finding(cause: Cause, confidence: f64, severity: Severity, cards: &[u32], summary: Text) -> Finding {
    let (kind, name) = match cards.first() {
        Some(card) => (SubjectKind::Card, card.to_string()),
        None => (SubjectKind::Node, "gpu-017".to_owned()),
    };
    Finding {
        cause,
        confidence,
        severity,
        subject: Subject { kind, id: name.clone(), name },
        cards: cards.to_vec(),
        impact: Impact::default(),
        culprits: Vec::new(),
        summary,
        evidence: Vec::new(),
        against: Vec::new(),
        fixes: Vec::new(),
        detail: BTreeMap::new(),
    }
}

fn culprit(pid: u32, user: &str, command: &[&str]) -> Culprit {
    Culprit {
        process: None,
        pid: Some(Pid(pid)),
        user: Some(user.to_owned()),
        command: Some(CommandLine::masked(command)),
        name: None,
        container: None,
        pod: None,
        job: None,
        unit: None,
        session: None,
        notebook: None,
        remark: None,
    }
}

fn fix(action: Action, class: FixClass, summary: Text) -> Fix {
    Fix { action, class, targets: Vec::new(), command: None, summary }
}

fn evidence(signal: Signal, source: EvidenceSource, text: Text) -> Evidence {
    Evidence { signal, value: 0_u64.into(), unit: Unit::Percent, normal: None, source, text }
}

fn starved() -> Finding {
    let mut found = finding(Cause::StarvedByStorage, 0.93, Severity::Warn, &[0, 1], text("storage"));
    found.culprits = vec![Culprit {
        job: Some("8841".to_owned()),
        ..culprit(3101, "alice", &["python", "/home/alice/train.py", "--data", "/data"])
    }];
    let samples = EvidenceSource::over(Reader::NvmlSamples, 30, 5.0);
    let threads = EvidenceSource::once(Reader::ProcTask);
    let busy = text("busy").with("share", Arg::Percent(31.0)).with("power", Arg::Percent(28.0));
    let blocked = text("blocked")
        .with("blocked", Arg::Count(12))
        .with("all", Arg::Count(12))
        .with("mount", Arg::Raw("nfs (/data)".to_owned()))
        .with("cores", Arg::Cores(0.4))
        .with("cpus", Arg::Count(16));
    found.evidence =
        vec![evidence(Signal::GpuBusy, samples, busy), evidence(Signal::WaitChannel, threads, blocked)];
    found.against = vec![evidence(Signal::ProcessIo, EvidenceSource::once(Reader::ProcPid), text("cached"))];
    found.fixes = vec![fix(
        Action::ImproveStorage,
        FixClass::Shown,
        text("pack").with("path", Arg::Raw("/data".to_owned())),
    )];
    found
}

fn dead(card: u32) -> Finding {
    let summary = text("dead").with("bytes", Arg::Bytes(33_500_954_624)).with("idle", Arg::Seconds(2400.0));
    let mut found = finding(Cause::VramHeldByDeadProcess, 0.97, Severity::Warn, &[card], summary);
    found.culprits = vec![Culprit { remark: Some(text("gone")), ..culprit(4242, "bob", &["python"]) }];
    found.evidence =
        vec![evidence(Signal::ParentAlive, EvidenceSource::once(Reader::ProcPid), text("parent_gone"))];
    let end = text("end")
        .with("pids", Arg::List(vec!["4242".to_owned()]))
        .with("bytes", Arg::Bytes(33_500_954_624));
    found.fixes = vec![
        Fix {
            targets: vec![Target { kind: SubjectKind::Process, id: "4242".to_owned() }],
            command: Some(format!("gpuwhy fix {card}")),
            ..fix(Action::Terminate, FixClass::Asks, end)
        },
        fix(Action::AskOwner, FixClass::Shown, text("ask_owner").with("user", Arg::Raw("bob".to_owned()))),
    ];
    found
}

fn saturated(card: u32) -> Finding {
    let mut found = finding(Cause::ComputeSaturated, 0.95, Severity::Ok, &[card], text("saturated"));
    found.culprits = vec![Culprit {
        pod: Some("chat-7f9".to_owned()),
        ..culprit(990, "serving", &["/opt/venv/bin/vllm", "serve", "llama"])
    }];
    found
}

fn ruled_out(cause: Cause, signal: Signal, card: Option<u32>) -> RuledOut {
    RuledOut { cause, signal, card }
}

fn blind_spot(signal: Signal, why: Absence, causes: &[Cause]) -> BlindSpot {
    BlindSpot { signal, why, causes: causes.to_vec() }
}

/// The example of the design: starved, held by a dead run, really busy; and free cards.
fn four_cards() -> Verdict {
    let mut verdict = verdict(
        vec![starved(), dead(2), saturated(3)],
        &[
            CardState::Busy,
            CardState::Busy,
            CardState::Held,
            CardState::Busy,
            CardState::Free,
            CardState::Free,
            CardState::Free,
        ],
    );
    verdict.ruled_out = vec![
        ruled_out(Cause::StarvedByCpu, Signal::ProcessCpu, Some(0)),
        ruled_out(Cause::StarvedByCpu, Signal::ProcessCpu, Some(1)),
        ruled_out(Cause::StarvedByHostCode, Signal::ThreadCpu, Some(0)),
        ruled_out(Cause::StarvedByHostCode, Signal::ThreadCpu, Some(1)),
        ruled_out(Cause::ThermalThrottle, Signal::ClockReasons, Some(0)),
        ruled_out(Cause::ThermalThrottle, Signal::ClockReasons, Some(1)),
        ruled_out(Cause::PowerThrottle, Signal::ClockReasons, Some(0)),
        ruled_out(Cause::PowerThrottle, Signal::ClockReasons, Some(1)),
        ruled_out(Cause::PcieDegraded, Signal::PcieLink, Some(0)),
        ruled_out(Cause::IdleReserved, Signal::ParentAlive, Some(2)),
        ruled_out(Cause::DriverHung, Signal::DriverCalls, None),
        ruled_out(Cause::GpuLost, Signal::CardCount, None),
    ];
    verdict.blind_spots =
        vec![blind_spot(Signal::ProcessIo, Absence::Denied(Access::RootOrOwner), &[Cause::StarvedByStorage])];
    verdict
}

fn nothing_wrong() -> Verdict {
    let mut verdict = verdict(
        vec![finding(Cause::NothingWrong, 0.9, Severity::Ok, &[], text("nothing"))],
        &[CardState::Busy, CardState::Free, CardState::Free],
    );
    verdict.notes = vec![text("slow_init").with("span", Arg::Seconds(20.3))];
    verdict
}

/// The answer about some cards only: one is free, one works, on one a notebook rests with its friends.
fn healthy_cards() -> Verdict {
    let mut verdict = verdict(
        vec![finding(Cause::NothingWrong, 0.9, Severity::Ok, &[1, 2, 3], text("nothing"))],
        &[CardState::Held, CardState::Free, CardState::Busy, CardState::Held],
    );
    let train = Culprit { job: Some("8841".to_owned()), ..culprit(3101, "alice", &["python", "train.py"]) };
    verdict.cards[2].holders = vec![train];
    verdict.cards[3].holders =
        (1..6).map(|number| culprit(number, &format!("user{number}"), &["jupyter"])).collect();
    verdict.cards[0].holders = vec![culprit(77, "dave", &["/opt/训练/serve"])];
    verdict
}

fn no_gpu() -> Verdict {
    verdict(vec![finding(Cause::Undetermined, 0.0, Severity::Note, &[], text("no_gpu"))], &[])
}

fn undetermined() -> Verdict {
    let mut verdict = verdict(
        vec![finding(Cause::Undetermined, 0.0, Severity::Note, &[], text("not_decided"))],
        &[CardState::Busy, CardState::Unknown],
    );
    verdict.ask_next = Some(AskNext {
        command: "sudo gpuwhy --for 60s".to_owned(),
        separates: vec![Cause::StarvedByStorage, Cause::StarvedByCpu],
    });
    verdict.blind_spots = vec![
        blind_spot(Signal::WaitChannel, Absence::Denied(Access::RootOrOwner), &[Cause::StarvedByStorage]),
        blind_spot(Signal::ProcessIo, Absence::Denied(Access::RootOrOwner), &[Cause::StarvedByStorage]),
        blind_spot(Signal::KernelLog, Absence::Denied(Access::KernelLog), &[Cause::GpuLost]),
    ];
    verdict
}

fn lost_card_explains() -> Verdict {
    let mut lost = finding(Cause::GpuLost, 0.98, Severity::Fault, &[1], text("lost"));
    let line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.";
    lost.evidence = vec![evidence(
        Signal::KernelLog,
        EvidenceSource::once(Reader::KernelLog),
        text("xid").with("line", Arg::Raw(line.to_owned())),
    )];
    lost.fixes = vec![fix(Action::Reboot, FixClass::Shown, text("reboot"))];
    let mut verdict = verdict(
        vec![
            lost,
            finding(
                Cause::DriverHung,
                0.6,
                Severity::Fault,
                &[1],
                text("hung").with("span", Arg::Seconds(4.0)),
            ),
        ],
        &[CardState::Free, CardState::Faulty],
    );
    verdict.explained = vec![Explained { by: 0, finding: 1 }];
    verdict
}

fn driver_hung() -> Verdict {
    let mut verdict = verdict(
        vec![finding(
            Cause::DriverHung,
            0.8,
            Severity::Fault,
            &[],
            text("hung").with("span", Arg::Seconds(130.0)),
        )],
        &[CardState::Free, CardState::Unknown, CardState::Unknown, CardState::Free],
    );
    verdict.blind_spots = vec![blind_spot(
        Signal::VramUsed,
        Absence::Failed(Failure::TimedOut { call: "nvmlDeviceGetMemoryInfo_v2".to_owned(), after_ms: 2000 }),
        &[Cause::VramFull],
    )];
    verdict
}

fn driver_not_loaded() -> Verdict {
    let mut found = finding(Cause::DriverNotLoaded, 0.95, Severity::Fault, &[], text("not_loaded"));
    found.fixes = vec![fix(Action::LoadDriver, FixClass::Shown, text("load"))];
    verdict(vec![found], &[])
}

fn many_culprits() -> Verdict {
    let summary = text("full").with("used", Arg::Bytes(39 * GIB)).with("total", Arg::Bytes(40 * GIB));
    let mut full = finding(Cause::VramFull, 0.85, Severity::Note, &[0, 1, 2, 3, 6], summary);
    full.culprits = (0..7)
        .map(|rank| culprit(5000 + rank, "alice", &["python", "-m", "torch.distributed.run"]))
        .chain([
            Culprit {
                container: Some("0123456789abcdef".repeat(4)),
                ..culprit(61, "root", &["/usr/bin/tritonserver"])
            },
            Culprit { command: None, name: Some("jupyter-lab".to_owned()), ..culprit(62, "carol", &[]) },
            Culprit { command: None, ..culprit(63, "dave", &[]) },
            culprit(64, "erin", &["x"]),
        ])
        .collect();
    let mut verdict = verdict(vec![full], &[CardState::Busy; 8]);
    verdict.limits_changed =
        vec![LimitChange { limit: "full_memory_share_min".to_owned(), built_in: 0.95, value: 0.9 }];
    verdict
}

fn hostile_names() -> Verdict {
    let summary = text("idle").with("bytes", Arg::Bytes(20 * GIB)).with("idle", Arg::Seconds(93_700.0));
    let mut found = finding(Cause::IdleReserved, 0.9, Severity::Warn, &[0], summary);
    found.culprits = vec![culprit(7, "eve\u{202e}root", &["\u{1b}[2J\u{1b}]0;owned\u{7}x y\nz"])];
    found.fixes = vec![fix(
        Action::AskOwner,
        FixClass::Shown,
        text("ask_owner").with("user", Arg::Raw("eve\u{202e}root\u{9b}31m".to_owned())),
    )];
    verdict(vec![found], &[CardState::Held])
}

fn blind() -> Verdict {
    let mut verdict = verdict(vec![saturated(0)], &[CardState::Busy]);
    let failed = |failure| Absence::Failed(failure);
    verdict.blind_spots = vec![
        blind_spot(Signal::ProcessList, Absence::Denied(Access::VisibleProcesses), &[Cause::VramFull]),
        blind_spot(Signal::PciCards, Absence::Denied(Access::MountedSys), &[Cause::GpuLost]),
        blind_spot(
            Signal::CardAnswers,
            Absence::Denied(Access::DeviceFile("/dev/nvidia0".to_owned())),
            &[Cause::GpuLost],
        ),
        blind_spot(Signal::Temperature, Absence::Unsupported, &[]),
        blind_spot(Signal::BlockDelay, Absence::Unsupported, &[Cause::StarvedByStorage]),
        blind_spot(Signal::GpuBusyShape, failed(Failure::TooFewSamples), &[Cause::StarvedByStorage]),
        blind_spot(Signal::ThreadCpu, failed(Failure::TooFewSamples), &[Cause::StarvedByCpu]),
        blind_spot(
            Signal::DriverLibrary,
            failed(Failure::LibraryNotLoaded {
                error: "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
                    .to_owned(),
            }),
            &[Cause::GpuLost],
        ),
        blind_spot(Signal::Power, failed(Failure::Implausible { value: "588 W".to_owned() }), &[]),
        blind_spot(
            Signal::PcieLink,
            failed(Failure::Nvml { call: "nvmlDeviceGetCurrPcieLinkWidth".to_owned(), code: 15 }),
            &[],
        ),
        blind_spot(
            Signal::Mounts,
            failed(Failure::Missing { path: "/proc/self/mountinfo".to_owned() }),
            &[Cause::StarvedByStorage],
        ),
    ];
    verdict
}

fn recording() -> Verdict {
    Verdict { source: SourceKind::Recording, ..nothing_wrong() }
}

fn text_input() -> Verdict {
    let mut verdict = verdict(
        vec![finding(Cause::Undetermined, 0.0, Severity::Note, &[], text("not_decided"))],
        &[CardState::Held, CardState::Held, CardState::Free],
    );
    verdict.source = SourceKind::Text;
    verdict.window_s = 0.0;
    verdict.ask_next = Some(AskNext {
        command: "gpuwhy".to_owned(),
        separates: vec![Cause::StarvedByStorage, Cause::IdleReserved],
    });
    verdict.blind_spots = vec![
        blind_spot(Signal::ProcessState, Absence::Failed(Failure::NotInSource), &[Cause::StarvedByStorage]),
        blind_spot(Signal::KernelLog, Absence::Failed(Failure::NotInSource), &[Cause::GpuLost]),
    ];
    let mut paste = TextRead { name: "paste.txt".to_owned(), ..TextRead::default() };
    paste.add_output("nvidia-smi", 3, 41);
    paste.add_output("ps", 44, 60);
    paste.not_understood.add(1, 2);
    verdict.inputs = vec![paste, TextRead { name: "notes.md".to_owned(), ..TextRead::default() }];
    verdict
}
