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

pub mod account;
pub mod ack;
mod adapter;
mod arrivals;
mod clock;
mod conn;
pub mod credit;
mod endpoint;
pub mod memory;
pub mod packets;
pub mod qlog;
mod remember;
pub mod seeded;
mod settings;
mod start_limiter;
mod stream;
pub mod tls;
pub mod token;
mod view;
mod wake;

pub use crate::account::TrafficStats;
pub use crate::ack::{AckBy, AckRule, AckRuleError};
pub use crate::adapter::{MakeController, controller_factory};
pub use crate::clock::{Clock, EpochClock};
pub use crate::conn::{Conn, FinishWhenDropped};
pub use crate::credit::{FlowControlReport, FlowControlStats};
pub use crate::endpoint::{
    Accept, Acceptor, Admission, Attached, Endpoint, Gatekeeper, PanicHandler, Task, Transmit,
    panic_message,
};
pub use crate::remember::{DEFAULT_LIFETIME, PathLease, PathMemory};
pub use crate::settings::{
    FlowControlRule, Handshake, Http, IP_HEADER, IP_UDP_HEADER, MIN_UDP_PAYLOAD, ResumeVia,
    Settings, SettingsError, StockController, UDP_HEADER,
};
pub use crate::start_limiter::{StartLease, StartLimiter};
pub use crate::stream::{
    BidiStream, FrameError, HeaderMemory, Http3, MAX_HEADER_FRAME, RawStream, Reassembler,
    RecvStream, SendStream, StreamEnd, take_tokens,
};
/// Congestion control, for the types that stand in this crate's interface.
pub use bentpipe_congestion as congestion;
pub use bentpipe_congestion::{SenderMetrics, SenderSeries, SenderStats};
/// The stack underneath, for the types that stand in this crate's interface.
pub use noq_proto;
