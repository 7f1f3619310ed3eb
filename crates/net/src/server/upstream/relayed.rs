//! A response's content on its way from the upstream.

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// Content that the upstream sends as fast as the client takes it. Trailers are dropped.
#[derive(Debug)]
pub(in crate::server) struct Relayed {
    incoming: Incoming,
    /// What has come and was more than was asked for.
    rest: Bytes,
    /// The upstream does not say nothing for longer.
    patience: Duration,
    /// The place among the upstream's connections, given back with the content.
    _place: OwnedSemaphorePermit,
}

impl Relayed {
    pub(super) fn new(incoming: Incoming, patience: Duration, place: OwnedSemaphorePermit) -> Self {
        Self { incoming, rest: Bytes::new(), patience, _place: place }
    }

    /// The next piece, at most `most` bytes.
    pub async fn next(&mut self, most: u64) -> io::Result<Option<Bytes>> {
        while self.rest.is_empty() {
            let frame =
                timeout(self.patience, poll_fn(|cx| Pin::new(&mut self.incoming).poll_frame(cx)));
            match frame.await {
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(io::Error::other(error)),
                Ok(Some(Ok(frame))) => self.rest = frame.into_data().unwrap_or_default(),
            }
        }
        let length = self.rest.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(Some(self.rest.split_to(length)))
    }

    pub fn is_done(&self) -> bool {
        self.rest.is_empty() && self.incoming.is_end_stream()
    }
}
