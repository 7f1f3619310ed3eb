//! Random early detection (RED).

use super::arrival_aqm::{ArrivalAqm, ArrivalAqmQueue, Decision};
use super::codel::CoDel;
use super::discipline::{Discipline, QueueContext};
use super::fifo::Fifo;
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, PacketTotals};
use bentpipe_units::{Ratio, Span, Time};

/// RED (Floyd and Jacobson 1993), with the gentle variant: arriving packets are dropped or marked
/// with a probability that follows the mean length of the queue in packets. For comparison with
/// older work; RFC 7567 recommends others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Mean length from which packets are dropped.
    pub min_threshold: f64,
    /// Mean length at which the probability is `max_probability`.
    pub max_threshold: f64,
    /// Weight of a new length in the mean.
    pub weight: f64,
    /// Probability at `max_threshold`.
    pub max_probability: Ratio,
    /// True if the probability then rises to 1 at twice `max_threshold`, instead of at once.
    pub gentle: bool,
    /// True to mark ECN-capable packets instead of dropping them, up to `max_threshold`.
    pub ecn: bool,
}

impl Default for Red {
    /// Thresholds and weight of the paper, with the probability that its authors advise later
    /// (Floyd, "RED: Discussions of setting parameters", 1997) and the gentle variant (2000).
    fn default() -> Self {
        Self {
            min_threshold: 5.0,
            max_threshold: 15.0,
            weight: 0.002,
            max_probability: Ratio::new(0.1).unwrap_or(Ratio::ZERO),
            gentle: true,
            ecn: false,
        }
    }
}

impl Discipline for Red {
    const NAME: &'static str = "red";
    const ABOUT: &'static str = "RED (1993), gentle: first in, first out, and arriving packets \
        are dropped or marked with a probability that follows the mean length of the queue.";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "min_threshold",
            kind: Kind::Number,
            about: "RED: mean length in packets from which it drops. Default: 5.",
        },
        Field {
            name: "max_threshold",
            kind: Kind::Number,
            about: "RED: mean length in packets with the probability `max_probability`. Default: \
                15.",
        },
        Field {
            name: "weight",
            kind: Kind::Number,
            about: "RED: weight of a new length in the mean. Default: 0.002.",
        },
        Field {
            name: "max_probability",
            kind: Kind::Ratio,
            about: "RED: probability at `max_threshold`. Default: 0.1.",
        },
        Field {
            name: "gentle",
            kind: Kind::Flag,
            about: "RED: lets the probability rise to 1 between `max_threshold` and twice that. \
                Default: true.",
        },
        CoDel::ECN,
    ];
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = ArrivalAqmQueue<P, State>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            min_threshold: fields.number("min_threshold").unwrap_or(default.min_threshold),
            max_threshold: fields.number("max_threshold").unwrap_or(default.max_threshold),
            weight: fields.number("weight").unwrap_or(default.weight),
            max_probability: fields.ratio("max_probability").unwrap_or(default.max_probability),
            gentle: fields.flag("gentle").unwrap_or(default.gentle),
            ecn: fields.flag("ecn").unwrap_or(default.ecn),
        })
    }

    fn to_fields(&self) -> Fields {
        let Self { min_threshold, max_threshold, weight, max_probability, gentle, ecn } = *self;
        Fields::new(Self::NAME)
            .with("min_threshold", min_threshold)
            .with("max_threshold", max_threshold)
            .with("weight", weight)
            .with("max_probability", max_probability)
            .with("gentle", gentle)
            .with("ecn", ecn)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { min_threshold, max_threshold, weight, .. } = *self;
        let refused = |name: &str, value: f64, allowed: String| {
            Err(ConfigError::refused(format!("{name} = {value}"), "is out of range", allowed))
        };
        if !(min_threshold > 0.0 && min_threshold < 1e9) {
            return refused("min_threshold", min_threshold, "above 0, below 1e9".to_owned());
        }
        if !(max_threshold > min_threshold && max_threshold < 1e9) {
            let allowed = format!("above min_threshold of {min_threshold}, below 1e9");
            return refused("max_threshold", max_threshold, allowed);
        }
        if !(weight > 0.0 && weight <= 1.0) {
            return refused("weight", weight, "above 0, to 1".to_owned());
        }
        Ok(())
    }

    fn is_random(&self) -> bool {
        true
    }

    fn queue<P>(&self, context: QueueContext, random: impl FnOnce() -> Stream) -> Self::Queue<P> {
        let state = State {
            config: *self,
            random: random(),
            mean: 0.0,
            unmarked: 0.0,
            empty_since: Some(Time::ZERO),
            last_dequeue: None,
            transmission: Span::ZERO,
        };
        ArrivalAqmQueue::new(Fifo::new(context.limit), state)
    }
}

/// What a [`Red`] queue knows.
#[derive(Debug, Clone)]
pub(crate) struct State {
    config: Red,
    random: Stream,
    /// Mean length of the queue in packets.
    mean: f64,
    /// Packets above the lower threshold since the last one that was dropped or marked.
    unmarked: f64,
    /// Since when nothing waits. Packets that pass meanwhile are not offered; they would change the
    /// mean as much as the time that their transmission takes.
    empty_since: Option<Time>,
    last_dequeue: Option<Time>,
    /// Time that a packet took lately, from one that left the queue to the next.
    transmission: Span,
}

impl ArrivalAqm for State {
    fn marks(&self) -> bool {
        self.config.ecn
    }

