//! Specification of a run, fully resolved.

pub use crate::mesh_spec::{MeshSpec, SatelliteLinks};
use bentpipe_link::{DirectionModel, Dscp, Ecn};
use bentpipe_media::abr::AdaptiveVideo;
use bentpipe_media::{Adaptation, Algorithm, Call, responsiveness};
use bentpipe_quic::congestion::{CongestionConfig, ControllerName, PathChangeNotice};
use bentpipe_quic::qlog::Forms;
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_tcp as tcp;
use bentpipe_tcp::FailureMode;
use bentpipe_tcp::http::Page;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// One run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the run. Together with the seed, it determines the random streams.
    pub run: u64,
    /// RTT of the unloaded path, from which queue sizes in BDP follow.
    pub base_rtt: Span,
    /// Hops from the clients to the servers. Empty with a `mesh`.
    pub hops: Vec<HopSpec>,
    /// A satellite network instead of hops.
    pub mesh: Option<MeshSpec>,
    /// Hops that change at regular times.
    pub reconfigurations: Vec<Reconfigured>,
    /// Notices of changes of the hops for data senders, each with the time at which they get it;
    /// in the order of time. A satellite network has its own.
    pub path_changes: Vec<(Time, PathChangeNotice)>,
    /// Number of terminals on the client side of the first hop.
    pub terminals: usize,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Time after which a visit is given up.
    pub time_limit: Span,
    /// Largest number of points of each time series, if series are recorded: those of links, and of
    /// the first [`SeriesLimit::MAX_FLOWS`] flows.
    pub trace: Option<SeriesLimit>,
    /// Whether series and qlog have the variables of the data's congestion controller.
    pub controller_state: bool,
    /// Forms in which both ends write qlog.
    pub qlog: Forms,
    /// Where packets are captured, in both directions.
    pub capture: Option<CapturePoint>,
    /// Whether QUIC packets are encrypted. Nothing else changes: without encryption they have the
    /// same lengths. Those of a capture are encrypted in any case.
    pub encrypt: bool,
}

impl RunSpec {
    /// Returns the RTT of the unloaded path without the waits for frames that
    /// [`RunSpec::base_rtt`] has.
    pub fn rtt_without_frames(&self) -> Span {
        let directions = self.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
        let frames = directions.map(DirectionModel::frame_wait);
        frames.fold(self.base_rtt, Span::saturating_sub)
    }
}

/// A hop that changes at regular times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconfigured {
    /// Name of the hop.
    pub hop: String,
    /// Time of the first change since the start of the run.
    pub first: Span,
    /// Time from one change to the next.
    pub period: Span,
    /// Time of changes after a whole UTC minute, modulo `period`, which the real clock has to meet.
    pub phase: Option<Span>,
}

/// Where packets are captured: at one end of a hop, as a program there sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturePoint {
    /// Name of the hop.
    pub hop: String,
    /// The end of the hop. At an end of the path it is the host itself, whose packets have the
    /// times at which it sends and receives them.
    pub end: HopEnd,
}

/// An end of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HopEnd {
    /// The one towards the server.
    #[default]
    Server,
    /// The one towards the client.
    Client,
}

/// A hop of the path, in both directions.
#[derive(Debug, Clone)]
pub struct HopSpec {
    /// Name, unique on the path.
    pub name: String,
    /// From server to client: the satellite forward link.
    pub forward: DirectionModel,
    /// From client to server: the satellite return link.
    pub reverse: DirectionModel,
    /// True if all terminals share it, false if each has one of its own.
    pub shared: bool,
}

/// Direction of application data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// From server to client.
    #[default]
    Download,
    /// From client to server.
    Upload,
}

impl Direction {
    /// `download` or `upload`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }
}

/// An object to transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Name in the results.
    pub name: String,
    /// Size of its content.
    pub bytes: Bytes,
    /// Indices of objects that must be complete before it is requested.
    pub after: Vec<usize>,
    /// Time from the completion of the last of those to the request.
    pub delay: Span,
    /// Pieces in which its sender writes it; `None` if it writes as fast as the transport takes it.
    pub pieces: Option<Pieces>,
}

/// Pieces of an object, which its sender writes one after another, over QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// Size of a piece.
    pub size: Bytes,
    /// Time between two pieces.
    pub interval: Span,
}

