//! What a file has, connection by connection.

use bentpipe_units::Time;
use std::fmt;

/// What carries a connection, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// QUIC.
    Quic,
    /// UDP with something else, or with a QUIC connection whose handshake the file does not have.
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
            Self::Udp => "UDP",
        })
    }
}

/// What one end of a connection sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of packets: segments of TCP, datagrams of UDP; in qlog, packets of QUIC.
    pub packets: u64,
    /// Bytes in them, repeats included: behind the header of TCP or UDP; in qlog, those of packets
    /// of QUIC.
    pub bytes: u64,
}

/// A connection of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSummary {
    /// Number of the connection: one more than its place in the list.
    pub number: usize,
    /// What carries it.
    pub protocol: Protocol,
    /// What the file calls it. Empty in captures, which have no names.
    pub title: String,
    /// Address and port of the client: of the end that opened the connection or, if the file does
    /// not show that, of the one with the larger port. Empty if the file does not say.
    pub client: String,
    /// Address and port of the server. Empty if the file does not say.
    pub server: String,
    /// Time of its first packet, since the first packet of any connection in the file.
    pub start: Time,
    /// What the client sent.
    pub to_server: Traffic,
    /// What the server sent.
    pub to_client: Traffic,
    /// Why the connection cannot be read; `None` if it can.
    pub problem: Option<String>,
}

impl ConnectionSummary {
    /// Returns the bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.to_server.bytes.saturating_add(self.to_client.bytes)
    }
}
