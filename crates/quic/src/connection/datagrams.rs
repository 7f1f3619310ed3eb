//! Unreliable datagrams (RFC 9221).

use super::handle::Conn;
use super::waiters::wait;
use bytes::Bytes;
use noq_proto::{ConnectionError, SendDatagramError};
use std::task::{Context, Poll};

impl Conn {
    /// Sends `data` as one DATAGRAM frame, which is not sent again if it is lost. The stack sends
    /// datagrams before stream data, as congestion control and pacing admit. If they wait for that
    /// and their buffer is full, the oldest are dropped.
    ///
    /// # Errors
    /// The peer takes no datagrams, the data does not fit into a packet, or the connection has
    /// ended.
    pub fn send_datagram(&self, data: Bytes) -> Result<(), String> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Err(error.to_string());
        }
        let bytes = data.len();
        let mut datagrams = state.quic.datagrams();
        datagrams.send(data, true).map_err(|error| match (error, datagrams.max_size()) {
            (SendDatagramError::TooLarge, Some(most)) => format!(
                "a datagram of {bytes} bytes does not fit into a packet; allowed here: {most}"
            ),
            (error, _) => error.to_string(),
        })
    }

    /// Returns how many bytes of datagrams, with their memory in the stack, can be sent without
    /// dropping older ones.
    pub fn datagram_room(&self) -> usize {
        self.lock().quic.datagrams().send_buffer_space()
    }

    /// Polls for the next datagram.
    ///
    /// # Errors
    /// Why the connection ended.
    pub fn poll_datagram(&self, cx: &mut Context<'_>) -> Poll<Result<Bytes, ConnectionError>> {
        let mut state = self.lock();
        if let Some(data) = state.quic.datagrams().recv() {
            return Poll::Ready(Ok(data));
        }
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        wait(&mut state.datagrams, cx);
        Poll::Pending
    }
}
