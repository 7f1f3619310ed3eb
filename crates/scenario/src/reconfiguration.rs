//! `[path.reconfiguration]`: how a path changes when terminals move to other satellites.

use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of a step of a ramp.
pub const RAMP_STEP: Span = Span::from_millis(100);
/// Most steps of a ramp.
const MAX_RAMP: usize = 50;
/// Longest drawn schedule.
const MAX_LENGTH: Span = Span::from_secs(3600);
/// Shortest period.
const MIN_PERIOD: Span = Span::from_secs(1);
/// Largest multiple of the base rate.
const MAX_FACTOR: f64 = 100.0;
/// Deviations beyond this many standard deviations are drawn as if they were this many.
pub const MAX_DEVIATION: f64 = 4.0;

/// Random changes of a path from one satellite to the next, at the same times in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconfiguration {
    /// Time between two changes; 15 s by default.
    #[serde(default = "fifteen_seconds")]
    pub period: Span,
    /// Time of the first change. By default, each run draws it within a period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Span>,
    /// Time of the changes after a whole UTC minute, modulo `period`: a run on the real clock
    /// begins when its first change falls on it. None by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Span>,
    /// Length of the drawn schedule, which then repeats; 10 min by default.
    #[serde(default = "ten_minutes")]
    pub length: Span,
    /// Smallest and largest rate, as multiples of the base rate; each change draws one for each
    /// direction. [1, 1] by default.
    #[serde(default = "as_it_is")]
    pub rate_factor: (f64, f64),
    /// Largest difference of an RTT from the base, drawn uniformly and independently; 0 s by
    /// default.
    #[serde(default)]
    pub rtt_step: Span,
    /// Levels of the RTT, correlated from one change to the next, instead of `rtt_step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<RttLevels>,
    /// Shortest and longest outage at a change; none by default.
    #[serde(default)]
    pub outage: (Span, Span),
    /// Probability that a change has an outage; 1 by default.
    #[serde(default = "always")]
    pub outage_probability: f64,
    /// Probability that an outage loses all packets; in the others, packets wait. 1 by default.
    #[serde(default = "always", skip_serializing_if = "is_always")]
    pub outage_loss: f64,
    /// Rate after each outage, as shares of the rate that follows.
    #[serde(default, skip_serializing_if = "Ramp::is_empty")]
    pub ramp: Ramp,
}

/// Levels of the RTT: base + spread · (exp(sigma · z) − 1), where z is normal and autoregressive:
/// the base is the median, and base − spread the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RttLevels {
    /// Distance of the base RTT from the minimum.
    pub spread: Span,
    /// Standard deviation of the logarithm.
    #[schemars(range(min = 0, max = 2))]
    pub sigma: f64,
    /// Correlation of z with that of the level before; 0 by default.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub correlation: f64,
}

/// Rate after an outage in steps of 100 ms, for each direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ramp {
    /// Shares of the rate towards the client; none by default.
    pub forward: Vec<f64>,
    /// Shares of the rate towards the server; none by default.
    #[serde(rename = "return")]
    pub reverse: Vec<f64>,
}

impl Ramp {
    fn is_empty(&self) -> bool {
        self.forward.is_empty() && self.reverse.is_empty()
    }
}

impl RttLevels {
    /// Returns the RTT's difference from the base in seconds, for a normal deviate `z`.
    pub fn difference(&self, z: f64) -> f64 {
        let z = z.clamp(-MAX_DEVIATION, MAX_DEVIATION);
        self.spread.as_secs_f64() * (libm::exp(self.sigma * z) - 1.0)
    }
}

impl Reconfiguration {
    /// Returns the largest difference of an RTT above the base.
    pub fn most_rtt(&self) -> Span {
        let most = |levels: RttLevels| Span::from_secs_f64(levels.difference(MAX_DEVIATION));
        self.rtt.map_or(self.rtt_step, most)
    }

    /// Returns the smallest share of the base rate above zero, and the largest.
    pub fn rate_range(&self) -> (f64, f64) {
        let shares = || self.ramp.forward.iter().chain(&self.ramp.reverse).copied();
        let (least, most) = self.rate_factor;
        (least * shares().fold(1.0, f64::min), most * shares().fold(1.0, f64::max))
    }

    /// Checks all values. The error says what is allowed.
    pub(crate) fn check(&self) -> Result<(), String> {
        let out = |key: &str, value: String, allowed: String| {
            Err(format!("`{key}` of {value} is out of range; allowed: {allowed}"))
        };
        let Self { period, length, first, rate_factor: (low, high), outage, .. } = self;
        let ramp = self.ramp.forward.len().max(self.ramp.reverse.len());
        let change = outage.1 + RAMP_STEP * ramp as u64;
        if *period < MIN_PERIOD {
            return out("period", period.to_string(), format!("{MIN_PERIOD} or more"));
        }
        if length < period || *length > MAX_LENGTH {
            return out("length", length.to_string(), format!("{period} to {MAX_LENGTH}"));
        }
        if let Some(first) = first.filter(|first| first >= length) {
            return out("first", first.to_string(), format!("below {length}"));
        }
        if let Some(phase) = self.phase.filter(|phase| phase >= period) {
            return out("phase", phase.to_string(), format!("below {period}"));
        }
        if self.phase.is_some() && !Span::from_secs(60).as_nanos().is_multiple_of(period.as_nanos())
        {
            return out("period", period.to_string(), "a part of a minute, as `phase` is".into());
        }
        if !(*low > 0.0 && low <= high && *high <= MAX_FACTOR) {
            let allowed = format!("two rising numbers above 0, up to {MAX_FACTOR}");
            return out("rate_factor", format!("[{low}, {high}]"), allowed);
        }
        if outage.0 > outage.1 {
            let value = format!("[{}, {}]", outage.0, outage.1);
            return out("outage", value, "the shortest, then the longest".to_owned());
        }
        if change >= *period {
            let value = format!("{} and a ramp of {ramp} steps", outage.1);
            return out("outage", value, format!("together less than the period of {period}"));
        }
        for (key, value) in
            [("outage_probability", self.outage_probability), ("outage_loss", self.outage_loss)]
        {
            if !(0.0..=1.0).contains(&value) {
                return out(key, value.to_string(), "0 to 1".to_owned());
            }
        }
        let mut shares = self.ramp.forward.iter().chain(&self.ramp.reverse);
        if let Some(share) = shares.find(|share| !(**share > 0.0 && **share <= MAX_FACTOR)) {
            return out("ramp", share.to_string(), format!("above 0, up to {MAX_FACTOR}"));
        }
        if ramp > MAX_RAMP {
            return out("ramp", format!("{ramp} steps"), format!("up to {MAX_RAMP}"));
        }
        match &self.rtt {
            Some(levels) if !(0.0..=2.0).contains(&levels.sigma) => {
                out("rtt.sigma", levels.sigma.to_string(), "0 to 2".to_owned())
            }
            Some(levels) if !(0.0..1.0).contains(&levels.correlation) => {
                let allowed = "0 to below 1".to_owned();
                out("rtt.correlation", levels.correlation.to_string(), allowed)
            }
            _ => Ok(()),
        }
    }
}

fn fifteen_seconds() -> Span {
    Span::from_secs(15)
}
fn ten_minutes() -> Span {
    Span::from_secs(600)
}
fn as_it_is() -> (f64, f64) {
    (1.0, 1.0)
}
fn always() -> f64 {
    1.0
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_always(value: &f64) -> bool {
    *value >= 1.0
}
