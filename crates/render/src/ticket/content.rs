//! What stands in the document: the same as on a terminal, in the same order.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Evidence;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::text::{Arg, Text};
use gpuwhy_model::verdict::{Finding, RuledOut, Unnumbered, Verdict};

use super::outline::{Part, Piece, plain};
use crate::safe::safe;
use crate::terminal::{answer, closing, who, why};
use crate::texts::{answer as labels, input, ticket};
use crate::words::{Words, cause_text};
use crate::{culprit, inputs};

/// Returns the answer as a document.
pub(super) fn document(verdict: &Verdict, words: &Words<'_>) -> Vec<Part> {
    let mut parts = vec![
        Part::Heading(1, plain(words.sentence(&ticket::title()))),
        Part::Paragraph(plain(words.sentence(&made(verdict)))),
        Part::Heading(2, plain(words.sentence(&ticket::answer()))),
    ];
    for finding in &verdict.findings {
        add_finding(&mut parts, verdict, finding, words);
    }
    if verdict.findings.iter().any(|finding| finding.cause == Cause::Undetermined) {
        add_question(&mut parts, verdict, words);
    }
    if !verdict.cards.is_empty() {
        parts.push(Part::Heading(2, plain(words.sentence(&ticket::cards()))));
        parts.push(cards(verdict, words));
    }
    let rest = rest(verdict, words);
    if !rest.is_empty() {
        parts.push(Part::Heading(2, plain(words.sentence(&ticket::rest()))));
        parts.push(Part::List(rest));
    }
    if verdict.findings.iter().all(|finding| finding.cause != Cause::Undetermined) {
        add_question(&mut parts, verdict, words);
    }
    parts
}

fn made(verdict: &Verdict) -> Text {
    if verdict.source == SourceKind::Text {
        return ticket::made_of_texts(verdict.inputs.len());
    }
    let time = verdict.taken_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    if verdict.window_s > 0.0 {
        ticket::made(Arg::Seconds(verdict.window_s), time)
    } else {
        ticket::made_once(time)
    }
}

fn add_finding(parts: &mut Vec<Part>, verdict: &Verdict, finding: &Finding, words: &Words<'_>) {
    let label = words.sentence(&who::subject(verdict, finding));
    let summary = words.sentence(&finding.summary);
    let joint = words.sentence(&labels::state_by(Arg::Raw(label), Arg::Raw(summary)));
    parts.push(Part::Heading(3, plain(one_blank(&joint))));
    // An answer that decides nothing has no confidence to show.
    let cause = words.sentence(&cause_text(finding.cause));
    let sure = if finding.cause == Cause::Undetermined {
        cause
    } else {
        words.sentence(&ticket::sure(cause, format!("{:.2}", finding.confidence)))
    };
    parts.push(Part::Paragraph(vec![
        Piece::Code(finding.cause.id().to_owned()),
        Piece::Plain(format!(" {sure}")),
    ]));
    if let Some(explaining) = why::explaining(verdict, finding) {
        let label = who::subject(verdict, explaining);
        let line = words.sentence(&labels::explained_by(explaining.cause.id(), label));
        parts.push(Part::Paragraph(plain(line)));
    }
    let culprits = culprit::lines(&finding.culprits, words);
    add_list(parts, &ticket::who(), culprits.into_iter().map(plain).collect(), words);
    add_list(parts, &ticket::to_do(), steps(verdict, finding, words), words);
    add_list(parts, &ticket::evidence(), evidence(verdict, finding, words), words);
}

/// Adds a list below the word that says what it holds, if it holds something.
fn add_list(parts: &mut Vec<Part>, title: &Text, items: Vec<Vec<Piece>>, words: &Words<'_>) {
    if items.is_empty() {
        return;
    }
    parts.push(Part::Paragraph(vec![Piece::Strong(words.sentence(title))]));
    parts.push(Part::List(items.into_iter().map(without_joints).collect()));
}

/// Returns what to do about a finding: the least invasive step first, and where to read more.
fn steps(verdict: &Verdict, finding: &Finding, words: &Words<'_>) -> Vec<Vec<Piece>> {
    let mut steps: Vec<Vec<Piece>> = Vec::new();
    if let Some(command) = answer::to_find_the_card(verdict, finding) {
        steps.push(plain(words.sentence(&labels::find_card(command))));
    }
    for fix in finding.fixes.iter().filter(|fix| fix.action != Action::Nothing) {
        let summary = words.sentence(&fix.summary);
        steps.push(match &fix.command {
            Some(command) => {
                vec![Piece::Code(safe(command).into_owned()), Piece::Plain(format!(" - {summary}"))]
            }
            None => plain(summary),
        });
    }
    let is_fine = matches!(finding.cause, Cause::NothingWrong | Cause::Undetermined);
    if !is_fine {
        steps.push(plain(words.sentence(&ticket::more(finding.cause.id()))));
    }
    steps
}

