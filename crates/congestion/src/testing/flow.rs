//! A flow over a path without a bottleneck, driven packet by packet, for tests of controllers of
//! rates.

use crate::controller::{Controller, ControllerConfig, EcnCe, PathChange, RateBased, Restart};
use crate::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Size of each packet.
pub const MTU: Bytes = Bytes::new(1000);
/// Round trip of each packet.
pub const RTT: Span = Span::from_millis(100);

/// A flow whose packets all take the same time.
pub struct Flow<C> {
    pub bbr: C,
    pub sent_packets: SentPackets,
    pub now: Time,
}

impl<C: Controller> Flow<C> {
    pub fn new(make: impl Fn(&ControllerConfig) -> C) -> Self {
        let config = ControllerConfig {
            now: Time::ZERO,
            mtu: MTU,
            initial_window: Bytes::new(10_000),
            distance_m: None,
            rtt: None,
        };
        Self { bbr: make(&config), sent_packets: SentPackets::new(), now: Time::ZERO }
    }

    pub fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            let packet = self.sent_packets.on_sent(self.now, MTU);
            self.bbr.on_packet_sent(&packet);
        }
    }

    pub fn ack(&mut self, number: u64) {
        self.sent_packets.on_acked(self.now, number);
        self.sent_packets.report_ack(self.now, false, |ack| self.bbr.on_ack(ack));
    }

    pub fn lose(&mut self, numbers: &[u64]) {
        for &number in numbers {
            self.sent_packets.on_lost(number);
        }
        self.sent_packets.report_loss(self.now, false, |loss| self.bbr.on_loss(loss));
    }

    /// Sends `packets`; a round trip later all but those that `lost` names arrive, one a
    /// millisecond.
    pub fn round(&mut self, packets: u64, lost: impl Fn(u64) -> bool) {
        let first = self.sent_packets.next_number();
        self.send(packets);
        self.now += RTT;
        for index in 0..packets {
            if !lost(index) {
                self.ack(first + index);
            }
            self.now += Span::from_millis(1);
        }
        let numbers: Vec<u64> =
            (0..packets).filter(|&index| lost(index)).map(|index| first + index).collect();
        self.lose(&numbers);
    }

    /// Keeps `window` packets in flight for `packets` more, one delivered each millisecond, but for
    /// those that `lost` names; a lost packet is noticed three packets later. Acknowledges all that
    /// is left.
    pub fn stream(&mut self, packets: u64, window: u64, lost: impl Fn(u64) -> bool) {
        let first = self.sent_packets.next_number();
        for step in 0..packets + window {
            if step < packets {
                self.send(1);
            }
            self.now += Span::from_millis(1);
            let Some(arrived) = step.checked_sub(window) else { continue };
            if !lost(arrived) {
                self.ack(first + arrived);
            }
            if arrived >= 3 && lost(arrived - 3) {
                self.lose(&[first + arrived - 3]);
            }
        }
    }

    pub fn restart(&mut self, window: u64, ssthresh: Option<u64>, rate: Option<Rate>) {
        let (window, ssthresh) = (Bytes::new(window), ssthresh.map(Bytes::new));
        let recovery_start = self.sent_packets.next_number();
        self.bbr.restart(&Restart {
            now: self.now,
            window,
            ssthresh,
            rate,
            min_rtt: Some(RTT),
            recovery_start,
        });
    }

    fn rate_based(&mut self) -> &mut dyn RateBased {
        self.bbr.rate_based().expect("a controller of rates")
    }

    /// Whatever may happen, in a form that a property test can draw.
    pub fn anything(&mut self, kind: u8, value: u64) {
        let oldest = self.sent_packets.next_number().saturating_sub(value % 60);
        match kind {
            0..=2 => self.send(value % 40),
            3..=5 => self.ack(oldest),
            6 => self.lose(&[oldest, oldest + 1]),
            7 => self.now += Span::from_nanos(value % 3_000_000_000),
            8 => self.restart(
                value,
                value.is_multiple_of(2).then_some(value / 3),
                value.is_multiple_of(3).then(|| Rate::from_bps(value)),
            ),
            9 => self
                .rate_based()
                .set_probing_rate((!value.is_multiple_of(3)).then(|| Rate::from_bps(value))),
            10 => {
                let now = self.now;
                self.rate_based().retreat(now);
                self.bbr.on_spurious_loss(self.now);
            }
            _ => {
                self.sent_packets.set_app_limited();
                self.bbr.on_path_change(&PathChange::unknown(self.now));
                self.bbr.on_mtu_update(Bytes::new(value % 9000));
                let next_number = self.sent_packets.next_number();
                let ecn_ce = EcnCe {
                    now: self.now,
                    newest: value,
                    bytes_in_flight: Bytes::new(value),
                    next_number,
                };
                self.bbr.on_ecn_ce(&ecn_ce);
            }
        }
    }
}
