//! Whether a sender goes on growing, stands still, or sends by a clock of its own.

use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Round trips that are compared, the later half with the earlier.
pub const COMPARED: u64 = 4;
/// Growth from the earlier half to the later one below which a sender does not grow. Slow start has
/// 2.25 to 4.
const GROWTH: f64 = 1.3;
/// Round trips that show whether a sender grows that sends more in one than in another: windows
/// without losses gain a packet in each (RFC 5681 §3.1), limits of a sender's memory none.
pub const LONG: u64 = 12;
/// Growth from the earlier half of them to the later one up to which a sender does not grow: a
/// share, and its lower and upper bound in packets.
const LONG_GROWTH: f64 = 0.08;
const LONG_PACKETS: (u64, u64) = (3, 5);
/// Fewest packets of a round trip that are a limit: a sender that has hardly anything to send is
/// not held up by one.
const LEAST_LIMIT: u64 = 2;
/// The same without keys, as losses that keep a window small need not be seen. Windows start with
/// ten packets (RFC 9002 §7.2) and are smaller only after losses, and hardly any receiver or buffer
/// holds less.
const LEAST_COVERED: u64 = 8;
/// What a limit looks like before it is known for one: the congestion window and, without keys,
/// slow start.
pub const COVERED: [TimePart; 2] = [TimePart::CongestionWindow, TimePart::SlowStart];
/// A packet that leaves within this time of an arrival, or this share of the round trip, was
/// waiting for it.
const PROMPT: Span = Span::from_millis(3);
const PROMPT_SHARE: f64 = 0.02;
/// Share of waits that end with an arrival if acknowledgements are what a sender waits for.
const BY_ARRIVALS: f64 = 0.6;
/// Share of a round trip from which a wait ends a burst.
const LONG_WAIT: f64 = 0.3;
/// Share of a round trip up to which a wait says nothing.
const SHORT_WAIT: f64 = 0.05;
/// Waits over which that share is taken.
const WAITS: usize = 16;
/// Without keys: how far the rounds of a limit may be apart that stands still, as a share of their
/// mean and without the lowest and the highest. What losses keep small goes up and down by three
/// tenths and more (RFC 9438 §4.6).
const EVEN: f64 = 0.25;
/// Rounds in which nothing was sent, or a probe, that no congestion window explains: a limit was
/// used up.
const EMPTY: usize = 2;
/// Fewest times between the ends of long waits that show whether a clock goes, how far from their
/// median they may be, as a share of it, and the share of them that is as near for a clock.
const TICKS: usize = 5;
const NEAR_TICK: f64 = 0.25;
const OF_TICKS: f64 = 0.6;

/// What a sender does that does not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// It grows, or has not sent for long enough to tell.
    Growing,
    /// It sends as acknowledgements come, always as many bytes in a round trip: these.
    Constant(u64),
    /// It sends as acknowledgements come, on average these bytes in each of the last [`LONG`] round
    /// trips, and no more in the later ones than in the earlier.
    Capped(u64),
    /// It sends as acknowledgements come, and hardly grows.
    Slow,
    /// It sends by a clock of its own.
    Clocked,
}

/// Returns within which time of an arrival a packet counts as waiting for it.
pub fn prompt(rtt: Span) -> Span {
    PROMPT.max(rtt.mul_f64(PROMPT_SHARE))
}

/// Follows the bytes of a sender, and whether its waits end with arrivals.
#[derive(Debug)]
pub struct Steady {
    rtt: Span,
    first: Option<Time>,
    /// Time of what was sent in the last [`LONG`] round trips, and the bytes of all up to it.
    recent: VecDeque<(Time, u64)>,
    /// The bytes of all, and of those before the recent ones.
    total: u64,
    forgotten: u64,
    /// Whether the last waits ended with an arrival.
    prompt: VecDeque<bool>,
    /// Bytes of the last bursts between longer waits, and of the current one.
    bursts: VecDeque<u64>,
    burst: u64,
    /// Largest packet.
    packet: u64,
    /// Fewest packets that are a limit.
    least: u64,
    /// Ends of the last long waits.
    ticks: VecDeque<Time>,
    /// True if the packets are not opened.
    is_covered: bool,
}

