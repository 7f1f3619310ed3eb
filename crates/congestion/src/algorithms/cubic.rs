//! CUBIC (RFC 9438).
//!
//! Windows are in bytes, where the RFC counts segments; C is in segments per second cubed, as in
//! the RFC. Growth is summed over the bytes of every acknowledged packet, so that infrequent ACKs
//! change only its timing. Slow start is the standard one; [`crate::slow_start`] offers others in
//! front of the controller. A congestion event reduces the window rather than the flight (RFC 9438
//! §4.6 allows it): the window grows only while it is in use, so that the two are close.
//!
//! The minimum window is two packets (RFC 9002 §7.2), also after ECN-CE, although RFC 9438 §4.6
//! would go down to one.

use crate::algorithms::newreno::NewReno;
use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl, SentPacket, forward_to,
};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span, Time};

parameters! {
    /// Parameters of [`Cubic`].
    Parameters {
        c: 0.4, 0.001 => 100.0, "packets/s³", "steepness of the cubic function (RFC 9438 §5, C)";
        beta: 0.7, 0.1 => 0.95, "",
            "fraction of the window that remains after a congestion event (RFC 9438 §4.6, \
             beta_cubic)";
        fast_convergence: 1.0, 0.0 => 1.0, "",
            "0.5 or more: release bandwidth to new flows (RFC 9438 §4.7)";
        first_growth: 0.0, 0.0 => 0.5, "",
            "minimum growth per RTT before the first loss, as a fraction of the window: 0.05 in \
             Linux, 0 in RFC 9438";
    }
}

/// Largest window in bytes: floating point still represents whole bytes there.
const LARGEST: f64 = 9e15;

/// A stage of congestion avoidance (RFC 9438 §4.2).
#[derive(Debug, Clone)]
struct Epoch {
    /// Elapsed time without application-limited periods (RFC 9438 §4.2, t).
    elapsed: Span,
    /// Time up to which `elapsed` is counted. `None` while the application limits the sender.
    counted_to: Option<Time>,
    /// W_max in bytes.
    w_max: f64,
    /// K in seconds.
    k: f64,
    /// W_est in bytes.
    w_est: f64,
}

