//! SUSS (Arghavani, Zhang, Eyers, Arghavani: "SUSS: Improving TCP Performance by Speeding Up
//! Slow-Start", SIGCOMM 2024; constants and order of the authors' change to Linux 6.8,
//! `tcp_cubic.c`): HyStart that quadruples the window in its first rounds, while a prediction says
//! that slow start would go on for another round.
//!
//! What ACKs clock out is sent at once, so that the train of ACKs of that part tells how long the
//! bottleneck takes for it. What an accelerated round sends beyond is paced over the rest of the
//! round. The kernel waits for a guard interval before it paces; here the guard is part of the time
//! over which it paces, because the pacer has no timer of its own.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use super::hystart::{self, HyStart, Signs};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, PathChange, Restart};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Rate, Span, Time};

parameters! {
    /// Parameters of [`Suss`]; defaults are those of the authors' change to Linux. HyStart's own
    /// constants are Linux's.
    Parameters {
        accelerations: 3.0, 0.0 => 8.0, "rounds",
            "largest number of rounds that quadruple the window (suss_max)";
        least_rtt: 10.0, 0.0 => 10_000.0, "ms",
            "minimum RTT below which nothing is accelerated (suss_speedup)";
        room: 0.25, 0.01 => 1.0, "",
            "longest train of ACKs of the first flight that is followed by a fourfold round, in \
             minimum RTTs (suss_speedup)";
        rise: 0.125, 0.0 => 10.0, "",
            "RTT increase that HyStart would end at, as a fraction of the minimum RTT; a round is \
             accelerated if the next one is predicted to stay below it (suss_speedup)";
    }
}

/// Growth of an accelerated round (G in the paper).
const FOURFOLD: u64 = 4;
/// Pacing rate of what ACKs clock out: none that would spread it.
const UNPACED: Rate = Rate::from_mbps(1_000_000);

/// A round since the first flight that filled the initial window.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Number of the round; 2 is the one in which the first flight is acknowledged.
    number: u32,
    /// First packet sent in it.
    first: u64,
    /// Packets of the flight that is acknowledged in it which ACKs had clocked out, and the number
    /// after the last of them ("blue" in the paper).
    clocked: u64,
    clocked_end: u64,
    started: Time,
    /// Window at its beginning.
    window: Bytes,
    /// Clocked packets acknowledged so far.
    acknowledged: u64,
    /// True once the last clocked packet was acknowledged.
    measured: bool,
}

/// The SUSS slow start.
#[derive(Debug, Clone)]
pub struct Suss {
    parameters: Parameters,
    hystart: HyStart,
    mtu: Bytes,
    window: Bytes,
    round: Option<Round>,
    /// True until a prediction says no: no later round is accelerated then.
    accelerating: bool,
    /// True if HyStart judges alone, since the path is short or the first train was long.
    plain: bool,
    /// Number of accelerated rounds.
    accelerated: u32,
    /// Train of the round before, as long as the whole flight's would have been.
    last_train: Option<Span>,
    /// Round in which the minimum RTT fell last.
    min_rtt_round: u32,
    /// Rate of the part of this round that is not clocked.
    pacing: Option<Rate>,
    /// Window with which it ends, once a train was long.
    cap: Option<Bytes>,
}

