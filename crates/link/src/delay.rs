//! Packets on the way.

use crate::Distribution;
use crate::model::DelayModel;
use crate::queue::Held;
use crate::random::Stream;
use crate::steer::{DelayLaw, Ends};
use crate::timeline::{Segment, Timeline};
use bentpipe_units::{Span, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Holds packets until they arrive.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine<P> {
    delay: Delay,
    air: Air<P>,
    /// When the next packet arrives.
    due: Time,
}

#[derive(Debug, Clone)]
enum Delay {
    Constant(Span),
    Jitter { base: Span, jitter: Span, distribution: Distribution, random: Stream },
    Schedule { timeline: Arc<Timeline>, delays: Arc<[Span]>, interpolate: bool, current: Segment },
    Steered(Ends),
}

/// Packets that keep their order need no sorting.
#[derive(Debug, Clone)]
enum Air<P> {
    InOrder { flights: VecDeque<Flight<P>>, last: Time },
    Sorted { flights: BinaryHeap<Reverse<Flight<P>>>, sequence: u64 },
}

#[derive(Debug, Clone)]
struct Flight<P> {
    due: Time,
    /// Breaks ties in the order of sending; unused where order is kept.
    sequence: u64,
    held: Held<P>,
}

impl<P> PartialEq for Flight<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<P> Eq for Flight<P> {}
impl<P> PartialOrd for Flight<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Flight<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.sequence).cmp(&(other.due, other.sequence))
    }
}

impl<P> DelayLine<P> {
    pub fn new(model: &DelayModel, random: impl FnOnce() -> Stream) -> Self {
        let (delay, in_order) = match model {
            DelayModel::Constant(delay) => (Delay::Constant(*delay), true),
            DelayModel::Jitter { base, jitter, distribution, keep_order } => {
                let (base, jitter, distribution) = (*base, *jitter, *distribution);
                (Delay::Jitter { base, jitter, distribution, random: random() }, *keep_order)
            }
            DelayModel::Schedule { timeline, delays, interpolate, keep_order } => {
                let schedule = Delay::Schedule {
                    current: timeline.segment(Time::ZERO),
                    timeline: Arc::clone(timeline),
                    delays: Arc::clone(delays),
                    interpolate: *interpolate,
                };
                (schedule, *keep_order)
            }
            DelayModel::Steered => (Delay::Steered(Ends::new()), true),
        };
        let air = if in_order { Air::in_order() } else { Air::sorted(VecDeque::new()) };
        Self { delay, air, due: Time::MAX }
    }

    /// How many ends a steered line has; none where it is not steered.
    #[inline]
    pub fn ends(&self) -> Option<usize> {
        match &self.delay {
            Delay::Steered(ends) => Some(ends.count()),
            _ => None,
        }
    }

    /// Sets the delay towards an end. False where the line is not steered.
    pub fn steer(&mut self, end: usize, law: DelayLaw) -> bool {
        let Delay::Steered(ends) = &mut self.delay else { return false };
        ends.steer(end, law);
        // Packets to one end keep their order; those to several come as they may.
        if ends.count() > 1
            && let Air::InOrder { flights, .. } = &mut self.air
        {
            self.air = Air::sorted(std::mem::take(flights));
        }
        true
    }

    /// When a packet that leaves a steered line's transmitter at `at` towards `port` will arrive, by all that is known now; [`Time::ZERO`] where nobody can know.
    #[inline]
    pub fn foresee(&self, port: u32, at: Time) -> Time {
        match &self.delay {
            Delay::Steered(ends) => ends.arrival(port, at),
            _ => Time::ZERO,
        }
    }

    /// Takes the packets on the way to `port` out.
    pub fn withdraw(&mut self, port: u32, mut taken: impl FnMut(Held<P>)) {
        let flights = match &mut self.air {
            Air::InOrder { flights, .. } => std::mem::take(flights).into(),
            Air::Sorted { flights, .. } => {
                let mut flights: Vec<_> = std::mem::take(flights).into_iter().map(|Reverse(flight)| flight).collect();
                flights.sort();
                flights
            }
        };
        for flight in flights {
            match &mut self.air {
                _ if flight.held.port == port => taken(flight.held),
                Air::InOrder { flights, .. } => flights.push_back(flight),
                Air::Sorted { flights, .. } => flights.push(Reverse(flight)),
            }
        }
        self.due = self.air.due();
    }

