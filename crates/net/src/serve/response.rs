//! Responses with content that is read while it is sent, for all versions of HTTP.

use super::shared::Shared;
use crate::admission::activity::Activity;
use crate::admission::slots::{ClientSlot, SlotRequest, memory_of};
use crate::http::{Body, FIRST_PIECE, FileResponse, Files, RETRY, respond_if, status_text};
use crate::logging::Level;
use crate::proxy::{Forwarded, ResponseBody};
use bentpipe_units::Span;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use tokio::task::{JoinError, spawn_blocking};

/// Time that a request waits for a slot before its response is 503. Our choice: a thousand
/// connections that ask at once are served by then, and clients still wait.
const SLOT_WAIT: Duration = Duration::from_secs(30);

/// Bytes of content in a unit of weight.
const UNIT: u64 = 1024;
/// Units for what a response takes beside its content. Our choice.
const BESIDE: u64 = 2;
/// Weight of a slot: a file that takes a descriptor, and up to 96 kB in memory. Smaller files take
/// less, by their size.
pub(super) const SLOT: u64 = FIRST_PIECE / UNIT;

/// Returns the weight of a response with `left` bytes of content.
fn weight(left: u64) -> u64 {
    left.div_ceil(UNIT).saturating_add(BESIDE).min(SLOT)
}

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

    /// Returns the upstream's trailers, after the end of the content.
    pub fn trailers(&mut self) -> Option<HeaderMap> {
        match self {
            Self::File { .. } => None,
            Self::Upstream(body) => body.trailers(),
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
            // Callers that ask for one handle it before.
            Ok(Forwarded::WebSocket(..)) => Self::status(StatusCode::NOT_IMPLEMENTED, now),
            Err(status) => Self::status(status, now),
        }
    }

    /// Returns a response whose content is the status in words.
    pub fn status(status: StatusCode, now: SystemTime) -> Self {
        let FileResponse { head, body, .. } = status_text(status);
        Self { head: with_date(head, now), content: Content::File { body, _slot: None } }
    }

    /// Returns one of `files`, for the client at `address` whose request has `activity`. Waits for
    /// a slot, if the content needs one.
    pub async fn file(
        shared: &Shared,
        files: &Files,
        request: Arc<Request<()>>,
        (address, activity): (IpAddr, &Arc<Activity>),
        now: SystemTime,
    ) -> Self {
        let mut wanted = SlotRequest {
            address,
            weight: 0,
            waiting: memory_of(request.headers()),
            activity: activity.clone(),
        };
        let (slots, mut exact) = (shared.files.clone(), wanted.clone());
        let looked_up = look_up(files, &request, now, move |left| {
            exact.weight = weight(left);
            slots.try_slot(&exact)
        });
        let mut result = looked_up.await;
        if let Ok((FileResponse { body, .. }, None)) = &result
            && body.is_unread()
        {
            wanted.weight = weight(body.left());
            // What waits shall take little.
            drop(result);
            let Some(slot) = shared.files.slot(&wanted, SLOT_WAIT).await else {
                shared.metrics.busy.fetch_add(1, Relaxed);
                return Self::busy(now);
            };
            // Anew, because the file may be another by now.
            result = look_up(files, &request, now, move |_| Some(slot)).await;
        }
        let Ok((FileResponse { head, body, failure }, slot)) = result else {
            return Self::status(StatusCode::INTERNAL_SERVER_ERROR, now);
        };
        if let Some(error) = failure {
            shared.metrics.files_failed.fetch_add(1, Relaxed);
            let path = request.uri().path().escape_debug();
            shared.report(Level::Error, &format_args!("cannot read {path}: {error}"));
        }
        Self { head, content: Content::File { body, _slot: slot } }
    }

    /// Returns a response without content, such as 101.
    pub fn head(head: Response<()>) -> Self {
        Self { head, content: Content::File { body: Body::default(), _slot: None } }
    }

    /// Returns 503.
    fn busy(now: SystemTime) -> Self {
        Self::retry(StatusCode::SERVICE_UNAVAILABLE, RETRY, now)
    }

    /// Returns 429 (RFC 6585 §4): the client may ask again after `wait`.
    pub fn too_many_requests(wait: Span, now: SystemTime) -> Self {
        let secs = wait.as_nanos().div_ceil(1_000_000_000).max(1);
        Self::retry(StatusCode::TOO_MANY_REQUESTS, secs.into(), now)
    }

    /// Returns a response without content, which takes no memory until the client reads it.
    fn retry(status: StatusCode, after: HeaderValue, now: SystemTime) -> Self {
        let mut head = Response::new(());
        *head.status_mut() = status;
        head.headers_mut().insert(RETRY_AFTER, after);
        head.headers_mut().insert(CONTENT_LENGTH, 0.into());
        Self {
            head: with_date(head, now),
            content: Content::File { body: Body::default(), _slot: None },
        }
    }
}

/// Looks a file up on a thread that may wait for the disk, and reads its first piece if `slot`
/// returns one for the number of bytes to send.
async fn look_up(
    files: &Files,
    request: &Arc<Request<()>>,
    now: SystemTime,
    slot: impl FnOnce(u64) -> Option<ClientSlot> + Send + 'static,
) -> Result<(FileResponse, Option<ClientSlot>), JoinError> {
    let (files, request) = (files.clone(), request.clone());
    spawn_blocking(move || {
        let mut got = None;
        let response = respond_if(&files, &request, now, |left| {
            got = slot(left);
            got.is_some()
        });
        let got = got.filter(|_| response.body.left() > 0);
        (response, got)
    })
    .await
}

fn with_date(mut head: Response<()>, now: SystemTime) -> Response<()> {
    // RFC 9110 §6.6.1.
    let date = HeaderValue::from_str(&httpdate::fmt_http_date(now));
    head.headers_mut().extend(date.ok().map(|date| (DATE, date)));
    head
}
