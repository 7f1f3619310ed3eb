//! Accepts QUIC connections, with their congestion control and what is remembered of their path.

use super::http3;
use super::shared::Shared;
use super::tuning::IDLE_BUFFER;
use crate::resumption::ConnectionSetup;
use bentpipe_quic::noq_proto::{ServerConfig, VarInt};
use bentpipe_quic::token::Tokens;
use bentpipe_quic::{Accept, Attached, Settings, Task};
use bentpipe_units::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Accepts a connection from `remote`. `None` if its transport cannot be configured.
pub(super) fn accept(shared: &Arc<Shared>, remote: SocketAddr) -> Option<Accept> {
    let guard = shared.admission.admit(remote.ip());
    shared.metrics.connections_quic.fetch_add(1, Relaxed);
    let settings = shared.tuning.settings();
    let mut transport =
        Settings { send_window: Bytes::new(IDLE_BUFFER), ..settings.clone() }.transport().ok()?;
    transport.max_concurrent_bidi_streams(VarInt::from_u32(shared.limits.requests));
    // One control stream, two of QPACK (RFC 9114 §6.2), one of path tokens, and four of reserved
    // types.
    transport.max_concurrent_uni_streams(VarInt::from_u32(8));
    let ConnectionSetup { factory, metrics, resume, path_lease, start_lease } =
        shared.resumption.set_up(remote.ip().to_canonical());
    let saved = resume.as_ref().and_then(|resume| resume.resume_state().offered);
    settings.ask(&mut transport, saved.as_ref());
    let tokens = resume.as_ref().map(|resume| Tokens::server(&shared.tokens, resume.clone()));
    transport.congestion_controller_factory(factory);
    let qlog = shared.traces.as_ref().and_then(|traces| traces.start("server"));
    if let Some(sink) = &qlog {
        transport.qlog_factory(Arc::new(sink.clone()));
    }
    let mut config = ServerConfig::clone(&shared.config);
    config.transport_config(Arc::new(transport));
    let attached = Attached {
        metrics: Some(metrics),
        remembered: path_lease,
        qlog,
        tokens,
        starting: start_lease,
        ..Attached::default()
    };
    let shared = shared.clone();
    let app = Box::new(move |conn| Box::pin(http3::serve(conn, shared, guard, resume)) as Task);
    Some(Accept { config: Arc::new(config), attached, app })
}