/// The shape of the cubic function, which a congestion event changes.
#[derive(Debug, Clone, Default)]
struct Shape {
    /// True after a congestion event, until persistent congestion.
    reduced: bool,
    /// W_max in bytes. `None` before the first congestion event and after persistent congestion.
    w_max: Option<f64>,
    /// cwnd_prior in bytes.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// The CUBIC controller.
#[derive(Debug, Clone)]
pub struct Cubic {
    /// Window, threshold, slow start and congestion events.
    reno: NewReno,
    c: f64,
    beta: f64,
    fast_convergence: bool,
    first_growth: f64,
    /// Fraction of a byte by which the window has grown.
    fraction: f64,
    shape: Shape,
    /// Shape before the last congestion event, in case it proves spurious.
    before: Shape,
    phase: &'static str,
}

impl Cubic {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            reno: NewReno::with_beta(config, parameters.beta),
            c: parameters.c,
            beta: parameters.beta,
            fast_convergence: parameters.fast_convergence >= 0.5,
            first_growth: parameters.first_growth,
            fraction: 0.0,
            shape: Shape::default(),
            before: Shape::default(),
            phase: "concave",
        }
    }

    /// Returns α_cubic, the Reno growth that matches a reduction to beta instead of a half (RFC
    /// 9438 §4.3).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// Returns the packet size in bytes.
    fn segment(&self) -> f64 {
        self.reno.mtu().get().max(1) as f64
    }

    /// Returns a stage that starts with a window of `cwnd` bytes (RFC 9438 §4.2, equation 2).
    fn epoch(&self, now: Time, cwnd: f64) -> Epoch {
        // If W_max is not above the window, K is 0, as after a slow start that ended without loss
        // (§4.10) and after a timeout (§4.8).
        let w_max = self.shape.w_max.unwrap_or(cwnd).max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / self.segment() / self.c);
        Epoch { elapsed: Span::ZERO, counted_to: Some(now), w_max, k, w_est: cwnd }
    }

    /// Returns W_cubic in bytes, `t` seconds into the stage (RFC 9438 §4.2, equation 1).
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let past = t - epoch.k;
        self.c * self.segment() * past * past * past + epoch.w_max
    }

    /// Grows in congestion avoidance for `bytes` of the acknowledged packets.
    fn avoid(&mut self, ack: &Ack<'_>, bytes: Bytes) {
        let mut cwnd = (self.reno.window().get() as f64 + self.fraction).min(LARGEST);
        let mut epoch = self.shape.epoch.take().unwrap_or_else(|| self.epoch(ack.now, cwnd));
        if let Some(counted_to) = epoch.counted_to {
            epoch.elapsed += ack.now.since(counted_to);
        }
        epoch.counted_to = Some(ack.now);
        let t = epoch.elapsed.as_secs_f64();
        let cubic = self.w_cubic(&epoch, t);
        // §4.2: at most half a window per RTT.
        let target = self.w_cubic(&epoch, t + ack.smoothed_rtt.as_secs_f64()).min(1.5 * cwnd);
        let (alpha, segment, cwnd_prior) = (self.alpha(), self.segment(), self.shape.cwnd_prior);
        let least = if self.shape.reduced { 0.0 } else { self.first_growth };
        let mut left = bytes.get();
        for packet in ack.packets.iter().rev() {
            let acked = packet.bytes.get().min(left) as f64;
            left -= acked as u64;
            // §4.3, equation 4.
            let alpha = if epoch.w_est >= cwnd_prior { 1.0 } else { alpha };
            epoch.w_est = (epoch.w_est + alpha * segment * acked / cwnd).min(LARGEST);
            // §4.3 to §4.5.
            let grown = if cubic < epoch.w_est {
                cwnd.max(epoch.w_est)
            } else {
                cwnd + (target - cwnd).max(0.0) * acked / cwnd
            };
            cwnd = grown.max(cwnd + least * acked).min(LARGEST);
        }
        self.phase = if cubic < epoch.w_est {
            "Reno-friendly"
        } else if cwnd < epoch.w_max {
            "concave"
        } else {
            "convex"
        };
        self.shape.epoch = Some(epoch);
        let whole = Bytes::new(cwnd as u64);
        // A window above `LARGEST`, which only a restart can set, remains.
        if whole >= self.reno.window() {
            self.fraction = cwnd - whole.get() as f64;
            self.reno.set_window(whole, None);
        }
    }

    /// Reduces the window (RFC 9438 §4.6 and §4.7), unless an earlier reduction covers these
    /// packets.
    fn congestion(&mut self, newest: u64, next_number: u64) {
        let cwnd = self.reno.window().get() as f64;
        if !self.reno.congestion(newest, next_number) {
            return;
        }
        let falling = self.fast_convergence && self.shape.w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = if falling { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.before = std::mem::replace(
            &mut self.shape,
            Shape { reduced: true, w_max: Some(w_max), cwnd_prior: cwnd, epoch: None },
        );
        self.fraction = 0.0;
    }
}

