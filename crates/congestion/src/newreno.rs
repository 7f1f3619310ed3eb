//! NewReno as QUIC has it (RFC 9002 §7 and appendix B).

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Setup};
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Time};

/// Parameters of [`NewReno`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "beta",
        default: 0.5,
        range: (0.1, 0.95),
        unit: "",
        about: "share of the window kept at a congestion event (RFC 9002 appendix B.1, kLossReductionFactor)",
    },
    Parameter {
        name: "growth_per_ack",
        default: 0.0,
        range: (0.0, 1000.0),
        unit: "packets",
        about: "most that one acknowledgement counts for in growth (RFC 3465 §2.2, L); 0: all that it acknowledges, as RFC 9002 has it",
    },
];

/// Smallest window: two packets (RFC 9002 §7.2, kMinimumWindow). Never nothing, whatever the packet.
pub fn minimum_window(mtu: Bytes) -> Bytes {
    (mtu + mtu).max(Bytes::new(2))
}

/// How much faster than NewReno the window grows, for controllers that differ from it in nothing else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    /// Packets for each one acknowledged in slow start.
    pub(crate) slow_start: f64,
    /// Packets for each window acknowledged in congestion avoidance.
    pub(crate) avoidance: f64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct NewReno {
    mtu: Bytes,
    beta: f64,
    window: Bytes,
    ssthresh: Option<Bytes>,
    /// Losses and marks of packets before this number belong to the last congestion event.
    answered: u64,
    /// Bytes acknowledged in congestion avoidance that have not yet made a packet's growth.
    acknowledged: Bytes,
    /// Window and threshold before the last congestion event, should that prove spurious.
    before: Option<(Bytes, Option<Bytes>)>,
    growth: Growth,
    /// Most bytes that one acknowledgement counts for.
    most_per_ack: Bytes,
}

