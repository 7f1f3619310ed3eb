//! A rate that somebody knows: no search for it, no answer to losses. What proxies do on a satellite link whose rate they were told, and
//! nobody should do on a path that others share.

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Setup};
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Rate, Span};

/// What can be set.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "mbps",
        default: 10.0,
        range: (0.001, 100_000.0),
        unit: "Mbps",
        about: "the rate, of what counts as in flight",
    },
    Parameter {
        name: "rtt_ms",
        default: 600.0,
        range: (0.1, 60_000.0),
        unit: "ms",
        about: "smallest round trip that the window allows for; 600: a geostationary satellite",
    },
    Parameter {
        name: "gain",
        default: 2.0,
        range: (1.0, 100.0),
        unit: "",
        about: "the window in rate times round trip; two, so that a round trip of repair does not stop it",
    },
];

/// Sends at one rate, with a window that allows for it.
#[derive(Debug, Clone)]
pub struct FixedRate {
    rate: Rate,
    rtt: Span,
    gain: f64,
    mtu: Bytes,
}

impl FixedRate {
    /// A sender of the rate that `values` say.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        Self {
            rate: Rate::from_bps((values.get("mbps") * 1e6) as u64),
            rtt: Span::from_secs_f64(values.get("rtt_ms") / 1e3),
            gain: values.get("gain"),
            mtu: setup.mtu,
        }
    }
}

impl Controller for FixedRate {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = self.rtt.max(ack.min_rtt);
    }

    fn on_loss(&mut self, _: &Loss<'_>) {}

    fn on_mark(&mut self, _: &Mark) {}

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
    }

    /// The rate was told; no measurement moves it.
    fn adjust(&mut self, _: &Adjust) {}

    fn window(&self) -> Bytes {
        self.rate.bytes_in(self.rtt).mul_f64(self.gain).max(Bytes::new(2 * self.mtu.get()))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn in_slow_start(&self) -> bool {
        false
    }

    fn phase(&self) -> &'static str {
        "fixed rate"
    }

    fn loss_tolerance(&self) -> f64 {
        1.0
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;

    #[test]
    fn the_window_allows_for_the_rate_from_the_first_packet_on() {
        let setup = Setup {
            now: Time::ZERO,
            mtu: Bytes::new(1448),
            initial_window: Bytes::new(14_480),
            distance_m: None,
            rtt: None,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("fixed-rate", "mbps", 200.0).unwrap();
        let controller = FixedRate::new(&setup, &values);
        // 200 Mbps for 600 ms are 15 MB; twice that.
        assert_eq!(controller.window(), Bytes::from_mb(30));
        assert_eq!(controller.pacing_rate(), Some(Rate::from_mbps(200)));
    }
}
