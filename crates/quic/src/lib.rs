//! The QUIC endpoint of Bentpipe: noq-proto without sockets or clocks, and HTTP/3 over it.
//!
//! The same code runs under the virtual clock, where a simulator passes datagrams, and under the
//! real clock, where a UDP socket does:
//!
//! - [`Endpoint`] holds connections and runs their applications;
//! - [`Conn`] is the connection for applications, [`Http3`] the connection for the `h3` crate;
//! - [`ConnectionConfig`] builds a connection from [`QuicSettings`], [`tls`] configures its
//!   cryptography;
//! - [`controller_factory`] connects the controllers of `bentpipe-congestion` to the stack, and
//!   [`SenderMetrics`] records their sender;
//! - [`path_memory`] saves the parameters of paths between connections, and
//!   [`path_memory::token`] seals them for clients to keep;
//! - [`observer`] observes packets inside the packet protection and counts them;
//! - [`ack`] decides when acknowledgements leave, [`flow_control`] when a receive window grows;
//! - a [`QlogSink`](bentpipe_qlog::QlogSink) receives the events of a connection;
//! - [`seeded`] replaces random parts by reproducible ones.

pub mod ack;
mod clock;
mod config;
mod connection;
mod controller;
mod endpoint;
pub mod flow_control;
pub mod observer;
pub mod path_memory;
pub mod seeded;
mod stream;
mod sync;
pub mod tls;
mod varint;

pub use crate::ack::{AckBy, AckRule, AckRuleError};
pub use crate::clock::{Clock, EpochClock};
pub use crate::config::{
    ConnectionConfig, EcnMode, Handshake, Http, IP_HEADER, IP_UDP_HEADER, LossDetection,
    LossDetectionError, MAX_TIME_THRESHOLD, MIN_UDP_PAYLOAD, PacketThreshold, QuicSettings,
    ResumeVia, SettingsError, StockController, UDP_HEADER,
};
pub use crate::connection::{Conn, FinishWhenDropped, Task};
pub use crate::controller::{
    ConnectionSignals, LossLog, MakeController, SenderReports, controller_factory,
};
pub use crate::endpoint::{
    Accept, Acceptor, AddressLimit, Admission, Attachments, Endpoint, Gatekeeper, PanicHandler,
    SimultaneousStarts, StartLease, Transmit, panic_message,
};
pub use crate::flow_control::{FlowControlReport, FlowControlRule, FlowControlStats};
pub use crate::observer::TrafficStats;
pub use crate::path_memory::{DEFAULT_LIFETIME, PathLease, PathMemory};
pub use crate::stream::{
    BidiStream, FrameError, HeaderMemory, Http3, MAX_HEADER_FRAME, MAX_PRIORITY_FIELD, MAX_ZEROS,
    MalformedSection, PriorityField, RawStream, Reassembler, RecvStream, SendStream, StreamEnd,
    WEBSOCKET, take_tokens, zeros,
};
/// Congestion control, for the types in this crate's API.
pub use bentpipe_congestion as congestion;
pub use bentpipe_congestion::{SenderMetrics, SenderSeries, SenderStats};
/// Traces of connections.
pub use bentpipe_qlog as qlog;
/// The QUIC stack, for the types in this crate's API.
pub use noq_proto;
