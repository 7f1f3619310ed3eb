//! Draws paths, and writes each as a scenario.

use bentpipe_link::random::stream;
use std::fmt::Write;

/// Sizes of the downloads, bytes.
pub const SIZES: [u64; 5] = [100_000, 1_000_000, 2_000_000, 10_000_000, 100_000_000];
/// The variants, in the scenario's order.
pub const SLOW_STARTS: [&str; 2] = ["standard", "auto"];
/// Virtual seconds after which a download is given up.
pub const LIMIT_S: u64 = 120;

/// One path, and how it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Number of the case.
    pub number: u64,
    /// Seed of the study.
    pub study: u64,
    /// Forward rate, bits per second.
    pub rate: u64,
    /// Return rate, bits per second.
    pub back: u64,
    /// Round trip without frames, nanoseconds.
    pub rtt: u64,
    /// Queue of the forward direction in bandwidth-delay products.
    pub queue: f64,
    /// Whether there are frames of 10 ms forward and 26.5 ms on the return.
    pub frames: bool,
    /// Jitter of each direction either way, nanoseconds.
    pub jitter: u64,
    /// What the sender asks for acknowledgements.
    pub ack: &'static str,
}

impl Case {
    /// The case of that number in the study of that seed.
    pub fn draw(study: u64, number: u64) -> Self {
        // A stream for each thing drawn: a new one leaves the others as they are.
        let unit = |what: &str| stream(study, number, &format!("random-paths/{what}")).unit();
        let log =
            |what: &str, low: f64, high: f64| low * libm::exp(unit(what) * libm::log(high / low));
        let even = |what: &str, low: f64, high: f64| low + (high - low) * unit(what);
        let rtt_ms =
            if unit("short") < 0.2 { log("rtt", 20.0, 100.0) } else { even("rtt", 150.0, 800.0) };
        Self {
            number,
            study,
            rate: log("rate", 5e6, 300e6) as u64,
            back: log("back", 0.5e6, 10e6) as u64,
            rtt: (rtt_ms * 1e6) as u64,
            queue: libm::round(log("queue", 0.05, 2.0) * 1e4) / 1e4,
            frames: unit("frames") < 0.5,
            jitter: even("jitter", 0.0, 5e6) as u64,
            ack: if unit("ack") < 0.5 { "stack" } else { "1:10" },
        }
    }

    /// Whether the link alone would keep a download of `bytes` beyond the limit: then it is not run.
    pub fn is_too_slow_for(&self, bytes: u64) -> bool {
        bytes * 8 / self.rate >= LIMIT_S
    }

    /// The scenario: every size that is run, with both starts.
    pub fn scenario(&self) -> String {
        let Self { number, study, rate, back, rtt, queue, frames, jitter, ack } = self;
        let delay = format!("{{ base = \"{} ns\", jitter = \"{jitter} ns\" }}", rtt / 2);
        let frame =
            |length: &str| if *frames { format!(", frame = \"{length}\"") } else { String::new() };
        let sizes = SIZES.iter().filter(|bytes| !self.is_too_slow_for(**bytes));
        let sizes: Vec<String> = sizes.map(|bytes| format!("\"{bytes} B\"")).collect();
        let (forward_frame, back_frame) = (frame("10 ms"), frame("26.5 ms"));
        let sizes = sizes.join(", ");
        let mut text = format!(
            r#"name = "random-path-{study}-{number}"
title = "Case {number} of the study of random paths with seed {study}"
seed = {number}
time_limit = "{LIMIT_S} s"

[path]
forward = {{ rate = "{rate} bps", delay = {delay}, queue = "{queue} BDP"{forward_frame} }}
return = {{ rate = "{back} bps", delay = {delay}{back_frame} }}

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
        let (forward, back) = (mbps(self.rate), mbps(self.back));
        let (rtt, jitter) = (self.rtt as f64 / 1e6, self.jitter as f64 / 1e6);
        write!(f, "{forward:.1}/{back:.2} Mbps, {rtt:.0} ms, queue {:.2} BDP, ", self.queue)?;
        write!(
            f,
            "jitter {jitter:.1} ms, {}ack {}",
            if self.frames { "frames, " } else { "" },
            self.ack
        )
    }
}
