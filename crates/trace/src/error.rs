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
    /// A capture has no TCP connection with data.
    NoConnection {
        /// True if it has packets that may be QUIC.
        quic: bool,
    },
    /// The connection of a capture has too many packets.
    TooManyPackets {
        /// Number of packets.
        count: usize,
        /// The limit.
        limit: usize,
    },
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
                "not a qlog file: {reason}; allowed: qlog as JSON or JSON text sequence, of QUIC, \
                 and pcap or pcapng captures of TCP"
            ),
            Self::NoConnection { quic: false } => {
                write!(f, "the capture has no TCP connection with data; allowed: one or more")
            }
            Self::NoConnection { quic: true } => write!(
                f,
                "the capture has UDP packets of port 443 and no TCP connection with data: QUIC in \
                 captures is not decrypted; allowed: TCP, or the qlog file of a QUIC endpoint"
            ),
            Self::TooManyPackets { count, limit } => write!(
                f,
                "the connection has {count} packets; allowed: at most {limit}. Capture a shorter \
                 transfer"
            ),
            Self::Empty(what) => {
                write!(f, "{what}; needed: packets in both directions with the data of a transfer")
            }
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
