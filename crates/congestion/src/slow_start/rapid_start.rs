//! Rapid Start (draft-kazuho-ccwg-rapid-start): slow start that triples the window each RTT while
//! no queue builds up, and turns to the volume that the path delivers once it loses.
//!
//! Written from draft -00 as of commit 3d0bd41, with the paced first flight of draft -02. Two
//! things that the draft allows are left out: HyStart++ beside it, and an end of the reductions at
//! the initial window.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, EcnCe, Loss, PathChange, Restart, SentPacket};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Rate, Span, Time};

parameters! {
    /// Parameters of [`RapidStart`], with the values of draft-kazuho-ccwg-rapid-start.
    Parameters {
        first_flight: 2.0, 1.0 => 2.0, "initial windows",
            "window from the first RTT sample on, paced over an RTT (section on pacing)";
        growth: 2.0, 1.0 => 2.0, "",
            "bytes by which each acknowledged one grows the window while no queue builds up; 1 is \
             classic slow start (section on the Rapid Start phase)";
        rise: 4.0, 0.0 => 1000.0, "ms",
            "largest increase of the last round's smallest RTT that is no queue (section on the \
             Rapid Start phase)";
        rise_share: 0.1, 0.0 => 10.0, "",
            "the same as a fraction of the minimum RTT; the smaller one counts";
        beta: 0.7, 0.1 => 0.95, "",
            "fraction of the window that the controller keeps at a loss, from which the reductions \
             follow: 0.7 for CUBIC (RFC 9438), 0.5 for NewReno";
    }
}

/// K, from which the reductions follow (section on deriving the reduction factors).
const K: f64 = 11.0 / 18.0;
/// Pacing rate of the rounds after the first flight, in windows per RTT: the window triples within
/// a round, which the usual 1.25 would delay. The draft compares itself with slow start at this
/// rate.
const PACING_GAIN: f64 = 2.0;
/// Parts of the last RTT of which the smallest sample is kept.
const SLOTS: usize = 4;

/// Factors by which the window falls in recovery.
#[derive(Debug, Clone, Copy)]
struct Factors {
    /// At its beginning, and of bytes lost in it (silence_factor, loss_factor).
    loss: f64,
    /// Of bytes acknowledged in it (ack_factor).
    ack: f64,
}

impl Factors {
    fn of(beta: f64) -> Self {
        let ack = K * (1.0 - beta);
        Self { loss: beta + ack, ack }
    }

    /// Returns the smallest fraction of the window that is left: at most two of three packets are
    /// lost where the window triples.
    fn least(self) -> f64 {
        self.loss - self.ack / 3.0 - self.loss * 2.0 / 3.0
    }
}

/// The smallest RTT sample of the last RTT (rtt_floor), in parts of a quarter.
#[derive(Debug, Clone, Copy, Default)]
struct Floor {
    since: Time,
    slots: [Option<Span>; SLOTS],
}

impl Floor {
    /// Adds a sample. Returns the smallest one of the last `min_rtt`.
    fn update(&mut self, now: Time, rtt: Span, min_rtt: Span) -> Span {
        let width = min_rtt.as_nanos() / SLOTS as u64;
        let passed = now.since(self.since).as_nanos() / width.max(1);
        for _ in 0..passed.min(SLOTS as u64) {
            self.slots.rotate_right(1);
            self.slots[0] = None;
        }
        self.since += Span::from_nanos(width) * passed;
        self.slots[0] = Some(self.slots[0].map_or(rtt, |smallest| smallest.min(rtt)));
        self.slots.iter().flatten().copied().min().unwrap_or(rtt)
    }
}

/// The period in which the window falls to what the path delivers.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    /// The first packet that is sent in it. Its acknowledgement ends the period (RFC 9002 §7.3.2).
    start: u64,
    /// The smallest window in it.
    least: Bytes,
}

