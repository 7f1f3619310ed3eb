//! Prague, the scalable controller for L4S (RFC 9330 to 9332): it answers to the fraction of marked
//! packets instead of to the first of a round.

use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl, minimum_window,
};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Name in scenarios.
pub const NAME: &str = "prague";

parameters! {
    /// Parameters of [`Prague`].
    Parameters {
        gain: 0.0625, 0.001 => 1.0, "",
            "weight of a new fraction of marked packets in its mean (RFC 8257 §3.3, g)";
        virtual_rtt: 25.0, 0.0 => 1000.0, "ms",
            "RTT below which flows behave as if they had it (udp_prague, REF_RTT)";
        beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a loss (udp_prague)";
        burst: 250.0, 1.0 => 10000.0, "us",
            "largest burst, as time at the pacing rate (udp_prague)";
    }
}

/// The Prague controller, as in the L4S team's udp_prague.
///
/// It needs the number of marks ([`EcnCe::marked`]). Reports without one, such as TCP's echo of RFC
/// 3168, are taken as losses. Its slow start is that of NewReno, which the first mark ends.
#[derive(Debug, Clone)]
pub struct Prague {
    parameters: Parameters,
    mtu: Bytes,
    /// Congestion window in bytes.
    window: f64,
    ssthresh: Option<Bytes>,
    /// Mean fraction of marked packets. 1 until the first mark, as in Linux's tcp_prague, which is
    /// then answered like a loss.
    alpha: f64,
    /// True if a packet has been marked.
    saw_ce: bool,
    round: Round,
    /// Marks of packets with smaller numbers belong to the last reduction.
    recovery_start: u64,
    /// Time of the last reduction for marks.
    reduced_at: Option<Time>,
    smoothed_rtt: Span,
    /// Packets of the last ACK, and growth for each of them.
    last_growth: (u64, f64),
    /// Window and threshold before the last loss, in case it proves spurious.
    before: Option<(f64, Option<Bytes>)>,
}

/// Packets since the last update of the mean.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// `None` before the first ACK.
    start: Option<Time>,
    /// The round ends with this packet.
    until: u64,
    acked: u64,
    marked: u64,
    /// Start and last packet of the next round, once an ACK has ended this one. The marks of that
    /// ACK are reported after it.
    next: Option<(Time, u64)>,
}

impl Prague {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let window = config.initial_window.max(minimum_window(config.mtu));
        Self {
            parameters: *parameters,
            mtu: config.mtu,
            window: window.get() as f64,
            ssthresh: None,
            alpha: 1.0,
            saw_ce: false,
            round: Round::default(),
            recovery_start: 0,
            reduced_at: None,
            smoothed_rtt: Span::ZERO,
            last_growth: (0, 0.0),
            before: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh.get() as f64)
    }

    /// Returns the RTT with which the flow behaves.
    fn virtual_rtt(&self) -> Span {
        let least = Span::from_nanos((self.parameters.virtual_rtt * 1e6) as u64);
        self.smoothed_rtt.max(least)
    }

    /// Returns the growth in bytes for a packet that is acknowledged: a packet in each virtual RTT.
    fn growth(&self) -> f64 {
        let scale = self.smoothed_rtt.as_secs_f64() / self.virtual_rtt().as_secs_f64().max(1e-9);
        let mtu = self.mtu.get() as f64;
        mtu * mtu / self.window * scale * scale
    }

    fn grow(&mut self, ack: &Ack<'_>) {
        self.last_growth = (0, 0.0);
        if ack.app_limited {
            return;
        }
        if self.in_slow_start() {
            let most = self.ssthresh.map_or(f64::MAX, |ssthresh| ssthresh.get() as f64);
            self.window = (self.window + ack.bytes.get() as f64).min(most);
            return;
        }
        let packets = ack.packets.len() as u64;
        self.last_growth = (packets, self.growth());
        self.window += packets as f64 * self.last_growth.1;
    }

    /// Counts an ACK, which ends the round if it covers one and a virtual RTT.
    fn count(&mut self, ack: &Ack<'_>) {
        self.end_round();
        self.round.acked += ack.packets.len() as u64;
        let every = self.virtual_rtt();
        let Round { start, until, .. } = self.round;
        if start.is_none_or(|start| ack.newest().number >= until && ack.now.since(start) >= every) {
            self.round.next = Some((ack.now, ack.next_number));
        }
    }

    /// Updates the mean of the fraction if the last ACK has ended a round, with that ACK's marks:
    /// both counts go up to the same packet, as in draft-briscoe-iccrg-prague-congestion-control
    /// and udp_prague.
    fn end_round(&mut self) {
        let Round { start, acked, marked, next, .. } = self.round;
        let Some((at, until)) = next else { return };
        if start.is_some() && self.saw_ce && acked > 0 {
            let fraction = (marked as f64 / acked as f64).min(1.0);
            self.alpha += self.parameters.gain * (fraction - self.alpha);
        }
        self.round = Round { start: Some(at), until, ..Round::default() };
    }

    /// Reduces the window to `fraction` of it, and ends slow start.
    fn reduce(&mut self, fraction: f64, next_number: u64) {
        self.window = (self.window * fraction).max(minimum_window(self.mtu).get() as f64);
        self.ssthresh = Some(Bytes::new(self.window as u64));
        self.recovery_start = next_number;
    }

    /// Reduces the window for losses, once for those among packets sent before the reduction.
    fn on_congestion(&mut self, newest: u64, next_number: u64) {
        if newest < self.recovery_start {
            return;
        }
        self.before = Some((self.window, self.ssthresh));
        self.reduce(self.parameters.beta, next_number);
    }
}

