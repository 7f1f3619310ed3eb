//! Lets noq-proto use our controllers: packet numbers become an order of sending, calls become acknowledgements and losses,
//! and the silence before a probe becomes a timeout.
//!
//! What noq-proto does not tell, and what is done about it:
//! - packet numbers of the three spaces collide: [`Lanes`] tells packets apart by number and time;
//! - packets of discarded keys and lost MTU probes leave silently: bytes in flight are taken over from noq-proto at each
//!   acknowledgement, and packets that everything newer has overtaken long ago are forgotten;
//! - a probe timeout is not reported: a packet sent after as long a silence is a probe (RFC 9002 §6.2.1).

use crate::clock::Clock;
use bentpipe_congestion as cc;
use bentpipe_congestion::probe::{Probe, UNPACED, pacing_rate};
use bentpipe_units::{Bytes, Rate, Span, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// The highest rate that the stack is told, a byte a nanosecond: its pacer waits for what is missing, rounded to nanoseconds, and beyond this
/// rate a wait may round to nothing, for ever. Without pacing it is the rate: where none is given, the stack paces by the window.
const FASTEST: Rate = Rate::from_mbps(8_000);

/// Makes a controller for a connection that begins.
pub type MakeController = Arc<dyn Fn(&cc::Setup) -> Box<dyn cc::Controller> + Send + Sync>;

/// A factory for noq-proto's transport configuration: connections get controllers made by `make`.
///
/// `initial_window`: in datagrams, limited as RFC 9002 §7.2 has it. Without `pacing` all that the window admits leaves at once. `probe` watches the
/// connection's sender.
pub fn controller_factory(
    clock: Clock,
    initial_window: u32,
    pacing: bool,
    probe: Option<Probe>,
    make: MakeController,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(Factory { clock, initial_window, pacing, probe, make })
}

struct Factory {
    clock: Clock,
    initial_window: u32,
    pacing: bool,
    probe: Option<Probe>,
    make: MakeController,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let now = self.clock.time(now);
        // RFC 9002 §7.2: datagrams times their size, limited to the larger of 14,720 bytes and two datagrams at ten of them.
        let datagrams = u64::from(self.initial_window);
        let mtu = u64::from(current_mtu);
        let initial_window = (datagrams * mtu).min(datagrams * 1472).max(2 * mtu);
        let setup = cc::Setup {
            now,
            mtu: Bytes::new(mtu),
            initial_window: Bytes::new(initial_window),
            distance_m: None,
            rtt: None,
        };
        Box::new(Adapter {
            controller: (self.make)(&setup),
            ledger: cc::Ledger::new(),
            lanes: Lanes::default(),
            clock: self.clock,
            probe: self.probe.clone(),
            initial_window,
            pacing: self.pacing,
            last_sent: None,
            last_heard: now,
            confirming_until: None,
            mtu,
            rtt_variation: Span::ZERO,
            now,
        })
    }
}

#[derive(Debug)]
struct Adapter {
    controller: Box<dyn cc::Controller>,
    ledger: cc::Ledger,
    lanes: Lanes,
    clock: Clock,
    probe: Option<Probe>,
    initial_window: u64,
    pacing: bool,
    /// When the last ack-eliciting packet was sent.
    last_sent: Option<Time>,
    /// When the last acknowledgement arrived.
    last_heard: Time,
    /// When the round trip after the first acknowledgement is over.
    confirming_until: Option<Time>,
    mtu: u64,
    /// RFC 9002 §5.3, rttvar.
    rtt_variation: Span,
    now: Time,
}

impl Adapter {
    /// RFC 9002 §6.2.1 without the peer's max_ack_delay, which is not known here; its default stands in.
    fn probe_timeout(&self) -> Span {
        let variation = (self.rtt_variation * 4).max(Span::from_millis(1));
        self.ledger.smoothed_rtt() + variation + Span::from_millis(25)
    }

