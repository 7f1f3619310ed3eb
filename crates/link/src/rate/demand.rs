//! A rate that grows while packets wait, and falls when they no longer do.

use super::sent::sent;
use crate::ConfigError;
use crate::schedule::Timeline;
use bentpipe_units::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A rate that grows on demand: from `base` to `ceiling` while packets wait, and back when they no
/// longer do.
///
/// This models networks, such as Starlink, that give a terminal more capacity only if it fills what
/// it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandConfig {
    /// Rate without demand, above zero.
    pub base: Rate,
    /// Highest rate, at least `base`.
    pub ceiling: Rate,
    /// Time in which the rate grows from `base` to `ceiling`, linearly. Default: "400 ms".
    #[serde(default = "millis_400")]
    pub rise: Span,
    /// The rate grows while the queue takes at least this long to send. Default: "5 ms".
    #[serde(default = "millis_5")]
    pub pressure: Span,
    /// Time that the rate stays once the queue is shorter. Default: "0 s".
    #[serde(default)]
    pub hold: Span,
    /// Time in which the rate then falls from `ceiling` to `base`, linearly. Default: "400 ms".
    #[serde(default = "millis_400")]
    pub fall: Span,
    /// Times at which the rate falls to `base` at once. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resets: Vec<Reset>,
    /// Period in which `resets` repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
}

/// A fall to the base rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Time since the start of the run or of the repetition.
    pub at: Span,
    /// Time from then on in which the rate is zero, before it is `base`. Default: "0 s".
    #[serde(default)]
    pub outage: Span,
}

fn millis_400() -> Span {
    Span::from_millis(400)
}
fn millis_5() -> Span {
    Span::from_millis(5)
}

/// Longest `rise`, `hold`, `fall` and `pressure`.
const MAX_TIME: Span = Span::from_secs(60);

impl DemandConfig {
    /// Checks all values.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { base, ceiling, .. } = self;
        if base.is_zero() {
            let value = format!("base = {base}");
            return Err(ConfigError::refused(value, "never sends anything", "a rate above zero"));
        }
        if ceiling < base {
            let value = format!("ceiling = {ceiling}");
            let problem = format!("is below the base of {base}");
            return Err(ConfigError::refused(value, problem, format!("{base} or more")));
        }
        for (key, span, may_be_zero) in [
            ("rise", self.rise, false),
            ("fall", self.fall, false),
            ("pressure", self.pressure, true),
            ("hold", self.hold, true),
        ] {
            if span > MAX_TIME || (span.is_zero() && !may_be_zero) {
                let least = if may_be_zero { "0 s" } else { "above 0 s," };
                let allowed = format!("{least} to {MAX_TIME}");
                let value = format!("{key} = {span}");
                return Err(ConfigError::refused(value, "is out of range", allowed));
            }
        }
        self.check_resets()
    }

    fn check_resets(&self) -> Result<(), ConfigError> {
        let mut free = Span::ZERO;
        for Reset { at, outage } in &self.resets {
            if *at < free {
                let problem = "does not come after the reset before it and its outage";
                let allowed = format!("ascending times, here from {free}");
                return Err(ConfigError::refused(format!("at = {at}"), problem, allowed));
            }
            // No two at one time.
            free = *at + (*outage).max(Span::from_nanos(1));
        }
        match self.repeat {
            Some(repeat) if self.resets.is_empty() || repeat <= free => {
                let problem = "has no time after the last of `resets`";
                let allowed = format!("above {free}, with `resets`");
                Err(ConfigError::refused(format!("repeat = {repeat}"), problem, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Returns the model of a checked configuration.
    pub(crate) fn model(&self) -> Demand {
        let mut steps = vec![(Span::ZERO, true)];
        for Reset { at, outage } in &self.resets {
            // A step that this one replaces at once would have length zero.
            if steps.last().is_some_and(|(start, _)| start == at) {
                steps.pop();
            }
            if !outage.is_zero() {
                steps.push((*at, false));
            }
            steps.push((*at + *outage, true));
        }
        let timeline = Timeline::new(steps.iter().map(|(at, _)| *at), self.repeat);
        let open = timeline.lengths().zip(&steps).filter(|(_, (_, is_open))| *is_open);
        let open = open.fold(Span::ZERO, |sum, (length, _)| sum + length);
        Demand {
            base: self.base,
            ceiling: self.ceiling,
            rise: self.rise,
            pressure: self.pressure,
            hold: self.hold,
            fall: self.fall,
            period: self.repeat.map(|period| (period, sent(self.base, open))),
            timeline,
            is_open: steps.iter().map(|(_, is_open)| *is_open).collect(),
        }
    }
}

/// A checked [`DemandConfig`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Demand {
    pub base: Rate,
    pub ceiling: Rate,
    pub rise: Span,
    pub pressure: Span,
    pub hold: Span,
    pub fall: Span,
    /// Steps between which the rate falls to `base`.
    pub timeline: Timeline,
    /// Period of the timeline, and what a packet that began before it sends in one, in units of
    /// 10⁻⁹ bits: each step begins at the base.
    pub period: Option<(Span, u128)>,
    /// For each step: false if its rate is zero.
    pub is_open: Arc<[bool]>,
}

impl Demand {
    /// Returns the highest rate possible at `at`.
    pub fn most_at(&self, at: Time) -> Rate {
        if self.is_open[self.timeline.segment(at).index] { self.ceiling } else { Rate::ZERO }
    }

    /// Returns true if the rate is zero at times.
    pub fn has_outages(&self) -> bool {
        self.is_open.contains(&false)
    }

    /// Returns the time at rate zero from `begin` to `end`.
    pub fn outage(&self, begin: Time, end: Time) -> Span {
        if !self.has_outages() {
            return Span::ZERO;
        }
        self.timeline.time_in(begin, end, |step| !self.is_open[step])
    }
}
