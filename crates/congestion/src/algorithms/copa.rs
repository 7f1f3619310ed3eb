//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018).
//!
//! The target rate is 1 / (δ · dq) packets per second, where dq is the queueing delay. The window
//! moves towards it, and accelerates while it keeps its direction (velocity). A queue of a few
//! packets that empties every five RTTs shows Copa that it shares the path only with its own kind:
//! it stays in default mode with δ = 0.5. If the queue never empties, other flows fill it: in
//! competitive mode 1/δ grows, and is halved as a Reno window (§2.2).
//!
//! In default mode losses have no effect, as in the paper. ECN-CE, which the paper does not
//! mention, reduces the window (RFC 9002 §7.1). Two bounds are our choices, since a velocity of
//! many doublings outlives its cause by an RTT: the window at most doubles per RTT, and a movement
//! against the velocity's direction resets it. A rate limiter that drops without queueing gives
//! Copa no delay to measure; only persistent congestion stops it there.

use crate::controller::minimum_window;
use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, PathChange, Restart, SendControl,
};
use crate::parameters::parameters;
use crate::windowed::WindowedRtt;
use bentpipe_units::{Bytes, Rate, Span, Time};

parameters! {
    /// Parameters of [`Copa`].
    Parameters {
        delta: 0.5, 0.004 => 10.0, "",
            "δ in default mode, and the largest in competitive mode; 1/δ packets are queued (paper \
             §2.1)";
        min_rtt_window: 10.0, 0.1 => 600.0, "s",
            "length of the minimum-RTT filter (paper §2.1)";
        ecn_beta: 0.8, 0.1 => 0.95, "",
            "fraction of the window that remains after ECN-CE in default mode (RFC 8511 §3, \
             beta_ecn)";
    }
}

/// Rounds in one direction before the velocity doubles (paper §2.1).
const STEADY_ROUNDS: u32 = 3;
/// Smoothed RTTs without an empty queue after which the mode is competitive (§2.2).
const EMPTY_WITHIN: u64 = 5;
/// Length of the maximum-RTT filter in smoothed RTTs (§2.2).
const LARGEST_OVER: u64 = 4;
/// Fraction of the maximum queueing delay up to which the queue counts as nearly empty (§2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Largest 1/δ in packets: more than the window of a GEO path.
const LARGEST_INVERSE: f64 = 65_536.0;
/// Largest window in bytes: floating point still represents whole bytes there.
const LARGEST: f64 = 9e15;

/// Direction and speed of the window's movement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Velocity {
    /// v in the paper, at least 1.
    value: f64,
    up: bool,
    /// Rounds in this direction.
    rounds: u32,
    /// Window in bytes at the start of the round.
    from: f64,
}

/// The Copa controller.
#[derive(Debug, Clone)]
pub struct Copa {
    mtu: Bytes,
    /// Window in bytes.
    window: f64,
    slow_start: bool,
    velocity: Velocity,
    min_rtt_window: Span,
    ecn_beta: f64,
    rtt_min: WindowedRtt,
    rtt_standing: WindowedRtt,
    rtt_max: WindowedRtt,
    /// 1/δ of default mode.
    inverse_default: f64,
    /// 1/δ of competitive mode. `None` in default mode.
    competing: Option<f64>,
    /// 1/δ before the last loss, in case it proves spurious.
    before: Option<f64>,
    /// Latest time at which the queue was nearly empty. `None` before the first ACK.
    empty_at: Option<Time>,
    /// True if there was congestion in this round.
    congested: bool,
    recovery_start: u64,
    /// Time since which packets take this path: earlier RTT samples belong to another.
    path_since: Time,
}

