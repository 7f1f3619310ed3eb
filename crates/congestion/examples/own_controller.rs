//! A controller of one's own: its window is twice what the path was measured to hold.

use bentpipe_congestion::{Ack, Adjust, Controller, Ledger, Loss, Mark, newreno::minimum_window};
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
    fn on_mark(&mut self, _: &Mark) {
        self.window = self.window.mul_f64(0.8).max(minimum_window(self.mtu));
    }
    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }
    fn adjust(&mut self, to: &Adjust) {
        self.window = to.window.max(minimum_window(self.mtu));
    }
    fn window(&self) -> Bytes {
        self.window
    }
    fn in_slow_start(&self) -> bool {
        self.best.is_zero()
    }
    fn phase(&self) -> &'static str {
        if self.in_slow_start() { "measuring" } else { "following" }
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn main() {
    let mtu = Bytes::new(1200);
    let mut controller = TwiceThePath { mtu, window: Bytes::new(12_000), best: Rate::ZERO };
    let (mut ledger, mut now) = (Ledger::new(), Time::ZERO);
    // Six windows over a geostationary path: the first acknowledgement after 600 ms, the others 1 ms apart.
    for _ in 0..6 {
        let first = ledger.next_number();
        while ledger.bytes_in_flight() + mtu <= controller.window() {
            let packet = ledger.send(now, mtu);
            controller.on_packet_sent(&packet);
        }
        now += Span::from_millis(600);
        for number in first..ledger.next_number() {
            ledger.acknowledge(now, number);
            ledger.ack(now, false, |ack| controller.on_ack(ack));
            now += Span::from_millis(1);
        }
        println!("{now}: {}, a window of {}", controller.phase(), controller.window());
    }
}
