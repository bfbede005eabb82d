//! Narrows an answer to one card, process or user.

use std::collections::BTreeSet;

use gpuwhy_diagnose::diagnose;
use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Card, Process, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::{AskNext, Explained, Finding, Subject as Target, Verdict};
use gpuwhy_render::message;

use crate::arguments::SubjectOptions;
use crate::failure::Failure;

/// What an answer is to be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The card with this index.
    Card(u32),
    /// The cards of this process.
    Process(Pid),
    /// The cards of this user, by name or number.
    User(String),
}

impl Subject {
    /// Returns what was asked for on the command line.
    pub(crate) fn asked_for(options: &SubjectOptions) -> Option<Self> {
        (options.card.or(options.gpu).map(Self::Card))
            .or_else(|| options.pid.map(|pid| Self::Process(Pid(pid))))
            .or_else(|| options.user.clone().map(Self::User))
    }
}

/// The text that says of anything that nothing is wrong with it.
const NOTHING_IS_WRONG: &str = "nothing-wrong.summary";
/// The text that says of all cards of a machine that they are free.
const ALL_ARE_FREE: &str = "nothing-wrong.summary_free";

/// Returns the part of a verdict that is about the subject's cards, and about the machine as a whole.
///
/// # Errors
/// Fails when the scene has no such card, or no such process or user on a card.
pub(crate) fn narrow(
    verdict: Verdict,
    scene: &Scene,
    limits: &Limits,
    subject: &Subject,
) -> Result<Verdict, Failure> {
    if !can_tell(&verdict, scene, subject) {
        // What was found about the machine is the answer for each of its cards, processes and users.
        return Ok(verdict);
    }
    let cards = cards_of(&verdict, scene, subject);
    if cards.is_empty() {
        return Err(missing(&verdict, scene, subject));
    }
    let narrowed = restrict(verdict, &cards);
    if narrowed.findings.iter().any(|finding| !stands_alone(finding.cause)) {
        return Ok(narrowed);
    }
    // Nothing was found about these cards: they alone are judged anew.
    let mut anew = restrict(diagnose(&scene_of(scene, &cards), limits), &cards);
    for finding in &mut anew.findings {
        speak_of_cards(finding, scene, &cards);
    }
    for card in &mut anew.cards {
        let findings = anew.findings.iter().enumerate();
        let about_it = findings.filter(|(_, finding)| finding.cards.contains(&card.index));
        card.findings = about_it.map(|(place, _)| place).collect();
    }
    Ok(anew)
}

/// Returns whether enough was seen to say which cards are the subject's.
fn can_tell(verdict: &Verdict, scene: &Scene, subject: &Subject) -> bool {
    match subject {
        Subject::Card(_) => !verdict.cards.is_empty(),
        Subject::Process(_) | Subject::User(_) => {
            let any_is_found = !cards_of(verdict, scene, subject).is_empty();
            let all_were_seen = scene.cards.iter().all(|card| card.clients.is_known());
            any_is_found || (all_were_seen && !scene.cards.is_empty())
        }
    }
}

/// Makes a finding about a machine that seemed to have only these cards one about the cards.
fn speak_of_cards(finding: &mut Finding, scene: &Scene, cards: &BTreeSet<u32>) {
    if finding.subject.kind != SubjectKind::Node || !stands_alone(finding.cause) {
        return;
    }
    let Some(first) = cards.first() else {
        return;
    };
    let uuid = scene.card(*first).and_then(|card| card.uuid.known().cloned());
    let name = scene.card(*first).map_or_else(|| first.to_string(), Card::called);
    finding.subject = Target { kind: SubjectKind::Card, id: uuid.unwrap_or_else(|| name.clone()), name };
    finding.cards = cards.iter().copied().collect();
    if finding.summary.id == ALL_ARE_FREE {
        // Not of all cards of the machine.
        finding.summary = Text::plain(NOTHING_IS_WRONG);
    }
    // How many cards the machine has was not looked at.
    finding.evidence.retain(|seen| !matches!(seen.signal, Signal::PciCards | Signal::CardCount));
}

/// Returns whether a cause is the whole answer where it is given.
fn stands_alone(cause: Cause) -> bool {
    matches!(cause, Cause::NothingWrong | Cause::Undetermined)
}

