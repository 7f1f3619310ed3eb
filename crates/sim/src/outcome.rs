//! Outcome of a run.

use crate::emulation::EmulationOutcome;
use crate::spec::Direction;
use crate::time_budget::Episode;
use bentpipe_link::Counters;
use bentpipe_media::abr::PlayerOutcome;
use bentpipe_media::{StreamOutcome, responsiveness};
use bentpipe_quic::FlowControlStats;
use bentpipe_quic::congestion::SavedParameters;
use bentpipe_quic::observer::{Layers, Sizes};
use bentpipe_tcp::http::Page;
use bentpipe_timeseries::{LossTimes, RunSeries, SpanHistogram, TenthCounts, TimeBudget};
use bentpipe_units::{Bytes, Span, Time};
use std::sync::Arc;

/// All results of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// One entry per measured visit, in the order of flows and visits.
    pub flows: Vec<FlowOutcome>,
    /// One entry per link.
    pub links: Vec<LinkOutcome>,
    /// Time series, if requested.
    pub trace: Option<RunSeries>,
    /// qlog traces of both ends of each measured visit, if requested.
    pub qlog: Vec<QlogFile>,
    /// A capture (pcapng), if requested.
    pub capture: Option<Vec<u8>>,
    /// Number of events, for benchmarks.
    pub events: u64,
    /// End of the last visit.
    pub end: Time,
    /// How well the emulator kept its times. `None` on the virtual clock.
    pub emulation: Option<EmulationOutcome>,
}

/// qlog of one end of a connection.
#[derive(Debug)]
pub struct QlogFile {
    /// Name without extension: flow, visit, side.
    pub name: String,
    /// Content in the current schema, for a file with the extension `.sqlog`; empty if not
    /// requested.
    pub current: Vec<u8>,
    /// Content for the qvis viewer, which accepts only files called `….sqlog`; empty if not
    /// requested.
    pub qvis: Vec<u8>,
}

/// Bytes of the reverse direction, from the data's receiver to its sender, by layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReverseBytes {
    /// IP headers.
    pub ip: u64,
    /// UDP headers.
    pub udp: u64,
    /// QUIC packets: the sum of the next seven.
    pub quic: u64,
    /// QUIC headers with packet numbers.
    pub quic_header: u64,
    /// ACK frames.
    pub ack: u64,
    /// Flow-control frames: MAX_DATA and MAX_STREAM_DATA.
    pub flow_control: u64,
    /// All other frames except PADDING.
    pub other: u64,
    /// PADDING frames.
    pub padding: u64,
    /// Authentication tags.
    pub tag: u64,
    /// Packets that were not parsed: stateless resets, and packets of an earlier visit's
    /// connection.
    pub unseen: u64,
    /// TCP headers without options.
    pub tcp: u64,
    /// TCP options.
    pub options: u64,
    /// TCP payload: TLS records of requests. For an echo, everything above IP.
    pub payload: u64,
    /// The total.
    pub total: u64,
}

impl std::ops::AddAssign for ReverseBytes {
    fn add_assign(&mut self, more: Self) {
        self.ip += more.ip;
        self.udp += more.udp;
        self.quic += more.quic;
        self.quic_header += more.quic_header;
        self.ack += more.ack;
        self.flow_control += more.flow_control;
        self.other += more.other;
        self.padding += more.padding;
        self.tag += more.tag;
        self.unseen += more.unseen;
        self.tcp += more.tcp;
        self.options += more.options;
        self.payload += more.payload;
        self.total += more.total;
    }
}

impl ReverseBytes {
    /// Adds the bytes of QUIC packets by layer.
    pub(crate) fn split(&mut self, layers: &Layers) {
        self.quic_header = layers.header;
        self.ack = layers.ack;
        self.flow_control = layers.flow_control;
        self.other = layers.other;
        self.padding = layers.padding;
        self.tag = layers.tag;
        self.unseen = self.quic.saturating_sub(layers.total());
    }
}

/// ACK statistics of the data's receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acknowledgements {
    /// Packets with an acknowledgement: QUIC packets with an ACK frame, TCP segments with the ACK
    /// flag.
    pub packets: u64,
    /// Of these, packets with nothing else.
    pub only: u64,
    /// Data packets that reached the receiver: ack-eliciting QUIC packets, TCP segments with
    /// payload. Includes duplicates.
    pub data: u64,
    /// Sizes of ACK frames (QUIC), or of the options of pure ACKs (TCP), in bytes.
    pub sizes: Sizes,
}