impl Copa {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let window = config.initial_window.max(minimum_window(config.mtu)).get() as f64;
        Self {
            mtu: config.mtu,
            window: window.min(LARGEST),
            slow_start: true,
            velocity: Velocity { value: 1.0, up: true, rounds: 0, from: window },
            min_rtt_window: Span::from_secs_f64(parameters.min_rtt_window),
            ecn_beta: parameters.ecn_beta,
            rtt_min: WindowedRtt::smallest(),
            rtt_standing: WindowedRtt::smallest(),
            rtt_max: WindowedRtt::largest(),
            inverse_default: 1.0 / parameters.delta,
            competing: None,
            before: None,
            empty_at: None,
            congested: false,
            recovery_start: 0,
            path_since: config.now,
        }
    }

    /// Returns 1/δ in packets.
    fn inverse_delta(&self) -> f64 {
        self.competing.unwrap_or(self.inverse_default)
    }

    /// Returns the packet size in bytes.
    fn segment(&self) -> f64 {
        self.mtu.get().max(1) as f64
    }

    fn set_window(&mut self, bytes: f64) {
        // `max` comes first, so that NaN becomes the minimum window.
        self.window = bytes.max(minimum_window(self.mtu).get() as f64).min(LARGEST);
    }

    /// Resets the velocity to 1.
    fn reset_velocity(&mut self) {
        self.velocity = Velocity { value: 1.0, up: self.velocity.up, rounds: 0, from: self.window };
    }

    /// Updates the velocity, once per round (§2.1).
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
        // v/δ packets per round, but no more than the window holds.
        let most = (self.window / self.segment() / self.inverse_delta()).max(1.0);
        self.velocity = Velocity {
            value: value.min(most),
            up,
            rounds: rounds.min(STEADY_ROUNDS),
            from: self.window,
        };
    }

    /// Chooses the mode (§2.2).
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

    /// Halves 1/δ in competitive mode, once per congestion event. Returns false if this event
    /// already did.
    fn congestion(&mut self, newest: u64, next_number: u64) -> bool {
        if newest < self.recovery_start {
            return false;
        }
        self.recovery_start = next_number;
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
        // λ ≤ 1 / (δ · dq) with λ = cwnd / RTTstanding, multiplied out so that an empty queue is no
        // special case.
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
            self.reset_velocity();
        } else if ack.round_start {
            self.update_velocity();
        }
        if self.velocity.up != below && self.velocity.value > 1.0 {
            self.reset_velocity();
        }
        if below && ack.app_limited {
            return;
        }
        let step = self.velocity.value * inverse * self.segment() * acked / self.window;
        // An ACK of more than a window, which is possible only after a reduction, moves the window
        // by at most the window.
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
            self.reset_velocity();
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        if self.congestion(ecn_ce.newest, ecn_ce.next_number) {
            self.before = None;
            if self.competing.is_none() {
                self.slow_start = false;
                self.set_window(self.window * self.ecn_beta);
                self.reset_velocity();
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
            // The queue is as full as before: the mode stays.
            Some(min) => drop(self.rtt_min.update(change.now, self.min_rtt_window, min)),
            None => self.empty_at = None,
        }
        self.path_since = change.since;
        self.reset_velocity();
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.set_window(self.window);
    }

    fn restart(&mut self, to: &Restart) {
        self.set_window(to.window.get() as f64);
        if let Some(ssthresh) = to.ssthresh {
            self.slow_start = ssthresh > to.window;
        }
        if let Some(min_rtt) = to.min_rtt {
            self.rtt_min.update(to.now, self.min_rtt_window, min_rtt);
        }
        self.recovery_start = self.recovery_start.max(to.recovery_start);
        self.before = None;
        self.reset_velocity();
    }

    fn send_control(&self) -> SendControl {
        let cwnd = Bytes::new(self.window as u64);
        let phase = match (self.slow_start, self.competing) {
            (true, _) => "slow start",
            (false, None) => "default mode",
            (false, Some(_)) => "competitive mode",
        };
        // §2.1: two windows per standing RTT, so that cwnd remains the limit; at least one bit per
        // second.
        let standing = self.rtt_standing.get();
        let pacing_rate = standing.map(|rtt| Rate::over(cwnd + cwnd, rtt).max(Rate::from_bps(1)));
        SendControl { pacing_rate, ..SendControl::window(cwnd, self.slow_start, phase) }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bottleneck, MTU, Path, config};

    fn copa() -> Copa {
        Copa::new(&config(), &Parameters::default())
    }

    #[test]
    fn a_single_flow_fills_the_path_with_a_queue_of_a_few_packets() {
        // 20 Mbps and 50 ms hold 125 packets.
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(50));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(5), |_, _| {});
        let delivered = path.sent_packets.next_number();
        let (mut sum, mut count, mut most) = (0, 0, 0);
        let mut competing = 0;
        path.run(&mut copa, Time::from_secs(25), |path, copa| {
            sum += path.queued();
            count += 1;
            most = most.max(path.queued());
            competing += u32::from(copa.send_control().phase == "competitive mode");
        });
        let share = (path.sent_packets.next_number() - delivered) as f64 * 8_000.0 / 20e6 / 20.0;
        assert!(share > 0.95, "{share}");
        // In equilibrium around 1/δ = 2 packets queue, 2.5/δ above and below it (§3): at most a
        // tenth of the path's 125.
        let mean = sum as f64 / f64::from(count);
        assert!(mean < 12.5, "{mean}, at most {most}");
        // Its own cycle is sometimes longer than the five RTTs in which the queue should empty.
        assert!(competing < count / 3, "{competing} of {count}");
    }

    #[test]
    fn slow_start_doubles_each_round_until_the_target_rate() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        path.round(&mut copa, |_| false);
        path.round(&mut copa, |_| false);
        assert_eq!(
            (copa.send_control().cwnd, copa.send_control().in_slow_start),
            (Bytes::new(40_000), true)
        );
        // Forty packets per RTT of 110 ms against 2 packets per 10 ms of queueing: above the
        // target.
        path.rtt = Span::from_millis(110);
        path.round(&mut copa, |_| false);
        assert!(!copa.send_control().in_slow_start);
    }

    #[test]
    fn velocity_doubles_after_three_rounds_in_one_direction_and_resets_on_reversal() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        let window = Bytes::new(200 * MTU.get());
        copa.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
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
    fn a_queue_that_never_empties_selects_competitive_mode_until_it_does() {
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(50));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(3), |_, _| {});
        let alone = copa.send_control().cwnd;
        path.others = Span::from_millis(60);
        path.run(&mut copa, Time::from_secs(6), |_, _| {});
        assert_eq!(copa.send_control().phase, "competitive mode");
        // 60 ms of other flows' queue and two own packets would mean a window of four.
        assert!(
            copa.inverse_delta() > 10.0 && copa.send_control().cwnd.get() > alone.get() / 4,
            "{} {}",
            copa.inverse_delta(),
            copa.send_control().cwnd
        );
        path.others = Span::ZERO;
        path.run(&mut copa, Time::from_secs(20), |_, _| {});
        assert_eq!((copa.send_control().phase, copa.inverse_delta()), ("default mode", 2.0));
    }

    #[test]
    fn losses_halve_the_inverse_delta_once_a_round_in_competitive_mode_only() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        path.round(&mut copa, |_| false);
        path.round(&mut copa, |index| index > 17);
        assert_eq!(copa.send_control().cwnd, Bytes::new(38_000));
        copa.competing = Some(12.0);
        for _ in 0..2 {
            let first = path.sent_packets.next_number() - 1;
            copa.congestion(first, first + 1);
        }
        assert_eq!(copa.inverse_delta(), 12.0, "reduced in the previous round");
        let next = path.sent_packets.next_number() + 5;
        copa.congestion(next, next + 1);
        copa.congestion(next, next + 1);
        assert_eq!(copa.inverse_delta(), 6.0);
        copa.on_spurious_loss(path.now);
        assert_eq!(copa.inverse_delta(), 12.0);
    }

    #[test]
    fn ecn_ce_reduces_once_per_round() {
        let mut copa = copa();
        for _ in 0..2 {
            copa.on_ecn_ce(&EcnCe {
                now: Time::ZERO,
                newest: 9,
                bytes_in_flight: Bytes::ZERO,
                next_number: 10,
                marked: None,
            });
        }
        assert_eq!(
            (copa.send_control().cwnd, copa.send_control().in_slow_start),
            (Bytes::new(8_000), false)
        );
    }

    #[test]
    fn it_paces_at_two_windows_per_rtt() {
        let mut path = Path::new(Span::from_millis(100));
        let mut copa = copa();
        assert_eq!(copa.send_control().pacing_rate, None);
        path.round(&mut copa, |_| false);
        // Twenty packets of 8,000 bits, twice, in 0.1 s.
        assert_eq!(copa.send_control().pacing_rate, Some(Rate::from_bps(3_200_000)));
    }

    #[test]
    fn a_path_change_discards_rtt_samples_of_the_old_path() {
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(30));
        let mut copa = copa();
        path.run(&mut copa, Time::from_secs(3), |_, _| {});
        path.rtt = Span::from_millis(60);
        let mut knows = copa.clone();
        knows.on_path_change(&PathChange::unknown(path.now));
        path.run(&mut knows, Time::from_secs(6), |_, _| {});
        // 150 packets fill the longer path. Without the announcement they would look like a queue.
        assert!(knows.send_control().cwnd > Bytes::new(140_000), "{}", knows.send_control().cwnd);
    }
}
