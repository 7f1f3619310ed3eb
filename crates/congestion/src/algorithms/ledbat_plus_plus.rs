//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus), for transfers that should not disturb others: it
//! keeps a short queue of its own and gives way to senders that fill it.
//!
//! The queue is the smallest of the last RTTs minus the smallest of ten minutes. Below the target
//! the window grows like NewReno's, multiplied by a gain that is 1 from 120 ms of RTT on and less
//! below; above, it shrinks by the excess, at most by half per RTT. Its own slow start grows by
//! the gain, too, and ends at three quarters of the target.
//!
//! A standing queue of several such flows would look like a part of the path. So each flow slows
//! down from time to time, so that the queue empties: to two packets for two RTTs, then by slow
//! start up to the window that it had. The first slowdown begins two RTTs after the first slow
//! start, and each further one after nine times the duration of the one before.
//!
//! What the draft leaves open: slow start after a slowdown doubles the window per RTT, whatever the
//! gain, because otherwise it would take far longer than a tenth of the time; a loss halves the
//! window, as RFC 9002 has it.

use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, PathChange, Restart, SendControl,
    minimum_window,
};
use crate::parameters::parameters;
use crate::windowed::WindowedRtt;
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Name in scenarios.
pub const NAME: &str = "ledbat++";

parameters! {
    /// Parameters of [`LedbatPlusPlus`].
    Parameters {
        target: 60.0, 1.0 => 10000.0, "ms",
            "queueing delay to keep (draft §4.5)";
        slow_start_exit: 0.75, 0.01 => 10.0, "",
            "fraction of the target at which the first slow start ends (draft §4.1)";
        gain_divisor: 16.0, 1.0 => 1000.0, "",
            "largest divisor of the gain, on short paths (draft §4.2)";
        decrease: 1.0, 0.01 => 100.0, "",
            "fraction of the window that a queue of twice the target takes per RTT (draft §4.3)";
        slowdown_interval: 9.0, 0.0 => 10000.0, "",
            "time between slowdowns, as a multiple of their duration (draft §4.4); 0: none";
        loss_beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a loss (RFC 9002 appendix B.1)";
    }
}

/// RTTs during which the window stays at its minimum in a slowdown, and that pass before the first
/// one (draft §4.4).
const SLOWDOWN_RTTS: u64 = 2;
/// RTTs of which the smallest counts (RFC 6817 §4.2, CURRENT_FILTER).
const FILTER: usize = 4;
/// Time over which the smallest RTT is the path's (RFC 6817 §4.2, BASE_HISTORY).
const HISTORY: Span = Span::from_secs(600);

/// What the flow does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    SlowStart,
    /// Holds the queue at the target.
    Avoidance {
        /// Begin of the next slowdown.
        slowdown: Option<Time>,
    },
    /// The window is at its minimum.
    Frozen { since: Time, until: Time },
    /// Slow start up to the window before the slowdown that began at `since`.
    Ramp { since: Time },
}

/// The smallest RTTs of the last samples, and of the last ten minutes.
#[derive(Debug, Clone)]
struct Delays {
    last: VecDeque<Span>,
    base: WindowedRtt,
}

impl Delays {
    /// Creates them, with `base` if it is known.
    fn new(now: Time, base: Option<Span>) -> Self {
        let mut delays = Self { last: VecDeque::new(), base: WindowedRtt::smallest() };
        if let Some(rtt) = base {
            delays.base.update(now, HISTORY, rtt);
        }
        delays
    }

    fn add(&mut self, now: Time, rtt: Span) {
        if self.last.len() == FILTER {
            self.last.pop_front();
        }
        self.last.push_back(rtt);
        self.base.update(now, HISTORY, rtt);
    }

    /// Returns the queueing delay.
    fn queue(&self) -> Span {
        let last = self.last.iter().min().copied().unwrap_or_default();
        last.saturating_sub(self.base.get().unwrap_or_default())
    }
}

/// The LEDBAT++ controller.
#[derive(Debug, Clone)]
pub struct LedbatPlusPlus {
    parameters: Parameters,
    mtu: Bytes,
    /// Congestion window in bytes.
    window: f64,
    ssthresh: Option<f64>,
    phase: Phase,
    delays: Delays,
    smoothed_rtt: Span,
    /// Losses of packets with smaller numbers belong to the last reduction.
    recovery_start: u64,
    /// Window and threshold before the last loss, in case it proves spurious.
    before: Option<(f64, Option<f64>)>,
    /// Time since which packets take this path.
    path_since: Time,
}

