//! The list of rules keeps its promises: unique, explained in both languages, words complete.

use std::collections::BTreeSet;

use gpuwhy_diagnose::{REGISTRY, TEXTS, page};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::text::{Catalogue, Language};

#[test]
fn every_cause_has_one_rule_and_needs_at_least_one_signal() {
    let mut seen = BTreeSet::new();
    for rule in REGISTRY {
        assert!(seen.insert(rule.cause), "{} stands twice", rule.cause);
        assert!(!rule.needs.signals.is_empty(), "{} needs nothing", rule.cause);
        let signals: BTreeSet<_> = rule.needs.signals.iter().collect();
        assert_eq!(signals.len(), rule.needs.signals.len(), "{} names a signal twice", rule.cause);
    }
}

#[test]
fn the_closing_answers_stand_last() {
    let last: Vec<Cause> = REGISTRY.iter().rev().take(2).map(|rule| rule.cause).collect();
    assert_eq!(last, [Cause::Undetermined, Cause::NothingWrong]);
}

#[test]
fn every_cause_is_explained_in_every_language() {
    for rule in REGISTRY {
        for language in Language::ALL {
            let page = page(rule.cause, *language).unwrap_or_else(|| panic!("no page for {}", rule.cause));
            assert!(page.lines().all(|line| !line.contains("TODO")), "{} is unfinished", rule.cause);
            assert!(page.len() > 600, "the page of {} in {} is thin", rule.cause, language.tag());
        }
    }
    let has_rule = |cause: &Cause| REGISTRY.iter().any(|rule| rule.cause == *cause);
    for cause in Cause::ALL.iter().filter(|cause| !has_rule(cause)) {
        assert!(page(*cause, Language::English).is_none(), "{cause}");
    }
}

#[test]
fn words_are_complete_and_each_rule_has_a_summary() {
    let catalogue = Catalogue::join(TEXTS.iter().copied()).unwrap();
    let ids: Vec<String> = catalogue.ids().collect();
    for rule in REGISTRY {
        let prefix = format!("{}.summary", rule.cause);
        assert!(ids.iter().any(|id| id.starts_with(&prefix)), "{} has no summary", rule.cause);
    }
}

#[test]
fn chinese_words_are_chinese() {
    let catalogue = Catalogue::join(TEXTS.iter().copied()).unwrap();
    for id in catalogue.ids() {
        let words = format!("{:?}", catalogue.template(Language::SimplifiedChinese, &id).unwrap());
        assert!(words.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{id}: {words}");
    }
}
