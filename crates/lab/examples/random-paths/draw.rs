//! Draws random paths and converts them to scenarios.

use bentpipe_link::random::stream;
use std::fmt::Write;

/// Sizes of the downloads, in bytes.
pub const SIZES: [u64; 5] = [100_000, 1_000_000, 2_000_000, 10_000_000, 100_000_000];
/// The variants, in the scenario's order.
pub const SLOW_STARTS: [&str; 2] = ["standard", "auto"];
/// Time limit of a download, in seconds of virtual time.
pub const LIMIT_S: u64 = 120;

/// One path and its traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Number of the case.
    pub number: u64,
    /// Seed of the study.
    pub seed: u64,
    /// Forward rate, in bits per second.
    pub rate: u64,
    /// Return rate, in bits per second.
    pub return_rate: u64,
    /// RTT without frames, in nanoseconds.
    pub rtt: u64,
    /// Queue of the forward direction, in BDP.
    pub queue: f64,
    /// True with frames of 10 ms forward and 26.5 ms return.
    pub frames: bool,
    /// Jitter of each direction, plus or minus, in nanoseconds.
    pub jitter: u64,
    /// Acknowledgement rule.
    pub ack: &'static str,
}

impl Case {
    /// Draws case `number` of the study with `seed`.
    pub fn draw(seed: u64, number: u64) -> Self {
        // Each value has its own random stream, so that a new value does not change the others.
        let unit = |what: &str| stream(seed, number, &format!("random-paths/{what}")).unit();
        let log =
            |what: &str, low: f64, high: f64| low * libm::exp(unit(what) * libm::log(high / low));
        let uniform = |what: &str, low: f64, high: f64| low + (high - low) * unit(what);
        let rtt_ms = if unit("short") < 0.2 {
            log("rtt", 20.0, 100.0)
        } else {
            uniform("rtt", 150.0, 800.0)
        };
        Self {
            number,
            seed,
            rate: log("rate", 5e6, 300e6) as u64,
            return_rate: log("back", 0.5e6, 10e6) as u64,
            rtt: (rtt_ms * 1e6) as u64,
            queue: libm::round(log("queue", 0.05, 2.0) * 1e4) / 1e4,
            frames: unit("frames") < 0.5,
            jitter: uniform("jitter", 0.0, 5e6) as u64,
            ack: if unit("ack") < 0.5 { "stack" } else { "1:10" },
        }
    }

    /// Returns true if the rate alone makes a download of `bytes` exceed the time limit. Such
    /// downloads are skipped.
    pub fn is_too_slow_for(&self, bytes: u64) -> bool {
        bytes * 8 / self.rate >= LIMIT_S
    }

    /// Returns the scenario, with all sizes that are not too slow and both slow-start algorithms.
    pub fn scenario(&self) -> String {
        let Self { number, seed, rate, return_rate, rtt, queue, frames, jitter, ack } = self;
        let delay = format!("{{ base = \"{} ns\", jitter = \"{jitter} ns\" }}", rtt / 2);
        let frame =
            |length: &str| if *frames { format!(", frame = \"{length}\"") } else { String::new() };
        let sizes = SIZES.iter().filter(|bytes| !self.is_too_slow_for(**bytes));
        let sizes: Vec<String> = sizes.map(|bytes| format!("\"{bytes} B\"")).collect();
        let (forward_frame, return_frame) = (frame("10 ms"), frame("26.5 ms"));
        let sizes = sizes.join(", ");
        let mut text = format!(
            r#"name = "random-path-{seed}-{number}"
title = "Case {number} of the study of random paths with seed {seed}"
seed = {number}
time_limit = "{LIMIT_S} s"

[path]
forward = {{ rate = "{rate} bps", delay = {delay}, queue = "{queue} BDP"{forward_frame} }}
return = {{ rate = "{return_rate} bps", delay = {delay}{return_frame} }}

[defaults]
congestion = "cubic"
ack = "{ack}"
resume = "none"
flow_control.preset = "auto"

[sweep]
"workload.download" = [{sizes}]

[workload]
download = "1 MB"

[output]
time_series = "all"
full_time_series = true
"#
        );
        for start in SLOW_STARTS {
            let _ = write!(text, "\n[[variant]]\nname = \"{start}\"\nslow_start = \"{start}\"\n");
        }
        text
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mbps = |bps: u64| bps as f64 / 1e6;
        let (forward, reverse) = (mbps(self.rate), mbps(self.return_rate));
        let (rtt, jitter) = (self.rtt as f64 / 1e6, self.jitter as f64 / 1e6);
        write!(f, "{forward:.1}/{reverse:.2} Mbps, {rtt:.0} ms, queue {:.2} BDP, ", self.queue)?;
        write!(
            f,
            "jitter {jitter:.1} ms, {}ack {}",
            if self.frames { "frames, " } else { "" },
            self.ack
        )
    }
}
