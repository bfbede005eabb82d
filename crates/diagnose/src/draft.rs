//! A finding while a rule makes it: who, what, and every signal with its weight.

use std::collections::BTreeMap;

use gpuwhy_model::action::{Action, Fix, FixClass, SubjectKind, Target};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::{Card, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::verdict::{Culprit, Finding, Impact, Severity, Subject};

use crate::confidence::{Balance, Looked};
use crate::rule::Rule;

/// A finding in the making.
pub(crate) struct Draft {
    pub(crate) rule: &'static Rule,
    pub(crate) finding: Finding,
    pub(crate) balance: Balance,
    /// Findings of one cause and one group are the same finding, seen on several cards.
    pub(crate) group: String,
    /// The subject once the group spans several cards.
    pub(crate) group_subject: Option<Subject>,
    /// The processes that it is about.
    pub(crate) processes: Vec<Pid>,
    /// How long a look would decide it, in seconds.
    pub(crate) look_for_s: Option<f64>,
    /// What could not be seen and would have counted.
    pub(crate) unseen: Vec<(Signal, Absence)>,
}

impl Draft {
    /// Begins a finding about one card.
    pub(crate) fn about_card(rule: &'static Rule, card: &Card, summary: Text) -> Self {
        let subject = card_subject(card);
        let group = format!("card {}", subject.id);
        // No list has it: its address alone names it.
        let cards = if card.is_unlisted { Vec::new() } else { vec![card.parent.unwrap_or(card.index)] };
        Self::new(rule, subject, group, cards, summary)
    }

    /// Begins a finding about the machine.
    pub(crate) fn about_machine(rule: &'static Rule, scene: &Scene, summary: Text) -> Self {
        Self::new(rule, machine_subject(scene), "machine".to_owned(), Vec::new(), summary)
    }

    /// Begins a finding.
    pub(crate) fn new(
        rule: &'static Rule,
        subject: Subject,
        group: String,
        cards: Vec<u32>,
        summary: Text,
    ) -> Self {
        Self {
            rule,
            finding: Finding {
                cause: rule.cause,
                confidence: 0.0,
                severity: Severity::Warn,
                subject,
                cards,
                impact: Impact::default(),
                culprits: Vec::new(),
                summary,
                evidence: Vec::new(),
                against: Vec::new(),
                fixes: Vec::new(),
                detail: BTreeMap::new(),
            },
            balance: Balance::default(),
            group,
            group_subject: None,
            processes: Vec::new(),
            look_for_s: None,
            unseen: Vec::new(),
        }
    }

    /// Sets how bad it is; without it, a finding is a warning.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.finding.severity = severity;
        self
    }

    /// Says that the finding belongs to one group on whatever cards it shows.
    pub(crate) fn group(mut self, group: String, subject: Subject) -> Self {
        self.group = group;
        self.group_subject = Some(subject);
        self
    }

    /// Names who makes it so, and the processes that it is about.
    pub(crate) fn culprits(mut self, culprits: Vec<Culprit>, processes: Vec<Pid>) -> Self {
        self.finding.culprits = culprits;
        self.processes = processes;
        self
    }

    /// Counts a signal that agrees.
    pub(crate) fn agree(&mut self, weight: f64, evidence: Evidence) {
        self.agree_by(weight, 1.0, evidence);
    }

    /// Counts a signal that agrees by some strength, 0 to 1.
    pub(crate) fn agree_by(&mut self, weight: f64, strength: f64, evidence: Evidence) {
        self.balance.agree(weight, strength);
        self.finding.evidence.push(evidence);
    }

    /// Counts a signal that was seen and says nothing either way.
    pub(crate) fn silent(&mut self, weight: f64) {
        self.balance.missing += weight;
    }

    /// Counts a signal that could not be seen, and names it.
    pub(crate) fn unseen(&mut self, weight: f64, signal: Signal, absence: Absence) {
        self.balance.missing += weight;
        self.unseen.push((signal, absence));
    }

    /// Counts a signal that contradicts.
    pub(crate) fn contradict(&mut self, weight: f64, evidence: Evidence) {
        self.balance.contradicting += weight;
        self.finding.against.push(evidence);
    }

    /// Adds what is worth seeing but has no weight.
    pub(crate) fn mention(&mut self, evidence: Evidence) {
        self.finding.evidence.push(evidence);
    }

    /// Says that the finding rests on a trend.
    pub(crate) fn rest_on<T>(&mut self, trend: &Trend<T>) {
        self.balance.rest_on(trend.n, trend.span_s);
    }

    /// Says that the finding is a mere possibility.
    pub(crate) fn only_possible(&mut self) {
        self.balance.is_candidate = true;
    }

    /// Says that the finding is a mere possibility until somebody looks for so many seconds.
    pub(crate) fn possible_until(&mut self, seconds: f64) {
        self.only_possible();
        self.look_for_s = Some(seconds);
    }

    /// Adds a step that a person takes by hand.
    pub(crate) fn advise(&mut self, action: Action, targets: Vec<Target>, summary: Text) {
        self.finding.fixes.push(Fix { action, class: FixClass::Shown, targets, command: None, summary });
    }

    /// Returns whether it is about a card that a text names by its address alone.
    pub(crate) fn is_about_an_unlisted_card(&self, scene: &Scene) -> bool {
        let subject = &self.finding.subject;
        self.finding.cards.is_empty()
            && subject.kind == SubjectKind::Card
            && scene.unlisted_cards.iter().any(|card| card.called() == subject.name)
    }

    /// Returns the finding's cause.
    pub(crate) fn cause(&self) -> Cause {
        self.rule.cause
    }

    /// Works out the confidence.
    pub(crate) fn weigh(&mut self, looked: Looked, limits: &gpuwhy_model::limits::Limits) {
        self.finding.confidence = self.balance.confidence(self.rule.needs, looked, limits);
    }
}

/// Returns a card as the subject of a finding.
pub(crate) fn card_subject(card: &Card) -> Subject {
    // Of a card that nothing names there is nothing to say, but cards must not be mixed up.
    let name = if card.is_nameless() { String::new() } else { card.called() };
    let unnamed = || if name.is_empty() { format!("nameless-{}", card.index) } else { name.clone() };
    let id = card.uuid.known().or(card.pci_address.known()).cloned().unwrap_or_else(unnamed);
    Subject { kind: SubjectKind::Card, id, name }
}

/// Returns the machine as the subject of a finding.
pub(crate) fn machine_subject(scene: &Scene) -> Subject {
    let name = scene.machine.hostname.known().cloned().unwrap_or_else(|| "localhost".to_owned());
    Subject { kind: SubjectKind::Node, id: name.clone(), name }
}
