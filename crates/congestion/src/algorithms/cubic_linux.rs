//! CUBIC as in Linux 6.18 (`tcp_cubic.c`).
//!
//! It differs from RFC 9438 ([`super::cubic`]) where windows are small, as they are under random
//! loss:
//! - it counts in whole packets and whole ticks of the kernel, and rounds most of it in favour of
//!   growth: the target below W_max up, the packets that must arrive for one of growth down;
//! - the Reno-friendly window grows by 8/15 packets per RTT for ever, where the RFC changes to one
//!   packet once the window of the last loss is reached;
//! - the target is one minimum RTT ahead, not one smoothed RTT, and is computed again only when the
//!   window has changed or 1/32 s has passed;
//! - before the first loss, and between a timeout and the next loss, it grows by at least 5 % per
//!   RTT;
//! - the undo of a reduction keeps its W_max.
//!
//! Slow start is the standard one; the kernel's is [`crate::slow_start`]'s `hystart` in front of
//! the controller, which is not repeated after a timeout, unlike in the kernel.

use crate::algorithms::newreno::NewReno;
use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, PathChange, Restart, SendControl, SentPacket,
    forward_to,
};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span, Time};

parameters! {
    /// Parameters of [`CubicLinux`].
    Parameters {
        tick_rate: 250.0, 100.0 => 1000.0, "Hz",
            "ticks of the kernel per second (CONFIG_HZ): 250 in Debian, 1000 in Fedora and Ubuntu";
    }
}

/// The unit of beta (BICTCP_BETA_SCALE).
const SCALE: u64 = 1024;
/// Fraction of the window that remains after a congestion event, in 1/1024 (beta).
const BETA: u64 = 717;
/// C in units of the cubic function (10 times bic_scale): 410/1024 packets/s³.
const C: u64 = 410;
/// Time units of the cubic function per second, as a power of two (BICTCP_HZ).
const CLOCK_SHIFT: u32 = 10;
/// Packets that must be acknowledged for one of Reno-friendly growth, in eighths of the window
/// (beta_scale).
const RENO_EIGHTHS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Packets that must at most be acknowledged for one of growth before the first loss.
const FIRST_COUNT: u64 = 20;
/// Packets that must at least be acknowledged for one of growth.
const LEAST_COUNT: u64 = 2;
/// Time after the start of an epoch whose RTT samples do not count, since recovery distorts them.
const UNSETTLED: Span = Span::from_secs(1);

/// The kernel's `struct bictcp`; windows are in packets, times in ticks.
#[derive(Debug, Clone, Default)]
struct State {
    /// Packets that must be acknowledged for one of growth (cnt).
    count: u64,
    /// W_max (last_max_cwnd). 0 before the first loss and after a timeout.
    last_max: u64,
    /// Window and time of the last computation.
    last_window: u64,
    last_tick: u64,
    /// Window at the plateau (bic_origin_point), and time to it in 1/1024 s (bic_K).
    origin: u64,
    k: u64,
    /// Start of the epoch. `None` until the first ACK after a reduction.
    epoch: Option<u64>,
    /// Packets acknowledged that have not yet grown the Reno-friendly window (ack_cnt, tcp_cwnd).
    reno_acked: u64,
    reno_window: u64,
}

/// The controller of the Linux kernel.
#[derive(Debug, Clone)]
pub struct CubicLinux {
    /// Window, threshold, slow start and congestion events.
    reno: NewReno,
    tick_rate: u64,
    state: State,
    /// Minimum RTT (delay_min).
    min_rtt: Option<Span>,
    /// Packets acknowledged that have not yet grown the window (snd_cwnd_cnt).
    acked: u64,
    /// Bytes acknowledged that do not yet make a packet.
    acked_bytes: u64,
    last_sent: Option<Time>,
    phase: &'static str,
}

