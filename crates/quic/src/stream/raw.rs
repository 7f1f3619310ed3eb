//! Bare bidirectional streams: for measuring what HTTP/3 costs, and for protocols of one's own.

use super::reassembler::Reassembler;
use crate::conn::{Conn, Read, StreamFailure};
use bytes::Bytes;
use noq_proto::{ConnectionError, Dir, StreamId};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// A bidirectional stream without framing.
#[derive(Debug)]
pub struct RawStream {
    conn: Conn,
    id: StreamId,
    reader: Reassembler,
    ended: bool,
    /// Bytes behind a hole that the connection knows of.
    told: u64,
}

impl Drop for RawStream {
    fn drop(&mut self) {
        self.conn.waits(&mut self.told, 0);
        self.conn.unsubscribe(self.id, self.reader.held());
        // Whoever drops a bare stream has finished or abandoned it.
        self.conn.release_send(self.id);
    }
}

/// What ended a bare stream before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEnd {
    /// The peer gave it up, with this code.
    Peer(u64),
    /// The connection ended.
    Connection(ConnectionError),
    /// The peer sent more than it was allowed to.
    Overfull,
    /// It was ended on this side.
    Closed,
}

impl From<StreamFailure> for StreamEnd {
    fn from(failure: StreamFailure) -> Self {
        match failure {
            StreamFailure::Connection(error) => Self::Connection(error),
            StreamFailure::Terminated(code) => Self::Peer(code),
            StreamFailure::Overfull => Self::Overfull,
            StreamFailure::Closed => Self::Closed,
        }
    }
}

impl fmt::Display for StreamEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Peer(code) => write!(f, "stream ended by the peer with code {code}"),
            Self::Overfull => f.write_str("more waits behind holes than the windows allow"),
            Self::Closed => f.write_str("stream closed on this side"),
        }
    }
}

impl RawStream {
    fn new(conn: Conn, id: StreamId) -> Self {
        Self { conn, id, reader: Reassembler::default(), ended: false, told: 0 }
    }

    /// Opens a stream, waiting for the peer's permission.
    ///
    /// # Errors
    /// The connection ended, in words.
    pub async fn open(conn: &Conn) -> Result<Self, String> {
        let id =
            poll_fn(|cx| conn.poll_open(Dir::Bi, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    /// The next stream that the peer opens.
    ///
    /// # Errors
    /// The connection ended, in words.
    pub async fn accept(conn: &Conn) -> Result<Self, String> {
        let id =
            poll_fn(|cx| conn.poll_accept(Dir::Bi, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    /// Its number (RFC 9000 §2.1), the same at both ends.
    pub fn id(&self) -> u64 {
        noq_proto::VarInt::from(self.id).into_inner()
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// The stream or the connection ended, in words.
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            let written =
                poll_fn(|cx| self.poll_write(cx, data)).await.map_err(|end| end.to_string())?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Says that nothing more will be written.
    ///
    /// # Errors
    /// The stream was ended already, in words.
    pub fn finish(&mut self) -> Result<(), String> {
        self.conn.finish(self.id).map_err(|failure| StreamEnd::from(failure).to_string())
    }

    /// Writes as much of `data` as windows and the send buffer admit now; waits where they admit
    /// nothing.
    ///
    /// # Errors
    /// The stream or the connection ended.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, StreamEnd>> {
        self.conn.poll_write(self.id, data, cx).map_err(StreamEnd::from)
    }

    /// Gives up both directions with `code` (RFC 9000 §2.4): what is under way is forgotten.
    pub fn abandon(&mut self, code: u64) {
        self.conn.reset(self.id, code);
        self.stop(code);
    }

    /// Gives up what the peer sends, with `code`.
    pub fn stop(&mut self, code: u64) {
        self.conn.stop(self.id, code);
    }

    /// The next bytes in order; `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream or the connection ended early, in words.
    pub async fn read(&mut self) -> Result<Option<Bytes>, String> {
        poll_fn(|cx| self.poll_read(cx)).await.map_err(|end| end.to_string())
    }

    /// The next bytes in order; `None` at the end of the stream; waits where there are none.
    ///
    /// # Errors
    /// The stream or the connection ended early.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamEnd>> {
        loop {
            if let Some(bytes) = self.reader.pop() {
                self.conn.consumed(bytes.len() as u64);
                return Poll::Ready(Ok(Some(bytes)));
            }
            if self.ended {
                return Poll::Ready(Ok(None));
            }
            let reader = &mut self.reader;
            let read = self
                .conn
                .poll_read(self.id, u64::MAX, cx, |offset, bytes| reader.insert(offset, bytes));
            if read.is_pending() {
                self.conn.waits(&mut self.told, self.reader.held());
            }
            match ready!(read)? {
                Read::More => {}
                Read::Finished => self.ended = true,
                Read::Reset(code) => return Poll::Ready(Err(StreamEnd::Peer(code))),
            }
        }
    }
}