    /// Takes a packet that leaves the transmitter at `at`; packets come in the order of these times.
    pub fn send(&mut self, at: Time, held: Held<P>) {
        let mut due = match &mut self.delay {
            Delay::Steered(ends) => {
                let due = ends.arrival(held.port, at);
                ends.sent(held.port, due);
                due
            }
            delay => at + delay.draw(at),
        };
        match &mut self.air {
            Air::InOrder { flights, last } => {
                due = due.max(*last);
                *last = due;
                flights.push_back(Flight { due, sequence: 0, held });
            }
            Air::Sorted { flights, sequence } => {
                flights.push(Reverse(Flight { due, sequence: *sequence, held }));
                *sequence += 1;
            }
        }
        self.due = self.due.min(due);
    }

    /// When the next packet arrives; [`Time::MAX`] if none is on the way.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Packets on the way.
    pub fn held(&self) -> u64 {
        match &self.air {
            Air::InOrder { flights, .. } => flights.len() as u64,
            Air::Sorted { flights, .. } => flights.len() as u64,
        }
    }

    /// The packet that arrives next.
    pub fn arrive(&mut self) -> Option<Held<P>> {
        match &mut self.air {
            Air::InOrder { flights, .. } => {
                let flight = flights.pop_front();
                self.due = self.air.due();
                flight.map(|flight| flight.held)
            }
            Air::Sorted { flights, .. } => {
                let flight = flights.pop();
                self.due = self.air.due();
                flight.map(|flight| flight.0.held)
            }
        }
    }
}

impl<P> Air<P> {
    fn in_order() -> Self {
        Self::InOrder { flights: VecDeque::new(), last: Time::ZERO }
    }

    /// With `flights` that come in the order of their times.
    fn sorted(flights: VecDeque<Flight<P>>) -> Self {
        let sequence = flights.len() as u64;
        let flights = (0..).zip(flights).map(|(sequence, flight)| Reverse(Flight { sequence, ..flight })).collect();
        Self::Sorted { flights, sequence }
    }

    /// When the next one arrives.
    #[inline]
    fn due(&self) -> Time {
        match self {
            Self::InOrder { flights, .. } => flights.front().map_or(Time::MAX, |flight| flight.due),
            Self::Sorted { flights, .. } => flights.peek().map_or(Time::MAX, |flight| flight.0.due),
        }
    }
}

impl Delay {
    #[inline]
    fn draw(&mut self, at: Time) -> Span {
        match self {
            Self::Constant(delay) => *delay,
            // Ends have delays of their own.
            Self::Steered(_) => Span::ZERO,
            Self::Jitter { base, jitter, distribution, random } => {
                let deviation = match distribution {
                    Distribution::Uniform => 2.0 * random.unit() - 1.0,
                    Distribution::Normal => random.normal(),
                };
                // A cast of a negative number to an integer gives zero.
                Span::from_nanos((base.as_nanos() as f64 + deviation * jitter.as_nanos() as f64) as u64)
            }
            Self::Schedule { timeline, delays, interpolate, current } => {
                if !current.holds(at) {
                    *current = timeline.segment(at);
                }
                let delay = delays[current.index];
                let next = match delays.get(current.index + 1) {
                    Some(next) => *next,
                    None if timeline.repeat().is_some() => delays[0],
                    None => delay,
                };
                if *interpolate {
                    between(delay, next, at.since(current.from), current.to.since(current.from))
                } else {
                    delay
                }
            }
        }
    }
}

/// The point on the straight line from `a` to `b` after `passed` of `length`.
fn between(a: Span, b: Span, passed: Span, length: Span) -> Span {
    let part = |span: Span| {
        let nanos = u128::from(span.as_nanos()) * u128::from(passed.as_nanos()) / u128::from(length.as_nanos().max(1));
        Span::from_nanos(nanos as u64)
    };
    if b >= a { a + part(b - a) } else { a - part(a - b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_between_steps_is_straight_and_closes() {
        let timeline = Timeline::new([0, 10].into_iter().map(Span::from_secs), Some(Span::from_secs(20)));
        let mut delay = Delay::Schedule {
            current: timeline.segment(Time::ZERO),
            timeline: Arc::new(timeline),
            delays: Arc::new([Span::from_millis(10), Span::from_millis(30)]),
            interpolate: true,
        };
        for (secs, ms) in [(0, 10), (5, 20), (10, 30), (15, 20), (20, 10), (25, 20)] {
            assert_eq!(delay.draw(Time::from_secs(secs)), Span::from_millis(ms), "at {secs} s");
        }
    }
}
