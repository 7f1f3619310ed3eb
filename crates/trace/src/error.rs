//! Why a file is not a trace.

use std::{fmt, io};

/// Error of reading or explaining a trace.
#[derive(Debug)]
pub enum TraceError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is larger than the limit, in bytes.
    TooLarge {
        /// Size of the file.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is not qlog.
    NotQlog(String),
    /// The file has no transfer to explain.
    Empty(&'static str),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::TooLarge { size, limit } => write!(
                f,
                "the file has {size} bytes; allowed: at most {limit}. Record without other events, \
                 or a shorter transfer"
            ),
            Self::NotQlog(reason) => write!(
                f,
                "not a qlog file: {reason}; allowed: qlog as JSON or JSON text sequence, of QUIC"
            ),
            Self::Empty(what) => write!(
                f,
                "{what}; needed: packet_sent and packet_received events with the frames of a \
                 transfer"
            ),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
