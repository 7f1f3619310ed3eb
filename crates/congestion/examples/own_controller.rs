//! A custom controller whose window is twice the measured bandwidth-delay product.

use bentpipe_congestion::{
    Ack, Controller, EcnCe, Loss, Restart, SendControl, SentPackets, minimum_window,
};
use bentpipe_units::{Bytes, Rate, Span, Time};

#[derive(Debug, Clone)]
struct TwiceThePath {
    mtu: Bytes,
    window: Bytes,
    best: Rate,
}

impl Controller for TwiceThePath {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.best = self.best.max(ack.sample.rate.unwrap_or_default());
        if !ack.app_limited {
            let path = self.best.bytes_in(ack.min_rtt);
            self.window = self.window.max(path + path);
        }
    }
    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.persistent {
            self.window = minimum_window(self.mtu);
        }
    }
    fn on_ecn_ce(&mut self, _: &EcnCe) {
        self.window = self.window.mul_f64(0.8).max(minimum_window(self.mtu));
    }
    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }
    fn restart(&mut self, to: &Restart) {
        self.window = to.window.max(minimum_window(self.mtu));
    }
    fn send_control(&self) -> SendControl {
        let measuring = self.best.is_zero();
        SendControl::window(
            self.window,
            measuring,
            if measuring { "measuring" } else { "following" },
        )
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn main() {
    let mtu = Bytes::new(1200);
    let mut controller = TwiceThePath { mtu, window: Bytes::new(12_000), best: Rate::ZERO };
    let (mut sent_packets, mut now) = (SentPackets::new(), Time::ZERO);
    // Six windows over a geostationary path. The first ACK arrives after 600 ms, the others 1 ms
    // apart.
    for _ in 0..6 {
        let first = sent_packets.next_number();
        while sent_packets.bytes_in_flight() + mtu <= controller.send_control().cwnd {
            let packet = sent_packets.on_sent(now, mtu);
            controller.on_packet_sent(&packet);
        }
        now += Span::from_millis(600);
        for number in first..sent_packets.next_number() {
            sent_packets.on_acked(now, number);
            sent_packets.report_ack(now, false, |ack| controller.on_ack(ack));
            now += Span::from_millis(1);
        }
        println!(
            "{now}: {}, window {}",
            controller.send_control().phase,
            controller.send_control().cwnd
        );
    }
}