impl Object {
    /// Creates an object that is requested at once.
    pub fn new(name: impl Into<String>, bytes: Bytes) -> Self {
        Self { name: name.into(), bytes, after: Vec::new(), delay: Span::ZERO, pieces: None }
    }
}

/// A visit of a client: one QUIC connection, or the TCP connections of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Handshake. 0-RTT needs tickets of an earlier visit.
    pub handshake: Handshake,
    /// Idle time since the end of the previous visit.
    pub idle_before: Span,
    /// Random delay of the client's first packet, drawn by the caller.
    pub start_jitter: Span,
    /// Begin at a multiple of this after the start of the flow, the first such time after
    /// `idle_before`. Visits of variants that take different times then begin together.
    pub align: Option<Span>,
    /// Direction of the objects.
    pub direction: Direction,
    /// The objects, each requested once those it depends on are complete.
    pub objects: Vec<Object>,
    /// Fixed duration, for a flow that always has data to send. Its objects must exceed the
    /// capacity.
    pub duration: Option<Span>,
    /// Whether it appears in the results.
    pub measured: bool,
    /// Whether the client has another address than at the visit before, in another network.
    pub new_address: bool,
    /// A player that requests the objects one after the other and decides on their sizes; `None` if
    /// they are as planned.
    pub player: Option<Arc<AdaptiveVideo>>,
    /// A test of responsiveness instead of the objects, over QUIC with bare streams; `None` for
    /// none.
    pub test: Option<responsiveness::Plan>,
    /// What the objects are, if they are those of a page.
    pub page: Option<Arc<Page>>,
    /// Whether servers send the objects of a page in the order of their priorities (RFC 9218), and
    /// not in turn.
    pub priorities: bool,
    /// Requests of other flows on its connection.
    pub probes: Vec<ConnectionProbe>,
}

/// Small requests of one flow on the connection of another one. They do not prolong its visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionProbe {
    /// Name of the flow in the results.
    pub name: String,
    /// The answers, from server to client.
    pub objects: Vec<Object>,
}

impl Default for Visit {
    /// A measured download of no objects, which begins at once with a full handshake.
    fn default() -> Self {
        Self {
            handshake: Handshake::OneRtt,
            idle_before: Span::ZERO,
            start_jitter: Span::ZERO,
            align: None,
            direction: Direction::Download,
            objects: Vec::new(),
            duration: None,
            measured: true,
            new_address: false,
            player: None,
            test: None,
            page: None,
            priorities: false,
            probes: Vec::new(),
        }
    }
}

impl Visit {
    /// Returns when the visit begins, without its jitter, if the flow has started at `start` and
    /// is idle since `idle_since`.
    pub fn begins(&self, start: Time, idle_since: Time) -> Time {
        let earliest = idle_since + self.idle_before;
        match self.align {
            Some(step) if !step.is_zero() => {
                let steps = earliest.since(start).as_nanos().div_ceil(step.as_nanos());
                start + step * steps.max(1)
            }
            _ => earliest,
        }
    }
}

/// A client, its server, and their visits.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its name in the results.
    pub name: String,
    /// The terminal of its client.
    pub terminal: usize,
    /// Locations of client and server: stations in a mesh, nodes on a path of hops (0 is the first,
    /// node k is behind hop k - 1). `None` for the ends of such a path.
    pub ends: Option<(usize, usize)>,
    /// Name of the server. Flows with the same server share its state.
    pub server: String,
    /// Start of the first visit.
    pub start: Span,
    /// Transport and its settings.
    pub stack: Stack,
    /// What its packets carry for queues.
    pub marking: Marking,
    /// Its visits, one after the other; none if it is a probe on another flow's connection.
    pub visits: Vec<Visit>,
    /// True if it is one of the users of a population, which record no time series and no qlog.
    pub in_population: bool,
}

impl FlowSpec {
    /// Creates a flow between the ends of the path, from its start, without marks.
    pub fn new(name: impl Into<String>, stack: Stack, visits: Vec<Visit>) -> Self {
        Self {
            name: name.into(),
            terminal: 0,
            ends: None,
            server: "server".to_owned(),
            start: Span::ZERO,
            stack,
            marking: Marking::default(),
            visits,
            in_population: false,
        }
    }
}

