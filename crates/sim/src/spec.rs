//! What a run consists of: everything resolved, nothing optional that the scenario could leave open.

use bentpipe_link::DirectionModel;
use bentpipe_quic::{Handshake, Settings};
use bentpipe_units::{Bytes, Span};

/// One run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// Seed of the whole scenario.
    pub seed: u64,
    /// Number of the run: with the seed it keys every random stream.
    pub run: u64,
    /// Round trip of the unloaded path, for queues sized in BDP.
    pub base_rtt: Span,
    /// Hops from the clients (first) to the servers (last).
    pub hops: Vec<HopSpec>,
    /// Number of terminals on the client side of the first hop.
    pub terminals: usize,
    /// Who talks.
    pub flows: Vec<FlowSpec>,
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// Whether time series are recorded.
    pub trace: bool,
    /// Whether both ends write qlog.
    pub qlog: bool,
    /// Name of the hop whose packets are captured, both ways.
    pub capture: Option<String>,
}

/// A hop of the path, both directions.
#[derive(Debug, Clone)]
pub struct HopSpec {
    /// Its name, unique on the path.
    pub name: String,
    /// From server to client: the satellite forward link.
    pub forward: DirectionModel,
    /// From client to server: the satellite return link.
    pub reverse: DirectionModel,
    /// Whether all terminals share it; otherwise each has one of its own.
    pub shared: bool,
}

/// Which way application data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From server to client.
    Download,
    /// From client to server.
    Upload,
}

/// Something to fetch or to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Name in the results.
    pub name: String,
    /// Size of its content.
    pub bytes: Bytes,
}

/// One connection of a flow's sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// How it begins. 0-RTT needs tickets of an earlier visit.
    pub handshake: Handshake,
    /// Silence after the previous visit ended.
    pub wait: Span,
    /// Time the client thinks before its first packet, drawn by the caller.
    pub think: Span,
    /// Which way the objects go.
    pub direction: Direction,
    /// All asked for at once.
    pub objects: Vec<Object>,
    /// Whether the results tell of it.
    pub reported: bool,
}

/// A client, its server, and the connections between them.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its name in the results.
    pub name: String,
    /// The terminal its client sits behind.
    pub terminal: usize,
    /// The server it talks to: flows that name the same one share what that server knows of its clients.
    pub server: String,
    /// When its first visit begins.
    pub start: Span,
    /// Settings of both endpoints.
    pub settings: Settings,
    /// Its connections, one after the other.
    pub visits: Vec<Visit>,
}
