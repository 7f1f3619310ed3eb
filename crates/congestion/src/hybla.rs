//! TCP Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22, 2004): a long path's window grows as fast in time as a short one's.
//!
//! With ρ = RTT / RTT₀, never below 1, a packet acknowledged is worth 2^ρ − 1 packets in slow start and ρ² / cwnd in
//! congestion avoidance. The round trip is the smallest of the path: a queue must not make the flow more aggressive.
//!
//! On a geostationary path ρ is 24 and 2^ρ − 1 more than sixteen million: one acknowledgement would ask for any path's
//! capacity many times over. `limit` bounds what one acknowledged packet may be worth, in both phases. Three, the default and
//! our choice, has the window grow fourfold each round trip: from ten packets to a 50 Mbps geostationary path's 2,500 in four
//! round trips, where slow start takes eight. The initial window stays the sender's: it is ten packets nowadays, not the one
//! that the paper scales by ρ.
//!
//! All else is [`NewReno`].

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, PathChange, Setup};
use crate::newreno::{Growth, NewReno};
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Span, Time};

/// Parameters of [`Hybla`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "beta",
        default: 0.5,
        range: (0.1, 0.95),
        unit: "",
        about: "share of the window kept at a congestion event (RFC 9002 appendix B.1, kLossReductionFactor)",
    },
    Parameter {
        name: "rtt0",
        default: 25.0,
        range: (1.0, 1000.0),
        unit: "ms",
        about: "round trip of the path that this one shall keep up with (the paper's RTT0)",
    },
    Parameter {
        name: "limit",
        default: 3.0,
        range: (1.0, 1000.0),
        unit: "packets",
        about: "most that the window grows for each packet acknowledged (our choice: fourfold each round trip)",
    },
];

/// The controller.
#[derive(Debug, Clone)]
pub struct Hybla {
    reno: NewReno,
    rtt0: Span,
    limit: f64,
    min_rtt: Option<Span>,
    /// When packets began to take this path: round trips of earlier ones are another's.
    path_since: Time,
}

impl Hybla {
    /// A controller at its initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        Self {
            reno: NewReno::keeping(setup, values.get("beta")),
            rtt0: Span::from_secs_f64(values.get("rtt0") / 1e3),
            limit: values.get("limit"),
            min_rtt: None,
            path_since: setup.now,
        }
    }

    /// ρ: the smallest round trip over the reference's, at least 1.
    pub fn rho(&self) -> f64 {
        self.min_rtt.map_or(1.0, |rtt| (rtt.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0))
    }

    fn growth(&self) -> Growth {
        let rho = self.rho();
        let packets = self.window().get() as f64 / self.reno.mtu().get().max(1) as f64;
        Growth {
            slow_start: (libm::exp2(rho) - 1.0).min(self.limit),
            avoidance: (rho * rho).min(self.limit * packets.max(1.0)),
        }
    }
}

impl Controller for Hybla {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.newest().sent_at >= self.path_since {
            self.min_rtt = Some(self.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        }
        self.reno.set_growth(self.growth());
        self.reno.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.reno.on_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.reno.on_mark(mark);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.reno.on_spurious_loss(now);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.min_rtt = change.shifted(self.min_rtt);
        self.path_since = change.since;
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.reno.on_mtu(mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.min_rtt = to.min_rtt.or(self.min_rtt);
        self.reno.adjust(to);
    }

    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.reno.ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.reno.in_slow_start()
    }

    fn phase(&self) -> &'static str {
        self.reno.phase()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MTU, Path, setup};

    fn hybla(path: &Path) -> Hybla {
        let mut hybla = Hybla::new(&setup(), &Values::defaults(PARAMETERS));
        hybla.min_rtt = Some(path.rtt);
        hybla
    }

    fn avoid(path: &Path, packets: u64) -> Hybla {
        let mut hybla = hybla(path);
        let window = Bytes::new(MTU.get() * packets);
        hybla.adjust(&Adjust { now: path.now, window, ssthresh: Some(window), rate: None, min_rtt: None, answered: 0 });
        hybla
    }

    #[test]
    fn a_path_of_the_reference_round_trip_is_newreno() {
        let mut path = Path::new(Span::from_millis(25));
        let (mut hybla, mut reno) =
            (hybla(&path), NewReno::new(&setup(), &Values::defaults(crate::newreno::PARAMETERS)));
        let mut other = path.clone();
        for round in 0..30 {
            path.round(&mut hybla, |index| round % 8 == 4 && index == 1);
            other.round(&mut reno, |index| round % 8 == 4 && index == 1);
            assert_eq!(hybla.window(), reno.window());
        }
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho_until_the_limit() {
        // 2^1.5 - 1 for each packet: the window is multiplied by 2^1.5 in a round.
        let mut path = Path::new(Span::from_micros(37_500));
        let mut short = hybla(&path);
        path.round(&mut short, |_| false);
        assert!(short.window().get().abs_diff(28_284) < 20, "{}", short.window());
        // A geostationary path would have 2^24 - 1.
        let mut path = Path::new(Span::from_millis(600));
        let mut long = hybla(&path);
        path.round(&mut long, |_| false);
        assert_eq!(long.window(), Bytes::new(40_000));
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared_packets_a_round() {
        let mut path = Path::new(Span::from_millis(100));
        let mut hybla = avoid(&path, 200);
        path.round(&mut hybla, |_| false);
        // rho = 4; the window grows within the round, so that sixteen is reached but for a packet or two.
        let grown = (hybla.window().get() - 200_000) / MTU.get();
        assert!((14..=16).contains(&grown), "{grown}");
    }

    #[test]
    fn a_small_window_on_a_long_path_grows_by_the_limit_at_most() {
        let mut path = Path::new(Span::from_millis(600));
        let mut hybla = avoid(&path, 2);
        path.round(&mut hybla, |_| false);
        assert_eq!(hybla.window(), Bytes::new(8_000));
    }
}
