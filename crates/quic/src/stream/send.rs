//! The sending half of an HTTP/3 stream.

use super::errors::{h3_id, stream_error};
use super::frame_log::FrameLog;
use crate::connection::Conn;
use bytes::{Buf, Bytes};
use h3::quic::{self, StreamErrorIncoming, WriteBuf};
use noq_proto::{Dir, StreamId};
use std::task::{Context, Poll, ready};

/// The sending half of a stream. If a request stream is dropped before it was finished or reset, it
/// is reset with H3_REQUEST_CANCELLED (RFC 9114 §4.1.1), so that the peer does not wait for the
/// rest.
pub struct SendStream {
    conn: Conn,
    id: StreamId,
    pending: Option<WriteBuf<Bytes>>,
    /// Whether it was finished or reset.
    is_over: bool,
    /// Writes frames to a trace.
    log: Option<FrameLog>,
    /// Whether the type of a unidirectional stream is still to be sent.
    is_start: bool,
}

impl SendStream {
    pub(super) fn new(conn: Conn, id: StreamId, log: Option<FrameLog>) -> Self {
        let is_start = id.dir() == Dir::Uni;
        Self { conn, id, pending: None, is_over: false, log, is_start }
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        match self.id.dir() {
            // Critical streams stay open as long as the connection (RFC 9114 §6.2.1).
            Dir::Uni => {}
            Dir::Bi if self.is_over => self.conn.release_write(self.id),
            Dir::Bi => {
                self.conn.abandon_write(self.id, h3::error::Code::H3_REQUEST_CANCELLED.value())
            }
        }
    }
}

impl quic::SendStream<Bytes> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(pending) = &mut self.pending {
            if !pending.has_remaining() {
                break;
            }
            let written =
                ready!(self.conn.poll_write(self.id, pending.chunk(), cx)).map_err(stream_error)?;
            pending.advance(written);
        }
        self.pending = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.pending.is_some() {
            return Err(StreamErrorIncoming::Unknown(
                "send_data was called before poll_ready returned ready".into(),
            ));
        }
        let data = data.into();
        let is_start = std::mem::take(&mut self.is_start);
        self.log.take_if(|log| !log.created(data.chunk(), is_start));
        self.pending = Some(data);
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        self.is_over = true;
        Poll::Ready(self.conn.finish(self.id).map_err(stream_error))
    }

    fn reset(&mut self, reset_code: u64) {
        self.is_over = true;
        self.conn.reset(self.id, reset_code);
    }

    fn send_id(&self) -> quic::StreamId {
        h3_id(self.id)
    }
}
