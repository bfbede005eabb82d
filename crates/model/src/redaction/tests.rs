use std::collections::BTreeMap;

use super::Redactor;
use crate::action::{Action, Fix, FixClass, SubjectKind, Target};
use crate::cause::Cause;
use crate::command_line::CommandLine;
use crate::evidence::{Evidence, EvidenceSource, Value};
use crate::input::TextRead;
use crate::process::Pid;
use crate::reading::{Absence, Access, Failure, Reading};
use crate::scene::{Card, ClusterNode, Job, Process, Scene, SourceKind};
use crate::signal::{Reader, Signal};
use crate::text::{Arg, Text};
use crate::units::Unit;
use crate::verdict::{
    AskNext, BlindSpot, CardState, CardVerdict, Culprit, Finding, Impact, Severity, Subject, Verdict,
};

const UUID: &str = "GPU-5d1c7a52-9f0e-4a77-b1a3-0a1f6f1f2c02";
const CONTAINER: &str = "4f1ca7e2b3d94f1ca7e2b3d94f1ca7e2b3d94f1ca7e2b3d94f1ca7e2b3d90123";

fn known<T>(value: T) -> Reading<T> {
    Reading::Known(value)
}

fn scene() -> Scene {
    let mut scene = Scene::default();
    scene.machine.hostname = known("gpu7.acme.com".to_owned());
    scene.cards = vec![Card { uuid: known(UUID.to_owned()), ..Card::default() }];
    scene.processes = vec![Process {
        user: known("alice".to_owned()),
        executable: known("/usr/bin/python3".to_owned()),
        ..Process::default()
    }];
    scene.processes[0].owner.container = Some(CONTAINER.to_owned());
    scene.jobs = vec![Job {
        id: "8841".to_owned(),
        name: known("secret-project".to_owned()),
        user: known("bob".to_owned()),
        account: known("lab-x".to_owned()),
        ..Job::default()
    }];
    scene.cluster = vec![ClusterNode { name: "node01".to_owned(), ..ClusterNode::default() }];
    scene
}

