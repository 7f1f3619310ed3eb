//! Two proxies with a QUIC connection between them: TCP ends at each, and over the hop runs a
//! protocol made for it.
//!
//! The connection is begun by the [entrance](entrance), kept open, and begun again when it has
//! ended; a stream of it carries one TCP connection.

mod credit;
mod entrance;
mod exit;
mod header;
mod secret;
mod stream;

pub(super) use entrance::{PendingStream, Tunnel};
pub(super) use exit::start as start_exit;
pub use header::{Header, HeaderError, read_header, write_header};
pub use secret::Secret;

use super::PepError;
use crate::server::MTU;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{AckRule, Clock, ConnectionConfig, Settings};
use bentpipe_units::{Bytes, Span};
use std::io;

/// Silence after which a tunnel is taken for broken, and how often it is kept from being silent:
/// our choice.
const SILENCE: Span = Span::from_secs(30);
const KEEPALIVE: Span = Span::from_secs(10);
/// What all streams of a tunnel together may have under way, of the buffer of one: our choice.
const TOGETHER: u64 = 8;
/// Time for a handshake, and for a stream to say where it wants to go.
const HANDSHAKE: Span = Span::from_secs(15);
/// Time for the last bytes of streams to arrive when a proxy stops.
pub(super) const LAST: Span = Span::from_secs(3);

/// How connections of the tunnel are tuned.
#[derive(Debug)]
struct TunnelConfig {
    config: ConnectionConfig,
}

impl TunnelConfig {
    /// `buffer`: the most that waits of one stream and direction; `memory`: of all. Peers keep to
    /// less than that by themselves ([`credit`]); the stack's own windows are there for those who
    /// do not.
    fn new(
        congestion: &CongestionConfig,
        buffer: Bytes,
        memory: Bytes,
        clock: Clock,
    ) -> Result<Self, PepError> {
        let together = Bytes::new(buffer.get().saturating_mul(TOGETHER));
        let settings = Settings {
            congestion: congestion.clone(),
            // A header, too.
            stream_window: buffer + Bytes::new(64 * 1024),
            connection_window: memory,
            send_buffer: together,
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            idle_timeout: SILENCE,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        // One connection has the hop for all: it may start fast.
        let config = ConnectionConfig::new(settings, clock)
            .map_err(|error| PepError::System(io::Error::other(error.to_string())))?
            .with_keep_alive(KEEPALIVE);
        Ok(Self { config })
    }

    /// The configuration of one connection, in which the peer may have so many streams open.
    fn connection(&self, streams: usize) -> ConnectionConfig {
        let streams = u32::try_from(streams).unwrap_or(u32::MAX);
        self.config.clone().with_stream_limits(streams, 0)
    }

    /// The window of a stream with such a buffer, as it is told.
    fn window(buffer: Bytes) -> u32 {
        u32::try_from(buffer.get()).unwrap_or(u32::MAX)
    }
}
