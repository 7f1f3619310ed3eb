//! Settings of a tunnel's QUIC connections.

use crate::clock::RealClock;
use crate::pep::error::PepError;
use crate::resumption::Resumption;
use crate::socket::MTU;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{AckRule, ConnectionConfig, QuicSettings};
use bentpipe_units::{Bytes, Span};
use std::net::SocketAddr;

/// Idle timeout of a tunnel, and interval of the packets that keep it alive. Our choice.
const IDLE_TIMEOUT: Span = Span::from_secs(30);
const KEEPALIVE: Span = Span::from_secs(10);
/// Send buffer of all streams of a tunnel, in units of the buffer of one stream. Our choice.
const SEND_BUFFERS: u64 = 8;
/// Time limit of a handshake, and of a stream's header.
pub(super) const HANDSHAKE_TIME: Span = Span::from_secs(15);
/// Time for the last bytes of streams to arrive when a proxy stops.
pub(in crate::pep) const FLUSH_TIME: Span = Span::from_secs(3);

/// Settings of a tunnel's QUIC connections, and what is remembered of their paths.
#[derive(Debug)]
pub(in crate::pep) struct TunnelConfig {
    config: ConnectionConfig,
    resumption: Resumption,
}

impl TunnelConfig {
    /// Returns settings with a buffer of `buffer` for each stream and direction, and of `memory`
    /// for all. Proxies keep within tighter limits themselves
    /// ([`flow_control`](super::flow_control)). The windows of QUIC stop other peers.
    pub fn new(
        congestion: CongestionConfig,
        (buffer, memory): (Bytes, Bytes),
        resumption: Resumption,
        clock: &RealClock,
    ) -> Result<Self, PepError> {
        let resumption = resumption.with_congestion(congestion)?;
        let send_buffer = Bytes::new(buffer.get().saturating_mul(SEND_BUFFERS));
        let settings = QuicSettings {
            // Room for a header as well.
            stream_window: buffer + Bytes::new(64 * 1024),
            connection_window: memory,
            send_buffer,
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            idle_timeout: IDLE_TIMEOUT,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..QuicSettings::default()
        };
        // One connection carries all traffic of the hop, so it may start fast.
        let config = ConnectionConfig::new(settings, clock.base())
            .map_err(PepError::system)?
            .with_keep_alive(KEEPALIVE);
        Ok(Self { config, resumption })
    }

    /// Returns the configuration of a connection with `remote`, which may open `streams` streams.
    pub fn connection(&self, remote: SocketAddr, streams: usize) -> ConnectionConfig {
        let streams = u32::try_from(streams).unwrap_or(u32::MAX);
        let config = self.config.clone().with_stream_limits(streams, 0);
        self.resumption.configure(config, remote.ip().to_canonical())
    }

    /// Returns the window of a stream with a buffer of `buffer`, as the header encodes it.
    pub fn window(buffer: Bytes) -> u32 {
        u32::try_from(buffer.get()).unwrap_or(u32::MAX)
    }
}
