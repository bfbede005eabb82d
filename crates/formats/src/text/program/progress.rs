//! What training logs say of every step: how long it took, and whether the loss is still a number.

use gpuwhy_knowledge::{Phrase, Squeezed};
use gpuwhy_model::scene::{ProgramFact, Step};
use gpuwhy_model::units::Seconds;

/// Returns how long a step took, where a line says so.
pub(super) fn step(text: &str) -> Option<ProgramFact> {
    const STEMS: &[&str] =
        &["elapsed time per iteration", "samples per second", "samples/s", "Time ", "time: ", "s/it"];
    if !STEMS.iter().any(|stem| text.contains(stem)) {
        return None;
    }
    let message = Squeezed::of(text);
    let real = |phrases: &[&str]| {
        phrases.iter().find_map(|phrase| Phrase::parse(phrase)?.values(&message)?.pop()?.parse::<f64>().ok())
    };
    let milliseconds = real(&["elapsed time per iteration (ms): {real}"]).map(|took| took / 1000.0);
    let waited_for_data = real(&["Data {real} (", "data: {real} max mem", "data: {real}"]);
    // Where the wait for data stands, the time beside it is that of the step.
    let of_step = waited_for_data.and_then(|_| real(&["Time {real} (", " time: {real} data"]));
    let took = milliseconds
        .or_else(|| real(&["elapsed time per iteration (s): {real}"]))
        .or(of_step)
        .or_else(|| real(&["{real}s/it"]));
    let samples_per_s =
        real(&["samples per second: {real}", "speed: {real} samples/sec", "{real} samples/s"]);
    if took.is_none() && samples_per_s.is_none() {
        return None;
    }
    let number = real(&["Epoch: [{count}][{count}/", "iteration {count}/", "Batch [{count}]", "{count}it ["]);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers of a log")]
    Some(ProgramFact::Step(Step {
        number: number.map(|number| number as u64),
        took: took.map(Seconds),
        waited_for_data: waited_for_data.map(Seconds),
        samples_per_s,
    }))
}

/// Returns whether a line gives a loss that is not a number: `loss: nan`, `lm loss: NAN`, `'loss': nan`.
pub(super) fn loss_not_a_number(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("loss").any(|(place, _)| is_nan_next(&lower[place + "loss".len()..]))
}

/// Returns whether the next value is no number; a word or two of its name may come first.
fn is_nan_next(rest: &str) -> bool {
    /// How far the value may stand behind the word.
    const NEAR: usize = 32;
    let end = (0..=NEAR.min(rest.len())).rev().find(|place| rest.is_char_boundary(*place)).unwrap_or(0);
    let words = rest[..end]
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    for word in words.take(3) {
        if word == "nan" {
            return true;
        }
        // The scale of mixed precision is no loss; a digit is the value.
        if word == "scale" || word.starts_with(|first: char| first.is_ascii_digit()) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{ProgramFact, Step};
    use gpuwhy_model::units::Seconds;

    use super::{loss_not_a_number, step};

    #[test]
    fn steps_of_several_frameworks_are_read() {
        for (text, number, took, waited, rate) in [
            (
                "iteration   42780/ 115311 | elapsed time per iteration (s): 105.16 | samples per second: 19.474 | x",
                Some(42780),
                Some(105.16),
                None,
                Some(19.474),
            ),
            ("iteration 7/ 9 | elapsed time per iteration (ms): 25500.0 |", Some(7), Some(25.5), None, None),
            (
                "Epoch: [1][100/5005]\tTime 8.719 (0.361)\tData 8.597 (0.230)\tLoss 1.2987 (1.2753)",
                Some(100),
                Some(8.719),
                Some(8.597),
                None,
            ),
            (
                "Epoch[0] Batch [299]\tSpeed: 108.597701 samples/sec\taccuracy=0.001",
                Some(299),
                None,
                None,
                Some(108.597_701),
            ),
            ("Epoch 0: : 371it [2:20:27, 22.72s/it, loss=5.85]", Some(371), Some(22.72), None, None),
        ] {
            let expected = Step {
                number,
                took: took.map(Seconds),
                waited_for_data: waited.map(Seconds),
                samples_per_s: rate,
            };
            assert_eq!(step(text), Some(ProgramFact::Step(expected)), "{text}");
        }
        assert_eq!(step("Time to go"), None);
    }

    #[test]
    fn a_loss_that_is_no_number_is_seen() {
        for text in [
            "Epoch 1 | step 200 | loss nan | lr 3.0e-04",
            "{'loss': nan, 'grad_norm': nan}",
            "lm loss: NAN | loss scale: 1.0",
            "train_loss=nan",
            "loss value: nan",
        ] {
            assert!(loss_not_a_number(text), "{text}");
        }
        for text in [
            "lm loss: 2.117073E+00 | number of nan iterations:   0 |",
            "loss 2.3 grad_norm nan",
            "loss scale: nan",
            "loss: nano",
            "no loss at all",
        ] {
            assert!(!loss_not_a_number(text), "{text}");
        }
    }
}
