//! Schedules as functions of time.

use crate::ConfigError;
use bentpipe_units::{Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interval of time: `from` included, `to` excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Start.
    pub from: Span,
    /// End.
    pub to: Span,
}

/// One step of a rate schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Start of the step, since the start of the run or of the repetition.
    pub at: Span,
    /// Rate from then on; zero for an outage.
    pub rate: Rate,
}

/// One step of a delay schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// Start of the step, since the start of the run or of the repetition.
    pub at: Span,
    /// Delay from then on.
    pub delay: Span,
    /// Jitter from then on, as `jitter` of a delay without steps; 0 s by default.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Span,
}

/// Returns true for a step without jitter.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(jitter: &Span) -> bool {
    jitter.is_zero()
}

impl DelayStep {
    /// Creates a step without jitter.
    pub fn new(at: Span, delay: Span) -> Self {
        Self { at, delay, jitter: Span::ZERO }
    }
}

/// Number of steps that [`Timeline::time_in`] looks at one by one.
const MOST_STEPS: usize = 16;

/// Start times of a schedule's steps, the first at zero, and the period of repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeline {
    starts: Vec<Span>,
    repeat: Option<Span>,
}

/// One step as an interval of time: `from` included, `to` excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub index: usize,
    pub from: Time,
    pub to: Time,
}

impl Segment {
    pub fn holds(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }
}

impl Timeline {
    /// Creates a timeline from ascending start times, the first at zero, and a period beyond the
    /// last of them. The configuration has checked both.
    pub fn new(starts: impl Iterator<Item = Span>, repeat: Option<Span>) -> Self {
        Self { starts: starts.collect(), repeat }
    }

    /// Returns the start times of the steps.
    pub fn starts(&self) -> impl Iterator<Item = Span> {
        self.starts.iter().copied()
    }

    pub fn repeat(&self) -> Option<Span> {
        self.repeat
    }

    /// Returns when the last step begins: [`Time::MAX`] with repetition, `None` for a single step.
    pub fn last_change(&self) -> Option<Time> {
        let last = self.starts.last().filter(|start| !start.is_zero())?;
        Some(self.repeat.map_or(Time::ZERO + *last, |_| Time::MAX))
    }

    /// Returns the step in force at `at`. Without repetition the last one lasts forever.
    pub fn segment(&self, at: Time) -> Segment {
        let nanos = at.as_nanos();
        let cycle = self.repeat.map_or(0, |period| nanos - nanos % period.as_nanos());
        let within = Span::from_nanos(nanos - cycle);
        let index = self.starts.partition_point(|start| *start <= within).saturating_sub(1);
        let base = Time::from_nanos(cycle);
        let to = match self.starts.get(index + 1) {
            Some(next) => base + *next,
            None => self.repeat.map_or(Time::MAX, |period| base + period),
        };
        Segment { index, from: base + self.starts[index], to }
    }

    /// Returns the sum of `of(step, time in force)` over all steps from the start of the run to
    /// `until`. `of` must be proportional to the time.
    pub fn sum(&self, until: Time, of: impl Fn(usize, Span) -> u128) -> u128 {
        let nanos = until.as_nanos();
        let (whole, within) = match self.repeat {
            Some(period) => (nanos / period.as_nanos(), nanos % period.as_nanos()),
            None => (0, nanos),
        };
        let within = Span::from_nanos(within);
        let period: u128 =
            self.lengths().enumerate().map(|(index, length)| of(index, length)).sum();
        let ports = self.starts.iter().skip(1).copied().chain([Span::MAX]);
        let steps = self.starts.iter().zip(ports).enumerate();
        let rest: u128 = steps
            .map(|(index, (start, end))| of(index, end.min(within).saturating_sub(*start)))
            .sum();
        period * u128::from(whole) + rest
    }

