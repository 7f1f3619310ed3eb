//! Settings of an endpoint. The defaults are those of a current Linux host.

use bentpipe_congestion as cc;
use bentpipe_units::{Bytes, Span};
use std::sync::Arc;

/// Creates the congestion controller of a new connection.
pub type MakeController =
    Arc<dyn Fn(&cc::ControllerConfig) -> Box<dyn cc::Controller> + Send + Sync>;

/// The acknowledgement policy of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPolicy {
    /// Number of full segments per acknowledgement (RFC 9293 §3.8.6.3: two).
    pub every: u32,
    /// Maximum delay of an acknowledgement (Linux: 40 ms at least).
    pub delay: Span,
    /// Number of first segments that are acknowledged one by one, so that the sender's window opens
    /// (Linux: quick ACKs, 16).
    pub quick: u32,
    /// Segments that arrive within this time of each other, up to 64 kB, are merged and
    /// acknowledged once, as with generic receive offload. `None` disables it.
    pub coalesce: Option<Span>,
}

impl Default for AckPolicy {
    fn default() -> Self {
        Self { every: 2, delay: Span::from_millis(40), quick: 16, coalesce: None }
    }
}

/// How buffers are counted, and how the receive window grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BufferModel {
    /// Buffers count payload. A fixed share of the receive buffer is window.
    #[default]
    Payload,
    /// As in Linux 6.18: buffers count the memory of packets. The receive window grows with each
    /// segment, and each segment is acknowledged meanwhile.
    Linux,
}

/// Settings of one endpoint, as plain values: "auto" is already resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpSettings {
    /// Payload of a full segment, without timestamps: 1448 bytes in packets of 1500.
    pub segment: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// How buffers are counted.
    pub buffers: BufferModel,
    /// Maximum size of the receive buffer (Linux tcp_rmem: 6 MiB).
    pub receive_buffer: Bytes,
    /// Initial size of the receive buffer (Linux tcp_rmem: 128 KiB).
    pub receive_buffer_start: Bytes,
    /// Fraction of the receive buffer that is advertised as window, in thousandths; the rest is for
    /// overhead (Linux: half). Without effect with [`BufferModel::Linux`].
    pub window_share: u32,
    /// True if the receive buffer grows with the bytes that the application reads per RTT, up to
    /// its maximum. Otherwise it has its maximum from the start.
    pub autotune: bool,
    /// Maximum bytes written and not yet acknowledged (Linux tcp_wmem: 4 MiB).
    pub send_buffer: Bytes,
    /// Acknowledgement policy of the receiver.
    pub ack: AckPolicy,
    /// True if ECN is requested and accepted (RFC 3168).
    pub ecn: bool,
    /// True if the window shrinks while idle (RFC 5681 §4.1, as in Linux).
    pub idle_restart: bool,
    /// Retransmission timeout before the first sample (RFC 6298: 1 s).
    pub initial_rto: Span,
    /// Minimum retransmission timeout (Linux: 200 ms).
    pub min_rto: Span,
    /// Maximum retransmission timeout (Linux: 120 s).
    pub max_rto: Span,
    /// Consecutive timeouts after which the connection is given up (Linux tcp_retries2: 15).
    pub retries: u32,
    /// The same for the SYN (Linux: 6).
    pub syn_retries: u32,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            segment: 1448,
            initial_window: 10,
            buffers: BufferModel::Payload,
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
