//! TLS 1.3 for QUIC: identities, configurations of both sides, and their two sources of randomness.

mod config;
mod error;
mod handshake_peer;
mod identity;
mod long_flight;
mod null_protection;
mod randomness;
mod secret_log;
pub mod tickets;
pub(crate) mod wrapped;

pub use config::{ALPN_H3, ALPN_RAW, Client, provider, server};
pub use error::TlsError;
pub use handshake_peer::handshake_peer;
pub(crate) use handshake_peer::with_handshake_peer;
pub use identity::Identity;
pub use long_flight::server_for_long_flights;
pub use null_protection::{null_client, null_server};
pub use randomness::{Randomness, seed_this_thread};
pub use secret_log::SecretLog;
