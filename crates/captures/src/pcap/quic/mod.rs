//! QUIC connections of a capture, decrypted with their keys, or estimated without (RFC 9000,
//! RFC 9001, RFC 9369).
//!
//! - `connections`: which connection a datagram belongs to;
//! - `version`: the versions that are read;
//! - `header`: the packets in a datagram;
//! - `joined`: packets that a network card divides or has joined;
//! - `protection`: the keys of one direction, and the packets that they open;
//! - `initial`: the keys of Initial packets, which anyone can derive;
//! - `key_log`: the secrets of TLS, in the form of `SSLKEYLOGFILE`;
//! - `hello` and `parameters`: what the first messages of TLS say;
//! - `frames`: what a packet carries;
//! - `vantage`: where the capture was made;
//! - `opening`: what the handshake says, and the keys of the connection;
//! - `estimate`, `spin` and `turns`: what packets that cannot be opened say;
//! - `connection`: a connection as a [`CapturedConnection`](crate::CapturedConnection).

mod ack_sizes;
mod connection;
mod connections;
mod covered;
mod estimate;
mod frames;
mod header;
mod hello;
mod initial;
mod joined;
mod key_log;
#[cfg(test)]
mod kit;
mod opening;
mod parameters;
mod protection;
mod spin;
#[cfg(test)]
mod tests;
mod turns;
mod vantage;
mod version;

pub(super) use connection::trace;
pub(super) use connections::{Connection, Connections};
pub(super) use key_log::KeyLog;
pub(super) use version::{Unread, Version};
