//! The content of an upstream's response.

use super::pool::Slot;
use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::timeout;

/// Content that is read from the upstream as fast as the client takes it. Trailers are dropped.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    incoming: Incoming,
    /// Content that arrived beyond the last piece.
    rest: Bytes,
    /// Longest pause of the upstream.
    limit: Duration,
    /// Slot among the upstream's connections.
    _slot: Slot,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, limit: Duration, slot: Slot) -> Self {
        Self { incoming, rest: Bytes::new(), limit, _slot: slot }
    }

    /// Returns the next piece, of at most `limit` bytes. `None` at the end.
    pub async fn next(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        while self.rest.is_empty() {
            let frame =
                timeout(self.limit, poll_fn(|cx| Pin::new(&mut self.incoming).poll_frame(cx)));
            match frame.await {
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(Some(Ok(frame))) => self.rest = frame.into_data().unwrap_or_default(),
            }
        }
        let length = self.rest.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Some(self.rest.split_to(length)))
    }

    /// Returns whether it is known that no content follows.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty() && self.incoming.is_end_stream()
    }
}
