//! Whether a report says what was planted.

use gpuwhy_lab::scenario::{Answer, Truth};
use gpuwhy_model::action::{FixClass, SubjectKind};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::{Report, ReportFinding, ReportFix};

use crate::rightness::{CONFIDENT, Rightness};

/// From this confidence on a finding is an answer.
const ANSWER: f64 = 0.5;

/// What is right and wrong about one report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// How right its answers are.
    pub(crate) rightness: Rightness,
    /// The right process and cards are named; judged only where the first answer is right and somebody is to blame.
    pub(crate) is_culprit_right: Option<bool>,
    /// It takes a near miss for the real thing.
    pub(crate) took_near_miss: bool,
    /// Every cause is an answer of the report, and by the right process; judged only where there are several.
    pub(crate) are_all_named: Option<bool>,
}

impl Judgement {
    /// Whether nothing at all is wrong.
    pub(crate) fn is_right(self) -> bool {
        let names_the_right_one = self.is_culprit_right != Some(false);
        let names_all = self.are_all_named != Some(false);
        let Rightness { is_first, is_harmful, .. } = self.rightness;
        is_first && names_the_right_one && names_all && !self.took_near_miss && !is_harmful
    }
}

/// Judges a report by the truth; `positions` are the places on the board of the cards that the first finding is about.
pub(crate) fn judge(report: &Report, truth: &Truth, positions: &[usize]) -> Judgement {
    let first = report.findings.first();
    let answer = first.and_then(|first| answer_for(first, truth));
    let planted = truth.answers.first().map(|answer| answer.cause.as_str());
    let gives_up = first.is_some_and(|first| first.cause == Cause::Undetermined);
    let is_wrong = answer.is_none() && !gives_up;
    Judgement {
        rightness: Rightness {
            is_first: answer.is_some(),
            is_strictly_first: first.is_some_and(|first| Some(first.cause.id()) == planted),
            is_in_three: report.findings.iter().take(3).any(|finding| answer_for(finding, truth).is_some()),
            is_undetermined: gives_up && answer.is_none(),
            is_confident_wrong: is_wrong && first.is_some_and(|first| first.confidence >= CONFIDENT),
            is_harmful: report
                .findings
                .iter()
                .flat_map(|finding| &finding.fixes)
                .any(|fix| harms(fix, truth)),
        },
        is_culprit_right: answer
            .zip(first)
            .and_then(|(answer, first)| names_culprit(first, answer, positions)),
        took_near_miss: truth.near_miss_of.as_deref().is_some_and(|cause| is_taken(report, truth, cause)),
        are_all_named: (!truth.also.is_empty())
            .then(|| truth.answers.iter().take(1).chain(&truth.also).all(|answer| is_named(report, answer))),
    }
}

/// Returns the answer that a finding gives: where several have its cause, the one about the process that it names.
fn answer_for<'truth>(finding: &ReportFinding, truth: &'truth Truth) -> Option<&'truth Answer> {
    let mut answers = truth.answers.iter().filter(|answer| answer.cause == finding.cause.id());
    let first = answers.clone().next();
    answers.find(|answer| is_by(finding, answer)).or(first)
}

/// Whether a cause stands first or is sure enough to be an answer, and is not said about a bystander of whom it is true.
fn is_taken(report: &Report, truth: &Truth, cause: &str) -> bool {
    let mut findings = report.findings.iter().enumerate();
    findings.any(|(rank, finding)| {
        let is_answer = rank == 0 || finding.confidence >= ANSWER;
        let is_true = answer_for(finding, truth).is_some_and(|answer| is_by(finding, answer));
        finding.cause.id() == cause && is_answer && !is_true
    })
}

/// Whether some finding is this answer, and sure enough to be one.
fn is_named(report: &Report, answer: &Answer) -> bool {
    report.findings.iter().any(|finding| {
        let is_by_the_right_one = answer.culprits.is_empty() || is_by(finding, answer);
        finding.cause.id() == answer.cause && finding.confidence >= ANSWER && is_by_the_right_one
    })
}

/// Whether a finding names one of the culprits of an answer.
fn is_by(finding: &ReportFinding, answer: &Answer) -> bool {
    finding.culprit.as_ref().is_some_and(|named| {
        answer.culprits.iter().any(|culprit| {
            named.pid == Some(culprit.pid)
                && named.start_ticks == Some(culprit.start_ticks)
                && named.user.as_deref() == Some(culprit.user.as_str())
        })
    })
}

/// Whether a finding names one of the true culprits and only true cards; nothing where nobody is to blame.
fn names_culprit(finding: &ReportFinding, answer: &Answer, positions: &[usize]) -> Option<bool> {
    if answer.culprits.is_empty() && answer.cards.is_empty() {
        return None;
    }
    let are_cards_right =
        answer.cards.is_empty() || positions.iter().all(|position| answer.cards.contains(position));
    if answer.culprits.is_empty() {
        return Some(are_cards_right);
    }
    Some(are_cards_right && is_by(finding, answer))
}

