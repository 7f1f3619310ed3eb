//! State of a download: its file, its times and the line of output.

use crate::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

/// A download. Times count from [`Fetched::begin`], just before the first packet.
#[derive(Debug)]
pub struct Fetched {
    begin: Instant,
    handshake: Option<f64>,
    first_byte: Option<f64>,
    completion: Option<f64>,
    bytes: u64,
    file: BufWriter<File>,
}

impl Fetched {
    /// Creates the file and starts the clock.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin(output: &Path) -> Result<Self, Error> {
        let file = BufWriter::with_capacity(1 << 20, File::create(output)?);
        Ok(Self {
            begin: Instant::now(),
            handshake: None,
            first_byte: None,
            completion: None,
            bytes: 0,
            file,
        })
    }

    /// Records the end of the handshake.
    pub fn handshake_done(&mut self) {
        self.handshake = Some(self.begin.elapsed().as_secs_f64());
    }

    /// Writes bytes of the body to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn body(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let begin = self.begin;
        self.first_byte.get_or_insert_with(|| begin.elapsed().as_secs_f64());
        self.bytes += bytes.len() as u64;
        Ok(self.file.write_all(bytes)?)
    }

    /// Records the end of the body, whose length is `expected` if the server sent one.
    ///
    /// # Errors
    /// The body has another length, or the file cannot be written.
    pub fn complete(&mut self, expected: Option<u64>) -> Result<(), Error> {
        self.completion = Some(self.begin.elapsed().as_secs_f64());
        if let Some(expected) = expected.filter(|expected| *expected != self.bytes) {
            return Err(format!("received {} of {expected} bytes", self.bytes).into());
        }
        Ok(self.file.flush()?)
    }

    /// Returns the line of output, as JSON.
    pub fn line(&self) -> String {
        serde_json::json!({
            "bytes": self.bytes,
            "handshake_s": self.handshake,
            "first_byte_s": self.first_byte,
            "completion_s": self.completion,
            "protocol": "h3",
        })
        .to_string()
    }
}