impl Steady {
    pub fn new(rtt: Span, is_encrypted: bool) -> Self {
        Self {
            least: if is_encrypted { LEAST_COVERED } else { LEAST_LIMIT },
            rtt: rtt.max(Span::from_micros(1)),
            first: None,
            recent: VecDeque::new(),
            total: 0,
            forgotten: 0,
            prompt: VecDeque::new(),
            bursts: VecDeque::new(),
            burst: 0,
            packet: 0,
            ticks: VecDeque::new(),
            is_covered: is_encrypted,
        }
    }

    /// Adds data that left or arrived.
    pub fn add(&mut self, now: Time, bytes: u64) {
        self.first = self.first.or(Some(now));
        self.packet = self.packet.max(bytes);
        self.burst += bytes;
        self.total += bytes;
        self.recent.push_back((now, self.total));
        let kept = self.rtt.mul_f64(LONG as f64);
        while let Some(&(at, total)) = self.recent.front()
            && now.since(at) > kept
        {
            self.forgotten = total;
            self.recent.pop_front();
        }
    }

    /// Adds a wait that ended now, with an arrival or not. Short ones are jitter.
    pub fn waited(&mut self, now: Time, wait: Span, with_arrival: bool) {
        if wait < prompt(self.rtt).max(self.rtt.mul_f64(SHORT_WAIT)) {
            return;
        }
        if wait >= self.rtt.mul_f64(LONG_WAIT) {
            if self.bursts.len() == COMPARED as usize {
                self.bursts.pop_front();
            }
            self.bursts.push_back(std::mem::take(&mut self.burst));
            if self.ticks.len() == WAITS {
                self.ticks.pop_front();
            }
            self.ticks.push_back(now);
        }
        if self.prompt.len() == WAITS {
            self.prompt.pop_front();
        }
        self.prompt.push_back(with_arrival);
    }

    /// Begins anew, as after a loss or a pause.
    pub fn restart(&mut self) {
        (self.first, self.burst) = (None, 0);
        self.recent.clear();
        self.forgotten = self.total;
        self.bursts.clear();
        self.ticks.clear();
    }

    /// Returns what the sender has done in the last round trips before `now`.
    pub fn pattern(&self, now: Time) -> Pattern {
        let long = self.rtt.mul_f64(COMPARED as f64 + 1.0);
        if self.first.is_none_or(|first| now.since(first) < long) {
            return Pattern::Growing;
        }
        let rounds: [u64; COMPARED as usize] = self.rounds(now);
        let [fourth, third, second, first] = rounds;
        let (late, early) = (fourth + third, second + first);
        if late as f64 > GROWTH * early as f64 {
            return Pattern::Growing;
        }
        let prompt = self.prompt.iter().filter(|prompt| **prompt).count();
        if (prompt as f64) < BY_ARRIVALS * self.prompt.len() as f64 {
            return if self.may_be_clock() { Pattern::Clocked } else { Pattern::Slow };
        }
        let bursts: Vec<u64> = self.bursts.iter().copied().collect();
        let whole = (bursts.len() == COMPARED as usize).then_some(bursts.as_slice());
        let constant = whole.and_then(|bursts| self.constant(bursts));
        match constant.or_else(|| self.constant(&rounds)) {
            Some(_) if !self.is_even(now) => Pattern::Slow,
            Some(bytes) => Pattern::Constant(bytes),
            None => self.capped(now).map_or(Pattern::Slow, Pattern::Capped),
        }
    }