/// The Rapid Start slow start.
#[derive(Debug, Clone)]
pub struct RapidStart {
    parameters: Parameters,
    factors: Factors,
    mtu: Bytes,
    initial_window: Bytes,
    window: Bytes,
    min_rtt: Option<Span>,
    smoothed_rtt: Span,
    floor: Floor,
    /// The first packet of the first full flight, once an RTT is known.
    flight_start: Option<u64>,
    /// True until a packet of a full flight is acknowledged.
    first_flight: bool,
    /// True if the last ACK showed a queue.
    queueing: bool,
    recovery: Option<Recovery>,
}

impl RapidStart {
    /// Creates a slow start with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let window = config.initial_window.max(minimum_window(config.mtu));
        let mut start = Self {
            parameters: *parameters,
            factors: Factors::of(parameters.beta),
            mtu: config.mtu,
            initial_window: window,
            window,
            min_rtt: config.rtt,
            smoothed_rtt: config.rtt.unwrap_or_default(),
            floor: Floor { since: config.now, ..Floor::default() },
            flight_start: None,
            first_flight: true,
            queueing: false,
            recovery: None,
        };
        if config.rtt.is_some() {
            start.begin_flight(0);
        }
        start
    }

    /// Sets the window of the first full flight, whose packets start with `number`.
    fn begin_flight(&mut self, number: u64) {
        self.flight_start = Some(number);
        let flight = self.initial_window.mul_f64(self.parameters.first_flight);
        self.window = self.window.max(flight);
    }

    /// Returns true if the smallest RTT of the last round shows a queue.
    fn is_queueing(&mut self, ack: &Ack<'_>, min_rtt: Span) -> bool {
        let floor = self.floor.update(ack.now, ack.rtt, min_rtt);
        let rise = Span::from_secs_f64(self.parameters.rise / 1e3)
            .min(min_rtt.mul_f64(self.parameters.rise_share));
        floor > min_rtt + rise
    }

    /// Begins recovery with packet `start`. Returns the smallest window in it.
    fn enter_recovery(&mut self, start: u64) -> Bytes {
        let smallest = minimum_window(self.mtu);
        let least = self.window.mul_f64(self.factors.least()).max(smallest);
        self.window = self.window.mul_f64(self.factors.loss).max(smallest);
        self.recovery = Some(Recovery { start, least });
        least
    }

    /// Takes `factor` of `bytes` from the window.
    fn reduce(&mut self, least: Bytes, bytes: Bytes, factor: f64) {
        self.window = self.window.saturating_sub(bytes.mul_f64(factor)).max(least);
    }
}

/// Returns the bytes of the packets that were sent before packet `start`.
fn bytes_before(packets: &[SentPacket], start: u64) -> Bytes {
    packets
        .iter()
        .filter(|packet| packet.number < start)
        .fold(Bytes::ZERO, |sum, packet| sum + packet.bytes)
}

