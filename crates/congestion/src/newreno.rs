//! NewReno as QUIC has it (RFC 9002 §7 and appendix B).

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Setup};
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Time};

/// Parameters of [`NewReno`].
pub const PARAMETERS: &[Parameter] = &[Parameter {
    name: "beta",
    default: 0.5,
    range: (0.1, 0.95),
    unit: "",
    about: "share of the window kept at a congestion event (RFC 9002 appendix B.1, kLossReductionFactor)",
}];

/// Smallest window: two packets (RFC 9002 §7.2, kMinimumWindow).
pub fn minimum_window(mtu: Bytes) -> Bytes {
    mtu + mtu
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
}

impl NewReno {
    /// A controller at its initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        Self {
            mtu: setup.mtu,
            beta: values.get("beta"),
            window: setup.initial_window.max(minimum_window(setup.mtu)),
            ssthresh: None,
            answered: 0,
            acknowledged: Bytes::ZERO,
            before: None,
        }
    }

    /// RFC 9002 §7.3.2: one reduction for all losses and marks of packets sent before it.
    fn congestion(&mut self, newest: u64, next_number: u64) {
        if newest < self.answered {
            return;
        }
        self.answered = next_number;
        self.before = Some((self.window, self.ssthresh));
        self.window = self.window.mul_f64(self.beta).max(minimum_window(self.mtu));
        self.ssthresh = Some(self.window);
        self.acknowledged = Bytes::ZERO;
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.app_limited || ack.newest().number < self.answered {
            return;
        }
        if self.in_slow_start() {
            self.window += ack.bytes;
            return;
        }
        // RFC 9002 appendix B.5: one packet a window; counted, so that many small acknowledgements round nothing away.
        self.acknowledged += ack.bytes;
        if self.acknowledged >= self.window {
            self.acknowledged -= self.window;
            self.window += self.mtu;
        }
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
        if let Some((window, ssthresh)) = self.before.take() {
            self.window = self.window.max(window);
            self.ssthresh = ssthresh;
        }
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

    const MTU: Bytes = Bytes::new(1000);

    fn reno() -> NewReno {
        let setup = Setup { now: Time::ZERO, mtu: MTU, initial_window: Bytes::new(10_000), distance_m: None };
        NewReno::new(&setup, &Values::defaults(PARAMETERS))
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
}
