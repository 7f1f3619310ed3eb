//! A window that never grows beyond a size: Linux has `snd_cwnd_clamp`, Google's QUIC at most 2,000 packets.

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, RateBased};
use bentpipe_units::{Bytes, Rate, Time};

/// A controller whose window is cut off.
#[derive(Debug)]
pub struct Capped {
    controller: Box<dyn Controller>,
    most: Bytes,
}

impl Capped {
    /// `controller`, with a window of at most `most`.
    pub fn new(controller: Box<dyn Controller>, most: Bytes) -> Self {
        Self { controller, most }
    }
}

impl Controller for Capped {
    fn on_packet_sent(&mut self, packet: &Packet) {
        self.controller.on_packet_sent(packet);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // What the window does not use it must not grow by.
        let app_limited = ack.app_limited || self.controller.window() >= self.most;
        self.controller.on_ack(&Ack { app_limited, ..*ack });
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.controller.on_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.controller.on_mark(mark);
    }

    fn on_timeout(&mut self, now: Time) {
        self.controller.on_timeout(now);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.controller.on_spurious_loss(now);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.controller.on_path_change(change);
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.controller.on_mtu(mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.controller.adjust(to);
    }

    fn window(&self) -> Bytes {
        self.controller.window().min(self.most)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }

    fn send_quantum(&self) -> Option<Bytes> {
        self.controller.send_quantum()
    }

    fn in_slow_start(&self) -> bool {
        self.controller.in_slow_start()
    }

    fn phase(&self) -> &'static str {
        self.controller.phase()
    }

    fn loss_tolerance(&self) -> f64 {
        self.controller.loss_tolerance()
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        self.controller.rate_based()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { controller: self.controller.clone_box(), most: self.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Setup;
    use crate::{Ledger, Recipe};

    #[test]
    fn the_window_stops_at_its_cap_and_is_not_hidden_growth_beyond_it() {
        let setup = Setup {
            now: Time::ZERO,
            mtu: Bytes::new(1000),
            initial_window: Bytes::new(10_000),
            distance_m: None,
            rtt: None,
        };
        let recipe =
            Recipe { start: "standard".parse().unwrap(), max_window: Some(Bytes::new(50_000)), ..Recipe::default() };
        let mut controller = recipe.prepare().unwrap().make(&setup, crate::FastStart::Allowed(None), None);
        let mut ledger = Ledger::new();
        for round in 0..20 {
            let now = Time::from_millis(100 * round);
            let first = ledger.next_number();
            while ledger.bytes_in_flight() < controller.window() {
                let packet = ledger.send(now, Bytes::new(1000));
                controller.on_packet_sent(&packet);
            }
            for number in first..ledger.next_number() {
                let now = Time::from_millis(100 * round + 100);
                ledger.acknowledge(now, number);
                ledger.ack(now, false, |ack| controller.on_ack(ack));
            }
        }
        assert_eq!(controller.window(), Bytes::new(50_000));
        // A loss halves what was used, not something larger that grew out of sight.
        let packet = ledger.send(Time::from_secs(3), Bytes::new(1000));
        ledger.lose(packet.number);
        ledger.loss(Time::from_secs(3), false, |loss| controller.on_loss(loss));
        assert!(controller.window() < Bytes::new(40_000), "{}", controller.window());
    }
}
