//! The path of one direction: links in series, or one side of a network.

use crate::link_pipeline::{LinkPipeline, Outcome, PipelinePacket};
use crate::network::NetworkDirection;
use crate::report::LinkReport;
use bentpipe_link::LinkRecorder;
use bentpipe_units::Time;

/// The path of one direction.
pub enum DirectionPath<P> {
    /// Links in series.
    Links(LinkPipeline<P>),
    /// One direction of a network.
    Network(NetworkDirection<P>),
}

impl<P> DirectionPath<P> {
    /// Accepts a packet at `now`, which must not decrease. Returns the packet at once if the first
    /// link drops it.
    pub fn enqueue(&mut self, now: Time, packet: PipelinePacket<P>) -> Option<Outcome<P>> {
        match self {
            Self::Links(links) => links.enqueue(now, packet),
            Self::Network(network) => {
                network.enqueue(now, packet);
                None
            }
        }
    }

    /// Returns true if a queue tells flows apart by [`Packet::flow`](bentpipe_link::Packet::flow).
    pub fn needs_flow(&self) -> bool {
        match self {
            Self::Links(links) => links.needs_flow(),
            Self::Network(network) => network.needs_flow(),
        }
    }

    /// Returns the time at which the next packet leaves, or an earlier time.
    pub fn next_output(&self) -> Option<Time> {
        match self {
            Self::Links(links) => links.next_output(),
            Self::Network(network) => network.next_output(),
        }
    }

    /// Returns the next packet that left or was lost by `now`. Call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Outcome<P>> {
        match self {
            Self::Links(links) => links.poll(now),
            Self::Network(network) => network.poll(now),
        }
    }

    /// Returns the packets and bytes in queues.
    pub fn waiting(&self) -> (u64, u64) {
        match self {
            Self::Links(links) => links.waiting(),
            Self::Network(network) => network.waiting(),
        }
    }

    /// Returns the counters of each link, advanced to `now`, and the number of packets inside. A
    /// network keeps its own counters.
    pub fn counters(&mut self, now: Time) -> (Vec<LinkReport>, u64) {
        match self {
            Self::Links(links) => {
                let counters = links.counters(now);
                let inside = counters.iter().map(|link| link.counters.in_flight.packets).sum();
                (counters, inside)
            }
            Self::Network(network) => (Vec::new(), network.inside()),
        }
    }

    /// Returns the series of each link up to `now`, in the order of [`Self::counters`].
    pub fn take_recorders(&mut self, now: Time) -> Vec<LinkRecorder> {
        match self {
            Self::Links(links) => links.take_recorders(now),
            Self::Network(_) => Vec::new(),
        }
    }
}
