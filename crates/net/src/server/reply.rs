//! What answers a request, whatever version of HTTP carries it: the files of a directory, or a server behind this one.

use super::upstream::{Relay, Relayed};
use crate::http::{Answer, Body, Root, answer, plain};
use bytes::Bytes;
use http::header::DATE;
use http::{HeaderValue, Request, Response, StatusCode};
use std::io;
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
pub(super) struct Reply {
    pub head: Response<()>,
    pub content: Content,
}

/// Content that is still to be sent.
#[derive(Debug)]
pub(super) enum Content {
    File(Body),
    Upstream(Relayed),
}

impl Content {
    /// The next piece, at most `most` bytes; nothing at the end.
    pub async fn next(&mut self, most: u64) -> io::Result<Option<Bytes>> {
        match self {
            Self::File(body) => body.next(most).await,
            Self::Upstream(relayed) => relayed.next(most).await,
        }
    }

    /// Whether it is known that nothing comes any more.
    pub fn is_done(&self) -> bool {
        match self {
            Self::File(body) => body.left() == 0,
            Self::Upstream(relayed) => relayed.is_done(),
        }
    }
}

impl Reply {
    /// The status in words.
    pub fn plain(status: StatusCode, now: SystemTime) -> Self {
        let Answer { mut head, body } = plain(status);
        // RFC 9110 §6.6.1. Dates are digits and letters.
        let date = HeaderValue::from_str(&httpdate::fmt_http_date(now));
        head.headers_mut().extend(date.ok().map(|date| (DATE, date)));
        Self { head, content: Content::File(body) }
    }

    /// A file below `root`.
    pub async fn file(root: &Root, request: Request<()>, now: SystemTime) -> Self {
        let root = root.clone();
        match spawn_blocking(move || answer(&root, &request, now)).await {
            Ok(Answer { head, body }) => Self { head, content: Content::File(body) },
            Err(_) => Self::plain(StatusCode::INTERNAL_SERVER_ERROR, now),
        }
    }
}
