//! Responses with content that is read while it is sent, for all versions of HTTP.

use super::shared::Shared;
use crate::admission::slots::ClientSlot;
use crate::http::{Body, FileResponse, Files, RETRY, respond, status_text};
use crate::logging::Level;
use crate::proxy::{Forwarded, ResponseBody};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, DATE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;

/// Time that a request waits for a file's slot before its response is 503. Our choice: a few RTTs
/// over a GEO satellite, in which other responses to the same client end.
const SLOT_WAIT: Duration = Duration::from_secs(2);

/// A response whose content is read while it is sent.
#[derive(Debug)]
pub(super) struct StreamedResponse {
    pub head: Response<()>,
    pub content: Content,
}

/// Content that is still to be sent.
#[derive(Debug)]
pub(super) enum Content {
    /// A file, with its slot until the content is sent.
    File { body: Body, _slot: Option<ClientSlot> },
    /// The content of an upstream's response.
    Upstream(ResponseBody),
}

impl Content {
    /// Returns the next piece, of at most `limit` bytes. `None` at the end.
    pub async fn next(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        match self {
            Self::File { body, .. } => body.next(limit).await,
            Self::Upstream(body) => body.next(limit).await,
        }
    }

    /// Returns whether it is known that no content follows.
    pub fn is_done(&self) -> bool {
        match self {
            Self::File { body, .. } => body.left() == 0,
            Self::Upstream(body) => body.is_done(),
        }
    }
}

impl StreamedResponse {
    /// Returns the upstream's response, or the status of the proxy's own response.
    pub fn forwarded(result: Result<Forwarded, StatusCode>, now: SystemTime) -> Self {
        match result {
            Ok(Forwarded::Response(head, body)) => Self { head, content: Content::Upstream(body) },
            // Requests for it come over TCP only, whose server handles it.
            Ok(Forwarded::WebSocket(..)) => Self::status(StatusCode::NOT_IMPLEMENTED, now),
            Err(status) => Self::status(status, now),
        }
    }

    /// Returns a response whose content is the status in words.
    pub fn status(status: StatusCode, now: SystemTime) -> Self {
        let FileResponse { head, body, .. } = status_text(status);
        Self { head: with_date(head, now), content: Content::File { body, _slot: None } }
    }

    /// Returns one of `files`, for the client at `address`.
    pub async fn file(
        shared: &Shared,
        files: &Files,
        request: Request<()>,
        address: IpAddr,
        now: SystemTime,
    ) -> Self {
        let Some(slot) = shared.files.slot(address, SLOT_WAIT).await else {
            shared.metrics.busy.fetch_add(1, Relaxed);
            return Self::busy(now);
        };
        let (files, path) = (files.clone(), request.uri().path().to_owned());
        let Ok(response) = spawn_blocking(move || respond(&files, &request, now)).await else {
            return Self::status(StatusCode::INTERNAL_SERVER_ERROR, now);
        };
        let FileResponse { head, body, failure } = response;
        if let Some(error) = failure {
            shared.metrics.files_failed.fetch_add(1, Relaxed);
            let text = format_args!("cannot read {}: {error}", path.escape_debug());
            shared.report(Level::Error, &text);
        }
        let slot = Some(slot).filter(|_| body.left() > 0);
        Self { head, content: Content::File { body, _slot: slot } }
    }

    /// Returns a response without content, such as 101.
    pub fn head(head: Response<()>) -> Self {
        Self { head, content: Content::File { body: Body::default(), _slot: None } }
    }

    /// Returns 503 without content, which takes no memory until the client reads it.
    fn busy(now: SystemTime) -> Self {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        head.headers_mut().insert(RETRY_AFTER, RETRY);
        head.headers_mut().insert(CONTENT_LENGTH, 0.into());
        Self {
            head: with_date(head, now),
            content: Content::File { body: Body::default(), _slot: None },
        }
    }
}

fn with_date(mut head: Response<()>, now: SystemTime) -> Response<()> {
    // RFC 9110 §6.6.1.
    let date = HeaderValue::from_str(&httpdate::fmt_http_date(now));
    head.headers_mut().extend(date.ok().map(|date| (DATE, date)));
    head
}