/// What the packets of a flow carry for queues, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marking {
    /// The DSCP.
    pub dscp: Dscp,
    /// The ECN field of datagrams without congestion control. Other transports set their own.
    pub ecn: Ecn,
}

/// Transport of a flow.
#[derive(Debug, Clone)]
pub enum Stack {
    /// QUIC, with the settings of both endpoints.
    Quic(Box<QuicSettings>),
    /// TCP.
    Tcp(Box<TcpStack>),
    /// Datagrams without congestion control.
    DatagramTraffic(DatagramTraffic),
    /// A call.
    Call(Box<CallTraffic>),
    /// External programs, with the real clock only.
    Program(Box<ProgramStack>),
}

/// Traffic without congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramTraffic {
    /// UDP at a constant rate, continuously or in bursts.
    Constant {
        /// Rate of IP bytes while it sends.
        rate: Rate,
        /// Size of its IP packets.
        packet: Bytes,
        /// Means of exponentially distributed bursts and pauses; `None` to send continuously.
        bursts: Option<(Span, Span)>,
    },
    /// ICMP echo from the client to the server, which measures RTTs.
    Ping {
        /// Interval between requests.
        interval: Span,
        /// Size of its IP packets.
        packet: Bytes,
    },
}

/// A call.
#[derive(Debug, Clone)]
pub struct CallTraffic {
    /// What each direction carries.
    pub media: Call,
    /// The directions with media.
    pub directions: CallDirections,
    /// What carries it.
    pub carrier: CallCarrier,
}

/// What carries a call.
#[derive(Debug, Clone)]
pub enum CallCarrier {
    /// UDP, without congestion control.
    Udp,
    /// A QUIC connection with the settings of both endpoints.
    Quic(Box<QuicSettings>, Framing),
}

/// How a QUIC connection carries a call. Audio goes in datagrams in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// All packets in datagrams (RFC 9221), which are not sent again.
    Datagrams,
    /// Each frame of the video on a stream of its own.
    StreamPerFrame,
    /// Each group of the video, a keyframe and those that depend on it, on a stream of its own. The
    /// receiver stops a stream whose frames arrive more than `cancel_after` later than the first.
    StreamPerGroup {
        /// Delay, above the smallest, after which a stream is stopped; `None` for never.
        cancel_after: Option<Span>,
    },
}

impl CallTraffic {
    /// Returns the QUIC settings, if QUIC carries it.
    pub fn quic(&self) -> Option<&QuicSettings> {
        match &self.carrier {
            CallCarrier::Quic(settings, _) => Some(settings),
            CallCarrier::Udp => None,
        }
    }
}

/// The directions in which a call has media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallDirections {
    /// Both: people talk to each other.
    #[default]
    Both,
    /// One.
    One(Direction),
}

impl CallDirections {
    /// Returns the directions.
    pub fn each(&self) -> &[Direction] {
        match self {
            Self::Both => &[Direction::Download, Direction::Upload],
            Self::One(direction) => std::slice::from_ref(direction),
        }
    }
}

impl DatagramTraffic {
    /// Returns its name in the results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant { bursts: None, .. } => "cbr",
            Self::Constant { bursts: Some(_), .. } => "on-off",
            Self::Ping { .. } => "ping",
        }
    }
}

impl Stack {
    /// Creates QUIC with these settings at both ends.
    pub fn quic(settings: QuicSettings) -> Self {
        Self::Quic(Box::new(settings))
    }

