//! Why a server did not respond to a request.

use hyper_util::client::legacy;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a server did not respond to a request.
#[derive(Debug, Clone)]
pub(super) struct SendError {
    /// The server accepted no connection, so it has not seen the request.
    pub refused: bool,
    /// The server says that it has not processed the request (RFC 9113 §8.7).
    pub unprocessed: bool,
    source: Arc<dyn Error + Send + Sync>,
}

impl SendError {
    /// No connection could be opened.
    pub fn connect(error: Box<dyn Error + Send + Sync>) -> Self {
        Self { refused: true, unprocessed: false, source: error.into() }
    }

    /// The connection was closed before the request was sent.
    pub fn closed() -> Self {
        let closed = io::Error::from(io::ErrorKind::ConnectionAborted);
        Self { refused: false, unprocessed: true, source: Arc::new(closed) }
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
        Self { refused: error.is_connect(), unprocessed: false, source: Arc::new(error) }
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> Self {
        let mut failed = Self { refused: false, unprocessed: false, source: Arc::new(error) };
        let unprocessed = failed.causes().any(|error| {
            error.downcast_ref::<h2::Error>().is_some_and(|error| {
                let reason = error.reason();
                error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM)
                    // For streams beyond the last one that the server names.
                    || error.is_go_away() && error.is_remote()
                        && reason == Some(h2::Reason::NO_ERROR)
            })
        });
        failed.unprocessed = unprocessed;
        failed
    }
}
