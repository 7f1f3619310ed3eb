//! What a run found.

use crate::spec::Direction;
use bentpipe_link::Counters;
use bentpipe_orbit::Node;
use bentpipe_quic::CreditFigures;
use bentpipe_quic::account::{Layers, Sizes};
use bentpipe_quic::congestion::SavedParameters;
use bentpipe_quic::qlog::{QlogError, to_qvis};
use bentpipe_units::{Rate, Span, Time};

/// Everything that one run found.
#[derive(Debug)]
pub struct RunOutcome {
    /// One entry for each reported visit, in the order of flows and visits.
    pub flows: Vec<FlowOutcome>,
    /// One entry for each link.
    pub links: Vec<LinkOutcome>,
    /// Time series, where asked for.
    pub trace: Option<RunTrace>,
    /// qlog traces, where asked for: both ends of each reported visit.
    pub qlog: Vec<QlogFile>,
    /// A capture (pcapng), where asked for.
    pub capture: Option<Vec<u8>>,
    /// Events handled, for benchmarks.
    pub events: u64,
    /// When the last visit ended.
    pub end: Time,
}

/// A trace of one end of one connection.
#[derive(Debug)]
pub struct QlogFile {
    /// Name without extension: flow, visit, side.
    pub name: String,
    /// Content: a sequential qlog file of the current form, whose extension is `.sqlog`.
    pub bytes: Vec<u8>,
}

impl QlogFile {
    /// The content for the qvis viewer, which takes files called `….sqlog` only, too.
    ///
    /// # Errors
    /// The content is damaged.
    pub fn qvis(&self) -> Result<Vec<u8>, QlogError> {
        to_qvis(&self.bytes)
    }
}

/// Bytes that went from the data's receiver to its sender, by layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReturnBytes {
    /// IP headers.
    pub ip: u64,
    /// UDP headers.
    pub udp: u64,
    /// QUIC packets: the sum of the seven that follow.
    pub quic: u64,
    /// QUIC headers with packet numbers.
    pub quic_header: u64,
    /// ACK frames.
    pub ack: u64,
    /// Credit frames: MAX_DATA and MAX_STREAM_DATA.
    pub credit: u64,
    /// All other frames but PADDING.
    pub other: u64,
    /// PADDING frames.
    pub padding: u64,
    /// Authentication tags.
    pub tag: u64,
    /// Packets that nobody looked into: a stateless reset, or what the connection of an earlier visit still sends.
    pub unseen: u64,
    /// TCP headers without options.
    pub tcp: u64,
    /// TCP options.
    pub options: u64,
    /// What TCP carries: TLS records of requests. Of an echo, all above IP.
    pub payload: u64,
    /// All of them.
    pub total: u64,
}

impl std::ops::AddAssign for ReturnBytes {
    fn add_assign(&mut self, more: Self) {
        self.ip += more.ip;
        self.udp += more.udp;
        self.quic += more.quic;
        self.quic_header += more.quic_header;
        self.ack += more.ack;
        self.credit += more.credit;
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

impl ReturnBytes {
    /// Says what the QUIC packets held.
    pub(crate) fn split(&mut self, layers: &Layers) {
        self.quic_header = layers.header;
        self.ack = layers.ack;
        self.credit = layers.credit;
        self.other = layers.other;
        self.padding = layers.padding;
        self.tag = layers.tag;
        self.unseen = self.quic.saturating_sub(layers.total());
    }
}

/// How the data's receiver acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acknowledgements {
    /// Packets that it sent with an acknowledgement: a QUIC packet with an ACK frame, a TCP segment whose ACK bit is set.
    pub packets: u64,
    /// Of those, packets that do nothing else.
    pub only: u64,
    /// Data packets that reached it: QUIC packets that have to be acknowledged, TCP segments with payload; those that came twice included.
    pub data: u64,
    /// Of QUIC, sizes of its ACK frames; of TCP, bytes of options of the segments that only acknowledge.
    pub sizes: Sizes,
}

/// What a proxy on the way did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PepOutcome {
    /// The most bytes that it held for one connection on the way of the data.
    pub most_held: u64,
    /// Acknowledgements that its filter did not pass on, where it has one.
    pub acks_dropped: Option<u64>,
}

/// What became of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectOutcome {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Of its content, what reached the receiver's application.
    pub received: u64,
    /// When it was asked for, since the visit's first packet.
    pub start: Span,
    /// When it was complete, likewise.
    pub completion: Option<Span>,
}

/// What both ends of a visit knew of the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathOutcome {
    /// What was offered to the data's sender, used or not.
    pub saved: Option<SavedParameters>,
    /// What the sender found, where it keeps notes.
    pub observed: Option<SavedParameters>,
    /// What the receiver found: the best round trip of arrivals.
    pub receiver: Option<SavedParameters>,
    /// Whether what was offered met congestion; nothing where nothing was offered.
    pub retreated: Option<bool>,
    /// What became of the client's token, in one word; nothing where the server keeps a store.
    pub token: Option<&'static str>,
}