    fn tell(&self) {
        if let Some(probe) = &self.probe {
            probe.state(self.now, self.controller.as_ref(), self.ledger.bytes_in_flight());
        }
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.clock.time(now);
        self.now = now;
        let silent_since = self.last_sent.max(Some(self.last_heard)).unwrap_or(self.last_heard);
        let waiting = !self.ledger.bytes_in_flight().is_zero() && !self.ledger.smoothed_rtt().is_zero();
        if waiting && now.since(silent_since) >= self.probe_timeout() {
            self.controller.on_timeout(now);
        }
        self.last_sent = Some(now);
        let packet = self.ledger.send(now, Bytes::new(u64::from(bytes)));
        self.lanes.push(pn, packet.number);
        self.controller.on_packet_sent(&packet);
        if let Some(probe) = &self.probe {
            probe.sent(now, &packet);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _: u64, pn: u64, _: bool, _: &RttEstimator) {
        let (now, sent) = (self.clock.time(now), self.clock.time(sent));
        let ledger = &self.ledger;
        let number = self.lanes.find(pn, |number| ledger.get(number).is_some_and(|packet| packet.sent_at == sent));
        if let Some(number) = number {
            self.ledger.acknowledge(now, number);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let now = self.clock.time(now);
        self.now = now;
        self.last_heard = now;
        self.ledger.set_bytes_in_flight(Bytes::new(in_flight));
        let Self { ledger, controller, probe, rtt_variation, .. } = self;
        let before = ledger.smoothed_rtt();
        let mut newest = None;
        ledger.ack(now, app_limited, |ack| {
            controller.on_ack(ack);
            newest = Some((ack.newest().sent_at, ack.rtt));
            if let Some(probe) = probe {
                probe.acknowledged(ack);
            }
        });
        if let Some((sent_at, rtt)) = newest {
            self.confirming_until.get_or_insert(now + rtt);
            let deviation = if rtt > before { rtt - before } else { before - rtt };
            *rtt_variation = if before.is_zero() { rtt / 2 } else { (*rtt_variation * 3 + deviation) / 4 };
            // Far beyond what reordering and loss detection leave open (9/8 of a round trip).
            let limit = self.ledger.smoothed_rtt() * 4 + Span::from_secs(1);
            self.ledger.forget_sent_before(sent_at.since_start().saturating_sub(limit));
            self.lanes.forget_before(self.ledger.first_number());
        }
        if app_limited {
            self.ledger.run_dry();
        }
        if let Some(probe) = &self.probe {
            probe.acknowledgement_ended(now, app_limited);
        }
        self.tell();
    }

    fn on_packet_lost(&mut self, _: u16, pn: u64, now: Instant) {
        let ledger = &self.ledger;
        let number = self.lanes.find(pn, |number| ledger.get(number).is_some());
        if let Some(number) = number
            && let Some(packet) = self.ledger.get(number).copied()
        {
            self.ledger.lose(number);
            if let Some(probe) = &self.probe {
                probe.lost(self.clock.time(now), &packet);
            }
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _: u64,
        largest_pn: u64,
    ) {
        let now = self.clock.time(now);
        self.now = now;
        let Self { ledger, controller, .. } = self;
        if is_ecn {
            let newest =
                self.lanes.find(largest_pn, |_| true).unwrap_or_else(|| ledger.next_number().saturating_sub(1));
            controller.on_mark(&cc::Mark {
                now,
                newest,
                bytes_in_flight: ledger.bytes_in_flight(),
                next_number: ledger.next_number(),
            });
        } else {
            ledger.loss(now, is_persistent_congestion, |loss| controller.on_loss(loss));
        }
        if let Some(probe) = &self.probe {
            probe.congestion_event();
        }
        self.tell();
    }

    fn on_spurious_congestion_event(&mut self) {
        self.controller.on_spurious_loss(self.now);
        if let Some(probe) = &self.probe {
            probe.spurious_event();
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = u64::from(new_mtu);
        self.controller.on_mtu(Bytes::new(self.mtu));
    }

    /// In the round trip after the first acknowledgement, which is of the handshake, a packet more than the controller says:
    /// where the first flight of data fills the window, the stack would otherwise neither send HANDSHAKE_DONE nor start a
    /// probe timer for that data, and a loss in it could stall the connection for good.
    fn window(&self) -> u64 {
        let window = self.controller.window().get().max(1);
        let confirming = self.confirming_until.is_some_and(|until| self.now < until);
        if confirming { window + self.mtu } else { window }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.controller.window().get().max(1);
        metrics.ssthresh = self.controller.ssthresh().map(Bytes::get);
        let rate = pacing_rate(self.controller.as_ref(), self.ledger.smoothed_rtt());
        // RFC 9002 §7.7: what an initial window admits may leave at once. The stack paces acknowledgements as it does data: a
        // receiver, with next to nothing in flight, would otherwise hold them back.
        let initial_window = Bytes::new(self.initial_window);
        let burst = self.ledger.bytes_in_flight() < initial_window;
        let rate = if !self.pacing {
            FASTEST
        } else if burst {
            rate.max(Rate::over(initial_window, UNPACED))
        } else {
            rate
        };
        metrics.pacing_rate = Some(rate.min(FASTEST).as_bps() / 8);
        metrics.send_quantum = self.controller.send_quantum().map(Bytes::get);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            ledger: self.ledger.clone(),
            lanes: self.lanes.clone(),
            probe: self.probe.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Packet numbers by the order of sending.
///
/// Within each lane numbers only rise, so that a search takes logarithmic time. There are as many lanes as packet number
/// spaces in use at the same time; a packet joins the lane whose last number lies closest below its own.
#[derive(Debug, Clone, Default)]
struct Lanes(Vec<VecDeque<(u64, u64)>>);

impl Lanes {
    fn push(&mut self, pn: u64, number: u64) {
        let last = |lane: &VecDeque<(u64, u64)>| lane.back().map(|&(pn, _)| pn);
        let fitting = self.0.iter_mut().filter(|lane| last(lane) < Some(pn));
        match fitting.max_by_key(|lane| last(lane)) {
            Some(lane) => lane.push_back((pn, number)),
            None => self.0.push(VecDeque::from([(pn, number)])),
        }
    }

    /// The packet with that number for which `holds`.
    fn find(&self, pn: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
        self.0.iter().find_map(|lane| {
            let index = lane.binary_search_by_key(&pn, |&(pn, _)| pn).ok()?;
            Some(lane[index].1).filter(|&number| holds(number))
        })
    }

    fn forget_before(&mut self, number: u64) {
        for lane in &mut self.0 {
            while lane.front().is_some_and(|&(_, first)| first < number) && lane.len() > 1 {
                lane.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_colliding_numbers_are_told_apart() {
        let mut lanes = Lanes::default();
        // Initial 0, 0-RTT 0 to 2, Handshake 0, data 3.
        for (number, pn) in [0, 0, 1, 2, 0, 3].into_iter().enumerate() {
            lanes.push(pn, number as u64);
        }
        assert_eq!(lanes.find(3, |_| true), Some(5));
        assert_eq!(lanes.find(0, |number| number == 4), Some(4));
        assert_eq!(lanes.find(0, |number| number == 1), Some(1));
        assert_eq!(lanes.find(9, |_| true), None);
    }

    #[test]
    fn lanes_forget_what_the_ledger_has_forgotten() {
        let mut lanes = Lanes::default();
        (0..100).for_each(|pn| lanes.push(pn, pn));
        lanes.forget_before(98);
        assert_eq!(lanes.0.iter().map(VecDeque::len).sum::<usize>(), 2);
    }
}
