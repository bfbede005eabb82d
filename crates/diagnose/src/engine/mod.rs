//! Runs the rules over a scene and puts what they found in order.

mod ask;
mod ask_of_text;
mod cards;
mod explain;
mod fitting;
mod guard;
mod merge;
mod notes;
mod rank;
mod sight;

use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::verdict::{BlindSpot, Finding, RuledOut, Verdict};

use crate::findings::Findings;
use crate::registry::{self, REGISTRY};
use crate::rule::Rule;
use crate::shared_text;
use merge::Merged;

/// Judges a scene: the same scene and limits always give the same verdict.
pub fn diagnose(scene: &Scene, limits: &Limits) -> Verdict {
    judge(REGISTRY, scene, limits)
}

fn judge(rules: &[&Rule], scene: &Scene, limits: &Limits) -> Verdict {
    let mut findings = Findings::new(scene, limits);
    for rule in rules {
        run(rule, scene, limits, &mut findings);
    }
    notes::add(scene, limits, &mut findings);
    sight::add(rules, scene, &mut findings);
    let ask_next = ask::next(scene, limits, &findings);

    let (answers, candidates) = merge::merged(&mut findings);
    let ruled_out = ruled_out(&findings, &answers.iter().chain(&candidates));
    let explained = explain::explained(scene, &answers);
    let (answers, explained) = rank::ranked(scene, answers, &explained);
    let cards = cards::verdicts(scene, limits, &answers, &findings.undecided);
    let candidates: Vec<Finding> = rank::ranked(scene, candidates, &[]).0;
    Verdict {
        source: scene.provenance.source,
        taken_at: scene.window.taken_at,
        window_s: scene.window.span_s,
        cards,
        findings: answers,
        candidates,
        explained,
        ruled_out,
        blind_spots: blind_spots(&findings),
        ask_next,
        limits_changed: limits.changes(),
        notes: findings.notes,
        inputs: Vec::new(),
    }
}

/// Runs one rule; a rule that breaks is named in a note and changes nothing.
fn run(rule: &Rule, scene: &Scene, limits: &Limits, findings: &mut Findings) {
    findings.begin(rule);
    let mark = findings.mark();
    if !guard::completes(|| (rule.check)(scene, limits, findings)) {
        findings.go_back(mark);
        findings.note(shared_text::note_broken_rule(rule.cause.id()));
    }
}

/// Returns the causes that were excluded and that nothing else in the verdict claims: a finding about no card in
/// particular claims its cause for all of them.
fn ruled_out<'found>(
    findings: &Findings,
    found: &(impl Iterator<Item = &'found Merged> + Clone),
) -> Vec<RuledOut> {
    let is_claimed = |cause: Cause, card: Option<u32>| {
        found.clone().map(|merged| &merged.finding).any(|finding| {
            let is_about_it = |card: u32| finding.cards.is_empty() || finding.cards.contains(&card);
            finding.cause == cause && card.is_none_or(is_about_it)
        })
    };
    findings.ruled_out.iter().filter(|out| !is_claimed(out.cause, out.card)).cloned().collect()
}

/// Returns what could not be seen, with the causes that it would help to judge.
fn blind_spots(findings: &Findings) -> Vec<BlindSpot> {
    findings
        .unseen
        .iter()
        .map(|((signal, why), causes)| {
            let mut causes: Vec<Cause> = causes.iter().copied().collect();
            causes.sort_by_key(|cause| registry::place(*cause));
            BlindSpot { signal: *signal, why: why.clone(), causes }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::cause::Cause;
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::scene::Scene;

    use super::judge;
    use crate::registry::REGISTRY;
    use crate::rule::{Needs, Rule, Span};

    #[test]
    fn a_broken_rule_becomes_a_note() {
        static BROKEN: Rule = Rule {
            cause: Cause::AppError,
            needs: Needs { span: Span::NONE, samples: 1, signals: &[] },
            check: |_, _, _| panic!("broken on purpose"),
        };
        let mut rules = vec![&BROKEN];
        rules.extend(REGISTRY);
        let verdict = judge(&rules, &Scene::default(), &Limits::default());
        assert_eq!(verdict.findings[0].cause, Cause::Undetermined);
        assert!(verdict.notes.iter().any(|note| note.id == "diagnose.note_broken_rule"));
    }
}