fn restrict(mut verdict: Verdict, cards: &BTreeSet<u32>) -> Verdict {
    let mut new_places: Vec<Option<usize>> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    for mut finding in verdict.findings {
        let is_about_them = finding.cards.is_empty() || finding.cards.iter().any(|card| cards.contains(card));
        new_places.push(is_about_them.then_some(findings.len()));
        if !is_about_them {
            continue;
        }
        // A job is one thing over all its cards; that nothing is wrong is said of each card for itself.
        if stands_alone(finding.cause) {
            finding.cards.retain(|card| cards.contains(card));
        }
        findings.push(finding);
    }
    let new_place = |place: usize| new_places.get(place).copied().flatten();
    verdict.findings = findings;
    verdict
        .candidates
        .retain(|finding| finding.cards.is_empty() || finding.cards.iter().any(|card| cards.contains(card)));
    verdict.explained = (verdict.explained.into_iter())
        .filter_map(|explained| {
            Some(Explained { by: new_place(explained.by)?, finding: new_place(explained.finding)? })
        })
        .collect();
    verdict.cards.retain(|card| cards.contains(&card.index));
    for card in &mut verdict.cards {
        card.findings = card.findings.iter().filter_map(|place| new_place(*place)).collect();
    }
    verdict.ruled_out.retain(|out| out.card.is_none_or(|card| cards.contains(&card)));
    verdict.notes.retain(|note| is_for(note, cards));
    verdict.ask_next = verdict.ask_next.and_then(|ask| {
        let kept = verdict.candidates.iter().chain(&verdict.findings);
        let open = |cause: &Cause| kept.clone().any(|finding| finding.cause == *cause);
        let separates: Vec<Cause> = ask.separates.into_iter().filter(open).collect();
        let is_undetermined = verdict.findings.iter().any(|finding| finding.cause == Cause::Undetermined);
        (is_undetermined || !separates.is_empty()).then_some(AskNext { separates, ..ask })
    });
    verdict
}

/// Returns whether a remark is about one of these cards, or about no card.
fn is_for(note: &Text, cards: &BTreeSet<u32>) -> bool {
    let named: Vec<u32> = match note.args.get("cards").or_else(|| note.args.get("card")) {
        None => return true,
        Some(Arg::Count(card)) => u32::try_from(*card).into_iter().collect(),
        Some(Arg::Raw(card)) => card.parse().into_iter().collect(),
        Some(Arg::List(cards)) => cards.iter().filter_map(|card| card.parse().ok()).collect(),
        Some(_) => Vec::new(),
    };
    named.is_empty() || named.iter().any(|card| cards.contains(card))
}

/// Returns the scene as it would be if the machine had only these cards.
fn scene_of(scene: &Scene, cards: &BTreeSet<u32>) -> Scene {
    let mut scene = scene.clone();
    let is_chosen = |index: u32, parent: Option<u32>| cards.contains(&parent.unwrap_or(index));
    let others: BTreeSet<String> = (scene.cards.iter())
        .filter(|card| !is_chosen(card.index, card.parent))
        .filter_map(|card| card.pci_address.known().cloned())
        .collect();
    let left_out =
        scene.cards.iter().filter(|card| card.parent.is_none() && !cards.contains(&card.index)).count();
    scene.cards.retain(|card| is_chosen(card.index, card.parent));
    scene.workloads.retain(|workload| workload.cards.iter().any(|card| cards.contains(card)));
    let driver = &mut scene.machine.driver;
    if let Reading::Known(count) = &mut driver.card_count {
        *count = count.saturating_sub(u32::try_from(left_out).unwrap_or(u32::MAX));
    }
    if let Reading::Known(devices) = &mut scene.machine.pci_cards {
        devices.retain(|device| !others.contains(&device.address));
    }
    scene
}

/// Returns the indices of the subject's cards.
fn cards_of(verdict: &Verdict, scene: &Scene, subject: &Subject) -> BTreeSet<u32> {
    match subject {
        Subject::Card(card) => {
            let numbered = verdict.cards.iter().filter(|card| card.unnumbered.is_none());
            numbered.map(|card| card.index).filter(|index| index == card).collect()
        }
        Subject::Process(pid) => cards_of_process(scene, *pid),
        Subject::User(user) => (scene.processes.iter())
            .filter(|process| belongs_to(process, user))
            .flat_map(|process| cards_of_process(scene, process.key.pid))
            .collect(),
    }
}

