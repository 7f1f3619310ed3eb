//! A QUIC connection between two proxies. TCP ends at each of them, and a protocol made for the hop
//! runs between them.
//!
//! The [ingress](ingress) opens the connection, keeps it open, and opens another after it has
//! ended. Each TCP connection has a stream of it, which the [egress](egress) forwards.

pub(super) mod config;
pub(super) mod egress;
pub(super) mod flow_control;
pub(super) mod header;
pub(super) mod ingress;
pub(super) mod secret;
pub(super) mod stream;
