//! Why a server did not respond to a request.

use super::upload::Upload;
use http::Request;
use hyper::client::conn::TrySendError;
use hyper_util::client::legacy;
use rustls::AlertDescription;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a server did not respond to a request.
#[derive(Debug, Clone)]
pub(super) struct SendError {
    pub fate: Fate,
    source: Arc<dyn Error + Send + Sync>,
}

/// A request without a response.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub error: SendError,
    /// The request's content, if nothing of the request was sent.
    pub unsent: Option<Upload>,
}

impl Unanswered {
    /// A connection failed. If it returns the request, that was not sent.
    pub fn failed(mut error: TrySendError<Request<Upload>>) -> Self {
        let unsent = error.take_message().map(Request::into_body);
        let mut error = SendError::from(error.into_error());
        if unsent.is_some() {
            error.fate = Fate::Unprocessed;
        }
        Self { error, unsent }
    }
}

impl<E: Into<SendError>> From<E> for Unanswered {
    fn from(error: E) -> Self {
        Self { error: error.into(), unsent: None }
    }
}

/// What has become of a request without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The server accepted no connection, so it has not seen the request.
    Refused,
    /// The server is there, and does not speak HTTP/2: it has not seen the request, and answers
    /// those that do not need it.
    NoHttp2,
    /// The server says that it has not processed the request (RFC 9113 §8.7), or was not sent it.
    Unprocessed,
    /// It may have been processed.
    Unknown,
}

impl SendError {
    /// No connection over HTTP/2 could be opened.
    pub fn connect(error: Box<dyn Error + Send + Sync>) -> Self {
        let mut failed = Self { fate: Fate::Refused, source: error.into() };
        // A server answers an offer of HTTP/2 alone with this alert (RFC 7301 §3.2), or ignores it.
        let no_http2 = rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        if failed.causes().any(|error| innermost(error).downcast_ref() == Some(&no_http2)) {
            failed.fate = Fate::NoHttp2;
        }
        failed
    }

    /// The server is there, and does not speak HTTP/2.
    pub fn no_http2() -> Self {
        let source = io::Error::other("the server does not speak HTTP/2 (ALPN)");
        Self { fate: Fate::NoHttp2, source: Arc::new(source) }
    }

    /// The connection was closed before the request was sent.
    pub fn closed() -> Self {
        let closed = io::Error::from(io::ErrorKind::ConnectionAborted);
        Self { fate: Fate::Unprocessed, source: Arc::new(closed) }
    }

    /// Returns whether the server could not be reached in time.
    pub fn is_timeout(&self) -> bool {
        self.causes().any(|error| {
            let error = error.downcast_ref::<io::Error>();
            error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
        })
    }

    /// Returns the last of the causes, which says most.
    pub fn reason(&self) -> String {
        self.causes().last().map_or_else(String::new, ToString::to_string)
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: &(dyn Error + 'static) = &*self.source;
        std::iter::successors(Some(first), |error: &&(dyn Error + 'static)| (*error).source())
    }
}

/// Returns what the `io::Error`s around an error hold: their `source` leaves it out.
fn innermost<'a>(mut error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    while let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        error = inner;
    }
    error
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.source, self.reason())
    }
}

impl From<legacy::Error> for SendError {
    fn from(error: legacy::Error) -> Self {
        let fate = if error.is_connect() { Fate::Refused } else { Fate::Unknown };
        Self { fate, source: Arc::new(error) }
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> Self {
        let mut failed = Self { fate: Fate::Unknown, source: Arc::new(error) };
        let unprocessed = failed.causes().any(|error| {
            error.downcast_ref::<h2::Error>().is_some_and(|error| {
                let reason = error.reason();
                error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM)
                    // For streams beyond the last one that the server names.
                    || error.is_go_away() && error.is_remote()
                        && reason == Some(h2::Reason::NO_ERROR)
            })
        });
        if unprocessed {
            failed.fate = Fate::Unprocessed;
        }
        failed
    }
}
