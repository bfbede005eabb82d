use super::{Disagreement, merge};
use crate::process::{Pid, ProcessKey};
use crate::reading::{Failure, Reading};
use crate::sample::TimedValue;
use crate::sample::{CardMemory, ClientKind, KernelLine};
use crate::scene::{Card, Client, Job, Process, Scene, Scheduler, UnplacedClient};
use crate::trend::Trend;
use crate::units::{Bytes, Percent};

fn card(index: u32, change: impl FnOnce(&mut Card)) -> Card {
    let mut card = Card { index, ..Card::default() };
    change(&mut card);
    card
}

fn scene(cards: Vec<Card>) -> Scene {
    Scene { cards, ..Scene::default() }
}

fn client(pid: u32, memory: Reading<Bytes>, name: Reading<String>) -> Client {
    Client {
        pid: Pid(pid),
        kind: ClientKind::Compute,
        memory,
        memory_trend: Reading::default(),
        name,
        sm: Reading::default(),
        idle_for: Reading::default(),
        seen_working: false,
    }
}

fn memory(used: u64) -> Reading<CardMemory> {
    let amount = |mebibytes| Bytes(mebibytes << 20);
    Reading::Known(CardMemory {
        total: amount(1000),
        reserved: Reading::default(),
        used: amount(used),
        free: amount(1000 - used),
    })
}

#[test]
fn what_one_part_does_not_say_another_may() {
    let one = scene(vec![card(0, |card| card.memory = memory(300))]);
    let mut other = scene(vec![card(0, |card| {
        card.clients = Reading::Known(vec![client(7, Reading::Known(Bytes(100 << 20)), Reading::default())]);
        card.persistence = Reading::Known(true);
    })]);
    other.processes =
        vec![Process { key: ProcessKey { pid: Pid(7), ..ProcessKey::default() }, ..Process::default() }];
    let scene = merge([one, other]).scene;
    assert_eq!(scene.cards.len(), 1);
    assert_eq!(scene.cards[0].persistence, Reading::Known(true));
    assert_eq!(scene.cards[0].unexplained, Reading::Known(Bytes(200 << 20)), "follows from both");
    assert_eq!(scene.workloads[0].gpu_processes, [Pid(7)], "follows from both");
}

#[test]
fn processes_find_the_card_that_another_part_names() {
    let on = |uuid: Option<&str>, pid| UnplacedClient {
        card_uuid: uuid.map(str::to_owned),
        card_address: None,
        client: client(pid, Reading::Known(Bytes(100 << 20)), Reading::default()),
    };
    let of = |unplaced| Scene { unplaced_clients: unplaced, ..Scene::default() };
    let named = |index, uuid: &str| card(index, |card| card.uuid = Reading::Known(uuid.to_owned()));
    let cards = scene(vec![named(0, "GPU-a"), named(1, "GPU-b")]);
    let pids = |scene: &Scene| -> Vec<Vec<u32>> {
        scene
            .cards
            .iter()
            .map(|card| card.known_clients().iter().map(|client| client.pid.0).collect())
            .collect()
    };
    let merged = merge([of(vec![on(Some("GPU-B"), 7), on(None, 8)]), cards]).scene;
    assert_eq!(pids(&merged), [vec![], vec![7]]);
    assert_eq!(merged.unplaced_clients.len(), 1, "which card is not said");
    let only = merge([of(vec![on(None, 8)]), scene(vec![card(0, |card| card.memory = memory(300))])]).scene;
    assert_eq!(pids(&only), [vec![8]]);
    assert_eq!(only.cards[0].unexplained, Reading::Known(Bytes(200 << 20)));
    let alone = merge([of(vec![on(Some("GPU-c"), 9), on(Some("GPU-d"), 10)])]).scene;
    assert_eq!((pids(&alone), alone.cards[1].index), (vec![vec![9], vec![10]], 1));
}

#[test]
fn cards_are_told_by_what_is_unique() {
    let one = scene(vec![
        card(0, |card| card.pci_address = Reading::Known("0000:01:00.0".to_owned())),
        card(1, |card| card.pci_address = Reading::Known("0000:02:00.0".to_owned())),
    ]);
    // Another tool counts from another end.
    let other = scene(vec![
        card(0, |card| {
            card.pci_address = Reading::Known("0000:02:00.0".to_owned());
            card.persistence = Reading::Known(false);
        }),
        card(7, |card| card.pci_address = Reading::Known("0000:09:00.0".to_owned())),
    ]);
    let cards = merge([one, other]).scene.cards;
    assert_eq!(cards.iter().map(|card| card.index).collect::<Vec<_>>(), [0, 1, 7]);
    assert_eq!(cards[1].persistence, Reading::Known(false));
    assert!(cards[0].persistence.is_not_in_source());
}

