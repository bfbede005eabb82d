//! Where rules put what they found, what they excluded and what they could not see.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::RuledOut;

use crate::confidence::Looked;
use crate::draft::Draft;
use crate::rule::Rule;

/// Everything that the rules said so far.
pub struct Findings {
    cause: Cause,
    looked: Looked,
    limits: Limits,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) ruled_out: BTreeSet<RuledOut>,
    pub(crate) unseen: BTreeMap<(Signal, Absence), BTreeSet<Cause>>,
    pub(crate) notes: Vec<Text>,
    /// Cards about which nothing could be decided.
    pub(crate) undecided: BTreeSet<u32>,
}

impl Findings {
    pub(crate) fn new(scene: &Scene, limits: &Limits) -> Self {
        Self {
            cause: Cause::Undetermined,
            looked: Looked { span_s: scene.window.span_s, samples: scene.window.samples },
            limits: limits.clone(),
            drafts: Vec::new(),
            ruled_out: BTreeSet::new(),
            unseen: BTreeMap::new(),
            notes: Vec::new(),
            undecided: BTreeSet::new(),
        }
    }

    /// Says whose reports come next.
    pub(crate) fn begin(&mut self, rule: &Rule) {
        self.cause = rule.cause;
    }

    /// Takes a finding; below 0.5 it is only a candidate.
    pub(crate) fn report(&mut self, mut draft: Draft) {
        draft.weigh(self.looked, &self.limits);
        for (signal, absence) in std::mem::take(&mut draft.unseen) {
            self.blind(signal, absence);
        }
        self.drafts.push(draft);
    }

    /// Says that a signal excludes the cause, on one card or on the machine.
    pub(crate) fn rule_out(&mut self, signal: Signal, card: Option<u32>) {
        self.ruled_out.insert(RuledOut { cause: self.cause, signal, card });
    }

    /// Says that a signal could not be seen that the rule would have judged by.
    pub(crate) fn blind(&mut self, signal: Signal, absence: Absence) {
        self.unseen.entry((signal, absence)).or_default().insert(self.cause);
    }

    /// Says that a signal could not be seen that the rules of these causes judge by.
    pub(crate) fn blind_for(&mut self, signal: Signal, absence: Absence, causes: Vec<Cause>) {
        self.unseen.entry((signal, absence)).or_default().extend(causes);
    }

    /// Adds a remark that is no finding.
    pub(crate) fn note(&mut self, text: Text) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Returns whether a finding is sure enough to be an answer; that nothing can be decided always is one.
    pub(crate) fn is_answer(&self, draft: &Draft) -> bool {
        draft.cause() == Cause::Undetermined || draft.finding.confidence >= self.limits.answer_confidence_min
    }

    /// Returns the answers so far.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter().filter(|draft| self.is_answer(draft))
    }

    /// Returns the first of these causes that is an answer about a card already.
    pub(crate) fn answer_about(&self, causes: &[Cause], card: u32) -> Option<Cause> {
        let about = |draft: &&Draft| draft.finding.cards.contains(&card) && causes.contains(&draft.cause());
        self.answers().find(about).map(Draft::cause)
    }

    /// Returns the mere possibilities so far.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter().filter(|draft| !self.is_answer(draft))
    }

    /// Returns a mark to which the findings can go back.
    pub(crate) fn mark(&self) -> usize {
        self.drafts.len()
    }

    /// Drops the findings since a mark: those of a rule that broke half-way.
    pub(crate) fn go_back(&mut self, mark: usize) {
        self.drafts.truncate(mark);
    }
}
