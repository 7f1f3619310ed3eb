//! SEARCH (draft-chung-ccwg-search): slow start that ends when deliveries fall behind the bytes
//! sent one RTT earlier.

use super::algorithm::{CapacityEstimate, Progress, SlowStart};
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, Restart, SentPacket};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span, Time};

parameters! {
    /// Parameters of [`Search`], with the values of draft-chung-ccwg-search-09.
    Parameters {
        window_factor: 3.5, 1.0 => 20.0, "RTTs",
            "time over which bytes are compared (draft-chung-ccwg-search-09, WINDOW_SIZE)";
        threshold: 0.26, 0.01 => 0.99, "",
            "fraction of the bytes sent that must be missing (draft-chung-ccwg-search-09, THRESH)";
        drain: 1.0, 0.0 => 1.0, "",
            "0.5 or more: end with the volume that the last RTT delivered, rather than the \
             overshot window";
    }
}

/// Bins in a window (W in the draft).
const BINS: usize = 10;
/// Bins kept beyond the window, to look one RTT back (EXTRA_BINS).
const EXTRA: usize = 15;
/// Bins of bytes sent.
const SENT: usize = BINS + EXTRA + 1;

/// The SEARCH slow start.
#[derive(Debug, Clone)]
pub struct Search {
    window_factor: f64,
    threshold: f64,
    drain: bool,
    mtu: Bytes,
    window: Bytes,
    sent: Bytes,
    bins: Option<Bins>,
}

/// Byte totals at the ends of bins.
#[derive(Debug, Clone)]
struct Bins {
    width: Span,
    /// Index of the current bin, from 0, and its end.
    current: usize,
    ends: Time,
    /// Ring buffers of totals since the start, by bin.
    delivered: [u64; SENT],
    sent: [u64; SENT],
}

impl Bins {
    fn new(now: Time, width: Span) -> Self {
        Self { width, current: 0, ends: now + width, delivered: [0; SENT], sent: [0; SENT] }
    }

    /// Closes the bins that have ended by `now`. Returns false if there are none. Bins without an
    /// ACK get the totals of the previous one, so that they count as empty. If more bins are empty
    /// than are kept, the measurement restarts.
    fn close(&mut self, now: Time, delivered: Bytes, sent: Bytes) -> bool {
        if now < self.ends {
            return false;
        }
        let passed = now.since(self.ends).as_nanos() / self.width.as_nanos().max(1) + 1;
        if passed > BINS as u64 {
            *self = Self::new(now, self.width);
            return false;
        }
        let before = self.at(self.current.saturating_sub(1));
        for _ in 1..passed {
            self.put(before);
        }
        self.put((delivered.get(), sent.get()));
        self.ends += self.width * passed;
        true
    }

    fn put(&mut self, totals: (u64, u64)) {
        (self.delivered[self.current % SENT], self.sent[self.current % SENT]) = totals;
        self.current += 1;
    }

    /// Returns the totals of delivered and sent bytes at the end of a bin.
    fn at(&self, bin: usize) -> (u64, u64) {
        (self.delivered[bin % SENT], self.sent[bin % SENT])
    }

    /// Returns the fraction of the bytes sent in a window one RTT ago that the current window has
    /// not delivered.
    fn missing(&self, rtt: Span) -> Option<f64> {
        let last = self.current.checked_sub(1)?;
        let back = rtt.as_secs_f64() / self.width.as_secs_f64();
        let whole = back as usize;
        let fraction = back - back.floor();
        // One more bin back, for the fraction by which the RTT exceeds whole bins.
        let ago = last.checked_sub(whole).filter(|ago| *ago > BINS && whole + 1 < EXTRA)?;
        let window = |end: usize| self.at(end).1.saturating_sub(self.at(end - BINS).1) as f64;
        let sent = window(ago) * (1.0 - fraction) + window(ago - 1) * fraction;
        let delivered = self.at(last).0.saturating_sub(self.at(last - BINS).0) as f64;
        (sent > 0.0).then(|| (sent - delivered) / sent)
    }

