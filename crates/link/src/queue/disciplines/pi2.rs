//! The parameters and the controller of DualPI2 (RFC 9332): a base probability that follows the
//! delay, and the marks and drops that follow from it.

use super::pie::next_update;
use crate::random::Stream;
use bentpipe_units::{Ratio, Span, Time};

/// DualPI2 (RFC 9332), as in Linux: packets that are ECT(1) or CE have a queue with a short delay,
/// all others the classic one. A controller of the delay marks in both, so that senders of both
/// kinds share the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualPi2 {
    /// Delay that it aims at in the classic queue.
    pub target: Span,
    /// Interval between updates of the probability.
    pub tupdate: Span,
    /// Change of the base probability for each update and second of delay above the target, per
    /// second.
    pub alpha: f64,
    /// Change of the base probability for each update and second by which the delay has grown.
    pub beta: f64,
    /// The low-latency queue is marked with this times the base probability, the classic one with
    /// its square.
    pub coupling: f64,
    /// Wait above which the low-latency queue is marked whatever the probability.
    pub step: Span,
    /// Waits above `step` over which the probability of such marks rises from 0 to 1; zero for a
    /// step.
    pub ramp: Span,
    /// Share of the link for the classic queue while both have packets.
    pub classic_protection: Ratio,
    /// What happens when the low-latency queue would be marked with a probability above 1.
    pub overload: Overload,
}

/// What [`DualPi2`] does when marks are no longer enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overload {
    /// Packets of both queues are dropped with the probability of the classic one.
    Drop,
    /// The delay grows until the queue is full.
    Overflow,
}

impl Default for DualPi2 {
    /// The values of Linux, for RTTs of at most 100 ms.
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            tupdate: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_millis(1),
            ramp: Span::ZERO,
            classic_protection: Ratio::new(0.1).unwrap_or(Ratio::ZERO),
            overload: Overload::Drop,
        }
    }
}

/// Bytes left behind a packet below which its queue's probability is not applied: two packets.
const FEW_BYTES: u64 = 3000;

/// What decides about packets.
#[derive(Debug, Clone)]
pub(super) struct Pi2 {
    pub config: DualPi2,
    random: Stream,
    pub next_update: Time,
    /// The longer wait of both queues at the last update.
    pub delay: Span,
    /// The base probability p'.
    pub probability: f64,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Pass,
    Mark,
    Drop,
}

impl Pi2 {
    /// Creates a controller whose base probability is zero.
    pub fn new(config: DualPi2, random: Stream) -> Self {
        let next_update = Time::ZERO + config.tupdate;
        Self { config, random, next_update, delay: Span::ZERO, probability: 0.0 }
    }

    /// Makes the updates that fell due by `now`. `wait` returns the longer wait of both queues at a
    /// time; `None` if they have no packets.
    pub fn update_until(&mut self, now: Time, wait: impl Fn(Time) -> Option<Span>) {
        while self.next_update <= now {
            let at = self.next_update;
            let longest = wait(at);
            let delay = longest.unwrap_or(Span::ZERO);
            let is_steady = longest.is_none() && self.delay.is_zero() && self.probability == 0.0;
            self.update(delay);
            self.next_update = next_update(at, self.config.tupdate, is_steady, now);
        }
    }

    /// Updates the base probability (RFC 9332, appendix A.1) for the longer wait of both queues, as
    /// in appendix A.2 and Linux.
    pub fn update(&mut self, delay: Span) {
        let DualPi2 { target, alpha, beta, coupling, overload, .. } = self.config;
        let (now, before) = (delay.as_secs_f64(), self.delay.as_secs_f64());
        let change = alpha * (now - target.as_secs_f64()) + beta * (now - before);
        // Marks of 100 % in the low-latency queue, and no more in the other than goes with them.
        let most = if overload == Overload::Overflow { 1.0 / coupling } else { 1.0 };
        self.probability = (self.probability + change).clamp(0.0, most);
        self.delay = delay;
    }

    /// Returns the coupled probability of a mark in the low-latency queue.
    pub fn coupled(&self) -> f64 {
        self.config.coupling * self.probability
    }

    /// Returns the probability of a mark in the low-latency queue after `waited`, whatever the
    /// other queue.
    fn native(&self, waited: Span) -> f64 {
        let DualPi2 { step, ramp, .. } = self.config;
        if waited <= step {
            0.0
        } else if waited >= step + ramp {
            1.0
        } else {
            (waited - step).as_secs_f64() / ramp.as_secs_f64()
        }
    }

    /// Draws with the probability of the classic queue.
    fn classic_draw(&mut self) -> bool {
        self.random.chance(self.probability * self.probability)
    }

    /// Decides about a packet of the low-latency queue, with `behind` packets in that and `left`
    /// bytes in both.
    pub fn decide_low(&mut self, waited: Span, behind: u64, left: u64) -> Decision {
        // A single packet is no queue, however long the link takes for it (RFC 9332, appendix A.1).
        let native = if behind > 0 { self.native(waited) } else { 0.0 };
        let coupled = if left < FEW_BYTES { 0.0 } else { self.coupled() };
        let is_overload = coupled >= 1.0 && self.config.overload == Overload::Drop;
        if is_overload && self.classic_draw() {
            Decision::Drop
        } else if self.random.chance(native.max(coupled)) {
            Decision::Mark
        } else {
            Decision::Pass
        }
    }

    /// Decides about a packet of the classic queue, with `left` bytes in both.
    pub fn decide_classic(&mut self, is_capable: bool, left: u64) -> Decision {
        if left < FEW_BYTES || !self.classic_draw() {
            Decision::Pass
        } else if is_capable && (self.coupled() < 1.0 || self.config.overload != Overload::Drop) {
            Decision::Mark
        } else {
            Decision::Drop
        }
    }
}
