//! The steps after the bursts: settle on the proven rate, verify that the path holds no more, and
//! creep if that is not possible.

use super::super::algorithm::Progress;
use super::path::{Losses, Path};
use crate::controller::{Ack, Loss};
use bentpipe_units::{Bytes, Span, Time};

/// The outcome of an event.
#[derive(Debug)]
pub(super) enum Next {
    /// The step continues.
    Stay,
    /// The next step.
    Step(Step),
    /// The slow start ends.
    Over(Progress),
}

/// A step of the slow start.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Waiting for the first RTT sample.
    Waiting,
    /// Sending faster than proven. The packets before this one were sent before the slow start
    /// began.
    Growing(u64),
    /// Waiting until the excess has drained, while measuring again.
    Settling(Settling),
    /// Verifying that the path has no more capacity.
    Verifying(Verifying),
    /// Growing slowly until the path shows congestion.
    Creeping(Creeping),
}

/// Measures the path's delivery rate while the excess drains.
#[derive(Debug, Clone)]
pub(super) struct Settling {
    /// Bytes delivered when it began.
    delivered: Bytes,
    /// The step ends when this packet is acknowledged. It covers losses of earlier ones.
    until: u64,
    /// The proven rate before the bursts ended and at their end, in bytes per second.
    highest: f64,
    exit: f64,
    /// The rate of the RTT before the step. Rates over few packets may be lower, while that of an
    /// RTT is reliable.
    least: f64,
    /// The best rate measured since, and the start of that measurement.
    measured: f64,
    began: Time,
    /// Losses since it began.
    pub(super) losses: Losses,
}

impl Settling {
    /// Starts to settle.
    pub(super) fn new(path: &mut Path, now: Time, delivered: Bytes, next_number: u64) -> Self {
        let highest = path.proven;
        let (last, least) = path.end_bursts(now);
        path.proven = last.unwrap_or(highest).min(highest).max(least);
        let (exit, highest) = (path.proven, highest.max(least));
        let settling = Self {
            delivered,
            until: next_number,
            highest,
            exit,
            least,
            measured: 0.0,
            began: now,
            losses: path.losses,
        };
        settling.send(path);
        settling
    }

    fn send(&self, path: &mut Path) {
        let rate = path.settle() * path.proven;
        path.send(rate * path.base(), rate);
    }

    /// Returns the highest rate that was proven, in bytes per second. What is left of the first
    /// burst is evidence as well, unless packets of it are missing: a queue of others delays its
    /// first ACKs, and they alone prove nothing.
    fn highest(&self, path: &Path) -> f64 {
        let whole = !self.losses.exceed(path.tuning.max_loss, path.first_flight);
        if whole { self.highest.max(path.first_flight_rate()) } else { self.highest }
    }

    pub(super) fn on_ack(&mut self, path: &mut Path, ack: &Ack<'_>) -> Next {
        for part in [8, 4, 2] {
            if let Some(rate) = path.arrivals.rate(
                path.scale / part,
                path.ack_aggregation.span() / 2,
                path.gap.max(self.began),
            ) {
                self.measured = self.measured.max(rate);
            }
        }
        // ACKs that queue may arrive faster than the data did.
        let highest = self.highest(path);
        let measured = self.measured.min(1.25 * highest);
        let delivered = ack.delivered.saturating_sub(self.delivered).get() as f64;
        let enough = delivered >= self.exit * path.scale.as_secs_f64() / 8.0 && measured > 0.0;
        path.proven = if enough { measured.max(0.3 * self.exit) } else { self.exit.max(measured) };
        self.least = self.least.max(path.round_trip_rate().min(highest));
        path.proven = path.proven.max(self.least);
        self.send(path);
        if ack.newest().number < self.until {
            return Next::Stay;
        }
        if path.window < path.first_flight.mul_f64(2.0) {
            // Nothing beyond the first burst is proven: the bottleneck is too slow for such bursts,
            // or a queue of few packets overflowed, or frames and infrequent ACKs hide the rate.
            // Standard slow start does better.
            return Next::Over(Progress::Fallback);
        }
        if path.lossless && path.window < path.resumed.mul_f64(0.5) {
            // All that a remembered path was trusted with came, but slowly: its ACKs may be what
            // queues, so this rate is no evidence against the memory. Standard slow start tells.
            return Next::Over(Progress::Fallback);
        }
        if self.losses.exceed(path.tuning.doubt, path.window) {
            // The path was full: more capacity would be that of others.
            return Next::Over(path.found(path.window, ack.next_number));
        }
        if path.may_be_return() {
            return Next::Step(Step::Creeping(Creeping::new(path, ack)));
        }
        Next::Step(Step::Verifying(Verifying::new(path, 0.5, ack.now, ack.next_number)))
    }

    /// Returns the start of the recovery period: the step covers congestion among earlier packets.
    pub(super) fn until(&self) -> u64 {
        self.until
    }
}

/// Sends faster than proven for part of a round, and checks whether deliveries keep up.
#[derive(Debug, Clone)]
pub(super) struct Verifying {
    growth: f64,
    /// The previous window, in bytes.
    before: Bytes,
    /// Duration of the faster sending, and its end.
    pulse: Span,
    until: Time,
    /// Measurements start with the ACK of this packet.
    first: u64,
    since: Option<(Time, Bytes)>,
    /// Losses of packets from `first` on, and losses of earlier ones.
    losses: Losses,
    earlier: Losses,
}

