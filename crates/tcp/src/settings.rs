//! Settings of an endpoint. The defaults are those of a current Linux host.

use bentpipe_congestion as cc;
use bentpipe_units::{Bytes, Span};
use std::sync::Arc;

/// Makes the congestion controller of a new connection.
pub type MakeController =
    Arc<dyn Fn(&cc::ControllerConfig) -> Box<dyn cc::Controller> + Send + Sync>;

/// When the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPolicy {
    /// After so many full segments (RFC 9293 §3.8.6.3: two).
    pub every: u32,
    /// At the latest after this long (Linux: 40 ms at least).
    pub delay: Span,
    /// The first so many segments are acknowledged each at once, so that the sender's window opens
    /// (Linux: quick ACKs, 16).
    pub quick: u32,
    /// Segments that arrive within this time of each other, up to 64 kB, are taken for one and
    /// acknowledged once, as generic receive offload does; `None` where there is none.
    pub coalesce: Option<Span>,
}

impl Default for AckPolicy {
    fn default() -> Self {
        Self { every: 2, delay: Span::from_millis(40), quick: 16, coalesce: None }
    }
}

/// Settings of one endpoint. Plain values: whoever builds them has already resolved "auto".
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Payload of a full segment, timestamps allowed for: 1448 bytes with packets of 1500.
    pub segment: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// The most that the receive buffer grows to (Linux tcp_rmem: 6 MiB).
    pub receive_buffer: Bytes,
    /// What it begins with (Linux tcp_rmem: 128 KiB).
    pub receive_buffer_start: Bytes,
    /// Share of the receive buffer that is advertised as window, per thousand; the rest is for
    /// overhead (Linux: half).
    pub window_share: u32,
    /// Whether the receive buffer grows with what the application takes in a round trip, up to its
    /// largest; otherwise it has that from the beginning.
    pub autotune: bool,
    /// Most bytes written and not yet acknowledged (Linux tcp_wmem: 4 MiB).
    pub send_buffer: Bytes,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// Whether ECN is asked for and agreed to (RFC 3168).
    pub ecn: bool,
    /// Whether the window shrinks while nothing is sent (RFC 5681 §4.1, as Linux does it).
    pub idle_restart: bool,
    /// Retransmission timeout before the first sample (RFC 6298: 1 s).
    pub initial_rto: Span,
    /// Smallest retransmission timeout (Linux: 200 ms).
    pub min_rto: Span,
    /// Largest retransmission timeout (Linux: 120 s).
    pub max_rto: Span,
    /// Timeouts in a row after which the connection is given up (Linux tcp_retries2: 15).
    pub retries: u32,
    /// The same for the SYN (Linux: 6).
    pub syn_retries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            segment: 1448,
            initial_window: 10,
            receive_buffer: Bytes::new(6 << 20),
            receive_buffer_start: Bytes::new(128 << 10),
            window_share: 500,
            autotune: true,
            send_buffer: Bytes::new(4 << 20),
            ack: AckPolicy::default(),
            ecn: false,
            idle_restart: true,
            initial_rto: Span::from_secs(1),
            min_rto: Span::from_millis(200),
            max_rto: Span::from_secs(120),
            retries: 15,
            syn_retries: 6,
        }
    }
}
