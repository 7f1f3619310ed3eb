//! The events of a connection, without their times.

use crate::http3::{Http3Frame, Http3StreamType};
use crate::packet::PacketType;
use bentpipe_units::Span;
use std::net::SocketAddr;

/// An event, except for QUIC packets that are sent or received: see
/// [`PacketTexts`](crate::PacketTexts).
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The connection begins (quic:connection_started).
    ConnectionStarted {
        /// Address of the peer.
        remote: SocketAddr,
    },
    /// The connection ends (quic:connection_closed).
    ConnectionClosed(ConnectionClosed<'a>),
    /// Transport parameters are known (quic:parameters_set).
    ParametersSet(Initiator, &'a Parameters),
    /// Transport parameters of an earlier connection are used for 0-RTT
    /// (quic:parameters_restored).
    ParametersRestored(&'a Parameters),
    /// A packet is declared lost (quic:packet_lost).
    PacketLost {
        /// Its type.
        kind: PacketType,
        /// Its packet number.
        number: u64,
    },
    /// Loss detection and congestion control begin (quic:recovery_parameters_set).
    RecoveryParametersSet(RecoveryParameters),
    /// Some of the sender's metrics have changed (quic:recovery_metrics_updated).
    RecoveryMetricsUpdated(Metrics),
    /// Congestion control is in another state (quic:congestion_state_updated).
    CongestionStateUpdated {
        /// State before, by the controller's own name.
        old: Option<&'a str>,
        /// State after.
        new: &'a str,
    },
    /// Some of the controller's own variables have changed: name, unit and value of each. They are
    /// an extension of quic:recovery_metrics_updated.
    ControllerState(&'a [(&'static str, &'static str, f64)]),
    /// Careful Resume is in another phase (quic:careful_resume_phase_updated,
    /// draft-ietf-tsvwg-careful-resume-qlog).
    CarefulResumePhaseUpdated(CarefulResume),
    /// HTTP/3 settings are known (http3:parameters_set): identifiers and values.
    Http3ParametersSet(Initiator, &'a [(u64, u64)]),
    /// The type of a unidirectional stream is known (http3:stream_type_set).
    Http3StreamTypeSet {
        /// The side that opened the stream.
        initiator: Initiator,
        /// Stream.
        stream_id: u64,
        /// Type.
        stream_type: Http3StreamType,
    },
    /// An HTTP/3 frame was passed to QUIC (http3:frame_created).
    Http3FrameCreated {
        /// Stream.
        stream_id: u64,
        /// Frame.
        frame: Http3Frame<'a>,
    },
    /// An HTTP/3 frame was received: DATA with its header, others whole (http3:frame_parsed).
    Http3FrameParsed {
        /// Stream.
        stream_id: u64,
        /// Frame.
        frame: Http3Frame<'a>,
    },
    /// A TCP segment was sent (tcp:packet_sent).
    TcpPacketSent(TcpPacket<'a>),
    /// A TCP segment was received (tcp:packet_received).
    TcpPacketReceived(TcpPacket<'a>),
    /// Data of a TCP connection were declared lost (tcp:packet_lost).
    TcpPacketLost {
        /// Position of the first byte.
        sequence: u64,
        /// Bytes of payload.
        length: u64,
    },
    /// The trace is incomplete from here on (loglevel:warning).
    Warning(&'a str),
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionClosed<'a> {
    /// The side that ended it; `None` if neither did, as after a timeout.
    pub initiator: Option<Initiator>,
    /// Error code, and whether it is the application's rather than the transport's.
    pub error: Option<(u64, bool)>,
    /// Reason, if it is UTF-8.
    pub reason: Option<&'a str>,
    /// Cause.
    pub trigger: CloseTrigger,
}

/// Cause of the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseTrigger {
    /// Nothing arrived for too long.
    IdleTimeout,
    /// An application closed it.
    Application,
    /// An error of the transport.
    Error,
    /// No common version of QUIC.
    VersionMismatch,
    /// The peer has lost its state.
    StatelessReset,
    /// Ended at once.
    Aborted,
}

/// A side of a connection, seen from the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    /// This side.
    Local,
    /// The peer.
    Remote,
}

/// QUIC transport parameters (RFC 9000 §18.2), those that are present, except the stateless reset
/// token: whoever reads it could end the connection (RFC 9000 §10.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// original_destination_connection_id.
    pub original_destination_connection_id: Option<Vec<u8>>,
    /// initial_source_connection_id.
    pub initial_source_connection_id: Option<Vec<u8>>,
    /// retry_source_connection_id.
    pub retry_source_connection_id: Option<Vec<u8>>,
    /// disable_active_migration.
    pub disable_active_migration: bool,
    /// grease_quic_bit (RFC 9287).
    pub grease_quic_bit: bool,
    /// Integers, by their names in QUICParametersSet.
    pub integers: Vec<(&'static str, u64)>,
    /// Parameters without a name in QUICParametersSet: identifier and value.
    pub unknown: Vec<(u64, Vec<u8>)>,
}

/// Names of the transport parameters that a client keeps for 0-RTT (QUICParametersRestored).
pub(crate) const RESTORED: [&str; 10] = [
    "max_idle_timeout",
    "max_udp_payload_size",
    "active_connection_id_limit",
    "initial_max_data",
    "initial_max_stream_data_bidi_local",
    "initial_max_stream_data_bidi_remote",
    "initial_max_stream_data_uni",
    "initial_max_streams_bidi",
    "initial_max_streams_uni",
    "max_datagram_frame_size",
];

/// Parameters of loss detection and congestion control, those that are known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RecoveryParameters {
    /// Packets (kPacketThreshold, RFC 9002 §6.1.1).
    pub reordering_threshold: Option<u64>,
    /// RTTs in eighths (kTimeThreshold is nine, RFC 9002 §6.1.2).
    pub time_threshold_eighths: Option<u64>,
    /// Milliseconds (kGranularity, RFC 9002 §6.1.2).
    pub timer_granularity: u64,
    /// Largest datagram, or segment of TCP, in bytes.
    pub max_datagram_size: Option<u64>,
    /// Initial congestion window in bytes.
    pub initial_congestion_window: Option<u64>,
}

/// Metrics of a sender, those that are known or have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Minimum RTT.
    pub min_rtt: Option<Span>,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Span>,
    /// Latest RTT sample.
    pub latest_rtt: Option<Span>,
    /// Variation of the RTT.
    pub rtt_variance: Option<Span>,
    /// Congestion window in bytes.
    pub congestion_window: Option<u64>,
    /// Bytes in flight.
    pub bytes_in_flight: Option<u64>,
    /// Slow-start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// Pacing rate in bits per second.
    pub pacing_rate: Option<u64>,
}

impl Metrics {
    /// Returns the metrics of `self` that differ from those of `before`, and sets `before` to them.
    /// `None` if none differ.
    pub fn changes(&self, before: &mut Self) -> Option<Self> {
        fn change<T: PartialEq + Copy>(now: Option<T>, before: &mut Option<T>) -> Option<T> {
            let changed = now.filter(|_| now != *before);
            *before = now.or(*before);
            changed
        }
        let changes = Self {
            min_rtt: change(self.min_rtt, &mut before.min_rtt),
            smoothed_rtt: change(self.smoothed_rtt, &mut before.smoothed_rtt),
            latest_rtt: change(self.latest_rtt, &mut before.latest_rtt),
            rtt_variance: change(self.rtt_variance, &mut before.rtt_variance),
            congestion_window: change(self.congestion_window, &mut before.congestion_window),
            bytes_in_flight: change(self.bytes_in_flight, &mut before.bytes_in_flight),
            ssthresh: change(self.ssthresh, &mut before.ssthresh),
            pacing_rate: change(self.pacing_rate, &mut before.pacing_rate),
        };
        (changes != Self::default()).then_some(changes)
    }
}

/// A change of Careful Resume's phase, with the state after it. Names are those of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarefulResume {
    /// Phase before; `None` for the first.
    pub old: Option<&'static str>,
    /// Phase after.
    pub new: &'static str,
    /// Bytes that the path is known to hold.
    pub pipesize: u64,
    /// First unvalidated packet, in the order of sending.
    pub first_unvalidated_packet: Option<u64>,
    /// Last unvalidated packet, in the order of sending.
    pub last_unvalidated_packet: Option<u64>,
    /// Congestion window in bytes.
    pub congestion_window: u64,
    /// Slow-start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// Saved parameters, if they were offered.
    pub restored: Option<Restored>,
    /// Trigger, if the draft has a name for it.
    pub trigger: Option<&'static str>,
}

/// Saved parameters of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Congestion window in bytes.
    pub congestion_window: u64,
    /// RTT.
    pub rtt: Span,
}

/// A TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpPacket<'a> {
    /// Position of the first byte: the SYN has 0, the first byte of data 1. It does not wrap.
    pub sequence: u64,
    /// Next position expected by the segment's sender, if the field is valid.
    pub acknowledgment: Option<u64>,
    /// Receive window in bytes.
    pub window: u64,
    /// Control bits.
    pub flags: TcpFlags,
    /// SACK blocks: first position, and the one after the last.
    pub sack: &'a [(u64, u64)],
    /// Bytes of the IP packet.
    pub length: u64,
    /// Bytes of payload.
    pub payload: u64,
}

/// Control bits of a TCP segment (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags {
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// ACK.
    pub ack: bool,
    /// ECE.
    pub ece: bool,
    /// CWR.
    pub cwr: bool,
}