fn cards_of_process(scene: &Scene, pid: Pid) -> BTreeSet<u32> {
    let by_client = (scene.cards.iter())
        .filter(|card| card.known_clients().iter().any(|client| client.pid == pid))
        .map(|card| card.parent.unwrap_or(card.index));
    let by_workload = scene.workload_of(pid).into_iter().flat_map(|workload| workload.cards.iter().copied());
    by_client.chain(by_workload).collect()
}

fn belongs_to(process: &Process, user: &str) -> bool {
    let is_named = process.user.known().is_some_and(|name| name == user);
    is_named || process.uid.known().is_some_and(|uid| uid.to_string() == user)
}

/// Returns why there is nothing to answer about the subject, and what there is instead.
fn missing(verdict: &Verdict, scene: &Scene, subject: &Subject) -> Failure {
    let on_cards: BTreeSet<Pid> =
        scene.cards.iter().flat_map(Card::known_clients).map(|client| client.pid).collect();
    match subject {
        Subject::Card(card) => {
            let numbered = verdict.cards.iter().filter(|card| card.unnumbered.is_none());
            let cards: Vec<String> = numbered.map(|card| card.index.to_string()).collect();
            Failure::new(message::no_card(*card)).hint(message::hint_cards(cards))
        }
        Subject::Process(pid) => {
            let failure = Failure::new(message::no_process(pid.0));
            if on_cards.is_empty() {
                return failure.hint(message::hint_no_processes());
            }
            failure
                .hint(message::hint_processes(on_cards.iter().map(ToString::to_string).collect::<Vec<_>>()))
        }
        Subject::User(user) => {
            let users: BTreeSet<String> =
                (on_cards.iter()).filter_map(|pid| scene.process(*pid)?.user.known().cloned()).collect();
            let failure = Failure::new(message::no_user(user.as_str()));
            if users.is_empty() {
                return failure.hint(message::hint_no_processes());
            }
            failure.hint(message::hint_users(users.into_iter().collect::<Vec<_>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use gpuwhy_diagnose::diagnose;
    use gpuwhy_model::action::SubjectKind;
    use gpuwhy_model::cause::Cause;
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::process::{Pid, ProcessKey};
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::ClientKind;
    use gpuwhy_model::scene::{Card, Client, Process, Scene, Workload};
    use gpuwhy_model::signal::Signal;
    use gpuwhy_model::text::Text;
    use gpuwhy_model::verdict::{
        CardState, CardVerdict, Explained, Finding, Impact, RuledOut, Severity, Subject as Target, Verdict,
    };

    use super::{Subject, cards_of, narrow, restrict};

    /// Three cards: alice trains on 0 and 1 with a loader, bob holds 2.
    fn scene() -> Scene {
        let card = |index, clients: &[u32]| Card {
            index,
            handle: Reading::Known(()),
            clients: Reading::Known(clients.iter().map(|pid| client(*pid)).collect()),
            ..Card::default()
        };
        let process = |pid, user: &str| Process {
            key: ProcessKey { pid: Pid(pid), ..ProcessKey::default() },
            user: Reading::Known(user.to_owned()),
            uid: Reading::Known(1000 + pid),
            ..Process::default()
        };
        Scene {
            cards: vec![card(0, &[10]), card(1, &[10]), card(2, &[20])],
            processes: vec![process(10, "alice"), process(11, "alice"), process(20, "bob")],
            workloads: vec![Workload {
                root: Pid(10),
                processes: vec![Pid(10), Pid(11)],
                gpu_processes: vec![Pid(10)],
                cards: vec![0, 1],
            }],
            ..Scene::default()
        }
    }

    fn client(pid: u32) -> Client {
        Client {
            pid: Pid(pid),
            kind: ClientKind::Compute,
            memory: Reading::default(),
            memory_trend: Reading::default(),
            name: Reading::default(),
            sm: Reading::default(),
            idle_for: Reading::default(),
            seen_working: false,
        }
    }

    fn finding(cause: Cause, cards: &[u32]) -> Finding {
        Finding {
            cause,
            confidence: 0.9,
            severity: Severity::Warn,
            subject: Target { kind: SubjectKind::Card, id: String::new(), name: String::new() },
            cards: cards.to_vec(),
            impact: Impact::default(),
            culprits: Vec::new(),
            summary: Text::plain("x"),
            evidence: Vec::new(),
            against: Vec::new(),
            fixes: Vec::new(),
            detail: BTreeMap::new(),
        }
    }

    fn verdict() -> Verdict {
        let card = |index, findings: &[usize]| CardVerdict {
            index,
            unnumbered: None,
            uuid: None,
            name: None,
            state: CardState::Busy,
            holders: Vec::new(),
            findings: findings.to_vec(),
            is_undecided: false,
        };
        let ruled_out = |card| RuledOut { cause: Cause::VramFull, signal: Signal::VramUsed, card };
        Verdict {
            findings: vec![
                finding(Cause::GpuLost, &[2]),
                finding(Cause::StarvedByStorage, &[0, 1]),
                finding(Cause::DriverHung, &[]),
                finding(Cause::IdleReserved, &[1]),
            ],
            cards: vec![card(0, &[1]), card(1, &[1, 3]), card(2, &[0])],
            explained: vec![Explained { by: 1, finding: 3 }, Explained { by: 0, finding: 2 }],
            ruled_out: vec![ruled_out(Some(0)), ruled_out(Some(2)), ruled_out(None)],
            ..diagnose(&Scene::default(), &Limits::default())
        }
    }

    #[test]
    fn only_what_concerns_the_cards_is_left_and_places_still_fit() {
        let narrowed = restrict(verdict(), &BTreeSet::from([1]));
        let causes: Vec<Cause> = narrowed.findings.iter().map(|finding| finding.cause).collect();
        assert_eq!(causes, [Cause::StarvedByStorage, Cause::DriverHung, Cause::IdleReserved]);
        assert_eq!(narrowed.cards.len(), 1);
        assert_eq!(narrowed.cards[0].findings, [0, 2]);
        assert_eq!(narrowed.explained, [Explained { by: 0, finding: 2 }]);
        assert_eq!(narrowed.ruled_out.len(), 1, "only what was ruled out for the whole machine");
    }

    #[test]
    fn a_process_stands_for_the_cards_of_its_workload() {
        let scene = scene();
        let cards = |pid| cards_of(&verdict(), &scene, &Subject::Process(Pid(pid)));
        assert_eq!(cards(10), BTreeSet::from([0, 1]));
        assert_eq!(cards(11), BTreeSet::from([0, 1]));
        assert_eq!(cards(20), BTreeSet::from([2]));
        assert_eq!(cards(99), BTreeSet::new());
    }

    #[test]
    fn a_user_is_known_by_name_and_number() {
        let scene = scene();
        let cards = |name: &str| cards_of(&verdict(), &scene, &Subject::User(name.to_owned()));
        assert_eq!(cards("alice"), BTreeSet::from([0, 1]));
        assert_eq!(cards("1020"), BTreeSet::from([2]));
        assert_eq!(cards("carol"), BTreeSet::new());
    }

    #[test]
    fn a_card_without_findings_gets_an_answer_of_its_own() {
        let only_on_card_2 = Verdict { findings: vec![finding(Cause::GpuLost, &[2])], ..verdict() };
        let narrowed = narrow(only_on_card_2, &scene(), &Limits::default(), &Subject::Card(0)).unwrap();
        assert!(!narrowed.findings.is_empty());
        assert!(narrowed.findings.iter().all(|finding| finding.cause != Cause::GpuLost));
        assert!(narrowed.findings.iter().all(|finding| finding.cards == [0]));
        assert!(narrowed.cards.iter().all(|card| card.index == 0));
    }

    #[test]
    fn a_subject_that_is_not_there_is_refused() {
        for subject in [Subject::Card(7), Subject::Process(Pid(99)), Subject::User("carol".to_owned())] {
            assert!(narrow(verdict(), &scene(), &Limits::default(), &subject).is_err(), "{subject:?}");
        }
    }

    #[test]
    fn where_the_users_of_a_card_could_not_be_seen_nobody_is_said_to_be_absent() {
        let mut hung = scene();
        hung.cards[2].clients = Reading::default();
        for subject in [Subject::Process(Pid(99)), Subject::User("carol".to_owned())] {
            for scene in [&hung, &Scene::default()] {
                let narrowed = narrow(verdict(), scene, &Limits::default(), &subject).unwrap();
                assert_eq!(narrowed, verdict());
            }
        }
    }
}