impl SlowStart for RapidStart {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let min_rtt = self.min_rtt.map_or(ack.rtt, |smallest| smallest.min(ack.rtt));
        self.min_rtt = Some(min_rtt);
        self.smoothed_rtt = ack.smoothed_rtt;
        self.queueing = self.is_queueing(ack, min_rtt);
        if let Some(Recovery { start, least }) = self.recovery {
            self.reduce(least, bytes_before(ack.packets, start), self.factors.ack);
            if ack.newest().number < start {
                return Progress::Continue;
            }
            return Progress::Found(CapacityEstimate {
                window: self.window,
                rate: None,
                min_rtt: ack.min_rtt,
                recovery_start: start,
            });
        }
        match self.flight_start {
            None => self.begin_flight(ack.next_number),
            Some(first) if ack.newest().number >= first && !ack.app_limited => {
                self.first_flight = false;
            }
            Some(_) => {}
        }
        if !ack.app_limited {
            let growth = if self.queueing { 1.0 } else { self.parameters.growth };
            self.window += ack.bytes.mul_f64(growth);
        }
        Progress::Continue
    }

    fn on_loss(&mut self, loss: &Loss<'_>) -> Progress {
        match self.recovery {
            _ if loss.persistent => return Progress::Congested,
            // A loss of what was sent after the reduction is a congestion event of its own.
            Some(Recovery { start, .. }) if loss.newest().number >= start => {
                return Progress::Congested;
            }
            Some(Recovery { least, .. }) => self.reduce(least, loss.bytes, self.factors.loss),
            None => {
                let least = self.enter_recovery(loss.next_number);
                // All of a report but the first loss is confirmed within the period.
                let others = loss.bytes.saturating_sub(loss.packets[0].bytes);
                self.reduce(least, others, self.factors.loss);
            }
        }
        Progress::Continue
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) -> Progress {
        match self.recovery {
            Some(Recovery { start, .. }) if ecn_ce.newest >= start => return Progress::Congested,
            Some(_) => {}
            None => {
                self.enter_recovery(ecn_ce.next_number);
            }
        }
        Progress::Continue
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn on_path_change(&mut self, change: &PathChange) -> bool {
        // A longer path is no queue. Samples of the last round belong to the old one.
        self.min_rtt = change.shifted(self.min_rtt);
        self.floor = Floor { since: change.now, ..Floor::default() };
        self.recovery.is_none()
    }

    fn on_restart(&mut self, to: &Restart) -> bool {
        self.window = to.window.max(minimum_window(self.mtu));
        self.recovery.is_none()
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.flight_start?;
        let (gain, rtt) =
            if self.first_flight { (1.0, self.min_rtt?) } else { (PACING_GAIN, self.smoothed_rtt) };
        (!rtt.is_zero()).then(|| Rate::over(self.window, rtt).mul_f64(gain))
    }

    fn recovery_start(&self) -> u64 {
        self.recovery.map_or(0, |recovery| recovery.start)
    }

    fn phase(&self) -> &'static str {
        match self.recovery {
            Some(_) => "recovery",
            None if self.first_flight => "first flight",
            None if self.queueing => "slow start",
            None => "rapid start",
        }
    }

    fn clone_box(&self) -> Box<dyn SlowStart> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent_packets::SentPackets;
    use crate::testing::rounds::Rounds;
    use crate::testing::{MTU, config};
    use proptest::prelude::*;

    const fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    fn values(beta: f64) -> Parameters {
        Parameters { beta, ..Parameters::default() }
    }

    /// Returns a sender whose first flight is over, with its window.
    fn growing(rtt: Span) -> Rounds<RapidStart> {
        let mut rounds = Rounds::new(10, |config| {
            let config = ControllerConfig { rtt: Some(rtt), ..*config };
            RapidStart::new(&config, &Parameters::default())
        });
        assert_eq!(rounds.round(20, rtt, Span::ZERO).1, Progress::Continue);
        rounds
    }

    #[test]
    fn the_first_flight_is_two_initial_windows_paced_over_an_rtt() {
        let known = ControllerConfig { rtt: Some(ms(100)), ..config() };
        let start = RapidStart::new(&known, &Parameters::default());
        assert_eq!(start.window(), Bytes::new(20_000));
        assert_eq!(start.pacing_rate(), Some(Rate::from_bps(1_600_000)));
    }

    #[test]
    fn without_an_rtt_the_first_flight_waits_for_a_sample() {
        let mut rounds = Rounds::new(10, |config| RapidStart::new(config, &Parameters::default()));
        assert_eq!(rounds.window(), Bytes::new(10_000));
        assert_eq!(rounds.slow_start.pacing_rate(), None);
        rounds.round(1, ms(100), Span::ZERO);
        // The sample itself grows the window by twice its packet.
        assert_eq!(rounds.window(), Bytes::new(22_000));
        assert_eq!(rounds.slow_start.phase(), "first flight");
    }

    #[test]
    fn the_window_triples_each_rtt_without_a_queue() {
        let mut rounds = growing(ms(100));
        assert_eq!(rounds.window(), Bytes::new(60_000));
        rounds.round(60, ms(100), Span::ZERO);
        assert_eq!(rounds.window(), Bytes::new(180_000));
        assert_eq!(rounds.slow_start.phase(), "rapid start");
    }

    #[test]
    fn a_queue_of_four_milliseconds_leads_back_to_doubling() {
        // Above 40 ms the threshold is 4 ms, below it is a tenth.
        for (base, more) in [(100, 4), (20, 2)] {
            let mut rounds = growing(ms(base));
            rounds.round(60, ms(base + more), Span::ZERO);
            assert_eq!(rounds.window(), Bytes::new(180_000), "an RTT of {base} + {more} ms");
            rounds.round(60, ms(base + more + 1), Span::ZERO);
            assert_eq!(rounds.window(), Bytes::new(240_000), "an RTT of {base} + {more} + 1 ms");
            assert_eq!(rounds.slow_start.phase(), "slow start");
        }
    }

    #[test]
    fn the_smallest_rtt_of_the_last_round_counts() {
        // RS-01 of the sources' tests: a minimum of 16 ms, then 21 ms.
        let mut floor = Floor::default();
        let mut at = |milliseconds, rtt| floor.update(Time::from_millis(milliseconds), rtt, ms(16));
        assert_eq!(at(0, ms(16)), ms(16));
        assert_eq!(at(12, ms(21)), ms(16), "an older sample of the same RTT");
        assert_eq!(at(16, ms(21)), ms(21), "an RTT later");
    }

    #[test]
    fn reductions_follow_from_the_controllers_factor() {
        // RS-02: the draft's table.
        for (beta, loss, ack) in [(0.7, 53.0 / 60.0, 11.0 / 60.0), (0.5, 29.0 / 36.0, 11.0 / 36.0)]
        {
            let factors = Factors::of(beta);
            assert!((factors.loss - loss).abs() < 1e-12, "{beta}: {factors:?}");
            assert!((factors.ack - ack).abs() < 1e-12, "{beta}: {factors:?}");
        }
    }

    /// Sends `packets` with a window of as many, of which every `keep`th arrives. Returns the
    /// windows at the first loss and at the end of recovery, in packets.
    fn recover(packets: u64, keep: u64, beta: f64) -> (u64, u64) {
        let mut start =
            RapidStart::new(&ControllerConfig { rtt: Some(ms(100)), ..config() }, &values(beta));
        start.window = Bytes::new(packets * MTU.get());
        let mut sent = SentPackets::new();
        for _ in 0..packets {
            sent.on_sent(Time::ZERO, MTU);
        }
        let now = Time::from_millis(100);
        let mut at_loss = 0;
        for number in 0..packets {
            if number % keep == keep - 1 {
                sent.on_acked(now, number);
                sent.report_ack(now, false, |ack| {
                    assert_eq!(start.on_ack(ack), Progress::Continue);
                });
            } else {
                if at_loss == 0 {
                    // What arrived before is growth.
                    start.window = Bytes::new(packets * MTU.get());
                }
                sent.on_lost(number);
                sent.report_loss(now, false, |loss| {
                    assert_eq!(start.on_loss(loss), Progress::Continue);
                });
                if at_loss == 0 {
                    at_loss = start.window().get() / MTU.get();
                }
            }
        }
        let new = sent.on_sent(now, MTU).number;
        let later = Time::from_millis(200);
        sent.on_acked(later, new);
        let mut progress = Progress::Continue;
        sent.report_ack(later, false, |ack| progress = start.on_ack(ack));
        let Progress::Found(found) = progress else { panic!("recovery goes on: {progress:?}") };
        assert_eq!((found.recovery_start, found.window), (packets, start.window()));
        (at_loss, found.window.get() / MTU.get())
    }

    #[test]
    fn recovery_ends_with_beta_of_what_the_path_holds() {
        // RS-03: two of three packets of a flight of 3000 are lost, so the path holds 1000.
        for (beta, at_loss) in [(0.7, 2650), (0.5, 2416)] {
            let (first, end) = recover(3000, 3, beta);
            assert_eq!(first, at_loss, "{beta}");
            let expected = 1000.0 * beta;
            assert!((end as f64 - expected).abs() <= 3.0, "{beta}: {end} packets");
        }
    }

    #[test]
    fn losses_beyond_two_thirds_reduce_no_further() {
        let (_, end) = recover(3000, 10, 0.7);
        assert!((695..=705).contains(&end), "{end} packets");
    }

    #[test]
    fn a_loss_of_packets_sent_in_recovery_is_left_to_the_controller() {
        let mut rounds = growing(ms(100));
        let mut progress = [Progress::Continue; 2];
        for outcome in &mut progress {
            let number = rounds.sent_packets.on_sent(rounds.now, MTU).number;
            rounds.sent_packets.on_lost(number);
            let start = &mut rounds.slow_start;
            rounds.sent_packets.report_loss(rounds.now, false, |loss| {
                *outcome = start.on_loss(loss);
            });
        }
        assert_eq!(progress, [Progress::Continue, Progress::Congested]);
    }

    #[test]
    fn a_mark_is_answered_like_a_loss() {
        let mut rounds = growing(ms(100));
        let mark = |newest, next_number| EcnCe {
            now: Time::from_millis(300),
            newest,
            bytes_in_flight: Bytes::ZERO,
            next_number,
            marked: Some(1),
        };
        assert_eq!(rounds.slow_start.on_ecn_ce(&mark(19, 20)), Progress::Continue);
        assert_eq!(rounds.window(), Bytes::new(53_000));
        assert_eq!(rounds.slow_start.on_ecn_ce(&mark(19, 20)), Progress::Continue);
        assert_eq!(rounds.slow_start.on_ecn_ce(&mark(20, 21)), Progress::Congested);
    }

    #[test]
    fn a_longer_path_is_no_queue() {
        let mut rounds = growing(ms(100));
        let change = PathChange { rtt_increase: Some(ms(50)), ..PathChange::unknown(rounds.now) };
        assert!(rounds.slow_start.on_path_change(&change));
        rounds.round(60, ms(150), Span::ZERO);
        assert_eq!(rounds.window(), Bytes::new(180_000));
    }

    proptest! {
        /// Whatever arrives and is lost, the window stays between the smallest one and threefold
        /// growth, and recovery never enlarges it.
        #[test]
        fn the_window_stays_within_its_bounds(
            events in prop::collection::vec((any::<bool>(), 1u64..20, 1u64..900), 1..100),
        ) {
            let mut start = RapidStart::new(&config(), &Parameters::default());
            let mut sent = SentPackets::new();
            let mut now = Time::ZERO;
            for (lost, packets, rtt) in events {
                let first = sent.next_number();
                for _ in 0..packets {
                    sent.on_sent(now, MTU);
                }
                now += ms(rtt);
                let (before, recovering) = (start.window(), start.recovery.is_some());
                let mut progress = Progress::Continue;
                for number in first..first + packets {
                    if lost { sent.on_lost(number); } else { sent.on_acked(now, number); }
                }
                sent.report_ack(now, false, |ack| progress = start.on_ack(ack));
                sent.report_loss(now, false, |loss| progress = start.on_loss(loss));
                prop_assert!(start.window() >= minimum_window(MTU));
                if recovering || lost {
                    prop_assert!(start.window() <= before.max(minimum_window(MTU)));
                } else {
                    let most = before + Bytes::new(2 * packets * MTU.get());
                    prop_assert!(start.window() <= most.max(Bytes::new(20_000 + 2_000 * packets)));
                }
                if progress != Progress::Continue {
                    break;
                }
            }
        }
    }
}
