//! NewReno as specified for QUIC (RFC 9002 §7 and appendix B).

use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl, minimum_window,
};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Time};

parameters! {
    /// Parameters of [`NewReno`].
    Parameters {
        beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a congestion event (RFC 9002 appendix B.1, \
             kLossReductionFactor)";
        growth_per_ack: 0.0, 0.0 => 1000.0, "packets",
            "maximum growth credit per ACK (RFC 3465 §2.2, L); 0: all packets that it \
             acknowledges, as in RFC 9002";
    }
}

/// Growth relative to NewReno, for controllers that differ from it only in growth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    /// Packets per acknowledged packet in slow start.
    pub(crate) slow_start: f64,
    /// Packets per acknowledged window in congestion avoidance.
    pub(crate) avoidance: f64,
}

/// The NewReno controller.
#[derive(Debug, Clone)]
pub struct NewReno {
    mtu: Bytes,
    beta: f64,
    window: Bytes,
    ssthresh: Option<Bytes>,
    /// Losses and ECN-CE of packets with smaller numbers belong to the last congestion event.
    recovery_start: u64,
    /// Bytes acknowledged in congestion avoidance that have not yet added up to one packet of
    /// growth.
    acknowledged: Bytes,
    /// Window and threshold before the last congestion event, in case it proves spurious.
    before: Option<(Bytes, Option<Bytes>)>,
    growth: Growth,
    /// Maximum growth per ACK in bytes.
    most_per_ack: Bytes,
}

