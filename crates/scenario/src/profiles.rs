//! Built-in paths, from `profiles.toml`.

pub use crate::reconfiguration::{Ramp, Reconfiguration, RttLevels};
use bentpipe_link::disciplines::QueueDiscipline;
use bentpipe_link::{
    DelayConfig, DirectionConfig, FadeConfig, FadeRecording, QueueLimit, RateConfig,
};
use bentpipe_results::Direction;
use bentpipe_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A built-in path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name in scenarios.
    pub name: String,
    /// Title in reports, one line.
    pub title: String,
    /// Source of the figures.
    pub source: String,
    /// Peculiarities and assumptions.
    pub note: String,
    /// Direction from the server to the client.
    pub forward: DirectionConfig,
    /// Direction from the client to the server.
    #[serde(rename = "return")]
    pub reverse: DirectionConfig,
    /// Target transfer times of the source.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// Random changes of the path, drawn for each run.
    pub reconfiguration: Option<Reconfiguration>,
}

/// A target transfer time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Direction of the transfer.
    pub direction: Direction,
    /// Size of the transfer.
    pub size: Bytes,
    /// Maximum transfer time in seconds.
    pub seconds: f64,
}

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        profile: Vec<Profile>,
    }
    // The file is part of the program. A test verifies that it parses.
    toml::from_str::<File>(include_str!("profiles.toml"))
        .map(|file| file.profile)
        .unwrap_or_default()
});

/// Returns all built-in paths, in the order in which they are listed.
pub fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// Returns the built-in path called `name`.
pub fn profile(name: &str) -> Option<&'static Profile> {
    profiles().iter().find(|profile| profile.name == name)
}

impl Profile {
    /// Returns the RTT of the idle path.
    pub fn rtt(&self) -> Span {
        idle_delay(&self.forward) + idle_delay(&self.reverse)
    }

    /// Returns the bandwidth-delay product of the forward direction.
    pub fn bdp(&self) -> Bytes {
        highest_rate(&self.forward.rate).unwrap_or_default().bytes_in(self.rtt())
    }
}

/// Returns the mean time that a packet takes over an idle direction, without transmission.
///
/// It is the delay (the middle of jitter, the first of a schedule, zero for a recording: a file)
/// plus half a frame, the mean wait for the next frame boundary. With capacity allocation, the
/// figure assumes capacity that is already allocated and excludes the time of a request.
pub fn idle_delay(direction: &DirectionConfig) -> Span {
    let delay = match &direction.delay {
        DelayConfig::Constant(delay) | DelayConfig::Jitter { base: delay, .. } => *delay,
        DelayConfig::Schedule { schedule, .. } => {
            schedule.first().map(|step| step.delay).unwrap_or_default()
        }
        DelayConfig::Recording(_) => Span::ZERO,
    };
    let frame = direction.allocation.dama().map(|dama| dama.frame).or(direction.frame);
    delay + frame.unwrap_or_default() / 2
}

/// Returns the rate, or the highest rate of a schedule; `None` for a trace or a recording: files.
pub fn highest_rate(rate: &RateConfig) -> Option<Rate> {
    rate.highest()
}

/// Describes a direction in one line: `50 Mbps, 325 ms, queue 1 BDP`.
pub fn describe(direction: &DirectionConfig) -> String {
    let delay = match &direction.delay {
        DelayConfig::Constant(delay) => delay.to_string(),
        DelayConfig::Jitter { base, jitter, .. } => format!("{base} ± {jitter}"),
        DelayConfig::Schedule { schedule, .. } => format!("delay in {} steps", schedule.len()),
        DelayConfig::Recording(delay) => format!("delay from {}", delay.file.display()),
    };
    let (rate, rest) = around_delay(direction);
    format!("{rate}, {delay}, {rest}")
}

/// Describes a direction without its delay, for links whose positions determine it.
pub fn describe_without_delay(direction: &DirectionConfig) -> String {
    let (rate, rest) = around_delay(direction);
    format!("{rate}, {rest}")
}

