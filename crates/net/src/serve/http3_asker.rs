//! Who asks over HTTP/3.

use super::path_metrics::PathView;
use super::request_log::RequestLog;
use super::shared::Shared;
use bentpipe_quic::Conn;
use h3::error::{Code, StreamError};
use http::{StatusCode, Version};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The connection of a request.
pub(super) struct Context {
    pub conn: Conn,
    pub shared: Arc<Shared>,
    pub path: PathView,
}

/// The address and port from which a client asks.
#[derive(Clone, Copy)]
pub(super) struct Asker {
    pub client: IpAddr,
    pub port: u16,
}

impl Context {
    /// Waits until the client has shown that it receives at its address, and returns that address.
    /// Early data may have a forged one, whose owner shall not be held to account. `None` if the
    /// client is gone.
    pub async fn asker(&self) -> Option<Asker> {
        self.conn.validated().await.ok()?;
        let address = self.conn.validated_address().or_else(|| self.conn.remote_address())?;
        Some(Asker { client: address.ip().to_canonical(), port: address.port() })
    }
}

/// Counts a request that the library has refused, and logs one that got a response.
pub(super) fn refused(context: &Context, asker: Asker, error: &StreamError) {
    let shared = &context.shared;
    match error {
        StreamError::HeaderTooBig { .. } => {
            let log = RequestLog::unread(shared, asker.client, Version::HTTP_3);
            let mut log = log.over(&context.path);
            log.set_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
            log.complete();
        }
        StreamError::StreamError { code, .. } if *code == Code::H3_MESSAGE_ERROR => {
            shared.metrics.malformed.fetch_add(1, Relaxed);
        }
        // The client is gone or has cancelled the request.
        _ => {}
    }
}
