//! `vram-leak`: a process holds more and more memory while it does the same work.

mod noted;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Card, Client, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, Percent, Seconds, Unit};
use gpuwhy_model::verdict::Impact;

use crate::draft::Draft;
use crate::evidence::{holds, normal, once, over, reader, with_normal};
use crate::facts::cards::{Holder, displays, holders, whole_cards};
use crate::facts::culprit;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};
use crate::statistics::robust_slope;

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/vram_leak.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::VramLeak,
    needs: Needs {
        // How long must be looked is a limit.
        span: Span::NONE,
        samples: 1,
        signals: &[Signal::VramGrowth, Signal::VramByProcess, Signal::GpuWorkByProcess, Signal::ProcessAge],
    },
    check,
};

/// Fewer points do not show whether a series rises all the time.
const POINTS_MIN: usize = 8;

/// In a series that rises all the time, at least this share of all pairs of points rises.
const RISING_SHARE_MIN: f64 = 0.85;

/// Each third of the series rises by at least this part of what a straight line would: a warm-up ends, a leak goes on.
const THIRD_SHARE_MIN: f64 = 0.5;

/// Work that became this many times as much may need more memory.
const MORE_WORK: f64 = 1.5;

/// A look at a part of the span that would decide, from which on a possibility is worth naming.
const HINT_SHARE: f64 = 0.25;

/// How memory grows.
struct Growth {
    /// By how much, in bytes.
    bytes: f64,
    /// How fast, in bytes a second.
    per_second: f64,
    n: usize,
    span_s: f64,
}

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    noted::check(scene, findings);
    let mut clients = scene.cards.iter().flat_map(Card::known_clients);
    if !clients.any(|client| is_watched_long_enough(client, limits)) {
        return;
    }
    for card in whole_cards(scene) {
        let mut programs = holders(scene, card);
        programs.extend(displays(scene, card));
        for holder in programs {
            judge(scene, &holder, limits, findings);
        }
    }
}

/// Returns whether what a client holds was watched for long enough to say at least that it may be a leak.
fn is_watched_long_enough(client: &Client, limits: &Limits) -> bool {
    client.memory_trend.known().is_some_and(|trend| trend.span_s >= limits.leak_span_s * HINT_SHARE)
}

fn judge(scene: &Scene, holder: &Holder<'_>, limits: &Limits, findings: &mut Findings) {
    let Some(trend) = holder.client.memory_trend.known() else {
        return;
    };
    let total = holder.card.memory.known().map_or(0, |memory| memory.total.0) as f64;
    if total <= 0.0 || !is_watched_long_enough(holder.client, limits) {
        return;
    }
    let Some(growth) = growth(trend) else {
        return;
    };
    let is_fast = growth.per_second * 60.0 >= total * limits.leak_minute_share_min;
    if !is_fast || growth.bytes < total * limits.leak_growth_share_min {
        return;
    }
    if !rises_all_the_time(trend, &growth) {
        // Allocators warm up in steps, and then stay where they are.
        findings.rule_out(Signal::VramGrowth, Some(holder.card.parent.unwrap_or(holder.card.index)));
        return;
    }
    findings.report(draft(scene, holder, &growth, limits));
}

fn growth(trend: &Trend<Bytes>) -> Option<Growth> {
    let points: Vec<(f64, f64)> = trend.outline.points().collect();
    if points.len() < POINTS_MIN {
        return None;
    }
    let slope = robust_slope(&points)?;
    let (first, last) = (points.first()?, points.last()?);
    (slope.slope > 0.0 && slope.rising >= RISING_SHARE_MIN).then_some(Growth {
        bytes: last.1 - first.1,
        per_second: slope.slope,
        n: trend.n,
        span_s: trend.span_s,
    })
}

/// Returns whether each third of the series rises about as much as the others.
fn rises_all_the_time(trend: &Trend<Bytes>, growth: &Growth) -> bool {
    let points: Vec<(f64, f64)> = trend.outline.points().collect();
    let last = points.len() - 1;
    [0, last / 3, last * 2 / 3, last].windows(2).all(|ends| {
        let ((begin_s, begin), (end_s, end)) = (points[ends[0]], points[ends[1]]);
        end - begin >= (end_s - begin_s) * growth.per_second * THIRD_SHARE_MIN
    })
}

fn draft(scene: &Scene, holder: &Holder<'_>, growth: &Growth, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, holder.card, summary(holder, growth));
    draft.agree(4.0, growth_evidence(scene, holder, growth, limits));
    draft.balance.rest_on(growth.n, growth.span_s);
    draft.agree(1.0, holds(scene, holder));
    weigh_work(scene, holder, &mut draft);
    weigh_age(holder, growth, &mut draft);
    if growth.span_s < limits.leak_span_s {
        draft.possible_until(limits.leak_span_s);
    }
    draft.finding.impact = Impact { bytes_held: bytes(growth.bytes).0, ..Impact::default() };
    let target = culprit::target(holder.client.pid);
    draft.advise(Action::ImproveProgram, vec![target.clone()], text::fix_find());
    draft.advise(Action::AskOwner, vec![target], text::fix_restart());
    draft.culprits(culprit::culprits(scene, &[*holder]), vec![holder.client.pid])
}

