//! What applications may ask of a connection besides its streams.

use crate::conn::{Conn, State};
use bentpipe_units::{Bytes, Span};
use noq_proto::{ConnectionError, Dir, PathId, StreamId, VarInt};
use std::future::poll_fn;
use std::net::SocketAddr;

impl Conn {
    /// Waits until the peer has shown that its address is its own (RFC 9000 §8.1): at a server by a
    /// token, otherwise by a complete handshake.
    ///
    /// # Errors
    /// Why the connection ended before.
    pub async fn validated(&self) -> Result<(), ConnectionError> {
        poll_fn(|cx| self.poll_validated(cx)).await
    }

    /// Waits until the handshake is complete.
    ///
    /// # Errors
    /// Why the connection ended before.
    pub async fn handshaken(&self) -> Result<(), ConnectionError> {
        poll_fn(|cx| {
            self.poll_state_change(|state| state.connected().is_some() || state.is_closed(), cx)
        })
        .await;
        match self.connected_at() {
            Some(_) => Ok(()),
            None => Err(self.closed().unwrap_or(ConnectionError::LocallyClosed)),
        }
    }

    /// Waits until the connection has ended.
    pub async fn ended(&self) {
        poll_fn(|cx| self.poll_state_change(State::is_closed, cx)).await;
    }

    /// Requests of the peer that are not yet answered to the last byte, acknowledged: streams of
    /// both directions.
    pub fn open_requests(&self) -> u64 {
        self.lock().quic.streams().remote_open_streams(Dir::Bi)
    }

    /// Waits until the peer has acknowledged all of a stream that was finished, so that nothing of
    /// it is kept here any more; also where it is not wanted any more, or the connection has ended.
    pub async fn acknowledged(&self, stream: h3::quic::StreamId) {
        let Ok(id) = VarInt::from_u64(stream.into_inner()) else { return };
        poll_fn(|cx| self.poll_acknowledged(StreamId::from(id), cx)).await;
    }

    /// Waits until the peer wants no more of a stream that is being written (STOP_SENDING), or the
    /// connection has ended. It is for streams that are not finished: of one that is, the last
    /// acknowledgement ends the wait as well.
    pub async fn stopped(&self, stream: h3::quic::StreamId) {
        self.acknowledged(stream).await;
    }

    /// The peer's address and port as they are now, while the connection has a path.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.lock().quic.network_path(PathId::ZERO).ok().map(|path| path.remote())
    }

    /// The congestion window at present.
    pub fn congestion_window(&self) -> Option<Bytes> {
        self.lock()
            .quic
            .congestion_state(PathId::ZERO)
            .map(|controller| Bytes::new(controller.window()))
    }

    /// The smoothed round trip (RFC 9002 §5.3), once the handshake is complete.
    pub fn round_trip(&self) -> Option<Span> {
        self.lock().smoothed_rtt()
    }
}
