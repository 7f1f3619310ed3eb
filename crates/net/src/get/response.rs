//! A response, and the times of its request.

use super::error::ClientError;
use crate::clock::RealClock;
use bentpipe_quic::Conn;
use bentpipe_units::{Span, Time};
use bytes::Bytes;
use http::{HeaderMap, Version};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Parts of a response that may wait to be read.
pub(super) const PARTS: usize = 128;

/// Times of a request. Spans count from the connection's first packet for its first request, and
/// from the request itself for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// The start that the other spans count from, since the client was built.
    pub start: Span,
    /// Completion of the handshake. `None` before that, and for requests on an open connection.
    pub handshake: Option<Span>,
    /// Arrival of the response's head.
    pub first_byte: Span,
    /// When the last content was read. `None` before that.
    pub completion: Option<Span>,
    /// Whether the request left with the first flight and the server accepted it (0-RTT).
    pub early: bool,
}

/// A response whose content is read as it arrives. Unread content stops the server (flow control).
#[derive(Debug)]
pub struct Response {
    /// Status and headers.
    pub head: http::Response<()>,
    pub(super) pieces: mpsc::Receiver<Result<Part, ClientError>>,
    pub(super) trailers: Option<HeaderMap>,
    pub(super) server: String,
    pub(super) stall_time: Span,
    /// The QUIC connection. `None` over TCP.
    pub(super) conn: Option<Conn>,
    /// When the handshakes of a TCP connection were complete.
    pub(super) connected: Option<Time>,
    pub(super) clock: RealClock,
    /// Whether this was its connection's first request.
    pub(super) first: bool,
    pub(super) started: Time,
    pub(super) first_byte: Time,
    pub(super) completion: Option<Time>,
}

/// What follows a response's head. The response is complete only after [`Part::End`]. A sender that
/// is dropped before that has failed.
#[derive(Debug)]
pub(super) enum Part {
    Content(Bytes),
    /// The end, with the trailers if there are any.
    End(Option<HeaderMap>),
}

impl Response {
    /// Moves the content that has arrived to `into`. Waits if there is none. Returns false at the
    /// end of the content.
    ///
    /// # Errors
    /// The connection or the stream ended before the content, or nothing arrives for too long.
    pub async fn pieces(&mut self, into: &mut Vec<Bytes>) -> Result<bool, ClientError> {
        if self.completion.is_some() {
            return Ok(false);
        }
        let mut arrived = Vec::new();
        let received = self.pieces.recv_many(&mut arrived, PARTS);
        let received = timeout(self.stall_time.into(), received).await;
        if received.map_err(|_| stalled(&self.server, self.stall_time))? == 0 {
            return Err(connection_closed(self.conn.as_ref(), &self.server));
        }
        for part in arrived {
            match part? {
                Part::Content(piece) => into.push(piece),
                Part::End(trailers) => {
                    self.trailers = trailers;
                    self.completion = Some(self.clock.now());
                }
            }
        }
        Ok(true)
    }

    /// Returns the trailers (RFC 9110 §6.5), once the content has been read.
    pub const fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// Returns the version of HTTP that carried it.
    pub fn version(&self) -> Version {
        // The head has that of its own over TCP.
        if self.conn.is_some() { Version::HTTP_3 } else { self.head.version() }
    }

    /// Returns the times of the request.
    pub fn timings(&self) -> Timings {
        let conn = self.conn.as_ref();
        let connected = conn.map_or(self.connected, Conn::connected_at);
        Timings {
            start: self.started.since(Time::ZERO),
            handshake: connected.filter(|_| self.first).map(|at| at.since(self.started)),
            first_byte: self.first_byte.since(self.started),
            completion: self.completion.map(|at| at.since(self.started)),
            early: self.first && conn.is_some_and(|conn| conn.has_0rtt() && conn.accepted_0rtt()),
        }
    }
}

/// Returns the error for a response of which nothing arrives.
pub(super) fn stalled(server: &str, limit: Span) -> ClientError {
    ClientError::Stalled { server: server.to_owned(), limit }
}

/// Returns why a request's task ended without a result.
pub(super) fn connection_closed(conn: Option<&Conn>, server: &str) -> ClientError {
    let reason = conn
        .and_then(Conn::closed)
        .map_or_else(|| "the connection is closed".to_owned(), |error| error.to_string());
    ClientError::Connection { server: server.to_owned(), reason }
}