impl CubicLinux {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            reno: NewReno::with_beta(config, BETA as f64 / SCALE as f64),
            tick_rate: parameters.tick_rate as u64,
            state: State::default(),
            min_rtt: None,
            acked: 0,
            acked_bytes: 0,
            last_sent: None,
            phase: "concave",
        }
    }

    fn mtu(&self) -> u64 {
        self.reno.mtu().get().max(1)
    }

    /// Returns the window in packets, which the kernel counts in 32 bits.
    fn packets(&self) -> u64 {
        (self.reno.window().get() / self.mtu()).clamp(1, u64::from(u32::MAX))
    }

    fn ticks(&self, span: Span) -> u64 {
        (u128::from(span.as_nanos()) * u128::from(self.tick_rate) / 1_000_000_000) as u64
    }

    fn tick(&self, now: Time) -> u64 {
        self.ticks(now.since_start())
    }

    /// Returns the length of `ticks` in the unit of the cubic function.
    fn cubic_time(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(1 << CLOCK_SHIFT) / self.tick_rate
    }

    /// Computes how many packets must be acknowledged for one of growth (bictcp_update).
    fn update(&mut self, now: Time, window: u64, acked: u64) {
        let tick = self.tick(now);
        self.state.reno_acked = self.state.reno_acked.saturating_add(acked);
        let since = tick.saturating_sub(self.state.last_tick);
        if self.state.last_window == window && since <= self.tick_rate / 32 {
            return;
        }
        if self.state.epoch.is_none() || since > 0 {
            self.state.last_window = window;
            self.state.last_tick = tick;
            self.update_cubic(tick, window, acked);
        }
        self.update_reno(window);
        self.state.count = self.state.count.max(LEAST_COUNT);
    }

    fn update_cubic(&mut self, tick: u64, window: u64, acked: u64) {
        let epoch = match self.state.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(tick, window, acked),
        };
        let ahead = self.min_rtt.map_or(0, |min_rtt| self.ticks(min_rtt));
        let t = self.cubic_time(tick.saturating_sub(epoch).saturating_add(ahead));
        let state = &mut self.state;
        let away = u128::from(t.abs_diff(state.k));
        let cube = away.saturating_mul(away).saturating_mul(away);
        let distance = u128::from(C).saturating_mul(cube) >> (10 + 3 * CLOCK_SHIFT);
        let distance = u64::try_from(distance).unwrap_or(u64::MAX);
        let target = if t < state.k {
            state.origin.saturating_sub(distance)
        } else {
            state.origin.saturating_add(distance)
        };
        state.count = match target.saturating_sub(window) {
            0 => window.saturating_mul(100),
            more => window / more,
        };
        if state.last_max == 0 {
            state.count = state.count.min(FIRST_COUNT);
        }
        self.phase = if t < state.k { "concave" } else { "convex" };
    }

    fn begin_epoch(&mut self, tick: u64, window: u64, acked: u64) -> u64 {
        let state = &mut self.state;
        state.epoch = Some(tick);
        state.reno_acked = acked;
        state.reno_window = window;
        state.origin = state.last_max.max(window);
        // (W_max - window) / C, of which the kernel computes the whole cube root to within 0.2 %.
        let cube =
            (1u128 << (10 + 3 * CLOCK_SHIFT)) / u128::from(C) * u128::from(state.origin - window);
        state.k = libm::cbrt(cube as f64) as u64;
        tick
    }

    /// Grows at least like Reno (tcp_friendliness).
    fn update_reno(&mut self, window: u64) {
        let state = &mut self.state;
        let step = (window * RENO_EIGHTHS) >> 3;
        if step > 0 && state.reno_acked > step {
            // The kernel leaves the last step in the counter.
            let steps = (state.reno_acked - 1) / step;
            state.reno_acked -= steps * step;
            state.reno_window += steps;
        }
        let more = state.reno_window.saturating_sub(window);
        if more > 0 && state.count > window / more {
            state.count = window / more;
            self.phase = "Reno-friendly";
        }
    }

    /// Grows by one packet for `count` acknowledged ones (tcp_cong_avoid_ai).
    fn avoid(&mut self, now: Time, bytes: Bytes) {
        self.acked_bytes = self.acked_bytes.saturating_add(bytes.get());
        let acked = self.acked_bytes / self.mtu();
        self.acked_bytes %= self.mtu();
        self.update(now, self.packets(), acked);
        let count = self.state.count.max(LEAST_COUNT);
        let mut grown = 0;
        // Credit from a time of slower growth counts once.
        if self.acked >= count {
            self.acked = 0;
            grown += 1;
        }
        self.acked += acked;
        grown += self.acked / count;
        self.acked %= count;
        let more = Bytes::new(self.mtu().saturating_mul(grown));
        self.reno.set_window(self.reno.window() + more, None);
    }

    /// Reduces the window (cubictcp_recalc_ssthresh), unless an earlier reduction covers these
    /// packets.
    fn congestion(&mut self, newest: u64, next_number: u64) {
        let window = self.packets();
        if !self.reno.congestion(newest, next_number) {
            return;
        }
        self.state.epoch = None;
        self.state.last_max = if window < self.state.last_max {
            window * (SCALE + BETA) / (2 * SCALE)
        } else {
            window
        };
        let remaining = Bytes::new((window * BETA / SCALE).max(2).saturating_mul(self.mtu()));
        self.reno.set_window(remaining, Some(remaining));
        self.acked = 0;
        self.acked_bytes = 0;
    }
}

