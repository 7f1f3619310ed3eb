//! What a connection gets when it begins: its congestion control, what is remembered of its path,
//! its windows.

use super::Shared;
use super::limits::IDLE_BUFFER;
use super::reply::Origin;
use crate::resumption::Begun;
use bentpipe_quic::noq_proto::{ServerConfig, VarInt};
use bentpipe_quic::path_memory::token::Tokens;
use bentpipe_quic::{Accept, AckRule, Attachments, Conn, Settings, SettingsError, Task};
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
    settings: Settings,
    /// Bytes of a request's header fields, decoded.
    header: u64,
}

impl Tuning {
    pub fn new(limits: &super::Limits, origin: &Origin) -> Result<Self, SettingsError> {
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
            idle_timeout: limits.idle_time,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        settings.transport()?;
        Ok(Self { settings, header: limits.header.get() })
    }

    /// Longest HEADERS frame, bytes: it arrives whole within its stream's window. One whose fields
    /// are too large for [`super::Limits::header`] is answered with 431; beyond this, the
    /// connection ends.
    pub fn max_header_frame(&self) -> u64 {
        // Type and length of the frame are in the window too.
        self.header.saturating_mul(2).max(LEAST_HEADER_WINDOW) - 16
    }

    pub fn stream_window(&self) -> u64 {
        self.settings.stream_window.get()
    }

    /// Has a connection give credit as configured.
    pub fn set_flow_control(&self, conn: &Conn) {
        conn.set_flow_control(self.settings.connection_window, &self.settings.flow_control);
    }
}

/// What is done with a connection from `remote`; nothing where its transport cannot be configured.
pub(crate) fn accept(shared: &Arc<Shared>, remote: SocketAddr) -> Option<Accept> {
    let pass = shared.door.enter(remote.ip());
    shared.metrics.connections_quic.fetch_add(1, Relaxed);
    let settings = &shared.tuning.settings;
    let mut transport =
        Settings { send_buffer: Bytes::new(IDLE_BUFFER), ..settings.clone() }.transport().ok()?;
    transport.max_concurrent_bidi_streams(VarInt::from_u32(shared.door.limits().requests));
    // Control, two of QPACK (RFC 9114 §6.2), one of path tokens, and room for reserved ones.
    transport.max_concurrent_uni_streams(VarInt::from_u32(8));
    let Begun { factory, metrics, notes, remembered, starting } =
        shared.resumption.begin(remote.ip().to_canonical());
    let saved = notes.as_ref().and_then(|notes| notes.resume_state().offered);
    settings.ask(&mut transport, saved.as_ref());
    let tokens = notes.as_ref().map(|notes| Tokens::server(&shared.tokens, notes.clone()));
    transport.congestion_controller_factory(factory);
    let qlog = shared.qlog.as_ref().and_then(|desk| desk.begin("server"));
    if let Some(sink) = &qlog {
        transport.qlog_factory(Arc::new(sink.clone()));
    }
    let mut config = ServerConfig::clone(&shared.config);
    config.transport_config(Arc::new(transport));
    let attached = Attachments {
        metrics: Some(metrics),
        path_lease: remembered,
        qlog,
        tokens,
        start_lease: starting,
        ..Attachments::default()
    };
    let shared = shared.clone();
    let app = Box::new(move |conn| Box::pin(super::h3::serve(conn, shared, pass, notes)) as Task);
    Some(Accept { config: Arc::new(config), attachments: attached, app })
}