/// Packets of the data that reached its receiver, and what they met on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Number of these packets.
    pub packets: u64,
    /// Of the packets of the data, those that arrived with the ECN-CE codepoint (RFC 3168).
    pub marked_ce: u64,
    /// Sum of the times that they waited for packets before them, at all links.
    pub queued: Span,
}

impl Arrivals {
    /// Returns the mean queueing delay of a packet; `None` if none arrived.
    pub fn queue_mean(&self) -> Option<Span> {
        (self.packets > 0).then(|| self.queued / self.packets)
    }
}

/// Counters of proxies on the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PepOutcome {
    /// Most bytes buffered for one connection in the direction of the data.
    pub max_buffered: u64,
    /// ACKs that the filter suppressed; `None` without a filter.
    pub acks_dropped: Option<u64>,
}

/// One stream of a call: its audio or its video, in one direction.
#[derive(Debug, Clone)]
pub struct CallStream {
    /// Direction of the media.
    pub direction: Direction,
    /// What its receiver has measured.
    pub measured: StreamOutcome,
}

/// Outcome of a page. Spans count from the visit's first packet; `None` if an object that counts
/// did not arrive.
#[derive(Debug, Clone)]
pub struct PageOutcome {
    /// Completion of the last object that belongs to the load.
    pub onload: Option<Span>,
    /// Completion of the last object that rendering waits for.
    pub first_render: Option<Span>,
    /// Mean arrival of the visible bytes (Bocchi et al. 2016).
    pub byte_index: Option<Span>,
    /// Mean completion of the visible objects (Bocchi et al. 2016).
    pub object_index: Option<Span>,
    /// The origins.
    pub origins: Vec<OriginOutcome>,
    /// What the objects are.
    pub page: Arc<Page>,
}

/// Outcome of an origin of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginOutcome {
    /// Its name.
    pub name: String,
    /// Number of its objects.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Number of connections to it.
    pub connections: usize,
    /// Time until its address was known; `None` if the client did not ask.
    pub resolved: Option<Span>,
    /// Time of the handshakes of its connections, added up.
    pub connecting: Span,
}

/// Outcome of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectOutcome {
    /// Name of the object.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes of content that reached the receiver's application.
    pub received: u64,
    /// Time of the request, since the visit's first packet.
    pub start: Span,
    /// Time of completion, since the visit's first packet.
    pub completion: Option<Span>,
}

/// Knowledge of both ends of a visit about the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathOutcome {
    /// Saved path offered to the data's sender, used or not.
    pub saved: Option<SavedParameters>,
    /// Path observed by the sender, if it remembers paths.
    pub observed: Option<SavedParameters>,
    /// Path observed by the receiver: the best arrivals within an RTT.
    pub receiver: Option<SavedParameters>,
    /// Whether the offered path met congestion; `None` if none was offered.
    pub retreated: Option<bool>,
    /// Outcome of the client's token as one word; `None` if the server has a store.
    pub token: Option<&'static str>,
}

