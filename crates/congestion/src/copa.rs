//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).
//!
//! The target rate is 1 / (δ · dq) packets a second, dq the queueing delay: the window moves towards it, faster the longer it
//! has moved one way (velocity). A queue of a few packets that empties every five round trips tells Copa that it is among its
//! own kind: default mode, δ = 0.5. Where the queue never empties, somebody fills it: competitive mode, in which 1/δ grows and
//! is halved as a Reno window (§2.2).
//!
//! In default mode losses change nothing, as in the paper; marks do (RFC 9002 §7.1), which the paper does not mention. Growth
//! is never faster than doubling each round trip, and what goes against the velocity's direction resets it: our choices,
//! for a velocity of many doublings outlives its reason by a round trip. A rate limiter that drops without a queue gives
//! Copa nothing to measure; persistent congestion alone stops it there.

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, PathChange, Setup};
use crate::filter::TimeFilter;
use crate::newreno::minimum_window;
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Parameters of [`Copa`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "delta",
        default: 0.5,
        range: (0.004, 10.0),
        unit: "",
        about: "δ in default mode, and its largest in competitive mode: 1/δ packets wait in the queue (paper §2.1)",
    },
    Parameter {
        name: "min_rtt_window",
        default: 10.0,
        range: (0.1, 600.0),
        unit: "s",
        about: "how long the smallest round trip is remembered (paper §2.1)",
    },
    Parameter {
        name: "mark_kept",
        default: 0.8,
        range: (0.1, 0.95),
        unit: "",
        about: "share of the window kept at a congestion mark in default mode (RFC 8511 §3, beta_ecn)",
    },
];

/// Rounds in one direction before the velocity doubles (§2.1).
const STEADY_ROUNDS: u32 = 3;
/// Smoothed round trips without an empty queue that make the mode competitive (§2.2).
const EMPTY_WITHIN: u64 = 5;
/// Smoothed round trips over which the largest round trip is taken (§2.2).
const LARGEST_OVER: u64 = 4;
/// Share of the largest queueing delay up to which the queue counts as nearly empty (§2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Largest 1/δ in packets: more would ask for more than a GEO path's window of queue.
const LARGEST_INVERSE: f64 = 65_536.0;
/// Window in bytes beyond which nothing grows: floating point still counts whole bytes there.
const LARGEST: f64 = 9e15;

/// Whether, and which way, the window has been moving.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Velocity {
    /// v of the paper, at least 1.
    value: f64,
    up: bool,
    /// Rounds in this direction.
    rounds: u32,
    /// The window in bytes when the round began.
    from: f64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Copa {
    mtu: Bytes,
    /// Bytes.
    window: f64,
    slow_start: bool,
    velocity: Velocity,
    min_rtt_window: Span,
    mark_kept: f64,
    rtt_min: TimeFilter,
    rtt_standing: TimeFilter,
    rtt_max: TimeFilter,
    /// 1/δ of default mode.
    inverse_default: f64,
    /// 1/δ of competitive mode; none in default mode.
    competing: Option<f64>,
    /// 1/δ before the last loss, should that prove spurious.
    before: Option<f64>,
    /// When the queue was last seen nearly empty; none before the first acknowledgement.
    empty_at: Option<Time>,
    /// Whether a loss or a mark came in this round.
    congested: bool,
    answered: u64,
    /// When packets began to take this path: round trips of earlier ones are another's.
    path_since: Time,
}