fn around_delay(direction: &DirectionConfig) -> (String, String) {
    let rate = match &direction.rate {
        RateConfig::Constant(rate) => rate.to_string(),
        RateConfig::Schedule { schedule, .. } => match schedule.as_slice() {
            [first, second] => format!("{}, then {} from {}", first.rate, second.rate, second.at),
            steps => format!("rate in {} steps", steps.len()),
        },
        RateConfig::Acm(acm) => match &acm.fade {
            FadeConfig::Recording(FadeRecording { recording }) => {
                format!("adaptive coding of {} over {}", acm.symbol_rate, recording.display())
            }
            FadeConfig::Points(_) | FadeConfig::Event(_) => {
                let highest = highest_rate(&direction.rate).unwrap_or_default();
                format!("{highest} in clear sky, adaptive coding of {}", acm.symbol_rate)
            }
        },
        RateConfig::Demand(demand) => {
            format!("{}, on demand up to {}", demand.base, demand.ceiling)
        }
        RateConfig::Trace { file } | RateConfig::Recording { file, .. } => {
            format!("rate from {}", file.display())
        }
    };
    let mut text = format!("queue {}", direction.queue.limit);
    if !matches!(direction.queue.discipline, QueueDiscipline::DropTail(_)) {
        text.push_str(&format!(", {}", direction.queue.discipline.name()));
    }
    if !direction.policer.is_none() {
        text.push_str(&format!(", policed to {}", direction.policer));
    }
    if !direction.flow_meter.is_none() {
        text.push_str(&format!(", flows metered to {}", direction.flow_meter));
    }
    if !direction.loss.processes.is_empty() {
        text.push_str(", loss ");
        text.push_str(&describe_loss(&direction.loss));
    }
    if let Some(frame) = direction.frame {
        text.push_str(&format!(", frames of {frame}"));
    }
    if !direction.allocation.is_none() {
        text.push_str(&format!(", allocated in {}", direction.allocation));
    }
    (rate, text)
}

/// Describes the loss as in a scenario, with plain ratios as percentages.
fn describe_loss(loss: &bentpipe_link::LossConfig) -> String {
    match toml::Value::try_from(loss) {
        // Rounded, because 0.017 times 100 is not exactly 1.7.
        Ok(toml::Value::Float(ratio)) => format!("{} %", (ratio * 1e8).round() / 1e6),
        Ok(toml::Value::String(name)) => name,
        Ok(toml::Value::Table(table)) => {
            table.get("model").and_then(toml::Value::as_str).unwrap_or("process").to_owned()
        }
        _ => format!("of {} processes", loss.processes.len()),
    }
}

/// Returns the capacity in bytes of a queue of `limit` on a link of `rate` on a path of `rtt`.
pub fn queue_bytes(limit: QueueLimit, rate: Rate, rtt: Span, mtu: Bytes) -> Bytes {
    match limit {
        QueueLimit::Bdp(factor) => rate.bytes_in(rtt).mul_f64(factor),
        QueueLimit::Bytes(bytes) => bytes,
        QueueLimit::Packets(packets) => Bytes::new(mtu.get().saturating_mul(packets)),
        QueueLimit::Time(span) => rate.bytes_in(span),
        QueueLimit::Cake(interval) => QueueLimit::of_cake(rate, interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_a_source_and_a_row_in_the_book() {
        // The rows of the first table of the page.
        let page = include_str!("../../../docs/src/reference/profiles.md");
        let rows = page.lines().skip_while(|line| !line.starts_with("| name |")).skip(2);
        let rows = rows.map_while(|line| line.strip_prefix("| `")?.split('`').next());
        let rows: Vec<&str> = rows.collect();
        let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(names, rows, "docs/src/reference/profiles.md has a row for each, in order");
        for profile in profiles() {
            assert!(!profile.source.is_empty() && !profile.note.is_empty(), "{}", profile.name);
            assert!(
                profile.forward.check().is_ok() && profile.reverse.check().is_ok(),
                "{}",
                profile.name
            );
            let change = profile.reconfiguration.as_ref();
            assert_eq!(change.map_or(Ok(()), Reconfiguration::check), Ok(()), "{}", profile.name);
        }
    }

    #[test]
    fn bandwidth_delay_products_match_the_specification() {
        // specs/satellite-link.md §3: 813 kB, 4.06 MB, 20.3 MB, 1.5 MB, 669 kB.
        for (name, bdp) in [
            ("geo-10-2", 812_500),
            ("geo-50-10", 4_062_500),
            ("geo-50-variable", 4_062_500),
            ("geo-250-3", 20_312_500),
            ("fau-sat", 1_500_000),
            ("hylas", 669_375),
        ] {
            assert_eq!(profile(name).map(Profile::bdp), Some(Bytes::new(bdp)), "{name}");
        }
    }

    #[test]
    fn a_direction_is_described_in_one_line() {
        let lossy = profile("fau-satloss").unwrap();
        assert_eq!(describe(&lossy.forward), "20 Mbps, 300 ms, queue 25 packets, loss 1 %");
        let variable = profile("geo-50-variable").unwrap();
        assert_eq!(
            describe(&variable.forward),
            "50 Mbps, then 10 Mbps from 5 s, 325 ms, queue 1 BDP"
        );
    }
}
