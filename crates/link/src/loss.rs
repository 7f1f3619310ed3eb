//! Losing packets.

use crate::Window;
use crate::config::Bursts;
use crate::model::{LossKind, LossProcessModel};
use crate::random::Stream;
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// A loss process at work on one link.
#[derive(Debug, Clone)]
pub(crate) struct LossProcess {
    chain: Chain,
    random: Stream,
    windows: Arc<[Window]>,
    repeat: Option<Span>,
}

#[derive(Debug, Clone)]
enum Chain {
    Bernoulli { ratio: f64 },
    GilbertElliott { p: f64, r: f64, good: f64, bad: f64, is_bad: bool },
    Bursts { bursts: Bursts, state: State },
    Periodic { every: u64, next: u64 },
    Trace { lost: Arc<[bool]>, next: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Short,
    Long,
}

impl LossProcess {
    /// Begins in a state drawn from the long-run distribution, so that the first packets are like all others.
    pub fn new(model: &LossProcessModel, mut random: Stream) -> Self {
        let chain = match &model.kind {
            LossKind::Bernoulli { ratio } => Chain::Bernoulli { ratio: *ratio },
            LossKind::GilbertElliott { p, r, good, bad } => {
                let is_bad = random.chance(p / (p + r));
                Chain::GilbertElliott { p: *p, r: *r, good: *good, bad: *bad, is_bad }
            }
            LossKind::Bursts(bursts) => Chain::Bursts { bursts: *bursts, state: bursts.draw_state(&mut random) },
            LossKind::Periodic { every, offset } => Chain::Periodic { every: *every, next: *offset },
            LossKind::Trace(lost) => Chain::Trace { lost: Arc::clone(lost), next: 0 },
        };
        Self { chain, random, windows: Arc::clone(&model.windows), repeat: model.repeat }
    }

    /// Decides on the next packet, which leaves the transmitter at `at`.
    #[inline]
    pub fn loses(&mut self, at: Time) -> bool {
        (self.windows.is_empty() || self.is_active(at)) && self.step()
    }

    fn is_active(&self, at: Time) -> bool {
        let mut within = at.since_start();
        if let Some(period) = self.repeat {
            within = Span::from_nanos(within.as_nanos() % period.as_nanos());
        }
        let after = self.windows.partition_point(|window| window.from <= within);
        after > 0 && within < self.windows[after - 1].to
    }

    #[inline]
    fn step(&mut self) -> bool {
        let random = &mut self.random;
        match &mut self.chain {
            Chain::Bernoulli { ratio } => random.chance(*ratio),
            Chain::GilbertElliott { p, r, good, bad, is_bad } => {
                *is_bad = if *is_bad { !random.chance(*r) } else { random.chance(*p) };
                random.chance(if *is_bad { *bad } else { *good })
            }
            Chain::Bursts { bursts, state } => {
                *state = bursts.next(*state, random.unit());
                *state != State::Good
            }
            Chain::Periodic { every, next } => {
                let lost = *next == 0;
                *next = if lost { *every - 1 } else { *next - 1 };
                lost
            }
            Chain::Trace { lost, next } => {
                let fate = lost[*next];
                *next = if *next + 1 == lost.len() { 0 } else { *next + 1 };
                fate
            }
        }
    }
}

impl Bursts {
    fn next(&self, state: State, draw: f64) -> State {
        match state {
            State::Good if draw < self.p * self.long_share => State::Long,
            State::Good if draw < self.p => State::Short,
            State::Short if draw >= self.end_short => State::Short,
            State::Long if draw >= self.end_long => State::Long,
            State::Good | State::Short | State::Long => State::Good,
        }
    }

    fn draw_state(&self, random: &mut Stream) -> State {
        // Packets per good one, in the long run.
        let short = self.p * (1.0 - self.long_share) / self.end_short;
        let long = self.p * self.long_share / self.end_long;
        let draw = random.unit() * (1.0 + short + long);
        if draw < long {
            State::Long
        } else if draw < long + short {
            State::Short
        } else {
            State::Good
        }
    }
}