impl Copa {
    /// A controller at its initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        let window = setup.initial_window.max(minimum_window(setup.mtu)).get() as f64;
        Self {
            mtu: setup.mtu,
            window: window.min(LARGEST),
            slow_start: true,
            velocity: Velocity { value: 1.0, up: true, rounds: 0, from: window },
            min_rtt_window: Span::from_secs_f64(values.get("min_rtt_window")),
            mark_kept: values.get("mark_kept"),
            rtt_min: TimeFilter::smallest(),
            rtt_standing: TimeFilter::smallest(),
            rtt_max: TimeFilter::largest(),
            inverse_default: 1.0 / values.get("delta"),
            competing: None,
            before: None,
            empty_at: None,
            congested: false,
            answered: 0,
            path_since: setup.now,
        }
    }

    /// 1/δ in packets.
    fn inverse_delta(&self) -> f64 {
        self.competing.unwrap_or(self.inverse_default)
    }

    /// Bytes in a packet.
    fn segment(&self) -> f64 {
        self.mtu.get().max(1) as f64
    }

    fn set_window(&mut self, bytes: f64) {
        // `max` first: not a number becomes the smallest window.
        self.window = bytes.max(minimum_window(self.mtu).get() as f64).min(LARGEST);
    }

    fn rest(&mut self) {
        self.velocity = Velocity { value: 1.0, up: self.velocity.up, rounds: 0, from: self.window };
    }

    /// Once a round: which way the window went, and for how long it has (§2.1).
    fn update_velocity(&mut self) {
        if self.window == self.velocity.from {
            return;
        }
        let up = self.window > self.velocity.from;
        let rounds = if up == self.velocity.up { self.velocity.rounds + 1 } else { 0 };
        let value = match rounds {
            0 => 1.0,
            _ if rounds >= STEADY_ROUNDS => self.velocity.value * 2.0,
            _ => self.velocity.value,
        };
        // v/δ packets a round: no more than the window has.
        let most = (self.window / self.segment() / self.inverse_delta()).max(1.0);
        self.velocity = Velocity { value: value.min(most), up, rounds: rounds.min(STEADY_ROUNDS), from: self.window };
    }

    /// Which mode the path calls for (§2.2).
    fn update_mode(&mut self, ack: &Ack<'_>, queueing: f64, largest_queueing: f64) {
        let nearly_empty = queueing <= NEARLY_EMPTY * largest_queueing;
        let empty_at = if nearly_empty { ack.now } else { self.empty_at.unwrap_or(ack.now) };
        self.empty_at = Some(empty_at);
        if self.slow_start || ack.now.since(empty_at) <= ack.smoothed_rtt * EMPTY_WITHIN {
            self.competing = None;
        } else if self.competing.is_none() {
            self.competing = Some(self.inverse_default);
        }
        if ack.round_start {
            if let Some(inverse) = self.competing.as_mut().filter(|_| !self.congested) {
                *inverse = (*inverse + 1.0).min(LARGEST_INVERSE);
            }
            self.congested = false;
        }
    }

    /// A loss or a mark that nothing has been done about yet. False where that is not so.
    fn congestion(&mut self, newest: u64, next_number: u64) -> bool {
        if newest < self.answered {
            return false;
        }
        self.answered = next_number;
        self.congested = true;
        self.before = self.competing;
        self.competing = self.competing.map(|inverse| (inverse / 2.0).max(self.inverse_default));
        true
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.newest().sent_at < self.path_since {
            return;
        }
        let min = self.rtt_min.update(ack.now, self.min_rtt_window, ack.rtt);
        let standing = self.rtt_standing.update(ack.now, ack.smoothed_rtt / 2, ack.rtt);
        let max = self.rtt_max.update(ack.now, ack.smoothed_rtt * LARGEST_OVER, ack.rtt);
        let queueing = standing.saturating_sub(min).as_secs_f64();
        self.update_mode(ack, queueing, max.saturating_sub(min).as_secs_f64());

        let acked = ack.bytes.get() as f64;
        // λ ≤ 1 / (δ · dq), with λ = cwnd / RTTstanding, multiplied out so that no queue needs no case of its own.
        let inverse = self.inverse_delta();
        let below = self.window / self.segment() * queueing <= inverse * standing.as_secs_f64();
        if self.slow_start {
            if below {
                if !ack.app_limited {
                    self.set_window(self.window + acked);
                }
                return;
            }
            self.slow_start = false;
            self.rest();
        } else if ack.round_start {
            self.update_velocity();
        }
        if self.velocity.up != below && self.velocity.value > 1.0 {
            self.rest();
        }
        if below && ack.app_limited {
            return;
        }
        let step = self.velocity.value * inverse * self.segment() * acked / self.window;
        // One acknowledgement of more than a window, which only a reduced window sees, moves it by no more than itself.
        let step = step.min(acked).min(self.window);
        self.set_window(if below { self.window + step } else { self.window - step });
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.congestion(loss.newest().number, loss.next_number);
        if loss.persistent {
            self.set_window(0.0);
            self.slow_start = true;
            self.competing = None;
            self.before = None;
            self.rest();
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        if self.congestion(mark.newest, mark.next_number) {
            self.before = None;
            if self.competing.is_none() {
                self.slow_start = false;
                self.set_window(self.window * self.mark_kept);
                self.rest();
            }
        }
    }

    fn on_spurious_loss(&mut self, _: Time) {
        if let (Some(inverse), Some(before)) = (self.competing.as_mut(), self.before.take()) {
            *inverse = inverse.max(before);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        let min = change.shifted(self.rtt_min.get());
        self.rtt_min.clear();
        self.rtt_standing.clear();
        self.rtt_max.clear();
        match min {
            // The queue is as full or as empty as it was, and so is the mode.
            Some(min) => drop(self.rtt_min.update(change.now, self.min_rtt_window, min)),
            None => self.empty_at = None,
        }
        self.path_since = change.since;
        self.rest();
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.set_window(self.window);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.set_window(to.window.get() as f64);
        if let Some(ssthresh) = to.ssthresh {
            self.slow_start = ssthresh > to.window;
        }
        if let Some(min_rtt) = to.min_rtt {
            self.rtt_min.update(to.now, self.min_rtt_window, min_rtt);
        }
        self.answered = self.answered.max(to.answered);
        self.before = None;
        self.rest();
    }

    fn window(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // §2.1: twice the rate of the window, so that pacing is not what limits; at least a bit a second.
        let standing = self.rtt_standing.get()?;
        Some(Rate::over(self.window() + self.window(), standing).max(Rate::from_bps(1)))
    }

    fn in_slow_start(&self) -> bool {
        self.slow_start
    }

    fn phase(&self) -> &'static str {
        match (self.slow_start, self.competing) {
            (true, _) => "slow start",
            (false, None) => "default mode",
            (false, Some(_)) => "competitive mode",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bottleneck, MTU, Path, setup};

    fn copa() -> Copa {
        Copa::new(&setup(), &Values::defaults(PARAMETERS))
    }

    #[test]
    fn a_flow_alone_fills_the_path_with_a_queue_of_a_few_packets() {
        // 20 Mbps and 50 ms hold 125 packets.
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(50));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(5), |_, _| {});
        let delivered = path.ledger.next_number();
        let (mut sum, mut count, mut most) = (0, 0, 0);
        let mut competing = 0;
        path.run(&mut copa, Time::from_secs(25), |path, copa| {
            sum += path.queued();
            count += 1;
            most = most.max(path.queued());
            competing += u32::from(copa.phase() == "competitive mode");
        });
        let share = (path.ledger.next_number() - delivered) as f64 * 8_000.0 / 20e6 / 20.0;
        assert!(share > 0.95, "{share}");
        // Around 1/δ = 2 packets wait in equilibrium, 2.5/δ above and below it (§3): no more than a tenth of the path's 125.
        let mean = sum as f64 / f64::from(count);
        assert!(mean < 12.5, "{mean}, at most {most}");
        // Its own cycle is sometimes longer than the five round trips in which the queue should empty.
        assert!(competing < count / 3, "{competing} of {count}");
    }

    #[test]
    fn slow_start_doubles_each_round_until_the_target_rate() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        path.round(&mut copa, |_| false);
        path.round(&mut copa, |_| false);
        assert_eq!((copa.window(), copa.in_slow_start()), (Bytes::new(40_000), true));
        // Forty packets a round trip of 110 ms against 2 packets in 10 ms of queue: above the target.
        path.rtt = Span::from_millis(110);
        path.round(&mut copa, |_| false);
        assert!(!copa.in_slow_start());
    }

    #[test]
    fn velocity_doubles_after_three_rounds_one_way_and_turns_back_to_one() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        let window = Bytes::new(200 * MTU.get());
        copa.adjust(&Adjust { now: path.now, window, ssthresh: Some(window), rate: None, min_rtt: None, answered: 0 });
        let mut values = Vec::new();
        for _ in 0..7 {
            path.round(&mut copa, |_| false);
            values.push(copa.velocity.value);
        }
        assert_eq!(values, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        path.rtt = Span::from_millis(120);
        path.round(&mut copa, |_| false);
        assert_eq!(copa.velocity.value, 1.0);
    }

    #[test]
    fn a_queue_that_never_empties_calls_for_competition_until_it_does() {
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(50));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(3), |_, _| {});
        let alone = copa.window();
        path.others = Span::from_millis(60);
        path.run(&mut copa, Time::from_secs(6), |_, _| {});
        assert_eq!(copa.phase(), "competitive mode");
        // 60 ms of others' queue and two packets of its own would be a window of four.
        assert!(
            copa.inverse_delta() > 10.0 && copa.window().get() > alone.get() / 4,
            "{} {}",
            copa.inverse_delta(),
            copa.window()
        );
        path.others = Span::ZERO;
        path.run(&mut copa, Time::from_secs(20), |_, _| {});
        assert_eq!((copa.phase(), copa.inverse_delta()), ("default mode", 2.0));
    }

    #[test]
    fn losses_halve_the_share_in_competitive_mode_once_a_round_and_nothing_in_default_mode() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        path.round(&mut copa, |_| false);
        path.round(&mut copa, |index| index > 17);
        assert_eq!(copa.window(), Bytes::new(38_000));
        copa.competing = Some(12.0);
        for _ in 0..2 {
            let first = path.ledger.next_number() - 1;
            copa.congestion(first, first + 1);
        }
        assert_eq!(copa.inverse_delta(), 12.0, "answered in the round before");
        let next = path.ledger.next_number() + 5;
        copa.congestion(next, next + 1);
        copa.congestion(next, next + 1);
        assert_eq!(copa.inverse_delta(), 6.0);
        copa.on_spurious_loss(path.now);
        assert_eq!(copa.inverse_delta(), 12.0);
    }

    #[test]
    fn a_mark_is_answered_once() {
        let mut copa = copa();
        for _ in 0..2 {
            copa.on_mark(&Mark { now: Time::ZERO, newest: 9, bytes_in_flight: Bytes::ZERO, next_number: 10 });
        }
        assert_eq!((copa.window(), copa.in_slow_start()), (Bytes::new(8_000), false));
    }

    #[test]
    fn it_paces_at_two_windows_a_round_trip() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        assert_eq!(copa.pacing_rate(), None);
        path.round(&mut copa, |_| false);
        // Twenty packets of 8,000 bits, twice, in 0.1 s.
        assert_eq!(copa.pacing_rate(), Some(Rate::from_bps(3_200_000)));
    }

    #[test]
    fn a_path_change_forgets_the_round_trips_of_the_old_path() {
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(30));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(3), |_, _| {});
        path.rtt = Span::from_millis(60);
        let mut knows = copa.clone();
        knows.on_path_change(&PathChange::unknown(path.now));
        path.run(&mut knows, Time::from_secs(6), |_, _| {});
        // 150 packets fill the longer path; without the change they would be taken for a queue.
        assert!(knows.window() > Bytes::new(140_000), "{}", knows.window());
    }
}
