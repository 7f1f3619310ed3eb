//! Bounds on connections, memory and time.

use bentpipe_units::{Bytes, Span};

/// Bounds on connections, memory and time. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Concurrent connections. Further ones are refused.
    pub connections: usize,
    /// Concurrent connections of one client: an IPv4 address, or an IPv6 /56, the usual prefix of
    /// one site. All clients of an IPv6 /48 have twice as many together.
    pub per_client: usize,
    /// Memory for all connections, including the kernel's buffers. As less is free, new connections
    /// get smaller buffers, down to 32 kB. Without free memory they are refused.
    pub memory: Bytes,
    /// Time limit of the handshake with a client of an explicit proxy.
    pub handshake_time: Span,
    /// Time limit to connect to a destination: to resolve its name and to try its addresses.
    pub connect_time: Span,
    /// Time after which an idle connection ends. It may take up to twice as long. Defaults to the
    /// time that RFC 5382 §5 REQ-5 requires of NATs: 2 hours 4 minutes.
    pub idle_time: Span,
    /// The same for a half-closed connection. Defaults to 4 minutes, as in RFC 5382 for connections
    /// that are closing.
    pub half_open_time: Span,
    /// Time after which a connection is aborted if the peer acknowledges nothing or keeps its
    /// window closed (TCP_USER_TIMEOUT, RFC 5482). Defaults to 5 minutes (RFC 9293 §3.8.3).
    pub user_time: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            per_client: 256,
            memory: Bytes::from_mb(1000),
            handshake_time: Span::from_secs(10),
            connect_time: Span::from_secs(30),
            idle_time: Span::from_secs(7440),
            half_open_time: Span::from_secs(240),
            user_time: Span::from_secs(300),
        }
    }
}