/// Whether a fix would be done to a process that is not to blame, or where there is nothing to do.
fn harms(fix: &ReportFix, truth: &Truth) -> bool {
    if fix.class == FixClass::Shown {
        return false;
    }
    let planted = truth.answers.first().and_then(|answer| Cause::from_id(&answer.cause));
    if matches!(planted, Some(Cause::NothingWrong | Cause::Undetermined)) {
        return true;
    }
    let culprits: Vec<String> = truth
        .answers
        .iter()
        .flat_map(|answer| &answer.culprits)
        .map(|culprit| culprit.pid.to_string())
        .collect();
    let mut processes = fix.targets.iter().filter(|target| target.kind == SubjectKind::Process);
    processes.any(|target| !culprits.contains(&target.id))
}

#[cfg(test)]
mod tests {
    use gpuwhy_lab::scenario::{Answer, TrueProcess, Truth};
    use gpuwhy_lab::workloads::truth::Part;
    use gpuwhy_model::report::Report;

    use super::{Judgement, judge};

    /// A report with one finding of a dead holder on card 2, by process 4242 of bob.
    fn report() -> Report {
        serde_json::from_str(include_str!("../../../crates/model/src/report_example.json")).unwrap()
    }

    fn truth(cause: &str, pid: u32, card: usize) -> Truth {
        let culprit = TrueProcess {
            pid,
            start_ticks: 881_234,
            user: "bob".to_owned(),
            command: String::new(),
            part: Part::CardUser,
            card: Some(card),
        };
        let answer = Answer { cause: cause.to_owned(), culprits: vec![culprit], cards: vec![card] };
        Truth { void: None, answers: vec![answer], also: vec![], near_miss_of: None }
    }

    fn judged(truth: &Truth) -> Judgement {
        judge(&report(), truth, &[2])
    }

    #[test]
    fn a_right_report_is_right() {
        let judgement = judged(&truth("vram-held-by-dead-process", 4242, 2));
        assert!(
            judgement.is_right() && judgement.rightness.is_strictly_first && judgement.rightness.is_in_three
        );
        assert_eq!(judgement.is_culprit_right, Some(true));
    }

    #[test]
    fn another_process_or_card_is_not_right() {
        assert_eq!(judged(&truth("vram-held-by-dead-process", 4243, 2)).is_culprit_right, Some(false));
        assert_eq!(judged(&truth("vram-held-by-dead-process", 4242, 1)).is_culprit_right, Some(false));
    }

    #[test]
    fn a_fix_for_somebody_else_is_harmful() {
        assert!(judged(&truth("vram-held-by-dead-process", 4243, 2)).rightness.is_harmful);
        assert!(!judged(&truth("vram-held-by-dead-process", 4242, 2)).rightness.is_harmful);
    }

    #[test]
    fn another_cause_is_confidently_wrong() {
        let judgement = judged(&truth("idle-reserved", 4242, 2));
        assert!(!judgement.rightness.is_first && judgement.rightness.is_confident_wrong);
        assert_eq!(judgement.is_culprit_right, None);
    }

    #[test]
    fn an_accepted_answer_is_first_but_not_strictly() {
        let mut truth = truth("vram-held-by-dead-process", 4242, 2);
        truth.answers.insert(0, Answer { cause: "vram-full".to_owned(), culprits: vec![], cards: vec![] });
        let judgement = judged(&truth);
        assert!(judgement.rightness.is_first && !judgement.rightness.is_strictly_first);
    }

    #[test]
    fn of_two_causes_both_must_be_named() {
        let mut truth = truth("vram-held-by-dead-process", 4242, 2);
        truth.also = truth.answers.clone();
        assert_eq!(judged(&truth).are_all_named, Some(true));
        truth.also = self::truth("idle-reserved", 4242, 2).answers;
        let judgement = judged(&truth);
        assert_eq!(judgement.are_all_named, Some(false));
        assert!(judgement.rightness.is_first && !judgement.is_right());
    }

    #[test]
    fn of_two_answers_with_one_cause_the_one_about_the_named_process_counts() {
        let mut truth = truth("vram-held-by-dead-process", 4243, 1);
        truth.answers.extend(self::truth("vram-held-by-dead-process", 4242, 2).answers);
        assert_eq!(judged(&truth).is_culprit_right, Some(true));
        assert_eq!(judge(&report(), &truth, &[1]).is_culprit_right, Some(false));
    }

    #[test]
    fn a_near_miss_is_noticed() {
        let mut truth = truth("idle-reserved", 4242, 2);
        truth.near_miss_of = Some("vram-held-by-dead-process".to_owned());
        assert!(judged(&truth).took_near_miss);
        let bystander = self::truth("vram-held-by-dead-process", 4242, 2).answers;
        truth.answers.extend(bystander);
        assert!(!judged(&truth).took_near_miss);
    }
}
