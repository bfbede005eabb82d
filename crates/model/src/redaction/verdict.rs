//! Replaces the names in every text of a verdict. All fields are named here, so that a new one cannot be forgotten.

use crate::action::{Fix, SubjectKind, Target};
use crate::command_line::CommandLine;
use crate::evidence::{Evidence, Value};
use crate::input::TextRead;
use crate::reading::{Absence, Access, Failure};
use crate::text::{Arg, Text};
use crate::verdict::{AskNext, BlindSpot, CardVerdict, Culprit, Finding, Subject, Unnumbered, Verdict};

use super::Redactor;
use super::kind::Kind;

impl Redactor {
    /// Replaces the names in an answer.
    pub fn verdict(&mut self, verdict: Verdict) -> Verdict {
        let Verdict {
            source,
            taken_at,
            window_s,
            findings,
            candidates,
            cards,
            explained,
            ruled_out,
            blind_spots,
            ask_next,
            limits_changed,
            notes,
            inputs,
        } = verdict;
        for input in &inputs {
            self.learn_input(&input.name);
        }
        Verdict {
            source,
            taken_at,
            window_s,
            findings: findings.into_iter().map(|finding| self.finding(finding)).collect(),
            candidates: candidates.into_iter().map(|finding| self.finding(finding)).collect(),
            cards: cards.into_iter().map(|card| self.card(card)).collect(),
            explained,
            ruled_out,
            blind_spots: blind_spots.into_iter().map(|spot| self.blind_spot(spot)).collect(),
            ask_next: ask_next
                .map(|AskNext { command, separates }| AskNext { command: self.text(&command), separates }),
            limits_changed,
            notes: notes.into_iter().map(|note| self.words_of(note)).collect(),
            inputs: inputs.into_iter().map(|input| self.input(input)).collect(),
        }
    }

    /// Replaces the names in the values of a text.
    pub fn words_of(&mut self, text: Text) -> Text {
        let Text { id, args } = text;
        let args = args.into_iter().map(|(name, arg)| (name, self.arg(arg))).collect();
        Text { id, args }
    }

    fn arg(&mut self, arg: Arg) -> Arg {
        match arg {
            Arg::Raw(raw) => Arg::Raw(self.text(&raw)),
            Arg::List(list) => Arg::List(list.iter().map(|raw| self.text(raw)).collect()),
            Arg::Text(text) => Arg::Text(Box::new(self.words_of(*text))),
            number @ (Arg::Count(_)
            | Arg::Bytes(_)
            | Arg::BytesPerSecond(_)
            | Arg::Seconds(_)
            | Arg::Percent(_)
            | Arg::Watts(_)
            | Arg::Celsius(_)
            | Arg::Megahertz(_)
            | Arg::Number(_)
            | Arg::Cores(_)) => number,
        }
    }

    fn finding(&mut self, finding: Finding) -> Finding {
        let Finding {
            cause,
            confidence,
            severity,
            subject,
            cards,
            impact,
            culprits,
            summary,
            evidence,
            against,
            fixes,
            detail,
        } = finding;
        Finding {
            cause,
            confidence,
            severity,
            subject: self.subject(subject),
            cards,
            impact,
            culprits: culprits.into_iter().map(|culprit| self.culprit(culprit)).collect(),
            summary: self.words_of(summary),
            evidence: evidence.into_iter().map(|seen| self.evidence(seen)).collect(),
            against: against.into_iter().map(|seen| self.evidence(seen)).collect(),
            fixes: fixes.into_iter().map(|fix| self.fix(fix)).collect(),
            detail: detail.into_iter().map(|(name, value)| (name, self.text(&value))).collect(),
        }
    }

    fn subject(&mut self, subject: Subject) -> Subject {
        let Subject { kind, id, name } = subject;
        Subject { kind, id: self.id(kind, &id), name: self.id(kind, &name) }
    }

    fn id(&mut self, kind: SubjectKind, id: &str) -> String {
        match kind {
            SubjectKind::Node => self.word_for(Kind::Host, id),
            SubjectKind::Job => self.word_for(Kind::Job, id),
            SubjectKind::Card
            | SubjectKind::Process
            | SubjectKind::Workload
            | SubjectKind::Queue
            | SubjectKind::Program => self.text(id),
        }
    }