impl Controller for Prague {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.smoothed_rtt = ack.smoothed_rtt;
        self.count(ack);
        self.grow(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.on_congestion(loss.newest().number, loss.next_number);
        if loss.persistent {
            // RFC 9002 §7.6.2.
            self.window = minimum_window(self.mtu).get() as f64;
            self.before = None;
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        let Some(marked) = ecn_ce.marked else {
            self.on_congestion(ecn_ce.newest, ecn_ce.next_number);
            self.before = None;
            return;
        };
        self.round.marked += marked;
        // The first mark is answered like a loss, whatever round it ends.
        if std::mem::replace(&mut self.saw_ce, true) {
            self.end_round();
        }
        // Marked packets do not add to the window.
        let (packets, growth) = std::mem::take(&mut self.last_growth);
        self.window -= marked.min(packets) as f64 * growth;
        let soon = self.reduced_at.is_some_and(|at| ecn_ce.now.since(at) < self.virtual_rtt());
        if ecn_ce.newest < self.recovery_start || soon {
            return;
        }
        self.reduced_at = Some(ecn_ce.now);
        self.reduce(1.0 - self.alpha / 2.0, ecn_ce.next_number);
        // A loss before it that proves spurious does not undo it.
        self.before = None;
    }

    fn on_spurious_loss(&mut self, _: Time) {
        if let Some((window, ssthresh)) = self.before.take() {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
        }
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu).get() as f64);
    }

    fn restart(&mut self, to: &Restart) {
        self.window = to.window.max(minimum_window(self.mtu)).get() as f64;
        self.ssthresh = to.ssthresh.or(self.ssthresh);
        self.recovery_start = self.recovery_start.max(to.recovery_start);
        self.before = None;
    }

    fn send_control(&self) -> SendControl {
        let cwnd = Bytes::new(self.window as u64).max(minimum_window(self.mtu));
        let in_slow_start = self.in_slow_start();
        let phase = if in_slow_start { "slow start" } else { "congestion avoidance" };
        let control = SendControl {
            ssthresh: self.ssthresh,
            ..SendControl::window(cwnd, in_slow_start, phase)
        };
        let rtt = self.smoothed_rtt.as_secs_f64();
        if in_slow_start || rtt <= 0.0 {
            return control;
        }
        let bits_per_s = cwnd.get() as f64 * 8.0 / rtt;
        let burst = Bytes::new((bits_per_s / 8.0 * self.parameters.burst / 1e6) as u64);
        SendControl {
            pacing_rate: Some(Rate::from_bps((bits_per_s as u64).max(1))),
            send_quantum: Some(burst.max(self.mtu)),
            ..control
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent_packets::SentPackets;
    use crate::testing::{MTU, config};
    use std::collections::VecDeque;

    /// A flow with one RTT whose window is always in flight.
    struct Flow {
        prague: Prague,
        sent: SentPackets,
        now: Time,
        rtt: Span,
        /// For each packet in flight, how many there were when it was sent.
        in_flight: VecDeque<usize>,
        /// State of a generator of random numbers.
        random: u64,
        marks: u64,
        /// Sum of windows in packets, each times the time in which it was in force, and that time.
        windows: (f64, f64),
    }

    impl Flow {
        fn new(rtt: Span) -> Self {
            Self {
                prague: Prague::new(&config(), &Parameters::default()),
                sent: SentPackets::new(),
                now: Time::ZERO,
                rtt,
                in_flight: VecDeque::new(),
                random: 1,
                marks: 0,
                windows: (0.0, 0.0),
            }
        }

        fn unit(&mut self) -> f64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 11) as f64 / (1u64 << 53) as f64
        }

        fn packets(&self) -> f64 {
            self.prague.window / MTU.get() as f64
        }

        /// Acknowledges the oldest packet, of which `is_marked` says whether it is marked.
        fn step(&mut self, is_marked: impl FnOnce(&mut Self, usize) -> bool) {
            while self.sent.bytes_in_flight() + MTU <= self.prague.send_control().cwnd {
                let packet = self.sent.on_sent(self.now, MTU);
                self.prague.on_packet_sent(&packet);
                self.in_flight.push_back(self.in_flight.len());
            }
            let gap = self.rtt / self.in_flight.len() as u64;
            self.windows.0 += self.packets() * gap.as_secs_f64();
            self.windows.1 += gap.as_secs_f64();
            self.now += gap;
            let number = self.sent.next_number() - self.in_flight.len() as u64;
            let before = self.in_flight.pop_front().unwrap();
            self.sent.on_acked(self.now, number);
            self.sent.report_ack(self.now, false, |ack| self.prague.on_ack(ack));
            if is_marked(self, before) {
                self.marks += 1;
                self.mark(number, Some(1));
            }
        }

        fn mark(&mut self, newest: u64, marked: Option<u64>) {
            let next_number = self.sent.next_number();
            let bytes_in_flight = self.sent.bytes_in_flight();
            let now = self.now;
            self.prague.on_ecn_ce(&EcnCe { now, newest, bytes_in_flight, next_number, marked });
        }

        /// Returns the mean window and the share of marked packets of `packets` packets.
        fn mean(
            &mut self,
            packets: u64,
            mut is_marked: impl FnMut(&mut Self, usize) -> bool,
        ) -> (f64, f64) {
            (self.windows, self.marks) = ((0.0, 0.0), 0);
            (0..packets).for_each(|_| self.step(&mut is_marked));
            (self.windows.0 / self.windows.1, self.marks as f64 / packets as f64)
        }
    }

    #[test]
    fn the_first_mark_halves_and_later_ones_reduce_by_half_their_share() {
        let mut flow = Flow::new(Span::from_millis(100));
        (0..30).for_each(|_| flow.step(|_, _| false));
        assert_eq!(flow.packets(), 40.0, "doubles in each RTT");
        flow.step(|_, _| true);
        assert_eq!((flow.packets(), flow.prague.in_slow_start()), (20.5, false));
        // Until the packets sent before the reduction have arrived, marks only count.
        flow.step(|_, _| true);
        assert_eq!(flow.packets(), 20.5);
        // Without marks, the mean falls by a sixteenth in each round.
        let before = flow.prague.alpha;
        (0..300).for_each(|_| flow.step(|_, _| false));
        let rounds = (flow.prague.alpha / before).ln() / (15.0f64 / 16.0).ln();
        assert!((9.0..14.0).contains(&rounds), "{rounds}");
        let (window, alpha) = (flow.packets(), flow.prague.alpha);
        flow.step(|_, _| true);
        let expected = window * (1.0 - alpha / 2.0);
        assert!((flow.packets() - expected).abs() < 0.01, "{} for {expected}", flow.packets());
    }

    #[test]
    fn marks_of_the_ack_that_ends_a_round_count_to_that_round_and_to_the_reduction_after_it() {
        let mut flow = Flow::new(Span::from_millis(100));
        (0..30).for_each(|_| flow.step(|_, _| false));
        flow.step(|_, _| true);
        (0..300).for_each(|_| flow.step(|_, _| false));
        let marks = flow.marks;
        let (mut before, mut acked) = (0.0, 0);
        let mut window = 0.0;
        while flow.marks == marks {
            (before, acked) = (flow.prague.alpha, flow.prague.round.acked);
            window = flow.packets();
            flow.step(|flow, _| flow.prague.round.next.is_some());
        }
        assert!(acked > 10, "{acked}");
        let expected = before + (1.0 / (acked + 1) as f64 - before) / 16.0;
        assert!((flow.prague.alpha - expected).abs() < 1e-12, "{}", flow.prague.alpha);
        assert_eq!((flow.prague.round.acked, flow.prague.round.marked), (0, 0));
        let reduced = window * (1.0 - expected / 2.0);
        assert!((flow.packets() - reduced).abs() < 0.01, "{} for {reduced}", flow.packets());
    }

    #[test]
    fn marks_without_a_number_count_like_a_loss() {
        let mut flow = Flow::new(Span::from_millis(100));
        (0..30).for_each(|_| flow.step(|_, _| false));
        flow.prague.alpha = 0.01;
        flow.mark(29, None);
        assert_eq!(flow.packets(), 20.0);
    }

    #[test]
    fn random_marks_leave_the_window_of_the_control_law() {
        for p in [0.01, 0.02] {
            let mut flow = Flow::new(Span::from_millis(100));
            let marks = |flow: &mut Flow, _| flow.unit() < p;
            flow.mean(50_000, marks);
            let (window, share) = flow.mean(400_000, marks);
            // A reduction by αW/2 = pW/2 follows the last one after an RTT and the gap to the next
            // mark, 1/pW RTTs. In that time, the window grows by (1 - p)(1 + 1/pW). So for x = pW,
            // x²/2 = (1 - p)(x + 1), and x = 1 + √3 for small p.
            let x = (1.0 - p) + ((1.0 - p) * (3.0 - p)).sqrt();
            assert!((share / p - 1.0).abs() < 0.05, "{share}");
            assert!((window * p / x - 1.0).abs() < 0.1, "{window} for {}", x / p);
        }
    }

    #[test]
    fn a_step_is_answered_with_the_square_of_its_marks() {
        // With larger windows, reductions are so rare that α forgets the marks in between.
        for limit in [50, 100] {
            let mut flow = Flow::new(Span::from_millis(100));
            flow.mean(200_000, |_, before| before >= limit);
            let (window, share) = flow.mean(400_000, |_, before| before >= limit);
            // DCTCP's law for a single flow behind a step.
            let expected = 2.0 / (share * share);
            assert!((window / expected - 1.0).abs() < 0.2, "{limit}: {window} for {expected}");
        }
    }

    #[test]
    fn below_the_virtual_rtt_growth_is_slower() {
        let growth = |ms: u64| {
            let mut flow = Flow::new(Span::from_millis(ms));
            (0..30).for_each(|_| flow.step(|_, _| false));
            flow.step(|_, _| true);
            (0..30).for_each(|_| flow.step(|_, _| false));
            let (before, from) = (flow.packets(), flow.now);
            (0..200).for_each(|_| flow.step(|_, _| false));
            (flow.packets() - before) / flow.now.since(from).as_secs_f64()
        };
        // A packet per RTT of 100 ms; per 25 ms for any shorter one, times the RTT over 25 ms.
        assert!((growth(100) - 10.0).abs() < 0.5, "{}", growth(100));
        assert!((growth(5) - 8.0).abs() < 0.5, "{}", growth(5));
    }
}
