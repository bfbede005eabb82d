//! What the events of a trace come to, card by card.

use std::collections::BTreeMap;

use gpuwhy_model::scene::{IdleTime, Trace};
use gpuwhy_model::units::{Seconds, Share};

use super::event::{Event, Head, Taker, small};
use super::intervals::{Stretch, Stretches, both, either, length, without};
use super::kind::{Kind, kind};

/// No machine has more cards in one process.
const CARDS_MAX: usize = 64;
/// So many steps are counted.
const STEPS_MAX: usize = 4096;
/// A kernel that runs for less is short, in microseconds.
const SHORT_US: f64 = 10.0;
/// Rests up to here come of launching one kernel after the other, in microseconds.
const LAUNCH_REST_US: f64 = 50.0;
/// No trace is longer, in microseconds.
const LONGEST_US: f64 = 1e13;

/// What ran on one card.
#[derive(Debug, Default)]
struct OfCard {
    compute: Stretches,
    exchange: Stretches,
    copies: Stretches,
    kernels: u64,
    kernel_us: f64,
    short: u64,
}

/// A trace while it is read.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    head: Head,
    cards: BTreeMap<u32, OfCard>,
    data: Stretches,
    waits: Stretches,
    host: Stretches,
    /// From when to when each step was, by its name.
    steps: BTreeMap<String, Stretch>,
    /// Processes that stand for a card in traces without categories.
    card_processes: BTreeMap<u64, u32>,
    launches: u64,
    pub(super) events: u64,
}

impl Taker for Gathering {
    fn event(&mut self, event: &Event) {
        if event.ph == "M" {
            self.named(event);
            return;
        }
        let (Some(ts), Some(dur)) = (event.ts, event.dur) else { return };
        let is_length = event.ph == "X" || event.ph.is_empty();
        if !is_length || !(0.0..LONGEST_US).contains(&dur) || ts.abs() > 1e17 {
            return;
        }
        self.events += 1;
        let process = process(event);
        let of_card = process.and_then(|process| self.card_processes.get(&process).copied());
        let kind = kind(event, of_card.is_some());
        let stretch = (ts, ts + dur);
        match kind {
            Kind::Compute | Kind::Exchange | Kind::Copy => {
                let number = small(event.args.device).or(of_card).or_else(|| small(event.pid)).unwrap_or(0);
                if self.cards.len() < CARDS_MAX || self.cards.contains_key(&number) {
                    self.cards.entry(number).or_default().add(kind, stretch);
                }
            }
            Kind::Data => self.data.add(stretch.0, stretch.1),
            Kind::Wait => self.waits.add(stretch.0, stretch.1),
            Kind::Launch | Kind::Host => {
                self.launches += u64::from(kind == Kind::Launch);
                self.host.add(stretch.0, stretch.1);
            }
            Kind::Step => {
                if self.steps.len() < STEPS_MAX {
                    self.steps.entry(event.name.clone()).or_insert(stretch);
                }
            }
            Kind::Nothing => {}
        }
    }