    /// Returns the mean of the bytes of the last [`LONG`] round trips if they do not grow.
    fn capped(&self, now: Time) -> Option<u64> {
        let long = self.rtt.mul_f64(LONG as f64 + 1.0);
        if self.first.is_none_or(|first| now.since(first) < long) {
            return None;
        }
        let rounds: [u64; LONG as usize] = self.rounds(now);
        let (late, early) = rounds.split_at(rounds.len() / 2);
        let mean = |rounds: &[u64]| rounds.iter().sum::<u64>() / (rounds.len() as u64).max(1);
        let (late, early) = (mean(late), mean(early));
        let (least, most) = LONG_PACKETS;
        let growth = (early as f64 * LONG_GROWTH) as u64;
        let growth = growth.clamp(least * self.packet, most * self.packet);
        let bytes = (late + early) / 2;
        let is_capped = late.abs_diff(early) <= growth && self.is_limit(bytes);
        (is_capped && self.is_even(now)).then_some(bytes)
    }

    /// Returns false if the last [`LONG`] round trips, if there were so many, differ as those of a
    /// congestion window do. With keys losses are seen, and nothing needs to be told by that.
    fn is_even(&self, now: Time) -> bool {
        let long = self.rtt.mul_f64(LONG as f64 + 1.0);
        if !self.is_covered || self.first.is_none_or(|first| now.since(first) < long) {
            return true;
        }
        let mut rounds: [u64; LONG as usize] = self.rounds(now);
        rounds.sort_unstable();
        let [_, low, .., high, _] = rounds;
        let mean = rounds.iter().sum::<u64>() as f64 / LONG as f64;
        let is_used_up = rounds.iter().filter(|bytes| **bytes <= self.packet).count() >= EMPTY;
        is_used_up || (high - low) as f64 <= EVEN * mean
    }

    /// Returns true unless the packets are not opened and long waits end at irregular times: on a
    /// path whose delay varies, answers to acknowledgements do not look like answers.
    fn may_be_clock(&self) -> bool {
        let ticks = self.ticks.iter().zip(self.ticks.iter().skip(1));
        let mut apart: Vec<Span> = ticks.map(|(one, next)| next.since(*one)).collect();
        if !self.is_covered || apart.len() < TICKS {
            return true;
        }
        apart.sort_unstable();
        let median = apart.get(apart.len() / 2).copied().unwrap_or_default();
        let off = median.mul_f64(NEAR_TICK);
        let near = apart.iter().filter(|one| **one + off >= median && **one <= median + off);
        near.count() as f64 >= OF_TICKS * apart.len() as f64
    }

    /// Returns the bytes of each of the last `COUNT` round trips before `now`, the last first.
    fn rounds<const COUNT: usize>(&self, now: Time) -> [u64; COUNT] {
        let mut until = self.total;
        std::array::from_fn(|round| {
            let begin = now.saturating_sub(self.rtt * (round as u64 + 1));
            let after = self.recent.partition_point(|(at, _)| *at <= begin);
            let last = after.checked_sub(1).and_then(|last| self.recent.get(last));
            let before = last.map_or(self.forgotten, |(_, total)| *total);
            std::mem::replace(&mut until, before) - before
        })
    }

    /// Returns the mean of `rounds` if they are all alike.
    fn constant(&self, rounds: &[u64]) -> Option<u64> {
        let mean = rounds.iter().sum::<u64>() / (rounds.len() as u64).max(1);
        let spread = rounds.iter().max()? - rounds.iter().min()?;
        let is_alike = spread <= (2 * self.packet).max(mean / 20);
        (is_alike && self.is_limit(mean)).then_some(mean)
    }