impl NewReno {
    /// A controller at its initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        let packets = values.get("growth_per_ack");
        let most_per_ack = if packets > 0.0 { setup.mtu.mul_f64(packets) } else { Bytes::MAX };
        Self { most_per_ack, ..Self::keeping(setup, values.get("beta")) }
    }

    /// A controller at its initial window that keeps the share `beta` of it at a congestion event.
    pub(crate) fn keeping(setup: &Setup, beta: f64) -> Self {
        Self {
            mtu: setup.mtu,
            beta,
            window: setup.initial_window.max(minimum_window(setup.mtu)),
            ssthresh: None,
            answered: 0,
            acknowledged: Bytes::ZERO,
            before: None,
            growth: Growth { slow_start: 1.0, avoidance: 1.0 },
            most_per_ack: Bytes::MAX,
        }
    }

    pub(crate) fn mtu(&self) -> Bytes {
        self.mtu
    }

    pub(crate) fn set_growth(&mut self, growth: Growth) {
        self.growth = growth;
    }

    /// Sets the window outside congestion events, and the threshold where there is to be another.
    pub(crate) fn set_window(&mut self, window: Bytes, ssthresh: Option<Bytes>) {
        self.window = window.max(minimum_window(self.mtu));
        self.ssthresh = ssthresh.or(self.ssthresh);
    }

    /// Whether this acknowledgement may make the window grow: the window was in use (RFC 9002 §7.8) and the recovery period
    /// is over (§7.3.2).
    pub(crate) fn may_grow(&self, ack: &Ack<'_>) -> bool {
        !ack.app_limited && ack.newest().number >= self.answered
    }

    /// Grows through slow start up to the threshold, and says how many of the acknowledged bytes are left for congestion
    /// avoidance: one acknowledgement of many packets does what many of one packet do.
    pub(crate) fn slow_start(&mut self, bytes: Bytes) -> Bytes {
        if !self.in_slow_start() {
            return bytes;
        }
        let room = self.ssthresh.unwrap_or(Bytes::MAX).saturating_sub(self.window);
        let growth = bytes.mul_f64(self.growth.slow_start);
        self.window += growth.min(room);
        growth.saturating_sub(room).mul_f64(1.0 / self.growth.slow_start)
    }

    /// Takes back the last reduction. False where there is none that may be.
    pub(crate) fn undo(&mut self) -> bool {
        let Some((window, ssthresh)) = self.before.take() else { return false };
        self.window = self.window.max(window);
        self.ssthresh = ssthresh;
        true
    }

    /// RFC 9002 §7.3.2: one reduction for all losses and marks of packets sent before it. False where that has been made.
    pub(crate) fn congestion(&mut self, newest: u64, next_number: u64) -> bool {
        if newest < self.answered {
            return false;
        }
        self.answered = next_number;
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
        // RFC 9002 appendix B.5: one packet a window; counted, so that many small acknowledgements round nothing away.
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

    fn on_mark(&mut self, mark: &Mark) {
        self.congestion(mark.newest, mark.next_number);
        self.before = None;
    }

    fn on_spurious_loss(&mut self, _: Time) {
        self.undo();
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn adjust(&mut self, to: &Adjust) {
        self.window = to.window.max(minimum_window(self.mtu));
        self.ssthresh = to.ssthresh.or(self.ssthresh);
        self.answered = self.answered.max(to.answered);
        self.acknowledged = Bytes::ZERO;
        self.before = None;
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh)
    }

    fn phase(&self) -> &'static str {
        if self.in_slow_start() { "slow start" } else { "congestion avoidance" }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::testing::{MTU, Path, setup};
    use bentpipe_units::Span;

    fn reno() -> NewReno {
        NewReno::new(&setup(), &Values::defaults(PARAMETERS))
    }

    /// Sends a window at `at` and has it acknowledged 100 ms later, without the packets that `lost` names.
    fn round(reno: &mut NewReno, ledger: &mut Ledger, at: u64, lost: &[u64]) {
        let first = ledger.next_number();
        while ledger.bytes_in_flight() + MTU <= reno.window() {
            let packet = ledger.send(Time::from_millis(at), MTU);
            reno.on_packet_sent(&packet);
        }
        let now = Time::from_millis(at + 100);
        for number in (first..ledger.next_number()).filter(|number| !lost.contains(&(number - first))) {
            ledger.acknowledge(now, number);
            ledger.ack(now, false, |ack| reno.on_ack(ack));
        }
        for index in lost {
            ledger.lose(first + index);
        }
        ledger.loss(now, false, |loss| reno.on_loss(loss));
    }

    #[test]
    fn growth_for_each_acknowledgement_makes_sparse_ones_slow() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("newreno", "growth_per_ack", 2.0).unwrap();
        let (mut reno, mut ledger) = (NewReno::new(&setup(), &values), Ledger::new());
        let before = reno.window();
        for _ in 0..10 {
            let packet = ledger.send(Time::ZERO, MTU);
            reno.on_packet_sent(&packet);
        }
        for number in 0..10 {
            ledger.acknowledge(Time::from_millis(100), number);
        }
        ledger.ack(Time::from_millis(100), false, |ack| reno.on_ack(ack));
        assert_eq!(reno.window(), before + MTU + MTU, "ten packets in one acknowledgement");
    }

    #[test]
    fn the_window_doubles_in_slow_start_and_grows_by_a_packet_afterwards() {
        let (mut reno, mut ledger) = (reno(), Ledger::new());
        round(&mut reno, &mut ledger, 0, &[]);
        assert_eq!(reno.window(), Bytes::new(20_000));
        round(&mut reno, &mut ledger, 100, &[3]);
        let reduced = reno.window();
        assert_eq!(reno.ssthresh(), Some(reduced));
        round(&mut reno, &mut ledger, 200, &[]);
        round(&mut reno, &mut ledger, 300, &[]);
        // Nineteen packets fit the reduced window of 19.5: the twentieth, in the second round, completes it.
        assert_eq!(reno.window(), reduced + MTU);
    }

    #[test]
    fn one_flight_reduces_once() {
        let (mut reno, mut ledger) = (reno(), Ledger::new());
        round(&mut reno, &mut ledger, 0, &[0, 1, 2]);
        // Seven of ten arrived and grew it before the loss was declared.
        assert_eq!(reno.window(), Bytes::new(8_500));
    }

    #[test]
    fn a_spurious_loss_gives_the_window_back() {
        let (mut reno, mut ledger) = (reno(), Ledger::new());
        round(&mut reno, &mut ledger, 0, &[0]);
        reno.on_spurious_loss(Time::from_millis(150));
        assert_eq!((reno.window(), reno.ssthresh()), (Bytes::new(19_000), None));
    }

    #[test]
    fn persistent_congestion_leaves_two_packets() {
        let (mut reno, mut ledger) = (reno(), Ledger::new());
        let packet = ledger.send(Time::ZERO, MTU);
        ledger.lose(packet.number);
        ledger.loss(Time::from_millis(900), true, |loss| reno.on_loss(loss));
        assert_eq!(reno.window(), MTU + MTU);
    }

    #[test]
    fn one_acknowledgement_of_a_window_does_what_one_for_each_packet_does() {
        let (mut each, mut all) = (reno(), reno());
        let mut path = Path::new(Span::from_millis(100));
        let mut thinned = Path { batch: 1000, ..path.clone() };
        for round in 0..40 {
            path.round(&mut each, |index| round % 10 == 3 && index == 0);
            thinned.round(&mut all, |index| round % 10 == 3 && index == 0);
            assert!(
                each.window().get().abs_diff(all.window().get()) <= MTU.get(),
                "{} {}",
                each.window(),
                all.window()
            );
        }
    }

    #[test]
    fn slow_start_ends_at_the_threshold() {
        let mut reno = reno();
        let (window, ssthresh) = (Bytes::new(10_000), Some(Bytes::new(15_000)));
        reno.adjust(&Adjust { now: Time::ZERO, window, ssthresh, rate: None, min_rtt: None, answered: 0 });
        let mut path = Path { batch: 10, ..Path::new(Span::from_millis(100)) };
        path.round(&mut reno, |_| false);
        assert_eq!(reno.window(), Bytes::new(15_000));
    }

    #[test]
    fn the_mean_window_obeys_the_square_root_law() {
        // Mathis et al., CCR 27(3), 1997, equation 3: a window of sqrt(3/(2p)). Windows of whole packets, and a loss that is
        // noticed a round later, are worth some percent.
        for period in [1_000, 10_000] {
            let mean = Path::new(Span::from_millis(100)).mean_window(&mut reno(), period, 40 * period);
            let law = (1.5 * period as f64).sqrt();
            assert!((mean / law - 1.0).abs() < 0.05, "{mean} against {law}");
        }
    }
}