impl NewReno {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let packets = parameters.growth_per_ack;
        let most_per_ack = if packets > 0.0 { config.mtu.mul_f64(packets) } else { Bytes::MAX };
        Self { most_per_ack, ..Self::with_beta(config, parameters.beta) }
    }

    /// Creates a controller with the initial window that reduces it to the fraction `beta`.
    pub(crate) fn with_beta(config: &ControllerConfig, beta: f64) -> Self {
        Self {
            mtu: config.mtu,
            beta,
            window: config.initial_window.max(minimum_window(config.mtu)),
            ssthresh: None,
            recovery_start: 0,
            acknowledged: Bytes::ZERO,
            before: None,
            growth: Growth { slow_start: 1.0, avoidance: 1.0 },
            most_per_ack: Bytes::MAX,
        }
    }

    pub(crate) fn mtu(&self) -> Bytes {
        self.mtu
    }

    pub(crate) fn window(&self) -> Bytes {
        self.window
    }

    pub(crate) fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh)
    }

    pub(crate) fn set_growth(&mut self, growth: Growth) {
        self.growth = growth;
    }

    /// Sets the window, and the threshold unless it is `None`.
    pub(crate) fn set_window(&mut self, window: Bytes, ssthresh: Option<Bytes>) {
        self.window = window.max(minimum_window(self.mtu));
        self.ssthresh = ssthresh.or(self.ssthresh);
    }

    /// Returns true if this ACK may grow the window: cwnd limited the sender (RFC 9002 §7.8) and
    /// the recovery period has ended (§7.3.2).
    pub(crate) fn may_grow(&self, ack: &Ack<'_>) -> bool {
        !ack.app_limited && ack.newest().number >= self.recovery_start
    }

    /// Grows in slow start up to the threshold, and returns the acknowledged bytes that remain for
    /// congestion avoidance. One ACK of many packets has the same effect as many ACKs of one.
    pub(crate) fn slow_start(&mut self, bytes: Bytes) -> Bytes {
        if !self.in_slow_start() {
            return bytes;
        }
        let room = self.ssthresh.unwrap_or(Bytes::MAX).saturating_sub(self.window);
        let growth = bytes.mul_f64(self.growth.slow_start);
        self.window += growth.min(room);
        growth.saturating_sub(room).mul_f64(1.0 / self.growth.slow_start)
    }

    /// Undoes the last reduction. Returns false if there is none to undo.
    pub(crate) fn undo(&mut self) -> bool {
        let Some((window, ssthresh)) = self.before.take() else { return false };
        self.window = self.window.max(window);
        self.ssthresh = ssthresh;
        true
    }

    /// Reduces the window, once for all congestion among packets sent before the reduction (RFC
    /// 9002 §7.3.2). Returns false if an earlier reduction covers it.
    pub(crate) fn congestion(&mut self, newest: u64, next_number: u64) -> bool {
        if newest < self.recovery_start {
            return false;
        }
        self.recovery_start = next_number;
        self.before = Some((self.window, self.ssthresh));
        self.window = self.window.mul_f64(self.beta).max(minimum_window(self.mtu));
        self.ssthresh = Some(self.window);
        self.acknowledged = Bytes::ZERO;
        true
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !self.may_grow(ack) {
            return;
        }
        // RFC 9002 appendix B.5: one packet per window. The counter keeps small ACKs from rounding
        // to zero.
        let left = self.slow_start(ack.bytes.min(self.most_per_ack));
        self.acknowledged += left;
        let step = self.window.mul_f64(1.0 / self.growth.avoidance).max(Bytes::new(1)).get();
        let packets = self.acknowledged.get() / step;
        self.acknowledged = Bytes::new(self.acknowledged.get() % step);
        self.window += Bytes::new(self.mtu.get().saturating_mul(packets));
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.congestion(loss.newest().number, loss.next_number);
        if loss.persistent {
            // RFC 9002 §7.6.2.
            self.window = minimum_window(self.mtu);
            self.before = None;
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.congestion(ecn_ce.newest, ecn_ce.next_number);
        self.before = None;
    }

    fn on_spurious_loss(&mut self, _: Time) {
        self.undo();
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn restart(&mut self, to: &Restart) {
        self.window = to.window.max(minimum_window(self.mtu));
        self.ssthresh = to.ssthresh.or(self.ssthresh);
        self.recovery_start = self.recovery_start.max(to.recovery_start);
        self.acknowledged = Bytes::ZERO;
        self.before = None;
    }

    fn send_control(&self) -> SendControl {
        let in_slow_start = self.in_slow_start();
        let phase = if in_slow_start { "slow start" } else { "congestion avoidance" };
        SendControl {
            ssthresh: self.ssthresh,
            ..SendControl::window(self.window, in_slow_start, phase)
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
    use crate::testing::{MTU, Path, config};
    use bentpipe_units::Span;

    fn reno() -> NewReno {
        NewReno::new(&config(), &Parameters::default())
    }

    /// Sends a window at `at` and acknowledges it 100 ms later, except the packets in `lost`.
    fn round(reno: &mut NewReno, sent_packets: &mut SentPackets, at: u64, lost: &[u64]) {
        let first = sent_packets.next_number();
        while sent_packets.bytes_in_flight() + MTU <= reno.send_control().cwnd {
            let packet = sent_packets.on_sent(Time::from_millis(at), MTU);
            reno.on_packet_sent(&packet);
        }
        let now = Time::from_millis(at + 100);
        for number in
            (first..sent_packets.next_number()).filter(|number| !lost.contains(&(number - first)))
        {
            sent_packets.on_acked(now, number);
            sent_packets.report_ack(now, false, |ack| reno.on_ack(ack));
        }
        for index in lost {
            sent_packets.on_lost(first + index);
        }
        sent_packets.report_loss(now, false, |loss| reno.on_loss(loss));
    }

    #[test]
    fn growth_per_ack_is_slow_if_acks_are_sparse() {
        let values = Parameters { growth_per_ack: 2.0, ..Parameters::default() };
        let (mut reno, mut sent_packets) = (NewReno::new(&config(), &values), SentPackets::new());
        let before = reno.send_control().cwnd;
        for _ in 0..10 {
            let packet = sent_packets.on_sent(Time::ZERO, MTU);
            reno.on_packet_sent(&packet);
        }
        for number in 0..10 {
            sent_packets.on_acked(Time::from_millis(100), number);
        }
        sent_packets.report_ack(Time::from_millis(100), false, |ack| reno.on_ack(ack));
        assert_eq!(reno.send_control().cwnd, before + MTU + MTU, "ten packets in one ACK");
    }

    #[test]
    fn the_window_doubles_in_slow_start_and_then_grows_by_a_packet_per_round() {
        let (mut reno, mut sent_packets) = (reno(), SentPackets::new());
        round(&mut reno, &mut sent_packets, 0, &[]);
        assert_eq!(reno.send_control().cwnd, Bytes::new(20_000));
        round(&mut reno, &mut sent_packets, 100, &[3]);
        let reduced = reno.send_control().cwnd;
        assert_eq!(reno.send_control().ssthresh, Some(reduced));
        round(&mut reno, &mut sent_packets, 200, &[]);
        round(&mut reno, &mut sent_packets, 300, &[]);
        // Nineteen packets fit the reduced window of 19.5; the twentieth, in the second round,
        // completes the growth.
        assert_eq!(reno.send_control().cwnd, reduced + MTU);
    }

    #[test]
    fn one_flight_reduces_once() {
        let (mut reno, mut sent_packets) = (reno(), SentPackets::new());
        round(&mut reno, &mut sent_packets, 0, &[0, 1, 2]);
        // Seven of ten packets arrived and grew the window before the loss was declared.
        assert_eq!(reno.send_control().cwnd, Bytes::new(8_500));
    }

    #[test]
    fn a_spurious_loss_restores_the_window() {
        let (mut reno, mut sent_packets) = (reno(), SentPackets::new());
        round(&mut reno, &mut sent_packets, 0, &[0]);
        reno.on_spurious_loss(Time::from_millis(150));
        assert_eq!(
            (reno.send_control().cwnd, reno.send_control().ssthresh),
            (Bytes::new(19_000), None)
        );
    }

    #[test]
    fn persistent_congestion_leaves_two_packets() {
        let (mut reno, mut sent_packets) = (reno(), SentPackets::new());
        let packet = sent_packets.on_sent(Time::ZERO, MTU);
        sent_packets.on_lost(packet.number);
        sent_packets.report_loss(Time::from_millis(900), true, |loss| reno.on_loss(loss));
        assert_eq!(reno.send_control().cwnd, MTU + MTU);
    }

    #[test]
    fn one_ack_of_a_window_has_the_effect_of_one_per_packet() {
        let (mut each, mut all) = (reno(), reno());
        let mut path = Path::new(Span::from_millis(100));
        let mut thinned = Path { batch: 1000, ..path.clone() };
        for round in 0..40 {
            path.round(&mut each, |index| round % 10 == 3 && index == 0);
            thinned.round(&mut all, |index| round % 10 == 3 && index == 0);
            assert!(
                each.send_control().cwnd.get().abs_diff(all.send_control().cwnd.get()) <= MTU.get(),
                "{} {}",
                each.send_control().cwnd,
                all.send_control().cwnd
            );
        }
    }

    #[test]
    fn slow_start_ends_at_the_threshold() {
        let mut reno = reno();
        let (window, ssthresh) = (Bytes::new(10_000), Some(Bytes::new(15_000)));
        reno.restart(&Restart {
            now: Time::ZERO,
            window,
            ssthresh,
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        let mut path = Path { batch: 10, ..Path::new(Span::from_millis(100)) };
        path.round(&mut reno, |_| false);
        assert_eq!(reno.send_control().cwnd, Bytes::new(15_000));
    }

    #[test]
    fn the_mean_window_follows_the_square_root_law() {
        // Mathis et al., CCR 27(3), 1997, equation 3: a mean window of sqrt(3/(2p)). Windows of
        // whole packets, and a loss that is detected a round later, account for a few percent.
        for period in [1_000, 10_000] {
            let mean =
                Path::new(Span::from_millis(100)).mean_window(&mut reno(), period, 40 * period);
            let law = (1.5 * period as f64).sqrt();
            assert!((mean / law - 1.0).abs() < 0.05, "{mean} against {law}");
        }
    }
}
