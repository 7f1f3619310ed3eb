//! TCP Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
//! International Journal of Satellite Communications and Networking 22, 2004): the window of a long
//! path grows as fast in time as that of a short one.
//!
//! With ρ = RTT / RTT₀, never below 1, an acknowledged packet is worth 2^ρ − 1 packets in slow
//! start and ρ² / cwnd in congestion avoidance. RTT is the minimum RTT of the path, since a queue
//! must not make the flow more aggressive.
//!
//! On a geostationary path ρ is 24 and 2^ρ − 1 more than sixteen million: one ACK would request any
//! path's capacity many times over. `limit` bounds the worth of one acknowledged packet in both
//! phases. With three, the default and our choice, the window grows fourfold per RTT: from ten
//! packets to the 2,500 of a 50 Mbps geostationary path in four RTTs, compared with eight in
//! standard slow start. The initial window is the sender's, today ten packets, rather than the one
//! that the paper scales by ρ.
//!
//! Everything else is [`NewReno`].

use crate::algorithms::newreno::{Growth, NewReno};
use crate::controller::{Ack, Controller, ControllerConfig, PathChange, Restart, forward_to};
use crate::parameters::parameters;
use bentpipe_units::{Span, Time};

parameters! {
    /// Parameters of [`Hybla`].
    Parameters {
        beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a congestion event (RFC 9002 appendix B.1, \
             kLossReductionFactor)";
        rtt0: 25.0, 1.0 => 1000.0, "ms",
            "RTT of the path whose growth is matched (the paper's RTT0)";
        limit: 3.0, 1.0 => 1000.0, "packets",
            "maximum growth of the window per acknowledged packet (our choice: fourfold per \
             RTT); the paper has none", document 1000.0;
    }
}

/// The Hybla controller.
#[derive(Debug, Clone)]
pub struct Hybla {
    reno: NewReno,
    rtt0: Span,
    limit: f64,
    min_rtt: Option<Span>,
    /// Time since which packets take this path: earlier RTT samples belong to another.
    path_since: Time,
}

impl Hybla {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            reno: NewReno::with_beta(config, parameters.beta),
            rtt0: Span::from_secs_f64(parameters.rtt0 / 1e3),
            limit: parameters.limit,
            min_rtt: None,
            path_since: config.now,
        }
    }

    /// Returns ρ, the minimum RTT divided by the reference RTT, at least 1.
    pub fn rho(&self) -> f64 {
        self.min_rtt.map_or(1.0, |rtt| (rtt.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0))
    }

    fn growth(&self) -> Growth {
        let rho = self.rho();
        let packets = self.reno.window().get() as f64 / self.reno.mtu().get().max(1) as f64;
        Growth {
            slow_start: (libm::exp2(rho) - 1.0).min(self.limit),
            avoidance: (rho * rho).min(self.limit * packets.max(1.0)),
        }
    }
}

impl Controller for Hybla {
    forward_to!(reno: on_loss, on_ecn_ce, on_spurious_loss, on_mtu_update, send_control);

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.newest().sent_at >= self.path_since {
            self.min_rtt = Some(self.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        }
        self.reno.set_growth(self.growth());
        self.reno.on_ack(ack);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.min_rtt = change.shifted(self.min_rtt);
        self.path_since = change.since;
    }

    fn restart(&mut self, to: &Restart) {
        self.min_rtt = to.min_rtt.or(self.min_rtt);
        self.reno.restart(to);
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MTU, Path, config};
    use bentpipe_units::Bytes;

    fn hybla(path: &Path) -> Hybla {
        let mut hybla = Hybla::new(&config(), &Parameters::default());
        hybla.min_rtt = Some(path.rtt);
        hybla
    }

    fn avoid(path: &Path, packets: u64) -> Hybla {
        let mut hybla = hybla(path);
        let window = Bytes::new(MTU.get() * packets);
        hybla.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        hybla
    }

    #[test]
    fn on_a_path_of_the_reference_rtt_it_is_newreno() {
        let mut path = Path::new(Span::from_millis(25));
        let (mut hybla, mut reno) = (
            hybla(&path),
            NewReno::new(&config(), &crate::algorithms::newreno::Parameters::default()),
        );
        let mut other = path.clone();
        for round in 0..30 {
            path.round(&mut hybla, |index| round % 8 == 4 && index == 1);
            other.round(&mut reno, |index| round % 8 == 4 && index == 1);
            assert_eq!(hybla.send_control().cwnd, reno.send_control().cwnd);
        }
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho_until_the_limit() {
        // 2^1.5 - 1 packets per acknowledged packet: the window is multiplied by 2^1.5 per round.
        let mut path = Path::new(Span::from_micros(37_500));
        let mut short = hybla(&path);
        path.round(&mut short, |_| false);
        assert!(
            short.send_control().cwnd.get().abs_diff(28_284) < 20,
            "{}",
            short.send_control().cwnd
        );
        // A geostationary path would allow 2^24 - 1.
        let mut path = Path::new(Span::from_millis(600));
        let mut long = hybla(&path);
        path.round(&mut long, |_| false);
        assert_eq!(long.send_control().cwnd, Bytes::new(40_000));
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared_packets_a_round() {
        let mut path = Path::new(Span::from_millis(100));
        let mut hybla = avoid(&path, 200);
        path.round(&mut hybla, |_| false);
        // rho = 4. The window grows within the round, so that growth misses sixteen by a packet or
        // two.
        let grown = (hybla.send_control().cwnd.get() - 200_000) / MTU.get();
        assert!((14..=16).contains(&grown), "{grown}");
    }

    #[test]
    fn a_small_window_on_a_long_path_grows_by_at_most_the_limit() {
        let mut path = Path::new(Span::from_millis(600));
        let mut hybla = avoid(&path, 2);
        path.round(&mut hybla, |_| false);
        assert_eq!(hybla.send_control().cwnd, Bytes::new(8_000));
    }
}
