//! A controller of one's own: it keeps the window at twice what the path was measured to hold.

use bentpipe_congestion::{Ack, Adjust, Controller, Ledger, Loss, Mark, newreno::minimum_window};
use bentpipe_units::{Bytes, Time};

#[derive(Debug, Clone)]
struct TwiceThePath {
    mtu: Bytes,
    window: Bytes,
    measured: bool,
}

impl Controller for TwiceThePath {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rate) = ack.sample.rate.filter(|_| !ack.app_limited) {
            self.measured = true;
            let path = rate.bytes_in(ack.min_rtt);
            self.window = (path + path).max(minimum_window(self.mtu));
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
        !self.measured
    }
    fn phase(&self) -> &'static str {
        if self.measured { "following" } else { "measuring" }
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn main() {
    let mtu = Bytes::new(1200);
    let mut controller = TwiceThePath { mtu, window: Bytes::new(12_000), measured: false };
    let mut ledger = Ledger::new();
    // Ten packets, acknowledged 1 ms apart after 600 ms; each acknowledgement lets another go.
    for number in 0..40 {
        let now = Time::from_millis(600 + number);
        while ledger.bytes_in_flight() + mtu <= controller.window() {
            let packet = ledger.send(if number == 0 { Time::ZERO } else { now }, mtu);
            controller.on_packet_sent(&packet);
        }
        ledger.acknowledge(now, number);
        ledger.ack(now, false, |ack| controller.on_ack(ack));
    }
    println!("{}: a window of {}", controller.phase(), controller.window());
}
