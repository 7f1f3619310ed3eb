//! What applications can ask about a connection, and wait for, besides its streams.

use super::handle::Conn;
use super::state::State;
use super::waiters::wait;
use bentpipe_congestion::SavedParameters;
use bentpipe_units::{Bytes, Span, Time};
use noq_proto::crypto::rustls::HandshakeData;
use noq_proto::{ConnectionError, Dir, PathId, StreamId, VarInt};
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

impl Conn {
    /// Returns the time of the event being handled.
    pub fn now(&self) -> Time {
        self.lock().now
    }

    /// Returns the time at which the handshake completed on this side.
    pub fn connected_at(&self) -> Option<Time> {
        self.lock().connected()
    }

    /// Returns why the connection ended. `None` while it is open.
    pub fn closed(&self) -> Option<ConnectionError> {
        self.lock().closed.clone()
    }

    /// Returns true if the server accepted early data (RFC 9001 §4.6.2). Meaningful once connected.
    pub fn accepted_0rtt(&self) -> bool {
        self.lock().quic.accepted_0rtt()
    }

    /// Returns true if the connection began with keys for early data.
    pub fn has_0rtt(&self) -> bool {
        self.lock().quic.has_0rtt()
    }

    /// Returns the server name that the client asked for (SNI, RFC 6066 §3), at a server that has
    /// read the ClientHello. `None` if the client named none.
    pub fn server_name(&self) -> Option<String> {
        let data = self.lock().quic.crypto_session().handshake_data()?;
        data.downcast::<HandshakeData>().ok()?.server_name
    }

    /// Returns the stack's counters.
    pub fn stats(&self) -> noq_proto::ConnectionStats {
        self.lock().quic.stats()
    }

    /// Returns the capacity and the RTT of the path as the receiver measured them in its best RTT
    /// so far: see [`crate::Endpoint::handle_datagram`]. `None` before an RTT has passed.
    pub fn received_view(&self) -> Option<SavedParameters> {
        self.lock().arrivals.best()
    }

    /// Returns the peer's current address and port while the connection has a path.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.lock().remote_address()
    }

    /// Returns the address and port at which the peer has shown to receive: of its current path, or
    /// of the last one before that was validated (RFC 9000 §8). `None` before the first, and at a
    /// client.
    pub fn validated_address(&self) -> Option<SocketAddr> {
        self.lock().validated_address
    }

    /// Returns the peer's current IP address while the connection has a path.
    pub(crate) fn remote_ip(&self) -> Option<IpAddr> {
        self.remote_address().map(|address| address.ip())
    }

    /// Returns the congestion window.
    pub fn congestion_window(&self) -> Option<Bytes> {
        self.lock()
            .quic
            .congestion_state(PathId::ZERO)
            .map(|controller| Bytes::new(controller.window()))
    }

    /// Returns the smoothed RTT (RFC 9002 §5.3). `None` before the handshake completes.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.lock().smoothed_rtt()
    }

    /// Returns the number of the peer's bidirectional streams whose responses are not completely
    /// acknowledged.
    pub fn open_requests(&self) -> u64 {
        self.lock().quic.streams().remote_open_streams(Dir::Bi)
    }

    /// Waits until the peer's address is validated (RFC 9000 §8.1): at a server by a token of the
    /// stack, otherwise by a complete handshake.
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

    /// Waits until the peer has acknowledged all of a finished stream, so that none of it is
    /// buffered here. Also completes if the peer stops the stream or the connection ends; then it
    /// returns false.
    pub async fn acknowledged(&self, stream: h3::quic::StreamId) -> bool {
        let Ok(id) = VarInt::from_u64(stream.into_inner()) else { return false };
        poll_fn(|cx| self.poll_acknowledged(StreamId::from(id), cx)).await
    }

    /// Waits until the peer stops a stream that is being written (STOP_SENDING), or the connection
    /// ends. For unfinished streams only: the last acknowledgement of a finished one completes the
    /// wait too.
    pub async fn stopped(&self, stream: h3::quic::StreamId) {
        let _ = self.acknowledged(stream).await;
    }

    /// Polls for the validation of the peer's address.
    pub(crate) fn poll_validated(&self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let mut state = self.lock();
        match &state.closed {
            _ if state.validated => Poll::Ready(Ok(())),
            Some(error) => Poll::Ready(Err(error.clone())),
            None => {
                wait(&mut state.validation, cx);
                Poll::Pending
            }
        }
    }

    /// Polls until `reached` is true, which is asked when the handshake completes and when the
    /// connection ends.
    fn poll_state_change(
        &self,
        reached: impl Fn(&State) -> bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let mut state = self.lock();
        if reached(&state) {
            return Poll::Ready(());
        }
        wait(&mut state.state_changes, cx);
        Poll::Pending
    }
}
