//! Samples of a recording.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use gpuwhy_formats::recording::{End, Reader, RecordingError};
use gpuwhy_formats::{Format, recognise};
use gpuwhy_model::sample::Sample;
use gpuwhy_model::text::Arg;
use gpuwhy_render::message;

use super::{input_name, is_standard};
use crate::failure::Failure;
use crate::output;
use crate::speech::Speech;

/// Which part of a recording is looked at, from its start on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cut {
    /// Where it begins.
    pub(crate) from: Duration,
    /// How long it is; none: to the end.
    pub(crate) duration: Option<Duration>,
}

/// Reads a recording and cuts the window that is to be judged.
///
/// A recording that was cut off is used as far as it goes, with a remark on standard error.
///
/// # Errors
/// Fails when the recording cannot be read or the window holds no sample.
pub(crate) fn samples(path: &Path, cut: Cut, speech: &Speech) -> Result<Vec<Sample>, Failure> {
    let input: Box<dyn Read> = if is_standard(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(
            File::open(path)
                .map_err(|error| Failure::new(message::cannot_read(input_name(path))).because(&error))?,
        )
    };
    let mut reader = Reader::new(input).map_err(|error| cannot_replay(path, &error))?;
    let mut samples = Vec::new();
    while let Some(sample) = reader.next_sample().map_err(|error| cannot_replay(path, &error))? {
        samples.push(sample);
    }
    if reader.end() == Some(End::Cut) {
        output::note(message::cut_recording(samples.len(), input_name(path)), &speech.words());
    }
    cut_window(samples, cut).map_err(|span| {
        let seconds = |duration: Duration| Arg::Seconds(duration.as_secs_f64());
        let what = match cut.duration {
            Some(duration) => {
                message::empty_cut(seconds(cut.from), input_name(path), seconds(cut.from + duration))
            }
            None => message::empty_end(seconds(cut.from), input_name(path)),
        };
        Failure::new(what).hint(message::hint_length(Arg::Seconds(span)))
    })
}

/// Returns the samples within the cut, or the length of the recording in seconds if there are none.
fn cut_window(mut samples: Vec<Sample>, cut: Cut) -> Result<Vec<Sample>, f64> {
    let Some(first) = samples.first().map(|sample| sample.taken) else {
        return Err(0.0);
    };
    let span = samples.last().map_or(0.0, |last| last.taken.seconds_since(&first));
    let from = cut.from.as_secs_f64();
    let until = cut.duration.map_or(f64::INFINITY, |duration| from + duration.as_secs_f64());
    samples.retain(|sample| {
        let place = sample.taken.seconds_since(&first);
        place >= from && place <= until
    });
    if samples.is_empty() { Err(span) } else { Ok(samples) }
}

fn cannot_replay(path: &Path, error: &RecordingError) -> Failure {
    let failure = Failure::new(message::cannot_replay(input_name(path))).because(error);
    let is_other_text = matches!(error, RecordingError::Foreign { .. }) && !is_standard(path);
    if is_other_text && starts_as_nvidia_smi(path) {
        return failure.hint(message::hint_read(input_name(path)));
    }
    failure
}

/// Returns whether a file looks like the output of `nvidia-smi -q -x`.
fn starts_as_nvidia_smi(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && recognise(&start) == Some(Format::NvidiaSmiXml)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gpuwhy_model::sample::{ReadTime, Sample};

    use super::{Cut, cut_window};

    fn seconds(samples: &[Sample]) -> Vec<u64> {
        samples.iter().map(|sample| sample.taken.boot_ns / 1_000_000_000).collect()
    }

    fn ten_samples() -> Vec<Sample> {
        (100..110)
            .map(|second| Sample::empty(ReadTime { boot_ns: second * 1_000_000_000, ..ReadTime::default() }))
            .collect()
    }

    #[test]
    fn a_window_is_cut_from_the_start_of_the_recording() {
        let cut = |from, duration: Option<u64>| {
            let cut = Cut { from: Duration::from_secs(from), duration: duration.map(Duration::from_secs) };
            cut_window(ten_samples(), cut)
        };
        assert_eq!(seconds(&cut(0, None).unwrap()).len(), 10);
        assert_eq!(seconds(&cut(7, None).unwrap()), [107, 108, 109]);
        assert_eq!(seconds(&cut(2, Some(2)).unwrap()), [102, 103, 104]);
        assert_eq!(cut(20, None), Err(9.0));
    }
}
