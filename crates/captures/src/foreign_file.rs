//! A file of others, whichever it is.

use crate::decompress::decompressed;
use crate::error::CaptureError;
use crate::har::HarLog;
use crate::recording::Recording;
use crate::source::{MAX_SIZE, content};
use crate::tcp_info::TcpInfoLog;
use std::path::Path;

/// What a file has.
#[derive(Debug)]
pub enum ForeignFile {
    /// Connections with their packets: a qlog file, a NetLog or a capture.
    Recording(Recording),
    /// Requests without packets.
    Har(HarLog),
    /// Samples of sockets of TCP.
    TcpInfo(TcpInfoLog),
}

impl ForeignFile {
    /// Reads a file; the path `-` is standard input. See [`Recording::open`] for `keys`.
    ///
    /// # Errors
    /// The file cannot be read, or is none of these.
    pub fn open(path: &Path, keys: Option<&Path>) -> Result<Self, CaptureError> {
        let bytes = decompressed(content(path, MAX_SIZE)?, MAX_SIZE)?;
        let is_har = HarLog::is_har(&bytes);
        if (is_har || TcpInfoLog::is_log(&bytes)) && keys.is_some() {
            return Err(CaptureError::NotCapture);
        }
        if is_har {
            return HarLog::parse(&bytes).map(Self::Har);
        }
        if TcpInfoLog::is_log(&bytes) {
            return TcpInfoLog::parse(&bytes).map(Self::TcpInfo);
        }
        Recording::with_keys(bytes, keys).map(Self::Recording)
    }
}
