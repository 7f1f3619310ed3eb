//! Transport settings of the server's connections.

use super::limits::Limits;
use super::origin::Origin;
use crate::socket::MTU;
use bentpipe_quic::{AckRule, Clock, ConnectionConfig, QuicSettings, SettingsError};
use bentpipe_units::Bytes;

/// Send buffer of a connection without a response, bytes: room for the control streams.
const IDLE_BUFFER: u64 = 32 * 1024;
/// Flow-control window for the content of requests that the upstream has not taken, bytes: 14 Mbps
/// over 600 ms. Our choice. It does not grow, because a client can fill this memory.
const UPLOAD_WINDOW: u64 = 1024 * 1024;

/// Smallest window of a request stream, bytes. A header of this size arrives whole.
const MIN_HEADER_WINDOW: u64 = 16 * 1024;
/// Bytes of incomplete request headers, of all connections, that do not count for flow control, in
/// addition to the window of each connection. Our choice. Beyond that, clients with many large
/// headers in flight have to wait.
pub(super) const HEADER_MEMORY: u64 = 16 * 1024 * 1024;

/// Transport settings of the server's connections.
#[derive(Debug)]
pub(super) struct Tuning {
    config: ConnectionConfig,
    /// Largest size of a request's header fields, decoded, bytes.
    header: u64,
    /// Largest number of concurrent requests.
    requests: u32,
}

impl Tuning {
    /// Returns the settings, which the transport accepts.
    pub fn new(limits: &Limits, origin: &Origin, clock: Clock) -> Result<Self, SettingsError> {
        let min = match origin {
            // Requests are small, and their content is not read.
            Origin::Files(_) => [MIN_HEADER_WINDOW, 64 * 1024],
            Origin::Upstream(_) => [UPLOAD_WINDOW; 2],
        };
        let settings = QuicSettings {
            stream_window: Bytes::new(limits.header.get().saturating_mul(2).max(min[0])),
            connection_window: Bytes::new(limits.header.get().saturating_mul(4).max(min[1])),
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            send_buffer: Bytes::new(IDLE_BUFFER),
            idle_timeout: limits.idle_time,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..QuicSettings::default()
        };
        // One control stream, two of QPACK (RFC 9114 §6.2), one of path tokens, and four of
        // reserved types.
        let config = ConnectionConfig::new(settings, clock)?.with_stream_limits(limits.requests, 8);
        Ok(Self { config, header: limits.header.get(), requests: limits.requests })
    }

    /// Describes what early data depends on: the version of the program, and the limits that
    /// clients remember.
    pub fn description(&self) -> String {
        let settings = self.config.settings();
        let windows = (settings.stream_window, settings.connection_window);
        format!("{} {windows:?} {} {}", env!("CARGO_PKG_VERSION"), self.header, self.requests)
    }

    /// Returns the largest HEADERS frame, bytes, which fits the window of its stream. A frame whose
    /// fields exceed [`Limits::header`] gets 431. A larger frame ends the connection.
    pub fn max_header_frame(&self) -> u64 {
        // The window includes the type and length of the frame.
        self.header.saturating_mul(2).max(MIN_HEADER_WINDOW) - 16
    }

    /// Returns the flow-control window of a stream, bytes.
    pub fn stream_window(&self) -> u64 {
        self.config.settings().stream_window.get()
    }

    /// Returns the configuration of a connection that begins.
    pub fn connection(&self) -> ConnectionConfig {
        self.config.clone()
    }
}
