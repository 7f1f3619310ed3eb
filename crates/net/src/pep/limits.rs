//! How much the proxy takes on, and how long it waits.

use bentpipe_units::{Bytes, Span};

/// How much the proxy takes on, and how long it waits. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Connections at a time; more are refused.
    pub connections: usize,
    /// Connections at a time of one client: an IPv4 address, or an IPv6 /56, as one site has it.
    pub per_client: usize,
    /// Memory that all connections together may come to take, the kernel's buffers included. As it
    /// goes, new connections get smaller buffers, down to 32 kB; when it is spent, they are
    /// refused.
    pub memory: Bytes,
    /// A client of an explicit proxy has so long to say where it wants to go.
    pub entry_time: Span,
    /// A destination has so long to answer: looking up its name, and all its addresses.
    pub connect_time: Span,
    /// A connection on which nothing moves ends after so long, and up to twice that. The default is
    /// what RFC 5382 §5 REQ-5 asks of address translators: 2 hours 4 minutes.
    pub idle_time: Span,
    /// The same for one of which one direction has ended: 4 minutes, as there for connections that
    /// are ending.
    pub half_open_time: Span,
    /// A peer that acknowledges nothing of what it was sent, or keeps its window closed, for so
    /// long is given up (TCP_USER_TIMEOUT, RFC 5482; 5 minutes, RFC 9293 §3.8.3).
    pub user_time: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            per_client: 256,
            memory: Bytes::from_mb(1000),
            entry_time: Span::from_secs(10),
            connect_time: Span::from_secs(30),
            idle_time: Span::from_secs(7440),
            half_open_time: Span::from_secs(240),
            user_time: Span::from_secs(300),
        }
    }
}