/// Returns the growth in words: by how much, and when the card will be full.
fn summary(holder: &Holder<'_>, growth: &Growth) -> Text {
    let (by, over_s) = (bytes(growth.bytes), Seconds(growth.span_s));
    let free = holder.card.memory.known().map_or(0, |memory| memory.free.0) as f64;
    if free > 0.0 {
        return text::summary(by, Seconds(free / growth.per_second), over_s);
    }
    text::summary_full(by, over_s)
}

fn growth_evidence(scene: &Scene, holder: &Holder<'_>, growth: &Growth, limits: &Limits) -> Evidence {
    let total = holder.card.memory.known().map_or(0, |memory| memory.total.0) as f64;
    let a_minute = bytes(growth.per_second * 60.0);
    let words = text::grows(bytes(growth.bytes), a_minute);
    let evidence = once(Signal::VramGrowth, a_minute.0, Unit::Bytes, reader(scene, Reader::Nvml), words);
    let usual = normal(Comparison::Less, total * limits.leak_minute_share_min);
    with_normal(over(evidence, growth.n, growth.span_s), usual)
}

/// Weighs whether its work grew too: more requests may need more memory.
fn weigh_work(scene: &Scene, holder: &Holder<'_>, draft: &mut Draft) {
    let Some((early, late, trend)) = holder.client.sm.known().and_then(|trend| {
        let points: Vec<f64> = trend.outline.points().map(|point| point.1).collect();
        (points.len() >= POINTS_MIN).then(|| (points[0], points[points.len() - 1], trend))
    }) else {
        draft.silent(1.0);
        return;
    };
    let grew = late > early * MORE_WORK && late - early > 5.0;
    let words = if grew {
        text::work_grew(Percent(early), Percent(late))
    } else {
        text::work_stays(Percent(trend.mean.0))
    };
    let reader = reader(scene, Reader::NvmlSamples);
    let evidence =
        over(once(Signal::GpuWorkByProcess, late, Unit::Percent, reader, words), trend.n, trend.span_s);
    if grew { draft.contradict(1.5, evidence) } else { draft.agree(1.0, evidence) }
}

/// Weighs its age: what grew all its short life may still be warming up.
fn weigh_age(holder: &Holder<'_>, growth: &Growth, draft: &mut Draft) {
    let age_s = holder.process.and_then(|process| process.age.known()).map(|age| age.0);
    match age_s {
        Some(age_s) if age_s >= growth.span_s * 2.0 => {
            let words = text::is_old(Seconds(age_s));
            draft.agree(0.5, once(Signal::ProcessAge, age_s, Unit::Seconds, Reader::ProcPid, words));
        }
        _ => draft.silent(0.5),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts of memory, above 0")]
fn bytes(amount: f64) -> Bytes {
    Bytes(amount.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::TimedValue;
    use gpuwhy_model::trend::Trend;
    use gpuwhy_model::units::Bytes;

    use super::{growth, rises_all_the_time};

    const STEP: f64 = 1e8;

    fn leaks(value: impl Fn(f64) -> f64) -> bool {
        let series: Vec<TimedValue> = (0..60_u32)
            .map(|second| TimedValue {
                time_us: u64::from(second) * 1_000_000,
                value: 1e9 + value(f64::from(second)),
            })
            .collect();
        let trend = Trend::<Bytes>::of(&series).unwrap();
        growth(&trend).is_some_and(|growth| rises_all_the_time(&trend, &growth))
    }

    #[test]
    fn steady_growth_is_a_leak_also_by_small_steps() {
        assert!(leaks(|second| second * STEP));
        assert!(leaks(|second| (second / 3.0).floor() * STEP));
    }

    #[test]
    fn a_warm_up_a_step_and_a_saw_tooth_are_none() {
        assert!(!leaks(|second| second.min(20.0) * STEP), "grows, and stays");
        assert!(!leaks(|second| if second < 30.0 { 0.0 } else { 9.0 * STEP }), "one step");
        assert!(!leaks(|second| (second / 20.0).floor() * STEP), "two steps");
        assert!(!leaks(|second| (1.0 - (-second / 8.0).exp()) * 40.0 * STEP), "ever slower");
        assert!(!leaks(|second| (second % 10.0) * STEP), "taken and given back");
        assert!(!leaks(|_| 0.0), "stands still");
    }
}
