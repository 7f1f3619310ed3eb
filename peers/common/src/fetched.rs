//! A download as it goes: its file, its times, and the line that is printed at its end.

use crate::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

/// A download. Times count from [`Fetched::begin`], which comes right before the first packet.
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
    /// Opens the file, and begins to count time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(output: &Path) -> Result<Self, Error> {
        let file = BufWriter::with_capacity(1 << 20, File::create(output)?);
        Ok(Self { begin: Instant::now(), handshake: None, first_byte: None, completion: None, bytes: 0, file })
    }

    /// The handshake is done.
    pub fn handshake_done(&mut self) {
        self.handshake = Some(self.begin.elapsed().as_secs_f64());
    }

    /// Bytes of the body.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn body(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let begin = self.begin;
        self.first_byte.get_or_insert_with(|| begin.elapsed().as_secs_f64());
        self.bytes += bytes.len() as u64;
        Ok(self.file.write_all(bytes)?)
    }

    /// All of it has come: `expected` bytes, where the server said so.
    ///
    /// # Errors
    /// It is not whole, or cannot be written.
    pub fn complete(&mut self, expected: Option<u64>) -> Result<(), Error> {
        self.completion = Some(self.begin.elapsed().as_secs_f64());
        if let Some(expected) = expected.filter(|expected| *expected != self.bytes) {
            return Err(format!("{} bytes of {expected}", self.bytes).into());
        }
        Ok(self.file.flush()?)
    }

    /// What is printed.
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
