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
    /// ECN that is requested and accepted.
    pub ecn: EcnSupport,
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
            ecn: EcnSupport::Off,
            idle_restart: true,
            initial_rto: Span::from_secs(1),
            min_rto: Span::from_millis(200),
            max_rto: Span::from_secs(120),
            retries: 15,
            syn_retries: 6,
        }
    }
}

/// ECN of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnSupport {
    /// None.
    #[default]
    Off,
    /// The peer echoes a mark until it is told that the window is reduced (RFC 3168).
    Classic,
    /// The peer counts marks (AccECN, RFC 9768). With a peer that does not, `Classic`.
    Accurate {
        /// True if data is ECT(1), for L4S (RFC 9331), rather than ECT(0).
        l4s: bool,
    },
}

impl EcnSupport {
    /// Returns true if data may be marked.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    pub(crate) fn is_accurate(self) -> bool {
        matches!(self, Self::Accurate { .. })
    }

    /// Returns what a listener uses with a peer whose SYN has ECE and CWR if `asks`, and AE if
    /// `asks_accurate` (RFC 9768 §3.1.1).
    pub(crate) fn after_syn(self, asks: bool, asks_accurate: bool) -> Self {
        match self {
            _ if !asks => Self::Off,
            Self::Accurate { .. } if !asks_accurate => Self::Classic,
            own => own,
        }
    }

    /// Returns what a client uses with a peer whose SYN-ACK has these flags. CWR alone is that of a
    /// peer with AccECN that received a SYN without ECT (RFC 9768 §3.1.1).
    pub(crate) fn after_syn_ack(self, ece: bool, cwr: bool) -> Self {
        match (self, ece, cwr) {
            (Self::Accurate { .. }, false, true) => self,
            (Self::Classic | Self::Accurate { .. }, true, false) => Self::Classic,
            _ => Self::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_on_what_both_have() {
        use EcnSupport::{Classic, Off};
        let accurate = EcnSupport::Accurate { l4s: true };
        for (client, server, expected) in [
            (Off, accurate, Off),
            (accurate, Off, Off),
            (Classic, Classic, Classic),
            (accurate, Classic, Classic),
            (Classic, accurate, Classic),
            (accurate, EcnSupport::Accurate { l4s: false }, accurate),
        ] {
            let answer = server.after_syn(client.is_on(), client.is_accurate());
            let (ece, cwr) = (answer == Classic, answer.is_accurate());
            assert_eq!(client.after_syn_ack(ece, cwr), expected, "{client:?} with {server:?}");
        }
    }
}
