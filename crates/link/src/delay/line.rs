//! Packets in propagation.

use crate::Distribution;
use crate::delay::external::PortDelays;
use crate::delay::model::{DelayModel, StepJitter, scheduled};
use crate::delay::wifi;
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use crate::schedule::{Segment, Timeline};
use bentpipe_units::{LinearDelay, Span, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Delays packets by the propagation delay.
#[derive(Debug, Clone)]
pub(crate) struct DelayLine<P> {
    delay: Delay,
    air: InTransit<P>,
    /// Arrival of the next packet.
    due: Time,
}

#[derive(Debug, Clone)]
enum Delay {
    Constant(Span),
    Jitter {
        base: Span,
        jitter: Span,
        distribution: Distribution,
        random: Stream,
    },
    Schedule {
        timeline: Arc<Timeline>,
        delays: Arc<[Span]>,
        /// Jitter of the steps, and its draws.
        jitter: Option<(StepJitter, Stream)>,
        interpolate: bool,
        current: Segment,
    },
    External(PortDelays),
}

/// Packets in the order of arrival. They need no sorting if they never overtake.
#[derive(Debug, Clone)]
enum InTransit<P> {
    InOrder { packets: VecDeque<TransitPacket<P>>, last: Time },
    Sorted { packets: BinaryHeap<Reverse<TransitPacket<P>>>, sequence: u64 },
}

#[derive(Debug, Clone)]
struct TransitPacket<P> {
    due: Time,
    /// Breaks ties by the order of sending. Unused if packets never overtake.
    sequence: u64,
    held: Accepted<P>,
}

impl<P> PartialEq for TransitPacket<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<P> Eq for TransitPacket<P> {}
impl<P> PartialOrd for TransitPacket<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for TransitPacket<P> {
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
            DelayModel::Schedule { timeline, delays, jitter, interpolate, keep_order, .. } => {
                let schedule = Delay::Schedule {
                    current: timeline.segment(Time::ZERO),
                    timeline: Arc::clone(timeline),
                    delays: Arc::clone(delays),
                    jitter: jitter.clone().map(|jitter| (jitter, random())),
                    interpolate: *interpolate,
                };
                (schedule, *keep_order)
            }
            DelayModel::External => (Delay::External(PortDelays::new()), true),
        };
        let air = if in_order { InTransit::in_order() } else { InTransit::sorted(VecDeque::new()) };
        Self { delay, air, due: Time::MAX }
    }

    /// Returns the number of ports if delays are set from outside; `None` otherwise.
    #[inline]
    pub fn ports(&self) -> Option<usize> {
        match &self.delay {
            Delay::External(ports) => Some(ports.count()),
            _ => None,
        }
    }

    /// Sets the delay towards a port. Returns false if the link has a delay of its own.
    pub fn set_delay(&mut self, end: usize, delay: LinearDelay) -> bool {
        let Delay::External(ports) = &mut self.delay else { return false };
        ports.set_delay(end, delay);
        // Packets to one port never overtake; packets to different ports may.
        if ports.count() > 1
            && let InTransit::InOrder { packets, .. } = &mut self.air
        {
            self.air = InTransit::sorted(std::mem::take(packets));
        }
        true
    }

    /// Returns the currently known arrival time of a packet that leaves the transmitter at `at`
    /// towards `port`. [`Time::ZERO`] if it is unknown.
    #[inline]
    pub fn predicted_arrival(&self, port: u32, at: Time) -> Time {
        match &self.delay {
            Delay::External(ports) => ports.arrival(port, at),
            _ => Time::ZERO,
        }
    }

    /// Removes the packets in propagation towards `port`.
    pub fn withdraw(&mut self, port: u32, mut taken: impl FnMut(Accepted<P>)) {
        let packets = match &mut self.air {
            InTransit::InOrder { packets, .. } => std::mem::take(packets).into(),
            InTransit::Sorted { packets, .. } => {
                let mut packets: Vec<_> =
                    std::mem::take(packets).into_iter().map(|Reverse(transit)| transit).collect();
                packets.sort();
                packets
            }
        };
        for transit in packets {
            match &mut self.air {
                _ if transit.held.port == port => taken(transit.held),
                InTransit::InOrder { packets, .. } => packets.push_back(transit),
                InTransit::Sorted { packets, .. } => packets.push(Reverse(transit)),
            }
        }
        self.due = self.air.due();
    }

    /// Accepts a packet that leaves the transmitter at `at`. Packets come in the order of these
    /// times.
    #[inline(always)]
    pub fn send(&mut self, at: Time, held: Accepted<P>) {
        let mut due = match &mut self.delay {
            Delay::External(ports) => {
                let due = ports.arrival(held.port, at);
                ports.sent(held.port, due);
                due
            }
            delay => at + delay.draw(at),
        };
        match &mut self.air {
            InTransit::InOrder { packets, last } => {
                due = due.max(*last);
                *last = due;
                packets.push_back(TransitPacket { due, sequence: 0, held });
            }
            InTransit::Sorted { packets, sequence } => {
                packets.push(Reverse(TransitPacket { due, sequence: *sequence, held }));
                *sequence += 1;
            }
        }
        self.due = self.due.min(due);
    }

    /// Returns the arrival of the next packet, [`Time::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns the number of packets in propagation.
    pub fn held(&self) -> u64 {
        match &self.air {
            InTransit::InOrder { packets, .. } => packets.len() as u64,
            InTransit::Sorted { packets, .. } => packets.len() as u64,
        }
    }

    /// Removes and returns the packet that arrives next.
    pub fn arrive(&mut self) -> Option<Accepted<P>> {
        match &mut self.air {
            InTransit::InOrder { packets, .. } => {
                let transit = packets.pop_front();
                self.due = self.air.due();
                transit.map(|transit| transit.held)
            }
            InTransit::Sorted { packets, .. } => {
                let transit = packets.pop();
                self.due = self.air.due();
                transit.map(|transit| transit.0.held)
            }
        }
    }
}

