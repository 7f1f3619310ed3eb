//! HyStart++ (RFC 9406): slow start that becomes careful when the round trip grows, and ends when
//! it stays grown.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, PathChange, Restart};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span};

parameters! {
    /// Parameters of [`HyStartPlusPlus`], with the names and the recommended values of RFC 9406
    /// §4.3. Its limit L on the growth for each acknowledgement is infinite, as recommended for
    /// senders that pace.
    Parameters {
        min_rtt_thresh: 4.0, 0.1 => 1000.0, "ms",
            "smallest rise of the round trip that counts (RFC 9406 §4.3, MIN_RTT_THRESH)";
        max_rtt_thresh: 16.0, 0.1 => 1000.0, "ms",
            "largest rise of the round trip that is waited for (RFC 9406 §4.3, MAX_RTT_THRESH)";
        min_rtt_divisor: 8.0, 1.0 => 100.0, "",
            "rise that counts, as a part of the last round's smallest round trip (RFC 9406 §4.3, \
             MIN_RTT_DIVISOR)";
        n_rtt_sample: 8.0, 1.0 => 100.0, "",
            "samples that a round needs before it says something (RFC 9406 §4.3, N_RTT_SAMPLE)";
        css_growth_divisor: 4.0, 1.0 => 100.0, "",
            "how many times slower conservative slow start grows (RFC 9406 §4.3, \
             CSS_GROWTH_DIVISOR)";
        css_rounds: 5.0, 1.0 => 100.0, "",
            "rounds of conservative slow start before it ends (RFC 9406 §4.3, CSS_ROUNDS)";
    }
}

/// Conservative slow start.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// The RTT that caused the change: a smaller one shows a false alarm (cssBaselineMinRtt).
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
        // A longer path is no queue. The round's samples are of both paths, and say nothing.
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
    use crate::sent_packets::SentPackets;
    use bentpipe_units::Time;

    const MTU: Bytes = Bytes::new(1000);

    /// A sender whose every round is ten packets, each acknowledged for itself.
    struct Rounds {
        start: HyStartPlusPlus,
        sent_packets: SentPackets,
        now: Time,
    }

    impl Rounds {
        fn new() -> Self {
            let config = ControllerConfig {
                now: Time::ZERO,
                mtu: MTU,
                initial_window: Bytes::new(10_000),
                distance_m: None,
                rtt: None,
            };
            let start = HyStartPlusPlus::new(&config, &Parameters::default());
            Self { start, sent_packets: SentPackets::new(), now: Time::ZERO }
        }

        /// One round of `packets` acknowledgements at round trip `rtt_ms`; what the last of them
        /// led to.
        fn round_of(&mut self, packets: u64, rtt_ms: u64) -> Progress {
            let first = self.sent_packets.next_number();
            for _ in 0..packets {
                self.sent_packets.on_sent(self.now, MTU);
            }
            self.now += Span::from_millis(rtt_ms);
            let mut progress = Progress::Continue;
            for number in first..first + packets {
                self.sent_packets.on_acked(self.now, number);
                self.sent_packets.report_ack(self.now, false, |ack| {
                    if progress == Progress::Continue {
                        progress = self.start.on_ack(ack);
                    }
                });
            }
            progress
        }

        fn round(&mut self, rtt_ms: u64) -> Progress {
            self.round_of(10, rtt_ms)
        }
    }

    #[test]
    fn a_steady_round_trip_doubles_the_window_each_round() {
        let mut rounds = Rounds::new();
        for expected in [20_000, 30_000, 40_000] {
            assert_eq!(rounds.round(100), Progress::Continue);
            assert_eq!(rounds.start.window(), Bytes::new(expected));
        }
        assert_eq!(rounds.start.phase(), "slow start");
    }

    #[test]
    fn a_rise_of_an_eighth_slows_the_growth_to_a_quarter_from_the_eighth_sample_on() {
        let mut rounds = Rounds::new();
        rounds.round(100);
        rounds.round(113);
        assert_eq!(rounds.start.phase(), "conservative slow start");
        // Eight packets of the second round at full growth, two at a quarter.
        assert_eq!(rounds.start.window(), Bytes::new(10_000 + 10_000 + 8_000 + 500));
    }

    #[test]
    fn a_rise_below_the_threshold_changes_nothing() {
        let mut rounds = Rounds::new();
        rounds.round(100);
        rounds.round(112);
        assert_eq!(rounds.start.phase(), "slow start");
    }

    #[test]
    fn on_a_long_path_sixteen_milliseconds_are_enough() {
        let mut rounds = Rounds::new();
        rounds.round(600);
        rounds.round(615);
        assert_eq!(rounds.start.phase(), "slow start");
        rounds.round(631);
        assert_eq!(rounds.start.phase(), "conservative slow start");
    }

    #[test]
    fn seven_samples_say_nothing() {
        let mut rounds = Rounds::new();
        rounds.round(100);
        rounds.round_of(7, 200);
        assert_eq!(rounds.start.phase(), "slow start");
    }

    #[test]
    fn a_round_trip_below_the_baseline_goes_back_to_slow_start() {
        let mut rounds = Rounds::new();
        rounds.round(100);
        rounds.round(120);
        rounds.round(119);
        assert_eq!(rounds.start.phase(), "slow start");
    }

    #[test]
    fn five_conservative_rounds_end_it() {
        let mut rounds = Rounds::new();
        rounds.round(100);
        for _ in 0..5 {
            assert_eq!(rounds.round(120), Progress::Continue);
        }
        let window = rounds.start.window();
        let Progress::Found(found) = rounds.round(120) else { panic!("it goes on") };
        assert_eq!((found.window, found.min_rtt), (window, Span::from_millis(100)));
    }

    #[test]
    fn the_window_stays_while_the_application_is_the_limit() {
        let mut rounds = Rounds::new();
        rounds.sent_packets.on_sent(Time::ZERO, MTU);
        rounds.sent_packets.on_acked(Time::from_millis(100), 0);
        rounds.sent_packets.report_ack(Time::from_millis(100), true, |ack| {
            rounds.start.on_ack(ack);
        });
        assert_eq!(rounds.start.window(), Bytes::new(10_000));
    }
}
