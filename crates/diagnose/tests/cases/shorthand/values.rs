//! Values in few words.

use gpuwhy_model::scene::{StateShares, WaitChannel};
use gpuwhy_model::trend::Trend;
use gpuwhy_model::units::Bytes;

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

pub(super) fn trend<T: Copy + Default>(
    mean: f64,
    zeros: f64,
    n: usize,
    span_s: f64,
    unit: fn(f64) -> T,
) -> Trend<T> {
    let value = unit(mean);
    let max = if zeros > 0.0 && zeros < 1.0 { unit((mean / (1.0 - zeros)).min(100.0)) } else { value };
    Trend {
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