impl Suss {
    /// Creates a slow start with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            parameters: *parameters,
            hystart: HyStart::new(config, &hystart::Parameters::default()),
            mtu: config.mtu,
            window: config.initial_window.max(minimum_window(config.mtu)),
            round: None,
            accelerating: parameters.accelerations >= 1.0,
            plain: false,
            accelerated: 0,
            last_train: None,
            min_rtt_round: 0,
            pacing: None,
            cap: None,
        }
    }

    /// Begins a round. The first one begins when a flight that filled the window is acknowledged.
    fn begin_round(&mut self, ack: &Ack<'_>) {
        self.pacing = None;
        let (number, clocked, clocked_end) = match self.round {
            Some(last) => (last.number + 1, 2 * last.clocked, last.first + 2 * last.clocked),
            None if ack.app_limited => return,
            None => {
                let flight = (ack.bytes + ack.bytes_in_flight).get() / self.mtu.get().max(1);
                (2, flight, ack.next_number)
            }
        };
        self.round = Some(Round {
            number,
            first: ack.next_number,
            clocked,
            clocked_end,
            started: ack.now,
            window: self.window,
            acknowledged: 0,
            measured: false,
        });
    }

    /// Returns true if the round is to be accelerated, given the train of its clocked ACKs
    /// (suss_speedup).
    fn predicts_room(&mut self, round: &Round, train: Span, signs: &Signs) -> bool {
        let min_rtt = signs.min_rtt;
        if round.number == 2 {
            let long = min_rtt > Span::from_secs_f64(self.parameters.least_rtt / 1e3);
            self.plain = !long || train >= min_rtt.mul_f64(self.parameters.room);
            self.last_train = Some(train);
            return !self.plain;
        }
        // The train that the whole flight would have had, and the next one if both grow alike.
        let whole = train * (1 << (round.number - 2).min(16));
        let last = self.last_train.unwrap_or_default();
        let growth =
            if last.is_zero() { FOURFOLD as f64 } else { whole.as_secs_f64() / last.as_secs_f64() };
        self.last_train = Some(whole);
        let rounds = f64::from(round.number.saturating_sub(self.min_rtt_round));
        let limit = min_rtt.as_secs_f64() * (rounds + 1.0 + rounds * self.parameters.rise);
        whole.as_secs_f64() * growth <= min_rtt.as_secs_f64()
            && signs.round_rtt.as_secs_f64() * (rounds + 1.0) <= limit
    }

    /// Decides at the end of the clocked ACKs of a round whether it quadruples the window.
    fn decide(&mut self, round: &Round, ack: &Ack<'_>, signs: &Signs) {
        let elapsed = ack.now.since(round.started);
        let share = round.clocked as f64 / round.acknowledged.max(1) as f64;
        let train = elapsed.mul_f64(share);
        self.accelerating = self.predicts_room(round, train, signs)
            && self.accelerated < self.parameters.accelerations as u32;
        // The part of the round in which ACKs clock out packets; the rest is paced.
        let clocked = signs.min_rtt / (1 << (round.number - 1).min(16));
        if !self.accelerating || clocked <= train {
            return;
        }
        let target = Bytes::new(round.window.get().saturating_mul(FOURFOLD));
        let beyond = target.saturating_sub(Bytes::new(2 * round.clocked * self.mtu.get()));
        let time = signs.min_rtt - clocked + (clocked - train) / 2;
        self.window = self.window.max(target);
        self.pacing = Some(Rate::over(beyond, time));
        self.accelerated += 1;
    }

    /// Sets the window with which it ends if the train of clocked ACKs is as long as half the path
    /// (suss_cap): the flight has quadrupled as often as it was accelerated, and its train with it.
    fn judge_train(&mut self, round: &Round, signs: &Signs) {
        let Some(train) = signs.train else { return };
        let growth = 1_u64 << self.accelerated.min(16);
        if train * growth > self.hystart.longest_train(signs.min_rtt) {
            let missing = round.acknowledged * (growth - 1) * self.mtu.get();
            self.cap = Some(self.window + Bytes::new(missing));
        }
    }

    /// Counts the ACK in its round, and decides at the end of the clocked ones.
    fn measure(&mut self, ack: &Ack<'_>, signs: &Signs) {
        let Some(mut round) = self.round else { return };
        if round.measured {
            return;
        }
        let newly = ack.packets.iter().filter(|packet| packet.number < round.clocked_end).count();
        round.acknowledged += newly as u64;
        self.judge_train(&round, signs);
        if self.cap.is_none() && ack.newest().number + 1 >= round.clocked_end {
            round.measured = true;
            if self.accelerating {
                self.decide(&round, ack, signs);
            }
        }
        self.round = Some(round);
    }

    fn found(&mut self, ack: &Ack<'_>) -> Progress {
        if self.accelerated > 1 {
            // What an accelerated round has not sent yet it does not send.
            self.window = ack.bytes_in_flight.min(self.window).max(minimum_window(self.mtu));
        }
        Progress::Found(CapacityEstimate {
            window: self.window,
            rate: None,
            min_rtt: ack.min_rtt,
            recovery_start: 0,
        })
    }
}

