//! Path tokens: saved parameters of a path, sealed by a server and kept by its client.
//!
//! A server that issues tokens needs no store: the client returns the measurements, and the seal
//! proves that the server wrote them, for that address, recently
//! (draft-kuhn-quic-bdpframe-extension-05 §2, "readable at the client"; the format is our own,
//! since no draft defines one).
//!
//! - [`KeyRing`] holds the keys, [`PathTokens`] seals and opens, [`TokenCounts`] counts the
//!   outcomes;
//! - [`ReadToken`] is the part that the client can read, [`PathTokenStore`] keeps tokens by server;
//! - [`stream`] carries tokens in HTTP/3;
//! - [`TokenServer`] and [`TokenClient`] let connections exchange them, [`Tokens`] is one
//!   connection's part.
//!
//! # Format
//!
//! Integers marked `(i)` are variable-length (RFC 9000 §16), those with a width are in network byte
//! order.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 1 | version | 1 |
//! | 4 | key | identifier of the sealing key; derived from the key, without other meaning |
//! | 12 | nonce | random; also identifies the token |
//! | 1 to 8 | window (i) | saved_cwnd in bytes, above zero |
//! | 1 to 8 | rtt (i) | saved_rtt in microseconds, rounded up, above zero |
//! | 1 to 8 | expiry (i) | milliseconds since 1970 |
//! | the rest | seal | AES-256-GCM (RFC 5116 §5.2) of the table below, with a tag of 16 bytes |
//!
//! The bytes before the seal are its associated data.
//!
//! | sealed bytes | field | |
//! |---|---|---|
//! | 1 to 8 | issued (i) | milliseconds since 1970 |
//! | 1 | family | 4 or 6 |
//! | 1 | length | prefix length of the address |
//! | 4 or 16 | address | network that may use the token |
//! | 0 to 8 | first rtt (i) | RTT of a first round that waited for capacity, as rtt, or absent |
//!
//! With the dates of this century a token has 57 to 91 bytes; readers refuse more than
//! [`MAX_TOKEN`], which leaves room for later versions. The measurements appear once, before the
//! seal, where the client can size its windows by them; as associated data they are authenticated
//! like the sealed part. The address is sealed, so a token does not reveal who may use it.
//!
//! # Privacy
//!
//! Tokens travel only inside QUIC's encryption and are used once, so no two connections show the
//! same one. The nonces and seals of two tokens have nothing in common, whatever their content.

mod client;
mod connection;
mod exchange;
mod format;
mod key_ring;
mod seal;
mod server;
mod store;
pub mod stream;
#[cfg(test)]
mod tests;
mod used_tokens;

pub use client::{ClientWindows, TokenClient};
pub use connection::{TokenOutcome, Tokens};
pub(crate) use exchange::{exchange, receive};
pub use format::{MAX_TOKEN, Malformed, ReadToken};
pub use key_ring::{KeyRing, KeyRingError, MIN_PERIOD, Secret};
pub use seal::{PathTokens, SealError, TokenCounts, TokenError};
pub use server::TokenServer;
pub use store::{MemoryPathTokenStore, PathTokenStore};
