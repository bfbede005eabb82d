//! What stands last: what was ruled out for the whole machine, what could not be seen, changed limits, notes, and
//! how to decide what is still open.

use gpuwhy_model::limits::LimitChange;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::signal::Signal;
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::{BlindSpot, RuledOut, Verdict};

use super::page::{Page, spaced};
use super::{answer, why};
use crate::absence;
use crate::flow;
use crate::inputs;
use crate::texts::answer as texts;
use crate::texts::input;
use crate::words::{Words, signal_text};

/// Writes what stands last.
pub(super) fn write(page: &mut Page, verdict: &Verdict, words: &Words<'_>) {
    page.gap();
    let on_no_card: Vec<&RuledOut> = verdict.ruled_out.iter().filter(|out| out.card.is_none()).collect();
    if !on_no_card.is_empty() {
        let label = spaced(&words.sentence(&texts::not_anywhere()));
        page.labelled(0, &label, &why::excluded_list(&on_no_card, words));
    }
    write_list(page, &texts::could_not_see(), &blind_spots(&verdict.blind_spots, words), words);
    write_list(page, &texts::limit_label(), &limits(&verdict.limits_changed, words), words);
    let notes: Vec<String> = verdict.notes.iter().map(|note| words.flowing(note)).collect();
    write_list(page, &texts::note(), &notes, words);
    let decide = answer::decide_later(verdict, words).map(|text| words.flowing(&text));
    write_list(page, &texts::to_decide(), decide.as_slice(), words);
    if verdict.source == SourceKind::Recording {
        let time = verdict.taken_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
        let recorded = texts::recorded_at(Arg::Seconds(verdict.window_s), time);
        write_list(page, &texts::recorded(), &[words.flowing(&recorded)], words);
    }
    write_list(page, &input::read(), &inputs::read(&verdict.inputs, words), words);
    write_list(page, &input::not_understood(), &inputs::not_understood(&verdict.inputs, words), words);
}

/// Writes a label and, one below the other behind it, the members of a list.
fn write_list(page: &mut Page, label: &Text, members: &[String], words: &Words<'_>) {
    let label = spaced(&words.sentence(label));
    let columns = flow::columns(&label);
    for (place, member) in members.iter().enumerate() {
        if place == 0 {
            page.labelled(0, &label, member);
        } else {
            page.paragraph(columns, member);
        }
    }
}

/// Returns one line for each reason why something could not be seen.
pub(crate) fn blind_spots(spots: &[BlindSpot], words: &Words<'_>) -> Vec<String> {
    let mut groups: Vec<(&Absence, Vec<Signal>)> = Vec::new();
    for spot in spots.iter().filter(|spot| is_worth_saying(spot)) {
        match groups.iter_mut().find(|(why, _)| **why == spot.why) {
            Some((_, signals)) if signals.contains(&spot.signal) => {}
            Some((_, signals)) => signals.push(spot.signal),
            None => groups.push((&spot.why, vec![spot.signal])),
        }
    }
    groups
        .into_iter()
        .map(|(why, signals)| {
            let what = words.joined(signals.into_iter().map(|signal| words.sentence(&signal_text(signal))));
            words.flowing(&absence::blind_spots(what, why))
        })
        .collect()
}

/// Returns whether a blind spot matters: what never exists here counts only where a cause needed it.
fn is_worth_saying(spot: &BlindSpot) -> bool {
    spot.why != Absence::Unsupported || !spot.causes.is_empty()
}

/// Returns one line for each limit that is not the built-in one.
pub(crate) fn limits(changes: &[LimitChange], words: &Words<'_>) -> Vec<String> {
    let line = |change: &LimitChange| {
        let amount = |value| amount(&change.limit, value);
        words.flowing(&texts::limit_changed(
            amount(change.built_in),
            change.limit.as_str(),
            amount(change.value),
        ))
    };
    changes.iter().map(line).collect()
}

/// Returns the value of a limit with the unit that its name says.
fn amount(limit: &str, value: f64) -> Arg {
    let mut words = limit.rsplit('_').filter(|word| !matches!(*word, "min" | "max"));
    match words.next() {
        Some("s") => Arg::Seconds(value),
        Some("percent") => Arg::Percent(value),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "limits of memory are whole and positive"
        )]
        Some("bytes") => Arg::Bytes(value as u64),
        _ => Arg::Raw(value.to_string()),
    }
}