/// Outcome of one visit. Spans count from the client's first packet. The default is a visit of
/// which nothing is known.
#[derive(Debug, Clone, Default)]
pub struct FlowOutcome {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Name of its transport: that of [`Stack::name`](crate::Stack::name).
    pub transport: &'static str,
    /// Name of the congestion controller; `none` for datagrams.
    pub congestion: String,
    /// Number of connections. Time series are those of the first one's sender.
    pub connections: usize,
    /// Direction of the data.
    pub direction: Direction,
    /// Application bytes requested; with a fixed duration, those received.
    pub bytes: u64,
    /// Of these, bytes that reached the receiver's application.
    pub received: u64,
    /// Bytes that reached the receiver's application in each 100 ms since the start of the run;
    /// none if it took more than ten days.
    pub received_by_tenth: TenthCounts,
    /// True if all bytes arrived, or the fixed duration has passed.
    pub completed: bool,
    /// Time of the client's first packet.
    pub start: Time,
    /// Completion of the handshake at the client.
    pub handshake: Option<Span>,
    /// First application byte at the data's receiver.
    pub first_byte: Option<Span>,
    /// Completion at the client. For an upload, the response of the server has arrived.
    pub completion: Option<Span>,
    /// What the completion time, or the time until the visit was given up, was spent on. `None` for
    /// datagrams.
    pub time_budget: Option<TimeBudget>,
    /// What losses cost, by place.
    pub loss_times: LossTimes,
    /// The longest episodes in which time was lost to one cause, in the order in which they began.
    pub episodes: Vec<Episode>,
    /// Packets that the data's sender sent.
    pub packets_sent: u64,
    /// Bytes of these, including IP headers.
    pub bytes_sent: u64,
    /// Packets of the data that proxies sent; they are not in [`Self::packets_sent`].
    pub packets_forwarded: u64,
    /// Of both, packets dropped by a policer.
    pub packets_lost_policer: u64,
    /// Of both, packets dropped by a queue: full, or by AQM.
    pub packets_lost_queue: u64,
    /// Of both, packets lost by a loss process, or dropped by a node that the caller has put on
    /// the path.
    pub packets_lost_channel: u64,
    /// Of both, packets lost in a mesh for other reasons than a link: link down, no route, or hop
    /// limit.
    pub packets_lost_routing: u64,
    /// Packets of the data that reached its receiver; `None` if not measured.
    pub arrivals: Option<Arrivals>,
    /// One-way delays of the packets of the data that arrived, from its sender or the last proxy
    /// before the receiver. Empty where they are not known.
    pub delays: SpanHistogram,
    /// Packets that the sender declared lost, rightly or not; `None` if unknown, or if it does not
    /// detect losses, as with datagrams.
    pub packets_declared_lost: Option<u64>,
    /// Time during which flow control or the send buffer blocked the sender.
    pub flow_control_blocked: Option<Span>,
    /// The longest of these intervals.
    pub flow_control_blocked_longest: Option<Span>,
    /// Flow-control figures of the data's receiver, for QUIC.
    pub flow_control: Option<FlowControlStats>,
    /// Packets of the reverse direction.
    pub reverse_packets: u64,
    /// Of these and of those that proxies sent, packets lost or dropped for whatever reason.
    pub reverse_packets_lost: u64,
    /// Bytes of these.
    pub reverse_bytes: ReverseBytes,
    /// ACK counters; `None` for datagrams.
    pub acknowledgements: Option<Acknowledgements>,
    /// Minimum RTT sampled by the sender.
    pub rtt_min: Option<Span>,
    /// Mean RTT, one sample per ACK.
    pub rtt_mean: Option<Span>,
    /// 99th percentile of the RTT, to 1 %.
    pub rtt_p99: Option<Span>,
    /// Largest RTT sampled by the sender.
    pub rtt_max: Option<Span>,
    /// Largest congestion window; `None` without congestion control.
    pub cwnd_max: Option<Bytes>,
    /// Knowledge about the path.
    pub path: PathOutcome,
    /// Counters of proxies, if there are any.
    pub pep: Option<PepOutcome>,
    /// What a player has played, if there is one.
    pub player: Option<PlayerOutcome>,
    /// What a test of responsiveness has measured, if it was one.
    pub test: Option<responsiveness::Outcome>,
    /// What a page was to its user, if it was one.
    pub page: Option<PageOutcome>,
    /// Streams of a call; empty for others.
    pub call: Vec<CallStream>,
    /// Outcome of each object. Empty for datagrams and visits of fixed duration.
    pub objects: Vec<ObjectOutcome>,
    /// Reason why the visit did not complete, if so.
    pub error: Option<String>,
}

impl FlowOutcome {
    /// Returns true if [`Self::received_by_tenth`] has what was received.
    pub const fn is_counted(&self) -> bool {
        self.received == 0 || !self.received_by_tenth.is_empty()
    }
}

/// Outcome of a link.
#[derive(Debug, Clone)]
pub struct LinkOutcome {
    /// `hop/forward` or `hop/return`, with `#terminal` if each terminal has its own. In a mesh
    /// `from>to`; `from>ground` or `from>sky` for a shared transmitter.
    pub name: String,
    /// Its counters.
    pub counters: Counters,
    /// Mean queueing delay.
    pub queue_mean: Span,
    /// Bytes by flow index.
    pub carried: Vec<(usize, u64)>,
    /// Fraction of time spent transmitting, from its first packet since the start of the first
    /// measured visit to its last event; of a trace, the used part of the opportunities. At most 1.
    pub utilisation: f64,
}
