//! The events of a trace, whichever stack and draft wrote them.

use bentpipe_units::{Bytes, Span, Time};

/// Longest trace of a capture, and latest start of one in its file.
pub(crate) const MAX_SPAN: Span = Span::from_secs(1_000_000);

/// The end of the connection at which a trace was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that opened the connection.
    Client,
    /// The other end.
    Server,
}

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP: its data is one stream of each direction, whose limit is the receive window.
    Tcp,
    /// QUIC.
    Quic,
}

/// A recorded connection.
#[derive(Debug, Clone)]
pub struct CapturedConnection {
    /// Its transport.
    pub transport: Transport,
    /// What the file calls the connection or the stack; may be empty.
    pub title: String,
    /// The end that recorded it.
    pub side: Side,
    /// The events that matter here, in the order of their times, the first at zero.
    pub events: Vec<(Time, Event)>,
    /// Number of records that are not events, or have a form that is not known.
    pub unreadable: usize,
    /// What the file does not show, each a sentence.
    pub notes: Vec<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A packet was sent.
    Sent(Packet),
    /// A packet was received.
    Received(Packet),
    /// A packet of the application was declared lost.
    Lost(u64),
    /// The sender's state changed. Values that did not change may be missing.
    Metrics(Metrics),
    /// The congestion controller entered a state, by its name in small letters.
    State(String),
    /// Flow control of the peer at the start of the connection.
    PeerLimits {
        /// For the whole connection.
        connection: u64,
        /// For each stream: the largest of the limits for kinds of streams.
        stream: u64,
    },
}

/// Changes of a sender's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Congestion window.
    pub window: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Option<Bytes>,
    /// Slow start threshold.
    pub ssthresh: Option<Bytes>,
}

/// Stream data in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPart {
    /// Number of the stream.
    pub stream: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet {
    /// True for 0-RTT and 1-RTT packets, false for those of the handshake.
    pub is_application: bool,
    /// Packet number.
    pub number: u64,
    /// Size of the QUIC packet in bytes.
    pub bytes: u64,
    /// Stream data.
    pub data: Vec<StreamPart>,
    /// Ranges of packet numbers that it acknowledges, ends included.
    pub acknowledged: Vec<(u64, u64)>,
    /// Limit of the connection that it announces.
    pub max_data: Option<u64>,
    /// Limits of streams that it announces.
    pub max_stream_data: Vec<(u64, u64)>,
    /// True if it says that flow control blocks the end that sent it.
    pub is_blocked: bool,
    /// True if it confirms the handshake.
    pub handshake_done: bool,
}

impl CapturedConnection {
    /// Returns the bytes of stream data of both directions, repeats included.
    pub(crate) fn stream_bytes(&self) -> u64 {
        self.events.iter().fold(0, |sum: u64, (_, event)| match event {
            Event::Sent(packet) | Event::Received(packet) => {
                sum.saturating_add(packet.stream_bytes())
            }
            _ => sum,
        })
    }
}

impl Packet {
    /// Returns the bytes of stream data.
    pub fn stream_bytes(&self) -> u64 {
        self.data.iter().map(|part| part.length).sum()
    }

    /// Returns the bytes on the wire: with the headers of IPv4 and UDP.
    pub fn wire_bytes(&self) -> u64 {
        self.bytes + 28
    }
}
