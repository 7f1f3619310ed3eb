//! Bare bidirectional streams, for measuring what HTTP/3 costs.

use crate::conn::{Conn, Read, StreamFailure};
use crate::reader::Reassembler;
use bytes::Bytes;
use noq_proto::{Dir, StreamId};
use std::future::poll_fn;
use std::task::Poll;

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
    }
}

/// What ended a bare stream early, in words.
fn describe(failure: &StreamFailure) -> String {
    match failure {
        StreamFailure::Connection(error) => error.to_string(),
        StreamFailure::Terminated(code) => format!("stream ended by the peer with code {code}"),
        StreamFailure::Overfull => "more waits behind holes than the windows allow".to_owned(),
        StreamFailure::Closed => "stream closed on this side".to_owned(),
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
        let id = poll_fn(|cx| conn.poll_open(Dir::Bi, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    /// The next stream that the peer opens.
    ///
    /// # Errors
    /// The connection ended, in words.
    pub async fn accept(conn: &Conn) -> Result<Self, String> {
        let id = poll_fn(|cx| conn.poll_accept(Dir::Bi, cx)).await.map_err(|error| error.to_string())?;
        Ok(Self::new(conn.clone(), id))
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// The stream or the connection ended, in words.
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            let written = poll_fn(|cx| self.conn.poll_write(self.id, data, cx)).await.map_err(|f| describe(&f))?;
            data = &data[written..];
        }
        Ok(())
    }

    /// Says that nothing more will be written.
    ///
    /// # Errors
    /// The stream was ended already, in words.
    pub fn finish(&mut self) -> Result<(), String> {
        self.conn.finish(self.id).map_err(|failure| describe(&failure))
    }

    /// The next bytes in order; `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream or the connection ended early, in words.
    pub async fn read(&mut self) -> Result<Option<Bytes>, String> {
        poll_fn(|cx| {
            loop {
                if let Some(bytes) = self.reader.pop() {
                    self.conn.consumed(bytes.len() as u64);
                    return Poll::Ready(Ok(Some(bytes)));
                }
                if self.ended {
                    return Poll::Ready(Ok(None));
                }
                let reader = &mut self.reader;
                match self.conn.poll_read(self.id, u64::MAX, cx, |offset, bytes| reader.insert(offset, bytes)) {
                    Poll::Pending => {
                        self.conn.waits(&mut self.told, self.reader.held());
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(Read::More)) => {}
                    Poll::Ready(Ok(Read::Finished)) => self.ended = true,
                    Poll::Ready(Ok(Read::Reset(code))) => {
                        return Poll::Ready(Err(describe(&StreamFailure::Terminated(code))));
                    }
                    Poll::Ready(Err(failure)) => return Poll::Ready(Err(describe(&failure))),
                }
            }
        })
        .await
    }
}