    /// Returns its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Quic(_) => "quic",
            Self::Tcp(_) => "tcp",
            Self::DatagramTraffic(traffic) => traffic.name(),
            Self::Call(call) if call.quic().is_some() => "quic",
            Self::Call(_) => "udp",
            Self::Program(_) => "program",
        }
    }

    /// Returns the round trips of the handshake of a visit without losses; `None` for datagrams
    /// and programs, of which nothing is known.
    pub fn handshake_round_trips(&self, visit: &Visit) -> Option<u32> {
        match self {
            Self::Quic(_) => Some(1),
            Self::Tcp(stack) if !stack.http.version.has_tls() => Some(1),
            Self::Tcp(_) if visit.handshake == Handshake::ZeroRtt => Some(1),
            Self::Tcp(_) => Some(2),
            Self::Call(call) => call.quic().map(|_| 1),
            _ => None,
        }
    }

    /// Returns the QUIC settings, if the transport is QUIC.
    pub fn quic_mut(&mut self) -> Option<&mut QuicSettings> {
        match self {
            Self::Quic(settings) => Some(settings),
            Self::Call(call) => match &mut call.carrier {
                CallCarrier::Quic(settings, _) => Some(settings),
                CallCarrier::Udp => None,
            },
            _ => None,
        }
    }

    /// Returns the name of the congestion control of the data's sender, which may be that of the
    /// application.
    pub fn congestion_name(&self) -> &str {
        match self {
            Self::Call(call) if call.quic().is_none() => match call.media.adaptation {
                Some(Adaptation { algorithm: Algorithm::Scream, .. }) => "scream",
                _ => "none",
            },
            _ => self.congestion().map_or("none", |config| config.controller.as_str()),
        }
    }

    /// Returns the congestion control of the data's sender; `None` if there is none.
    pub fn congestion(&self) -> Option<&CongestionConfig> {
        match self {
            Self::Quic(settings) => Some(&settings.congestion),
            Self::Tcp(stack) => Some(&stack.congestion),
            Self::Call(call) => call.quic().map(|settings| &settings.congestion),
            _ => None,
        }
    }

    /// Returns the congestion control of the data's sender, to change it; `None` if there is none.
    pub fn congestion_mut(&mut self) -> Option<&mut CongestionConfig> {
        match self {
            Self::Tcp(stack) => Some(&mut stack.congestion),
            _ => self.quic_mut().map(|settings| &mut settings.congestion),
        }
    }

    /// Returns the proxy that splits its connections; `None` if there is none.
    pub fn pep(&self) -> Option<&PepSpec> {
        match self {
            Self::Tcp(stack) => stack.pep.as_ref(),
            Self::Program(stack) => stack.pep.as_ref(),
            _ => None,
        }
    }
}

/// Command lines of a server and a client. Each run replaces placeholders in braces.
#[derive(Debug, Clone)]
pub struct ProgramStack {
    /// Command line of the server.
    pub server: String,
    /// Command line of the client.
    pub client: String,
    /// Size of the largest IP packet.
    pub mtu: Bytes,
    /// Congestion controller of the kernel's TCP. `None`: its default.
    pub congestion: Option<ControllerName>,
    /// Largest receive buffer of the kernel's TCP. `None`: its default.
    pub receive_buffer: Option<Bytes>,
    /// A proxy on the path, which splits TCP connections of the programs.
    pub pep: Option<PepSpec>,
}

/// TCP endpoints, the protocol above them, and proxies on the path.
#[derive(Debug, Clone)]
pub struct TcpStack {
    /// Settings of both endpoints.
    pub tcp: tcp::TcpSettings,
    /// Congestion control of both senders.
    pub congestion: CongestionConfig,
    /// The protocol above TCP.
    pub http: tcp::http::HttpSettings,
    /// A proxy on the path.
    pub pep: Option<PepSpec>,
}

/// A performance-enhancing proxy around one hop (RFC 3135).
#[derive(Debug, Clone)]
pub struct PepSpec {
    /// Index of the hop on the path, from the client: the satellite.
    pub hop: usize,
    /// True to split connections at the client's side of the hop: the terminal.
    pub terminal: bool,
    /// True to split connections at the server's side of the hop: the gateway.
    pub gateway: bool,
    /// Congestion control across the hop towards the client. Other connections of proxies use CUBIC
    /// with slow start.
    pub to_client: CongestionConfig,
    /// Congestion control across the hop towards the server.
    pub to_server: CongestionConfig,
    /// Initial window across the hop, in segments.
    pub initial_window: u32,
    /// ACK policy of the proxy.
    pub ack: tcp::AckPolicy,
    /// Buffer limit per connection and direction.
    pub buffer: Bytes,
    /// Filters pure ACKs that enter the hop towards the server: one per connection in each
    /// interval.
    pub ack_filter: Option<Span>,
    /// A failure of the proxy.
    pub failure: Option<Failure>,
}

/// A failure of a proxy, which loses its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Time since the start of each visit.
    pub at: Span,
    /// Treatment of segments of connections it held.
    pub mode: FailureMode,
}
