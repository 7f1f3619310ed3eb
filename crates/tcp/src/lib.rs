//! A TCP endpoint without sockets or clocks of its own, the exchanges above it, and the proxy that splits it.
//!
//! Nothing here carries payload: a [`Segment`] is numbers, and what the bytes of a connection mean is written down beside
//! it. What a current Linux host does is the model.
//!
//! - [`Endpoint`] is one end of a connection: handshake, sender, receiver;
//! - [`Settings`] says how it is tuned;
//! - [`http`] says what bytes the applications write, over TLS 1.3 or bare;
//! - [`Relay`] is the split-connection proxy (PEP), [`AckFilter`] thins what goes back.

mod ack_filter;
mod endpoint;
pub mod http;
mod receiver;
mod relay;
mod segment;
mod sender;
mod settings;

pub use crate::ack_filter::AckFilter;
pub use crate::endpoint::{CloseReason, Endpoint, EndpointStats, MakeController, Transmit};
pub use crate::relay::{Leg, Relay};
pub use crate::segment::{Flags, Sack, Segment};
pub use crate::settings::{AckPolicy, Settings};
