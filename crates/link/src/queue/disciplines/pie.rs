//! Proportional integral controller enhanced (PIE), RFC 8033.

use super::arrival_aqm::{ArrivalAqm, ArrivalAqmQueue, Decision};
use super::discipline::{Discipline, QueueContext};
use super::fifo::Fifo;
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use crate::{ConfigError, PacketTotals};
use bentpipe_units::{Span, Time};

/// PIE (RFC 8033), as in Linux: arriving packets are dropped or marked with a probability that
/// follows the queueing delay. The delay is that of the last packet that left the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pie {
    /// Delay that it aims at.
    pub target: Span,
    /// Interval between updates of the probability.
    pub tupdate: Span,
    /// Change of the probability for each update and second of delay above the target, per second.
    pub alpha: f64,
    /// Change of the probability for each update and second by which the delay has grown.
    pub beta: f64,
    /// True to mark ECN-capable packets while the probability is at most 0.1.
    pub ecn: bool,
}

impl Default for Pie {
    /// The values of RFC 8033 §4 and Linux.
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            tupdate: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            ecn: false,
        }
    }
}

/// Time after the start, or after a quiet period, in which nothing is dropped (RFC 8033 §4.4).
const MAX_BURST: Span = Span::from_millis(150);
/// Delay above which the probability grows by another 0.02 at each update (RFC 8033 §5.2).
const HIGH_DELAY: Span = Span::from_millis(250);
/// Bytes below which nothing is dropped: two packets (RFC 8033 §4.1).
const FEW_BYTES: u64 = 3000;
/// Highest probability at which packets are marked (RFC 8033 §5.1).
const MAX_MARKING: f64 = 0.1;
/// The accumulated probability below which nothing is dropped, and from which on something is
/// (RFC 8033 §5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);

impl Discipline for Pie {
    const NAME: &'static str = "pie";
    const ABOUT: &'static str = "PIE (RFC 8033): first in, first out, and arriving packets are \
        dropped or marked with a probability that follows the queueing delay.";
    const FIELDS: &'static [Field] = &[
        super::codel::CoDel::TARGET,
        Self::TUPDATE,
        Self::ALPHA,
        Self::BETA,
        super::codel::CoDel::ECN,
    ];
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = ArrivalAqmQueue<P, State>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            target: fields.span("target").unwrap_or(default.target),
            tupdate: fields.span("tupdate").unwrap_or(default.tupdate),
            alpha: fields.number("alpha").unwrap_or(default.alpha),
            beta: fields.number("beta").unwrap_or(default.beta),
            ecn: fields.flag("ecn").unwrap_or(default.ecn),
        })
    }

    fn to_fields(&self) -> Fields {
        let Self { target, tupdate, alpha, beta, ecn } = *self;
        let fields = Fields::new(Self::NAME).with("target", target).with("tupdate", tupdate);
        fields.with("alpha", alpha).with("beta", beta).with("ecn", ecn)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { target, tupdate, alpha, beta, .. } = *self;
        if target.is_zero() {
            let value = format!("target = {target}");
            return Err(ConfigError::refused(value, "allows no queueing", "above 0 s"));
        }
        if tupdate < Span::from_millis(1) {
            let value = format!("tupdate = {tupdate}");
            return Err(ConfigError::refused(value, "is too short", "1 ms or longer"));
        }
        for (name, gain) in [("alpha", alpha), ("beta", beta)] {
            if !(gain > 0.0 && gain <= 1000.0) {
                let value = format!("{name} = {gain}");
                return Err(ConfigError::refused(value, "is out of range", "above 0, to 1000"));
            }
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
            next_update: Time::ZERO + self.tupdate,
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            probability: 0.0,
            accumulated: 0.0,
            burst: MAX_BURST,
            last_dequeue: None,
        };
        ArrivalAqmQueue::new(Fifo::new(context.limit), state)
    }
}

impl Pie {
    pub(super) const TUPDATE: Field = Field {
        name: "tupdate",
        kind: Kind::Span,
        about: "Interval between updates of the probability. Default: \"15 ms\", for DualPI2 \
            \"16 ms\".",
    };
    pub(super) const ALPHA: Field = Field {
        name: "alpha",
        kind: Kind::Number,
        about: "Weight of the delay above the target, in Hz. Default: 0.125, for DualPI2 0.16.",
    };
    pub(super) const BETA: Field = Field {
        name: "beta",
        kind: Kind::Number,
        about: "Weight of the growth of the delay, in Hz. Default: 1.25, for DualPI2 3.2.",
    };
}

/// Returns when the update after that at `at` is due, of updates each `every`. If `is_steady`,
/// those up to `now` would change nothing and are left out.
pub(super) fn next_update(at: Time, every: Span, is_steady: bool, now: Time) -> Time {
    let periods = if is_steady { now.since(at).as_nanos() / every.as_nanos() } else { 0 };
    at + every * (periods + 1)
}

