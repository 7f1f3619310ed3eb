//! Settings of a tunnel's QUIC connections.

use crate::pep::error::PepError;
use crate::socket::MTU;
use bentpipe_quic::congestion::{CongestionConfig, ControllerFactory, FastStart};
use bentpipe_quic::noq_proto::{TransportConfig, VarInt};
use bentpipe_quic::{AckRule, Clock, Conn, MakeController, Settings, controller_factory};
use bentpipe_units::{Bytes, Span};
use std::sync::Arc;

/// Idle timeout of a tunnel, and interval of the packets that keep it alive. Our choice.
const IDLE_TIMEOUT: Span = Span::from_secs(30);
const KEEPALIVE: Span = Span::from_secs(10);
/// Send buffer of all streams of a tunnel, in units of the buffer of one stream. Our choice.
const SEND_BUFFERS: u64 = 8;
/// Time limit of a handshake, and of a stream's header.
pub(super) const HANDSHAKE_TIME: Span = Span::from_secs(15);
/// Time for the last bytes of streams to arrive when a proxy stops.
pub(in crate::pep) const FLUSH_TIME: Span = Span::from_secs(3);

/// Settings of a tunnel's QUIC connections.
#[derive(Debug)]
pub(super) struct TunnelConfig {
    settings: Settings,
    factory: ControllerFactory,
}

impl TunnelConfig {
    /// Returns settings with a buffer of `buffer` for each stream and direction, and of `memory`
    /// for all. Proxies keep within tighter limits themselves
    /// ([`flow_control`](super::flow_control)). The windows of QUIC stop other peers.
    pub fn new(
        congestion: &CongestionConfig,
        buffer: Bytes,
        memory: Bytes,
    ) -> Result<Self, PepError> {
        let send_window = Bytes::new(buffer.get().saturating_mul(SEND_BUFFERS));
        let settings = Settings {
            congestion: congestion.clone(),
            // Room for a header as well.
            stream_window: buffer + Bytes::new(64 * 1024),
            connection_window: memory,
            send_window,
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            idle_timeout: IDLE_TIMEOUT,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        settings.transport().map_err(PepError::system)?;
        let factory = settings.controller().map_err(PepError::system)?;
        Ok(Self { settings, factory })
    }

    /// Returns the transport configuration of a connection whose peer may open `streams` streams.
    pub fn transport(&self, clock: Clock, streams: usize) -> Option<TransportConfig> {
        let mut transport = self.settings.transport().ok()?;
        let streams = VarInt::from_u32(u32::try_from(streams).unwrap_or(u32::MAX));
        transport
            .max_concurrent_bidi_streams(streams)
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .keep_alive_interval(Some(KEEPALIVE.into()));
        let factory = self.factory.clone();
        // One connection carries all traffic of the hop, so it may start fast.
        let make: MakeController =
            Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None));
        let Settings { initial_window, pacing, .. } = self.settings;
        transport.congestion_controller_factory(controller_factory(
            clock,
            initial_window,
            pacing,
            None,
            make,
        ));
        Some(transport)
    }

    /// Returns the window of a stream with a buffer of `buffer`, as the header encodes it.
    pub fn window(buffer: Bytes) -> u32 {
        u32::try_from(buffer.get()).unwrap_or(u32::MAX)
    }

    /// Returns the largest delay of acknowledgements.
    pub const fn max_ack_delay(&self) -> Span {
        self.settings.max_ack_delay
    }

    /// Configures the send buffer and flow control of a connection.
    pub fn apply(&self, conn: &Conn) {
        conn.set_send_buffer(self.settings.send_window.get());
        conn.set_flow_control(self.settings.connection_window, &self.settings.credit);
    }
}
