//! HyStart++ (RFC 9406): slow start that becomes conservative when the RTT grows, and ends when the
//! RTT stays increased.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, PathChange, Restart};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span};

parameters! {
    /// Parameters of [`HyStartPlusPlus`], with the names and recommended values of RFC 9406 §4.3.
    /// The limit L on the growth per ACK is infinite, as recommended for senders that pace.
    Parameters {
        min_rtt_thresh: 4.0, 0.1 => 1000.0, "ms",
            "smallest RTT increase that counts (RFC 9406 §4.3, MIN_RTT_THRESH)";
        max_rtt_thresh: 16.0, 0.1 => 1000.0, "ms",
            "largest RTT increase that is required (RFC 9406 §4.3, MAX_RTT_THRESH)";
        min_rtt_divisor: 8.0, 1.0 => 100.0, "",
            "divisor of the last round's minimum RTT, which gives the increase that counts (RFC \
             9406 §4.3, MIN_RTT_DIVISOR)";
        n_rtt_sample: 8.0, 1.0 => 100.0, "",
            "samples that a round needs for a decision (RFC 9406 §4.3, N_RTT_SAMPLE)";
        css_growth_divisor: 4.0, 1.0 => 100.0, "",
            "divisor of growth in conservative slow start (RFC 9406 §4.3, CSS_GROWTH_DIVISOR)";
        css_rounds: 5.0, 1.0 => 100.0, "",
            "rounds of conservative slow start before it ends (RFC 9406 §4.3, CSS_ROUNDS)";
    }
}

/// State of conservative slow start.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// RTT that caused the change. A smaller one reveals a false alarm (cssBaselineMinRtt).
    baseline: Span,
    rounds: u32,
}

/// The HyStart++ slow start.
#[derive(Debug, Clone)]
pub struct HyStartPlusPlus {
    rise: (Span, Span),
    divisor: f64,
    samples_needed: u32,
    growth_divisor: f64,
    conservative_rounds: u32,
    mtu: Bytes,
    window: Bytes,
    /// The round ends when this packet is acknowledged (windowEnd).
    round_end: u64,
    /// Minimum RTTs of the last round and of this one.
    last_round: Option<Span>,
    this_round: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStartPlusPlus {
    /// Creates a slow start with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let milliseconds = |value: f64| Span::from_secs_f64(value / 1e3);
        let least = milliseconds(parameters.min_rtt_thresh);
        Self {
            rise: (least, milliseconds(parameters.max_rtt_thresh).max(least)),
            divisor: parameters.min_rtt_divisor,
            samples_needed: parameters.n_rtt_sample as u32,
            growth_divisor: parameters.css_growth_divisor,
            conservative_rounds: parameters.css_rounds as u32,
            mtu: config.mtu,
            window: config.initial_window.max(minimum_window(config.mtu)),
            round_end: 0,
            last_round: None,
            this_round: None,
            samples: 0,
            conservative: None,
        }
    }

    /// Starts a round (RFC 9406 §4.2). Returns true if conservative slow start has lasted long
    /// enough.
    fn next_round(&mut self, next_number: u64) -> bool {
        self.round_end = next_number;
        self.last_round = self.this_round.take();
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= self.conservative_rounds
    }

    /// Enters conservative slow start if the RTT has grown, and leaves it if that was a false alarm
    /// (RFC 9406 §4.2).
    fn judge(&mut self) {
        let (Some(this), Some(last)) = (self.this_round, self.last_round) else { return };
        if self.samples < self.samples_needed {
            return;
        }
        match self.conservative {
            None if this
                >= last + last.mul_f64(1.0 / self.divisor).clamp(self.rise.0, self.rise.1) =>
            {
                self.conservative = Some(Conservative { baseline: this, rounds: 0 });
            }
            Some(conservative) if this < conservative.baseline => self.conservative = None,
            _ => {}
        }
    }
}

impl SlowStart for HyStartPlusPlus {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        if ack.newest().number >= self.round_end && self.next_round(ack.next_number) {
            return Progress::Found(CapacityEstimate {
                window: self.window,
                rate: None,
                min_rtt: ack.min_rtt,
                recovery_start: 0,
            });
        }
        if !ack.app_limited {
            self.window += match self.conservative {
                None => ack.bytes,
                Some(_) => ack.bytes.mul_f64(1.0 / self.growth_divisor),
            };
        }
        self.this_round = Some(self.this_round.map_or(ack.rtt, |smallest| smallest.min(ack.rtt)));
        self.samples = self.samples.saturating_add(1);
        self.judge();
        Progress::Continue
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn on_path_change(&mut self, change: &PathChange) -> bool {
        // A longer path is no queue. The round's samples include both paths and are discarded.
        self.last_round = change.shifted(self.last_round);
        let baseline = change.shifted(self.conservative.map(|conservative| conservative.baseline));
        self.conservative =
            self.conservative.zip(baseline).map(|(css, baseline)| Conservative { baseline, ..css });
        self.this_round = None;
        self.samples = 0;
        true
    }

