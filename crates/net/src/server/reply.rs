//! What answers a request, whatever version of HTTP carries it: the files of a directory, or a
//! server behind this one.

use super::Shared;
use super::open_files::FileSlot;
use super::upstream::{Relay, Relayed};
use crate::http::{Answer, Body, RETRY, Root, answer, plain};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, DATE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// Where responses come from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// Files below a directory. What requests carry is not read.
    Files(Root),
    /// Another server, which is asked.
    Upstream(Box<Relay>),
}

/// A response whose content is read as it is sent.
#[derive(Debug)]
pub(super) struct StreamedResponse {
    pub head: Response<()>,
    pub content: Content,
}

/// Content that is still to be sent.
#[derive(Debug)]
pub(super) enum Content {
    /// A file, with the slot for it while its content is not sent.
    File {
        body: Body,
        _slot: Option<FileSlot>,
    },
    Upstream(Relayed),
}

impl Content {
    /// The next piece, at most `most` bytes; nothing at the end.
    pub async fn next(&mut self, most: u64) -> io::Result<Option<Bytes>> {
        match self {
            Self::File { body, .. } => body.next(most).await,
            Self::Upstream(relayed) => relayed.next(most).await,
        }
    }

    /// Whether it is known that nothing comes any more.
    pub fn is_done(&self) -> bool {
        match self {
            Self::File { body, .. } => body.left() == 0,
            Self::Upstream(relayed) => relayed.is_done(),
        }
    }
}

impl StreamedResponse {
    /// The status in words.
    pub fn plain(status: StatusCode, now: SystemTime) -> Self {
        let Answer { head, body, .. } = plain(status);
        Self { head: dated(head, now), content: Content::File { body, _slot: None } }
    }

    /// A file below `root`, for the client at `address`.
    pub async fn file(
        shared: &Shared,
        root: &Root,
        request: Request<()>,
        address: IpAddr,
        now: SystemTime,
    ) -> Self {
        let Some(slot) = shared.files.slot(address).await else {
            shared.metrics.busy.fetch_add(1, Relaxed);
            return Self::busy(now);
        };
        let (root, path) = (root.clone(), request.uri().path().to_owned());
        let Ok(answered) = spawn_blocking(move || answer(&root, &request, now)).await else {
            return Self::plain(StatusCode::INTERNAL_SERVER_ERROR, now);
        };
        let Answer { head, body, failure } = answered;
        if let Some(error) = failure {
            shared.metrics.files_failed.fetch_add(1, Relaxed);
            shared.report(&format_args!("cannot read {}: {error}", path.escape_debug()));
        }
        let slot = Some(slot).filter(|_| body.left() > 0);
        Self { head, content: Content::File { body, _slot: slot } }
    }

    /// 503 without content: a client that takes nothing does not hold it.
    fn busy(now: SystemTime) -> Self {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        head.headers_mut().insert(RETRY_AFTER, RETRY);
        head.headers_mut().insert(CONTENT_LENGTH, 0.into());
        Self {
            head: dated(head, now),
            content: Content::File { body: Body::default(), _slot: None },
        }
    }
}

fn dated(mut head: Response<()>, now: SystemTime) -> Response<()> {
    // RFC 9110 §6.6.1. Dates are digits and letters.
    let date = HeaderValue::from_str(&httpdate::fmt_http_date(now));
    head.headers_mut().extend(date.ok().map(|date| (DATE, date)));
    head
}
