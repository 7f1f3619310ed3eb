//! Rounds of ACKs with a given RTT, for tests of slow starts that watch the RTT.

use super::{MTU, config};
use crate::controller::ControllerConfig;
use crate::sent_packets::SentPackets;
use crate::slow_start::{Progress, SlowStart};
use bentpipe_units::{Bytes, Span, Time};

/// A sender that sends rounds of packets.
pub(crate) struct Rounds<S> {
    pub(crate) slow_start: S,
    pub(crate) sent_packets: SentPackets,
    pub(crate) now: Time,
}

impl<S: SlowStart> Rounds<S> {
    /// Creates a sender with an initial window of `packets`.
    pub(crate) fn new(packets: u64, make: impl FnOnce(&ControllerConfig) -> S) -> Self {
        let config =
            ControllerConfig { initial_window: Bytes::new(packets * MTU.get()), ..config() };
        Self { slow_start: make(&config), sent_packets: SentPackets::new(), now: Time::ZERO }
    }

    /// Sends `packets` at the given interval and acknowledges each after `rtt`, until slow start
    /// ends. Returns the number of ACKs and the outcome of the last one.
    pub(crate) fn round(&mut self, packets: u64, rtt: Span, interval: Span) -> (u64, Progress) {
        let (first, start) = (self.sent_packets.next_number(), self.now);
        for index in 0..packets {
            self.sent_packets.on_sent(start + interval * index, MTU);
        }
        let mut progress = Progress::Continue;
        for index in 0..packets {
            self.now = start + rtt + interval * index;
            self.sent_packets.on_acked(self.now, first + index);
            self.sent_packets
                .report_ack(self.now, false, |ack| progress = self.slow_start.on_ack(ack));
            if progress != Progress::Continue {
                return (index + 1, progress);
            }
        }
        (packets, progress)
    }

    /// Returns the congestion window.
    pub(crate) fn window(&self) -> Bytes {
        self.slow_start.window()
    }
}
