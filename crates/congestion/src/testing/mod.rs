//! Paths for tests of controllers: whole windows one round trip after the other, and a queue packet
//! by packet.

pub(crate) mod flow;

use crate::controller::{Controller, ControllerConfig};
use crate::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Size of every packet: windows are then thousands for packets.
pub(crate) const MTU: Bytes = Bytes::new(1000);

/// Ten packets to begin with, no distance known.
pub(crate) fn config() -> ControllerConfig {
    ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(10_000),
        distance_m: None,
        rtt: None,
    }
}

/// A path without a queue that delivers each window a round trip after it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) sent_packets: SentPackets,
    pub(crate) now: Time,
    pub(crate) rtt: Span,
    /// Packets that one acknowledgement covers.
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

    /// Sends a window and has it acknowledged a round trip later but for the packets that `lost`
    /// picks by their place in the window; these are declared lost at the end.
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

    /// Mean window in packets over `packets` packets of which every `period`th is lost, the first
    /// too, after as many to settle.
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

/// A bottleneck with a queue, packet by packet: a sender with all the data in the world, paced
/// where its controller paces.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    pub(crate) sent_packets: SentPackets,
    pub(crate) now: Time,
    pub(crate) rate: Rate,
    /// Round trip without a queue.
    pub(crate) rtt: Span,
    /// Time that others keep in the queue, at least.
    pub(crate) others: Span,
    /// Acknowledgements on their way, by the packet's number.
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

    /// Packets waiting or being sent.
    pub(crate) fn queued(&self) -> u64 {
        self.rate.bytes_in(self.free_at.since(self.now)).get() / MTU.get()
    }

    /// Goes on until `until`, and calls `each` after each acknowledgement.
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
