//! The line of `uptime`, which `top` and `w` begin with too.

use gpuwhy_model::scene::Scene;

use super::{amounts, block, scene};
use crate::Format;
use crate::paste::Line;
use crate::text::{Block, Context};

/// Reads the line, if it is one.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let text = lines.first()?.text.as_ref();
    if !text.contains(" up ") || !text.contains("load average") || text.len() > 200 {
        return None;
    }
    let mut scene = scene(Format::Uptime);
    take(text, &mut scene);
    Some(block(1, scene))
}

/// Reads since when the machine runs from `18:35:32 up 12 days,  3:04,  2 users,  load average: …`; it counts minutes.
pub(super) fn take(text: &str, scene: &mut Scene) {
    scene.window.end_boot_ns = seconds_up(text).and_then(|seconds| seconds.checked_mul(1_000_000_000));
}

/// Returns the seconds since boot; whole minutes.
fn seconds_up(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(" up ")?;
    let mut seconds = 0_u64;
    let mut is_known = false;
    let mut words = rest.split([' ', ',']).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        if let Some((hours, minutes)) = word.split_once(':') {
            let (hours, minutes): (u64, u64) = (amounts::whole(hours)?, amounts::whole(minutes)?);
            return seconds.checked_add(hours.checked_mul(3600)?)?.checked_add(minutes.checked_mul(60)?);
        }
        let (Some(number), Some(unit)) = (amounts::whole::<u64>(word), words.peek()) else {
            break;
        };
        let factor = match *unit {
            "day" | "days" => 86_400,
            "hour" | "hours" | "hr" | "hrs" => 3600,
            "min" | "mins" | "minute" | "minutes" => 60,
            "week" | "weeks" => 7 * 86_400,
            _ => break,
        };
        seconds = seconds.checked_add(number.checked_mul(factor)?)?;
        is_known = true;
        words.next();
    }
    is_known.then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::seconds_up;

    #[test]
    fn lengths_of_all_forms_are_read() {
        for (text, expected) in [
            (
                " 18:35:32 up 12 days,  3:04,  2 users,  load average: 1.00, 0.90, 0.80",
                Some(12 * 86_400 + 11_040),
            ),
            (" 18:35:32 up 5 min,  1 user,  load average: 0.00, 0.00, 0.00", Some(300)),
            ("top - 18:35:32 up  3:04,  1 user,  load average: 0.00", Some(11_040)),
            (" 18:35:32 up 1 day, 22 min,  0 users,  load average: 0.00", Some(86_400 + 1320)),
            ("18:35:32 up forever, load average: 0.00", None),
            (" 18:35:32 up 99999999999999999999 days, load average: 0", None),
        ] {
            assert_eq!(seconds_up(text), expected, "{text}");
        }
    }
}
