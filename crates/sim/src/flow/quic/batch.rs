//! Datagrams that the stack returned together and that are not yet sent.

use crate::udp_payload::UdpPayload;
use bentpipe_quic::Transmit;

/// Datagrams in one buffer.
pub struct Batch {
    /// The buffer, which the packet arena gets back.
    data: Vec<u8>,
    /// Start of the datagrams that are not yet sent.
    from: usize,
    /// What the stack said about all of them.
    pub transmit: Transmit,
    /// Bytes that the connection had sent with the last of them.
    position: f64,
    /// True if one of those that are not yet sent has an acknowledgement of the data.
    answers: bool,
}

/// The next datagram of a batch.
pub struct NextDatagram {
    /// Its size in bytes.
    pub size: usize,
    /// Its payload.
    pub payload: UdpPayload,
    /// Bytes that the connection had sent with it.
    pub position: f64,
    /// True if it may have an acknowledgement of the data.
    pub answers: bool,
    /// True if no other follows.
    pub is_last: bool,
}

impl Batch {
    /// Wraps what the stack has written to `data`, with the last of which the connection had sent
    /// `position` bytes. The first has an acknowledgement if any `answers`.
    pub fn new(data: Vec<u8>, transmit: Transmit, position: f64, answers: bool) -> Self {
        Self { data, from: 0, transmit, position, answers }
    }

    /// Takes the next datagram.
    #[inline]
    pub fn next(&mut self) -> NextDatagram {
        let unsent = &self.data[self.from..];
        let datagram = &unsent[..self.transmit.segment_size.min(unsent.len())];
        let (size, left) = (datagram.len(), unsent.len() - datagram.len());
        let payload = UdpPayload::new(datagram);
        self.from += size;
        NextDatagram {
            size,
            payload,
            position: self.position - left as f64,
            answers: std::mem::take(&mut self.answers),
            is_last: left == 0,
        }
    }

    /// Returns the buffer.
    pub fn into_buffer(self) -> Vec<u8> {
        self.data
    }
}