fn evidence(verdict: &Verdict, finding: &Finding, words: &Words<'_>) -> Vec<Vec<Piece>> {
    let line = |seen: &Evidence| {
        let source = words.sentence(&why::source(verdict, seen, words));
        words.sentence(&ticket::measured_by(Arg::Raw(source), seen.text.clone()))
    };
    let mut items: Vec<Vec<Piece>> = finding.evidence.iter().map(|seen| plain(line(seen))).collect();
    let but = words.sentence(&labels::but());
    for seen in &finding.against {
        items.push(vec![Piece::Strong(but.clone()), Piece::Plain(format!(" {}", line(seen)))]);
    }
    let excluded: Vec<&RuledOut> =
        verdict.ruled_out.iter().filter(|out| why::is_ruled_out_for(verdict, finding, out)).collect();
    if !excluded.is_empty() {
        let list = why::excluded_list(&excluded, words);
        items.push(vec![Piece::Strong(words.sentence(&labels::not())), Piece::Plain(format!(" {list}"))]);
    }
    items
}

fn cards(verdict: &Verdict, words: &Words<'_>) -> Part {
    let columns =
        [ticket::column_card(), ticket::column_name(), ticket::column_state(), ticket::column_holders()];
    let mut rows = vec![columns.iter().map(|column| words.sentence(column)).collect::<Vec<String>>()];
    for card in &verdict.cards {
        rows.push(vec![
            match &card.unnumbered {
                None => card.index.to_string(),
                Some(Unnumbered::Called(name)) => safe(name).into_owned(),
                Some(Unnumbered::Nameless) => words.sentence(&labels::a_card()),
            },
            safe(card.name.as_deref().unwrap_or_default()).into_owned(),
            words.sentence(&Text::plain(&format!("state.{}", card.state.id()))),
            culprit::lines(&card.holders, words)
                .iter()
                .map(|line| one_blank(line))
                .collect::<Vec<_>>()
                .join("; "),
        ]);
    }
    Part::Table(rows)
}

/// Returns what stands last, each line behind its label.
fn rest(verdict: &Verdict, words: &Words<'_>) -> Vec<Vec<Piece>> {
    let on_no_card: Vec<&RuledOut> = verdict.ruled_out.iter().filter(|out| out.card.is_none()).collect();
    let mut excluded = Vec::new();
    if !on_no_card.is_empty() {
        excluded.push(why::excluded_list(&on_no_card, words));
    }
    let notes = verdict.notes.iter().map(|note| words.sentence(note)).collect();
    let groups: [(Text, Vec<String>); 6] = [
        (labels::not_anywhere(), excluded),
        (labels::could_not_see(), closing::blind_spots(&verdict.blind_spots, words)),
        (labels::limit_label(), closing::limits(&verdict.limits_changed, words)),
        (labels::note(), notes),
        (input::read(), inputs::read(&verdict.inputs, words)),
        (input::not_understood(), inputs::not_understood(&verdict.inputs, words)),
    ];
    let mut items = Vec::new();
    for (label, lines) in groups {
        let label = words.sentence(&label);
        for line in lines {
            items.push(without_joints(vec![Piece::Strong(label.clone()), Piece::Plain(format!(" {line}"))]));
        }
    }
    items
}

/// Adds the command that tells the causes apart that remain.
fn add_question(parts: &mut Vec<Part>, verdict: &Verdict, words: &Words<'_>) {
    let Some(ask) = &verdict.ask_next else {
        return;
    };
    let is_there = answer::is_for_the_machine(verdict, ask);
    let run = if is_there { ticket::run_next_there() } else { ticket::run_next() };
    parts.push(Part::Paragraph(plain(words.sentence(&run))));
    parts.push(Part::Command(safe(&ask.command).into_owned()));
    if !ask.separates.is_empty() {
        let causes = ask.separates.iter().map(|cause| words.sentence(&cause_text(*cause)));
        let line = words.sentence(&ticket::separates(words.joined(causes)));
        parts.push(Part::Paragraph(plain(one_blank(&line))));
    }
}

/// Returns running text without what only holds or parts it on a terminal.
fn without_joints(pieces: Vec<Piece>) -> Vec<Piece> {
    let clean = |piece| match piece {
        Piece::Plain(text) => Piece::Plain(one_blank(&text)),
        Piece::Strong(text) => Piece::Strong(one_blank(&text)),
        code @ Piece::Code(_) => code,
    };
    pieces.into_iter().map(clean).collect()
}

fn one_blank(text: &str) -> String {
    let text = text.replace(crate::values::NO_BREAK, " ");
    let starts_blank = text.starts_with(' ');
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    format!("{}{}", if starts_blank { " " } else { "" }, words.join(" "))
}
