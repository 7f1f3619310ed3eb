//! A packet on a link.

use crate::{Packet, Service};
use bentpipe_units::{Span, Time};

/// A packet that has been offered to the link's queue.
// The fields of its `Service` are listed one by one, since the type would add 4 bytes of padding: a
// packet of the simulator is then longer than a cache line of 64 bytes.
#[derive(Debug, Clone)]
pub(crate) struct Accepted<P> {
    pub sent: Time,
    pub port: u32,
    pub packet: Packet<P>,
    /// See [`Service::queued`]. Until the packet has left the transmitter, its wait in the class of
    /// a flow meter before `sent`.
    pub queued: Span,
    /// See [`Service::blocked`]. The link's total at the offer, until the packet has left the
    /// transmitter.
    pub blocked: Span,
    /// See [`Service::serialised_ns`].
    pub serialised_ns: u32,
}

impl<P> Accepted<P> {
    /// Returns the packet as it was before a flow meter held it, which a packet that the queue
    /// drops has not been served by.
    pub fn before_meter(self) -> Self {
        Self { sent: self.sent.saturating_sub(self.queued), queued: Span::ZERO, ..self }
    }

    /// Returns how the transmitter served the packet, once it has left it. The link adds the wait
    /// for growth of the rate and for the end of a frame.
    #[inline]
    pub fn service(&self) -> Service {
        let Self { queued, blocked, serialised_ns, .. } = *self;
        Service { queued, blocked, serialised_ns, ..Service::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_the_simulator_fills_a_cache_line() {
        // Its payload is 20 bytes long.
        assert_eq!(size_of::<Accepted<[u32; 5]>>(), 64);
    }
}
