//! Senders and paths for tests of controllers: one path transfers whole windows per RTT, the other
//! queues packet by packet.

pub(crate) mod flow;
pub(crate) mod rounds;

use crate::controller::{Controller, ControllerConfig};
use crate::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Size of every packet; a window in bytes is then its packets times a thousand.
pub(crate) const MTU: Bytes = Bytes::new(1000);

/// Returns a configuration with an initial window of ten packets and no distance.
pub(crate) fn config() -> ControllerConfig {
    ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(10_000),
        distance_m: None,
        rtt: None,
    }
}

/// A path without a queue that delivers each window one RTT after it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) sent_packets: SentPackets,
    pub(crate) now: Time,
    pub(crate) rtt: Span,
    /// Packets per ACK.
    pub(crate) batch: usize,
    pub(crate) app_limited: bool,
}

impl Path {
    pub(crate) fn new(rtt: Span) -> Self {
        Self {
            sent_packets: SentPackets::new(),
            now: Time::ZERO,
            rtt,
            batch: 1,
            app_limited: false,
        }
    }

    /// Sends a window and acknowledges it one RTT later, except the packets that `lost` selects by
    /// their position in the window. These are declared lost at the end.
    pub(crate) fn round(&mut self, controller: &mut dyn Controller, lost: impl Fn(u64) -> bool) {
        let first = self.sent_packets.next_number();
        while self.sent_packets.bytes_in_flight() + MTU <= controller.send_control().cwnd {
            let packet = self.sent_packets.on_sent(self.now, MTU);
            controller.on_packet_sent(&packet);
        }
        self.now += self.rtt;
        let sent = first..self.sent_packets.next_number();
        let arrived: Vec<u64> = sent.clone().filter(|number| !lost(number - first)).collect();
        for numbers in arrived.chunks(self.batch) {
            for number in numbers {
                self.sent_packets.on_acked(self.now, *number);
            }
            self.sent_packets.report_ack(self.now, self.app_limited, |ack| controller.on_ack(ack));
        }
        for number in sent.filter(|number| lost(number - first)) {
            self.sent_packets.on_lost(number);
        }
        self.sent_packets.report_loss(self.now, false, |loss| controller.on_loss(loss));
    }

    /// Returns the mean window in packets over `packets` packets, of which every `period`th is
    /// lost, starting with the first. As many packets are sent before, to settle.
    pub(crate) fn mean_window(
        &mut self,
        controller: &mut dyn Controller,
        period: u64,
        packets: u64,
    ) -> f64 {
        let (mut sum, mut rounds) = (0.0, 0.0);
        while self.sent_packets.next_number() < 2 * packets {
            let first = self.sent_packets.next_number();
            if first >= packets {
                sum += controller.send_control().cwnd.get() as f64 / MTU.get() as f64;
                rounds += 1.0;
            }
            self.round(controller, |index| (first + index).is_multiple_of(period));
        }
        sum / rounds
    }
}

/// A bottleneck with a queue, packet by packet. Its sender always has data, and paces if its
/// controller does.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    pub(crate) sent_packets: SentPackets,
    pub(crate) now: Time,
    pub(crate) rate: Rate,
    /// RTT without a queue.
    pub(crate) rtt: Span,
    /// Minimum queueing delay that other flows cause.
    pub(crate) others: Span,
    /// ACKs in transit, with the number of the acknowledged packet.
    arriving: VecDeque<(Time, u64)>,
    free_at: Time,
    next_send: Time,
}

impl Bottleneck {
    pub(crate) fn new(rate: Rate, rtt: Span) -> Self {
        Self {
            sent_packets: SentPackets::new(),
            now: Time::ZERO,
            rate,
            rtt,
            others: Span::ZERO,
            arriving: VecDeque::new(),
            free_at: Time::ZERO,
            next_send: Time::ZERO,
        }
    }

    /// Returns the number of packets queued or in transmission.
    pub(crate) fn queued(&self) -> u64 {
        self.rate.bytes_in(self.free_at.since(self.now)).get() / MTU.get()
    }

    /// Runs until `until`, and calls `each` after each ACK.
    pub(crate) fn run<C: Controller>(
        &mut self,
        controller: &mut C,
        until: Time,
        mut each: impl FnMut(&Self, &C),
    ) {
        loop {
            let open = self.sent_packets.bytes_in_flight() + MTU <= controller.send_control().cwnd;
            let send = if open { self.next_send.max(self.now) } else { Time::MAX };
            let arrival = self.arriving.front().map_or(Time::MAX, |(at, _)| *at);
            if send.min(arrival) > until {
                self.now = until;
                return;
            }
            self.now = send.min(arrival);
            if arrival <= send {
                let Some((_, number)) = self.arriving.pop_front() else { return };
                self.sent_packets.on_acked(self.now, number);
                self.sent_packets.report_ack(self.now, false, |ack| controller.on_ack(ack));
                each(self, controller);
            } else {
                let packet = self.sent_packets.on_sent(self.now, MTU);
                controller.on_packet_sent(&packet);
                self.free_at = self.free_at.max(self.now + self.others) + self.rate.time_for(MTU);
                self.arriving.push_back((self.free_at + self.rtt, packet.number));
                let gap = controller
                    .send_control()
                    .pacing_rate
                    .map_or(Span::ZERO, |rate| rate.time_for(MTU));
                self.next_send = self.now + gap;
            }
        }
    }
}