    /// Returns the bytes delivered in the last `span`, in whole bins.
    fn delivered_in(&self, span: Span) -> Bytes {
        let bins = (span.as_nanos().div_ceil(self.width.as_nanos().max(1)) as usize).clamp(1, BINS);
        let last = self.current.saturating_sub(1);
        Bytes::new(self.at(last).0.saturating_sub(self.at(last.saturating_sub(bins)).0))
    }
}

impl Search {
    /// Creates a slow start with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        Self {
            window_factor: parameters.window_factor,
            threshold: parameters.threshold,
            drain: parameters.drain >= 0.5,
            mtu: config.mtu,
            window: config.initial_window.max(minimum_window(config.mtu)),
            sent: Bytes::ZERO,
            bins: None,
        }
    }
}

impl SlowStart for Search {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.sent += packet.bytes;
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        if !ack.app_limited {
            self.window += ack.bytes;
        }
        let width = ack.rtt.mul_f64(self.window_factor / BINS as f64).max(Span::from_micros(1));
        let bins = self.bins.get_or_insert_with(|| Bins::new(ack.now, width));
        if !bins.close(ack.now, ack.delivered, self.sent) {
            return Progress::Continue;
        }
        if bins.missing(ack.rtt).is_none_or(|missing| missing < self.threshold) {
            return Progress::Continue;
        }
        if self.drain {
            let delivered = bins.delivered_in(ack.min_rtt);
            self.window = delivered.min(self.window).max(minimum_window(self.mtu));
        }
        Progress::Found(CapacityEstimate {
            window: self.window,
            rate: None,
            min_rtt: ack.min_rtt,
            recovery_start: 0,
        })
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
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
    use crate::sent_packets::SentPackets;
    use crate::testing::{MTU, config};

    /// Runs a sender that doubles evenly every RTT of 100 ms, over a path that delivers at most
    /// `most` packets in 10 ms. Returns the window with which SEARCH ends, and the round.
    fn run(most: u64, drain: f64) -> Option<(Bytes, u64)> {
        let values = Parameters { drain, ..Parameters::default() };
        let mut search = Search::new(&config(), &values);
        let mut sent_packets = SentPackets::new();
        let mut queue = std::collections::VecDeque::new();
        let mut acked = 0;
        for step in 0..150u64 {
            let now = Time::from_millis(10 * step);
            for _ in 0..most {
                if queue.front().is_none_or(|due| *due > now) {
                    break;
                }
                queue.pop_front();
                sent_packets.on_acked(now, acked);
                acked += 1;
            }
            let mut progress = Progress::Continue;
            sent_packets.report_ack(now, false, |ack| progress = search.on_ack(ack));
            if let Progress::Found(found) = progress {
                return Some((found.window, step / 10));
            }
            for _ in 0..(1u64 << (step / 10)) {
                search.on_packet_sent(&sent_packets.on_sent(now, MTU));
                queue.push_back(now + Span::from_millis(100));
            }
        }
        None
    }

    #[test]
    fn it_continues_while_all_packets_arrive() {
        assert_eq!(run(u64::MAX, 1.0), None);
    }

    #[test]
    fn it_ends_when_a_quarter_of_the_bytes_is_missing() {
        // From the eighth round on, more than 64 packets are sent in 10 ms; from the ninth on, they
        // queue. With the longer RTT the comparison looks further back, to when less was sent: two
        // more rounds.
        let (_, round) = run(64, 0.0).unwrap();
        assert!((9..=11).contains(&round), "round {round}");
    }

    #[test]
    fn it_ends_with_the_volume_that_an_rtt_delivers() {
        let (window, _) = run(64, 1.0).unwrap();
        // 640 packets per RTT of 100 ms, in bins of 35 ms.
        assert!((640_000..=740_000).contains(&window.get()), "{window}");
        assert!(run(64, 0.0).unwrap().0 > window);
    }

    #[test]
    fn a_pause_of_many_bins_restarts_the_measurement() {
        let mut bins = Bins::new(Time::ZERO, Span::from_millis(10));
        for step in 1..30 {
            assert!(bins.close(Time::from_millis(10 * step), Bytes::new(step), Bytes::new(step)));
        }
        assert!(bins.missing(Span::from_millis(20)).is_some());
        assert!(!bins.close(Time::from_millis(500), Bytes::new(31), Bytes::new(31)));
        assert_eq!(bins.missing(Span::from_millis(20)), None);
    }
}
