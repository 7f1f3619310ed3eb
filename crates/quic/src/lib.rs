//! The QUIC endpoint of Bentpipe: noq-proto driven without sockets or clocks of its own, and HTTP/3
//! over it.
//!
//! The same code runs under the virtual clock, where a simulator hands over datagrams, and under
//! the real one, where a UDP socket does:
//!
//! - [`Endpoint`] holds connections and runs their applications;
//! - [`Conn`] is a connection as applications see it, [`Http3`] the same for the `h3` crate;
//! - [`Settings`] says how a flow's endpoints are tuned, [`tls`] how they trust each other;
//! - [`controller_factory`] lets the stack use the controllers of `bentpipe-congestion`,
//!   [`SenderMetrics`] watches a sender there;
//! - [`memory`] remembers paths between connections, [`PathMemory`] lets connections use it;
//! - [`token`] seals what is remembered for clients to keep, and lets connections exchange it;
//! - [`packets`] watches what passes the packet protection, [`ack`] decides when acknowledgements
//!   leave, [`TrafficStats`] counts what did;
//! - [`credit`] decides what a peer may send, and when it hears so;
//! - [`qlog`] keeps traces in memory and rewrites them for older viewers;
//! - [`seeded`] replaces what is random by what is reproducible.

pub mod ack;
mod clock;
mod config;
mod connection;
mod controller;
mod endpoint;
pub mod flow_control;
pub mod observer;
pub mod path_memory;
pub mod qlog;
pub mod seeded;
mod stream;
pub mod tls;

pub use crate::ack::{AckBy, AckRule, AckRuleError};
pub use crate::clock::{Clock, EpochClock};
pub use crate::config::{
    ConnectionConfig, Handshake, Http, IP_HEADER, IP_UDP_HEADER, MIN_UDP_PAYLOAD, ResumeVia,
    Settings, SettingsError, StockController, UDP_HEADER,
};
pub use crate::connection::{Conn, FinishWhenDropped, Task};
pub use crate::controller::{MakeController, controller_factory};
pub use crate::endpoint::{
    Accept, Acceptor, Admission, Attachments, Endpoint, Gatekeeper, PanicHandler, StartLease,
    StartLimiter, Transmit, panic_message,
};
pub use crate::flow_control::{FlowControlReport, FlowControlRule, FlowControlStats};
pub use crate::observer::TrafficStats;
pub use crate::path_memory::{DEFAULT_LIFETIME, PathLease, PathMemory};
pub use crate::stream::{
    BidiStream, FrameError, HeaderMemory, Http3, MAX_HEADER_FRAME, RawStream, Reassembler,
    RecvStream, SendStream, StreamEnd, take_tokens,
};
/// Congestion control, for the types in this crate's API.
pub use bentpipe_congestion as congestion;
pub use bentpipe_congestion::{SenderMetrics, SenderSeries, SenderStats};
/// The QUIC stack, for the types in this crate's API.
pub use noq_proto;