    fn head(&mut self) -> &mut Head {
        &mut self.head
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and small")]
fn process(event: &Event) -> Option<u64> {
    event.pid.filter(|pid| (0.0..9e15).contains(pid)).map(|pid| pid as u64)
}

impl OfCard {
    fn add(&mut self, kind: Kind, (from, to): Stretch) {
        match kind {
            Kind::Compute => self.compute.add(from, to),
            Kind::Exchange => self.exchange.add(from, to),
            _ => return self.copies.add(from, to),
        }
        self.kernels += 1;
        self.kernel_us += to - from;
        self.short += u64::from(to - from < SHORT_US);
    }
}

impl Gathering {
    /// Takes the name of a process: those of a card are called so by profilers that know no categories.
    fn named(&mut self, event: &Event) {
        let name = event.args.name.as_deref().filter(|_| event.name == "process_name").unwrap_or_default();
        let Some(process) = process(event).filter(|_| self.card_processes.len() < CARDS_MAX) else { return };
        if let Some((_, number)) = name.split_once("/device:GPU:") {
            let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(number) = digits.parse() {
                self.card_processes.insert(process, number);
            }
        }
    }

    /// Makes the traces of the cards; one without a card where none ran anything.
    pub(super) fn finish(self) -> Vec<Trace> {
        let Self { head, cards, data, waits, host, steps, launches, .. } = self;
        let whole = Whole {
            has_data_marks: !data.is_empty(),
            has_host: !host.is_empty() || !waits.is_empty(),
            is_coarse: data.is_coarse || waits.is_coarse || host.is_coarse,
            data: data.finish(),
            waits: waits.finish(),
            host: host.finish(),
            launches,
            cards: cards.len() as u64,
            steps,
        };
        let base = Trace {
            rank: head.rank,
            members: head.members,
            steps: whole.steps.len() as u64,
            ..Trace::default()
        };
        if cards.is_empty() {
            let alone = Trace {
                step: whole.step(),
                span: whole.step_span().map_or(Seconds(0.0), seconds),
                has_host: whole.has_host,
                ..base
            };
            return vec![alone];
        }
        let names: BTreeMap<u32, String> = head.cards.into_iter().collect();
        cards
            .into_iter()
            .map(|(number, of_card)| {
                let name = names.get(&number).cloned();
                whole.trace(of_card, Trace { card: Some(number), card_name: name, ..base.clone() })
            })
            .collect()
    }
}

/// What all cards of a trace have in common.
struct Whole {
    data: Vec<Stretch>,
    waits: Vec<Stretch>,
    host: Vec<Stretch>,
    steps: BTreeMap<String, Stretch>,
    launches: u64,
    cards: u64,
    has_data_marks: bool,
    has_host: bool,
    is_coarse: bool,
}

fn seconds((from, to): Stretch) -> Seconds {
    Seconds((to - from) / 1e6)
}

impl Whole {
    fn step(&self) -> Option<Seconds> {
        let number = self.steps.len();
        let sum: f64 = self.steps.values().map(|(from, to)| to - from).sum();
        (number > 0).then(|| Seconds(sum / number as f64 / 1e6))
    }

    fn step_span(&self) -> Option<Stretch> {
        let from = self.steps.values().map(|step| step.0).reduce(f64::min)?;
        let to = self.steps.values().map(|step| step.1).reduce(f64::max)?;
        (to > from).then_some((from, to))
    }

    fn trace(&self, of_card: OfCard, base: Trace) -> Trace {
        let is_coarse = self.is_coarse
            || of_card.compute.is_coarse
            || of_card.exchange.is_coarse
            || of_card.copies.is_coarse;
        let (compute, exchange, copies) =
            (of_card.compute.finish(), of_card.exchange.finish(), of_card.copies.finish());
        let kernels = either(&compute, &exchange);
        let works = either(&kernels, &copies);
        // Steps bound what counts: before and behind them the program starts or ends.
        let own = (works.first().map_or(0.0, |first| first.0), works.last().map_or(0.0, |last| last.1));
        let span = self.step_span().unwrap_or(own);
        let all = [span];
        let total = length(&all).max(f64::MIN_POSITIVE);
        let share = |stretches: &[Stretch]| Share((length(&both(stretches, &all)) / total).clamp(0.0, 1.0));
        let gaps = without(&all, &works);
        let idle_by = self.idle_by(&gaps, total);
        Trace {
            span: seconds(span),
            step: self.step(),
            kernels: of_card.kernels,
            kernel_mean: Seconds(of_card.kernel_us / of_card.kernels.max(1) as f64 / 1e6),
            short_kernels: Share(of_card.short as f64 / of_card.kernels.max(1) as f64),
            compute: share(&compute),
            exchange: share(&exchange),
            exchange_alone: share(&without(&exchange, &compute)),
            copies: share(&copies),
            copies_alone: share(&without(&copies, &kernels)),
            idle: Share((length(&gaps) / total).clamp(0.0, 1.0)),
            idle_by,
            host_waits: share(&self.waits),
            // One program launches for all of its cards.
            launches: self.launches / self.cards.max(1),
            gap_mean: Seconds(length(&gaps) / gaps.len().max(1) as f64 / 1e6),
            has_data_marks: self.has_data_marks,
            has_host: self.has_host,
            is_coarse,
            ..base
        }
    }

    /// Says where the time went in which the card rested.
    fn idle_by(&self, gaps: &[Stretch], total: f64) -> IdleTime {
        if !self.has_host {
            return IdleTime { unknown: Share(length(gaps) / total), ..IdleTime::default() };
        }
        let (short, long): (Vec<Stretch>, Vec<Stretch>) =
            gaps.iter().copied().partition(|(from, to)| to - from <= LAUNCH_REST_US);
        let data = both(&long, &self.data);
        let rest = without(&long, &data);
        let waits = both(&rest, &self.waits);
        let rest = without(&rest, &waits);
        let host = both(&rest, &self.host);
        let rest = without(&rest, &host);
        let share = |stretches: &[Stretch]| Share(length(stretches) / total);
        IdleTime {
            data: share(&data),
            waiting_for_card: share(&waits),
            launches: share(&short),
            host_code: share(&host),
            unknown: share(&rest),
        }
    }
}
