//! The events of a trace, whichever stack and draft wrote them.

use crate::list::List;
use bentpipe_units::{Bytes, Span, Time};
use std::ops::{Deref, DerefMut};

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
    /// What names the connection at both of its ends: the initial sequence numbers of TCP, or the
    /// ID that the client's first packet of QUIC goes to. Empty if the file does not have it.
    pub ids: Vec<String>,
    /// The end that recorded it.
    pub side: Side,
    /// True if the packets of the application were not decrypted. Their sizes, times and directions
    /// are as recorded; their stream data (one stream in each direction) and what they acknowledge
    /// are estimates, and losses are not seen.
    pub is_encrypted: bool,
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
    /// Transport parameters of an end.
    Parameters(Box<TransportParameters>),
    /// The header section of a request or response of HTTP/3.
    Http(Box<HttpMessage>),
    /// The largest size of a packet that the path carries, as the end that recorded it found.
    Mtu(Bytes),
    /// A packet of the application that had been declared lost was acknowledged.
    SpuriousLoss(u64),
}

/// Transport parameters (RFC 9000 §18.2), those that a file has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransportParameters {
    /// True if they are those of the end that recorded the trace.
    pub is_local: bool,
    /// Idle time after which the connection ends; zero if it never does.
    pub max_idle_timeout: Option<Span>,
    /// Largest packet that it receives, in bytes.
    pub max_udp_payload_size: Option<u64>,
    /// Data that it receives on all streams without a MAX_DATA frame, in bytes.
    pub initial_max_data: Option<u64>,
    /// Data that it receives on a bidirectional stream that it opened, in bytes.
    pub initial_max_stream_data_bidi_local: Option<u64>,
    /// Data that it receives on a bidirectional stream that the peer opened, in bytes.
    pub initial_max_stream_data_bidi_remote: Option<u64>,
    /// Data that it receives on a unidirectional stream, in bytes.
    pub initial_max_stream_data_uni: Option<u64>,
    /// Number of bidirectional streams that the peer may open.
    pub initial_max_streams_bidi: Option<u64>,
    /// Exponent of the ACK delays that it sends: their unit is this power of two, in microseconds.
    pub ack_delay_exponent: Option<u64>,
    /// Longest time for which it holds acknowledgements back.
    pub max_ack_delay: Option<Span>,
}

/// The header section of a request or response of HTTP/3 (RFC 9114 §4.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpMessage {
    /// Number of the stream.
    pub stream: u64,
    /// True if the end that recorded the trace sent it.
    pub is_sent: bool,
    /// Method of a request.
    pub method: Option<String>,
    /// Host of a request, with its port.
    pub authority: Option<String>,
    /// Path of a request.
    pub path: Option<String>,
    /// Status of a response.
    pub status: Option<u16>,
    /// Length of the content, in bytes, as announced.
    pub content_length: Option<u64>,
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
    /// The last RTT, as the sender measured it.
    pub latest_rtt: Option<Span>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Span>,
    /// Smallest RTT.
    pub min_rtt: Option<Span>,
}

/// How a direction of a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// After the data (FIN).
    Fin,
    /// By the sender, without the rest of the data (RESET_STREAM).
    Reset,
    /// The receiver does not want the rest of the data (STOP_SENDING).
    Stopped,
}

/// Counts of packets by their ECN marks, as an acknowledgement has them (RFC 9000 §19.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u32,
    /// Packets with ECT(1).
    pub ect1: u32,
    /// Packets that a queue marked (ECN-CE).
    pub ce: u32,
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

