//! A propagation delay over time.

use super::config::Distribution;
use crate::schedule::{Segment, Timeline};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// The propagation delay of a link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DelayModel {
    Constant(Span),
    Jitter {
        base: Span,
        jitter: Span,
        distribution: Distribution,
        keep_order: bool,
    },
    Schedule {
        timeline: Arc<Timeline>,
        /// Delay that sizes the path: the first or, of a recording, the median.
        base: Span,
        delays: Arc<[Span]>,
        /// Jitter of the steps, if one has some.
        jitter: Option<StepJitter>,
        interpolate: bool,
        keep_order: bool,
    },
    /// Set by the caller, for each port.
    External,
}

/// Jitter that changes with the steps of a delay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepJitter {
    /// That of each step.
    pub steps: Arc<[Span]>,
    pub distribution: Distribution,
}

/// Returns the shortest delay that can be drawn around `base`.
pub(crate) fn least_draw(base: Span, jitter: Span, distribution: Distribution) -> Span {
    match distribution {
        Distribution::Uniform => base.saturating_sub(jitter),
        Distribution::Normal if !jitter.is_zero() => Span::ZERO,
        Distribution::Normal | Distribution::Wifi => base,
    }
}

impl DelayModel {
    /// See [`DirectionModel::delay_at`](crate::DirectionModel::delay_at).
    pub fn at(&self, at: Time) -> Span {
        match self {
            Self::Constant(delay) => *delay,
            Self::Jitter { base, .. } => *base,
            Self::Schedule { timeline, delays, interpolate, .. } => {
                scheduled(timeline, delays, *interpolate, timeline.segment(at), at)
            }
            Self::External => Span::ZERO,
        }
    }

    /// Returns the times at which another step begins, up to `end`.
    pub fn changes(&self, end: Time) -> impl Iterator<Item = Time> {
        let timeline = match self {
            Self::Schedule { timeline, .. } => Some(timeline),
            Self::Constant(_) | Self::Jitter { .. } | Self::External => None,
        };
        timeline.into_iter().flat_map(move |timeline| timeline.changes(end))
    }

    /// Returns when the delay has followed each step once; zero if there are none.
    pub fn pattern(&self) -> Span {
        match self {
            Self::Schedule { timeline, .. } => timeline.pattern(),
            Self::Constant(_) | Self::Jitter { .. } | Self::External => Span::ZERO,
        }
    }
}

/// Returns the delay of a schedule at a time within the segment `current`.
pub(super) fn scheduled(
    timeline: &Timeline,
    delays: &[Span],
    interpolate: bool,
    current: Segment,
    at: Time,
) -> Span {
    let delay = delays[current.index];
    let next = match delays.get(current.index + 1) {
        Some(next) => *next,
        None if timeline.repeat().is_some() => delays[0],
        None => delay,
    };
    if interpolate {
        between(delay, next, at.since(current.from), current.to.since(current.from))
    } else {
        delay
    }
}

/// Interpolates linearly from `a` to `b` after `passed` of `length`.
fn between(a: Span, b: Span, passed: Span, length: Span) -> Span {
    let part = |span: Span| {
        let nanos = u128::from(span.as_nanos()) * u128::from(passed.as_nanos())
            / u128::from(length.as_nanos().max(1));
        Span::from_nanos(nanos as u64)
    };
    if b >= a { a + part(b - a) } else { a - part(a - b) }
}
