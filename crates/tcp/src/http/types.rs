//! Settings, objects and events of the applications.

use bentpipe_units::{Bytes, Priority, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The application protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// HTTP/1.1 (RFC 9112).
    H1,
    /// HTTP/2 (RFC 9113).
    #[default]
    H2,
    /// A request of 17 bytes and the object, without TLS: the baseline for protocol overhead.
    Raw,
    /// Keystrokes of a remote shell, each as large as its echo, without TLS. It follows from a
    /// workload, and is no value of a key.
    #[serde(skip)]
    Echo,
}

impl Version {
    /// Returns true if connections have TLS.
    pub fn has_tls(self) -> bool {
        match self {
            Self::H1 | Self::H2 => true,
            Self::Raw | Self::Echo => false,
        }
    }
}

/// How connections start above TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// A full TLS 1.3 handshake with certificates.
    #[default]
    Full,
    /// Resumed with a ticket: one RTT, no certificate.
    Resumed,
    /// Resumed, with the request as early data in the first flight (0-RTT, RFC 8446 §2.3).
    EarlyData,
}

/// Settings of the applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpSettings {
    /// The protocol.
    pub version: Version,
    /// Maximum number of concurrent connections. HTTP/1.1 has one exchange at a time on each
    /// (browsers use six connections). HTTP/2 uses one connection.
    pub connections: usize,
    /// HTTP/2 window of a stream.
    pub stream_window: Bytes,
    /// HTTP/2 window of the connection.
    pub connection_window: Bytes,
    /// Whether servers of HTTP/2 send in the order of the objects' priorities (RFC 9218), and not
    /// in turn.
    pub priorities: bool,
}

/// An object to download or upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Size of its content.
    pub bytes: Bytes,
    /// Indices of the objects that must be complete before this one is requested.
    pub after: Vec<usize>,
    /// Time between the completion of the last of these and the request: parsing, scripts.
    pub delay: Span,
    /// Where it comes from, and how it is answered.
    pub source: Source,
}

/// Where an object comes from, and how its server answers. The default is the first origin, which
/// answers at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Source {
    /// Number of its origin. Each origin has connections of its own.
    pub origin: usize,
    /// Time from the request at the server to the response.
    pub server_time: Span,
    /// Its priority.
    pub priority: Priority,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client, which sends requests.
    Client,
    /// The server, which answers them.
    Server,
}

impl Role {
    /// Returns the index into arrays with one element per side.
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEvent {
    /// The client's TLS (or TCP, without TLS) is ready on the first connection.
    Ready,
    /// The object was requested.
    Started(usize),
    /// This many more bytes of its content reached the receiving application.
    Received(usize, u64),
    /// The client knows that it is complete.
    Ended(usize),
}
