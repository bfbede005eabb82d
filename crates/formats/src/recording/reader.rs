//! Reading a recording.

use std::io::{self, Read};

use gpuwhy_model::sample::{SAMPLE_SCHEMA, Sample};
use serde::Deserialize;

use super::derived::derive;
use super::input::Input;
use super::masking::mask;
use super::validity::{Impossible, impossible};
use super::{RecordingError, SAMPLE_START};

/// No sample of a real machine comes near this many bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// The most that is unpacked of one recording, in bytes.
const MOST_UNPACKED: u64 = 2 << 30;

/// How a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As its writer meant it.
    Complete,
    /// Its writer was stopped, or the rest was cut off: all samples that were returned are whole.
    Cut,
}

/// Reads samples, one after the other.
pub struct Reader<R: Read> {
    input: Input<R>,
    line: Vec<u8>,
    lines: u64,
    samples: u64,
    unpacked: u64,
    end: Option<End>,
    is_over: bool,
}

/// The only part of a line that other schemas are expected to share.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

impl<R: Read> Reader<R> {
    /// Begins to read; blocks until the first bytes are there.
    ///
    /// # Errors
    /// Fails when the input cannot be read.
    pub fn new(input: R) -> Result<Self, RecordingError> {
        let input = Input::new(input).map_err(|source| RecordingError::Read { samples: 0, source })?;
        Ok(Self { input, line: Vec::new(), lines: 0, samples: 0, unpacked: 0, end: None, is_over: false })
    }

