//! The content of an upstream's response.

use super::fields;
use super::pool::Slot;
use super::upload::Progress;
use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Content that is read from the upstream as fast as the client takes it, and its trailers.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    incoming: Incoming,
    /// Content that arrived beyond the last piece.
    rest: Bytes,
    trailers: Option<HeaderMap>,
    /// Longest pause of the upstream.
    limit: Duration,
    /// The request's content, while whose progress the upstream may pause.
    upload: Option<Arc<Progress>>,
    /// Slot among the upstream's connections.
    _slot: Slot,
}

impl ResponseBody {
    pub(super) fn new(
        incoming: Incoming,
        limit: Duration,
        upload: Option<Arc<Progress>>,
        slot: Slot,
    ) -> Self {
        Self { incoming, rest: Bytes::new(), trailers: None, limit, upload, _slot: slot }
    }

    /// Returns the next piece, of at most `limit` bytes. `None` at the end.
    pub async fn next(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        while self.rest.is_empty() {
            let taken = || self.upload.as_ref().map(|upload| upload.taken());
            let before = taken();
            let frame =
                timeout(self.limit, poll_fn(|cx| Pin::new(&mut self.incoming).poll_frame(cx)));
            match frame.await {
                Err(_) if taken() > before => {}
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
            }
        }
        let length = self.rest.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Some(self.rest.split_to(length)))
    }

    /// Returns the trailers, after the end, without what is for one connection or about the content
    /// as a message has it.
    pub fn trailers(&mut self) -> Option<HeaderMap> {
        let mut trailers = self.trailers.take()?;
        fields::trailers(&mut trailers);
        Some(trailers).filter(|trailers| !trailers.is_empty())
    }

    /// Returns whether it is known that no content follows.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty() && self.incoming.is_end_stream()
    }
}
