//! A flow over a path without a bottleneck, driven packet by packet, for tests of rate-based
//! controllers.

use super::{MTU, config};
use crate::controller::{Controller, ControllerConfig, EcnCe, PathChange, RateBased, Restart};
use crate::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// RTT of every packet.
pub const RTT: Span = Span::from_millis(100);

/// A flow whose packets all have the same RTT.
pub struct Flow<C> {
    pub bbr: C,
    pub sent_packets: SentPackets,
    pub now: Time,
}

impl<C: Controller> Flow<C> {
    pub fn new(make: impl Fn(&ControllerConfig) -> C) -> Self {
        Self { bbr: make(&config()), sent_packets: SentPackets::new(), now: Time::ZERO }
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

    /// Sends `packets`. One RTT later all but those in `lost` arrive, one per millisecond.
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

    /// Keeps `window` packets in flight for `packets` more, one delivered per millisecond, except
    /// those in `lost`. A loss is detected three packets later. Finally acknowledges all that are
    /// left.
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
        self.bbr.rate_based().expect("a rate-based controller")
    }

    /// Returns the window, the pacing rate and the estimated bandwidth.
    pub fn limits(&mut self) -> (Bytes, Option<Rate>, Option<Rate>) {
        let control = self.bbr.send_control();
        (control.cwnd, control.pacing_rate, self.rate_based().bandwidth())
    }

    /// Probes at 100 Mbps with 200 packets and retreats at the first ACK. Returns the number of
    /// the first packet.
    pub fn fail_probe(&mut self) -> u64 {
        let first = self.sent_packets.next_number();
        self.rate_based().set_probing_rate(Some(Rate::from_mbps(100)));
        self.send(200);
        self.now += RTT;
        self.ack(first);
        let now = self.now;
        self.rate_based().retreat(now);
        first
    }

    /// Acknowledges the packets of a failed probe that started with `first`, and checks that the
    /// controller stays in Drain and ignores their rate until few are left.
    pub fn drain_failed_probe(&mut self, first: u64) {
        let bandwidth = self.rate_based().bandwidth();
        for number in first + 1..first + 150 {
            self.now += Span::from_micros(10);
            self.ack(number);
        }
        assert!(self.rate_based().in_drain());
        assert_eq!(self.rate_based().bandwidth(), bandwidth);
        for number in first + 150..first + 200 {
            self.ack(number);
        }
        assert!(!self.rate_based().in_drain());
    }

    /// Applies arbitrary events, and checks after each that window and rate are above zero.
    pub fn check_events(&mut self, events: Vec<(u8, u64)>) -> Result<(), TestCaseError> {
        for (kind, value) in events {
            self.apply(kind, value);
            let (window, rate, _) = self.limits();
            prop_assert!(!window.is_zero());
            prop_assert!(rate.is_none_or(|rate| !rate.is_zero()));
        }
        Ok(())
    }

    /// Applies the event that `kind` and `value` encode.
    fn apply(&mut self, kind: u8, value: u64) {
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
                    marked: None,
                };
                self.bbr.on_ecn_ce(&ecn_ce);
            }
        }
    }
}

/// Returns arbitrary events for [`Flow::check_events`].
pub fn events() -> impl Strategy<Value = Vec<(u8, u64)>> {
    proptest::collection::vec((0u8..12, 0u64..u64::MAX), 1..200)
}
