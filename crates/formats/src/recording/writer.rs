//! Writing a recording.

use std::io::Write;

use gpuwhy_model::sample::Sample;
use zstd::stream::write::Encoder;

use super::RecordingError;

/// Small and quick enough that recording costs next to nothing.
const COMPRESSION_LEVEL: i32 = 3;

/// Writes samples, one after the other.
pub struct Writer<W: Write> {
    encoder: Encoder<'static, W>,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// Fails when the compressor cannot be set up.
    pub fn new(output: W) -> Result<Self, RecordingError> {
        let encoder = Encoder::new(output, COMPRESSION_LEVEL).map_err(RecordingError::Write)?;
        Ok(Self { encoder, line: Vec::new() })
    }

    /// Writes a sample; whoever reads the other end of a pipe has it when this returns.
    ///
    /// # Errors
    /// Fails when the output cannot be written.
    pub fn write(&mut self, sample: &Sample) -> Result<(), RecordingError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, sample).map_err(|error| RecordingError::Write(error.into()))?;
        self.line.push(b'\n');
        self.encoder.write_all(&self.line).map_err(RecordingError::Write)?;
        self.encoder.flush().map_err(RecordingError::Write)
    }

    /// Ends the recording and returns the output. Without it the recording counts as cut, with all its samples whole.
    ///
    /// # Errors
    /// Fails when the output cannot be written.
    pub fn finish(self) -> Result<W, RecordingError> {
        let mut output = self.encoder.finish().map_err(RecordingError::Write)?;
        output.flush().map_err(RecordingError::Write)?;
        Ok(output)
    }
}
