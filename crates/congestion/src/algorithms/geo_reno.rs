//! Geolocation-based Reno: growth in proportion to the distance between the endpoints.
//!
//! The published rule is cwnd += α · d / cwnd per ACK in congestion avoidance, where d is the
//! geodesic distance and α "a normalising constant, from the minimum RTT" (Hypatia experiments on a
//! LEO constellation; `leo-fairness`). Neither a value of α nor the place at which the minimum RTT
//! is measured is published; the following is our reading.
//!
//! **Rule for α.** Reno adds one packet per RTT, and a flow with the reference RTT RTT₀ must do the
//! same. Light covers the distance of that flow in half of RTT₀, so d₀ = c · RTT₀ / 2 and α = 1 /
//! d₀ = 2 / (c · RTT₀), for every flow alike. With RTT₀ = 25 ms, Hybla's reference, d₀ is 3,747 km
//! and α is 0.267 packets per 1,000 km, the default. If the minimum RTT of a network differs, set
//! `alpha` by the same rule: 11 ms give 0.606.
//!
//! To compare the flows of a network, use one RTT₀ for all of them: the smallest RTT of an empty
//! path of any of them during the comparison. [`alpha_for`] returns the `alpha` that belongs to it.
//! The resulting growth stays within bounds: at 11 ms, a flow grows by 0.34 packets per RTT over
//! 560 km and by 7.3 over 12,000 km.
//!
//! **The other reading** (`own_rtt` of 1): each flow uses its own minimum RTT as RTT₀. Then α · d
//! is one on a straight path, less on a detour, and never more than Reno's.
//!
//! On straight paths, growth of α · d is proportional to the RTT, not to its square as Hybla's: the
//! advantage of short paths shrinks but does not vanish. Unlike a measured RTT, the distance
//! contains neither queueing nor detours.
//!
//! `least` keeps flows between neighbours growing, whose α · d would approach zero.
//!
//! Without a distance this is NewReno, and [`SendControl::phase`] reports it. Slow start and
//! reductions are NewReno's in any case.

use crate::algorithms::newreno::{Growth, NewReno};
use crate::controller::{Ack, Controller, ControllerConfig, SendControl, forward_to};
use crate::parameters::parameters;
use bentpipe_units::Span;

/// Half of the Earth's circumference in metres: the largest distance between two places.
const FARTHEST_M: u64 = 20_037_508;

parameters! {
    /// Parameters of [`GeoReno`].
    Parameters {
        beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a congestion event (RFC 9002 appendix B.1, \
             kLossReductionFactor)";
        alpha: 0.267, 0.001 => 100.0, "packets per 1000 km",
            "growth per RTT and distance; 2 / (c RTT0) with RTT0 = 25 ms (our reading of the \
             rule)";
        own_rtt: 0.0, 0.0 => 1.0, "",
            "1: alpha is 2 / (c RTT) with the minimum RTT of the connection, instead of one alpha \
             for all (the other reading)";
        least: 0.05, 0.001 => 1.0, "packets",
            "minimum growth per RTT, however close the endpoints are (our choice)";
    }
}

/// Returns the `alpha` of a reference RTT in packets per 1,000 km: 2 / (c · RTT₀), within the range
/// of the parameter.
pub fn alpha_for(rtt0: Span) -> f64 {
    // c = 299,792.458 km/s (SI).
    let alpha = 2.0 * 1_000.0 / (299_792.458 * rtt0.as_secs_f64());
    alpha.clamp(0.001, 100.0)
}

/// The geolocation-based Reno controller.
#[derive(Debug, Clone)]
pub struct GeoReno {
    reno: NewReno,
    located: bool,
    /// Set if alpha follows the minimum RTT of the connection: distance in metres, minimum growth,
    /// and the RTT behind the current growth.
    own: Option<(u64, f64, Span)>,
}

impl GeoReno {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let mut reno = NewReno::with_beta(config, parameters.beta);
        let own = config.distance_m.filter(|_| parameters.own_rtt >= 0.5);
        let own = own.map(|metres| (metres.min(FARTHEST_M), parameters.least, Span::ZERO));
        if let Some(metres) = config.distance_m {
            let avoidance = parameters.alpha * metres.min(FARTHEST_M) as f64 / 1e6;
            reno.set_growth(Growth { slow_start: 1.0, avoidance: avoidance.max(parameters.least) });
        }
        Self { reno, located: config.distance_m.is_some(), own }
    }
}

