//! Sends at a known rate, without search or response to loss. Proxies do this on a satellite link
//! whose rate they know; no sender should do it on a shared path.

use crate::controller::{Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Rate, Span};

/// Name in the catalogue. It has no slow start that another one could replace: the rate is known.
pub const NAME: &str = "fixed-rate";
/// Largest RTT that the window can be sized for, in milliseconds: 11.6 days, for deep space.
pub const MAX_RTT_MS: f64 = 1e9;

parameters! {
    /// Parameters of [`FixedRate`].
    Parameters {
        mbps: 10.0, 0.001 => 100_000.0, "Mbps", "sending rate of the bytes that count as in flight";
        rtt_ms: 600.0, 0.1 => MAX_RTT_MS, "ms",
            "minimum RTT that the window is sized for; 600: a geostationary satellite";
        gain: 2.0, 1.0 => 100.0, "",
            "window in units of rate times RTT; two, so that an RTT of loss repair does not stop \
             the sender";
    }
}

/// A controller that sends at a fixed rate, with a window large enough for it.
#[derive(Debug, Clone)]
pub struct FixedRate {
    rate: Rate,
    rtt: Span,
    gain: f64,
    mtu: Bytes,
}

impl FixedRate {
    /// Creates a controller with the rate of `parameters`.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            rate: Rate::from_bps((parameters.mbps * 1e6) as u64),
            rtt: Span::from_secs_f64(parameters.rtt_ms / 1e3),
            gain: parameters.gain,
            mtu: config.mtu,
        }
    }
}

impl Controller for FixedRate {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = self.rtt.max(ack.min_rtt);
    }

    fn on_loss(&mut self, _: &Loss<'_>) {}

    fn on_ecn_ce(&mut self, _: &EcnCe) {}

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
    }

    /// No effect: measurements do not change the configured rate.
    fn restart(&mut self, _: &Restart) {}

    fn send_control(&self) -> SendControl {
        let cwnd =
            self.rate.bytes_in(self.rtt).mul_f64(self.gain).max(Bytes::new(2 * self.mtu.get()));
        SendControl {
            pacing_rate: Some(self.rate),
            loss_tolerance: 1.0,
            ..SendControl::window(cwnd, false, "fixed rate")
        }
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
    fn the_window_allows_the_rate_from_the_first_packet() {
        let config = ControllerConfig {
            now: Time::ZERO,
            mtu: Bytes::new(1448),
            initial_window: Bytes::new(14_480),
            distance_m: None,
            rtt: None,
        };
        let values = Parameters { mbps: 200.0, ..Parameters::default() };
        let controller = FixedRate::new(&config, &values);
        // 200 Mbps over 600 ms are 15 MB; the window is twice that.
        assert_eq!(controller.send_control().cwnd, Bytes::from_mb(30));
        assert_eq!(controller.send_control().pacing_rate, Some(Rate::from_mbps(200)));
    }
}