impl Verifying {
    fn new(path: &mut Path, growth: f64, now: Time, first: u64) -> Self {
        let before = path.window;
        // Long enough that aggregated ACKs do not decide, short enough for a small queue to absorb.
        let pulse = (path.scale / 4).max(path.tuning.max_ack_aggregation * 3).min(path.scale);
        let (proven, more) = (path.proven, growth * path.proven * pulse.as_secs_f64());
        path.send(before.get() as f64 + more, (1.0 + growth) * proven);
        Self {
            growth,
            before,
            pulse,
            until: now + pulse,
            first,
            since: None,
            losses: Losses::default(),
            earlier: Losses::default(),
        }
    }

    pub(super) fn on_ack(&mut self, path: &mut Path, ack: &Ack<'_>) -> Next {
        if ack.now >= self.until {
            let proven = path.proven * path.settle();
            path.pace(path.rate.map_or(proven, |rate| rate.min(proven)));
        }
        let Some((since, delivered)) = self.since else {
            if ack.newest().number >= self.first {
                self.since = Some((ack.now, ack.delivered));
            }
            return Next::Stay;
        };
        let time = ack.now.since(since);
        if time < self.pulse {
            return Next::Stay;
        }
        let rate = ack.delivered.saturating_sub(delivered).get() as f64 / time.as_secs_f64();
        let larger = (self.before.get() as f64 * (1.0 + self.growth)) as u64;
        if rate >= path.proven * (1.0 + 0.6 * self.growth) {
            path.proven = rate;
            path.window = Bytes::new(larger);
            return Next::Step(Step::Verifying(Self::new(
                path,
                (2.0 * self.growth).min(1.0),
                ack.now,
                ack.next_number,
            )));
        }
        // On shorter paths, coarse frames spoil the rate. An RTT without a queue is as good a sign.
        if path.is_empty() && !self.losses.exceed(path.chance, path.window) {
            if time < path.scale {
                return Next::Stay;
            }
            path.proven *= 1.0 + self.growth;
            path.window = Bytes::new(larger);
            return Next::Step(Step::Verifying(Self::new(
                path,
                self.growth,
                ack.now,
                ack.next_number,
            )));
        }
        if path.may_be_return() {
            return Next::Step(Step::Creeping(Creeping::new(path, ack)));
        }
        let most = Bytes::new((1.05 * rate * path.base()) as u64);
        Next::Over(path.found(most.min(path.window).max(self.before), ack.next_number))
    }

    pub(super) fn on_loss(&mut self, path: &mut Path, loss: &Loss<'_>) -> Next {
        if loss.newest().number < self.first {
            // Sent at the proven rate and lost nevertheless: other flows share the path.
            self.earlier.note(loss);
            let crowded = self.earlier.exceed(0.1, path.window);
            return if crowded { Next::Over(Progress::Congested) } else { Next::Stay };
        }
        self.losses.note(loss);
        if self.losses.exceed(path.chance.max(0.02), path.window) {
            return Next::Over(path.found(self.before, loss.next_number));
        }
        Next::Stay
    }
}

/// Grows by a bounded volume per round.
#[derive(Debug, Clone)]
pub(super) struct Creeping {
    /// Growth per round in bytes, and the initial window of the round.
    step: f64,
    from: f64,
    /// Growth in the previous round, as a fraction of its window. Deliveries in this round show its
    /// effect.
    grown: f64,
    /// Start of the round: time and delivered bytes. Then the rate of the previous round.
    began: (Time, Bytes),
    rate: f64,
    /// The window in bytes, including fractions.
    window: f64,
}

impl Creeping {
    fn new(path: &mut Path, ack: &Ack<'_>) -> Self {
        let window = path.window.get() as f64;
        path.rate = None;
        let step = path.tuning.max_creep.min(0.5 * window);
        Self {
            step,
            from: window,
            grown: 0.0,
            began: (ack.now, ack.delivered),
            rate: path.proven,
            window,
        }
    }

    pub(super) fn on_ack(&mut self, path: &mut Path, ack: &Ack<'_>) -> Next {
        if !ack.app_limited {
            self.window += ack.bytes.get() as f64 * self.step / self.from.max(1.0);
            path.window = Bytes::new(self.window as u64).max(path.window);
        }
        if !ack.round_start {
            return Next::Stay;
        }
        let time = ack.now.since(self.began.0).as_secs_f64().max(0.001);
        let rate = ack.delivered.saturating_sub(self.began.1).get() as f64 / time;
        // Deliveries grew with the window: the forward path has room, and the return path is so
        // full that it drops ACKs, whose successors cover more. With a full forward path, only the
        // RTT would grow.
        let more = self.grown > 0.0 && rate >= self.rate * (1.0 + 0.5 * self.grown);
        self.grown = self.step / self.from.max(1.0);
        let step = if more { 2.0 * self.step } else { path.tuning.max_creep };
        self.step = step.min(0.5 * self.window);
        self.rate = rate;
        path.proven = path.proven.max(rate);
        self.from = self.window;
        self.began = (ack.now, ack.delivered);
        if path.delay.queue() > path.scale * 3 {
            return Next::Over(path.found(path.window, ack.next_number));
        }
        Next::Stay
    }

    pub(super) fn on_loss(&self, path: &Path) -> Next {
        if path.losses.exceed(path.chance.max(0.01), path.window) {
            return Next::Over(Progress::Congested);
        }
        Next::Stay
    }
}
