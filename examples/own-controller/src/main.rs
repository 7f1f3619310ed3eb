//! A congestion controller of one's own, compared with CUBIC over a geostationary path.
//!
//! Run it with `cargo run` in this directory. The controller is AIMD with its own two numbers; a
//! real one would be longer, but needs no other methods.

use bentpipe_congestion::{Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl};
use bentpipe_lab::{Lab, LabError};
use bentpipe_units::Bytes;

/// Additive increase of eight packets for each RTT, multiplicative decrease to 0.8.
#[derive(Debug, Clone)]
struct Aimd {
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
    mtu: Bytes,
    /// Number of the first packet sent after the last reduction. Losses of earlier packets belong
    /// to the same event (RFC 9002 §7.3.2).
    recovery_end: u64,
    acked: Bytes,
}

impl Aimd {
    const INCREASE: u64 = 8;
    const DECREASE: f64 = 0.8;

    fn new(config: &ControllerConfig) -> Self {
        Self {
            cwnd: config.initial_window,
            ssthresh: None,
            mtu: config.mtu,
            recovery_end: 0,
            acked: Bytes::ZERO,
        }
    }

    fn reduce(&mut self, next: u64) {
        self.cwnd = self.cwnd.mul_f64(Self::DECREASE).max(self.mtu + self.mtu);
        self.ssthresh = Some(self.cwnd);
        self.recovery_end = next;
        self.acked = Bytes::ZERO;
    }
}

impl Controller for Aimd {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        // The window was not used, or the packets were sent before the last reduction.
        if ack.app_limited || ack.newest().number < self.recovery_end {
            return;
        }
        if self.ssthresh.is_none() {
            self.cwnd += ack.bytes;
            return;
        }
        self.acked += ack.bytes;
        if self.acked >= self.cwnd {
            self.acked = Bytes::ZERO;
            self.cwnd += Bytes::new(Self::INCREASE * self.mtu.get());
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        if loss.newest().number >= self.recovery_end {
            self.reduce(loss.next_number);
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        if ecn_ce.newest >= self.recovery_end {
            self.reduce(ecn_ce.next_number);
        }
    }

    fn restart(&mut self, to: &Restart) {
        self.cwnd = to.window;
        self.ssthresh = to.ssthresh.or(self.ssthresh);
        self.recovery_end = to.recovery_start;
    }

    fn send_control(&self) -> SendControl {
        let phase = if self.ssthresh.is_none() { "slow start" } else { "congestion avoidance" };
        SendControl {
            ssthresh: self.ssthresh,
            ..SendControl::window(self.cwnd, self.ssthresh.is_none(), phase)
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

const SCENARIO: &str = r#"
name = "own-controller"
repeat = 5

[path]
profile = "geo-50-10"
forward = { loss = 0.001 }

[workload]
download = "10 MB"

# The shipped slow start would hide the controllers.
[defaults]
slow_start = "standard"

[[variant]]
name = "cubic"

[[variant]]
name = "aimd"
congestion = "aimd"
"#;

fn main() -> Result<(), LabError> {
    let results = Lab::new().controller("aimd", Aimd::new).run(SCENARIO)?;
    for row in results.summary.iter().filter(|row| row.metric == "completion_s") {
        println!(
            "{:8} {:6.2} s, median of {} runs",
            row.variant,
            row.median.unwrap_or(f64::NAN),
            row.n
        );
    }
    Ok(())
}