/// What a [`Pie`] queue knows.
#[derive(Debug, Clone)]
pub(crate) struct State {
    config: Pie,
    random: Stream,
    next_update: Time,
    /// Wait of the last packet that has left the queue; zero if it was the only one.
    delay: Span,
    /// That at the last update.
    delay_before: Span,
    probability: f64,
    /// Sum of the probabilities of the packets that have arrived since the last drop.
    accumulated: f64,
    /// Rest of the time in which nothing is dropped.
    burst: Span,
    last_dequeue: Option<Time>,
}

impl ArrivalAqm for State {
    fn marks(&self) -> bool {
        self.config.ecn && self.probability <= MAX_MARKING
    }

    fn arrives(&mut self, now: Time, waiting: PacketTotals, has_room: bool) -> Decision {
        self.update_until(now, waiting.bytes);
        if !has_room {
            self.accumulated = 0.0;
            return Decision::Accept;
        }
        if self.signals(waiting.bytes) { Decision::Signal } else { Decision::Accept }
    }

    fn before_dequeue(&mut self, now: Time, waiting: PacketTotals) {
        self.update_until(now, waiting.bytes);
    }

    /// The delay is that of the packet, unless the queue is empty now.
    fn dequeued(&mut self, now: Time, waited: Span, left: PacketTotals) {
        self.delay = if left.bytes == 0 { Span::ZERO } else { waited };
        if let Some(last) = self.last_dequeue {
            self.burst = self.burst.saturating_sub(now.since(last));
        }
        self.last_dequeue = Some(now);
    }
}

impl State {
    /// Makes the updates that fell due by `now`, while the queue held `queued` bytes.
    fn update_until(&mut self, now: Time, queued: u64) {
        while self.next_update <= now {
            let before = (self.probability, self.delay_before, self.burst);
            self.update(queued);
            let is_steady = before == (self.probability, self.delay_before, self.burst);
            let at = self.next_update;
            self.next_update = next_update(at, self.config.tupdate, is_steady, now);
        }
    }

    /// Updates the probability (RFC 8033 §4.2 and §5).
    fn update(&mut self, queued: u64) {
        let (delay, before) = (self.delay.as_secs_f64(), self.delay_before.as_secs_f64());
        let old = self.probability;
        let mut change = self.config.alpha * (delay - self.config.target.as_secs_f64())
            + self.config.beta * (delay - before);
        // The lower the probability, the smaller the steps: a half below 0.1, and a quarter of that
        // for each further power of ten, down to 10⁻⁶.
        if old < 0.1 {
            change /= 2.0;
            let mut power = 0.01;
            while old < power && power > 0.5e-6 {
                change /= 4.0;
                power /= 10.0;
            }
        }
        if old >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay > HIGH_DELAY {
            change += 0.02;
        }
        let mut probability = (old + change).clamp(0.0, 1.0);
        if self.delay.is_zero() && self.delay_before.is_zero() && queued == 0 {
            probability -= probability / 64.0;
        }
        let half = self.config.target / 2;
        if self.delay < half && self.delay_before < half && probability == 0.0 {
            self.burst = MAX_BURST;
            self.accumulated = 0.0;
            self.last_dequeue = None;
        }
        self.probability = probability;
        self.delay_before = self.delay;
    }

