//! Values in few words.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::TimedValue;
use gpuwhy_model::scene::{StateShares, WaitChannel};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::{Bytes, Quantity};

pub(super) fn states(running: f64, blocked: f64, looks: usize) -> StateShares {
    StateShares { n: looks, running, blocked, sleeping: (1.0 - running - blocked).max(0.0) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of a few looks")]
pub(super) fn channels(name: Option<&str>, share: f64, looks: usize) -> Vec<WaitChannel> {
    let seen = (share * looks as f64).round() as usize;
    name.map(|name| WaitChannel { name: name.to_owned(), seen }).into_iter().collect()
}

pub(super) fn gibibytes(number: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive numbers")]
    Bytes((number * f64::from(1_u32 << 30)) as u64)
}

/// Returns the trend of memory that passes through these amounts in equal steps of time; none without any.
pub(super) fn memory_trend(amounts: &[f64], span_s: f64) -> Reading<Trend<Bytes>> {
    const POINTS: usize = 61;
    if amounts.is_empty() {
        return Reading::Unsupported;
    }
    let at = |share: f64| {
        let place = share * (amounts.len() - 1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a short list"
        )]
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        amounts[below] + (amounts[above] - amounts[below]) * place.fract()
    };
    let series: Vec<TimedValue> = (0..POINTS)
        .map(|point| {
            let share = point as f64 / (POINTS - 1) as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a short span")]
            let time_us = (share * span_s * 1e6) as u64;
            TimedValue { time_us, value: gibibytes(at(share)).0 as f64 }
        })
        .collect();
    Trend::of(&series).map_or(Reading::Unsupported, Reading::Known)
}

pub(super) fn trend<T: Quantity>(
    mean: f64,
    zeros: f64,
    n: usize,
    span_s: f64,
    unit: fn(f64) -> T,
) -> Trend<T> {
    let value = unit(mean);
    let max = if zeros > 0.0 && zeros < 1.0 { unit((mean / (1.0 - zeros)).min(100.0)) } else { value };
    Trend {
        outline: flat::<T>(mean, n, span_s).outline,
        last: value,
        mean: value,
        min: value,
        max,
        p10: value,
        p90: max,
        zeros,
        n,
        span_s,
        ..Trend::default()
    }
}

/// Returns the trend of a series that never moves.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small positive numbers")]
fn flat<T: Quantity>(value: f64, n: usize, span_s: f64) -> Trend<T> {
    let step_us = (span_s * 1e6) as u64 / (n.max(2) as u64 - 1);
    let series: Vec<TimedValue> =
        (0..n as u64).map(|place| TimedValue { time_us: place * step_us, value }).collect();
    Trend::of(&series).unwrap_or_default()
}
