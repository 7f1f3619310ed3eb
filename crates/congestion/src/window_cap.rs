//! An upper limit on the congestion window, like Linux's `snd_cwnd_clamp` and the 2,000 packets of
//! Google's QUIC.

use crate::controller::{Ack, Controller, SendControl, forward_to};
use bentpipe_units::Bytes;

/// A layer that limits a controller's congestion window.
#[derive(Debug)]
pub struct WindowCap {
    controller: Box<dyn Controller>,
    max: Bytes,
}

impl WindowCap {
    /// Limits the window of `controller` to `max`.
    pub fn new(controller: Box<dyn Controller>, max: Bytes) -> Self {
        Self { controller, max }
    }
}

impl Controller for WindowCap {
    forward_to!(controller:
        on_packet_sent, on_loss, on_ecn_ce, on_timeout, on_spurious_loss, on_path_change);
    forward_to!(controller: on_mtu_update, restart, report_state, is_rate_based, rate_based);

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // An unused part of the window must not grow.
        let app_limited = ack.app_limited || self.controller.send_control().cwnd >= self.max;
        self.controller.on_ack(&Ack { app_limited, ..*ack });
    }

    fn send_control(&self) -> SendControl {
        let inner = self.controller.send_control();
        let at_max_window = inner.cwnd >= self.max;
        SendControl { cwnd: inner.cwnd.min(self.max), at_max_window, ..inner }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { controller: self.controller.clone_box(), max: self.max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ControllerConfig;
    use crate::{CongestionConfig, SentPackets};
    use bentpipe_units::Time;

    #[test]
    fn the_window_stops_at_its_cap_without_hidden_growth_beyond_it() {
        let config = ControllerConfig {
            now: Time::ZERO,
            mtu: Bytes::new(1000),
            initial_window: Bytes::new(10_000),
            distance_m: None,
            rtt: None,
        };
        let congestion = CongestionConfig {
            slow_start: "standard".parse().unwrap(),
            max_window: Some(Bytes::new(50_000)),
            ..CongestionConfig::default()
        };
        let mut controller =
            congestion.factory().unwrap().make(&config, crate::FastStart::Allowed(None), None);
        let mut sent_packets = SentPackets::new();
        for round in 0..20 {
            let now = Time::from_millis(100 * round);
            let first = sent_packets.next_number();
            while sent_packets.bytes_in_flight() < controller.send_control().cwnd {
                let packet = sent_packets.on_sent(now, Bytes::new(1000));
                controller.on_packet_sent(&packet);
            }
            for number in first..sent_packets.next_number() {
                let now = Time::from_millis(100 * round + 100);
                sent_packets.on_acked(now, number);
                sent_packets.report_ack(now, false, |ack| controller.on_ack(ack));
            }
        }
        assert_eq!(controller.send_control().cwnd, Bytes::new(50_000));
        // A loss halves the window in use, rather than a larger one that grew unseen.
        let packet = sent_packets.on_sent(Time::from_secs(3), Bytes::new(1000));
        sent_packets.on_lost(packet.number);
        sent_packets.report_loss(Time::from_secs(3), false, |loss| controller.on_loss(loss));
        assert!(
            controller.send_control().cwnd < Bytes::new(40_000),
            "{}",
            controller.send_control().cwnd
        );
    }
}