    /// Returns true if the packet that arrives at a queue of `queued` bytes is to be dropped or
    /// marked. At even intervals rather than at random ones (RFC 8033 §5.4).
    fn signals(&mut self, queued: u64) -> bool {
        let is_low = self.delay < self.config.target / 2 && self.probability < 0.2;
        if !self.burst.is_zero() || is_low || queued < FEW_BYTES {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (least, most) = ACCUMULATED;
        let signals = self.accumulated >= least
            && (self.accumulated >= most || self.random.chance(self.probability));
        if signals {
            self.accumulated = 0.0;
        }
        signals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::accepted::Accepted;
    use crate::queue::disciplines::discipline::{Effects, PacketQueue};
    use crate::queue::limit::ResolvedLimit;
    use crate::random::stream;
    use crate::{DropCause, Ecn, Packet};
    use bentpipe_units::Rate;

    const CONTEXT: QueueContext =
        QueueContext { limit: ResolvedLimit::Packets(1000), rate: Rate::from_mbps(12) };

    fn queue(config: Pie) -> ArrivalAqmQueue<u64, State> {
        Discipline::queue(&config, CONTEXT, || stream(1, 0, "test/queue"))
    }

    fn packet(now: Time, ecn: Ecn) -> Accepted<u64> {
        let packet = Packet::new(1500, ecn, 0);
        let (queued, blocked) = (Span::ZERO, Span::ZERO);
        Accepted { sent: now, port: 0, packet, queued, blocked, serialised_ns: 0 }
    }

    /// Offers two packets each millisecond, of which one leaves, for 60 s. Returns the probability
    /// after each millisecond, the drops by AQM and marks in the second half, and the longest wait
    /// in it.
    fn overloaded(config: Pie, ecn: Ecn) -> (Vec<f64>, u32, u32, Span) {
        let mut queue = queue(config);
        let mut effects = Effects::new();
        let (mut probabilities, mut drops, mut marks) = (Vec::new(), 0, 0);
        let mut longest = Span::ZERO;
        for ms in 0..60_000u64 {
            let now = Time::from_millis(ms);
            for _ in 0..2 {
                let refused = queue.enqueue(now, packet(now, ecn), &mut effects).err();
                let late = ms >= 30_000;
                drops +=
                    u32::from(late && refused.is_some_and(|(cause, _)| cause == DropCause::Aqm));
                marks += u32::from(effects.take_marked() && late);
            }
            if let Some(packet) = queue.dequeue(now, &mut effects) {
                longest =
                    longest.max(if ms < 30_000 { Span::ZERO } else { now.since(packet.sent) });
            }
            probabilities.push(queue.state.probability);
        }
        (probabilities, drops, marks, longest)
    }

    #[test]
    fn at_twice_the_rate_half_of_the_packets_are_dropped() {
        let (probabilities, drops, marks, longest) = overloaded(Pie::default(), Ecn::NotEct);
        let reaches = |wanted| probabilities.iter().position(|p| *p >= wanted).unwrap();
        // From 0.1 on by at most 0.02 for each 15 ms, and another 0.02 above 250 ms of delay.
        let ms = reaches(0.5) - reaches(0.1);
        assert!(ms >= 150, "{ms} ms");
        let rises = probabilities.windows(2).filter(|pair| pair[0] >= 0.1);
        assert!(rises.map(|pair| pair[1] - pair[0]).fold(0.0, f64::max) <= 0.04 + 1e-12);
        // Half of 60,000 packets.
        assert!((27_000..33_000).contains(&drops) && marks == 0, "{drops}, {marks}");
        // For that, the probability has to be higher. After a drop, the sum has to reach 0.85: that
        // takes two packets or more below 0.85, and one from there on. So it stays there.
        let mean = probabilities[30_000..].iter().sum::<f64>() / 30_000.0;
        assert!((mean - 0.85).abs() < 0.05, "{mean}");
        assert!(longest < Span::from_millis(60), "{longest}");
    }

    #[test]
    fn from_a_tenth_to_a_half_it_takes_twenty_updates_while_the_delay_is_below_250_ms() {
        let mut state = queue(Pie::default()).state;
        (state.probability, state.delay, state.delay_before) =
            (0.1, Span::from_millis(240), Span::from_millis(200));
        let mut updates = 0;
        while state.probability < 0.5 - 1e-9 {
            state.update(100_000);
            updates += 1;
            state.delay_before = Span::from_millis(200);
        }
        assert_eq!(updates, 20);
    }

    #[test]
    fn steps_are_scaled_with_the_probability() {
        // 100 ms of delay, 85 above the target: 0.010625, and nothing for growth.
        for (probability, scale) in
            [(0.5, 1.0), (0.05, 0.5), (0.005, 0.125), (5e-4, 1.0 / 32.0), (0.0, 1.0 / 2048.0)]
        {
            let mut state = queue(Pie::default()).state;
            (state.probability, state.delay, state.delay_before) =
                (probability, Span::from_millis(100), Span::from_millis(100));
            state.update(100_000);
            let change = state.probability - probability;
            assert!((change - 0.010_625 * scale).abs() < 1e-12, "{probability}: {change}");
        }
    }

    #[test]
    fn updates_that_are_made_up_for_are_those_that_fell_due() {
        for wait in [14u64, 15, 16, 400, 100_000] {
            let start = || {
                let mut state = queue(Pie::default()).state;
                (state.probability, state.delay) = (0.3, Span::from_millis(3));
                state
            };
            let (mut once, mut often) = (start(), start());
            once.update_until(Time::from_millis(wait), 0);
            for ms in 0..=wait {
                often.update_until(Time::from_millis(ms), 0);
            }
            assert_eq!(
                (once.probability, once.next_update, once.delay_before),
                (often.probability, often.next_update, often.delay_before),
                "{wait} ms"
            );
        }
    }

    #[test]
    fn packets_are_marked_only_up_to_a_tenth() {
        let marking = Pie { ecn: true, ..Pie::default() };
        let (probabilities, drops, marks, _) = overloaded(marking, Ecn::Ect0);
        assert!(probabilities[30_000..].iter().all(|p| *p > MAX_MARKING));
        assert!(drops > 20_000 && marks == 0, "{drops} drops and {marks} marks");
        let mut queue = queue(marking);
        queue.state.burst = Span::ZERO;
        (queue.state.probability, queue.state.delay) = (0.05, Span::from_millis(100));
        let mut effects = Effects::new();
        let marked = (0..900).filter(|_| {
            let taken = queue.enqueue(Time::ZERO, packet(Time::ZERO, Ecn::Ect0), &mut effects);
            taken.is_ok() && effects.take_marked()
        });
        // At least 17 packets, for 0.85, and at most 20 or so more between two.
        assert!((20..55).contains(&marked.count()));
    }
}