impl Controller for CubicLinux {
    forward_to!(reno: on_mtu_update);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        // Nothing was in flight before: idle time does not count (CA_EVENT_TX_START).
        if packet.in_flight == packet.bytes
            && let Some((epoch, last_sent)) = self.state.epoch.zip(self.last_sent)
        {
            let idle = self.tick(packet.sent_at).saturating_sub(self.tick(last_sent));
            self.state.epoch = Some((epoch + idle).min(self.tick(packet.sent_at)));
        }
        self.last_sent = Some(packet.sent_at);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let settled = self
            .state
            .epoch
            .is_none_or(|epoch| self.tick(ack.now).saturating_sub(epoch) >= self.ticks(UNSETTLED));
        if settled {
            self.min_rtt = Some(self.min_rtt.map_or(ack.rtt, |least| least.min(ack.rtt)));
        }
        if self.reno.may_grow(ack) {
            let left = self.reno.slow_start(ack.bytes);
            if !self.reno.in_slow_start() && !left.is_zero() {
                self.avoid(ack.now, left);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.congestion(loss.newest().number, loss.next_number);
        if loss.persistent {
            self.reno.on_loss(loss);
            // bictcp_reset.
            self.state = State::default();
            self.min_rtt = None;
            self.acked = 0;
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.congestion(ecn_ce.newest, ecn_ce.next_number);
        self.reno.on_ecn_ce(ecn_ce);
    }

    fn on_spurious_loss(&mut self, _: Time) {
        // tcp_reno_undo_cwnd: window and threshold only.
        self.reno.undo();
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.min_rtt = change.shifted(self.min_rtt);
    }

    fn restart(&mut self, to: &Restart) {
        self.reno.restart(to);
        self.state.epoch = None;
        self.acked = 0;
    }

    fn send_control(&self) -> SendControl {
        let control = self.reno.send_control();
        let phase = if control.in_slow_start { control.phase } else { self.phase };
        SendControl { phase, ..control }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MTU, Path, config};

    fn kernel() -> CubicLinux {
        CubicLinux::new(&config(), &Parameters::default())
    }

    fn restart(path: &Path, controller: &mut CubicLinux, packets: u64) {
        let window = Bytes::new(packets * MTU.get());
        controller.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
    }

    fn packets(controller: &CubicLinux) -> u64 {
        controller.send_control().cwnd.get() / MTU.get()
    }

    #[test]
    fn constants_are_those_that_the_kernel_computes() {
        assert_eq!(RENO_EIGHTHS, 15);
        assert_eq!((1u64 << 40) / C, 2_681_735_677);
    }

    #[test]
    fn a_reduction_keeps_717_of_1024_in_whole_packets_and_k_is_the_time_back() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = kernel();
        restart(&path, &mut cubic, 100);
        path.round(&mut cubic, |_| true);
        assert_eq!((packets(&cubic), cubic.state.last_max), (70, 100));
        path.round(&mut cubic, |_| false);
        // The cube root of 30 / 0.4 in 1/1024 s, 4.216 s.
        assert_eq!((cubic.state.origin, cubic.state.k), (100, 4316));
        // 70 below 100: W_max is 70 (1 + 0.7) / 2.
        path.round(&mut cubic, |_| true);
        assert_eq!(cubic.state.last_max, packets_before_last(&cubic) * 1741 / 2048);
    }

    /// Returns the window before the last reduction.
    fn packets_before_last(cubic: &CubicLinux) -> u64 {
        let mut undone = cubic.clone();
        undone.on_spurious_loss(Time::ZERO);
        packets(&undone)
    }

    #[test]
    fn the_window_is_back_at_w_max_after_k_and_stays_there_a_while() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = kernel();
        restart(&path, &mut cubic, 100);
        path.round(&mut cubic, |_| true);
        cubic.min_rtt = Some(path.rtt);
        let mut windows = Vec::new();
        for _ in 0..12 {
            // A path that is empty between rounds would count as idle.
            (0..packets(&cubic)).for_each(|_| cubic.avoid(path.now, MTU));
            path.now += path.rtt;
            windows.push(packets(&cubic));
        }
        // 0.4 (t + 0.6 - K)^3 + 100, rounded up below 100, with t in steps of 0.6 s.
        for (round, &window) in windows.iter().enumerate() {
            let t = 0.6 * round as f64 + 0.6 - 4.217;
            let exact = 100.0 + 0.4 * t * t * t;
            assert!((window as f64 - exact).abs() <= 3.0, "{round}: {exact} of {windows:?}");
        }
    }

    #[test]
    fn growth_before_the_first_loss_is_at_least_five_percent_per_rtt() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = kernel();
        restart(&path, &mut cubic, 1000);
        path.round(&mut cubic, |_| false);
        assert_eq!(packets(&cubic), 1050);
    }

    #[test]
    fn an_undo_restores_window_and_threshold_but_not_w_max() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = kernel();
        restart(&path, &mut cubic, 100);
        path.round(&mut cubic, |_| true);
        cubic.on_spurious_loss(path.now);
        assert_eq!((packets(&cubic), cubic.state.last_max), (100, 100));
    }

    #[test]
    fn a_timeout_forgets_w_max() {
        let mut path = Path::new(Span::from_millis(100));
        let mut cubic = kernel();
        restart(&path, &mut cubic, 100);
        let packet = path.sent_packets.on_sent(path.now, MTU);
        path.sent_packets.on_lost(packet.number);
        path.sent_packets.report_loss(path.now, true, |loss| cubic.on_loss(loss));
        assert_eq!((packets(&cubic), cubic.state.last_max), (2, 0));
        assert_eq!(cubic.send_control().ssthresh, Some(Bytes::new(70 * MTU.get())));
    }
}