#[test]
fn clients_are_joined_by_their_numbers() {
    let one = scene(vec![card(0, |card| {
        card.clients =
            Reading::Known(vec![client(7, Reading::Unsupported, Reading::Known("python".to_owned()))]);
    })]);
    let other = scene(vec![card(0, |card| {
        let known = Reading::Known(Bytes(5));
        card.clients = Reading::Known(vec![
            client(8, known.clone(), Reading::default()),
            client(7, known, Reading::default()),
        ]);
    })]);
    let scene = merge([one, other]).scene;
    let clients = scene.cards[0].known_clients();
    assert_eq!(clients.iter().map(|client| client.pid.0).collect::<Vec<_>>(), [7, 8]);
    assert_eq!(clients[0].memory, Reading::Known(Bytes(5)));
}

#[test]
fn a_value_beats_a_reason_but_a_lost_card_stays_lost() {
    let lost = Reading::Failed(Failure::Nvml { call: "nvidia-smi".to_owned(), code: 15 });
    let one = scene(vec![card(0, |card| {
        card.handle = lost.clone();
        card.persistence = Reading::Unsupported;
    })]);
    let other = scene(vec![card(0, |card| {
        card.handle = Reading::Known(());
        card.persistence = Reading::Known(true);
    })]);
    for scenes in [[one.clone(), other.clone()], [other, one]] {
        let card = &merge(scenes).scene.cards[0];
        assert_eq!(card.handle, lost);
        assert_eq!(card.persistence, Reading::Known(true));
    }
}

#[test]
fn the_longer_trend_counts() {
    let trend = |values: &[f64]| {
        let series: Vec<TimedValue> = (1..)
            .zip(values)
            .map(|(second, value)| TimedValue { time_us: second * 1_000_000, value: *value })
            .collect();
        Reading::Known(Trend::<Percent>::of(&series).unwrap())
    };
    let one = scene(vec![card(0, |card| card.busy = trend(&[10.0, 20.0, 30.0]))]);
    let other = scene(vec![card(0, |card| card.busy = trend(&[99.0]))]);
    let busy = &merge([one, other]).scene.cards[0].busy;
    assert_eq!(busy.known().unwrap().n, 3);
}

#[test]
fn of_several_outputs_the_fullest_window_counts() {
    let part = |used: u64| scene(vec![card(0, |card| card.bar1 = memory(used))]);
    let merged = merge([part(700), part(980), part(100)]).scene;
    assert_eq!((&merged.cards[0].bar1, &merged.cards[0].bar1_most), (&memory(100), &memory(980)));
}

#[test]
fn what_cannot_change_is_named_where_it_differs() {
    let version = |version: &str| {
        let mut scene = Scene::default();
        scene.machine.driver.version = Reading::Known(version.to_owned());
        scene
    };
    let merged = merge([version("570.1"), version("570.1"), version("570.2")]);
    assert_eq!(merged.scene.machine.driver.version, Reading::Known("570.2".to_owned()));
    assert_eq!(
        merged.disagreements,
        [Disagreement {
            value: "machine.driver.version".to_owned(),
            earlier: "570.1".to_owned(),
            later: "570.2".to_owned()
        }]
    );
    let used = merge([300, 500].map(|used| scene(vec![card(0, |card| card.memory = memory(used))])));
    assert!(used.disagreements.is_empty(), "time went on");
    assert_eq!(used.scene.cards[0].memory, memory(500));
}

#[test]
fn all_that_was_said_counts_once() {
    let line =
        |boot_us: u64, text: &str| KernelLine { boot_us, text: text.to_owned(), ..KernelLine::default() };
    let log = |lines: Vec<KernelLine>| Scene { events: Reading::Known(lines), ..Scene::default() };
    let scene = merge([log(vec![line(5, "b")]), log(vec![line(1, "a"), line(5, "b")])]).scene;
    let texts: Vec<String> = scene.events.into_known().unwrap().into_iter().map(|line| line.text).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn a_pod_is_one_whether_its_namespace_is_said_or_not() {
    let part = |id: &str, node: Option<&str>| {
        let nodes = node.map(str::to_owned).into_iter().collect();
        let job = Job { id: id.to_owned(), scheduler: Scheduler::Kubernetes, nodes, ..Job::default() };
        Scene { jobs: vec![job], ..Scene::default() }
    };
    for parts in [
        [part("web-0", Some("n1")), part("ml/web-0", None)],
        [part("ml/web-0", Some("n1")), part("web-0", None)],
    ] {
        let jobs = merge(parts).scene.jobs;
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].id.as_str(), jobs[0].nodes.as_slice()), ("ml/web-0", &["n1".to_owned()][..]));
    }
    let two = merge([part("a/web-0", None), part("b/web-0", None), part("web-0", None)]);
    assert_eq!(two.scene.jobs.len(), 3, "whose it is is not known");
}