    /// Returns the next sample; none at the end, and then [`Reader::end`] says how it ended.
    ///
    /// # Errors
    /// Fails when the input is no recording, is damaged in the middle, or holds no whole sample at all. Nothing comes
    /// after an error.
    pub fn next_sample(&mut self) -> Result<Option<Sample>, RecordingError> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.read_sample();
        self.is_over = !matches!(next, Ok(Some(_)));
        next
    }

    fn read_sample(&mut self) -> Result<Option<Sample>, RecordingError> {
        while self.end.is_none() {
            self.read_line()?;
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            match self.sample() {
                Ok(sample) => {
                    self.samples += 1;
                    return Ok(Some(sample));
                }
                Err(error @ RecordingError::Impossible { .. }) => return Err(error),
                Err(_) if self.is_cut_sample() => self.end = Some(End::Cut),
                Err(error) => return Err(error),
            }
        }
        if self.samples == 0 { Err(RecordingError::Empty) } else { Ok(None) }
    }

    /// Returns how the recording ended; none before its end was reached.
    pub const fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns whether the line is the last one and can be the begin of a sample.
    fn is_cut_sample(&self) -> bool {
        let beginning = &self.line[..self.line.len().min(SAMPLE_START.len())];
        self.end.is_some() && SAMPLE_START.starts_with(beginning)
    }

    /// Reads one line; at the end of the input sets how it ended.
    fn read_line(&mut self) -> Result<(), RecordingError> {
        self.line.clear();
        self.lines += 1;
        let read = self.input.read_line(&mut self.line, LONGEST_LINE);
        self.unpacked += self.line.len() as u64;
        if self.unpacked > MOST_UNPACKED {
            return Err(RecordingError::TooLarge { most: MOST_UNPACKED });
        }
        match read {
            Ok(_) if self.line.ends_with(b"\n") => Ok(()),
            Ok(read) if read as u64 >= LONGEST_LINE => {
                Err(RecordingError::LineTooLong { line: self.lines, most: LONGEST_LINE })
            }
            Ok(_) => {
                self.end = Some(End::Complete);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.end = Some(End::Cut);
                Ok(())
            }
            Err(source) if self.input.is_compressed() => {
                Err(RecordingError::Damaged { samples: self.samples, source })
            }
            Err(source) => Err(RecordingError::Read { samples: self.samples, source }),
        }
    }

    /// Understands the line that was read.
    fn sample(&self) -> Result<Sample, RecordingError> {
        let line = self.lines;
        match serde_json::from_slice::<Sample>(&self.line) {
            Ok(mut sample) if sample.schema == SAMPLE_SCHEMA => {
                if let Some(Impossible { field, value }) = impossible(&sample) {
                    return Err(RecordingError::Impossible { line, field, value });
                }
                mask(&mut sample);
                derive(&mut sample);
                Ok(sample)
            }
            Ok(sample) => Err(RecordingError::Schema { line, found: sample.schema }),
            Err(source) => Err(match serde_json::from_slice(&self.line) {
                Ok(Head { schema: Some(found) }) if found != SAMPLE_SCHEMA => {
                    RecordingError::Schema { line, found }
                }
                _ if self.samples == 0 && !self.line.starts_with(SAMPLE_START) => {
                    RecordingError::Foreign { line, source }
                }
                _ => RecordingError::Syntax { line, source },
            }),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Sample, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_sample().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{
        KernelFact, KernelLine, ProcessRole, ProcessSample, ProcessTable, ReadTime, Sample,
    };

    use super::{End, Reader};
    use crate::recording::{RecordingError, SAMPLE_START, Writer};

    fn sample(boot_ns: u64) -> Sample {
        let mut sample = Sample::empty(ReadTime { boot_ns, ..ReadTime::default() });
        let text = format!("NVRM: line {boot_ns}");
        sample.kernel_log.value =
            Reading::Known(vec![KernelLine { boot_us: boot_ns, text, ..KernelLine::default() }]);
        sample
    }

    fn recorded(number: u64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for boot_ns in 0..number {
            writer.write(&sample(boot_ns)).unwrap();
        }
        writer.finish().unwrap()
    }

    fn plain(number: u64) -> Vec<u8> {
        let mut lines = Vec::new();
        for boot_ns in 0..number {
            serde_json::to_writer(&mut lines, &sample(boot_ns)).unwrap();
            lines.push(b'\n');
        }
        lines
    }

    fn read(bytes: &[u8]) -> Result<(Vec<Sample>, Option<End>), RecordingError> {
        let mut reader = Reader::new(bytes)?;
        let mut samples = Vec::new();
        while let Some(sample) = reader.next_sample()? {
            samples.push(sample);
        }
        Ok((samples, reader.end()))
    }

    #[test]
    fn what_was_written_is_read() {
        let (samples, end) = read(&recorded(3)).unwrap();
        assert_eq!(samples, [sample(0), sample(1), sample(2)]);
        assert_eq!(end, Some(End::Complete));
    }

    #[test]
    fn lines_that_are_not_compressed_are_read() {
        let lines = plain(2);
        assert!(lines.starts_with(SAMPLE_START));
        assert_eq!(read(&lines).unwrap(), (vec![sample(0), sample(1)], Some(End::Complete)));
        let without_line_end = &lines[..lines.len() - 1];
        assert_eq!(read(without_line_end).unwrap(), (vec![sample(0), sample(1)], Some(End::Complete)));
    }

    #[test]
    fn recordings_may_follow_each_other() {
        let both = [recorded(2), recorded(1)].concat();
        assert_eq!(read(&both).unwrap().0.len(), 3);
    }

    #[test]
    fn a_cut_recording_gives_its_whole_samples() {
        for whole in [recorded(3), plain(3)] {
            let mut counts = Vec::new();
            for length in 5..whole.len() {
                match read(&whole[..length]) {
                    Ok((samples, end)) => {
                        assert!(samples.iter().zip(0..).all(|(one, boot_ns)| *one == sample(boot_ns)));
                        // Lines that were never compressed do not tell that more were meant to come.
                        let may_look_whole =
                            whole == plain(3) && whole[..length].trim_ascii_end().ends_with(b"}");
                        assert!(end == Some(End::Cut) || may_look_whole, "{length}");
                        counts.push(samples.len());
                    }
                    Err(RecordingError::Empty) => assert!(counts.is_empty(), "{length}"),
                    Err(error) => panic!("{length}: {error}"),
                }
            }
            assert!(counts.is_sorted());
            assert_eq!(counts.last(), Some(&3), "the last byte is a line end, or ends the frame");
        }
    }

    #[test]
    fn something_else_is_refused() {
        let foreign = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(foreign(b""), "the recording holds no whole sample");
        assert_eq!(foreign(b"hello\n"), "not a recording: line 1 is no sample of gpuwhy");
        assert_eq!(foreign(b"{\"a\":1}"), "not a recording: line 1 is no sample of gpuwhy");
        assert_eq!(foreign(b"\x1f\x8b\x08\xff\xff"), "not a recording: line 1 is no sample of gpuwhy");
        assert_eq!(
            foreign(b"{\"schema\":\"gpuwhy.sample/2\"}\n"),
            "line 1: expected schema `gpuwhy.sample/1`, found `gpuwhy.sample/2`"
        );
        assert_eq!(
            foreign(b"{\"schema\":\"gpuwhy.report/1\",\"findings\":[]}"),
            "line 1: expected schema `gpuwhy.sample/1`, found `gpuwhy.report/1`"
        );
    }

    #[test]
    fn a_broken_middle_is_an_error_and_the_last_word() {
        let lines = [plain(1), b"{\"schema\":\"gpuwhy.sample/1\",\n".to_vec(), plain(1)].concat();
        let mut reader = Reader::new(lines.as_slice()).unwrap();
        assert!(reader.next_sample().unwrap().is_some());
        assert_eq!(reader.next_sample().unwrap_err().to_string(), "the recording is broken at line 2");
        assert!(reader.next_sample().unwrap().is_none());

        let mut damaged = recorded(3);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0xff);
        assert!(matches!(
            read(&damaged),
            Err(RecordingError::Damaged { .. }
                | RecordingError::Syntax { .. }
                | RecordingError::Foreign { .. })
        ));
    }

    #[test]
    fn a_number_that_cannot_be_is_refused_with_its_place() {
        let mut open = sample(1);
        open.taken.boot_ns = u64::MAX;
        let lines = [plain(1), serde_json::to_vec(&open).unwrap()].concat();
        assert_eq!(
            read(&lines).unwrap_err().to_string(),
            "the recording is broken at line 2: `taken.boot_ns` cannot be 18446744073709551615"
        );
    }

    #[test]
    fn text_of_others_is_masked_when_read() {
        let mut open = sample(1);
        if let Reading::Known(lines) = &mut open.kernel_log.value {
            lines[0].text = "NVRM: password=hunter2".to_owned();
        }
        let line = serde_json::to_vec(&open).unwrap();
        let (samples, _) = read(&line).unwrap();
        assert_eq!(samples[0].kernel_log.value.known().unwrap()[0].text, "NVRM: password=***");
    }

    #[test]
    fn what_is_made_of_other_values_is_made_anew() {
        let mut open = sample(1);
        let name = "password=hunter2".to_owned();
        let stranger = KernelFact::HungTask { name, pid: Pid(1), seconds: 1, waits_for_io: false };
        if let Reading::Known(lines) = &mut open.kernel_log.value {
            lines[0].fact = Some(stranger);
        }
        let process = ProcessSample { name: "torchrun".to_owned(), ..ProcessSample::default() };
        let table = ProcessTable { processes: vec![process], ..ProcessTable::default() };
        open.processes.value = Reading::Known(table);
        let line = serde_json::to_vec(&open).unwrap();
        let (samples, _) = read(&line).unwrap();
        assert_eq!(samples[0].kernel_log.value.known().unwrap()[0].fact, None);
        let process = &samples[0].processes.value.known().unwrap().processes[0];
        assert_eq!(process.role, Some(ProcessRole::Launcher));
    }

    #[test]
    fn a_pipe_delivers_each_sample_when_it_was_written() {
        let (input, output) = io::pipe().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let other_end = std::thread::spawn(move || {
            let mut reader = Reader::new(input).unwrap();
            while let Some(sample) = reader.next_sample().unwrap() {
                sender.send(sample.taken.boot_ns).unwrap();
            }
            reader.end()
        });
        let deadline = std::time::Duration::from_secs(20);
        let mut writer = Writer::new(output).unwrap();
        for boot_ns in 0..4 {
            writer.write(&sample(boot_ns)).unwrap();
            assert_eq!(receiver.recv_timeout(deadline), Ok(boot_ns));
        }
        drop(writer.finish().unwrap());
        assert_eq!(other_end.join().unwrap(), Some(End::Complete));
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 19).unwrap();
        io::copy(&mut io::repeat(b' ').take(super::LONGEST_LINE + 1), &mut encoder).unwrap();
        encoder.flush().unwrap();
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 64 * 1024);
        assert!(matches!(read(&bomb), Err(RecordingError::LineTooLong { line: 1, .. })));
    }

    #[test]
    fn numbers_come_back_exactly() {
        let mut exact = sample(1);
        let mut table = gpuwhy_model::sample::ProcessTable::default();
        table.cgroups.push(gpuwhy_model::sample::CgroupSample {
            cpu_quota_cores: Reading::Known(0.1 + 0.2),
            ..Default::default()
        });
        exact.processes.value = Reading::Known(table);
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.write(&exact).unwrap();
        assert_eq!(read(&writer.finish().unwrap()).unwrap().0, [exact]);
    }
}