impl LedbatPlusPlus {
    /// Creates a controller with a window of two packets (draft §4.1).
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            parameters: *parameters,
            mtu: config.mtu,
            window: minimum_window(config.mtu).get() as f64,
            ssthresh: None,
            phase: Phase::SlowStart,
            delays: Delays::new(config.now, None),
            smoothed_rtt: Span::ZERO,
            recovery_start: 0,
            before: None,
            path_since: config.now,
        }
    }

    fn minimum(&self) -> f64 {
        minimum_window(self.mtu).get() as f64
    }

    fn target(&self) -> f64 {
        self.parameters.target / 1e3
    }

    /// Returns the growth per RTT in packets: 1 from twice the target on, less below (draft §4.2).
    fn gain(&self) -> f64 {
        let base = self.delays.base.get().unwrap_or_default().as_secs_f64().max(1e-6);
        1.0 / (2.0 * self.target() / base).ceil().clamp(1.0, self.parameters.gain_divisor)
    }

    /// Returns the change of the window per RTT, in bytes (draft §4.2 and §4.3).
    fn change_per_rtt(&self) -> f64 {
        let growth = self.gain() * self.mtu.get() as f64;
        let excess = self.delays.queue().as_secs_f64() / self.target() - 1.0;
        if excess <= 0.0 {
            return growth;
        }
        (growth - self.parameters.decrease * self.window * excess).max(-self.window / 2.0)
    }

    /// Ends the first slow start: the first slowdown follows soon.
    fn end_slow_start(&mut self, now: Time) {
        self.ssthresh = Some(self.window);
        self.avoid(now, self.smoothed_rtt * SLOWDOWN_RTTS);
    }

    /// Holds the queue at the target until a slowdown after `wait`.
    fn avoid(&mut self, now: Time, wait: Span) {
        let slowdown = (self.parameters.slowdown_interval > 0.0).then(|| now + wait);
        self.phase = Phase::Avoidance { slowdown };
    }

    /// Grows by `bytes` in slow start, at most to the threshold.
    fn grow(&mut self, bytes: f64) {
        self.window = (self.window + bytes).min(self.ssthresh.unwrap_or(f64::MAX));
    }

    fn slow_start(&mut self, ack: &Ack<'_>, may_grow: bool) {
        let exit = self.target() * self.parameters.slow_start_exit;
        if self.delays.queue().as_secs_f64() > exit {
            self.end_slow_start(ack.now);
        } else if may_grow {
            self.grow(ack.bytes.get() as f64 * self.gain());
            if self.ssthresh.is_some_and(|ssthresh| self.window >= ssthresh) {
                self.end_slow_start(ack.now);
            }
        }
    }

    fn avoidance(&mut self, ack: &Ack<'_>, slowdown: Option<Time>, may_grow: bool) {
        if slowdown.is_some_and(|at| ack.now >= at) {
            self.ssthresh = Some(self.window);
            self.window = self.minimum();
            let until = ack.now + self.smoothed_rtt * SLOWDOWN_RTTS;
            self.phase = Phase::Frozen { since: ack.now, until };
            return;
        }
        let part = (ack.bytes.get() as f64 / self.window).min(1.0);
        let change = self.change_per_rtt() * part;
        if change < 0.0 || may_grow {
            self.window = (self.window + change).max(self.minimum());
        }
    }

    fn ramp(&mut self, ack: &Ack<'_>, since: Time, may_grow: bool) {
        if may_grow {
            self.grow(ack.bytes.get() as f64);
        }
        if self.ssthresh.is_none_or(|ssthresh| self.window >= ssthresh) {
            let duration = ack.now.since(since);
            self.avoid(ack.now, duration.mul_f64(self.parameters.slowdown_interval));
        }
    }

    /// Reduces the window, once for all losses among packets sent before the reduction.
    fn reduce(&mut self, now: Time, newest: u64, next_number: u64) {
        if newest < self.recovery_start {
            return;
        }
        self.recovery_start = next_number;
        self.before = Some((self.window, self.ssthresh));
        self.window = (self.window * self.parameters.loss_beta).max(self.minimum());
        match self.phase {
            Phase::SlowStart => self.end_slow_start(now),
            Phase::Avoidance { .. } => self.ssthresh = Some(self.window),
            // The window before the slowdown was too large as well.
            Phase::Frozen { .. } | Phase::Ramp { .. } => {
                let least = self.window;
                let reduced = |ssthresh: f64| (ssthresh * self.parameters.loss_beta).max(least);
                self.ssthresh = self.ssthresh.map(reduced);
            }
        }
    }
}