impl SlowStart for Suss {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let min_rtt = self.hystart.min_rtt();
        let signs = self.hystart.observe(ack, self.window);
        if signs.round_start {
            self.begin_round(ack);
        }
        if min_rtt.is_none_or(|smallest| signs.min_rtt < smallest) {
            self.min_rtt_round = self.round.map_or(0, |round| round.number);
        }
        if ack.app_limited {
            // Trains of a sender without data say nothing about the path.
            self.accelerating &= self.round.is_none();
        } else if self.pacing.is_none() {
            // In an accelerated round the window has its size for the whole round.
            self.window += ack.bytes;
        }
        if self.plain {
            return if self.hystart.is_full(&signs) { self.found(ack) } else { Progress::Continue };
        }
        if self.cap.is_none() {
            self.measure(ack, &signs);
        }
        if signs.late || self.cap.is_some_and(|cap| self.window > cap) {
            return self.found(ack);
        }
        Progress::Continue
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.hystart.on_mtu_update(mtu);
        self.window = self.window.max(minimum_window(mtu));
    }

    fn on_path_change(&mut self, change: &PathChange) -> bool {
        // Trains and flights of both paths are not comparable: HyStart goes on alone.
        self.plain = true;
        self.pacing = None;
        self.hystart.on_path_change(change)
    }

    fn on_restart(&mut self, to: &Restart) -> bool {
        self.window = to.window.max(minimum_window(self.mtu));
        self.plain = true;
        self.pacing = None;
        true
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // Without trains to measure, the sender paces as usual.
        if self.plain { None } else { Some(self.pacing.unwrap_or(UNPACED)) }
    }

    fn phase(&self) -> &'static str {
        if self.pacing.is_some() { "accelerated" } else { "slow start" }
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
    use proptest::prelude::*;

    const fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    const fn us(microseconds: u64) -> Span {
        Span::from_micros(microseconds)
    }

    const fn volume(packets: u64) -> Bytes {
        Bytes::new(packets * MTU.get())
    }

    fn sender() -> Rounds<Suss> {
        Rounds::new(10, |config| Suss::new(config, &Parameters::default()))
    }

    /// Plays rounds of whole windows over a path that delivers a packet per `interval`. Returns the
    /// windows at their ends, in packets.
    fn windows(rounds: &mut Rounds<Suss>, rtt: Span, interval: Span, count: usize) -> Vec<u64> {
        let mut windows = Vec::new();
        for _ in 0..count {
            let packets = rounds.window().get() / MTU.get();
            if rounds.round(packets, rtt, interval).1 != Progress::Continue {
                break;
            }
            windows.push(rounds.window().get() / MTU.get());
        }
        windows
    }

    #[test]
    fn three_rounds_quadruple_the_window_and_later_ones_double_it() {
        assert_eq!(windows(&mut sender(), ms(600), Span::ZERO, 5), [40, 160, 640, 1280, 2560]);
    }

    #[test]
    fn a_short_path_is_left_to_hystart() {
        assert_eq!(windows(&mut sender(), ms(10), Span::ZERO, 2), [20, 40]);
    }

    #[test]
    fn a_train_of_a_quarter_of_the_rtt_is_left_to_hystart() {
        // Nine intervals between ten ACKs.
        assert_eq!(windows(&mut sender(), ms(99), ms(11), 1), [20]);
        assert_eq!(windows(&mut sender(), ms(100), us(2700), 1), [40]);
    }

    #[test]
    fn a_flight_that_would_fill_the_path_is_not_quadrupled() {
        // The train of the first flight takes 4.5 ms, that of all of the second 19 ms by its
        // clocked half. That of the third would then take 80 ms.
        let mut rounds = sender();
        assert_eq!(windows(&mut rounds, ms(70), us(500), 2), [40, 80]);
        assert!(!rounds.slow_start.accelerating);
        assert_eq!(windows(&mut sender(), ms(90), us(500), 2), [40, 160]);
    }

    #[test]
    fn what_is_beyond_the_clocked_part_is_paced_over_the_rest_of_the_round() {
        let mut rounds = sender();
        assert_eq!(rounds.slow_start.pacing_rate(), Some(UNPACED));
        windows(&mut rounds, ms(600), Span::ZERO, 1);
        // 20 packets within half of 600 ms and half of the 300 ms of the clocked part.
        assert_eq!(rounds.slow_start.pacing_rate(), Some(Rate::over(volume(20), ms(450))));
        assert_eq!(rounds.slow_start.phase(), "accelerated");
    }

    #[test]
    fn a_longer_rtt_stops_the_acceleration() {
        // An eighth is allowed two rounds after the smallest RTT, of which one has passed.
        for (more, window) in [(6, 160), (7, 80)] {
            let mut rounds = sender();
            windows(&mut rounds, ms(100), Span::ZERO, 1);
            let longer = windows(&mut rounds, ms(100 + more), Span::ZERO, 1);
            assert_eq!(longer, [window], "{more} ms more");
        }
    }

    #[test]
    fn a_train_of_half_the_path_sets_the_window_to_end_with() {
        let mut rounds = sender();
        // Two accelerated rounds, so a fourth of half the RTT is long enough for the clocked part.
        windows(&mut rounds, ms(600), us(500), 2);
        assert_eq!(rounds.slow_start.accelerated, 2);
        let (acks, progress) = rounds.round(160, ms(600), us(1999));
        assert!(matches!(progress, Progress::Found(_)), "{acks} ACKs: {progress:?}");
        // (600 + 1) / 2 / 4 ms after the first ACK the train is long; three times the 39 packets
        // acknowledged until then may still come, one per ACK.
        assert_eq!(acks, 39 * 4 + 1);
    }

    #[test]
    fn an_end_withdraws_what_an_accelerated_round_has_not_sent() {
        let mut rounds = sender();
        windows(&mut rounds, ms(600), us(500), 2);
        let Progress::Found(found) = rounds.round(160, ms(700), Span::ZERO).1 else {
            panic!("100 ms more end HyStart");
        };
        assert_eq!(found.window, volume(160 - 9), "what is in flight after the ninth ACK");
    }

    #[test]
    fn a_sender_without_data_is_not_accelerated() {
        let mut rounds = sender();
        for number in 0..10 {
            rounds.sent_packets.on_sent(Time::ZERO, MTU);
            rounds.sent_packets.on_acked(Time::from_millis(600), number);
            let start = &mut rounds.slow_start;
            rounds.sent_packets.report_ack(Time::from_millis(600), true, |ack| {
                assert_eq!(start.on_ack(ack), Progress::Continue);
            });
        }
        assert_eq!(rounds.window(), volume(10));
        rounds.now = Time::from_millis(600);
        assert_eq!(windows(&mut rounds, ms(600), Span::ZERO, 1), [40], "the first full flight");
    }

    proptest! {
        /// No round more than quadruples the window, and none beyond the allowed number more than
        /// doubles it.
        #[test]
        fn growth_stays_within_its_bounds(
            events in prop::collection::vec((1u64..60, 1u64..900, 0u64..5000), 1..12),
        ) {
            let mut rounds = sender();
            let mut quadrupled = 0;
            for (packets, rtt, interval) in events {
                let before = rounds.window();
                let (_, progress) = rounds.round(packets, ms(rtt), us(interval));
                prop_assert!(rounds.window() >= minimum_window(MTU));
                let doubled = before + volume(packets);
                prop_assert!(rounds.window() <= Bytes::new(before.get() * 4).max(doubled));
                quadrupled += u32::from(rounds.window() > doubled);
                if progress != Progress::Continue {
                    break;
                }
            }
            prop_assert!(quadrupled <= 3);
        }
    }
}