    fn on_restart(&mut self, to: &Restart) -> bool {
        self.window = to.window.max(minimum_window(self.mtu));
        true
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn phase(&self) -> &'static str {
        if self.conservative.is_some() { "conservative slow start" } else { "slow start" }
    }

    fn clone_box(&self) -> Box<dyn SlowStart> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MTU;
    use crate::testing::rounds::Rounds;
    use bentpipe_units::Time;

    fn sender() -> Rounds<HyStartPlusPlus> {
        Rounds::new(10, |config| HyStartPlusPlus::new(config, &Parameters::default()))
    }

    /// Runs a round of ten packets with the given RTT. Returns the outcome of the last ACK.
    fn round(rounds: &mut Rounds<HyStartPlusPlus>, rtt_ms: u64) -> Progress {
        rounds.round(10, Span::from_millis(rtt_ms), Span::ZERO).1
    }

    #[test]
    fn a_steady_rtt_doubles_the_window_each_round() {
        let mut rounds = sender();
        for expected in [20_000, 30_000, 40_000] {
            assert_eq!(round(&mut rounds, 100), Progress::Continue);
            assert_eq!(rounds.window(), Bytes::new(expected));
        }
        assert_eq!(rounds.slow_start.phase(), "slow start");
    }

    #[test]
    fn an_increase_of_an_eighth_slows_the_growth_to_a_quarter_from_the_eighth_sample_on() {
        let mut rounds = sender();
        round(&mut rounds, 100);
        round(&mut rounds, 113);
        assert_eq!(rounds.slow_start.phase(), "conservative slow start");
        // Eight packets of the second round at full growth, then two at a quarter.
        assert_eq!(rounds.window(), Bytes::new(10_000 + 10_000 + 8_000 + 500));
    }

    #[test]
    fn an_increase_below_the_threshold_has_no_effect() {
        let mut rounds = sender();
        round(&mut rounds, 100);
        round(&mut rounds, 112);
        assert_eq!(rounds.slow_start.phase(), "slow start");
    }

    #[test]
    fn on_a_long_path_sixteen_milliseconds_are_enough() {
        let mut rounds = sender();
        round(&mut rounds, 600);
        round(&mut rounds, 615);
        assert_eq!(rounds.slow_start.phase(), "slow start");
        round(&mut rounds, 631);
        assert_eq!(rounds.slow_start.phase(), "conservative slow start");
    }

    #[test]
    fn seven_samples_have_no_effect() {
        let mut rounds = sender();
        round(&mut rounds, 100);
        rounds.round(7, Span::from_millis(200), Span::ZERO);
        assert_eq!(rounds.slow_start.phase(), "slow start");
    }

    #[test]
    fn an_rtt_below_the_baseline_returns_to_slow_start() {
        let mut rounds = sender();
        round(&mut rounds, 100);
        round(&mut rounds, 120);
        round(&mut rounds, 119);
        assert_eq!(rounds.slow_start.phase(), "slow start");
    }

    #[test]
    fn five_conservative_rounds_end_it() {
        let mut rounds = sender();
        round(&mut rounds, 100);
        for _ in 0..5 {
            assert_eq!(round(&mut rounds, 120), Progress::Continue);
        }
        let window = rounds.window();
        let Progress::Found(found) = round(&mut rounds, 120) else {
            panic!("slow start must have ended")
        };
        assert_eq!((found.window, found.min_rtt), (window, Span::from_millis(100)));
    }

    #[test]
    fn the_window_stays_while_the_application_limits_the_sender() {
        let mut rounds = sender();
        rounds.sent_packets.on_sent(Time::ZERO, MTU);
        rounds.sent_packets.on_acked(Time::from_millis(100), 0);
        rounds.sent_packets.report_ack(Time::from_millis(100), true, |ack| {
            rounds.slow_start.on_ack(ack);
        });
        assert_eq!(rounds.window(), Bytes::new(10_000));
    }
}
