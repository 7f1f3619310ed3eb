//! Why a file is not a trace.

use std::{fmt, io};

/// Error of reading or explaining a trace.
#[derive(Debug)]
pub enum CaptureError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is larger than the limit, in bytes.
    TooLarge {
        /// Size of the file, if it is known.
        size: Option<u64>,
        /// The limit.
        limit: u64,
    },
    /// The file is compressed and becomes larger than the limit, in bytes.
    TooLargeDecompressed {
        /// The limit.
        limit: u64,
    },
    /// Keys were given for a file that is not a capture.
    NotCapture,
    /// The file is not qlog.
    NotQlog(String),
    /// The file is not an HTTP Archive with requests.
    NotHar(String),
    /// The file is not a log of `ss`.
    NotTcpInfo(String),
    /// A capture has no TCP or QUIC connection with data.
    NoConnection {
        /// What it has.
        found: String,
    },
    /// A connection of UDP has no handshake of QUIC.
    NoHandshake,
    /// The file has no connection of this number.
    NoSuchConnection {
        /// The number, from 1 on.
        number: usize,
        /// Number of connections of the file.
        of: usize,
    },
    /// The file has no transfer to explain.
    Empty(&'static str),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::TooLarge { size, limit } => {
                match size {
                    Some(size) => write!(f, "the file has {size} bytes")?,
                    None => write!(f, "it has more than {limit} bytes")?,
                }
                write!(
                    f,
                    "; allowed: at most {limit}. Record without other events, the first bytes of \
                     packets only (`tcpdump -s 128`), or a shorter transfer"
                )
            }
            Self::TooLargeDecompressed { limit } => write!(
                f,
                "the file has more than {limit} bytes when it is decompressed; allowed: at most \
                 {limit}. Record a shorter transfer"
            ),
            Self::NotCapture => {
                write!(f, "not a capture; allowed with `--keys`: pcap or pcapng")
            }
            Self::NotQlog(reason) => write!(
                f,
                "not a qlog file: {reason}; allowed: qlog as JSON or JSON text sequence, of QUIC, \
                 NetLogs of Chromium with QUIC sessions, HTTP Archives, output of `ss -tin`, and \
                 pcap or pcapng captures of TCP or QUIC"
            ),
            Self::NoConnection { found } => {
                write!(f, "the capture has no TCP or QUIC connection with data, but {found}")
            }
            Self::NotHar(reason) => {
                write!(f, "not an HTTP Archive: {reason}; allowed: HAR 1.2 with requests")
            }
            Self::NotTcpInfo(reason) => write!(
                f,
                "not a log of TCP sockets: {reason}; allowed: output of `ss -tinO` or `ss -tin`, \
                 repeated, with a line with the time before each"
            ),
            Self::NoHandshake => write!(
                f,
                "the capture has no handshake of QUIC; allowed: TCP, and QUIC from its first \
                 packet on"
            ),
            Self::NoSuchConnection { number, of } => {
                write!(f, "the file has no connection {number}; allowed: 1 to {of}")
            }
            Self::Empty(what) => {
                write!(f, "{what}; needed: packets in both directions with the data of a transfer")
            }
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
