//! A sans-IO TCP endpoint, the applications above it, and the split-connection proxy (PEP).
//!
//! No payload is carried: a [`Segment`] consists of numbers, and the meaning of a connection's
//! bytes is tracked separately. The model is a current Linux host.
//!
//! - [`Endpoint`]: one end of a connection, with handshake, sender and receiver;
//! - [`TcpSettings`]: its configuration;
//! - [`http`]: the applications, over TLS 1.3 or without TLS;
//! - [`Relay`]: the split-connection proxy (PEP); [`AckFilter`]: ACK filtering on the return link.

mod ack_filter;
mod endpoint;
mod failure_mode;
pub mod http;
mod receiver;
mod relay;
mod segment;
mod sender;
mod settings;

pub use crate::ack_filter::AckFilter;
pub use crate::endpoint::{CloseReason, Endpoint, EndpointStats, Transmit};
pub use crate::failure_mode::FailureMode;
pub use crate::relay::{Leg, Relay};
pub use crate::segment::{Flags, Sack, Segment};
pub use crate::settings::{AckPolicy, BufferModel, EcnSupport, MakeController, TcpSettings};
