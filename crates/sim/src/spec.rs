//! What a run consists of: everything resolved, nothing optional that the scenario could leave open.

use bentpipe_link::DirectionModel;
use bentpipe_orbit::{Network, Step};
use bentpipe_quic::congestion::Recipe;
use bentpipe_quic::{Handshake, Settings};
use bentpipe_tcp as tcp;
use bentpipe_units::{Bytes, Rate, Span};
use std::sync::Arc;

/// One run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// Seed of the whole scenario.
    pub seed: u64,
    /// Number of the run: with the seed it keys every random stream.
    pub run: u64,
    /// Round trip of the unloaded path, for queues sized in BDP.
    pub base_rtt: Span,
    /// Hops from the clients (first) to the servers (last). Empty where there is a `mesh`.
    pub hops: Vec<HopSpec>,
    /// A network of satellites, instead of hops.
    pub mesh: Option<MeshSpec>,
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

/// A network of satellites and stations whose links move. Every link is a queue of its own; packets go hop by hop.
#[derive(Debug, Clone)]
pub struct MeshSpec {
    /// Who there is.
    pub network: Arc<Network>,
    /// When routes are computed anew.
    pub step: Step,
    /// Each direction of an inter-satellite link. Delays of all models here are replaced by the geometry's.
    pub isl: DirectionModel,
    /// From a station to satellites.
    pub up: DirectionModel,
    /// From a satellite to stations.
    pub down: DirectionModel,
    /// Each direction of a link on the ground.
    pub fibre: DirectionModel,
    /// Whether a satellite has one transmitter for all stations that it talks to (as in the Hypatia study), or one for each.
    pub shared_ground: bool,
    /// What becomes of packets when a station turns to another satellite.
    pub handover: HandoverLoss,
    /// How long before a change of path its flows are told, where they are.
    pub hints: Option<Span>,
}

/// Which packets a station loses when it turns to another satellite. All others go on from where they are: what a satellite
/// can no longer hand to the station is sent on to the satellite that can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverLoss {
    /// None.
    #[default]
    #[serde(rename = "none")]
    Nothing,
    /// Those that wait at the old satellite, and at the station, for the link that ends.
    Queued,
    /// Those and what is in the air on that link.
    #[serde(rename = "in-flight")]
    Flying,
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
    /// Objects, by their place in the list, that must be complete before it is asked for.
    pub after: Vec<usize>,
    /// Time between the last of those and the request.
    pub delay: Span,
}

impl Object {
    /// An object that is asked for at once.
    pub fn new(name: impl Into<String>, bytes: Bytes) -> Self {
        Self { name: name.into(), bytes, after: Vec::new(), delay: Span::ZERO }
    }
}

/// One visit of a client: a QUIC connection, or the TCP connections of one page.
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
    /// What is transferred; each is asked for once those it comes after are complete.
    pub objects: Vec<Object>,
    /// It is complete after so long, however much has arrived by then: a flow that always has something to send. Its objects are larger than what fits.
    pub lasts: Option<Span>,
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
    /// Where its client and its server are: in a mesh by station, on a path of hops by node, of which the first is 0 and node k lies behind hop k - 1;
    /// none on such a path: at its ends.
    pub ends: Option<(usize, usize)>,
    /// The server it talks to: flows that name the same one share what that server knows of its clients.
    pub server: String,
    /// When its first visit begins.
    pub start: Span,
    /// What its packets are.
    pub stack: Stack,
    /// Its connections, one after the other.
    pub visits: Vec<Visit>,
}

/// What a flow speaks.
#[derive(Debug, Clone)]
pub enum Stack {
    /// QUIC, with the settings of both endpoints.
    Quic(Box<Settings>),
    /// TCP.
    Tcp(Box<TcpStack>),
    /// Packets that nothing answers to, or only an echo does.
    Datagrams(Datagrams),
    /// Programs of any kind, which run under the wall clock only.
    Program(Box<ProgramStack>),
}

/// Traffic without congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datagrams {
    /// UDP at a constant rate, always or in bursts.
    Constant {
        /// The rate of IP bytes while it sends.
        rate: Rate,
        /// Size of its IP packets.
        packet: Bytes,
        /// Mean of exponentially distributed times of sending and of silence; none: it always sends.
        bursts: Option<(Span, Span)>,
    },
    /// ICMP echo from the client to the server and back: its round trips are the result.
    Ping {
        /// Time between two.
        interval: Span,
        /// Size of its IP packets.
        packet: Bytes,
    },
}

impl Stack {
    /// QUIC with these settings at both ends.
    pub fn quic(settings: Settings) -> Self {
        Self::Quic(Box::new(settings))
    }

    /// The settings, where it is QUIC.
    pub fn quic_mut(&mut self) -> Option<&mut Settings> {
        match self {
            Self::Quic(settings) => Some(settings),
            Self::Tcp(_) | Self::Datagrams(_) | Self::Program(_) => None,
        }
    }

    /// Controller of the data's sender, how it starts, what it does with a remembered path; none where nothing controls congestion.
    pub fn congestion(&self) -> Option<&Recipe> {
        match self {
            Self::Quic(settings) => Some(&settings.congestion),
            Self::Tcp(stack) => Some(&stack.congestion),
            Self::Datagrams(_) | Self::Program(_) => None,
        }
    }
}

/// A server and a client by the command lines that run them. What stands in braces is filled in for each run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStack {
    /// What runs at the server's end.
    pub server: String,
    /// What runs at the client's end.
    pub client: String,
    /// The largest IP packet.
    pub mtu: Bytes,
}

/// TCP endpoints, what speaks above them, and who splits them on the way.
#[derive(Debug, Clone)]
pub struct TcpStack {
    /// Settings of both endpoints.
    pub tcp: tcp::Settings,
    /// Controller of both senders, how it starts, what it does with a remembered path.
    pub congestion: Recipe,
    /// What speaks above.
    pub http: tcp::http::Settings,
    /// A proxy on the way, where there is one.
    pub pep: Option<PepSpec>,
}

/// A performance-enhancing proxy around one hop (RFC 3135).
#[derive(Debug, Clone)]
pub struct PepSpec {
    /// The hop, by its place on the path, from the client: the satellite.
    pub hop: usize,
    /// Whether connections are split at its client's side: the terminal.
    pub terminal: bool,
    /// Whether connections are split at its server's side: the gateway.
    pub gateway: bool,
    /// Controller towards the client on the segment that crosses the hop, and how it starts. Other segments that begin at a proxy have CUBIC with
    /// slow start.
    pub downward: Recipe,
    /// The same towards the server.
    pub upward: Recipe,
    /// Initial window on that segment, in segments.
    pub initial_window: u32,
    /// When the proxy acknowledges.
    pub ack: tcp::AckPolicy,
    /// Bytes that it holds at most for each connection and direction.
    pub buffer: Bytes,
    /// Pure acknowledgements that enter the hop towards the server: one of each connection in so long a time.
    pub ack_filter: Option<Span>,
    /// It fails, with all that it holds.
    pub failure: Option<Failure>,
}

/// How a proxy fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// When, counted from the beginning of each visit.
    pub at: Span,
    /// What becomes of the segments of connections that it held.
    pub manner: FailureManner,
}

/// What becomes of the segments of connections that a failed proxy held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureManner {
    /// It starts again knowing nothing, and answers them with a reset.
    #[default]
    Reset,
    /// They vanish.
    #[serde(rename = "blackhole")]
    Silence,
}
