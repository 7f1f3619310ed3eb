//! Bare streams, to measure the cost of HTTP/3 and for other protocols.

use super::reassembler::Reassembler;
use crate::connection::{Conn, Read, StreamFailure};
use crate::flow_control::Waiting;
use bytes::Bytes;
use noq_proto::{ConnectionError, Dir, StreamId};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// A stream without framing. A unidirectional one is only written at one end and only read at the
/// other.
#[derive(Debug)]
pub struct RawStream {
    conn: Conn,
    id: StreamId,
    reader: Reassembler,
    ended: bool,
    /// What waits behind gaps and was reported to the connection.
    reported: Waiting,
}

impl Drop for RawStream {
    fn drop(&mut self) {
        self.conn.set_waiting(&mut self.reported, Waiting::default());
        self.conn.unsubscribe(self.id, self.reader.held());
        // The owner has finished or abandoned the stream.
        self.conn.release_write(self.id);
    }
}

/// Why a bare stream ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEnd {
    /// The peer stopped or reset it with this code.
    Peer(u64),
    /// The connection ended.
    Connection(ConnectionError),
    /// The peer sent more than flow control allowed.
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
            Self::Peer(code) => write!(f, "the peer ended the stream with code {code}"),
            Self::Overfull => f.write_str("more bytes wait behind gaps than flow control allows"),
            Self::Closed => f.write_str("the stream is closed on this side"),
        }
    }
}

impl RawStream {
    fn new(conn: Conn, id: StreamId) -> Self {
        Self {
            conn,
            id,
            reader: Reassembler::default(),
            ended: false,
            reported: Waiting::default(),
        }
    }

    async fn open_in(conn: &Conn, dir: Dir) -> Result<Self, String> {
        let id = poll_fn(|cx| conn.poll_open(dir, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    async fn accept_in(conn: &Conn, dir: Dir) -> Result<Self, String> {
        let id =
            poll_fn(|cx| conn.poll_accept(dir, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    /// Opens a bidirectional stream, waiting while the peer's stream limit is reached.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open(conn: &Conn) -> Result<Self, String> {
        Self::open_in(conn, Dir::Bi).await
    }

    /// Waits for the next bidirectional stream that the peer opens.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept(conn: &Conn) -> Result<Self, String> {
        Self::accept_in(conn, Dir::Bi).await
    }

    /// Opens a unidirectional stream, waiting while the peer's stream limit is reached.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn open_unidirectional(conn: &Conn) -> Result<Self, String> {
        Self::open_in(conn, Dir::Uni).await
    }

    /// Waits for the next unidirectional stream that the peer opens.
    ///
    /// # Errors
    /// Why the connection ended.
    pub async fn accept_unidirectional(conn: &Conn) -> Result<Self, String> {
        Self::accept_in(conn, Dir::Uni).await
    }

    /// Returns the stream ID (RFC 9000 §2.1).
    pub fn id(&self) -> u64 {
        noq_proto::VarInt::from(self.id).into_inner()
    }

    /// Sets the priority of what is written: streams of higher ones are sent first, those of the
    /// same in turn. It is 0 by default.
    pub fn set_priority(&self, priority: i32) {
        self.conn.set_stream_priority(self.id, priority);
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// Why the stream or the connection ended.
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            let written =
                poll_fn(|cx| self.poll_write(cx, data)).await.map_err(|end| end.to_string())?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Ends the stream: nothing more will be written.
    ///
    /// # Errors
    /// The stream was ended already.
    pub fn finish(&mut self) -> Result<(), String> {
        self.conn.finish(self.id).map_err(|failure| StreamEnd::from(failure).to_string())
    }

    /// Writes as much of `data` as flow control and the send buffer admit. Pending if they admit
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

    /// Abandons both directions with `code` (RFC 9000 §2.4), and drops unsent data.
    pub fn abandon(&mut self, code: u64) {
        self.conn.reset(self.id, code);
        self.stop(code);
    }

    /// Asks the peer to stop sending, with `code`.
    pub fn stop(&mut self, code: u64) {
        self.conn.stop(self.id, code);
    }

    /// Reads the next bytes in order. `None` at the end of the stream.
    ///
    /// # Errors
    /// Why the stream or the connection ended early.
    pub async fn read(&mut self) -> Result<Option<Bytes>, String> {
        poll_fn(|cx| self.poll_read(cx)).await.map_err(|end| end.to_string())
    }

    /// Polls for the next bytes in order. `None` at the end of the stream.
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
            let next = reader.next_offset();
            let read = self.conn.poll_read(self.id, next, u64::MAX, cx, |offset, bytes| {
                reader.insert(offset, bytes);
            });
            if read.is_pending() {
                self.conn.set_waiting(&mut self.reported, self.reader.waiting());
            }
            match ready!(read)? {
                Read::More => {}
                Read::Finished => self.ended = true,
                Read::Reset(code) => return Poll::Ready(Err(StreamEnd::Peer(code))),
            }
        }
    }
}
