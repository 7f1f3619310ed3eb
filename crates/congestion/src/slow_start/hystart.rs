//! HyStart as in Linux's CUBIC (Ha, Rhee: "Taming the elephants: new TCP slow start", Computer
//! Networks 55, 2011; constants and order of Linux 6.18, `tcp_cubic.c`).
//!
//! Slow start ends at once if a train of ACKs becomes as long as the path, or if the RTT has grown.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, PathChange, Restart};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span, Time};

parameters! {
    /// Parameters of [`HyStart`]; defaults are Linux's.
    Parameters {
        low_window: 16.0, 0.0 => 1000.0, "packets",
            "window below which nothing is checked (hystart_low_window)";
        ack_delta: 2.0, 0.0 => 100.0, "ms",
            "ACKs of one train are closer together than this (hystart_ack_delta_us)";
        train: 0.5, 0.1 => 10.0, "",
            "length of a train that ends slow start, in minimum RTTs; Linux uses 1 for senders \
             that pace";
        min_delay: 4.0, 0.0 => 1000.0, "ms",
            "smallest RTT increase that counts (HYSTART_DELAY_MIN)";
        max_delay: 16.0, 0.0 => 1000.0, "ms",
            "largest RTT increase that is required (HYSTART_DELAY_MAX)";
        samples: 8.0, 1.0 => 100.0, "",
            "RTT samples that a round needs for a decision (HYSTART_MIN_SAMPLES)";
    }
}

/// RTT increase that counts, as a fraction of the minimum RTT.
const RISE: f64 = 0.125;
/// Allowance that Linux adds to a train for bursts of segmentation offload, at the rates of
/// satellite links (hystart_ack_delay).
const BURST: Span = Span::from_millis(1);

/// What an acknowledgement shows of the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    /// True if it starts a round.
    pub(super) round_start: bool,
    /// Minimum RTT of the connection.
    pub(super) min_rtt: Span,
    /// Minimum RTT of the round.
    pub(super) round_rtt: Span,
    /// Time since the first ACK of the round, if this one belongs to its train.
    pub(super) train: Option<Span>,
    /// True if the RTT of the round is above the minimum as if there was a queue.
    pub(super) late: bool,
}

/// The HyStart slow start.
#[derive(Debug, Clone)]
pub struct HyStart {
    low_window: u64,
    ack_delta: Span,
    train: f64,
    delay: (Span, Span),
    samples_needed: u32,
    mtu: Bytes,
    window: Bytes,
    /// The round ends when this packet is acknowledged (end_seq).
    round_end: u64,
    round_start: Time,
    /// Time of the last ACK in the train that began with the round.
    last_ack: Time,
    /// Minimum RTT of the connection (delay_min), and of this round (curr_rtt).
    min_rtt: Option<Span>,
    this_round: Option<Span>,
    samples: u32,
}

impl HyStart {
    /// Creates a slow start with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let milliseconds = |value: f64| Span::from_secs_f64(value / 1e3);
        let least = milliseconds(parameters.min_delay);
        Self {
            low_window: parameters.low_window as u64,
            ack_delta: milliseconds(parameters.ack_delta),
            train: parameters.train,
            delay: (least, milliseconds(parameters.max_delay).max(least)),
            samples_needed: parameters.samples as u32,
            mtu: config.mtu,
            window: config.initial_window.max(minimum_window(config.mtu)),
            round_end: 0,
            round_start: config.now,
            last_ack: config.now,
            min_rtt: None,
            this_round: None,
            samples: 0,
        }
    }

    /// Returns what an acknowledgement shows at a congestion window of `window` (hystart_update).
    pub(super) fn observe(&mut self, ack: &Ack<'_>, window: Bytes) -> Signs {
        let min_rtt = self.min_rtt.map_or(ack.rtt, |smallest| smallest.min(ack.rtt));
        self.min_rtt = Some(min_rtt);
        let round_start = ack.newest().number >= self.round_end;
        if round_start {
            self.round_end = ack.next_number;
            (self.round_start, self.last_ack) = (ack.now, ack.now);
            self.this_round = None;
            self.samples = 0;
        }
        let mut signs =
            Signs { round_start, min_rtt, round_rtt: ack.rtt, train: None, late: false };
        if window.get() < self.mtu.get().saturating_mul(self.low_window) {
            return signs;
        }
        // The kernel includes equality. On its clock, which has noise, ACKs that are on average as
        // far apart as that break a train within a few; here they would all be of it: two packets
        // of 1500 bytes at 12 Mbps take exactly 2 ms.
        if ack.now.since(self.last_ack) < self.ack_delta {
            self.last_ack = ack.now;
            signs.train = Some(ack.now.since(self.round_start));
        }
        signs.round_rtt = self.this_round.map_or(ack.rtt, |smallest| smallest.min(ack.rtt));
        self.this_round = Some(signs.round_rtt);
        if self.samples < self.samples_needed {
            self.samples += 1;
        } else {
            let rise = min_rtt.mul_f64(RISE).clamp(self.delay.0, self.delay.1);
            signs.late = signs.round_rtt > min_rtt + rise;
        }
        signs
    }

    /// Returns the minimum RTT of the connection. `None` before the first sample.
    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// Returns the longest train of ACKs that is no sign of a full path.
    pub(super) fn longest_train(&self, min_rtt: Span) -> Span {
        (min_rtt + BURST).mul_f64(self.train)
    }

    /// Returns true if the path is full.
    pub(super) fn is_full(&self, signs: &Signs) -> bool {
        signs.late || signs.train.is_some_and(|train| train > self.longest_train(signs.min_rtt))
    }
}

