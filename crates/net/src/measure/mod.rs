//! Measuring a path between two hosts whose users both want it: a client with the server's token.
//!
//! A measurement is a QUIC connection of its own protocol. Both ends have the same [`Secret`] in a
//! file, and each proves it in the handshake, so a client without it gets nothing but a refusal. A
//! client's address is validated before (Retry), so nothing can be reflected, and what a forged
//! address causes is shorter than what was sent to cause it.
//!
//! The client sends [`wire::Message::Begin`] on its first stream, with what it wants to spend, and
//! the server grants as much or less. Then:
//!
//! - pings: the client sends datagrams of 100 bytes, and the server answers each with one of 100
//!   bytes that has the times of both ends, at most [`MAX_ANSWERS`] in a second;
//! - transfers: on further streams the client asks for a download or announces an upload, one at a
//!   time. The end that receives counts bytes in bins of 100 ms.
//!
//! The server ends a connection that exceeds what it granted. It serves one measurement at a time,
//! and a network again only after a pause.

mod admission;
mod client;
mod server;
#[cfg(test)]
mod tests;
mod transfer;
pub mod wire;

pub use crate::pep::{PepError as TokenError, Secret};
pub use client::{Loaded, Measurement, Outcome, PING_INTERVAL, Progress, SHORTEST, Sample, Start};
pub use server::{MAX_ANSWERS, MeasureLimits, MeasureServer};

use crate::socket::MTU;
use bentpipe_quic::congestion::{CongestionConfig, ControllerName};
use bentpipe_quic::{AckRule, Clock, ConnectionConfig, FlowControlRule, QuicSettings};
use bentpipe_units::{Bytes, Span};

/// ALPN name of the protocol (RFC 7301).
const ALPN: &[u8] = b"bentpipe-measure/1";
/// Width of the bins of a transfer.
pub const BIN: Span = Span::from_millis(100);
/// Datagrams that may wait to be sent, bytes.
const DATAGRAMS: usize = 16 * 1024;
/// Send buffer: 60 Mbps over 600 ms.
const SEND_BUFFER: Bytes = Bytes::from_mb(5);
/// A connection in which nothing arrives for this long ends.
const IDLE: Span = Span::from_secs(20);
/// Bidirectional streams: one for the begin and a few transfers.
const STREAMS: u32 = 8;

/// Returns the transport settings of either end: BBRv3, as a transfer has to fill the path soon.
fn connection(clock: Clock) -> Result<ConnectionConfig, String> {
    let controller = "bbr3".parse::<ControllerName>().map_err(|error| error.to_string())?;
    let settings = QuicSettings {
        congestion: CongestionConfig { controller, ..CongestionConfig::default() },
        stream_window: FlowControlRule::tuned().max_window,
        connection_window: Bytes::from_mb(4),
        flow_control: FlowControlRule::tuned(),
        send_buffer: SEND_BUFFER,
        initial_mtu: MTU.0,
        max_mtu: MTU.1,
        idle_timeout: IDLE,
        ack: AckRule::Auto,
        ack_by: AckRule::Auto.by(),
        ..QuicSettings::default()
    };
    let config = ConnectionConfig::new(settings, clock).map_err(|error| error.to_string())?;
    Ok(config.with_stream_limits(STREAMS, 0).with_datagrams(DATAGRAMS))
}
