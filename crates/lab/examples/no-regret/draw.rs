//! Draws random paths and converts them to scenarios.

use bentpipe_link::random::stream;

/// The populations that take turns.
pub const POPULATIONS: [&str; 4] = ["geo", "meo", "leo", "terrestrial"];
/// The population of all cases with `--wide`.
pub const WIDE: &str = "wide";

/// One path and its traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Number of the case.
    pub number: u64,
    /// Name of its population.
    pub population: &'static str,
    /// The keys of the table `path`.
    path: String,
    /// Size of the download.
    bytes: u64,
}

impl Case {
    /// Draws case `number` of the study with `seed`.
    pub fn draw(seed: u64, number: u64, wide: bool) -> Self {
        if wide { Self::draw_wide(seed, number) } else { Self::draw_in_turn(seed, number) }
    }

    /// Draws a case of one of the four populations.
    fn draw_in_turn(seed: u64, number: u64) -> Self {
        // Each value has its own random stream, so that a new value does not change the others.
        let unit = |what: &str| stream(seed, number, &format!("no-regret/{what}")).unit();
        let log =
            |what: &str, low: f64, high: f64| low * libm::exp(unit(what) * libm::log(high / low));
        let uniform = |what: &str, low: f64, high: f64| low + (high - low) * unit(what);
        let population = POPULATIONS[(number % 4) as usize];
        let (rtt_ms, rate, queue) = match population {
            "geo" => {
                (uniform("rtt", 500.0, 800.0), log("rate", 2e6, 250e6), log("queue", 0.1, 2.0))
            }
            "meo" => {
                (uniform("rtt", 120.0, 300.0), log("rate", 10e6, 300e6), log("queue", 0.1, 2.0))
            }
            "leo" => (0.0, 150e6, 0.0),
            _ => (log("rtt", 5.0, 120.0), log("rate", 5e6, 500e6), log("queue", 0.1, 3.0)),
        };
        let reverse = match population {
            "geo" => log("back", 0.5e6, 10e6),
            _ => rate * log("back", 0.1, 0.5),
        };
        let loss = if unit("lossy") < 0.3 { log("loss", 1e-5, 3e-2) } else { 0.0 };
        let path = if population == "leo" {
            "profile = \"leo\"".to_owned()
        } else {
            format!(
                "rtt = \"{rtt_ms:.1} ms\"\n\
                 forward = {{ rate = \"{rate:.0} bps\", queue = \"{queue:.3} BDP\", \
                 loss = {loss:.6} }}\n\
                 return = {{ rate = \"{reverse:.0} bps\", queue = \"1 BDP\" }}"
            )
        };
        // At most a minute at the full rate.
        let bytes = log("bytes", 50e3, 50e6).min(rate * 60.0 / 8.0) as u64;
        Self { number, population, path, bytes }
    }

    /// Draws a case of the population [`WIDE`], in which paths may also reorder or police packets.
    fn draw_wide(seed: u64, number: u64) -> Self {
        let unit = |what: &str| stream(seed, number, &format!("no-regret/wide/{what}")).unit();
        let log =
            |what: &str, low: f64, high: f64| low * libm::exp(unit(what) * libm::log(high / low));
        let (rtt_ms, rate) = (log("rtt", 20.0, 700.0), log("rate", 2e6, 300e6));
        let (queue, reverse) = (log("queue", 0.1, 2.0), rate * log("back", 0.02, 0.5));
        let loss = if unit("lossy") < 0.5 { log("loss", 1e-5, 3e-2) } else { 0.0 };
        // Four paths of ten have no more faults, the others late packets, a policer, or jitter that
        // keeps the order.
        let kind = unit("kind");
        let (late, jitter) = (kind < 0.2, (0.4..0.6).contains(&kind));
        let delay = if late || jitter {
            let most = (rtt_ms / 8.0).min(if late { 3.0 } else { 20.0 });
            format!(
                "{{ base = \"{:.2} ms\", jitter = \"{:.3} ms\", distribution = \"normal\", \
                 keep_order = {jitter} }}",
                rtt_ms / 2.0,
                log("jitter", 0.1, most)
            )
        } else {
            format!("\"{:.2} ms\"", rtt_ms / 2.0)
        };
        let policer = if (0.2..0.4).contains(&kind) {
            format!(
                ", policer = {{ rate = \"{:.0} bps\", burst = \"{:.0} kB\" }}",
                rate * log("policed", 0.3, 0.9),
                log("burst", 16.0, 1024.0)
            )
        } else {
            String::new()
        };
        let path = format!(
            "forward = {{ rate = \"{rate:.0} bps\", queue = \"{queue:.3} BDP\", \
             loss = {loss:.6}, delay = {delay}{policer} }}\n\
             return = {{ rate = \"{reverse:.0} bps\", queue = \"1 BDP\", delay = \"{:.2} ms\" }}",
            rtt_ms / 2.0
        );
        let bytes = log("bytes", 50e3, 50e6).min(rate * 60.0 / 8.0) as u64;
        Self { number, population: WIDE, path, bytes }
    }

    /// Returns the scenario: variant `standard`, then `auto`, then `with`.
    pub fn scenario(&self, repeat: u64) -> String {
        let Self { number, population, path, bytes } = self;
        format!(
            r#"name = "no-regret-{number}"
title = "Case {number}, {population}"
seed = {number}
repeat = {repeat}
time_limit = "60 min"

[path]
{path}

[workload]
download = "{bytes} B"
start_jitter = "15 s"

[defaults]
visit = "repeat"

[output]
time_series = "none"

[[variant]]
name = "standard"
slow_start = "standard"
resume = "none"
handshake = "1rtt"

[[variant]]
name = "auto"
slow_start = "auto"
resume = "none"
handshake = "1rtt"

[[variant]]
name = "with"
slow_start = "auto"
resume = "careful"
handshake = "0rtt"
"#
        )
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.replace('\n', ", ").replace('"', "");
        write!(f, "case {}, {}, {} bytes, {path}", self.number, self.population, self.bytes)
    }
}
