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
use bentpipe_quic::congestion::{CongestionConfig, ControllerFactory, FastStart};
use bentpipe_quic::noq_proto::{TransportConfig, VarInt};
use bentpipe_quic::{AckRule, Clock, Conn, MakeController, Settings, controller_factory};
use bentpipe_units::{Bytes, Span};
use std::io;
use std::sync::Arc;

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
    settings: Settings,
    factory: ControllerFactory,
}

impl TunnelConfig {
    /// `buffer`: the most that waits of one stream and direction; `memory`: of all. Peers keep to
    /// less than that by themselves ([`credit`]); the stack's own windows are there for those who
    /// do not.
    fn new(congestion: &CongestionConfig, buffer: Bytes, memory: Bytes) -> Result<Self, PepError> {
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
        let fail =
            |error: &dyn std::fmt::Display| PepError::System(io::Error::other(error.to_string()));
        settings.transport().map_err(|error| fail(&error))?;
        let factory = settings.controller().map_err(|error| fail(&error))?;
        Ok(Self { settings, factory })
    }

    /// The stack's configuration for one connection, in which the peer may have so many streams
    /// open.
    fn transport(&self, clock: Clock, streams: usize) -> Option<TransportConfig> {
        let mut transport = self.settings.transport().ok()?;
        let streams = VarInt::from_u32(u32::try_from(streams).unwrap_or(u32::MAX));
        transport
            .max_concurrent_bidi_streams(streams)
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .keep_alive_interval(Some(KEEPALIVE.into()));
        let factory = self.factory.clone();
        // One connection has the hop for all: it may start fast.
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

    /// The window of a stream with such a buffer, as it is told.
    fn window(buffer: Bytes) -> u32 {
        u32::try_from(buffer.get()).unwrap_or(u32::MAX)
    }

    /// Has a connection buffer and give credit as configured.
    fn govern(&self, conn: &Conn) {
        conn.set_send_buffer(self.settings.send_buffer.get());
        conn.set_flow_control(self.settings.connection_window, &self.settings.flow_control);
    }
}