    fn culprit(&mut self, culprit: Culprit) -> Culprit {
        let Culprit {
            process,
            pid,
            user,
            command,
            name,
            container,
            pod,
            job,
            unit,
            session,
            notebook,
            remark,
        } = culprit;
        let mut named = |kind: Kind, name: Option<String>| name.map(|name| self.word_for(kind, &name));
        Culprit {
            process,
            pid,
            user: named(Kind::User, user),
            container: named(Kind::Container, container),
            pod: named(Kind::Pod, pod),
            job: named(Kind::Job, job),
            unit: named(Kind::Unit, unit),
            notebook: named(Kind::Path, notebook),
            command: command.map(|command| self.command(&command)),
            name: name.map(|name| self.text(&name)),
            session,
            remark: remark.map(|remark| self.words_of(remark)),
        }
    }

    fn command(&mut self, command: &CommandLine) -> CommandLine {
        let mut before = "";
        let mut arguments = Vec::new();
        for argument in command.arguments() {
            arguments.push(self.argument(argument, before));
            before = argument;
        }
        CommandLine::masked(arguments)
    }

    fn evidence(&mut self, evidence: Evidence) -> Evidence {
        let Evidence { signal, value, unit, normal, source, text } = evidence;
        let value = match value {
            Value::Text(text) => Value::Text(self.text(&text)),
            number @ (Value::Whole(_) | Value::Number(_)) => number,
        };
        Evidence { signal, value, unit, normal, source, text: self.words_of(text) }
    }

    fn fix(&mut self, fix: Fix) -> Fix {
        let Fix { action, class, targets, command, summary } = fix;
        let target = |Target { kind, id }: Target| Target { kind, id: self.id(kind, &id) };
        Fix {
            action,
            class,
            targets: targets.into_iter().map(target).collect(),
            command: command.map(|command| self.text(&command)),
            summary: self.words_of(summary),
        }
    }

    fn card(&mut self, card: CardVerdict) -> CardVerdict {
        let CardVerdict { index, unnumbered, uuid, name, state, holders, findings, is_undecided } = card;
        CardVerdict {
            index,
            unnumbered: unnumbered.map(|unnumbered| match unnumbered {
                Unnumbered::Called(name) => Unnumbered::Called(self.text(&name)),
                Unnumbered::Nameless => Unnumbered::Nameless,
            }),
            uuid: uuid.map(|uuid| self.text(&uuid)),
            name: name.map(|name| self.text(&name)),
            state,
            holders: holders.into_iter().map(|holder| self.culprit(holder)).collect(),
            findings,
            is_undecided,
        }
    }

    fn blind_spot(&mut self, spot: BlindSpot) -> BlindSpot {
        let BlindSpot { signal, why, causes } = spot;
        let why = match why {
            Absence::Unsupported => Absence::Unsupported,
            Absence::Denied(Access::DeviceFile(path)) => {
                Absence::Denied(Access::DeviceFile(self.text(&path)))
            }
            Absence::Denied(
                access @ (Access::Root
                | Access::RootOrOwner
                | Access::VisibleProcesses
                | Access::MountedSys
                | Access::KernelLog
                | Access::PrivacySetting),
            ) => Absence::Denied(access),
            Absence::Failed(failure) => Absence::Failed(self.failure(failure)),
        };
        BlindSpot { signal, why, causes }
    }

    fn failure(&mut self, failure: Failure) -> Failure {
        match failure {
            Failure::Missing { path } => Failure::Missing { path: self.text(&path) },
            Failure::Io { path, error } => Failure::Io { path: self.text(&path), error: self.text(&error) },
            Failure::Syntax { path, line, expected } => {
                Failure::Syntax { path: self.text(&path), line, expected: self.text(&expected) }
            }
            Failure::LibraryNotLoaded { error } => Failure::LibraryNotLoaded { error: self.text(&error) },
            Failure::Implausible { value } => Failure::Implausible { value: self.text(&value) },
            plain @ (Failure::NotInSource
            | Failure::Nvml { .. }
            | Failure::TimedOut { .. }
            | Failure::NotReached
            | Failure::Vanished
            | Failure::TooFewSamples) => plain,
        }
    }

    fn input(&mut self, input: TextRead) -> TextRead {
        let TextRead { name, formats, not_understood } = input;
        TextRead { name: self.word_for(Kind::Input, &name), formats, not_understood }
    }
}