impl<P> InTransit<P> {
    fn in_order() -> Self {
        Self::InOrder { packets: VecDeque::new(), last: Time::ZERO }
    }

    /// Creates a value from packets in the order of arrival.
    fn sorted(packets: VecDeque<TransitPacket<P>>) -> Self {
        let sequence = packets.len() as u64;
        let packets = (0..)
            .zip(packets)
            .map(|(sequence, transit)| Reverse(TransitPacket { sequence, ..transit }))
            .collect();
        Self::Sorted { packets, sequence }
    }

    /// Returns the next arrival.
    #[inline]
    fn due(&self) -> Time {
        match self {
            Self::InOrder { packets, .. } => {
                packets.front().map_or(Time::MAX, |transit| transit.due)
            }
            Self::Sorted { packets, .. } => {
                packets.peek().map_or(Time::MAX, |transit| transit.0.due)
            }
        }
    }
}

impl Delay {
    #[inline]
    fn draw(&mut self, at: Time) -> Span {
        match self {
            Self::Constant(delay) => *delay,
            // Each port has its own delay.
            Self::External(_) => Span::ZERO,
            Self::Jitter { base, jitter, distribution, random } => {
                jittered(*base, *jitter, *distribution, random)
            }
            Self::Schedule { timeline, delays, jitter, interpolate, current } => {
                if !current.holds(at) {
                    *current = timeline.segment(at);
                }
                let delay = scheduled(timeline, delays, *interpolate, *current, at);
                match jitter {
                    None => delay,
                    Some((jitter, random)) => {
                        let step = jitter.steps[current.index];
                        jittered(delay, step, jitter.distribution, random)
                    }
                }
            }
        }
    }
}

/// Draws a delay around `base`.
fn jittered(base: Span, jitter: Span, distribution: Distribution, random: &mut Stream) -> Span {
    let deviation = match distribution {
        Distribution::Wifi => return base + wifi::draw(random, jitter),
        Distribution::Uniform => 2.0 * random.unit() - 1.0,
        Distribution::Normal => random.normal(),
    };
    // Casting a negative number to an unsigned integer gives zero.
    Span::from_nanos((base.as_nanos() as f64 + deviation * jitter.as_nanos() as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation_is_linear_and_returns_to_the_first_step() {
        let timeline =
            Timeline::new([0, 10].into_iter().map(Span::from_secs), Some(Span::from_secs(20)));
        let mut delay = Delay::Schedule {
            current: timeline.segment(Time::ZERO),
            timeline: Arc::new(timeline),
            delays: Arc::new([Span::from_millis(10), Span::from_millis(30)]),
            jitter: None,
            interpolate: true,
        };
        for (secs, ms) in [(0, 10), (5, 20), (10, 30), (15, 20), (20, 10), (25, 20)] {
            assert_eq!(delay.draw(Time::from_secs(secs)), Span::from_millis(ms), "at {secs} s");
        }
    }

    #[test]
    fn each_step_has_a_jitter_of_its_own() {
        let timeline = Timeline::new([0, 10].into_iter().map(Span::from_secs), None);
        let steps = Arc::new([Span::ZERO, Span::from_millis(10)]);
        let jitter = StepJitter { steps, distribution: Distribution::Uniform };
        let mut delay = Delay::Schedule {
            current: timeline.segment(Time::ZERO),
            timeline: Arc::new(timeline),
            delays: Arc::new([Span::from_millis(20); 2]),
            jitter: Some((jitter, crate::random::stream(1, 0, "steps"))),
            interpolate: false,
        };
        assert!((0..100).all(|_| delay.draw(Time::from_secs(9)) == Span::from_millis(20)));
        let draws: Vec<f64> =
            (0..1000).map(|_| delay.draw(Time::from_secs(11)).as_millis_f64()).collect();
        let (least, most) =
            draws.iter().fold((f64::MAX, 0_f64), |(a, b), &ms| (a.min(ms), b.max(ms)));
        // Of 1,000 uniform draws, the outermost are within a tenth of a millisecond of the ends
        // but for a chance of 0.7 %.
        assert!((10.0..10.1).contains(&least) && (29.9..=30.0).contains(&most), "{least} {most}");
    }
}