impl Controller for LedbatPlusPlus {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.smoothed_rtt = ack.smoothed_rtt;
        if ack.newest().sent_at < self.path_since {
            return;
        }
        self.delays.add(ack.now, ack.rtt);
        // RFC 9002 §7.8 and §7.3.2.
        let may_grow = !ack.app_limited && ack.newest().number >= self.recovery_start;
        match self.phase {
            Phase::SlowStart => self.slow_start(ack, may_grow),
            Phase::Avoidance { slowdown } => self.avoidance(ack, slowdown, may_grow),
            Phase::Frozen { since, until } => {
                if ack.now >= until {
                    self.phase = Phase::Ramp { since };
                }
            }
            Phase::Ramp { since } => self.ramp(ack, since, may_grow),
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.reduce(loss.now, loss.newest().number, loss.next_number);
        if loss.persistent {
            // RFC 9002 §7.6.2, and slow start up to the threshold.
            self.window = self.minimum();
            self.before = None;
            self.phase = Phase::Ramp { since: loss.now };
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.reduce(ecn_ce.now, ecn_ce.newest, ecn_ce.next_number);
        self.before = None;
    }

    fn on_spurious_loss(&mut self, _: Time) {
        if let Some((window, ssthresh)) = self.before.take()
            && matches!(self.phase, Phase::Avoidance { .. })
        {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        let base = change.shifted(self.delays.base.get());
        self.delays = Delays::new(change.now, base);
        self.path_since = change.since;
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(self.minimum());
    }

    fn restart(&mut self, to: &Restart) {
        self.window = (to.window.get() as f64).max(self.minimum());
        self.ssthresh = to.ssthresh.map(|ssthresh| ssthresh.get() as f64).or(self.ssthresh);
        self.recovery_start = self.recovery_start.max(to.recovery_start);
        self.before = None;
        if let Some(min_rtt) = to.min_rtt {
            self.delays.add(to.now, min_rtt);
            self.smoothed_rtt = self.smoothed_rtt.max(min_rtt);
        }
        self.phase = Phase::SlowStart;
        if self.ssthresh.is_some_and(|ssthresh| self.window >= ssthresh) {
            self.end_slow_start(to.now);
        }
    }

    fn send_control(&self) -> SendControl {
        let (searches, phase) = match self.phase {
            Phase::SlowStart => (true, "slow start"),
            Phase::Avoidance { .. } => (false, "congestion avoidance"),
            Phase::Frozen { .. } | Phase::Ramp { .. } => (false, "slowdown"),
        };
        let cwnd = Bytes::new(self.window as u64).max(minimum_window(self.mtu));
        SendControl {
            ssthresh: self.ssthresh.map(|ssthresh| Bytes::new(ssthresh as u64)),
            ..SendControl::window(cwnd, searches, phase)
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bottleneck, MTU, Path, config};
    use bentpipe_units::Rate;

    fn ledbat() -> LedbatPlusPlus {
        LedbatPlusPlus::new(&config(), &Parameters::default())
    }

    /// Returns a flow without slow start and slowdowns, with a window of `packets` and an RTT of
    /// `base`.
    fn avoiding(packets: u64, base: Span) -> LedbatPlusPlus {
        let parameters = Parameters { slowdown_interval: 0.0, ..Parameters::default() };
        let mut ledbat = LedbatPlusPlus::new(&config(), &parameters);
        let window = Bytes::new(packets * MTU.get());
        ledbat.restart(&Restart {
            now: Time::ZERO,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: Some(base),
            recovery_start: 0,
        });
        ledbat
    }

    #[test]
    fn the_gain_is_one_from_twice_the_target_on() {
        for (base, divisor) in [
            (1, 16.0),
            (5, 16.0),
            (10, 12.0),
            (30, 4.0),
            (60, 2.0),
            (119, 2.0),
            (120, 1.0),
            (600, 1.0),
        ] {
            let gain = avoiding(10, Span::from_millis(base)).gain();
            assert!((gain - 1.0 / divisor).abs() < 1e-12, "{base} ms: {gain}");
        }
    }

    #[test]
    fn the_window_shrinks_by_the_excess_and_at_most_by_half_per_rtt() {
        let base = Span::from_millis(600);
        // Per RTT: a packet below the target, W · (delay/target - 1) less above.
        for (queue, packets) in [
            (0, 1.0),
            (59, 1.0),
            (60, 1.0),
            (66, 1.0 - 10.0),
            (75, 1.0 - 25.0),
            (120, -50.0),
            (600, -50.0),
        ] {
            let mut ledbat = avoiding(100, base);
            for _ in 0..FILTER {
                ledbat.delays.add(Time::ZERO, base + Span::from_millis(queue));
            }
            // The smallest of four is the base until all four are larger.
            let change = ledbat.change_per_rtt() / MTU.get() as f64;
            assert!((change - packets).abs() < 1e-6, "{queue} ms: {change}");
        }
    }

    /// Runs a flow alone over 20 Mbps with this RTT. Returns its phase and the queue in ms at each
    /// ACK, with the time.
    fn alone(rtt: Span, until: u64) -> (Bottleneck, Vec<(f64, &'static str, f64)>) {
        let mut path = Bottleneck::new(Rate::from_mbps(20), rtt);
        let mut seen = Vec::new();
        let mut ledbat = ledbat();
        path.run(&mut ledbat, Time::from_secs(until), |path, ledbat| {
            let queue = path.queued() as f64 * MTU.get() as f64 * 8.0 / 20e3;
            seen.push((path.now.as_secs_f64(), ledbat.send_control().phase, queue));
        });
        (path, seen)
    }

    #[test]
    fn alone_it_fills_the_link_with_at_most_the_target_of_queue() {
        let (path, seen) = alone(Span::from_millis(50), 120);
        let settled = seen.iter().filter(|(at, ..)| *at > 30.0);
        let largest = settled.clone().map(|(.., queue)| *queue).fold(0.0, f64::max);
        assert!(largest <= 62.0, "{largest} ms");
        assert!(settled.clone().any(|(.., queue)| *queue >= 55.0), "the target is used");
        // Slowdowns take at most a tenth of the time.
        let delivered = path.sent_packets.next_number() as f64 * MTU.get() as f64 * 8.0 / 120.0;
        assert!(delivered / 20e6 > 0.88, "{delivered} bit/s");
    }

    #[test]
    fn slowdowns_begin_after_two_rtts_and_then_after_nine_times_their_duration() {
        let (_, seen) = alone(Span::from_millis(50), 60);
        let changes: Vec<(f64, &str)> = seen
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .map(|pair| (pair[1].0, pair[1].1))
            .collect();
        let [(ended, avoidance), (first, slowdown), ..] = changes[..] else {
            panic!("{changes:?}")
        };
        assert_eq!((avoidance, slowdown), ("congestion avoidance", "slowdown"));
        // The RTT with the queue is at most 110 ms.
        assert!((0.1..0.25).contains(&(first - ended)), "{changes:?}");
        let mut cycles = 0;
        for cycle in changes[1..].windows(3).step_by(2) {
            let (duration, pause) = (cycle[1].0 - cycle[0].0, cycle[2].0 - cycle[1].0);
            assert!((pause / duration - 9.0).abs() < 0.2, "{cycle:?}");
            cycles += 1;
        }
        assert!(cycles >= 5, "{changes:?}");
    }

    #[test]
    fn it_gives_way_to_a_queue_of_others_and_comes_back() {
        let mut path = Bottleneck::new(Rate::from_mbps(20), Span::from_millis(50));
        let mut ledbat = ledbat();
        // Largest windows of the last ten seconds: a slowdown may be the last that happens.
        let mut largest = |path: &mut Bottleneck, until: u64| {
            let (since, mut most) = (Time::from_secs(until - 10), Bytes::ZERO);
            path.run(&mut ledbat, Time::from_secs(until), |path, ledbat| {
                if path.now >= since {
                    most = most.max(ledbat.send_control().cwnd);
                }
            });
            most
        };
        let before = largest(&mut path, 30);
        path.others = Span::from_millis(200);
        assert_eq!(largest(&mut path, 50), MTU + MTU, "two packets beside others");
        path.others = Span::ZERO;
        let after = largest(&mut path, 300);
        assert!(after.get() * 10 > before.get() * 8, "{before} and {after}");
    }

    #[test]
    fn slow_start_begins_with_two_packets_and_grows_by_the_gain() {
        let window = |base, rounds| {
            let (mut ledbat, mut path) = (ledbat(), Path::new(Span::from_millis(base)));
            (0..rounds).for_each(|_| path.round(&mut ledbat, |_| false));
            ledbat.send_control().cwnd.get() / MTU.get()
        };
        assert_eq!([window(600, 0), window(600, 1), window(600, 5)], [2, 4, 64]);
        assert!((4..12).contains(&window(30, 5)), "{}", window(30, 5));
    }

    #[test]
    fn losses_halve_the_window_once_per_flight_and_spurious_ones_do_not() {
        let mut path = Path::new(Span::from_millis(200));
        let mut ledbat = avoiding(100, Span::from_millis(200));
        path.round(&mut ledbat, |index| index < 5);
        let reduced = ledbat.send_control().cwnd.get() / MTU.get();
        assert_eq!(reduced, 50);
        ledbat.on_spurious_loss(path.now);
        assert_eq!(ledbat.send_control().cwnd.get() / MTU.get(), 100);
    }

    #[test]
    fn a_longer_path_is_no_queue_once_it_is_announced() {
        let (mut path, mut ledbat) =
            (Path::new(Span::from_millis(150)), avoiding(100, Span::from_millis(150)));
        path.round(&mut ledbat, |_| false);
        let before = ledbat.send_control().cwnd;
        path.rtt = Span::from_millis(350);
        let change = PathChange {
            now: path.now,
            since: path.now,
            rtt_increase: Some(Span::from_millis(200)),
        };
        ledbat.on_path_change(&change);
        path.round(&mut ledbat, |_| false);
        assert!(ledbat.send_control().cwnd >= before);
    }
}
