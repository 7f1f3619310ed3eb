//! QUIC connections of a capture, decrypted with their keys (RFC 9000, RFC 9001).
//!
//! - `key_log`: the secrets of TLS, in the form of `SSLKEYLOGFILE`;
//! - `protection`: the keys of one direction, and the packets that they open;
//! - `header`: the packets in a datagram;
//! - `frames`: what a packet carries;
//! - `connection`: a connection as a [`CapturedConnection`](crate::CapturedConnection).

mod connection;
mod frames;
mod header;
mod key_log;
mod protection;

pub(super) use connection::{Largest, trace};
pub(super) use key_log::KeyLog;
