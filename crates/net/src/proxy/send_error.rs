//! Why a server did not respond to a request.

use super::upload::Upload;
use http::Request;
use hyper::client::conn::TrySendError;
use hyper_util::client::legacy;
use nix::errno::Errno;
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

/// A server did not accept a connection.
#[derive(Debug)]
pub(super) struct NotAccepted(Box<dyn Error + Send + Sync>);

/// What this process may lack for a connection, and no server is to blame for.
const OWN_LACKS: [Errno; 5] =
    [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM, Errno::EADDRNOTAVAIL];

impl NotAccepted {
    /// Returns why no connection was opened: as one of these, if the server did not accept it.
    pub fn or_own(error: Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
        let first: &(dyn Error + 'static) = &*error;
        let causes = std::iter::successors(Some(first), |error| (*error).source());
        let mut system = causes.filter_map(|error| error.downcast_ref::<io::Error>());
        // Errors of a resolver have no number.
        let refused = system.any(|error| {
            let number = error.raw_os_error().map(Errno::from_raw);
            let own = number.is_some_and(|number| OWN_LACKS.contains(&number));
            error.kind() == io::ErrorKind::TimedOut || number.is_some() && !own
        });
        if refused { Box::new(Self(error)) } else { error }
    }
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for NotAccepted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// What has become of a request without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The server accepted no connection, so it has not seen the request.
    Refused,
    /// There is no connection for another reason: TLS does not agree on one, the server does not
    /// speak HTTP/2, or this process lacks a descriptor. The server has not seen the request, and
    /// may answer others: a client chooses the host that TLS names.
    Unusable,
    /// The server says that it has not processed the request (RFC 9113 §8.7), or was not sent it.
    Unprocessed,
    /// The connection ended. The request may have been processed; more likely the server closed an
    /// unused connection just when it was sent.
    Ended,
    /// It may have been processed.
    Unknown,
}

impl SendError {
    /// No connection over HTTP/2 could be opened.
    pub fn connect(error: Box<dyn Error + Send + Sync>) -> Self {
        Self { fate: Fate::Unusable, source: error.into() }.with_refusal()
    }

    /// The server is there, and does not speak HTTP/2.
    pub fn no_http2() -> Self {
        let source = io::Error::other("the server does not speak HTTP/2 (ALPN)");
        Self { fate: Fate::Unusable, source: Arc::new(source) }
    }

    /// The connection was closed before the request was sent.
    pub fn closed() -> Self {
        let closed = io::Error::from(io::ErrorKind::ConnectionAborted);
        Self { fate: Fate::Unprocessed, source: Arc::new(closed) }
    }

    /// Says so if it was the server that accepted no connection.
    fn with_refusal(mut self) -> Self {
        if self.fate == Fate::Unusable && self.causes().any(|error| error.is::<NotAccepted>()) {
            self.fate = Fate::Refused;
        }
        self
    }

    /// Says so if the connection ended before a response.
    fn with_end(mut self) -> Self {
        const ENDS: [io::ErrorKind; 4] = [
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::BrokenPipe,
            io::ErrorKind::UnexpectedEof,
        ];
        let ends = |error: &(dyn Error + 'static)| {
            let hyper = error.downcast_ref().is_some_and(hyper::Error::is_incomplete_message);
            let http2 = error.downcast_ref().is_some_and(h2::Error::is_io);
            let kind = error.downcast_ref().map(io::Error::kind);
            hyper || http2 || kind.is_some_and(|kind| ENDS.contains(&kind))
        };
        if self.fate == Fate::Unknown && self.causes().any(ends) {
            self.fate = Fate::Ended;
        }
        self
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

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.source, self.reason())
    }
}

impl From<legacy::Error> for SendError {
    fn from(error: legacy::Error) -> Self {
        let fate = if error.is_connect() { Fate::Unusable } else { Fate::Unknown };
        Self { fate, source: Arc::new(error) }.with_refusal().with_end()
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
        failed.with_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_accepts_no_connection_refuses() {
        let fate = |error: io::Error| SendError::connect(NotAccepted::or_own(error.into())).fate;
        for number in [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENOENT] {
            assert_eq!(fate(number.into()), Fate::Refused, "{number}");
        }
        assert_eq!(fate(io::ErrorKind::TimedOut.into()), Fate::Refused);
        for number in OWN_LACKS {
            assert_eq!(fate(number.into()), Fate::Unusable, "{number}");
        }
        // Of TLS, or of a resolver.
        let other = SendError::connect(io::Error::other("certificate unknown").into());
        assert_eq!(other.fate, Fate::Unusable);
        assert_eq!(fate(io::Error::other("no such name")), Fate::Unusable);
    }
}
