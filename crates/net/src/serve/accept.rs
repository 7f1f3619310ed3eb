//! Accepts QUIC connections, with their congestion control and what is remembered of their path.

use super::holdback::Group;
use super::http3;
use super::path_metrics::PathView;
use super::shared::Shared;
use crate::admission::control::ConnectionGuard;
use bentpipe_quic::path_memory::token::Tokens;
use bentpipe_quic::{Accept, Task};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Accepts a connection from `remote` that was admitted with `guard`.
pub(super) fn accept(
    shared: &Arc<Shared>,
    remote: SocketAddr,
    guard: ConnectionGuard,
) -> Option<Accept> {
    shared.metrics.connections_quic.fetch_add(1, Relaxed);
    let client = remote.ip().to_canonical();
    let group = shared.held_back.as_ref().map(|held| held.groups.group(client));
    let resumption = match &shared.held_back {
        Some(held) if group == Some(Group::Holdback) => &held.resumption,
        _ => &shared.resumption,
    };
    let config = resumption.configure(shared.tuning.connection(), client);
    let resume = config.resume_handle();
    let tokens = resume.as_ref().map(|resume| Tokens::server(&shared.tokens, resume.clone()));
    let qlog = shared.traces.as_ref().and_then(|traces| traces.start("server"));
    let (config, attachments) = config.with_tokens(tokens).with_qlog(qlog).server(&shared.config);
    let path = PathView { resume, sender: attachments.metrics.clone(), group };
    let shared = shared.clone();
    let app = Box::new(move |conn| Box::pin(http3::serve(conn, shared, guard, path)) as Task);
    Some(Accept { config, attachments, app })
}