/// What became of one visit. Spans count from the client's first packet of the visit.
#[derive(Debug, Clone)]
pub struct FlowOutcome {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// `quic` or `tcp`; `cbr`, `on-off` or `ping` for datagrams.
    pub transport: &'static str,
    /// Name of the congestion controller; `none` for datagrams.
    pub congestion: String,
    /// Connections that it took. Series are of the first one's sender.
    pub connections: usize,
    /// Which way the data went.
    pub direction: Direction,
    /// Application bytes asked for; of a visit that lasts for a time, what was received in it.
    pub bytes: u64,
    /// Of those, what reached the receiver's application.
    pub received: u64,
    /// Bytes that reached the receiver's application in each tenth of a second since the run began; for shares of a link over time.
    pub received_by_tenth: Vec<u64>,
    /// Whether all of them arrived, or the visit has lasted for its time.
    pub completed: bool,
    /// The client's first packet, since the run began.
    pub start: Time,
    /// The handshake complete at the client.
    pub handshake: Option<Span>,
    /// First application byte at the data's receiver.
    pub first_byte: Option<Span>,
    /// All done, as the client sees it: for an upload, the server's answer has arrived.
    pub completion: Option<Span>,
    /// Datagrams the data's sender sent.
    pub packets_sent: u64,
    /// Their bytes, IP headers included.
    pub bytes_sent: u64,
    /// Of those, dropped by a policer.
    pub packets_lost_policer: u64,
    /// Of those, dropped by a full or managed queue.
    pub packets_lost_queue: u64,
    /// Of those, lost by a loss process.
    pub packets_lost_random: u64,
    /// Of those, lost in a mesh where no link was to blame: a link ended with them, nobody knew a way, or they went in circles.
    pub packets_lost_route: u64,
    /// Packets that the sender declared lost, rightly or not; nothing where nobody can be asked.
    pub packets_declared_lost: Option<u64>,
    /// Time the sender stood still because of flow control or its send buffer.
    pub flow_control_blocked: Option<Span>,
    /// The longest of that at a stretch.
    pub flow_control_blocked_longest: Option<Span>,
    /// What the data's receiver held and promised, where it speaks QUIC.
    pub credit: Option<CreditFigures>,
    /// Datagrams that the data's receiver sent.
    pub return_packets: u64,
    /// Their bytes.
    pub return_bytes: ReturnBytes,
    /// How it acknowledged; nothing of datagrams.
    pub acknowledgements: Option<Acknowledgements>,
    /// Smallest round trip the sender sampled.
    pub rtt_min: Option<Span>,
    /// Mean, one sample an ACK.
    pub rtt_mean: Option<Span>,
    /// 99th percentile, to 1 %.
    pub rtt_p99: Option<Span>,
    /// What was known of the path.
    pub path: PathOutcome,
    /// What a proxy did, where connections pass one.
    pub pep: Option<PepOutcome>,
    /// What was asked for, each; nothing where the visit lasts for a time, or sends datagrams.
    pub objects: Vec<ObjectOutcome>,
    /// Why it did not complete, where it did not.
    pub error: Option<String>,
}

/// What one link did.
#[derive(Debug, Clone)]
pub struct LinkOutcome {
    /// `hop/forward` or `hop/return`, with `#terminal` where terminals have links of their own; in a mesh `from>to`, and `from>ground` or `from>sky` for a
    /// transmitter that stations or satellites share.
    pub name: String,
    /// Its counters.
    pub counters: Counters,
    /// Mean time that its packets waited in its queue.
    pub queue_mean: Span,
    /// The flows whose packets it has carried, by their place in the run, with the bytes of each.
    pub carried: Vec<(usize, u64)>,
    /// Share of the time that it spent transmitting, from the beginning of the first reported visit to its last packet.
    pub utilisation: f64,
}

/// Time series of one run.
#[derive(Debug)]
pub struct RunTrace {
    /// One entry for each reported visit.
    pub flows: Vec<FlowTrace>,
    /// One entry for each link.
    pub links: Vec<LinkTrace>,
    /// In a mesh, the ways of the flows' data.
    pub paths: Vec<PathTrace>,
}

/// The way of one flow's data through a mesh, from one time until the next entry of the same flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTrace {
    /// The flow, by its place in the run.
    pub flow: usize,
    /// From when.
    pub at: Time,
    /// The nodes from the data's sender to its receiver; empty where there is no way.
    pub nodes: Vec<Node>,
}

/// Time series of one visit.
#[derive(Debug)]
pub struct FlowTrace {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// The client's first packet, since the run began.
    pub start: Time,
    /// The series.
    pub series: Vec<Series>,
    /// Points in time worth a label.
    pub marks: Vec<(Time, String)>,
    /// What the sender's congestion control was doing, each from that time on.
    pub phases: Vec<(Time, &'static str)>,
}

/// Time series of one link.
#[derive(Debug)]
pub struct LinkTrace {
    /// Name as in [`LinkOutcome`]; with `#terminal` behind it, the capacity of one terminal of a link that several share.
    pub name: String,
    /// Its rate, where that is constant.
    pub rate: Option<Rate>,
    /// What its queue holds at most, bytes, where that is a fixed number of bytes.
    pub queue_limit: Option<u64>,
    /// The series.
    pub series: Vec<Series>,
}

/// Points of one quantity over time.
#[derive(Debug)]
pub struct Series {
    /// What it is.
    pub name: &'static str,
    /// In what unit.
    pub unit: &'static str,
    /// Times since the run began, and values.
    pub points: Vec<(Time, f64)>,
}
