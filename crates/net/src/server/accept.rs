//! What a connection gets when it begins: its congestion control, what is remembered of its path,
//! its windows.

use super::Shared;
use super::limits::IDLE_BUFFER;
use super::reply::Origin;
use bentpipe_quic::path_memory::token::Tokens;
use bentpipe_quic::{Accept, AckRule, Clock, ConnectionConfig, Settings, SettingsError, Task};
use bentpipe_units::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// UDP payload that every path carries, where the connection begins (RFC 9000 §14.1), and the one
/// that probing may reach: 1500 bytes less the headers of IPv6 and UDP.
pub(crate) const MTU: (u16, u16) = (1200, 1452);

/// Bytes of requests' content that a connection takes and the server behind has not: our choice, 14
/// Mbps over 600 ms. It does not grow, since it is memory that a client can fill.
const UPLOAD_WINDOW: u64 = 1024 * 1024;

/// Least window of a request stream, bytes: a header that large arrives whole.
const LEAST_HEADER_WINDOW: u64 = 16 * 1024;
/// Bytes of incomplete request headers that return their flow-control credit, of all connections
/// together: our choice, beside the window of each connection. Beyond, clients with many large
/// headers under way at a time have to wait.
pub(super) const HEADER_MEMORY: u64 = 16 * 1024 * 1024;

/// How connections of the server are tuned.
#[derive(Debug)]
pub(crate) struct Tuning {
    config: ConnectionConfig,
    /// Bytes of a request's header fields, decoded.
    header: u64,
}

impl Tuning {
    pub fn new(
        limits: &super::Limits,
        origin: &Origin,
        clock: Clock,
    ) -> Result<Self, SettingsError> {
        let least = match origin {
            // Requests are small, and content of theirs is not read.
            Origin::Files(_) => [LEAST_HEADER_WINDOW, 64 * 1024],
            Origin::Upstream(_) => [UPLOAD_WINDOW; 2],
        };
        let settings = Settings {
            stream_window: Bytes::new(limits.header.get().saturating_mul(2).max(least[0])),
            connection_window: Bytes::new(limits.header.get().saturating_mul(4).max(least[1])),
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            send_buffer: Bytes::new(IDLE_BUFFER),
            idle_timeout: limits.idle_time,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        // Control, two of QPACK (RFC 9114 §6.2), one of path tokens, and room for reserved ones.
        let config = ConnectionConfig::new(settings, clock)?.with_stream_limits(limits.requests, 8);
        Ok(Self { config, header: limits.header.get() })
    }

    /// Longest HEADERS frame, bytes: it arrives whole within its stream's window. One whose fields
    /// are too large for [`super::Limits::header`] is answered with 431; beyond this, the
    /// connection ends.
    pub fn max_header_frame(&self) -> u64 {
        // Type and length of the frame are in the window too.
        self.header.saturating_mul(2).max(LEAST_HEADER_WINDOW) - 16
    }

    pub fn stream_window(&self) -> u64 {
        self.config.settings().stream_window.get()
    }
}

/// What is done with a connection from `remote`.
pub(crate) fn accept(shared: &Arc<Shared>, remote: SocketAddr) -> Option<Accept> {
    let pass = shared.door.enter(remote.ip());
    shared.metrics.connections_quic.fetch_add(1, Relaxed);
    let config =
        shared.resumption.configure(shared.tuning.config.clone(), remote.ip().to_canonical());
    let notes = config.resume_handle();
    let tokens = notes.as_ref().map(|notes| Tokens::server(&shared.tokens, notes.clone()));
    let qlog = shared.qlog.as_ref().and_then(|desk| desk.begin("server"));
    let (config, attachments) = config.with_tokens(tokens).with_qlog(qlog).server(&shared.config);
    let shared = shared.clone();
    let app = Box::new(move |conn| Box::pin(super::h3::serve(conn, shared, pass, notes)) as Task);
    Some(Accept { config, attachments, app })
}
