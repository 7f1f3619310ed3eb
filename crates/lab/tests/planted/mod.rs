//! Scenarios as users write them, each with one planted cause that makes the transfer slow, drawn
//! from a seed; and the same without that cause.

mod classic;
mod stacks;
mod waits;

use bentpipe_lab::Lab;
use bentpipe_link::random::{Stream, stream};
use bentpipe_results::Results;

/// Windows and buffers that never limit: of both stacks, and of TCP.
const OPEN: &str = "flow_control.stream_window = \"200 MB\"\n\
    flow_control.connection_window = \"200 MB\"\nflow_control.send_buffer = \"200 MB\"\n";
const OPEN_TCP: &str = "tcp.receive_autotune = false\ntcp.receive_buffer = \"200 MB\"\n";

/// A path and a stack.
struct Draw {
    random: Stream,
    mbps: f64,
    delay_ms: f64,
    quic: bool,
    /// False to remove the planted cause.
    planted: bool,
}

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random.unit()
    }

    /// Returns the value of the planted cause, or that without it.
    fn or(&self, planted: f64, plain: f64) -> f64 {
        if self.planted { planted } else { plain }
    }

    fn choice<'a>(&mut self, one: &'a str, other: &'a str) -> &'a str {
        if self.random.unit() < 0.5 { one } else { other }
    }

    /// Returns an allocation of capacity as a key of a link; nothing without the cause.
    fn allocated(&self, allocation: &str) -> String {
        if self.planted { format!(", capacity_allocation = {allocation}") } else { String::new() }
    }

    /// Makes the path at least this long, one way.
    fn at_least_ms(&mut self, least: f64) {
        self.delay_ms = self.delay_ms.max(least);
    }

    fn bytes(&self, seconds: f64) -> f64 {
        self.mbps * 1e6 / 8.0 * seconds
    }

    fn bdp(&self) -> f64 {
        self.bytes(2.0 * self.delay_ms / 1e3)
    }

    fn link(&self, more: &str) -> String {
        self.link_with("4 BDP", more)
    }

    fn link_with(&self, queue: &str, more: &str) -> String {
        let Self { mbps, delay_ms, .. } = self;
        format!(
            "{{ rate = \"{mbps:.3} Mbps\", delay = \"{delay_ms:.2} ms\", \
             queue = \"{queue}\"{more} }}"
        )
    }

    /// A rate of this schedule: `(seconds, share of the rate)`.
    fn schedule(&self, steps: &[(f64, f64)], repeat: &str) -> String {
        let steps: Vec<String> = steps
            .iter()
            .map(|(at, share)| {
                let rate = share * self.mbps * 1e3;
                format!("{{ at = \"{at:.3} s\", rate = \"{rate:.0} kbps\" }}")
            })
            .collect();
        format!(
            "{{ rate = {{ schedule = [{}]{repeat} }}, delay = \"{:.2} ms\", queue = \"4 BDP\" }}",
            steps.join(", "),
            self.delay_ms
        )
    }

    /// A download that takes this many seconds of the link's time, and 12 BDP at least.
    fn download(&self, seconds: f64) -> String {
        let bytes = self.bytes(seconds).max(12.0 * self.bdp());
        format!("[workload]\ndownload = \"{bytes:.0} B\"\n")
    }

    /// The stack, with more keys.
    fn stack(&self, more: &str) -> String {
        let transport = if self.quic { "quic" } else { "tcp" };
        format!("[defaults]\ntransport = \"{transport}\"\n{more}")
    }

    /// The stack with open windows.
    fn open(&self, more: &str) -> String {
        self.stack(&format!("{OPEN}{}{more}", if self.quic { "" } else { OPEN_TCP }))
    }

    /// A scenario of one path with this forward link and a plain return link.
    fn forward(&self, forward: &str, rest: &str) -> String {
        self.path(forward, &self.link(""), rest)
    }

    fn path(&self, forward: &str, reverse: &str, rest: &str) -> String {
        format!("[path]\nforward = {forward}\nreturn = {reverse}\n{rest}")
    }

    fn plain(&self, rest: &str) -> String {
        self.forward(&self.link(""), rest)
    }
}

/// A kind of scenario.
pub struct Kind {
    pub name: &'static str,
    /// The parts that may be named first, fixed before any run.
    pub parts: &'static [&'static str],
    /// What the words must say.
    pub words: &'static str,
    /// True if the scenario can be written without the cause.
    pub removable: bool,
    text: fn(&mut Draw) -> String,
}

const fn kind(
    name: &'static str,
    parts: &'static [&'static str],
    words: &'static str,
    removable: bool,
    text: fn(&mut Draw) -> String,
) -> Kind {
    Kind { name, parts, words, removable, text }
}

impl Kind {
    /// Returns scenario number `index` of this kind, with its cause if `planted`.
    pub fn scenario(&self, seed: u64, index: u64, planted: bool) -> String {
        let mut random = stream(seed, index, &format!("planted/{}", self.name));
        let mbps = 8.0 + 32.0 * random.unit();
        let delay_ms = 15.0 + 285.0 * random.unit();
        let quic = random.unit() < 0.5;
        let mut draw = Draw { random, mbps, delay_ms, quic, planted };
        format!(
            "name = \"drawn\"\ntime_limit = \"20 min\"\nseed = {}\n{}",
            index + 1,
            (self.text)(&mut draw)
        )
    }
}

/// Runs a scenario.
pub fn run(text: &str) -> Results {
    Lab::new().run(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns a number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns all kinds, or that which `BENTPIPE_KIND` names.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let only = std::env::var("BENTPIPE_KIND").ok();
    let all = classic::KINDS.iter().chain(waits::KINDS).chain(stacks::KINDS);
    all.filter(move |kind| only.as_ref().is_none_or(|only| only == kind.name))
}

const AFTER_LOSS: &[&str] =
    &["congestion_window_s", "loss_detection_s", "timeout_s", "lost_packets_s"];