    fn arrives(&mut self, now: Time, waiting: PacketTotals, _: bool) -> Decision {
        self.measure(now, waiting.packets);
        self.decide()
    }

    fn accepted(&mut self) {
        self.empty_since = None;
    }

    fn dequeued(&mut self, now: Time, _: Span, left: PacketTotals) {
        if let Some(last) = self.last_dequeue.filter(|last| *last < now) {
            self.transmission = now.since(last);
        }
        self.last_dequeue = (left.packets > 0).then_some(now);
        if left.packets == 0 {
            self.empty_since = Some(now);
        }
    }
}

impl State {
    /// Updates the mean when a packet arrives at a queue of `length` packets.
    fn measure(&mut self, now: Time, length: u64) {
        let weight = self.config.weight;
        match self.empty_since {
            Some(since) if length == 0 => {
                if !self.transmission.is_zero() {
                    let packets = now.since(since).as_secs_f64() / self.transmission.as_secs_f64();
                    self.mean *= libm::pow(1.0 - weight, packets);
                }
                self.empty_since = Some(now);
            }
            _ => self.mean += weight * (length as f64 - self.mean),
        }
    }

    /// Decides about the packet that arrives. Drops are spread evenly: with a constant
    /// probability, the gaps between them are uniform on 1 to its inverse (§IV of the paper).
    fn decide(&mut self) -> Decision {
        let Red { min_threshold, max_threshold, max_probability, gentle, .. } = self.config;
        if self.mean < min_threshold {
            self.unmarked = 0.0;
            return Decision::Accept;
        }
        let max_probability = max_probability.get();
        let above = self.mean - max_threshold;
        let probability = if above < 0.0 {
            max_probability * (self.mean - min_threshold) / (max_threshold - min_threshold)
        } else if gentle {
            max_probability + (1.0 - max_probability) * above / max_threshold
        } else {
            1.0
        };
        if probability >= 1.0 {
            self.unmarked = 0.0;
            return Decision::Drop;
        }
        let left = 1.0 - self.unmarked * probability;
        if left <= probability || self.random.chance(probability / left) {
            self.unmarked = 0.0;
            return if above < 0.0 { Decision::Signal } else { Decision::Drop };
        }
        self.unmarked += 1.0;
        Decision::Accept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::limit::ResolvedLimit;
    use crate::random::stream;
    use bentpipe_units::Rate;

    const CONTEXT: QueueContext =
        QueueContext { limit: ResolvedLimit::Packets(1000), rate: Rate::from_mbps(12) };

    fn state(config: Red) -> State {
        let random = || stream(1, 0, "test/queue");
        let queue: ArrivalAqmQueue<(), State> = Discipline::queue(&config, CONTEXT, random);
        *queue.state
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        // Half-way between the thresholds of a maximum of 0.04.
        let max_probability = Ratio::new(0.04).unwrap();
        let mut state = state(Red { max_probability, ..Red::default() });
        state.mean = 10.0;
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() < 10_000 {
            gap += 1;
            if state.decide() == Decision::Signal {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&50)));
        let mean = f64::from(gaps.iter().sum::<i32>()) / 1e4;
        // The standard deviation of a uniform gap on 1 to 50 is √((50² - 1)/12) = 14.43.
        assert!((mean - 25.5).abs() < 3.0 * 0.1443, "{mean}");
        let short = gaps.iter().filter(|gap| **gap <= 10).count() as f64;
        assert!((short - 2_000.0).abs() < 3.0 * 40.0, "a fifth is 10 or less: {short}");
    }

    #[test]
    fn the_probability_rises_gently_or_at_once() {
        let share = |mean: f64, gentle: bool| {
            let mut state = state(Red { gentle, ..Red::default() });
            state.mean = mean;
            let signals = (0..20_000).filter(|_| state.decide() != Decision::Accept).count();
            signals as f64 / 20_000.0
        };
        // Uniform gaps on 1 to 1/p: of p = 0.05 10.5 on average, of 0.1 5.5.
        for (mean, gentle, expected) in [
            (4.9, true, 0.0),
            (10.0, true, 1.0 / 10.5),
            (14.999_999, true, 1.0 / 5.5),
            (15.0, false, 1.0),
            (30.0, true, 1.0),
        ] {
            let share = share(mean, gentle);
            assert!((share - expected).abs() < 0.005, "{mean}, {gentle}: {share}, not {expected}");
        }
        // In the middle of the gentle part, p = 0.55: gaps of 1 with 0.55, otherwise 2.
        let share = share(22.5, true);
        assert!((share - 1.0 / 1.45).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_mean_decays_while_the_queue_is_empty() {
        let ms = Time::from_millis;
        let mut state = state(Red::default());
        state.mean = 10.0;
        state.empty_since = None;
        state.dequeued(ms(10), Span::ZERO, PacketTotals { packets: 1, bytes: 1500 });
        state.dequeued(ms(12), Span::ZERO, PacketTotals::default());
        // 100 packets of 2 ms.
        state.measure(ms(212), 0);
        assert!((state.mean - 10.0 * 0.998f64.powi(100)).abs() < 1e-9, "{}", state.mean);
        state.empty_since = None;
        let before = state.mean;
        state.measure(ms(213), 20);
        assert!((state.mean - (0.998 * before + 0.04)).abs() < 1e-9, "{}", state.mean);
    }
}