    fn is_limit(&self, bytes: u64) -> bool {
        bytes >= self.least * self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends `bytes(round)` in packets of 1000 at the begin of each round trip of 100 ms.
    fn rounds(count: u64, prompt: bool, bytes: impl Fn(u64) -> u64) -> Pattern {
        rounds_of(false, count, prompt, bytes)
    }

    fn rounds_of(
        is_encrypted: bool,
        count: u64,
        prompt: bool,
        bytes: impl Fn(u64) -> u64,
    ) -> Pattern {
        let mut steady = Steady::new(Span::from_millis(100), is_encrypted);
        for round in 0..count {
            steady.waited(Time::from_millis(round * 100), Span::from_millis(90), prompt);
            for packet in 0..bytes(round) / 1000 {
                steady.add(Time::from_nanos(round * 100_000_000 + packet * 50_000), 1000);
            }
        }
        steady.pattern(Time::from_millis(count * 100))
    }

    #[test]
    fn growth_a_constant_window_and_a_clock_are_told_apart() {
        assert_eq!(rounds(8, true, |round| 10_000 << round), Pattern::Growing);
        let Pattern::Constant(bytes) = rounds(8, true, |_| 64_000) else {
            panic!("a constant window")
        };
        assert!((63_000..=65_000).contains(&bytes), "{bytes}");
        assert_eq!(rounds(8, false, |_| 64_000), Pattern::Clocked);
        assert_eq!(rounds(8, true, |round| 64_000 + round * 8_000), Pattern::Slow);
        assert_eq!(rounds(3, true, |_| 64_000), Pattern::Growing, "too short to tell");
        let little = |round| if round == 0 { 64_000 } else { 1000 };
        for count in [8, 20] {
            assert_eq!(rounds(count, true, little), Pattern::Slow, "less than a limit");
        }
    }

    #[test]
    fn without_keys_a_window_of_a_few_packets_is_one_after_losses() {
        for (packets, is_limit) in [(5, false), (12, true)] {
            let pattern = rounds_of(true, 8, true, |_| packets * 1000);
            assert_eq!(matches!(pattern, Pattern::Constant(_)), is_limit, "{pattern:?}");
            let pattern = rounds(8, true, |_| packets * 1000);
            assert!(matches!(pattern, Pattern::Constant(_)), "{pattern:?}");
        }
    }

    #[test]
    fn rounds_that_differ_and_do_not_grow_show_a_limit_and_a_packet_more_in_each_does_not() {
        let uneven = |round: u64| [50_000, 80_000, 60_000][(round % 3) as usize];
        let Pattern::Capped(bytes) = rounds(16, true, uneven) else { panic!("a limit") };
        assert!((60_000..=66_000).contains(&bytes), "{bytes}");
        let grows = |round: u64| uneven(round) + round * 1000;
        assert_eq!(rounds(16, true, grows), Pattern::Slow);
    }

    #[test]
    fn without_keys_rounds_that_go_up_and_down_are_those_of_losses() {
        let capped = |is_encrypted, bytes: fn(u64) -> u64| {
            let pattern = rounds_of(is_encrypted, 16, true, bytes);
            matches!(pattern, Pattern::Capped(_) | Pattern::Constant(_))
        };
        // Windows that grow until a loss and are a third smaller then, in between alike for four.
        let losses = |round: u64| [50, 50, 46, 42, 38, 34][(round % 6) as usize] * 1000;
        assert!(capped(false, losses) && !capped(true, losses));
        let alike = |round: u64| [50, 50, 51, 50, 34, 35][(round % 6) as usize] * 1000;
        assert!(!capped(true, alike));
        let limit = |round: u64| [48, 50, 49, 52, 50, 51][(round % 6) as usize] * 1000;
        assert!(capped(true, limit));
        // A reader makes room once in two round trips.
        let reader = |round: u64| [0, 64][(round % 2) as usize] * 1000;
        assert!(capped(true, reader));
    }

    #[test]
    fn without_keys_a_clock_is_regular() {
        let pattern = |is_encrypted, starts: &[u64]| {
            let mut steady = Steady::new(Span::from_millis(100), is_encrypted);
            for start in starts {
                steady.waited(Time::from_millis(*start), Span::from_millis(60), false);
                steady.add(Time::from_millis(*start), 1000);
            }
            steady.pattern(Time::from_millis(1000))
        };
        let regular: Vec<u64> = (0..10).map(|tick| tick * 100 + 50 + tick % 3).collect();
        assert_eq!(pattern(true, &regular), Pattern::Clocked);
        let irregular = [0, 150, 210, 350, 390, 580, 640, 760, 830, 980];
        assert_eq!(pattern(true, &irregular), Pattern::Slow);
        assert_eq!(pattern(false, &irregular), Pattern::Clocked, "with keys");
    }
}