impl Controller for Cubic {
    forward_to!(reno: on_mtu_update);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        // Nothing was in flight before: the application limited the sender.
        if let Some(epoch) = self.shape.epoch.as_mut().filter(|_| packet.in_flight == packet.bytes)
        {
            epoch.counted_to = Some(packet.sent_at);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !self.reno.may_grow(ack) {
            if let Some(epoch) = self.shape.epoch.as_mut().filter(|_| ack.app_limited) {
                epoch.counted_to = None;
            }
            return;
        }
        let left = self.reno.slow_start(ack.bytes);
        if !self.reno.in_slow_start() && !left.is_zero() {
            self.avoid(ack, left);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.congestion(loss.newest().number, loss.next_number);
        if loss.persistent {
            // RFC 9438 §4.8: the stage after the next slow start has its own W_max.
            self.reno.on_loss(loss);
            self.shape = Shape { reduced: false, w_max: None, epoch: None, ..self.shape };
            self.fraction = 0.0;
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.congestion(ecn_ce.newest, ecn_ce.next_number);
        // ECN-CE cannot prove spurious, unlike a loss: NewReno discards its undo state.
        self.reno.on_ecn_ce(ecn_ce);
    }

    fn on_spurious_loss(&mut self, _: Time) {
        // RFC 9438 §4.9.
        if self.reno.undo() {
            self.shape = std::mem::take(&mut self.before);
        }
    }

    fn restart(&mut self, to: &Restart) {
        self.reno.restart(to);
        let window = self.reno.window().get() as f64;
        self.shape = Shape { w_max: Some(window), cwnd_prior: window, epoch: None, ..self.shape };
        self.fraction = 0.0;
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

    const P: f64 = MTU.get() as f64;

    fn cubic() -> Cubic {
        Cubic::new(&config(), &Parameters::default())
    }

    /// Returns a flow that was reduced at a window of `packets`. All packets sent before the
    /// reduction are acknowledged or lost.
    fn reduced(path: &mut Path, packets: u64) -> Cubic {
        let mut cubic = cubic();
        let window = Bytes::new(packets * MTU.get());
        cubic.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        // Every packet but the first is lost at the same time, then the first: nothing grows before
        // the reduction.
        path.round(&mut cubic, |_| true);
        cubic
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance
    }

    #[test]
    fn a_reduction_keeps_beta_and_k_is_the_time_back_to_w_max() {
        let mut path = Path::new(Span::from_millis(600));
        let cubic = reduced(&mut path, 100);
        assert_eq!(
            (cubic.send_control().cwnd, cubic.send_control().ssthresh),
            (Bytes::new(70_000), Some(Bytes::new(70_000)))
        );
        let epoch = cubic.epoch(path.now, 70.0 * P);
        // The cube root of (100 - 70) / 0.4.
        assert!(near(epoch.k, 4.217_163, 1e-6), "{}", epoch.k);
        // 0.4 (t - K)^3 + 100 at 0, 2, K and 8 s.
        for (t, packets) in [(0.0, 70.0), (2.0, 95.640_6), (epoch.k, 100.0), (8.0, 121.652_9)] {
            assert!(
                near(cubic.w_cubic(&epoch, t) / P, packets, 1e-3),
                "{t}: {}",
                cubic.w_cubic(&epoch, t) / P
            );
        }
    }

    #[test]
    fn the_window_follows_the_cubic_function_one_rtt_ahead() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = reduced(&mut path, 100);
        let mut phases = Vec::new();
        for round in 0..16 {
            path.round(&mut cubic, |_| false);
            let epoch = cubic.shape.epoch.clone().unwrap();
            let t = 0.6 * f64::from(round);
            assert!(near(epoch.elapsed.as_secs_f64(), t, 1e-9));
            let window = cubic.send_control().cwnd.get() as f64;
            assert!(
                window >= cubic.w_cubic(&epoch, t) - 0.5 * P
                    && window <= cubic.w_cubic(&epoch, t + 0.6) + 1.0,
                "{round}"
            );
            phases.push(cubic.send_control().phase);
        }
        phases.dedup();
        // At t = 0 the function equals the window, and Reno's growth puts the first packets above
        // it (§4.3).
        assert_eq!(phases, ["Reno-friendly", "concave", "convex"]);
    }

    /// 100 Mbps and an RTT of 600 or 1,200 s, from and to Mars: K is far below the RTT, so that the
    /// window has passed its last maximum before a packet sent after the reduction is acknowledged.
    #[test]
    fn k_of_windows_of_millions_of_packets_is_minutes() {
        for (packets, seconds) in [(5_000_000.0, 155.4), (10_000_000.0, 195.7)] {
            let mut cubic = cubic();
            cubic.shape.w_max = Some(packets * P);
            assert!(near(cubic.epoch(Time::ZERO, 0.7 * packets * P).k, seconds, 0.05));
        }
    }

    #[test]
    fn growth_never_falls_below_the_first_step_before_a_loss() {
        let mut path = Path::new(Span::from_millis(600));
        let values = Parameters { first_growth: 0.05, ..Parameters::default() };
        let mut cubic = Cubic::new(&config(), &values);
        let window = Bytes::new(1000 * MTU.get());
        cubic.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        path.round(&mut cubic, |_| false);
        assert!(
            near(cubic.send_control().cwnd.get() as f64 / P, 1050.0, 1.0),
            "{}",
            cubic.send_control().cwnd
        );
        // The last packet is lost, so that no packet of its round is acknowledged after the
        // reduction.
        path.round(&mut cubic, |index| index == 1049);
        let reduced = cubic.send_control().cwnd.get() as f64;
        path.round(&mut cubic, |_| false);
        assert!(
            (cubic.send_control().cwnd.get() as f64) < 1.04 * reduced,
            "{reduced} to {}",
            cubic.send_control().cwnd
        );
    }

    #[test]
    fn growth_on_a_short_path_is_that_of_reno() {
        let mut path = Path::new(Span::from_millis(10));
        let mut cubic = reduced(&mut path, 20);
        assert!(near(cubic.alpha(), 0.529_412, 1e-6));
        let mut windows = vec![cubic.send_control().cwnd.get() as f64 / P];
        for _ in 0..24 {
            path.round(&mut cubic, |_| false);
            windows.push(cubic.send_control().cwnd.get() as f64 / P);
        }
        assert_eq!(cubic.send_control().phase, "Reno-friendly");
        // From 14 packets the window grows by alpha per round until 20, then by one packet. A round
        // sends the window in whole packets.
        let (slow, fast) = (windows[10] - windows[2], windows[24] - windows[16]);
        assert!(windows[10] < 20.0 && windows[16] > 20.0);
        assert!(near(slow, 8.0 * 0.529, 0.35) && near(fast, 8.0, 0.5), "{windows:?}");
    }

    #[test]
    fn a_second_loss_below_w_max_releases_bandwidth() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = reduced(&mut path, 100);
        path.round(&mut cubic, |_| true);
        // 70 below 100: W_max is 70 (1 + 0.7) / 2.
        assert!(near(cubic.shape.w_max.unwrap(), 59.5 * P, 1e-6));
        let values = Parameters { fast_convergence: 0.0, ..Parameters::default() };
        let mut plain = Cubic::new(&config(), &values);
        plain.shape.w_max = Some(100.0 * P);
        Path::new(Span::from_millis(600)).round(&mut plain, |_| true);
        assert!(near(plain.shape.w_max.unwrap(), 10.0 * P, 1e-6));
    }

    #[test]
    fn a_spurious_loss_restores_window_and_shape() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = reduced(&mut path, 100);
        for _ in 0..3 {
            path.round(&mut cubic, |_| false);
        }
        let before = cubic.clone();
        path.round(&mut cubic, |_| true);
        assert!(cubic.send_control().cwnd < before.send_control().cwnd);
        cubic.on_spurious_loss(path.now);
        assert_eq!(
            (cubic.send_control().cwnd, cubic.send_control().ssthresh),
            (before.send_control().cwnd, before.send_control().ssthresh)
        );
        assert_eq!(cubic.shape.w_max, before.shape.w_max);
        assert_eq!(cubic.shape.epoch.unwrap().k, before.shape.epoch.unwrap().k);
    }