    /// Returns the time from `begin` to `end` in those steps for which `is_counted` is true.
    pub fn time_in(&self, begin: Time, end: Time, is_counted: impl Fn(usize) -> bool) -> Span {
        // Most packets cross a step or two; one of a recording has thousands of them.
        let mut time = Span::ZERO;
        let mut at = begin;
        for _ in 0..MOST_STEPS {
            let segment = self.segment(at);
            let to = segment.to.min(end);
            if is_counted(segment.index) {
                time += to.since(at);
            }
            if to == end {
                return time;
            }
            at = to;
        }
        let nanos = |step: usize, span: Span| {
            if is_counted(step) { u128::from(span.as_nanos()) } else { 0 }
        };
        let nanos = self.sum(end, nanos).saturating_sub(self.sum(begin, nanos));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the times at which another step begins, up to `end`.
    pub fn changes(&self, end: Time) -> impl Iterator<Item = Time> {
        let after = |at: Time| Some(self.segment(at).to).filter(|next| *next < Time::MAX);
        let changes = std::iter::successors(after(Time::ZERO), move |at| after(*at));
        changes.take_while(move |at| *at <= end)
    }

    /// Returns the period of repetition, or the start of the last step.
    pub fn pattern(&self) -> Span {
        self.repeat.unwrap_or_else(|| self.starts.last().copied().unwrap_or_default())
    }

    /// Returns the length of each step. The last one ends with the period; without one its length
    /// is zero.
    pub fn lengths(&self) -> impl Iterator<Item = Span> {
        let end = self.repeat.unwrap_or_else(|| self.starts.last().copied().unwrap_or_default());
        let ports = self.starts.iter().skip(1).copied().chain([end]);
        self.starts.iter().zip(ports).map(|(start, end)| end.saturating_sub(*start))
    }
}

/// Checks that a schedule is not empty, starts at zero, is in ascending order, and does not repeat
/// before its last step starts.
pub(crate) fn check_starts(
    what: &str,
    starts: impl Iterator<Item = Span>,
    repeat: Option<Span>,
) -> Result<(), ConfigError> {
    let mut last: Option<Span> = None;
    for at in starts {
        match last {
            None if !at.is_zero() => {
                let allowed = "a first step at = \"0 s\"";
                return Err(ConfigError::refused(
                    format!("at = {at}"),
                    format!("is the first step of a {what} schedule"),
                    allowed,
                ));
            }
            Some(last) if at <= last => {
                let problem =
                    format!("does not come after the step before it in a {what} schedule");
                return Err(ConfigError::refused(
                    format!("at = {at}"),
                    problem,
                    format!("ascending times above {last}"),
                ));
            }
            _ => last = Some(at),
        }
    }
    let Some(last) = last else {
        return Err(ConfigError::refused(
            "schedule = []",
            format!("contains no {what}"),
            "at least one step",
        ));
    };
    match repeat {
        Some(period) if period <= last => {
            let problem = format!("ends before the last step of the {what} schedule starts");
            Err(ConfigError::refused(
                format!("repeat = {period}"),
                problem,
                format!("above {last}"),
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(repeat: Option<u64>) -> Timeline {
        Timeline::new([0, 2, 5].into_iter().map(Span::from_secs), repeat.map(Span::from_secs))
    }
    fn segment(index: usize, from: u64, to: Time) -> Segment {
        Segment { index, from: Time::from_secs(from), to }
    }

    #[test]
    fn a_step_starts_at_its_time_and_the_last_one_stays() {
        let line = timeline(None);
        assert_eq!(line.segment(Time::ZERO), segment(0, 0, Time::from_secs(2)));
        assert_eq!(line.segment(Time::from_secs(2)), segment(1, 2, Time::from_secs(5)));
        assert_eq!(line.segment(Time::from_secs(100)), segment(2, 5, Time::MAX));
    }

    #[test]
    fn a_schedule_repeats_with_its_period() {
        let line = timeline(Some(6));
        assert_eq!(line.segment(Time::from_millis(5_999)), segment(2, 5, Time::from_secs(6)));
        assert_eq!(line.segment(Time::from_secs(6)), segment(0, 6, Time::from_secs(8)));
        assert_eq!(line.segment(Time::from_secs(21)), segment(1, 20, Time::from_secs(23)));
        assert_eq!(
            line.lengths().map(|span| span.as_secs_f64()).collect::<Vec<_>>(),
            [2.0, 3.0, 1.0]
        );
    }
}