#[test]
fn names_are_replaced_alike_and_everything_else_stays() {
    let mut redactor = Redactor::of(&scene());
    for (text, redacted) in [
        ("alice and bob, not alicee or bobby", "user-1 and user-2, not alicee or bobby"),
        ("bob-train on gpu7, gpu7.acme.com:", "user-2-train on host-1, host-1:"),
        ("NodeList=node[01-04] node01 node02", "NodeList=host-2 host-3 node02"),
        ("waits behind node[01,07]", "waits behind host-4"),
        (
            "UserId=carol(1001) JobName=secret-project JobId=8841",
            "UserId=user-3(1001) JobName=job-1 JobId=8841",
        ),
        (r#"{"user": "dave", "account": "lab-x"}"#, r#"{"user": "user-4", "account": "account-1"}"#),
        ("alice@gpu7:~/work$", "user-1@host-1:path-1$"),
        ("mail erin@acme.com", "mail user-5@host-5"),
        (
            "10.1.2.3:29500, fe80::1ff:fe23:4567:890a, aa:bb:cc:dd:ee:0f",
            "address-1:29500, address-2, address-3",
        ),
        ("File \"/home/alice/x.py\", line 3", "File \"path-2\", line 3"),
        ("/home/alice/x.py:12: error", "path-2:12: error"),
        ("nas1:/export/data", "host-6:path-3"),
        ("s3://bucket/key?token=x see https://pytorch.org/docs", "s3://url-1 see https://pytorch.org/docs"),
        ("GPU 0: A100 (UUID: GPU-5D1C7A52-9f0e-4a77-b1a3-0a1f6f1f2c02)", "GPU 0: A100 (UUID: uuid-1)"),
        ("Serial: 1320220051234", "Serial: serial-1"),
        ("container 4f1ca7e2b3d9", "container container-1"),
        (
            "Nov 30 10:00:00 gpu9 kernel: NVRM: Xid (PCI:0000:65:00): 79",
            "Nov 30 10:00:00 host-7 kernel: NVRM: Xid (PCI:0000:65:00): 79",
        ),
        (
            "as root: /usr/bin/python3 on /dev/nvidia0, driver 580.95.05",
            "as root: /usr/bin/python3 on /dev/nvidia0, driver 580.95.05",
        ),
        ("用户 alice，路径 /data/x。", "用户 user-1，路径 path-4。"),
        ("", ""),
    ] {
        assert_eq!(redactor.text(text), redacted);
    }
}

#[test]
fn redacting_twice_changes_nothing() {
    let mut redactor = Redactor::of(&scene());
    let once = redactor.text("alice@gpu7 ran /home/alice/x.py for secret-project");
    assert_eq!(redactor.text(&once), once);
}

fn culprit() -> Culprit {
    Culprit {
        process: None,
        pid: Some(Pid(4242)),
        user: Some("alice".to_owned()),
        command: Some(CommandLine::masked([
            "python",
            "/home/alice/proj/train.py",
            "--data",
            "sets/secret-project",
            "--job-name",
            "moonshot",
            "--host=gpu7",
        ])),
        name: Some("train.py".to_owned()),
        container: Some(CONTAINER.to_owned()),
        pod: Some("moonshot-0".to_owned()),
        job: Some("8841".to_owned()),
        unit: Some("alice.service".to_owned()),
        session: Some("7".to_owned()),
        notebook: Some("/home/alice/moonshot.ipynb".to_owned()),
        remark: Some(Text::plain("x").with("user", "alice".into())),
    }
}

/// Every field that can hold a name holds some.
fn verdict() -> Verdict {
    const RAW: &str = "alice on gpu7 ran /home/alice/moonshot.py for bob";
    let text = || {
        Text::plain("x")
            .with("raw", RAW.into())
            .with("list", Arg::List(vec![RAW.to_owned()]))
            .with("inner", Text::plain("y").with("raw", RAW.into()).into())
    };
    let evidence = || Evidence {
        signal: Signal::GpuBusy,
        value: Value::Text(RAW.to_owned()),
        unit: Unit::Text,
        normal: None,
        source: EvidenceSource { reader: Reader::Nvml, n: None, span_s: None },
        text: text(),
    };
    let finding = Finding {
        cause: Cause::IdleReserved,
        confidence: 0.9,
        severity: Severity::Warn,
        subject: Subject { kind: SubjectKind::Node, id: "gpu7".to_owned(), name: "gpu7.acme.com".to_owned() },
        cards: vec![0],
        impact: Impact::default(),
        culprits: vec![culprit()],
        summary: text(),
        evidence: vec![evidence()],
        against: vec![evidence()],
        fixes: vec![Fix {
            action: Action::LookAgain,
            class: FixClass::Shown,
            targets: vec![
                Target { kind: SubjectKind::Job, id: "secret-project".to_owned() },
                Target { kind: SubjectKind::Card, id: UUID.to_owned() },
            ],
            command: Some(RAW.to_owned()),
            summary: text(),
        }],
        detail: BTreeMap::from([("path".to_owned(), RAW.to_owned())]),
    };
    let spot = |why| BlindSpot { signal: Signal::GpuBusy, why, causes: Vec::new() };
    let path = || "/home/alice/moonshot".to_owned();
    Verdict {
        source: SourceKind::Text,
        taken_at: jiff::Timestamp::UNIX_EPOCH,
        window_s: 0.0,
        candidates: vec![finding.clone()],
        findings: vec![finding],
        cards: vec![CardVerdict {
            index: 0,
            unnumbered: None,
            uuid: Some(UUID.to_owned()),
            name: Some("NVIDIA A100".to_owned()),
            state: CardState::Held,
            holders: vec![culprit()],
            findings: vec![0],
            is_undecided: false,
        }],
        explained: Vec::new(),
        ruled_out: Vec::new(),
        blind_spots: vec![
            spot(Absence::Denied(Access::DeviceFile(path()))),
            spot(Absence::Failed(Failure::Missing { path: path() })),
            spot(Absence::Failed(Failure::Io { path: path(), error: RAW.to_owned() })),
            spot(Absence::Failed(Failure::Syntax { path: path(), line: 1, expected: RAW.to_owned() })),
            spot(Absence::Failed(Failure::LibraryNotLoaded { error: RAW.to_owned() })),
            spot(Absence::Failed(Failure::Implausible { value: RAW.to_owned() })),
        ],
        ask_next: Some(AskNext { command: "ssh alice@gpu7 gpuwhy".to_owned(), separates: Vec::new() }),
        limits_changed: Vec::new(),
        notes: vec![text(), Text::plain("x").with("name", "alice moonshot notes.txt".into())],
        inputs: vec![TextRead { name: "alice moonshot notes.txt".to_owned(), ..TextRead::default() }],
    }
}

#[test]
fn nothing_leaks_out_of_any_field_of_an_answer() {
    let mut redactor = Redactor::of(&scene());
    let redacted = redactor.verdict(verdict());
    let shown = format!("{redacted:?}");
    for name in
        ["alice", "bob", "gpu7", "acme", "moonshot", "secret", "5d1c7a52", "4f1ca7e2b3d9", "/home", "proj"]
    {
        assert!(!shown.contains(name), "{name} in {shown}");
    }
    for kept in ["NVIDIA A100", "8841", "4242", "train.py", "gpuwhy"] {
        assert!(shown.contains(kept), "{kept} in {shown}");
    }
    let culprit = &redacted.findings[0].culprits[0];
    assert_eq!(culprit.user.as_deref(), Some("user-1"));
    assert_eq!(redacted.cards[0].holders[0].user.as_deref(), Some("user-1"));
    assert_eq!(redacted.findings[0].subject.id, redacted.findings[0].subject.name);
    assert_eq!(redacted.notes[1].args["name"], Arg::Raw(redacted.inputs[0].name.clone()));
}