    #[test]
    fn application_limited_time_does_not_count() {
        let mut path = Path::new(Span::from_millis(600));
        let mut cubic = reduced(&mut path, 100);
        path.round(&mut cubic, |_| false);
        path.round(&mut cubic, |_| false);
        let (elapsed, window) =
            (cubic.shape.epoch.as_ref().unwrap().elapsed, cubic.send_control().cwnd);
        assert_eq!(elapsed, Span::from_millis(600));
        path.app_limited = true;
        for _ in 0..20 {
            path.round(&mut cubic, |_| false);
        }
        assert_eq!(cubic.send_control().cwnd, window);
        // Nothing is sent for a minute, then a full window.
        path.now += Span::from_secs(60);
        path.app_limited = false;
        path.round(&mut cubic, |_| false);
        assert_eq!(cubic.shape.epoch.unwrap().elapsed, Span::from_millis(1200));
    }

    #[test]
    fn persistent_congestion_restarts_from_two_packets() {
        let mut path = Path::new(Span::from_millis(100));
        let mut cubic = reduced(&mut path, 100);
        let packet = path.sent_packets.on_sent(path.now, MTU);
        path.sent_packets.on_lost(packet.number);
        path.sent_packets.report_loss(path.now, true, |loss| cubic.on_loss(loss));
        assert_eq!(
            (cubic.send_control().cwnd, cubic.send_control().ssthresh),
            (MTU + MTU, Some(Bytes::new(49_000)))
        );
        cubic.on_spurious_loss(path.now);
        assert_eq!(cubic.send_control().cwnd, MTU + MTU);
        while cubic.send_control().in_slow_start {
            path.round(&mut cubic, |_| false);
        }
        path.round(&mut cubic, |_| false);
        let epoch = cubic.shape.epoch.unwrap();
        assert!(epoch.k == 0.0 && near(epoch.w_max, 49.0 * P, P), "{epoch:?}");
    }