impl SlowStart for HyStart {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let signs = self.observe(ack, self.window);
        if self.is_full(&signs) {
            return Progress::Found(CapacityEstimate {
                window: self.window,
                rate: None,
                min_rtt: ack.min_rtt,
                recovery_start: 0,
            });
        }
        if !ack.app_limited {
            self.window += ack.bytes;
        }
        Progress::Continue
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn on_path_change(&mut self, change: &PathChange) -> bool {
        // A longer path is no queue. The round's samples include both paths and are discarded.
        self.min_rtt = change.shifted(self.min_rtt);
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
        "slow start"
    }

    fn clone_box(&self) -> Box<dyn SlowStart> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rounds::Rounds;

    fn sender(packets: u64) -> Rounds<HyStart> {
        Rounds::new(packets, |config| HyStart::new(config, &Parameters::default()))
    }

    /// Runs a round. Returns the number of the ACK at which slow start ended, if it did.
    fn round(rounds: &mut Rounds<HyStart>, packets: u64, rtt: Span, interval: Span) -> Option<u64> {
        let (acks, progress) = rounds.round(packets, rtt, interval);
        matches!(progress, Progress::Found(_)).then_some(acks)
    }

    const fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    #[test]
    fn a_train_of_half_an_rtt_ends_it() {
        let mut rounds = sender(100);
        // (100 + 1) / 2 ms after the first ACK: the 52nd.
        assert_eq!(round(&mut rounds, 100, ms(100), ms(1)), Some(52));
        assert_eq!(
            rounds.window(),
            Bytes::new(151_000),
            "the packets of the last ACK are not added"
        );
    }

    #[test]
    fn acknowledgements_two_milliseconds_apart_are_no_train() {
        for interval in [ms(3), ms(2)] {
            let mut rounds = sender(100);
            assert_eq!(round(&mut rounds, 100, ms(100), interval), None);
        }
        let mut rounds = sender(100);
        assert!(round(&mut rounds, 100, ms(100), Span::from_micros(1999)).is_some());
    }

    #[test]
    fn an_increase_of_an_eighth_ends_it_at_the_ninth_sample_of_a_round() {
        let mut rounds = sender(20);
        assert_eq!(round(&mut rounds, 20, ms(100), Span::ZERO), None);
        assert_eq!(round(&mut rounds, 20, ms(112), Span::ZERO), None);
        assert_eq!(round(&mut rounds, 20, ms(113), Span::ZERO), Some(9));
    }

    #[test]
    fn on_a_long_path_sixteen_milliseconds_are_enough_and_on_a_short_one_four_are_needed() {
        for (base, least) in [(600, 16), (10, 4)] {
            let mut rounds = sender(20);
            round(&mut rounds, 20, ms(base), Span::ZERO);
            assert_eq!(round(&mut rounds, 20, ms(base + least), Span::ZERO), None);
            assert_eq!(round(&mut rounds, 20, ms(base + least + 1), Span::ZERO), Some(9));
        }
    }

    #[test]
    fn below_sixteen_packets_nothing_is_checked() {
        let mut rounds = sender(2);
        assert_eq!(round(&mut rounds, 2, ms(100), Span::ZERO), None);
        assert_eq!(round(&mut rounds, 10, ms(300), Span::ZERO), None);
        assert_eq!(rounds.window(), Bytes::new(14_000));
    }

    #[test]
    fn a_longer_path_is_not_taken_for_a_queue() {
        let mut rounds = sender(20);
        round(&mut rounds, 20, ms(100), Span::ZERO);
        let change = PathChange { rtt_increase: Some(ms(50)), ..PathChange::unknown(rounds.now) };
        assert!(rounds.slow_start.on_path_change(&change));
        assert_eq!(round(&mut rounds, 20, ms(150), Span::ZERO), None);
    }
}