impl EcnCounts {
    /// Returns counts of ECT(0), ECT(1) and CE, if there is any.
    pub(crate) fn of(counts: [Option<u64>; 3]) -> Option<Self> {
        let count =
            |count: Option<u64>| u32::try_from(count.unwrap_or_default()).unwrap_or(u32::MAX);
        let [ect0, ect1, ce] = counts.map(count);
        counts.iter().any(Option::is_some).then_some(Self { ect0, ect1, ce })
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet {
    /// True for 0-RTT and 1-RTT packets, false for those of the handshake.
    pub is_application: bool,
    /// Packet number. If a connection has several paths with numbers of their own, the number of
    /// the path is in the bits from 48 on.
    pub number: u64,
    /// Size of the QUIC packet in bytes.
    pub bytes: u64,
    /// Stream data.
    pub data: List<StreamPart>,
    /// Ranges of packet numbers that it acknowledges, ends included.
    pub acknowledged: List<(u64, u64)>,
    /// Of TCP, the sender's timestamp and the one that it echoes (RFC 7323 §3.2), in units of the
    /// clocks of the ends.
    pub timestamps: Option<(u32, u32)>,
    /// Limit of the connection that it announces.
    pub max_data: Option<u64>,
    /// True if it says that flow control blocks the end that sent it.
    pub is_blocked: bool,
    /// True if it confirms the handshake.
    pub handshake_done: bool,
    /// True if it calls for an acknowledgement: it has other frames than ACK, PADDING and
    /// CONNECTION_CLOSE (RFC 9002 §2). Of TCP, data.
    pub is_eliciting: bool,
    /// What few packets have.
    pub details: Details,
}

/// What a packet has that few have. Most packets of TCP have nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PacketDetails {
    /// Those of [`Packet::acknowledged`] of which no RTT follows: of TCP, their data was sent more
    /// than once, and the acknowledgement does not say which copy arrived (Karn's rule, RFC 6298
    /// §3), or it has the time of the packet itself. In ascending order.
    pub ambiguous: Vec<(u64, u64)>,
    /// Limits of streams that it announces.
    pub max_stream_data: Vec<(u64, u64)>,
    /// Streams that end with it.
    pub stream_ends: Vec<(u64, StreamEnd)>,
    /// Time for which the receiver held its acknowledgement back.
    pub ack_delay: Option<Span>,
    /// Marks that it reports.
    pub ecn: Option<EcnCounts>,
    /// True if it was sent because a probe timeout expired (RFC 9002 §6.2.4), if the file says why
    /// packets were sent.
    pub is_probe: bool,
    /// True if it probes the path for a larger size of packets.
    pub is_mtu_probe: bool,
    /// Of a packet that is not opened, what tells it from others at both ends: a hash of its first
    /// bytes. `None` if the file does not have them.
    pub mark: Option<u64>,
    /// Of an acknowledgement that is not opened, whether its size shows that it names gaps: packets
    /// before the highest had not arrived. `None` if its size does not say.
    pub names_gaps: Option<bool>,
}

/// The details of a packet: without memory of their own if there are none.
#[derive(Debug, Clone, Default)]
pub struct Details(Option<Box<PacketDetails>>);

/// What a packet has that has no details.
static NO_DETAILS: PacketDetails = PacketDetails {
    ambiguous: Vec::new(),
    max_stream_data: Vec::new(),
    stream_ends: Vec::new(),
    ack_delay: None,
    ecn: None,
    is_probe: false,
    is_mtu_probe: false,
    mark: None,
    names_gaps: None,
};

impl Deref for Details {
    type Target = PacketDetails;

    fn deref(&self) -> &PacketDetails {
        self.0.as_deref().unwrap_or(&NO_DETAILS)
    }
}

impl DerefMut for Details {
    fn deref_mut(&mut self) -> &mut PacketDetails {
        self.0.get_or_insert_default()
    }
}

impl From<PacketDetails> for Details {
    fn from(details: PacketDetails) -> Self {
        Self(Some(Box::new(details)))
    }
}

impl PartialEq for Details {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Details {}

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

#[cfg(test)]
impl CapturedConnection {
    /// Returns a connection without events.
    pub(crate) fn empty(transport: Transport, side: Side) -> Self {
        Self {
            transport,
            title: String::new(),
            ids: Vec::new(),
            side,
            is_encrypted: false,
            events: Vec::new(),
            unreadable: 0,
            notes: Vec::new(),
        }
    }
}

impl Packet {
    /// Returns the bytes of stream data.
    pub fn stream_bytes(&self) -> u64 {
        self.data.iter().map(|part| part.length).sum()
    }

    /// Returns true if no RTT follows from a range of `acknowledged`.
    pub(crate) fn is_ambiguous(&self, range: &(u64, u64)) -> bool {
        self.details.ambiguous.binary_search(range).is_ok()
    }

    /// Returns the largest packet number that it acknowledges.
    pub(crate) fn largest_acknowledged(&self) -> Option<u64> {
        self.acknowledged.iter().map(|range| range.1).max()
    }

    /// Returns the bytes on the wire: with the headers of IPv4 and UDP.
    pub fn wire_bytes(&self) -> u64 {
        self.bytes + 28
    }
}

#[cfg(test)]
impl Packet {
    /// A packet of an application that calls for an acknowledgement, with room for 1000 bytes of
    /// data.
    pub(crate) fn numbered(number: u64) -> Self {
        Self { is_application: true, is_eliciting: true, bytes: 1040, number, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file has millions of packets.
    #[test]
    fn an_event_takes_as_little_memory_as_it_can() {
        assert!(size_of::<(Time, Event)>() <= 128, "{}", size_of::<(Time, Event)>());
        assert_eq!(size_of::<List<StreamPart>>(), size_of::<StreamPart>() + size_of::<u64>());
        assert_eq!(size_of::<Details>(), size_of::<usize>());
    }

    #[test]
    fn a_packet_without_details_equals_one_whose_details_say_nothing() {
        let silent = Packet { details: PacketDetails::default().into(), ..Packet::default() };
        assert_eq!(silent, Packet::default());
        let mut marked = Packet::default();
        marked.details.mark = Some(1);
        assert_ne!(marked, silent);
    }
}