    #[test]
    fn ecn_ce_reduces_once_a_round_and_cannot_be_undone() {
        let mut path = Path::new(Span::from_millis(100));
        let mut cubic = cubic();
        path.round(&mut cubic, |_| false);
        let next_number = path.sent_packets.next_number();
        for newest in [next_number - 1, next_number - 1] {
            cubic.on_ecn_ce(&EcnCe {
                now: path.now,
                newest,
                bytes_in_flight: Bytes::ZERO,
                next_number,
                marked: None,
            });
        }
        assert_eq!(cubic.send_control().cwnd, Bytes::new(14_000));
        cubic.on_spurious_loss(path.now);
        assert_eq!(cubic.send_control().cwnd, Bytes::new(14_000));
    }

    #[test]
    fn infrequent_acks_change_only_the_timing_of_growth() {
        let mut path = Path::new(Span::from_millis(300));
        let mut thinned = Path { batch: 1000, ..path.clone() };
        let (mut each, mut all) = (reduced(&mut path, 100), reduced(&mut thinned, 100));
        for round in 0..60 {
            path.round(&mut each, |index| round % 20 == 19 && index == 0);
            thinned.round(&mut all, |index| round % 20 == 19 && index == 0);
            let (each, all) = (each.send_control().cwnd.get(), all.send_control().cwnd.get());
            assert!(each.abs_diff(all) <= MTU.get(), "{each} {all}");
        }
    }

    /// Mean window of RFC 9438 §5.1, equation 5, in packets.
    fn law(rtt: Span, period: u64) -> f64 {
        libm::pow(0.4 * 3.7 / (4.0 * 0.3), 0.25)
            * libm::pow(rtt.as_secs_f64() * period as f64, 0.75)
    }

    #[test]
    fn the_mean_window_under_periodic_loss_is_that_of_the_rfc() {
        // The equation ignores fast convergence. It describes a fixed point that windows approach
        // only slowly, since the function is flat there, so the flow starts at it: equation 5 over
        // (3 + beta) / 4 is W_max. If K is only a few RTTs, as in the last case, the RTT by which
        // the function is ahead matters.
        for (rtt_ms, period, tolerance) in
            [(100, 10_000, 0.05), (100, 100_000, 0.05), (600, 10_000, 0.05), (600, 1_000, 0.15)]
        {
            let rtt = Span::from_millis(rtt_ms);
            let law = law(rtt, period);
            let values = Parameters { fast_convergence: 0.0, ..Parameters::default() };
            let mut cubic = Cubic::new(&config(), &values);
            let window = MTU.mul_f64(law * 4.0 / 3.7);
            cubic.restart(&Restart {
                now: Time::ZERO,
                window,
                ssthresh: Some(window),
                rate: None,
                min_rtt: None,
                recovery_start: 0,
            });
            let mean = Path::new(rtt).mean_window(&mut cubic, period, 30 * period);
            assert!(
                near(mean / law, 1.0, tolerance),
                "{rtt_ms} ms, 1/{period}: {mean} against {law}"
            );
        }
    }

    #[test]
    fn fast_convergence_settles_near_the_mean_window_of_the_rfc() {
        // From slow start, with all defaults. Each loss slightly below W_max lowers W_max further,
        // so that the mean is somewhat below the equation.
        let rtt = Span::from_millis(100);
        let mean = Path::new(rtt).mean_window(&mut cubic(), 10_000, 300_000);
        assert!(near(mean / law(rtt, 10_000), 0.9, 0.1), "{mean} against {}", law(rtt, 10_000));
    }

    #[test]
    fn the_mean_window_on_a_short_path_is_renos() {
        // RFC 9438 §4.3: AIMD(alpha, 0.7) has the mean of AIMD(1, 0.5).
        let mean = Path::new(Span::from_millis(2)).mean_window(&mut cubic(), 1_000, 60_000);
        let law = (1.5f64 * 1_000.0).sqrt();
        assert!(near(mean / law, 1.0, 0.08), "{mean} against {law}");
    }
}