impl Controller for GeoReno {
    forward_to!(reno: on_loss, on_ecn_ce, on_spurious_loss, on_mtu_update, restart);

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some((metres, least, rtt)) = &mut self.own
            && *rtt != ack.min_rtt
        {
            *rtt = ack.min_rtt;
            let avoidance = (alpha_for(ack.min_rtt) * *metres as f64 / 1e6).clamp(*least, 1.0);
            self.reno.set_growth(Growth { slow_start: 1.0, avoidance });
        }
        self.reno.on_ack(ack);
    }

    fn send_control(&self) -> SendControl {
        let control = self.reno.send_control();
        let phase = if control.in_slow_start || self.located {
            control.phase
        } else {
            "newreno, no distance"
        };
        SendControl { phase, ..control }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Restart;
    use crate::testing::{MTU, Path, config};
    use bentpipe_units::Bytes;

    /// Returns the packets that `rounds` rounds add to a window of 100.
    fn grown(distance_m: Option<u64>, rounds: u32) -> u64 {
        grown_with(distance_m, rounds, &Parameters::default())
    }

    fn grown_with(distance_m: Option<u64>, rounds: u32, parameters: &Parameters) -> u64 {
        let mut path = Path::new(Span::from_millis(50));
        let mut reno = GeoReno::new(&ControllerConfig { distance_m, ..config() }, parameters);
        let window = Bytes::new(100 * MTU.get());
        reno.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        for _ in 0..rounds {
            path.round(&mut reno, |_| false);
        }
        (reno.send_control().cwnd.get() - window.get()) / MTU.get()
    }

    #[test]
    fn growth_is_alpha_times_the_distance_each_round() {
        // 0.267 per 1,000 km: 12,000 km give 3.2 packets per round, the last of which may be
        // incomplete.
        assert!([31, 32].contains(&grown(Some(12_000_000), 10)));
        // The reference distance: one packet per round, as Reno.
        assert_eq!(grown(Some(3_747_406), 10), 10);
    }

    #[test]
    fn alpha_follows_from_the_reference_rtt() {
        assert!((alpha_for(Span::from_millis(25)) - Parameters::default().alpha).abs() < 0.0005);
        assert!((alpha_for(Span::from_millis(11)) - 0.6065).abs() < 0.0001);
        assert_eq!((alpha_for(Span::ZERO), alpha_for(Span::MAX)), (100.0, 0.001));
    }

    #[test]
    fn own_rtt_reduces_growth_on_detours() {
        let values = Parameters { own_rtt: 1.0, ..Parameters::default() };
        // Light covers 7,495 km and back in 50 ms.
        assert_eq!(grown_with(Some(7_494_811), 10, &values), 10);
        assert!([4, 5].contains(&grown_with(Some(3_747_406), 10, &values)));
        assert_eq!(grown_with(Some(20_000_000), 10, &values), 10, "never more than Reno");
    }

    #[test]
    fn neighbours_and_impossible_distances_stay_within_bounds() {
        assert_eq!(grown(Some(0), 40), 2);
        assert_eq!(grown(Some(u64::MAX), 10), grown(Some(FARTHEST_M), 10));
    }

    #[test]
    fn without_a_distance_it_is_newreno_and_reports_it() {
        let mut reno = NewReno::new(&config(), &crate::algorithms::newreno::Parameters::default());
        let mut geo = GeoReno::new(&config(), &Parameters::default());
        let (mut path, mut other) =
            (Path::new(Span::from_millis(50)), Path::new(Span::from_millis(50)));
        for round in 0..40 {
            path.round(&mut geo, |index| round % 9 == 3 && index == 2);
            other.round(&mut reno, |index| round % 9 == 3 && index == 2);
            assert_eq!(geo.send_control().cwnd, reno.send_control().cwnd);
        }
        assert_eq!(geo.send_control().phase, "newreno, no distance");
    }
}