#[test]
fn nothing_and_one_part_stay_what_they_are() {
    assert_eq!(merge([]).scene, Scene::default());
    let one = scene(vec![card(3, |card| card.memory = memory(1))]);
    assert_eq!(merge([one.clone()]).scene, one);
}

#[test]
fn many_parts_are_joined_as_a_few_are() {
    let part = |pid: u32| Scene {
        processes: vec![Process {
            key: ProcessKey { pid: Pid(pid), ..ProcessKey::default() },
            ..Process::default()
        }],
        ..scene(vec![card(pid % 8, |card| card.persistence = Reading::Known(pid.is_multiple_of(2)))])
    };
    let merged = merge((0..100).map(part));
    assert_eq!((merged.scene.cards.len(), merged.scene.processes.len()), (8, 100));
    assert!(merged.disagreements.is_empty());
}

#[test]
fn a_name_that_is_cut_does_not_disagree_with_the_whole_one() {
    let named = |name: &str| scene(vec![card(0, |card| card.name = Reading::Known(name.to_owned()))]);
    for names in [["Some Card 80...", "Some Card 80GB"], ["Some Card 80GB", "Some Card 80..."]] {
        let merged = merge(names.map(named));
        assert_eq!(merged.scene.cards[0].name, Reading::Known("Some Card 80GB".into()));
        assert!(merged.disagreements.is_empty());
    }
    assert_eq!(merge(["Other ...", "Some Card 80GB"].map(named)).disagreements.len(), 1);
}

#[test]
fn memory_is_not_missed_behind_a_list_that_is_cut_off() {
    let cut = Failure::Syntax { path: "x".to_owned(), line: 0, expected: "the end".to_owned() };
    let listed = |unexplained: Reading<Bytes>| {
        scene(vec![card(0, |card| {
            card.memory = memory(300);
            card.clients =
                Reading::Known(vec![client(7, Reading::Known(Bytes(100 << 20)), Reading::default())]);
            card.unexplained = unexplained;
        })])
    };
    let of = |parts: Vec<Scene>| merge(parts).scene.cards.remove(0).unexplained;
    assert_eq!(of(vec![listed(cut.clone().into_reading())]), cut.clone().into_reading());
    let whole = Reading::Known(Bytes(200 << 20));
    assert_eq!(of(vec![listed(cut.into_reading()), listed(whole.clone())]), whole);
}

fn unnumbered(address: Option<&str>) -> Card {
    card(0, |card| {
        card.is_unnumbered = true;
        card.pci_address = address.map(str::to_owned).into();
    })
}

fn called(scene: &Scene) -> Vec<String> {
    scene.cards.iter().map(Card::called).collect()
}

#[test]
fn a_number_that_no_text_gives_stands_for_no_other_card() {
    let excerpt = scene(vec![unnumbered(Some("0000:a1:00.0"))]);
    let list = || {
        let addresses = ["0000:3b:00.0", "0000:a1:00.0"];
        scene(
            addresses
                .iter()
                .zip(0..)
                .map(|(address, index)| {
                    card(index, |card| card.pci_address = Reading::Known((*address).to_owned()))
                })
                .collect(),
        )
    };
    for parts in [[excerpt.clone(), list()], [list(), excerpt.clone()]] {
        let mut scene = merge(parts).scene;
        scene.cards.sort_by_key(|card| card.index);
        assert_eq!(called(&scene), ["0", "1"], "the list gives its number");
    }
    let other = scene(vec![card(0, |card| card.pci_address = Reading::Known("0000:3b:00.0".to_owned()))]);
    for parts in [[excerpt.clone(), other.clone()], [other, excerpt]] {
        assert_eq!(called(&merge(parts).scene), ["0", "0000:a1:00.0"]);
    }
}

#[test]
fn a_card_without_any_name_has_a_number_only_on_a_machine_with_one_card() {
    let excerpt = || scene(vec![unnumbered(None)]);
    let listed = |count: u32| {
        let mut scene = scene((0..count).map(|index| card(index, |_| {})).collect());
        scene.machine.driver.card_count = Reading::Known(count);
        scene
    };
    assert_eq!(called(&merge([excerpt()]).scene), ["N"]);
    assert_eq!(called(&merge([excerpt(), excerpt()]).scene), ["N"], "parts of one question");
    for parts in [[excerpt(), listed(1)], [listed(1), excerpt()]] {
        assert_eq!(called(&merge(parts).scene), ["0"]);
    }
    assert_eq!(called(&merge([listed(2), excerpt()]).scene), ["0", "1", "N"]);
}
