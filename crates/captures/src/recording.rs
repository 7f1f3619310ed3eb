//! A file with connections: a qlog file or a capture.

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use crate::{pcap, qlog};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest file, in bytes: a transfer of about 200 MB.
const MAX_SIZE: u64 = 512 * 1024 * 1024;
/// Largest key log, in bytes.
const MAX_KEYS: u64 = 16 * 1024 * 1024;

impl CapturedConnection {
    /// Reads a qlog file (a JSON text sequence, JSON lines, or a document, of which the first trace
    /// counts), or the connection with the most data of a pcap or pcapng capture. A connection of
    /// QUIC in a capture needs its keys: in the capture, or in the file `keys`, in the form of
    /// `SSLKEYLOGFILE`.
    ///
    /// # Errors
    /// A file cannot be read, is not a regular file or is too large; the file is neither qlog nor
    /// a capture; `keys` is given for a qlog file.
    pub fn read(path: &Path, keys: Option<&Path>) -> Result<Self, CaptureError> {
        let bytes = content(path, MAX_SIZE)?;
        let keys = match keys {
            Some(_) if !pcap::is_capture(&bytes) => return Err(CaptureError::NotCapture),
            Some(keys) => content(keys, MAX_KEYS)?,
            None => Vec::new(),
        };
        Self::parse(&bytes, &keys)
    }

    /// Reads the content of a qlog file or of a capture, with the content of a key log.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(bytes: &[u8], keys: &[u8]) -> Result<Self, CaptureError> {
        if pcap::is_capture(bytes) {
            return pcap::trace(bytes, keys);
        }
        qlog::trace_of(bytes)
    }
}

/// Reads a file of at most `limit` bytes.
fn content(path: &Path, limit: u64) -> Result<Vec<u8>, CaptureError> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(error.into());
    }
    if metadata.len() > limit {
        return Err(CaptureError::TooLarge { size: metadata.len(), limit });
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
